package title

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a likeness that is not equality is worth. The figures are an order, not
// probabilities; their caller calibrates what each proves.
const (
	sameCompact  = 0.99 // equal but for spaces: "k on" and "kon"
	sameNumerals = 0.99 // equal but for how a number is written: "ii" and "2"
	sameWords    = 0.97 // the same words in another order
	mostAlike    = 0.96 // the most that titles with different letters get
	otherNumber  = 0.6  // factor for titles whose numbers differ
)

const maxRunes = 200 // what is compared of a title; it bounds the cost of any pair

// Similarity returns how alike two titles are, from 0 to 1: 1 exactly when
// Normalize makes them equal and not empty. It is symmetric, and indifferent to case,
// width, punctuation and nearly so to spaces and the order of words. Numbers
// are not letters: where one title has a number that the other lacks ("Title 2"
// and "Title", "Title II" and "Title III") the result stays below 0.6.
func Similarity(a, b string) float64 {
	na, nb := Normalize(a), Normalize(b)
	if na == "" || nb == "" {
		return 0
	}
	if na == nb {
		return 1
	}
	if nb < na {
		na, nb = nb, na // one order of summation, so that the result is symmetric to the bit
	}
	ca, cb := strings.ReplaceAll(na, " ", ""), strings.ReplaceAll(nb, " ", "")
	if ca == cb {
		return sameCompact
	}
	pa, pb := split(na), split(nb)
	if !slices.Equal(pa.numbers, pb.numbers) {
		return otherNumber * max(letters(ca, cb), overlap(pa.words, pb.words)) * mostAlike
	}
	if slices.Equal(pa.words, pb.words) {
		return sameNumerals
	}
	if slices.Equal(slices.Sorted(slices.Values(pa.words)), slices.Sorted(slices.Values(pb.words))) {
		return sameWords
	}
	return mostAlike * max(letters(ca, cb), overlap(pa.words, pb.words))
}

// letters: a typing error costs little and a missing half much.
func letters(a, b string) float64 {
	ra, rb := bounded(a), bounded(b)
	longer := max(len(ra), len(rb))
	if longer == 0 {
		return 0
	}
	return 1 - float64(distance(ra, rb))/float64(longer)
}

func bounded(s string) []rune {
	r := []rune(s)
	return r[:min(len(r), maxRunes)]
}

// distance is Levenshtein's, in one row.
func distance(a, b []rune) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	var store [maxRunes + 1]int
	row := store[:len(a)+1]
	for i := range row {
		row[i] = i
	}
	for j, rb := range b {
		diag := row[0]
		row[0] = j + 1
		for i, ra := range a {
			cost := diag
			if ra != rb {
				cost++
			}
			diag = row[i+1]
			row[i+1] = min(cost, row[i]+1, row[i+1]+1)
		}
	}
	return row[len(a)]
}

// overlap is the cosine of the two bags of words, weighed by length: "no" and "the" prove little.
func overlap(a, b []string) float64 {
	var shared, wa, wb float64
	for _, w := range a {
		wa += weight(w)
	}
	for _, w := range b {
		wb += weight(w)
	}
	used := make([]bool, len(b))
	for _, w := range a {
		for i, v := range b {
			if !used[i] && v == w {
				used[i] = true
				shared += weight(w)
				break
			}
		}
	}
	if wa == 0 || wb == 0 {
		return 0
	}
	return shared / math.Sqrt(wa*wb)
}

func weight(w string) float64 { return math.Sqrt(float64(utf8.RuneCountInString(w))) }

// parts are the words of a normalised title, and its numbers once more.
type parts struct {
	words   []string // "second", "2nd" and "ii" are "2"
	numbers []string // sorted
}

const maxWords = 64

// split: a roman numeral is a number unless it is the first word, or a lone "i", "v", "x" that isn't the last.
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
		for _, run := range strings.FieldsFunc(w, func(r rune) bool { return !unicode.IsDigit(r) }) {
			p.numbers = append(p.numbers, trimZeros(run))
		}
	}
	slices.Sort(p.numbers)
	return p
}

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
