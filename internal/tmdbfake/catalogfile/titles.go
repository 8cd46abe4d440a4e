package catalogfile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// tag splits a language tag of the file into TMDB's language and country.
// Romanised tags ("x-jat") have romanised set and the language they romanise.
func tag(lang string) (language, country string, romanised bool) {
	switch lang {
	case "x-jat":
		return "ja", "JP", true
	case "x-zht":
		return "zh", "CN", true
	case "x-kot":
		return "ko", "KR", true
	case "zh-Hans", "zh", "zh-nan":
		return "zh", "CN", false
	case "zh-Hant":
		return "zh", "TW", false
	case "es-419":
		return "es", "MX", false
	case "es-CA":
		return "ca", "ES", false
	case "es-GA":
		return "gl", "ES", false
	case "al":
		return "sq", "AL", false
	}
	language, country = tmdbfake.SplitLocale(lang)
	if country == "" {
		country = tmdbfake.CountryOf(language)
	}
	if country == "" {
		country = "JP"
	}
	return language, country, false
}

// weight ranks a title's type as the title of a work.
func weight(kind string) int {
	switch kind {
	case "main", "official":
		return 0
	case "bangumi", "mal":
		return 1
	case "synonym":
		return 2
	default:
		return 3
	}
}

// placeTitles puts the titles of a series that its ranges put at the beginning of one later season there, whatever
// season they state: where both speak of one series, its ranges count.
func (l *lineWork) placeTitles() {
	ranges := map[int]int{} // by series
	for _, s := range l.Seasons {
		for _, r := range s.Ranges {
			ranges[r.Source]++
		}
	}
	for _, s := range l.Seasons {
		for _, r := range s.Ranges {
			if r.Source == 0 || ranges[r.Source] > 1 || s.Number < 2 || r.To[0] != max(1, s.First) {
				continue
			}
			for i := range l.Titles {
				if t := &l.Titles[i]; t.Source == r.Source {
					t.Season, t.Offset = seasonMark(s.Number), 0
				}
			}
		}
	}
}

// ofWork returns the titles that name the work as a whole: those at the beginning
// of its first regular season, and all if there are none.
func (l *lineWork) ofWork() []lineTitle {
	first := seasonMark(-2)
	for _, t := range l.Titles {
		if t.Offset != 0 || t.Season == 0 {
			continue
		}
		if first == -2 || t.Season < first {
			first = t.Season
		}
	}
	var out []lineTitle
	for _, t := range l.Titles {
		if l.Kind == tmdbfake.Movie || t.Season == first && t.Offset == 0 {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		out = slices.Clone(l.Titles)
	}
	slices.SortStableFunc(out, func(a, b lineTitle) int { return cmp.Compare(weight(a.Type), weight(b.Type)) })
	return out
}

// name fills in the names, the original language, translations and
// alternative titles.
func (l *lineWork) name(w *tmdbfake.Work) {
	own := l.ofWork()
	pick := func(want func(lineTitle) bool) string {
		for _, t := range own {
			if want(t) {
				return t.Title
			}
		}
		return ""
	}
	script := func(language string) string {
		return pick(func(t lineTitle) bool {
			got, _, romanised := tag(t.Lang)
			return got == language && !romanised
		})
	}
	main := pick(func(t lineTitle) bool { return t.Type == "main" })
	if main == "" {
		main = own[0].Title
	}
	w.Language, w.Original = "ja", script("ja")
	for _, t := range own {
		if t.Type != "main" {
			continue
		}
		if language, _, romanised := tag(t.Lang); romanised && language != "ja" && script(language) != "" {
			w.Language, w.Original = language, script(language)
		}
		break
	}
	for _, language := range []string{"zh", "ko", "en"} {
		if w.Original == "" {
			w.Language, w.Original = language, script(language)
		}
	}
	if w.Original == "" {
		w.Language, w.Original = "ja", main
	}
	w.Country = tmdbfake.CountryOf(w.Language)
	w.Name = pick(func(t lineTitle) bool { return t.Lang == "en" && t.Type == "official" })
	if w.Name == "" {
		w.Name = main
	}
	translate(w, own)
	l.alternatives(w)
}

func translate(w *tmdbfake.Work, own []lineTitle) {
	for _, t := range own {
		language, country, romanised := tag(t.Lang)
		if romanised || language == "en" || strings.HasPrefix(t.Lang, "x-") || weight(t.Type) > 1 {
			continue
		}
		same := func(o tmdbfake.Translation) bool { return o.Language == language && o.Country == country }
		if !slices.ContainsFunc(w.Trans, same) {
			w.Trans = append(w.Trans, tmdbfake.Translation{Language: language, Country: country, Name: t.Title})
		}
	}
}

// alternatives adds every other title, also those of later seasons.
func (l *lineWork) alternatives(w *tmdbfake.Work) {
	seen := map[string]bool{w.Name: true, w.Original: true}
	for _, t := range w.Trans {
		seen[t.Name] = true
	}
	for _, t := range l.Titles {
		if t.Title == "" || seen[t.Title] {
			continue
		}
		seen[t.Title] = true
		_, country, romanised := tag(t.Lang)
		kind := ""
		if romanised && upstream.Chance(1, "romaji", t.Title) < 0.5 { // users fill the type in now and then
			kind = "Romaji"
		}
		w.Alt = append(w.Alt, tmdbfake.AltTitle{Country: country, Title: t.Title, Type: kind})
	}
}

// nameSeasons names later seasons by the title under which they are known, unless
// that is only the work's title with a number.
func (l *lineWork) nameSeasons(w *tmdbfake.Work) {
	if w.Seasons[len(w.Seasons)-1].Number < 2 {
		return
	}
	base := map[string]bool{coll(w.Name): true, coll(w.Original): true}
	for _, a := range l.ofWork() {
		base[coll(a.Title)] = true
	}
	for i := range w.Seasons {
		s := &w.Seasons[i]
		if s.Number < 2 {
			continue
		}
		var own []lineTitle
		for _, t := range l.Titles {
			if int(t.Season) == s.Number && t.Offset == 0 && weight(t.Type) == 0 && !numbered(t.Title, base) {
				own = append(own, t)
			}
		}
		for _, t := range own {
			language, _, romanised := tag(t.Lang)
			switch {
			case language == "en":
				s.Name = t.Title
			case romanised || t.Type == "main":
				s.Name = cmp.Or(s.Name, t.Title)
			default:
				if s.Names == nil {
					s.Names = map[string]string{}
				}
				s.Names[language] = cmp.Or(s.Names[language], t.Title)
			}
		}
	}
}

// numbered reports whether a title is one of the bases, followed by a season's
// number alone.
func numbered(title string, base map[string]bool) bool {
	ts := tmdbfake.Tokens(title)
	for len(ts) > 0 {
		if base[strings.Join(ts, "")] {
			return true
		}
		if !seasonWord(ts[len(ts)-1]) {
			return false
		}
		ts = ts[:len(ts)-1]
	}
	return false
}

// seasonWord reports whether a token only counts seasons.
func seasonWord(t string) bool {
	switch t {
	case "season", "series", "part", "cour", "the", "final", "2nd", "3rd", "4th", "5th", "6th", "first", "second", "third",
		"fourth", "fifth", "ii", "iii", "iv", "v", "vi", "期", "第", "季", "기", "シーズン", "第二季", "第三季", "第四季":
		return true
	}
	n := strings.TrimPrefix(t, "s") // "s2"; an "S" alone names a season
	return n != "" && strings.Trim(n, "0123456789") == ""
}

// coll returns the tokens of a title without spaces.
func coll(title string) string { return strings.Join(tmdbfake.Tokens(title), "") }

// nameSpecials names the episodes of season 0 by the title under which their
// series was released, as TMDB does: the English one, else the romanised one, with
// a number where there are several. A series that has only the work's own title
// keeps its placeholders.
func (l *lineWork) nameSpecials(w *tmdbfake.Work) {
	for i := range w.Seasons {
		s := &w.Seasons[i]
		if s.Number != 0 {
			continue
		}
		base := map[string]bool{coll(w.Name): true, coll(w.Original): true}
		for _, cours := range l.Seasons {
			if cours.Number != 0 {
				continue
			}
			for _, c := range cours.Cours {
				title := l.titleOf(c.Source)
				if title == "" || base[coll(title)] {
					continue
				}
				for n := 1; n <= max(1, c.Episodes); n++ {
					name := title
					if c.Episodes > 1 {
						name += " " + strconv.Itoa(n)
					}
					if s.Titles == nil {
						s.Titles = map[int]string{}
					}
					s.Titles[c.Offset+n] = cmp.Or(s.Titles[c.Offset+n], name)
				}
			}
		}
	}
}

// titleOf returns the title of a source series: official English, else its romanised main title.
func (l *lineWork) titleOf(source int) string {
	if source == 0 {
		return ""
	}
	english, main := "", ""
	for _, t := range l.Titles {
		if t.Source != source {
			continue
		}
		switch language, _, _ := tag(t.Lang); {
		case language == "en" && weight(t.Type) == 0:
			english = cmp.Or(english, t.Title)
		case t.Type == "main":
			main = cmp.Or(main, t.Title)
		}
	}
	return cmp.Or(english, main)
}
