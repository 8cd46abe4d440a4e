package title

import "unicode"

// letterCount says how many letters of a text belong to each script.
type letterCount struct{ kana, han, hangul, latin, cyrillic int }

// Script returns the script of most of s, by language where one implies the
// other: "ja" when there is any kana, "ko" for hangul, "zh" for Han characters
// alone, "ru" for Cyrillic, "latin", or "" when s has no letter of these. Han,
// kana and hangul win over Latin letters beside them, because a title in those
// scripts often holds a Latin word and hardly ever the reverse.
func Script(s string) string {
	var n letterCount
	for _, r := range s {
		n.add(r)
	}
	switch {
	case n.hangul > 0 && n.hangul >= n.kana:
		return "ko"
	case n.kana > 1, n.kana > 0 && n.kana*6 >= n.han:
		return "ja"
	case n.han > 0:
		return "zh"
	case n.cyrillic > 0 && n.cyrillic*2 >= n.latin:
		return "ru"
	case n.latin > 0:
		return "latin"
	}
	return ""
}

func (n *letterCount) add(r rune) {
	switch {
	case r < 0x80:
		if r|0x20 >= 'a' && r|0x20 <= 'z' {
			n.latin++
		}
	case isKana(r):
		n.kana++
	case isHangul(r):
		n.hangul++
	case unicode.Is(unicode.Han, r):
		n.han++
	case r >= 0x0400 && r <= 0x04FF:
		n.cyrillic++
	case unicode.Is(unicode.Latin, r):
		n.latin++
	}
}

func isKana(r rune) bool {
	return r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FA || r >= 0xFF66 && r <= 0xFF9D && r != 0xFF70
}

// isHangul reports whether r is a syllable or a letter of hangul.
func isHangul(r rune) bool {
	return isSyllable(r) || r >= 0x1100 && r <= 0x11FF || r >= 0x3130 && r <= 0x318F
}

// isSyllable reports whether r is a whole syllable of hangul.
func isSyllable(r rune) bool { return r >= hangulBase && r <= hangulLast }
