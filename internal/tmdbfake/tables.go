package tmdbfake

import (
	"cmp"
	_ "embed" // the tables
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

//go:embed tables.json
var tablesFile []byte

// language is how TMDB names a language, and how its seasons and episodes are called in it; %d is the number.
type language struct {
	Own, English              string
	Episode, Season, Specials string
}

type genre struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// tables are what TMDB lists alike for everybody.
var tables = sync.OnceValue(func() (t struct {
	Languages              map[string]language // by ISO 639-1
	Countries              map[string]string   // names by ISO 3166-1
	CountryOf              map[string]string   `json:"country_of"` // that TMDB pairs with a language
	TVGenres               []genre             `json:"tv_genres"`
	MovieGenres            []genre             `json:"movie_genres"`
	Errors                 map[int]string      // messages of the codes that the stand-in itself uses
	Configuration          object
	ConfigurationLanguages []object `json:"configuration_languages"`
},
) {
	if err := json.Unmarshal(tablesFile, &t); err != nil {
		panic(fmt.Sprintf("tmdbfake: tables.json: %v", err))
	}
	return t
})

// CountryOf returns the country that TMDB pairs with a language by default, "" for a language without one.
func CountryOf(language string) string { return tables().CountryOf[language] }

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

// placeholders returns the language whose names stand for seasons and episodes without one.
func placeholders(of string) language {
	all := tables().Languages
	return cmp.Or(all[of], all["en"])
}

func shownEpisode(e Episode, v view) string {
	if e.Title != "" && v.language == "en" && !(v.plainSpecials && e.Season == 0) {
		return e.Title
	}
	return fmt.Sprintf(placeholders(v.language).Episode, e.Number)
}

func shownSeason(s *Season, v view) string {
	if n := s.Names[v.language]; n != "" && !v.plainSeasons {
		return n
	}
	if v.language == "en" && s.Name != "" && !v.plainSeasons {
		return s.Name
	}
	if s.Number == 0 {
		return placeholders(v.language).Specials
	}
	return fmt.Sprintf(placeholders(v.language).Season, s.Number)
}
