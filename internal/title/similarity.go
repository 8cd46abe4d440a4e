package title

import (
	"math"
	"slices"
	"strings"
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
	if sameBag(pa.words, pb.words) {
		return sameWords
	}
	return mostAlike * max(letters(ca, cb), overlap(pa.words, pb.words))
}

// letters is how alike two spellings are: one minus the edit distance over the
// longer length, so that a typing error costs little and a missing half much.
func letters(a, b string) float64 {
	ra, rb := bounded(a), bounded(b)
	longer := max(len(ra), len(rb))
	if longer == 0 {
		return 0
	}
	return 1 - float64(distance(ra, rb))/float64(longer)
}

func bounded(s string) []rune {
	out := make([]rune, 0, min(utf8.RuneCountInString(s), maxRunes))
	for _, r := range s {
		if len(out) == maxRunes {
			break
		}
		out = append(out, r)
	}
	return out
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

// overlap is the share of words both have, weighed by length so that "no" and
// "the" prove little: the cosine of the two bags.
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
