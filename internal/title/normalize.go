// Package title compares titles of works: it brings them to one form, writes
// kana and hangul in Latin letters, and measures how alike two of them are
// without ever taking "Title 2" for "Title".
//
// Everything here is pure and total: any string in, valid UTF-8 out, in time
// linear in its length (Similarity: in the product of two bounded lengths).
package title

import (
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
		if sub, ok := plain[r]; ok {
			b.WriteString(sub)
			continue
		}
		b.WriteRune(foldRune(r))
	}
	return norm.NFC.String(strings.TrimRight(b.String(), " "))
}

// apartRomans puts spaces around roman numerals that are one character: decomposed they are letters like those beside them.
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

// foldRune is simple case folding by way of upper case, so that a letter with
// several lower-case forms (final sigma) has one.
func foldRune(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }

// plain are letters that decomposition leaves whole although titles are written without them.
var plain = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ø': "o", 'Ø': "o", 'ł': "l", 'Ł': "l",
	'đ': "d", 'Đ': "d", 'ð': "d", 'Ð': "d", 'þ': "th", 'Þ': "th", 'ı': "i", 'İ': "i", 'ĸ': "k",
}

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
