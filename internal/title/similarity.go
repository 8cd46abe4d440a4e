package title

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/wordlist"
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
	words = words[:min(len(words), maxWords)]
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

func trimZeros(d string) string { return cmp.Or(strings.TrimLeft(d, "0"), "0") }

var romans = map[string]string{
	"ii": "2", "iii": "3", "iv": "4", "v": "5", "vi": "6", "vii": "7", "viii": "8", "ix": "9", "x": "10",
	"xi": "11", "xii": "12", "xiii": "13",
}

var ordinals = map[string]string{
	"first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6", "seventh": "7",
}

var (
	longVowels = strings.NewReplacer("ou", "o", "oo", "o", "oh", "o", "uu", "u", "aa", "a",
		"ii", "i", "jy", "j", "dzu", "zu", "du", "zu", "tsu", "tu", "shi", "si", "chi", "ti")
	particles = strings.NewReplacer(" wo ", " o ", " he ", " e ", " ha ", " wa ")
)

// SpellingKey returns a text that is equal for different spellings of a normalised title: Japanese long vowels and
// particles in Latin letters, and spaces ("yuusha wo", "yusha o" and "yūsha-o"). Chinese becomes simplified.
func SpellingKey(norm string) string {
	return simplifyHan(strings.ReplaceAll(longVowels.Replace(particles.Replace(norm+" ")), " ", ""))
}

//go:embed han.txt
var hanText string

var simplified = sync.OnceValue(func() map[rune]rune {
	of := map[rune]rune{}
	for _, pair := range wordlist.Parse(hanText).Words("han") {
		from, size := utf8.DecodeRuneInString(pair)
		of[from], _ = utf8.DecodeRuneInString(pair[size:])
	}
	return of
})

// simplifyHan replaces traditional characters with simplified ones (Unihan's kSimplifiedVariant). The result is only
// good for comparisons: one simplified character may stand for several others, and Japanese has its own forms.
func simplifyHan(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x4E00 && r <= 0x9FFF }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if to, ok := simplified()[r]; ok {
			return to
		}
		return r
	}, s)
}

// MayBeReading reports whether a title in Latin letters may be the reading of a Japanese title. Most of the letters of
// its kana must be there in the same order, with room for one to five letters per Han character, whose reading is
// unknown. For a title with few kana it returns false.
func MayBeReading(japanese, latin string) bool {
	if !hasKanaOrHangul(japanese) {
		return false
	}
	var kana strings.Builder
	han := 0
	for _, r := range SpellingKey(Normalize(Romanize(japanese))) {
		if r < 0x80 {
			kana.WriteRune(r)
		} else {
			han++
		}
	}
	want, got := kana.String(), SpellingKey(Normalize(latin))
	if len(want) < minKanaLetters || len(got) < len(want)*3/4+han || len(got) > len(want)+maxReading*han+2 {
		return false
	}
	return commonLength(want, got)*5 >= len(want)*4
}

// MayBeReadingWithLoanwords is like MayBeReading, but words in katakana may be spelled as in their own language:
// "コードギアス" is "Code Geass".
func MayBeReadingWithLoanwords(japanese, latin string) bool {
	_, ok := ReadingMisfit(strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("ーァィゥェォッャュョイウン", r):
			return -1 // not a syllable of its own
		case unicode.Is(unicode.Katakana, r):
			return '外' // like a Han character, it stands for several letters
		}
		return r
	}, japanese), latin)
	return ok || MayBeReading(japanese, latin)
}

// ReadingMisfit reports whether part of a title in Latin letters may be the reading of a Japanese one, judging only by
// its shape: the letters of the kana, and between them a plausible number of letters per Han character. misfit is how
// far that number is from the usual one, to choose among a few candidates. A repeated character ("神々") is read twice
// ("kamigami"); if the Latin text has such a repetition in its place, that is no coincidence, and misfit is 0.
func ReadingMisfit(japanese, latin string) (misfit float64, ok bool) {
	var shape strings.Builder
	han, allHan, kana := 0, 0, 0
	flush := func() {
		if han > 0 {
			fmt.Fprintf(&shape, "[a-z]{%d,%d}", (han*minLettersOfFive[min(han, len(minLettersOfFive)-1)]+4)/5, han*4)
			han = 0
		}
	}
	for _, r := range strings.NewReplacer("编", "hen", "篇", "hen").Replace(SpellingKey(Normalize(Romanize(japanese)))) {
		if r == '々' && han > 0 {
			han--
			flush()
			shape.WriteString("([a-z]{2,8})")
			allHan++
			continue
		}
		if r >= 0x80 {
			han++
			allHan++
			continue
		}
		flush()
		kana++
		shape.WriteString(regexp.QuoteMeta(string(r)))
	}
	flush()
	particles := strings.NewReplacer("ha", "[hw]a", "he", "h?e", "wo", "w?o")
	re, err := regexp.Compile("^(?:" + particles.Replace(shape.String()) + ")$")
	read := SpellingKey(Normalize(latin))
	if err != nil || shape.Len() == 0 {
		return 0, false
	}
	m := re.FindStringSubmatch(read)
	if m == nil || slices.ContainsFunc(m[1:], func(s string) bool { return !isRepeated(s) }) {
		return 0, false
	}
	if allHan > 0 && len(m) == 1 {
		misfit = math.Abs(float64(len(read)-kana)/float64(allHan) - usualReading)
	}
	return misfit, true
}

// isRepeated reports whether s is a reading and its repetition. The repetition may begin with another consonant, as in
// "kamigami" and "shimajima".
func isRepeated(s string) bool {
	rest := func(s string) string { return strings.TrimLeft(s, "bcdfghjkmnprstwyz") }
	for i := 1; i < len(s); i++ {
		if one := rest(s[:i]); one != "" && one == rest(s[i:]) {
			return true
		}
	}
	return false
}

// minLettersOfFive is the least number of letters of five Han characters, by how many are in a row: in a long row not
// all readings are short.
var minLettersOfFive = [...]int{6, 6, 6, 8}

const (
	minKanaLetters = 4 // letters of kana; fewer are found in any title by chance
	maxReading     = 5 // letters per Han character; longer ones ("kokoro") are rare

	usualReading = 2.7 // letters per Han character in compounds, on average
)

func commonLength(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range len(a) {
		before := 0
		for j := range len(b) {
			at := row[j+1]
			if a[i] == b[j] {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(at, row[j])
			}
			before = at
		}
	}
	return row[len(b)]
}
