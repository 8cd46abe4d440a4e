package tmdbfake

import (
	"fmt"
	"strings"
)

// SplitLocale splits a language parameter ("ko-KR", "ja") into its parts; the
// country is "" when it is not given.
func SplitLocale(s string) (language, country string) {
	language, country, _ = strings.Cut(s, "-")
	return strings.ToLower(language), strings.ToUpper(country)
}

// translation returns the translation of a country, else the first of its language,
// nil if there is none.
func (w *Work) translation(language, country string) *Translation {
	var first *Translation
	for i := range w.Trans {
		t := &w.Trans[i]
		if t.Language != language {
			continue
		}
		if t.Country == country {
			return t
		}
		if first == nil {
			first = t
		}
	}
	return first
}

// shownName returns the title in a language: the translation, for English the
// English name, else the original. TMDB has no other fallback.
func (w *Work) shownName(language, country string) string {
	if language == "en" && w.Name != "" {
		return w.Name
	}
	if t := w.translation(language, country); t != nil && t.Name != "" {
		return t.Name
	}
	return w.Original
}

// shownOverview returns the overview in a language, "" without one: TMDB has no
// fallback.
func (w *Work) shownOverview(language, country string) string {
	if language == "en" {
		return w.Overview
	}
	if t := w.translation(language, country); t != nil {
		return t.Overview
	}
	return ""
}

// words are the placeholder names of one language; %d is the number.
type words struct{ episode, season, specials string }

var placeholder = map[string]words{
	"en": {"Episode %d", "Season %d", "Specials"},
	"ja": {"第%d話", "シーズン%d", "特別編"},
	"ko": {"에피소드 %d", "시즌 %d", "스페셜"},
	"zh": {"第 %d 集", "第 %d 季", "特别篇"},
	"de": {"Folge %d", "Staffel %d", "Extras"},
	"fr": {"Épisode %d", "Saison %d", "Épisodes spéciaux"},
	"es": {"Episodio %d", "Temporada %d", "Especiales"},
	"pt": {"Episódio %d", "Temporada %d", "Especiais"},
	"it": {"Episodio %d", "Stagione %d", "Speciali"},
	"ru": {"Эпизод %d", "Сезон %d", "Спецматериалы"},
	"sk": {"Epizóda %d", "%d. séria", "Špeciály"},
}

func wordsOf(language string) words {
	if w, ok := placeholder[language]; ok {
		return w
	}
	return placeholder["en"]
}

// shownEpisode returns an episode's name: its English title, or the language's
// placeholder.
func shownEpisode(e Episode, v view) string {
	if e.Title != "" && v.language == "en" && !(v.plainSpecials && e.Season == 0) {
		return e.Title
	}
	return fmt.Sprintf(wordsOf(v.language).episode, e.Number)
}

// shownSeason returns a season's name in a language.
func shownSeason(s *Season, v view) string {
	if n := s.Names[v.language]; n != "" && !v.plainSeasons {
		return n
	}
	if v.language == "en" && s.Name != "" && !v.plainSeasons {
		return s.Name
	}
	if s.Number == 0 {
		return wordsOf(v.language).specials
	}
	return fmt.Sprintf(wordsOf(v.language).season, s.Number)
}

// countryNames and languageNames are the names that stand in bodies.
var countryNames = map[string]string{
	"JP": "Japan", "US": "United States of America", "KR": "South Korea", "CN": "China", "TW": "Taiwan",
	"GB": "United Kingdom", "FR": "France", "DE": "Germany", "ES": "Spain", "MX": "Mexico", "BR": "Brazil",
	"PT": "Portugal", "IT": "Italy", "RU": "Russia",
}

var languageNames = map[string][2]string{ // own name, English name
	"ja": {"日本語", "Japanese"}, "en": {"English", "English"}, "ko": {"한국어/조선말", "Korean"},
	"zh": {"普通话", "Mandarin"}, "fr": {"Français", "French"}, "de": {"Deutsch", "German"},
	"es": {"Español", "Spanish"}, "pt": {"Português", "Portuguese"}, "it": {"Italiano", "Italian"},
	"ru": {"Pусский", "Russian"}, "sk": {"Slovenčina", "Slovak"},
}

// CountryOf returns the country that TMDB pairs with a language by default, "" for
// a language without one.
func CountryOf(language string) string { return countryOf[language] }

var countryOf = map[string]string{
	"ja": "JP", "en": "US", "ko": "KR", "zh": "CN", "fr": "FR", "de": "DE", "es": "ES", "pt": "PT", "it": "IT",
	"ru": "RU", "ar": "SA", "bg": "BG", "pl": "PL", "uk": "UA", "th": "TH", "he": "IL", "tr": "TR", "hu": "HU",
	"lt": "LT", "cs": "CZ", "fa": "IR", "el": "GR", "vi": "VN", "ro": "RO", "fi": "FI", "sv": "SE", "hr": "HR",
	"et": "EE", "nl": "NL", "id": "ID", "hi": "IN", "da": "DK", "no": "NO", "sr": "RS", "sk": "SK", "lv": "LV",
	"sl": "SI", "is": "IS", "ta": "IN", "te": "IN", "tl": "PH", "ur": "PK", "ca": "ES", "gl": "ES", "mn": "MN",
	"my": "MM", "af": "ZA", "sq": "AL", "la": "VA",
}
