package title

import "unicode"

// Script says in which script most of s is written, by language where one
// implies the other: "ja" when there is any kana, "ko" for hangul, "zh" for
// Han characters alone, "ru" for Cyrillic, "latin", or "" when s has no letter
// of these. Han, kana and hangul win over Latin letters beside them, because a
// title in those scripts often holds a Latin word and hardly ever the reverse.
func Script(s string) string {
	var kana, han, hangul, latin, cyrillic int
	for _, r := range s {
		switch {
		case r < 0x80:
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				latin++
			}
		case isKana(r):
			kana++
		case r >= 0xAC00 && r <= 0xD7A3, r >= 0x1100 && r <= 0x11FF, r >= 0x3130 && r <= 0x318F:
			hangul++
		case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3400 && r <= 0x4DBF, r == '々', unicode.Is(unicode.Han, r):
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
	case kana > 1 || kana > 0 && han == 0 || kana > 0 && han > 0 && kana*6 >= han:
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
