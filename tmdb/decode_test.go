package tmdb

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// calls is how every body is asked for, by the fixture that holds it.
var calls = map[string]func(t *testing.T, c *Client) (any, error){
	"search_tv": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.SearchTV(t.Context(), SearchTVOptions{Query: "x"})
		return v, err
	},
	"search_movie": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.SearchMovie(t.Context(), SearchMovieOptions{Query: "x"})
		return v, err
	},
	"search_multi": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/search/multi", newQuery())
		return v, err
	},
	"tv_details": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.TV(t.Context(), 9000001, DetailOptions{})
		return v, err
	},
	"movie_details": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.Movie(t.Context(), 9500001, DetailOptions{})
		return v, err
	},
	"season": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.Season(t.Context(), 9000001, 1, DetailOptions{})
		return v, err
	},
	"episode": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/tv/9000001/season/1/episode/1", newQuery())
		return v, err
	},
	"episode_groups": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/tv/9000001/episode_groups", newQuery())
		return v, err
	},
	"episode_group": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.EpisodeGroup(t.Context(), "bbbbbbbbbbbbbbbbbbbbbbbb", DetailOptions{})
		return v, err
	},
	"alternative_titles_tv": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/tv/9000001/alternative_titles", newQuery())
		return v, err
	},
	"alternative_titles_movie": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/movie/9500001/alternative_titles", newQuery())
		return v, err
	},
	"translations": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/tv/9000001/translations", newQuery())
		return v, err
	},
	"external_ids": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/tv/9000001/external_ids", newQuery())
		return v, err
	},
	"find": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.Find(t.Context(), "9000011", SourceTVDB, "")
		return v, err
	},
	"configuration": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.Configuration(t.Context())
		return v, err
	},
	"genres": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/genre/tv/list", newQuery())
		return v, err
	},
	"changes": func(t *testing.T, c *Client) (any, error) {
		v, _, err := c.get(t.Context(), "/tv/changes", newQuery())
		return v, err
	},
}

// ask answers the endpoint's call with body.
func ask(t *testing.T, endpoint string, body []byte) (any, error) {
	t.Helper()
	c := clientFor(t, Options{Token: "t"}, func(r *http.Request) (*http.Response, error) {
		return answer(r, 200, jsonType, string(body)), nil
	})
	return calls[endpoint](t, c)
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// notInFixture are fields that hold nothing in a body of that endpoint.
var notInFixture = map[string]bool{
	"tv_details.AlternativeTitles.ID": true, "tv_details.Translations.ID": true, // absent where appended
	"tv_details.ExternalIDs.ID": true, "tv_details.EpisodeGroups.ID": true,
	"movie_details.AlternativeTitles.ID": true, "movie_details.Translations.ID": true,
	"movie_details.ExternalIDs.ID":                      true,
	"movie_details.Translations.Translations.Data.Name": true, // a film has a title
	"tv_details.Translations.Translations.Data.Title":   true, "translations.Translations.Data.Title": true,
}

func TestEveryFieldIsReadFromAFullBody(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(calls) {
		t.Fatalf("%d fixtures for %d endpoints (%v)", len(files), len(calls), err)
	}
	for name := range calls {
		t.Run(name, func(t *testing.T) {
			v, err := ask(t, name, fixture(t, name))
			if err != nil {
				t.Fatal(err)
			}
			wantNoZero(t, name, reflect.ValueOf(v))
		})
	}
}

// wantNoZero reports each field that is zero; of a list or map the first element (or, for the seasons, all) counts.
func wantNoZero(t *testing.T, at string, v reflect.Value) {
	t.Helper()
	if notInFixture[at] {
		return
	}
	if v.IsZero() {
		t.Errorf("%s is zero", at)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		wantNoZero(t, at, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name == "SeasonNumber" || f.Anonymous {
				if f.Anonymous {
					wantNoZero(t, at, v.Field(i))
				}
				continue // season 0 is a season
			}
			wantNoZero(t, at+"."+f.Name, v.Field(i))
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is empty", at)
			return
		}
		wantNoZero(t, at, v.Index(0))
	case reflect.Map:
		for _, key := range v.MapKeys() {
			wantNoZero(t, at, v.MapIndex(key))
		}
	default:
	}
}

func TestSeasonsComeWithTheirOwnNumbers(t *testing.T) {
	v, err := ask(t, "tv_details", fixture(t, "tv_details"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[int][]int{}
	for n, s := range v.(*TVDetails).AppendedSeasons {
		for _, e := range s.Episodes {
			got[n] = append(got[n], e.EpisodeNumber)
		}
	}
	if diff := cmp.Diff(map[int][]int{0: {1}, 1: {1, 2}, 2: {62, 63}}, got); diff != "" {
		t.Error(diff)
	}
}

// optional is docs' table of what TMDB leaves out: where the field is in the fixture, and the empty form it was seen
// in ("", [], or none for numbers, images and objects, of which only null and absence were seen).
var optional = []struct{ endpoint, path, empty string }{
	{"search_tv", "results.0.backdrop_path", ""},
	{"search_tv", "results.0.poster_path", ""},
	{"search_tv", "results.0.first_air_date", `""`},
	{"search_tv", "results.0.original_language", `""`},
	{"search_tv", "results.0.overview", `""`},
	{"search_tv", "results.0.genre_ids", `[]`},
	{"search_tv", "results.0.origin_country", `[]`},
	{"search_tv", "results.0.adult", ""},
	{"search_tv", "results.0.media_type", `""`},
	{"search_movie", "results.0.backdrop_path", ""},
	{"search_movie", "results.0.poster_path", ""},
	{"search_movie", "results.0.release_date", `""`},
	{"search_movie", "results.0.overview", `""`},
	{"search_movie", "results.0.media_type", `""`},
	{"tv_details", "next_episode_to_air", ""},
	{"tv_details", "last_episode_to_air", ""},
	{"tv_details", "first_air_date", `""`},
	{"tv_details", "last_air_date", `""`},
	{"tv_details", "poster_path", ""},
	{"tv_details", "backdrop_path", ""},
	{"tv_details", "overview", `""`},
	{"tv_details", "episode_run_time", `[]`},
	{"tv_details", "genres", `[]`},
	{"tv_details", "seasons", `[]`},
	{"tv_details", "seasons.0.air_date", `""`},
	{"tv_details", "seasons.0.poster_path", ""},
	{"tv_details", "seasons.0.overview", `""`},
	{"tv_details", "season/1.episodes.0.runtime", ""},
	{"movie_details", "release_date", `""`},
	{"movie_details", "imdb_id", `""`},
	{"movie_details", "runtime", ""},
	{"movie_details", "poster_path", ""},
	{"movie_details", "backdrop_path", ""},
	{"season", "air_date", `""`},
	{"season", "overview", `""`},
	{"season", "poster_path", ""},
	{"season", "episodes.0.runtime", ""},
	{"season", "episodes.0.overview", `""`},
	{"season", "episodes.0.episode_type", `""`},
	{"season", "episodes.0.show_id", ""},
	{"season", "episodes.0.air_date", `""`},
	{"episode", "runtime", ""},
	{"alternative_titles_tv", "results.0.type", `""`},
	{"alternative_titles_movie", "titles.0.type", `""`},
	{"external_ids", "imdb_id", `""`},
	{"external_ids", "tvdb_id", ""},
	{"external_ids", "wikidata_id", `""`},
	{"translations", "translations.0.data.name", `""`},
	{"translations", "translations.0.data.overview", `""`},
	{"episode_groups", "results.0.network", ""},
	{"episode_groups", "results.0.description", `""`},
	{"episode_group", "network", ""},
	{"episode_group", "description", `""`},
	{"episode_group", "groups.0.episodes.0.runtime", ""},
	{"genres", "genres.0.name", `""`},
}

func TestNullEmptyAndAbsentDecodeToTheSame(t *testing.T) {
	const absent = "absent"
	seen := map[string]int{}
	for _, row := range optional {
		t.Run(row.endpoint+" "+row.path, func(t *testing.T) {
			full, err := ask(t, row.endpoint, fixture(t, row.endpoint))
			if err != nil {
				t.Fatal(err)
			}
			var want any
			for _, form := range []string{absent, "null", row.empty} {
				if form == "" {
					continue
				}
				got, err := ask(t, row.endpoint, without(t, row.endpoint, row.path, form, absent))
				if err != nil {
					t.Fatalf("%s: %v", form, err)
				}
				if form == absent {
					want = got
					if row.path != "results.0.media_type" && cmp.Equal(full, got) {
						t.Fatal("the field is not read at all")
					}
				}
				if diff := cmp.Diff(fmt.Sprintf("%+v", flat(want)), fmt.Sprintf("%+v", flat(got))); diff != "" {
					t.Errorf("%s: %s", form, diff)
				}
				seen[form]++
			}
		})
	}
	if seen[absent] != len(optional) || seen["null"] != len(optional) || seen[`""`]+seen["[]"] < 30 {
		t.Errorf("%d optional fields, seen as %v", len(optional), seen)
	}
}

// flat makes values comparable for which an empty list and none are the same.
func flat(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return strings.ReplaceAll(string(raw), "[]", "null")
}

// without gives the fixture with the field at path in another form.
func without(t *testing.T, endpoint, path, form, absent string) []byte {
	t.Helper()
	var root any
	if err := json.Unmarshal(fixture(t, endpoint), &root); err != nil {
		t.Fatal(err)
	}
	at := root
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		switch node := at.(type) {
		case map[string]any:
			at = node[step]
		case []any:
			at = node[0]
		}
	}
	node, last := at.(map[string]any), steps[len(steps)-1]
	if _, there := node[last]; !there {
		t.Fatalf("%s has no %s", endpoint, path)
	}
	if form == absent {
		delete(node, last)
	} else {
		node[last] = json.RawMessage(form)
	}
	body, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestJSONOfAnotherKindIsNoAnswer(t *testing.T) {
	bodies := []string{
		`{}`, `{"results":null}`, `{"error":"captive portal"}`, `{"id":"text","results":7}`, `{"id":0,"genres":null}`,
	}
	for name := range calls {
		for _, body := range bodies {
			if v, err := ask(t, name, []byte(body)); err == nil {
				t.Errorf("%s: %s was taken for %+v", name, body, v)
			}
		}
	}
}

func TestAnInvalidAppendedSeasonIsOmitted(t *testing.T) {
	v, err := ask(t, "tv_details", []byte(`{"id":9000001,
		"season/1":{"season_number":1,"episodes":[]},
		"season/2":null,
		"season/3":{"success":false,"status_code":34,"status_message":"The resource you requested could not be found."},
		"season/x":{"episodes":[]},"season/-1":{"episodes":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.(*TVDetails).AppendedSeasons; len(got) != 1 || got[1] == nil {
		t.Errorf("got %v, want season 1 alone", got)
	}
}
