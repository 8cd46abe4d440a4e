// Package title compares titles: it normalises them, writes kana and hangul in Latin letters, and measures how similar
// two titles are, without ever taking "Title 2" for "Title".
//
// All functions are pure and accept any string. They return valid UTF-8, and take time linear in the length of their
// input (Similarity: in the product of two limited lengths).
package title

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/wordlist"
)

// Normalize returns s in the form in which titles are compared. It unifies compatibility forms (full-width, ligatures,
// fractions), folds case, drops the accents of Latin, Greek and Cyrillic letters, drops apostrophes, and turns every
// other run of punctuation and space into one space. A roman numeral that is one character ("港Ⅱ") becomes a word.
// Letters of other scripts stay as they are; the voicing marks of kana are part of the letter. Normalize is idempotent.
func Normalize(s string) string {
	if n, ok := normalizeASCII(s); ok {
		return n
	}
	return normalizeUnicode(s)
}

// normalizeASCII is Normalize for pure ASCII, which most titles are. It returns false for other text.
func normalizeASCII(s string) (string, bool) {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return "", false
		}
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			b = append(b, c+'a'-'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b = append(b, c)
		case c == '\'' || c == '`':
		case len(b) > 0 && b[len(b)-1] != ' ':
			b = append(b, ' ')
		}
	}
	if n := len(b); n > 0 && b[n-1] == ' ' {
		b = b[:n-1]
	}
	return string(b), true
}

func normalizeUnicode(s string) string {
	d := norm.NFKD.String(separateNumerals(strings.ToValidUTF8(s, " ")))
	var b strings.Builder
	b.Grow(len(d))
	space := true // no space at the start
	var base rune
	for _, r := range d {
		switch {
		case unicode.Is(unicode.Mn, r):
			plain := base < 0x0530 || unicode.Is(unicode.Latin, base) || unicode.Is(unicode.Greek, base)
			if unicode.IsLetter(base) && !plain { // é is e, but in kana a mark makes another letter
				b.WriteRune(r)
			}
			continue
		case isApostrophe(r), r == 'ー' && space: // a long-vowel mark after no letter is a dash
			continue
		}
		base = r
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) {
			if r == '×' {
				b.WriteByte('x')
				space = false
			} else if !space {
				b.WriteByte(' ')
				space = true
			}
			continue
		}
		space = false
		if sub, ok := letterTables().folded[r]; ok {
			b.WriteString(sub)
			continue
		}
		b.WriteRune(unicode.ToLower(unicode.ToUpper(r))) // the same letter for all lower-case forms, such as final sigma
	}
	return norm.NFC.String(strings.TrimRight(b.String(), " "))
}

// separateNumerals puts spaces around roman numerals that are one character, because decomposition turns them into
// letters.
func separateNumerals(s string) string {
	if !strings.Contains(s, "\xe2\x85") { // the first two bytes of every such numeral
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r >= 'Ⅰ' && r <= 'ⅿ' {
			b.WriteString(" " + string(r) + " ")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isApostrophe(r rune) bool {
	switch r {
	case '\'', '`', '’', '‘', 'ʼ', 'ʻ', '´', '′':
		return true
	}
	return false
}

// Compact returns Normalize's result without spaces: "k on" and "kon" become equal.
func Compact(s string) string { return strings.ReplaceAll(Normalize(s), " ", "") }

// SequelSigns returns the signs by which the titles of sequels differ from the first title ("Title!!", "Title'", "Title
// √A", "Title*"), and which Normalize drops. It leaves out single exclamation and question marks and hearts, whose use
// varies, and the quotes around a title or a word.
func SequelSigns(text string) string {
	var out strings.Builder
	runes := []rune(norm.NFKC.String(strings.ReplaceAll(text, "´", "'"))) // which NFKC makes a space
	quoted := false
	for i, r := range runes {
		alike := func(k int) bool {
			return k >= 0 && k < len(runes) && (runes[k] == r || strings.ContainsRune("!?", r) && strings.ContainsRune("!?",
				runes[k]))
		}
		last := i+1 == len(runes)
		switch {
		case isApostrophe(r) && !last && runes[i+1] != ' ' && (i == 0 || runes[i-1] == ' '):
			quoted = true
		case isApostrophe(r) && quoted && (last || !unicode.IsLetter(runes[i+1])):
			quoted = false
		case strings.ContainsRune("+°√", r), strings.ContainsRune("*#", r) && last,
			strings.ContainsRune("!?♪☆★♥♡", r) && (alike(i-1) || alike(i+1)),
			isApostrophe(r) && (last || !unicode.IsLetter(runes[i+1])):
			out.WriteRune(r)
		}
	}
	return out.String()
}

// Script returns the script of most of s, as a language where the script implies one: "ja" for text with kana, "ko" for
// hangul, "zh" for Han characters alone, "ru" for Cyrillic, "latin", or "" if s has no letter of these. Han, kana and
// hangul win over Latin letters, because a title in those scripts often contains a Latin word, but hardly ever the
// reverse.
func Script(s string) string {
	var kana, han, hangul, latin, cyrillic int // letters of each script
	for _, r := range s {
		switch {
		case r < 0x80:
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				latin++
			}
		case isKana(r):
			kana++
		case isHangulSyllable(r), r >= 0x1100 && r <= 0x11FF, r >= 0x3130 && r <= 0x318F:
			hangul++
		case unicode.Is(unicode.Han, r):
			han++
		case r >= 0x0400 && r <= 0x04FF:
			cyrillic++
		case unicode.Is(unicode.Latin, r):
			latin++
		}
	}
	switch {
	case hangul > 0 && hangul >= kana:
		return "ko"
	case kana > 1, kana > 0 && kana*6 >= han:
		return "ja"
	case han > 0:
		return "zh"
	case cyrillic > 0 && cyrillic*2 >= latin:
		return "ru"
	case latin > 0:
		return "latin"
	}
	return ""
}

func isKana(r rune) bool {
	return r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FA || r >= 0xFF66 && r <= 0xFF9D && r != 0xFF70
}

func isHangulSyllable(r rune) bool { return r >= hangulBase && r <= hangulLast }

// WithYear appends the year to a title: "Title (1999)". It does nothing if year is 0 or the title already ends with it.
func WithYear(name string, year int) string {
	said := fmt.Sprintf("(%d)", year)
	if year == 0 || strings.HasSuffix(name, said) {
		return name
	}
	return name + " " + said
}

//go:embed letters.txt
var lettersText string

type letterTable struct {
	kana, small, folded                map[rune]string
	initial, vowel, final, linkedFinal []string // romanized parts of a hangul syllable, by their number in its code point
}

var letterTables = sync.OnceValue(func() letterTable {
	list := wordlist.Parse(lettersText)
	forms := func(kind string) map[rune]string {
		of := map[rune]string{}
		for _, w := range list.Words(kind) {
			r, size := utf8.DecodeRuneInString(w)
			of[r] = w[size:]
		}
		return of
	}
	jamo := func(kind string) []string {
		return slicesx.Map(list.Words(kind), func(w string) string { return strings.TrimPrefix(w, "-") })
	}
	return letterTable{
		kana: forms("kana"), small: forms("small"), folded: forms("plain"),
		initial: jamo("initial"), vowel: jamo("vowel"), final: jamo("final"), linkedFinal: jamo("carried"),
	}
})

// Romanize writes the kana of s in Hepburn romanization and its hangul in Revised Romanization, letter by letter. It
// leaves the rest unchanged, because Han characters have several readings. Long vowels are written as they are spelled,
// "ou" and not "ō", as in release names; a long-vowel mark repeats the vowel.
func Romanize(s string) string {
	if !hasKanaOrHangul(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	rs := []rune(norm.NFKC.String(s))
	for i := 0; i < len(rs); i++ {
		r := rs[i]
		switch {
		case isHangulSyllable(r):
			next := rune(0)
			if i+1 < len(rs) {
				next = rs[i+1]
			}
			writeHangul(&b, r, next)
		case isKana(r) || r == 'ー':
			i += writeKana(&b, rs, i)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hasKanaOrHangul(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return isKana(r) || isHangulSyllable(r) })
}

func writeKana(b *strings.Builder, rs []rune, i int) int {
	r := hiragana(rs[i])
	switch {
	case r == 'ー':
		if s := b.String(); s != "" && strings.IndexByte("aiueo", s[len(s)-1]) >= 0 {
			b.WriteByte(s[len(s)-1])
		}
		return 0
	case r == 'っ':
		if i+1 < len(rs) {
			if next := letterTables().kana[hiragana(rs[i+1])]; next != "" && strings.IndexByte("aiueon", next[0]) < 0 {
				if next[0] == 'c' {
					b.WriteByte('t')
				} else {
					b.WriteByte(next[0])
				}
			}
		}
		return 0
	}
	syl := letterTables().kana[r]
	if i+1 < len(rs) {
		if small := letterTables().small[hiragana(rs[i+1])]; small != "" && syl != "" {
			b.WriteString(glide(syl, small))
			return 1
		}
	}
	b.WriteString(syl)
	return 0
}

// glide joins a syllable with the small kana that follows it: ki+ya is kya, shi+ya is sha, fu+a is fa.
func glide(syl, small string) string {
	head := strings.TrimRight(syl, "aiueo")
	switch head {
	case "":
		if syl == "u" {
			return "w" + strings.TrimPrefix(small, "y")
		}
		return syl + small
	case "sh", "ch", "j":
		return head + strings.TrimPrefix(small, "y")
	case "ts", "f", "v", "t", "d":
		return head + small
	}
	if small[0] == 'y' {
		return head + small
	}
	return head + "w" + small
}

func hiragana(r rune) rune {
	if r >= 'ァ' && r <= 'ヶ' {
		return r - ('ァ' - 'ぁ')
	}
	return r
}

const (
	hangulBase          = 0xAC00
	hangulLast          = 0xD7A3
	syllablesPerInitial = 21 * 28
	syllablesPerVowel   = 28
	silentInitial       = 11 // number of the initial without a sound
	initialRieul        = 5  // ㄹ
)

func writeHangul(b *strings.Builder, r, next rune) {
	n := int(r - hangulBase)
	initial, vowel, final := n/syllablesPerInitial, n%syllablesPerInitial/syllablesPerVowel, n%syllablesPerVowel
	if initial == initialRieul && strings.HasSuffix(b.String(), "l") {
		b.WriteString("l") // ㄹㄹ is written ll
	} else {
		b.WriteString(letterTables().initial[initial])
	}
	b.WriteString(letterTables().vowel[vowel])
	if next >= hangulBase && next <= hangulLast && int(next-hangulBase)/syllablesPerInitial == silentInitial {
		b.WriteString(letterTables().linkedFinal[final])
		return
	}
	b.WriteString(letterTables().final[final])
}

var (
	spelledUmlauts  = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue")
	restoredUmlauts = strings.NewReplacer("ae", "ä", "oe", "ö", "ue", "ü", "Ae", "Ä", "Oe", "Ö", "Ue", "Ü")
)

// SpellUmlauts writes German umlauts as two letters: "Maerchen" for "Märchen".
func SpellUmlauts(s string) string { return spelledUmlauts.Replace(s) }

// RestoreUmlauts does the reverse, also where the two letters are no umlaut.
func RestoreUmlauts(s string) string { return restoredUmlauts.Replace(s) }
