package title

import "strings"

// Romanisation of hangul by syllable (Revised Romanization of Korean): initial
// and vowel as they stand, the final by its own sound, carried over to the next
// syllable where that begins with a vowel.

var (
	hangulInitial = [19]string{
		"g", "kk", "n", "d", "tt", "r", "m", "b", "pp", "s", "ss", "", "j", "jj", "ch", "k", "t", "p", "h",
	}
	hangulVowel = [21]string{
		"a", "ae", "ya", "yae", "eo", "e", "yeo", "ye", "o", "wa", "wae", "oe", "yo", "u", "wo", "we", "wi", "yu", "eu",
		"ui", "i",
	}
	hangulFinal = [28]string{
		"", "k", "k", "k", "n", "n", "n", "t", "l", "k", "m", "l", "l", "l", "p", "l", "m", "p", "p", "t", "t", "ng",
		"t", "t", "k", "t", "p", "t",
	}
	hangulCarried = [28]string{
		"", "g", "kk", "ks", "n", "nj", "n", "d", "r", "lg", "lm", "lb", "ls", "lt", "lp", "r", "m", "b", "ps", "s",
		"ss", "ng", "j", "ch", "k", "t", "p", "",
	}
)

const (
	hangulBase   = 0xAC00
	hangulLast   = 0xD7A3
	perInitial   = 21 * 28
	perVowel     = 28
	mute         = 11 // the initial that has no sound
	initialRieul = 5  // ㄹ
	finalRieul   = 8  // ㄹ
)

func writeHangul(b *strings.Builder, r, next rune) {
	n := int(r - hangulBase)
	initial, vowel, final := n/perInitial, n%perInitial/perVowel, n%perVowel
	if initial == initialRieul && strings.HasSuffix(b.String(), "l") {
		b.WriteString("l") // ㄹㄹ is ll
	} else {
		b.WriteString(hangulInitial[initial])
	}
	b.WriteString(hangulVowel[vowel])
	if next >= hangulBase && next <= hangulLast && int(next-hangulBase)/perInitial == mute {
		b.WriteString(hangulCarried[final])
		return
	}
	b.WriteString(hangulFinal[final])
}
