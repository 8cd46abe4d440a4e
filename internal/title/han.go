package title

import "strings"

// oneHan writes Han characters in one form: the traditional ones of Chinese as their simplified ones (Unicode's Unihan,
// kSimplifiedVariant). It is for comparing alone. A simplified character may stand for several others, and Japanese has forms of its
// own, which stay as they are: so what is equal only by this is less than equal.
func oneHan(s string) string {
	i := nextHan(s, 0)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	done := 0
	for ; i >= 0; i = nextHan(s, i+hanBytes) {
		if to := simplified(s[i : i+hanBytes]); to != "" {
			b.WriteString(s[done:i])
			b.WriteString(to)
			done = i + hanBytes
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// hanBytes is the length of a common Han character in UTF-8. The order of such strings is that of the code points.
const hanBytes = 3

// nextHan returns where the next common Han character begins, -1 for none. s is valid UTF-8.
func nextHan(s string, from int) int {
	for i := from; i+hanBytes <= len(s); i++ {
		if s[i] >= 0xE4 && s[i] <= 0xE9 {
			return i
		}
	}
	return -1
}

// simplified looks one character up in hanPairs, "" for none.
func simplified(char string) string {
	const pair = 2 * hanBytes
	low, high := 0, len(hanPairs)/pair
	for low < high {
		switch mid := (low + high) / 2; strings.Compare(hanPairs[mid*pair:mid*pair+hanBytes], char) {
		case 0:
			return hanPairs[mid*pair+hanBytes : (mid+1)*pair]
		case -1:
			low = mid + 1
		default:
			high = mid
		}
	}
	return ""
}
