package release

import "unicode/utf8"

// roman returns the value of an upper-case roman numeral up to ten, or of a single character such as Ⅲ.
func roman(w string) (int, bool) {
	n, ok := lists().romans[w]
	return n, ok
}

// spelled returns the value of a lower-case number word.
func spelled(w string) (int, bool) {
	n, ok := lists().cardinals[w]
	return n, ok
}

// ordinal returns the value of a lower-case "2nd", "second", "10º".
func ordinal(w string) (int, bool) {
	switch n := leadingDigits(w); n {
	case 0:
		v, ok := lists().ordinals[w]
		return v, ok
	case 1, 2:
		if lists().endings[w[n:]] {
			return atoi(w[:n]), true
		}
	}
	return 0, false
}

// hanNumber reads a number in Han numerals at the start of s, up to 999, and returns how many bytes it takes.
func hanNumber(s string) (value, size int) {
	total, last := 0, 0
	for total <= 999 {
		r, n := utf8.DecodeRuneInString(s[size:])
		d := hanDigit(r)
		if d < 0 {
			break
		}
		if d >= 10 {
			total += max(last, 1) * d
			d = 0
		}
		last = d
		size += n
	}
	return total + last, size
}

// hanDigit returns the value of a Han numeral, -1 for another character.
func hanDigit(r rune) int {
	if n, ok := lists().han[r]; ok {
		return n
	}
	return -1
}
