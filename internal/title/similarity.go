package title

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scores for titles that are similar but not equal. They only define an order and are not probabilities; callers decide
// which score is enough.
const (
	scoreSameCompact  = 0.99 // equal except for spaces: "k on" and "kon"
	scoreSameNumerals = 0.99 // equal except for how a number is written: "ii" and "2"
	scoreSameWords    = 0.97 // the same words in a different order
	maxLetterScore    = 0.96 // the highest score of titles with different letters
	otherNumberFactor = 0.6  // factor for titles with different numbers
)

const maxRunes = 200 // only these are compared, which limits the cost of a comparison

// Similarity returns how similar two titles are, from 0 to 1. It is 1 exactly if their normalised forms are equal and
// not empty. It is symmetric. Case, width and punctuation don't matter; spaces and the order of words hardly do.
// Numbers matter: if the titles have different numbers ("Title 2" and "Title", "Title II" and "Title III"), the result
// is below 0.6.
func Similarity(a, b string) float64 {
	na, nb := Normalize(a), Normalize(b)
	if na == "" || nb == "" {
		return 0
	}
	if na == nb {
		return 1
	}
	if nb < na {
		na, nb = nb, na // a fixed order of summation, so that the result is exactly symmetric
	}
	ca, cb := strings.ReplaceAll(na, " ", ""), strings.ReplaceAll(nb, " ", "")
	if ca == cb {
		return scoreSameCompact
	}
	pa, pb := splitTitle(na), splitTitle(nb)
	if !slices.Equal(pa.numbers, pb.numbers) {
		return otherNumberFactor * max(letterSimilarity(ca, cb), wordSimilarity(pa.words, pb.words)) * maxLetterScore
	}
	if slices.Equal(pa.words, pb.words) {
		return scoreSameNumerals
	}
	if slices.Equal(slices.Sorted(slices.Values(pa.words)), slices.Sorted(slices.Values(pb.words))) {
		return scoreSameWords
	}
	return maxLetterScore * max(letterSimilarity(ca, cb), wordSimilarity(pa.words, pb.words))
}

// letterSimilarity compares letters by edit distance: a typing error costs little, a missing half much.
func letterSimilarity(a, b string) float64 {
	ra, rb := firstRunes(a), firstRunes(b)
	longer := max(len(ra), len(rb))
	if longer == 0 {
		return 0
	}
	return 1 - float64(distance(ra, rb))/float64(longer)
}

func firstRunes(s string) []rune {
	r := []rune(s)
	return r[:min(len(r), maxRunes)]
}

// Distance returns the Levenshtein distance of the first 200 letters of two texts.
func Distance(a, b string) int { return distance(firstRunes(a), firstRunes(b)) }

// distance computes the Levenshtein distance in a single row.
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

// wordSimilarity returns the cosine similarity of two sets of words, weighted by length, because short words such as
// "no" and "the" prove little.
func wordSimilarity(a, b []string) float64 {
	var shared, wa, wb float64
	for _, w := range a {
		wa += wordWeight(w)
	}
	for _, w := range b {
		wb += wordWeight(w)
	}
	used := make([]bool, len(b))
	for _, w := range a {
		for i, v := range b {
			if !used[i] && v == w {
				used[i] = true
				shared += wordWeight(w)
				break
			}
		}
	}
	if wa == 0 || wb == 0 {
		return 0
	}
	return shared / math.Sqrt(wa*wb)
}

func wordWeight(w string) float64 { return math.Sqrt(float64(utf8.RuneCountInString(w))) }

// titleParts are the words of a normalised title, and separately the numbers in them.
type titleParts struct {
	words   []string // "second", "2nd" and "ii" are written as "2"
	numbers []string // sorted
}

const maxWords = 64

// splitTitle splits a normalised title. It takes roman numerals for numbers, except for the first word, and except for
// a lone "i", "v" or "x" that is not the last word.
func splitTitle(n string) titleParts {
	var p titleParts
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
