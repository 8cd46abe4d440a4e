package tmdbfake

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/tmdb"
)

func TestRefusalsAreTMDBs(t *testing.T) {
	f := newFake(t, Config{})
	s := start(t, f)
	c := clientOf(t, s)
	twentyOne := make([]string, 21)
	for i := range twentyOne {
		twentyOne[i] = fmt.Sprintf("season/%d", i)
	}
	bearer := []string{"Authorization", "Bearer " + token}
	for _, row := range []struct {
		name, method, path string
		header             []string
		status, code       int // code 0: the errors form
	}{
		{"no credential", "GET", "/3/configuration", nil, 401, 7},
		{"v3 key as bearer", "GET", "/3/configuration", []string{"Authorization", "Bearer " + v3}, 401, 7},
		{"api_key of another shape", "GET", "/3/configuration?api_key=xyz", nil, 401, 7},
		{"suspended key", "GET", "/3/configuration?api_key=deadbeef0123456789abcdef01234567", nil, 401, 10},
		{"suspended token", "GET", "/3/configuration", []string{"Authorization", "Bearer deadbeef.read.token"}, 401, 10},
		{"unknown path", "GET", "/3/nothing/here", bearer, 404, 34},
		{"path outside /3", "GET", "/4/tv/1396", bearer, 404, 34},
		{"unknown series", "GET", "/3/tv/999999999", bearer, 404, 34},
		{"series id that is no number", "GET", "/3/tv/abc", bearer, 404, 34},
		{"unknown season", "GET", "/3/tv/1396/season/9", bearer, 404, 34},
		{"unknown episode", "GET", "/3/tv/1396/season/1/episode/99", bearer, 404, 34},
		{"unknown part of a series", "GET", "/3/tv/1396/nonsense", bearer, 404, 34},
		{"series part of a movie", "GET", "/3/movie/603/episode_groups", bearer, 404, 34},
		{"unknown group", "GET", "/3/tv/episode_group/0123", bearer, 404, 34},
		{"wrong verb", "POST", "/3/tv/1396", bearer, 405, 42},
		{"page 0", "GET", "/3/search/tv?query=a&page=0", bearer, 400, 22},
		{"page 501", "GET", "/3/search/movie?query=a&page=501", bearer, 400, 22},
		{"page in words", "GET", "/3/discover/tv?page=two", bearer, 400, 22},
		{"no query", "GET", "/3/search/tv", bearer, 422, 0},
		{"empty query", "GET", "/3/search/multi?query=", bearer, 422, 0},
		{"too many appends", "GET", "/3/tv/1396?append_to_response=" + strings.Join(twentyOne, ","), bearer, 400, 27},
		{"changes over 15 days", "GET", "/3/tv/changes?start_date=2026-01-01&end_date=2026-01-16", bearer, 422, 20},
		{"changes of no date", "GET", "/3/movie/changes?start_date=yesterday", bearer, 400, 23},
		{"find by an unknown source", "GET", "/3/find/tt1?external_source=x", bearer, 422, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := send(c, row.method, s.URL()+row.path, row.header...)
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != row.status {
				t.Errorf("status %d, want %d", r.StatusCode, row.status)
			}
			o := decode(t, r.body)
			if row.code == 0 {
				if _, ok := o["errors"].([]any); !ok {
					t.Errorf("body %s, want the errors form", r.body)
				}
				return
			}
			if o["status_code"] != float64(row.code) || o["success"] != false || o["status_message"] == "" {
				t.Errorf("body %s, want code %d, a message and success false", r.body, row.code)
			}
		})
	}
}

func TestCredentialsThatPass(t *testing.T) {
	open := start(t, newFake(t, Config{}))
	closed := start(t, newFake(t, Config{Keys: []string{"only.this"}}))
	for _, row := range []struct {
		name   string
		s      *Server
		path   string
		header []string
		status int
	}{
		{"any token", open, "/3/configuration", []string{"Authorization", "Bearer x"}, 200},
		{"scheme in capitals", open, "/3/configuration", []string{"Authorization", "BEARER x"}, 200},
		{"any v3 key", open, "/3/configuration?api_key=" + v3, nil, 200},
		{"the one token", closed, "/3/configuration", []string{"Authorization", "Bearer only.this"}, 200},
		{"another token", closed, "/3/configuration", []string{"Authorization", "Bearer other"}, 401},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := send(clientOf(t, row.s), "GET", row.s.URL()+row.path, row.header...)
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode != row.status {
				t.Errorf("status %d, want %d: %s", r.StatusCode, row.status, r.body)
			}
		})
	}
}

func TestEndpointsCarryTheirKeys(t *testing.T) {
	s := start(t, newFake(t, Config{}))
	c := clientOf(t, s)
	for path, keys := range map[string]string{
		"/3/search/tv?query=lantern":       "page results total_pages total_results",
		"/3/search/movie?query=tin+garden": "page results total_pages total_results",
		"/3/search/multi?query=clockmaker": "page results total_pages total_results",
		"/3/tv/9000001/season/1": "_id air_date episodes id name networks overview " +
			"poster_path season_number vote_average",
		"/3/tv/9000003/episode_groups":                 "id results",
		"/3/tv/episode_group/9000000000000000000c0002": "description episode_count group_count groups id name network type",
		"/3/tv/9000001/alternative_titles":             "id results",
		"/3/movie/9000101/alternative_titles":          "id titles",
		"/3/tv/9000001/translations":                   "id translations",
		"/3/tv/1396/external_ids": "facebook_id freebase_id freebase_mid id imdb_id " +
			"instagram_id tvdb_id tvrage_id twitter_id wikidata_id",
		"/3/tv/1396/content_ratings": "id results",
		"/3/movie/603/release_dates": "id results",
		"/3/find/81189?external_source=tvdb_id": "movie_results person_results " +
			"tv_episode_results tv_results tv_season_results",
		"/3/genre/tv/list":    "genres",
		"/3/genre/movie/list": "genres",
		"/3/configuration":    "change_keys images",
		"/3/discover/tv?with_genres=16&sort_by=popularity.desc":   "page results total_pages total_results",
		"/3/tv/changes?start_date=2026-01-01&end_date=2026-01-15": "page results total_pages total_results",
		"/3/credit/x/../../tv/9000001/alternative_titles":         "id results",
	} {
		t.Run(path, func(t *testing.T) {
			r, err := ask(c, s.URL()+path)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			var have []string
			for k := range decode(t, r.body) {
				have = append(have, k)
			}
			slices.Sort(have)
			if got := strings.Join(have, " "); r.StatusCode != http.StatusOK || got != keys {
				t.Errorf("%s: %d with %q, want 200 with %q", path, r.StatusCode, got, keys)
			}
		})
	}
}

func TestAppendsSeasonsThatExistAndIgnoresTheRest(t *testing.T) {
	for _, row := range []struct {
		name, query string
		strict      bool
		want        []string
	}{
		{
			"plain", "season/0,season/1,season/7,external_ids,nonsense", false,
			[]string{"external_ids", "season/0", "season/1"},
		},
		{"encoded", "season%2F1%2Cexternal_ids", false, []string{"external_ids", "season/1"}},
		{"encoded, strict", "season%2F1%2Cexternal_ids", true, []string{"external_ids"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := start(t, newFake(t, Config{StrictAppend: row.strict}))
			r, err := ask(clientOf(t, s), s.URL()+"/3/tv/9000001?append_to_response="+row.query)
			if err != nil {
				t.Fatal(err)
			}
			o := decode(t, r.body)
			var got []string
			for k := range o {
				if strings.HasPrefix(k, "season/") || k == "external_ids" || k == "nonsense" {
					got = append(got, k)
				}
			}
			slices.Sort(got)
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("appended parts (-want +got):\n%s", d)
			}
			if o["id"] != float64(9_000_001) {
				t.Errorf("id %v is not the series'", o["id"])
			}
		})
	}
}

func TestPaging(t *testing.T) {
	var ws []Work
	for i := range 45 {
		ws = append(ws, invented(9_100_000+i, fmt.Sprintf("Common Word %d", i), "", 1, date(2000, 1, 1)))
	}
	cat, err := NewCatalogue(ws)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, newFake(t, Config{Catalogue: cat}))
	c := clientOf(t, s)
	for _, row := range []struct {
		query             string
		page, rows, pages int
		total             float64
	}{
		{"common+word", 1, 20, 3, 45},
		{"common+word", 3, 5, 3, 45},
		{"common+word", 4, 0, 3, 45},
		{"absent", 1, 0, 1, 0},
	} {
		t.Run(fmt.Sprint(row.query, " ", row.page), func(t *testing.T) {
			r, err := ask(c, fmt.Sprintf("%s/3/search/tv?query=%s&page=%d", s.URL(), row.query, row.page))
			if err != nil {
				t.Fatal(err)
			}
			o := decode(t, r.body)
			if n := len(rows(t, r.body)); n != row.rows || o["total_pages"] != float64(row.pages) ||
				o["total_results"] != row.total || o["page"] != float64(row.page) {
				t.Errorf("%s page %d: %d rows, %v pages, %v in all; want %d, %d, %v", row.query, row.page, n, o["total_pages"],
					o["total_results"], row.rows, row.pages, row.total)
			}
		})
	}
}

func TestLanguageFallsBackAsTMDBDoes(t *testing.T) {
	s := start(t, newFake(t, Config{}))
	c := clientOf(t, s)
	details := func(path string) map[string]any {
		r, err := ask(c, s.URL()+path)
		if err != nil {
			t.Fatal(err)
		}
		return decode(t, r.body)
	}
	for _, row := range []struct{ language, name, overview string }{
		{"", "Lantern Harbor", "A lamplighter outlives her city and walks back along every harbour she once kept lit."},
		{"ko-KR", "등불 항구의 미리에", "등불지기는 자신의 도시보다 오래 살아남았다."},
		{"zh-TW", "灯港的米莉耶", ""},
		{"fi-FI", "灯り港のミリエ", ""},
	} {
		t.Run(row.language, func(t *testing.T) {
			o := details("/3/tv/9000001?language=" + row.language)
			if o["name"] != row.name || o["overview"] != row.overview {
				t.Errorf("language %q: %q, %q; want %q, %q", row.language, o["name"], o["overview"], row.name, row.overview)
			}
		})
	}
	season := details("/3/tv/9000001/season/1?language=sk-SK")
	first, _ := season["episodes"].([]any)[0].(map[string]any)
	if first["name"] != "Epizóda 1" || first["overview"] != "" {
		t.Errorf("an untranslated episode is %q, %q; want a placeholder and no overview", first["name"], first["overview"])
	}
}

func TestRevalidationGives304AndCountsAgainstTheLimit(t *testing.T) {
	f := newFake(t, Config{Limits: upstream.Limits{Model: "sliding", Rate: 2, Per: time.Hour}})
	s := start(t, f)
	c := clientOf(t, s)
	first, err := ask(c, s.URL()+"/3/tv/9000001")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ask(c, s.URL()+"/3/tv/9000001", "If-None-Match", first.Header.Get("ETag"))
	if err != nil {
		t.Fatal(err)
	}
	if again.StatusCode != http.StatusNotModified || len(again.body) != 0 {
		t.Errorf("revalidation: %d with %d bytes, want 304 with none", again.StatusCode, len(again.body))
	}
	third, err := ask(c, s.URL()+"/3/tv/9000001")
	if err != nil {
		t.Fatal(err)
	}
	if third.StatusCode != http.StatusTooManyRequests {
		t.Errorf("third request of two: %d, want 429", third.StatusCode)
	}
	want := []string{"200 pass", "304 pass", "429 limit"}
	var got []string
	for _, e := range f.Journal() {
		got = append(got, fmt.Sprint(e.Status, " ", e.Limiter))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("journal (-want +got):\n%s", d)
	}
}

func TestTheLimitCountsRefusalsOfEveryKind(t *testing.T) {
	f := newFake(t, Config{Limits: upstream.Limits{Model: "sliding", Rate: 3, Per: time.Hour}})
	s := start(t, f)
	c := clientOf(t, s)
	got := ""
	for _, path := range []string{"/3/nothing", "/3/search/tv", "/3/tv/1396", "/3/tv/1396"} {
		r, err := send(c, "GET", s.URL()+path) // without a credential
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprint(r.StatusCode, " ")
	}
	if got != "401 401 401 429 " {
		t.Errorf("statuses %s", got)
	}
}

func TestYearParameters(t *testing.T) {
	s := start(t, newFake(t, Config{}))
	c := clientOf(t, s)
	for query, want := range map[string][]int{
		"tv?query=night+parade&first_air_date_year=1998":   {9_000_006},
		"tv?query=glass+orbit&year=2021":                   {9_000_002},
		"tv?query=glass+orbit&first_air_date_year=2021":    {},
		"tv?query=glass+orbit&year=21":                     {9_000_002}, // no year: it does not filter
		"movie?query=matrix&primary_release_year=2003":     {604},
		"movie?query=matrix&year=1999":                     {603},
		"tv?query=velvet+undertow&include_adult=true":      {9_000_025},
		"tv?query=velvet+undertow&include_adult=yes":       {},
		"tv?query=lantern+harbor&unknown=parameter&page=1": {9_000_001},
	} {
		t.Run(query, func(t *testing.T) {
			r, err := ask(c, s.URL()+"/3/search/"+query)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, rows(t, r.body)); d != "" {
				t.Errorf("%s (-want +got):\n%s", query, d)
			}
		})
	}
}

func TestHeadersAreThoseOfTheEdge(t *testing.T) {
	s := start(t, newFake(t, Config{}))
	r, err := ask(clientOf(t, s), s.URL()+"/3/search/tv?query=lantern")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{
		"Cache-Control", "ETag", "Vary", "Via", "X-Cache", "X-Memc", "X-Memc-Age", "X-Memc-Expires",
		"X-Memc-Key", "Date",
	} {
		if r.Header.Get(h) == "" {
			t.Errorf("header %s is missing", h)
		}
	}
	if got := r.Header.Get("Server"); got != "openresty" {
		t.Errorf("Server %q", got)
	}
}

// TestEveryPathHasAClassOfTheCache walks what is served: each path is stored by a row of the cache's table, or named
// here.
func TestEveryPathHasAClassOfTheCache(t *testing.T) {
	notStored := []string{"tv/changes", "movie/changes"}
	for _, r := range routes {
		below := []string{"x"}
		if strings.HasSuffix(r.pattern, "/*/?") { // the parts that there are of a work
			below = []string{"alternative_titles", "translations", "external_ids", "release_dates", "content_ratings"}
		}
		for _, part := range below {
			path := strings.NewReplacer("*", "1", "?", part).Replace(r.pattern)
			stored := tmdb.ClassOf(&http.Request{URL: &url.URL{Path: "/3/" + path}}) != cache.Uncached
			if named := slices.Contains(notStored, path); stored == named {
				t.Errorf("%s: stored is %v, named as not stored is %v", path, stored, named)
			}
		}
	}
}
