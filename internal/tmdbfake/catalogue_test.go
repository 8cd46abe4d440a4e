package tmdbfake

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/upstream"
)

// lack is how one field of one kind of object can lack a value.
type lack struct {
	object, field string
	form          Form
}

// measured is the nullability that was measured on recorded bodies
// of TMDB: the authored catalogue must show each at least once.
func measured() []lack {
	var out []lack
	add := func(object string, form Form, fields string) {
		for f := range strings.FieldsSeq(fields) {
			out = append(out, lack{object, f, form})
		}
	}
	add("tv row", Null, "backdrop_path poster_path first_air_date original_language")
	add("tv row", Empty, "overview genre_ids origin_country first_air_date")
	add("tv row", Absent, "adult softcore media_type")
	add("movie row", Null, "backdrop_path poster_path")
	add("movie row", Empty, "release_date overview")
	add("movie row", Absent, "release_date softcore media_type")
	add("tv details", Null, "next_episode_to_air last_episode_to_air last_air_date poster_path backdrop_path overview")
	add("tv details", Empty, "tagline homepage episode_run_time networks genres")
	add("tv details", Absent, "spoken_languages tagline")
	add("season row", Null, "air_date poster_path overview")
	add("season row", Empty, "overview")
	add("season row", Absent, "vote_average")
	add("episode", Null, "runtime still_path production_code")
	add("episode", Empty, "production_code overview")
	add("episode", Absent, "episode_type runtime show_id")
	add("alternative title", Empty, "type")
	add("alternative title", Absent, "type")
	add("external ids", Null,
		"imdb_id tvdb_id tvrage_id wikidata_id freebase_id freebase_mid facebook_id instagram_id twitter_id")
	add("translation data", Empty, "name overview homepage")
	add("translation data", Absent, "tagline")
	add("group", Null, "network")
	add("group", Empty, "description")
	return out
}

// TestEveryFieldThatCanLackAValueDoesSo counts over every body of the authored
// catalogue.
func TestEveryFieldThatCanLackAValueDoesSo(t *testing.T) {
	fields := map[string][]string{}
	for _, l := range measured() {
		fields[l.object] = append(fields[l.object], l.field)
	}
	count := map[lack]int{}
	note := func(object string, o object) {
		// What a client sees is what the encoding leaves.
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields[object] {
			v, ok := decode(t, b)[field]
			list, isList := v.([]any)
			switch {
			case !ok:
				count[lack{object, field, Absent}]++
			case v == nil:
				count[lack{object, field, Null}]++
			case v == "" || isList && len(list) == 0:
				count[lack{object, field, Empty}]++
			}
		}
	}
	v := view{language: "en", country: "US"}
	c := authored(t)
	for _, w := range c.Works(TV) {
		note("tv row", w.row(v, false))
		d := w.tvDetails(v)
		note("tv details", d)
		for i := range w.Seasons {
			note("season row", w.seasonRow(&w.Seasons[i], v))
			for _, e := range w.Seasons[i].Episodes() {
				note("episode", w.episode(e, v, true))
			}
		}
		for _, a := range w.alternativeTitles("")["results"].([]object) {
			note("alternative title", a)
		}
		note("external ids", w.externalIDs())
		for _, tr := range w.translations()["translations"].([]object) {
			note("translation data", tr["data"].(object))
		}
		for i := range w.Groups {
			note("group", w.groupRow(i))
		}
	}
	for _, w := range c.Works(Movie) {
		note("movie row", w.row(v, false))
	}
	for _, l := range measured() {
		if count[l] == 0 {
			t.Errorf("no %s has %s %s", l.object, l.field, l.form)
		}
	}
}

// TestShapes says in numbers what each letter is there for.
func TestShapes(t *testing.T) {
	c := authored(t)
	// counts returns the numbers of each season as ranges.
	counts := func(id int, renumbered bool) string {
		var out []string
		for _, s := range c.Get(TV, id).seasonMap(renumbered) {
			es := s.Episodes()
			if len(es) != s.Count() {
				t.Errorf("tv %d season %d: Count %d, %d episodes", id, s.Number, s.Count(), len(es))
			}
			out = append(out, fmt.Sprintf("%d:%d-%d", s.Number, es[0].Number, es[len(es)-1].Number))
		}
		return strings.Join(out, " ")
	}
	for _, row := range []struct {
		shape      string
		id         int
		renumbered bool
		want       string
	}{
		{"A merged cours", 9_000_001, false, "0:1-4 1:1-38"},
		{"B split seasons", 9_000_002, false, "1:1-12 2:1-12"},
		{"C rolling numbers", 9_000_003, false, "1:1-61 2:62-77 3:78-92 4:93-130 5:131-143 6:144-195"},
		{"D giant season", 9_000_004, false, "1:1-366"},
		{"E specials", 9_000_005, false, "0:1-43 1:1-24"},
		{"K planned", 9_000_022, false, ""},
		{"N adult", 9_000_025, false, "1:1-2"},
		{"O before", 9_000_026, false, "1:1-60"},
		{"O after", 9_000_026, true, "1:1-24 2:1-36"},
	} {
		t.Run(fmt.Sprint(row.id, " ", row.renumbered), func(t *testing.T) {
			if got := counts(row.id, row.renumbered); got != row.want {
				t.Errorf("%s: %s, want %s", row.shape, got, row.want)
			}
		})
	}
	if n := len(c.Get(TV, 9_000_023).Seasons); n != 23 {
		t.Errorf("L has %d seasons, want 23", n)
	}
	var groups []any
	for i, g := range c.Get(TV, 9_000_024).Groups {
		if g.Type != 2 {
			t.Errorf("M: group %s has type %d", g.ID, g.Type)
		}
		groups = append(groups, c.Get(TV, 9_000_024).groupRow(i)["episode_count"])
	}
	if d := cmp.Diff([]any{165, 220}, groups); d != "" {
		t.Errorf("M: episodes of the groups (-want +got):\n%s", d)
	}
	season1 := c.Get(TV, 9_000_005).Seasons[1].Episodes()
	inside := 0
	for _, e := range c.Get(TV, 9_000_005).Seasons[0].Episodes() {
		if e.Date > season1[0].Date && e.Date < season1[len(season1)-1].Date {
			inside++
		}
	}
	if inside != 2 {
		t.Errorf("E: %d specials were broadcast inside season 1, want 2", inside)
	}
	if c.Get(TV, 9_000_008).Name != c.Get(Movie, 9_000_101).Name {
		t.Error("G: film and series differ in name")
	}
	episodes := 0
	for _, w := range c.Works(TV) {
		for i := range w.Seasons {
			if w.ID >= 9_000_000 {
				episodes += w.Seasons[i].Count()
			}
		}
	}
	if episodes < 1_400 {
		t.Errorf("the invented shows have %d episodes, want 1,400 or more", episodes)
	}
}

func TestInventedIDsCannotBeTakenForFacts(t *testing.T) {
	real := 0
	for _, w := range authored(t).works {
		if w.ID < 9_000_000 {
			real++
			if w.Overview != "" {
				t.Errorf("%s %d: a well-known work carries an overview", w.Kind, w.ID)
			}
		} else if w.ID > 9_000_999 {
			t.Errorf("%s %d is outside 9,000,000..9,000,999", w.Kind, w.ID)
		}
	}
	if real < 40 {
		t.Errorf("%d well-known works, want 40 or more", real)
	}
}

func TestRenumberingFlipsTheSeasons(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFake(t, Config{
		Clock: func() time.Time { return now }, Scenario: upstream.Scenario{RenumberAfter: upstream.Duration(time.Hour)},
	})
	s := start(t, f)
	c := clientOf(t, s)
	seasons := func() float64 {
		r, err := ask(c, s.URL()+"/3/tv/9000026")
		if err != nil {
			t.Fatal(err)
		}
		n, _ := decode(t, r.body)["number_of_seasons"].(float64)
		return n
	}
	if n := seasons(); n != 1 {
		t.Errorf("%v seasons at first, want 1", n)
	}
	if err := f.Advance(time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := seasons(); n != 2 {
		t.Errorf("%v seasons an hour later, want 2", n)
	}
	r, err := ask(c, s.URL()+"/3/tv/changes")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, id := range rows(t, r.body) {
		found = found || id == 9_000_026
	}
	if !found {
		t.Error("the changes do not list the renumbered work")
	}
	if err := f.Advance(-time.Second); err == nil {
		t.Error("the clock went back")
	}
}

func TestNewCatalogueRefuses(t *testing.T) {
	w := invented(9_400_000, "X", "", 1, NoDay)
	g := invented(9_400_001, "Y", "", 1, NoDay)
	g.Groups = []Group{{ID: "a"}, {ID: "a"}}
	for part, ws := range map[string][]Work{
		"twice":            {w, w},
		"not positive":     {{Kind: TV}},
		`kind "book"`:      {{Kind: "book", ID: 1}},
		"episode group a ": {g},
	} {
		t.Run(part, func(t *testing.T) {
			if _, err := NewCatalogue(ws); err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("error %v, want one with %q", err, part)
			}
		})
	}
}
