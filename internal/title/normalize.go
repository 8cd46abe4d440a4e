// Package title compares titles of works: it brings them to one form, writes
// kana and hangul in Latin letters, and measures how alike two of them are
// without ever taking "Title 2" for "Title".
//
// Everything here is pure and total: any string in, valid UTF-8 out, in time
// linear in its length (Similarity: in the product of two bounded lengths).
package title

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normalize returns s in the form in which titles are compared: compatibility
// forms unified (full-width, ligatures, fractions), case folded, accents of
// Latin, Greek and Cyrillic letters dropped, apostrophes dropped, every other
// run of punctuation and space one space; a roman numeral that is one character
// ("港Ⅱ") is a word. It is idempotent. Letters of other
// scripts stay as they are: the voicing marks of kana belong to the letter.
func Normalize(s string) string {
	if n, ok := normalizeASCII(s); ok {
		return n
	}
	return fold(s)
}

// normalizeASCII is Normalize for text of ASCII only, which is most of it.
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

func fold(s string) string {
	d := norm.NFKD.String(apartRomans(strings.ToValidUTF8(s, " ")))
	var b strings.Builder
	b.Grow(len(d))
	space := true // nothing yet to separate
	var base rune
	for _, r := range d {
		switch {
		case unicode.Is(unicode.Mn, r):
			if unicode.IsLetter(base) && !dropsMarks(base) {
				b.WriteRune(r)
			}
			continue
		case apostrophe(r), r == 'ー' && space: // a long-vowel mark with nothing to lengthen is a dash
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
		if sub, ok := letterTables().plain[r]; ok {
			b.WriteString(sub)
			continue
		}
		b.WriteRune(foldRune(r))
	}
	return norm.NFC.String(strings.TrimRight(b.String(), " "))
}

// apartRomans: decomposed, a roman numeral that is one character is letters like those beside it.
func apartRomans(s string) string {
	if !strings.Contains(s, "\xe2\x85") { // with which all of them begin
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

// foldRune goes by way of upper case, so that a letter with several lower-case forms (final sigma) has one.
func foldRune(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }

// dropsMarks reports whether accents on r are a matter of spelling rather than another letter.
func dropsMarks(r rune) bool {
	return r < 0x0530 || unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Greek, r)
}

func apostrophe(r rune) bool {
	switch r {
	case '\'', '`', '’', '‘', 'ʼ', 'ʻ', '´', '′':
		return true
	}
	return false
}

// Compact is Normalize without its spaces: "k on" and "kon" are one.
func Compact(s string) string { return strings.ReplaceAll(Normalize(s), " ", "") }

// Signs returns the signs of a title that sequels have more of than the show ("Title!!", "Title'", "Title √A") and that
// Normalize leaves out. A single mark or heart is a matter of spelling.
func Signs(text string) string {
	var out strings.Builder
	runes := []rune(norm.NFKC.String(text))
	for i, r := range runes {
		switch {
		case strings.ContainsRune("+°√", r),
			strings.ContainsRune("!♪☆★♥♡", r) && (i > 0 && runes[i-1] == r || i+1 < len(runes) && runes[i+1] == r),
			apostrophe(r) && (i+1 == len(runes) || !unicode.IsLetter(runes[i+1])):
			out.WriteRune(r)
		}
	}
	return out.String()
}

// Script returns the script of most of s, by language where one implies the
// other: "ja" when there is any kana, "ko" for hangul, "zh" for Han characters
// alone, "ru" for Cyrillic, "latin", or "" when s has no letter of these. Han,
// kana and hangul win over Latin letters beside them, because a title in those
// scripts often holds a Latin word and hardly ever the reverse.
func Script(s string) string {
	var kana, han, hangul, latin, cyrillic int // letters
	for _, r := range s {
		switch {
		case r < 0x80:
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				latin++
			}
		case isKana(r):
			kana++
		case isHangul(r):
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

func isHangul(r rune) bool {
	return isSyllable(r) || r >= 0x1100 && r <= 0x11FF || r >= 0x3130 && r <= 0x318F
}

func isSyllable(r rune) bool { return r >= hangulBase && r <= hangulLast }

// WithYear puts the year after a title, unless the title ends with it or there is none: "Title (1999)".
func WithYear(name string, year int) string {
	said := fmt.Sprintf("(%d)", year)
	if year == 0 || strings.HasSuffix(name, said) {
		return name
	}
	return name + " " + said
}
