package release

import (
	"strings"
	"unicode/utf8"
)

// Words that are numbers although they are not written in digits: the n-th row is n+1, and holds one word of each
// language whose season words are read. The Arabic ordinals stand behind what they count, as cardinals do.
var (
	romans       = numerals("I Ⅰ ⅰ", "II Ⅱ ⅱ", "III Ⅲ ⅲ", "IV Ⅳ ⅳ", "V Ⅴ ⅴ", "VI Ⅵ ⅵ", "VII Ⅶ ⅶ", "VIII Ⅷ ⅷ", "IX Ⅸ ⅸ", "X Ⅹ ⅹ")
	ordinalWords = numerals(
		"first primera primeira prima première erste первый перший",
		"second segunda seconda deuxième seconde zweite второй другий",
		"third tercera terceira terza troisième dritte третий третій",
		"fourth cuarta quarta quatrième vierte четвертый четвёртый",
		"fifth quinta cinquième fünfte пятый", "sixth sexta sesta sixième sechste шестой",
		"seventh séptima sétima settima septième siebte", "eighth octava oitava ottava huitième achte",
		"ninth novena nona neuvième neunte", "tenth décima decima dixième zehnte")
	cardinals = numerals(
		"one un une uno eins الأول الاول", "two deux dos zwei الثاني", "three trois tres drei الثالث",
		"four quatre cuatro vier الرابع", "five cinq cinco الخامس", "six seis sechs السادس",
		"seven sept siete sieben السابع", "eight huit ocho acht الثامن", "nine neuf nueve neun التاسع",
		"ten dix diez zehn العاشر")
)

func numerals(rows ...string) map[string]int {
	values := map[string]int{}
	for i, row := range rows {
		for _, w := range strings.Fields(row) {
			values[w] = i + 1
		}
	}
	return values
}

// roman returns the value of an upper-case roman numeral up to ten, or of a single character such as Ⅲ.
func roman(w string) (int, bool) {
	n, ok := romans[w]
	return n, ok
}

// spelled returns the value of a lower-case number word.
func spelled(w string) (int, bool) {
	n, ok := cardinals[w]
	return n, ok
}

// ordinal returns the value of a lower-case "2nd", "second", "10º".
func ordinal(w string) (int, bool) {
	switch n := leadingDigits(w); n {
	case 0:
		v, ok := ordinalWords[w]
		return v, ok
	case 1, 2:
		switch w[n:] {
		case "st", "nd", "rd", "th", "º", "ª", "°", "a", "o", "e", "er", "ème", "eme", "ra", "da", "ta", "era":
			return atoi(w[:n]), true
		}
	}
	return 0, false
}

// ordinalEnds are the endings that make an ordinal of the digits before them.
var ordinalEnds = setOf("th nd rd st a o й я ый ий ой ая го ше")

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

// hanDigit returns the value of a Han numeral, -1 for another character. The signs for accounts stand beside the common
// ones.
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
	case '百':
		return 100
	}
	return -1
}
