package title

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Romanize writes the kana of s by Hepburn and its hangul by the Revised
// Romanization, letter by letter, and leaves the rest alone (Han characters
// have no one reading). Text without either comes back unchanged. Long vowels
// come out as written, "ou" and not "ō", as release names have them; a
// lengthening mark repeats the vowel.
func Romanize(s string) string {
	if !hasSyllables(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	rs := []rune(norm.NFKC.String(s))
	for i := 0; i < len(rs); i++ {
		r := rs[i]
		switch {
		case isSyllable(r):
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

func hasSyllables(s string) bool {
	for _, r := range s {
		if isKana(r) || isSyllable(r) {
			return true
		}
	}
	return false
}

// writeKana writes the syllable at i and returns how many runes past it were used.
func writeKana(b *strings.Builder, rs []rune, i int) int {
	r := hiragana(rs[i])
	switch {
	case r == 'ー':
		if v := lastVowel(b.String()); v != 0 {
			b.WriteByte(v)
		}
		return 0
	case r == 'っ':
		if i+1 < len(rs) {
			if next := kana[hiragana(rs[i+1])]; next != "" && strings.IndexByte("aiueon", next[0]) < 0 {
				if next[0] == 'c' {
					b.WriteByte('t')
				} else {
					b.WriteByte(next[0])
				}
			}
		}
		return 0
	}
	syl := kana[r]
	if i+1 < len(rs) {
		if small := smallKana[hiragana(rs[i+1])]; small != "" && syl != "" {
			b.WriteString(glide(syl, small))
			return 1
		}
	}
	b.WriteString(syl)
	return 0
}

// glide joins a syllable and the small kana behind it: ki+ya is kya, shi+ya is sha, fu+a is fa.
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

func lastVowel(s string) byte {
	if n := len(s); n > 0 {
		switch c := s[n-1]; c {
		case 'a', 'i', 'u', 'e', 'o':
			return c
		}
	}
	return 0
}

func hiragana(r rune) rune {
	if r >= 'ァ' && r <= 'ヶ' {
		return r - ('ァ' - 'ぁ')
	}
	return r
}

var kana = map[rune]string{
	'あ': "a", 'い': "i", 'う': "u", 'え': "e", 'お': "o",
	'か': "ka", 'き': "ki", 'く': "ku", 'け': "ke", 'こ': "ko",
	'が': "ga", 'ぎ': "gi", 'ぐ': "gu", 'げ': "ge", 'ご': "go",
	'さ': "sa", 'し': "shi", 'す': "su", 'せ': "se", 'そ': "so",
	'ざ': "za", 'じ': "ji", 'ず': "zu", 'ぜ': "ze", 'ぞ': "zo",
	'た': "ta", 'ち': "chi", 'つ': "tsu", 'て': "te", 'と': "to",
	'だ': "da", 'ぢ': "ji", 'づ': "zu", 'で': "de", 'ど': "do",
	'な': "na", 'に': "ni", 'ぬ': "nu", 'ね': "ne", 'の': "no",
	'は': "ha", 'ひ': "hi", 'ふ': "fu", 'へ': "he", 'ほ': "ho",
	'ば': "ba", 'び': "bi", 'ぶ': "bu", 'べ': "be", 'ぼ': "bo",
	'ぱ': "pa", 'ぴ': "pi", 'ぷ': "pu", 'ぺ': "pe", 'ぽ': "po",
	'ま': "ma", 'み': "mi", 'む': "mu", 'め': "me", 'も': "mo",
	'や': "ya", 'ゆ': "yu", 'よ': "yo",
	'ら': "ra", 'り': "ri", 'る': "ru", 'れ': "re", 'ろ': "ro",
	'わ': "wa", 'ゐ': "i", 'ゑ': "e", 'を': "wo", 'ん': "n", 'ゔ': "vu",
	'ぁ': "a", 'ぃ': "i", 'ぅ': "u", 'ぇ': "e", 'ぉ': "o",
	'ゃ': "ya", 'ゅ': "yu", 'ょ': "yo", 'ゎ': "wa", 'ゕ': "ka", 'ゖ': "ke",
}

var smallKana = map[rune]string{
	'ぁ': "a", 'ぃ': "i", 'ぅ': "u", 'ぇ': "e", 'ぉ': "o", 'ゃ': "ya", 'ゅ': "yu", 'ょ': "yo",
}
