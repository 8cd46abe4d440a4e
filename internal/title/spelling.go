package title

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/wordlist"
)

var (
	longVowels = strings.NewReplacer("ou", "o", "oo", "o", "oh", "o", "uu", "u", "aa", "a",
		"ii", "i", "jy", "j", "dzu", "zu", "du", "zu", "tsu", "tu", "shi", "si", "chi", "ti")
	particles = strings.NewReplacer(" wo ", " o ", " he ", " e ", " ha ", " wa ")
)

// Plain returns a normalised title (Normalize) in one form for all the ways of writing long vowels and particles of
// Japanese in Latin letters, and of parting words: "yuusha wo", "yusha o" and "yūsha-o". Chinese comes out in
// simplified characters.
func Plain(norm string) string {
	return oneHan(strings.ReplaceAll(longVowels.Replace(particles.Replace(norm+" ")), " ", ""))
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

// oneHan writes traditional characters as simplified ones (Unihan's kSimplifiedVariant), for comparing alone: one
// simplified character may stand for several others, and Japanese has forms of its own.
func oneHan(s string) string {
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

// Reads reports whether a title in Latin letters may be how a Japanese title is read: most of the letters of its kana
// stand there in their order, and each Han character, whose reading is not known, has room for one to five letters. Of
// a title with few kana it can't tell, and says no.
func Reads(japanese, latin string) bool {
	if !hasSyllables(japanese) {
		return false
	}
	var kana strings.Builder
	han := 0
	for _, r := range Plain(Normalize(Romanize(japanese))) {
		if r < 0x80 {
			kana.WriteRune(r)
		} else {
			han++
		}
	}
	want, got := kana.String(), Plain(Normalize(latin))
	if len(want) < leastRead || len(got) < len(want)*3/4+han || len(got) > len(want)+longestReading*han+2 {
		return false
	}
	return common(want, got)*5 >= len(want)*4
}

// MayRead reports whether a part of a title in Latin letters may be how a Japanese one is read, by its shape alone: the
// kana stand there, and between them as many letters as Han characters have. It is for telling few of them apart:
// misfit is how far the number of letters is from the usual one, per Han character. A character that is repeated ("神々")
// is read twice ("kamigami"); where that stands in its place, it is no chance.
func MayRead(japanese, latin string) (misfit float64, ok bool) {
	var shape strings.Builder
	han, allHan, kana := 0, 0, 0
	flush := func() {
		if han > 0 {
			fmt.Fprintf(&shape, "[a-z]{%d,%d}", (han*leastOfFive[min(han, len(leastOfFive)-1)]+4)/5, han*4)
			han = 0
		}
	}
	for _, r := range strings.NewReplacer("编", "hen", "篇", "hen").Replace(Plain(Normalize(Romanize(japanese)))) {
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
	read := Plain(Normalize(latin))
	if err != nil || shape.Len() == 0 {
		return 0, false
	}
	m := re.FindStringSubmatch(read)
	if m == nil || slices.ContainsFunc(m[1:], func(s string) bool { return !twice(s) }) {
		return 0, false
	}
	if allHan > 0 && len(m) == 1 {
		misfit = math.Abs(float64(len(read)-kana)/float64(allHan) - usualReading)
	}
	return misfit, true
}

// twice: in "kamigami" and "shimajima" the second time begins with another consonant.
func twice(s string) bool {
	rest := func(s string) string { return strings.TrimLeft(s, "bcdfghjkmnprstwyz") }
	for i := 1; i < len(s); i++ {
		if one := rest(s[:i]); one != "" && one == rest(s[i:]) {
			return true
		}
	}
	return false
}

// leastOfFive is how few letters five Han characters have in a row of so many: not all of a long row are short.
var leastOfFive = [...]int{6, 6, 6, 8}

const (
	leastRead      = 4 // letters of kana; fewer are found in any title
	longestReading = 5 // letters of a Han character: "kokoro" is rare

	usualReading = 2.7 // letters of a Han character in a compound
)

func common(a, b string) int {
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
