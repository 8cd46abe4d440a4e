package release

import "unicode/utf8"

// This file decides which words are numbers although they are not written in digits.

// roman returns the value of an upper-case roman numeral from II on, or of a single character such as Ⅲ.
func roman(w string) (int, bool) {
	switch w {
	case "I", "Ⅰ":
		return 1, true
	case "II", "Ⅱ":
		return 2, true
	case "III", "Ⅲ":
		return 3, true
	case "IV", "Ⅳ":
		return 4, true
	case "V", "Ⅴ":
		return 5, true
	case "VI", "Ⅵ":
		return 6, true
	case "VII", "Ⅶ":
		return 7, true
	case "VIII", "Ⅷ":
		return 8, true
	case "IX", "Ⅸ":
		return 9, true
	case "X", "Ⅹ":
		return 10, true
	}
	return 0, false
}

// ordinal returns the value of a lower-case "2nd", "second", "10º".
func ordinal(w string) (int, bool) {
	n := 0
	for n < len(w) && digit(w[n]) {
		n++
	}
	if n == 0 {
		for i, o := range ordinalWords {
			if w == o {
				return i + 1, true
			}
		}
		return 0, false
	}
	if n > 2 {
		return 0, false
	}
	switch w[n:] {
	case "st", "nd", "rd", "th", "º", "ª", "°", "a", "o", "e", "er", "ème", "eme":
		return atoi(w[:n]), true
	}
	return 0, false
}

var ordinalWords = [...]string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}

// spelled returns the value of a lower-case number word, in the languages whose season words are read.
func spelled(w string) (int, bool) {
	switch w {
	case "one", "un", "une", "uno", "eins":
		return 1, true
	case "two", "deux", "dos", "zwei":
		return 2, true
	case "three", "trois", "tres", "drei":
		return 3, true
	case "four", "quatre", "cuatro", "vier":
		return 4, true
	case "five", "cinq", "cinco":
		return 5, true
	case "six", "seis", "sechs":
		return 6, true
	case "seven", "sept", "siete", "sieben":
		return 7, true
	case "eight", "huit", "ocho", "acht":
		return 8, true
	case "nine", "neuf", "nueve", "neun":
		return 9, true
	case "ten", "dix", "diez", "zehn":
		return 10, true
	}
	return 0, false
}

// hanNumber reads a number in Han numerals at the start of s, up to 99, and returns how many bytes it takes.
func hanNumber(s string) (value, size int) {
	total, last := 0, 0
	for size < len(s) {
		r, n := utf8.DecodeRuneInString(s[size:])
		d := hanDigit(r)
		if d < 0 {
			break
		}
		if d == 10 {
			if last == 0 {
				last = 1
			}
			total += last * 10
			last = 0
		} else {
			last = d
		}
		size += n
		if total > 99 {
			break
		}
	}
	return total + last, size
}

func hanDigit(r rune) int {
	switch r {
	case '零', '〇':
		return 0
	case '一', '壱', '壹':
		return 1
	case '二', '两', '兩', '弐', '贰', '貳':
		return 2
	case '三', '参', '叁', '參':
		return 3
	case '四', '肆':
		return 4
	case '五', '伍':
		return 5
	case '六', '陆', '陸':
		return 6
	case '七', '柒':
		return 7
	case '八', '捌':
		return 8
	case '九', '玖':
		return 9
	case '十', '拾':
		return 10
	}
	return -1
}
