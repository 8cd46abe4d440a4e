package lang

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A Korean particle has two forms. Which one is right depends on the last sound of the word before it, which is often
// an argument. The catalogue therefore writes both, as in %s은(는), and appendTranslated chooses.

var particlePattern = regexp.MustCompile(`은\(는\)|이\(가\)|을\(를\)|와\(과\)|\(으\)로|\(이\)`)

// particleForms are the forms after a consonant and after a vowel.
var particleForms = map[string][2]string{
	"은(는)": {"은", "는"}, "이(가)": {"이", "가"}, "을(를)": {"을", "를"}, "와(과)": {"과", "와"}, "(으)로": {"으로", "로"}, "(이)": {"이", ""},
}

type finalSound byte

const (
	unknownSound finalSound = iota
	vowel
	consonant
	rieul // the consonant ㄹ, after which 로 has the form of a vowel
)

// appendTranslated appends part of a translation to b, and chooses the forms of its particles.
func appendTranslated(b *strings.Builder, text string) {
	for strings.IndexByte(text, '(') >= 0 {
		at := particlePattern.FindStringIndex(text)
		if at == nil {
			break
		}
		b.WriteString(text[:at[0]])
		particle := text[at[0]:at[1]]
		switch sound := finalSoundOf(b.String()); {
		case sound == unknownSound:
		case sound == vowel, sound == rieul && particle == "(으)로":
			particle = particleForms[particle][1]
		default:
			particle = particleForms[particle][0]
		}
		b.WriteString(particle)
		text = text[at[1]:]
	}
	b.WriteString(text)
}

// finalSoundOf returns the sound with which a text ends when a Korean reads it aloud. It is unknown after most Latin
// letters.
func finalSoundOf(text string) finalSound {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, "\"'`”’)]>"))
	const firstSyllable, lastSyllable, finals, finalRieul = '가', '힣', 28, 8
	switch {
	case last >= firstSyllable && last <= lastSyllable:
		switch (last - firstSyllable) % finals {
		case 0:
			return vowel
		case finalRieul:
			return rieul
		}
		return consonant
	case strings.ContainsRune("2459", last): // 이, 사, 오, 구
		return vowel
	case strings.ContainsRune("178lL", last): // 일, 칠, 팔
		return rieul
	case strings.ContainsRune("036mnMN", last): // 영, 삼, 육
		return consonant
	}
	return unknownSound
}
