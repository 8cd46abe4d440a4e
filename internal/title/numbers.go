package title

import (
	"slices"
	"strings"
	"unicode"
)

// parts is a normalised title taken apart: its words, numbers written one way, and its numbers alone, sorted.
type parts struct {
	words   []string
	numbers []string
}

// maxWords bounds what is compared of a title with very many words.
const maxWords = 64

// split takes a normalised title apart. A roman numeral counts as a number
// unless it is the first word or a lone "i", "v", "x" that is no ending: those are letters ("X", "V").
func split(n string) parts {
	var p parts
	words := strings.Fields(n)
	if len(words) > maxWords {
		words = words[:maxWords]
	}
	for i, w := range words {
		if v := numberOf(w, i, len(words)); v != "" {
			w = v
		}
		p.words = append(p.words, w)
		p.numbers = appendNumbers(p.numbers, w)
	}
	slices.Sort(p.numbers)
	return p
}

// numberOf returns the number that the i-th of n words says, "" when it says none.
func numberOf(w string, i, n int) string {
	if v, ok := ordinals[w]; ok {
		return v
	}
	if l := len(w); l > 2 && w[0] >= '0' && w[0] <= '9' {
		switch w[l-2:] {
		case "st", "nd", "rd", "th":
			if d := w[:l-2]; strings.Trim(d, "0123456789") == "" {
				return trimZeros(d)
			}
		}
	}
	if i == 0 {
		return ""
	}
	if v, ok := romans[w]; ok && (len(w) > 1 || i == n-1) {
		return v
	}
	return ""
}

// appendNumbers adds every run of digits in w, without leading zeros.
func appendNumbers(out []string, w string) []string {
	start := -1
	for i, r := range w {
		switch isDigit := unicode.IsDigit(r); {
		case isDigit && start < 0:
			start = i
		case !isDigit && start >= 0:
			out = append(out, trimZeros(w[start:i]))
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, trimZeros(w[start:]))
	}
	return out
}

func trimZeros(d string) string {
	if t := strings.TrimLeft(d, "0"); t != "" {
		return t
	}
	return "0"
}

var romans = map[string]string{
	"ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "x": "10",
	"xi": "11", "xii": "12", "xiii": "13",
}

var ordinals = map[string]string{
	"first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6", "seventh": "7",
}

// sameBag reports whether a and b hold the same words in any order.
func sameBag(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	x, y := slices.Clone(a), slices.Clone(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
