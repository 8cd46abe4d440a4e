package tmdbfake

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// cjk reports whether r is of a script that is written without spaces, or of
// Hangul, whose words are searched by their parts.
func cjk(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// accented reports whether r may carry, or be, a combining diacritic.
func accented(r rune) bool { return r >= 0xc0 && r < 0x1100 || r >= 0x1e00 && r < 0x2000 }

// unmarked drops combining diacritics, but not the voicing marks of kana.
func unmarked(r rune) rune {
	if r >= 0x300 && r <= 0x36f {
		return -1
	}
	return r
}

// Tokens splits a text into words: compatibility forms and case are folded, Latin
// diacritics dropped. All but letters and digits separates, and so does the border
// between a CJK run and another script.
func Tokens(s string) []string {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		s = strings.ToLower(s)
	} else {
		s = cases.Fold().String(norm.NFKC.String(s))
		if strings.ContainsFunc(s, accented) {
			s = norm.NFC.String(strings.Map(unmarked, norm.NFD.String(s)))
		}
	}
	var out []string
	start, run := -1, false
	flush := func(end int) {
		if start >= 0 {
			out = append(out, s[start:end])
			start = -1
		}
	}
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush(i)
			continue
		}
		if c := cjk(r); start < 0 || c != run {
			flush(i)
			start, run = i, c
		}
	}
	flush(len(s))
	return out
}

// isCJK reports whether a token is of a CJK run.
func isCJK(token string) bool {
	r, _ := utf8.DecodeRuneInString(token)
	return cjk(r)
}
