package organize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// languages are the words by which names of subtitles say their language: ISO 639 codes of two and three letters, names in
// English and in the language itself. The first of a row is what servers read.
var languages = rows(
	"ko kor korean 한국어 한글 한국", "ja jpn jp japanese 日本語", "en eng english", "zh chi zho chinese 中文", "zh-Hans chs sc gb zh-cn zh-hans 简体 简体中文 简中 simplified",
	"zh-Hant cht tc big5 zh-tw zh-hant 繁體 繁体 繁體中文 繁中 traditional", "fr fre fra french français vff vostfr", "de ger deu german deutsch", "es spa spanish español castellano",
	"es-419 lat latam", "it ita italian italiano", "pt por portuguese português", "pt-BR pob pt-br brazilian", "ru rus russian русский", "ar ara arabic العربية",
	"th tha thai ไทย", "vi vie vietnamese", "id ind indonesian", "ms may msa malay", "tr tur turkish türkçe", "pl pol polish polski", "nl dut nld dutch nederlands",
	"sv swe swedish svenska", "no nor norwegian norsk", "nb nob", "da dan danish dansk", "fi fin finnish suomi", "cs cze ces czech čeština", "sk slo slk slovak", "hu hun hungarian magyar",
	"ro rum ron romanian română", "el gre ell greek ελληνικά", "he heb hebrew עברית", "uk ukr ukrainian українська", "bg bul bulgarian", "hr hrv croatian hrvatski",
	"sr srp serbian", "sl slv slovenian", "et est estonian", "lv lav latvian", "lt lit lithuanian", "hi hin hindi हिन्दी", "ta tam tamil", "te tel telugu", "fa per fas persian فارسی",
	"ca cat catalan català", "eu baq eus basque", "gl glg galician", "is ice isl icelandic", "fil filipino", "und",
)

// flags are the other words that servers read.
var flags = rows("forced", "sdh", "cc", "hi", "default", "signs")

// rows maps each word of rows to its row's first.
func rows(list ...string) map[string]string {
	m := map[string]string{}
	for _, row := range list {
		words := strings.Fields(row)
		for _, word := range words {
			m[strings.ToLower(word)] = words[0]
		}
	}
	return m
}

// spoken reads the language and flags that stand at the end of a stem: "2_English (SDH)" is ".en.sdh", and "2" is left. The rest is
// "" where none stands there.
func spoken(stem string) (left, rest string) {
	var language string
	var said []string
	for {
		stem = strings.TrimRightFunc(stem, isSeparator)
		word := lastWord(stem)
		if before, dash := strings.CutSuffix(stem, "-"+word); dash { // zh-Hans, pt-BR
			if longer := lastWord(before) + "-" + word; languages[strings.ToLower(longer)] != "" {
				word = longer
			}
		}
		low := strings.ToLower(word)
		switch {
		case word == "":
			return stem, suffix(language, said)
		case flags[low] != "" && !slices.Contains(said, low):
			said = append(said, low)
		case languages[low] != "" && language == "":
			language = languages[low]
		default:
			return stem, suffix(language, said)
		}
		stem = strings.TrimSuffix(stem, word)
	}
}

// lastWord returns what stands behind the last separator.
func lastWord(s string) string {
	i := strings.LastIndexFunc(s, isSeparator)
	if i < 0 {
		return s
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	return s[i+size:]
}

func suffix(language string, said []string) string {
	rest := ""
	if language != "" {
		rest = "." + language
	}
	slices.Reverse(said)
	for _, flag := range said {
		rest += "." + flag
	}
	return rest
}

func isSeparator(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("._-[](){},+&", r) }
