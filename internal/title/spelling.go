package title

import (
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
