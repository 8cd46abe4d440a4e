package tmdbfake

import (
	"crypto/md5" //nolint:gosec // TMDB's ids look like this; nothing is protected by it
	"encoding/hex"
	"fmt"
	"math"

	"github.com/anivault/anivault/internal/upstream"
)

// object is a JSON object. Encoding sorts its keys, so a body is the same
// bytes every time.
type object map[string]any

// view is the language of a body, the season map in force, and what of it has no
// names of its own.
type view struct {
	language, country           string
	renumbered                  bool
	plainSeasons, plainSpecials bool
}

// Oddity makes one field of one work null, empty or absent, as some of TMDB's are.
type Oddity struct {
	Object string `json:"object"` // row, details, season, episode, alternative, external, translation, group
	Field  string `json:"field"`
	Form   Form   `json:"form"`
	At     int    `json:"at"` // season number, episode number or position; -1 is all
}

// Form is the way in which a field lacks a value.
type Form string

// The forms. Present leaves the field as it is.
const (
	Present Form = ""
	Null    Form = "null"
	Empty   Form = "empty" // "" for text, [] for lists
	Absent  Form = "absent"
)

// odd applies a work's oddities to an object of one of its bodies.
func (w *Work) odd(o object, name string, at int) object {
	for _, q := range w.Odd {
		if q.Object != name || q.At >= 0 && q.At != at {
			continue
		}
		switch q.Form {
		case Null:
			o[q.Field] = nil
		case Empty:
			if isList(o[q.Field]) {
				o[q.Field] = []any{}
			} else {
				o[q.Field] = ""
			}
		case Absent:
			delete(o, q.Field)
		case Present:
		}
	}
	return o
}

func isList(v any) bool {
	switch v.(type) {
	case []any, []int, []string, []object, []genre:
		return true
	}
	return false
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// hexID returns n hexadecimal digits, at most 32, that depend on the arguments
// alone.
func hexID(n int, about ...any) string {
	sum := md5.Sum(fmt.Appendln(nil, about...)) //nolint:gosec // an id, not a secret
	return hex.EncodeToString(sum[:])[:n]
}

// image returns the path of a picture that does not exist.
func (w *Work) image(what string) string {
	return "/" + hexID(27, "image", what, w.Kind, w.ID) + ".jpg"
}

// vote returns a plausible mean vote, with at most three decimals.
func (w *Work) vote() float64 {
	if w.Votes == 0 {
		return 0
	}
	return math.Round((6+3*upstream.Chance(1, "vote", w.Kind, w.ID))*1000) / 1000
}

func ints(v []int) []int {
	if v == nil {
		return []int{}
	}
	return v
}

// row returns the work as an element of a result list.
func (w *Work) row(v view, mediaType bool) object {
	o := object{
		"adult": w.Adult, "softcore": false, "id": w.ID,
		"backdrop_path": w.image("backdrop"), "poster_path": w.image("poster"),
		"genre_ids": ints(w.Genres), "original_language": w.Language,
		"overview": w.shownOverview(v.language, v.country), "popularity": w.Popularity,
		"vote_average": w.vote(), "vote_count": w.Votes,
	}
	name := w.shownName(v.language, v.country)
	if w.Kind == TV {
		o["name"], o["original_name"], o["first_air_date"] = name, w.Original, w.Date.String()
		o["origin_country"] = w.countries()
	} else {
		o["title"], o["original_title"], o["release_date"] = name, w.Original, w.Date.String()
		o["video"] = false
	}
	if mediaType {
		o["media_type"] = string(w.Kind)
	}
	return w.odd(o, "row", 0)
}

func (w *Work) countries() []string {
	if w.Country == "" {
		return []string{}
	}
	return []string{w.Country}
}

// episodeID returns an id that no other episode has.
func episodeID(work, season, number int) int { return work*100_000 + season*2_000 + number }

// seasonID returns an id that no other season has.
func seasonID(work, season int) int { return work*100 + season }

// episode returns one episode. Full adds the people, which lists leave out.
func (w *Work) episode(e Episode, v view, full bool) object {
	overview := ""
	if v.language == "en" && e.Title != "" {
		overview = fmt.Sprintf("Number %d of season %d.", e.Number, e.Season)
	}
	o := object{
		"id": episodeID(w.ID, e.Season, e.Number), "show_id": w.ID,
		"season_number": e.Season, "episode_number": e.Number, "episode_type": e.Kind,
		"name": shownEpisode(e, v), "overview": overview, "air_date": nullable(e.Date.String()),
		"production_code": "", "runtime": nullableInt(w.Runtime),
		"still_path": w.image(fmt.Sprint("still", e.Season, e.Number)), "vote_average": 0.0, "vote_count": 0,
	}
	if full {
		o["crew"], o["guest_stars"] = []any{}, []any{}
	}
	return w.odd(o, "episode", e.Number)
}

func nullableInt(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// seasonRow returns a season as an element of a list.
func (w *Work) seasonRow(s *Season, v view) object {
	date := nullable(s.Date().String())
	if s.Undate {
		date = nil
	}
	o := object{
		"air_date": date, "episode_count": s.Count(), "id": seasonID(w.ID, s.Number),
		"name": shownSeason(s, v), "overview": "", "poster_path": w.image(fmt.Sprint("season", s.Number)),
		"season_number": s.Number, "vote_average": 0.0,
	}
	return w.odd(o, "season", s.Number)
}

func network() object {
	return object{"id": 9_000_001, "name": "Anivault Test Network", "logo_path": nil, "origin_country": "JP"}
}

func (w *Work) genreObjects() []genre {
	all := tables().TVGenres
	if w.Kind == Movie {
		all = tables().MovieGenres
	}
	out := []genre{}
	for _, id := range w.Genres {
		for _, g := range all {
			if g.ID == id {
				out = append(out, g)
			}
		}
	}
	return out
}
