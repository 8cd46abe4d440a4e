package title

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/wordlist"
)

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
		out := list.Words(kind)
		for i, w := range out {
			out[i] = strings.TrimPrefix(w, "-")
		}
		return out
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
