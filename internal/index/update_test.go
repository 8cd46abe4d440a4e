package index

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/lang"
)

// host serves lists as their makers do: with an ETag, and 404 for what is not there.
type host struct {
	files map[string]string
	asked []string
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tag := `"` + itoa(len(h.files[r.URL.Path])) + `"`
	line := r.URL.Path
	if r.Header.Get("If-None-Match") != "" {
		line += " if changed"
	}
	h.asked = append(h.asked, line)
	content, ok := h.files[r.URL.Path]
	switch {
	case r.URL.Path == "/moved":
		http.Redirect(w, r, "/list.xml", http.StatusFound)
	case r.URL.Path == "/elsewhere":
		http.Redirect(w, r, "http://192.0.2.1/list.xml", http.StatusFound)
	case r.URL.Path == "/broken":
		w.WriteHeader(http.StatusBadGateway)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case r.Header.Get("If-None-Match") == tag:
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("ETag", tag)
		_, _ = w.Write([]byte(content))
	}
}

func (h *host) take() []string {
	out := h.asked
	h.asked = nil
	return out
}

// states tells what became of each source.
func states(outcomes []Outcome) []string {
	var out []string
	for _, o := range outcomes {
		state := "imported"
		switch {
		case o.Err != nil:
			state = "failed"
		case o.Unchanged:
			state = "unchanged"
		}
		out = append(out, string(o.Source)+" "+state)
	}
	return out
}

func TestOnlyWhatChangedIsFetched(t *testing.T) {
	h := &host{files: map[string]string{
		"/list.xml": animeListSample, "/titles.gz": zipped(animeTitlesSample), "/ids.json": `[{"anidb_id":1,"mal_id":2}]`,
		"/x/tv_series_ids_11_20_2026.json.gz": zipped(tvSample), "/x/movie_ids_11_21_2026.json.gz": zipped(movieSample),
	}}
	server := httptest.NewServer(h)
	defer server.Close()
	dir := t.TempDir()
	today := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	u := Updater{Dir: dir, Client: http.DefaultClient, Now: time.Now, Addresses: Addresses{
		AnimeLists:  []string{server.URL + "/list.xml"},
		AniDBTitles: []string{server.URL + "/titles.gz"},
		TMDBExports: []string{server.URL + "/x/"}, AnimeIDs: []string{server.URL + "/ids.json"},
	}}
	run := func(at time.Time, wantStates, wantAsked []string) {
		t.Helper()
		u.Now = func() time.Time { return at }
		outcomes, err := u.Update(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantStates, states(outcomes)); diff != "" {
			t.Error(diff, outcomes)
		}
		if diff := cmp.Diff(wantAsked, h.take()); diff != "" {
			t.Error(diff)
		}
	}
	run(today, []string{
		"anime-lists imported", "anidb imported", "anime-ids imported", "tmdb-tv imported",
		"tmdb-movie imported",
	},
		[]string{
			"/list.xml", "/titles.gz", "/ids.json", "/x/tv_series_ids_11_21_2026.json.gz",
			"/x/tv_series_ids_11_20_2026.json.gz", "/x/movie_ids_11_21_2026.json.gz",
		})
	if got := lookUp(t, dir, "Glass Orbit"); !strings.HasPrefix(got, "tv/9001 Glass Orbit s1 (硝子の軌道)") {
		t.Errorf("found %q", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 { // the index and two locks
		t.Errorf("left behind: %v, %v", left, err)
	}
	h.files["/list.xml"] += "<!-- changed -->"
	h.files["/x/tv_series_ids_11_21_2026.json.gz"] = zipped(tvSample)
	run(today.Add(3*time.Hour), []string{
		"anime-lists imported", "anidb unchanged", "anime-ids unchanged",
		"tmdb-tv imported", "tmdb-movie unchanged",
	},
		[]string{"/list.xml if changed", "/ids.json if changed", "/x/tv_series_ids_11_21_2026.json.gz"})
	run(today.Add(4*time.Hour), []string{
		"anime-lists unchanged", "anidb unchanged", "anime-ids unchanged",
		"tmdb-tv unchanged", "tmdb-movie unchanged",
	},
		[]string{"/list.xml if changed", "/ids.json if changed"})
	run(today.Add(30*time.Hour), []string{
		"anime-lists unchanged", "anidb unchanged", "anime-ids unchanged",
		"tmdb-tv unchanged", "tmdb-movie unchanged",
	},
		[]string{
			"/list.xml if changed", "/titles.gz if changed", "/ids.json if changed",
			"/x/tv_series_ids_11_22_2026.json.gz", "/x/movie_ids_11_22_2026.json.gz",
		})
}

// Updates may be begun at the same time, as by cron and by hand, or be killed.
func TestUpdatesFetchOneAfterTheOther(t *testing.T) {
	h := &host{files: map[string]string{"/titles.gz": zipped(animeTitlesSample)}}
	entered, open := make(chan struct{}, 2), make(chan struct{})
	var one sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-open
		one.Lock()
		defer one.Unlock()
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	dir := t.TempDir()
	left := filepath.Join(dir, fetchPrefix+"killed")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	u := Updater{
		Dir: dir, Client: http.DefaultClient, Now: time.Now,
		Addresses: Addresses{AniDBTitles: []string{server.URL + "/titles.gz"}},
	}
	got := make(chan []string, 2)
	update := func() {
		outcomes, err := u.Update(context.Background())
		if err != nil {
			t.Error(err)
		}
		got <- states(outcomes)
	}
	go update()
	<-entered
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a killed update has left is still there: %v", err)
	}
	go update()
	runtime.Gosched()
	close(open)
	if diff := cmp.Diff([][]string{{"anidb imported"}, {"anidb unchanged"}}, [][]string{<-got, <-got}); diff != "" {
		t.Error(diff)
	}
	if asked := h.take(); len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
}

// AniDB bans who asks for its titles more than once a day.
func TestAniDBIsAskedOnceADay(t *testing.T) {
	h := &host{files: map[string]string{"/titles.gz": zipped(animeTitlesSample)}}
	server := httptest.NewServer(h)
	defer server.Close()
	u := Updater{
		Dir: t.TempDir(), Client: http.DefaultClient,
		Addresses: Addresses{AniDBTitles: []string{server.URL + "/titles.gz"}},
	}
	for _, c := range []struct {
		after time.Duration
		asked int
	}{{0, 1}, {time.Hour, 0}, {23 * time.Hour, 0}, {25 * time.Hour, 1}} {
		u.Now = func() time.Time { return time.Now().Add(c.after) }
		if _, err := u.Update(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := len(h.take()); got != c.asked {
			t.Errorf("after %v: %d requests, want %d", c.after, got, c.asked)
		}
	}
}

func TestASourceThatFailsHoldsUpNoOther(t *testing.T) {
	h := &host{files: map[string]string{
		"/list.xml": animeListSample, "/page": "<html></html>",
		"/titles.xml": animeTitlesSample,
	}}
	server := httptest.NewServer(h)
	defer server.Close()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		lists, titles string
		want          []string
	}{
		"absent":           {"/list.xml", "/missing", []string{"anime-lists imported", "anidb failed"}},
		"a server's fault": {"/broken", "/broken", []string{"anime-lists failed", "anidb failed"}},
		"moved":            {"/moved", "/missing", []string{"anime-lists imported", "anidb failed"}},
		"moved away":       {"/elsewhere", "/missing", []string{"anime-lists failed", "anidb failed"}},
		"a page":           {"/page", "/titles.xml", []string{"anime-lists failed", "anidb imported"}},
		"another list":     {"/list.xml", "/list.xml?", []string{"anime-lists imported", "anidb failed"}},
		"both are pages":   {"/page", "/page?", []string{"anime-lists failed", "anidb failed"}},
	} {
		u := Updater{Dir: dir, Client: http.DefaultClient, Now: time.Now, Addresses: Addresses{
			AnimeLists: []string{server.URL + c.lists}, AniDBTitles: []string{server.URL + c.titles},
		}}
		if err := os.RemoveAll(dir + "/" + FileName); err != nil {
			t.Fatal(err)
		}
		outcomes, err := u.Update(context.Background())
		if diff := cmp.Diff(c.want, states(outcomes)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	// What is fetched but is no such list leaves everything as it was.
	importAll(t, dir, write(t, "a", animeListSample))
	for _, address := range []string{"/page", "/list.xml"} {
		outcomes, err := Updater{
			Dir: dir, Client: http.DefaultClient, Now: time.Now,
			Addresses: Addresses{AniDBTitles: []string{server.URL + address}},
		}.Update(context.Background())
		var fault *ImportError
		if err != nil || !errors.As(outcomes[0].Err, &fault) || fault.File != server.URL+address {
			t.Errorf("%s: %v, %v", address, outcomes, err)
		}
	}
	if got := lookUp(t, dir, "Nagai Tabi"); got != "tv/9002 Nagai Tabi absolute" {
		t.Errorf("found %q", got)
	}
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.org/list.xml": true, "http://127.0.0.1:8080/x": true, "http://[::1]/x": true,
		"http://localhost/x":          true,
		"http://example.org/list.xml": false, "ftp://example.org/x": false, "https://user:secret@example.org/x": false,
		"file:///etc/passwd": false, "": false, "list.xml": false,
	} {
		if err := CheckAddress(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// A list that shrank, is older than the last or gains no entries any more makes way for the next address; where none
// is better, the last list stays.
func TestAListIsCheckedBeforeItReplacesTheLast(t *testing.T) {
	rows := func(ids ...int) string {
		var all []string
		for _, id := range ids {
			all = append(all, `{"anidb_id":`+itoa(id)+`,"mal_id":7}`)
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	const october, november = "Thu, 01 Oct 2026 00:00:00 GMT", "Sun, 01 Nov 2026 00:00:00 GMT"
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	type answer struct{ body, modified string }
	for name, c := range map[string]struct {
		first, second answer
		after         time.Duration
		want          string
		rows          int
		reason        string // of the refusal
	}{
		"as before":   {answer{rows(1, 2, 3, 4, 5), november}, answer{}, 0, "unchanged", 5, ""},
		"grown":       {answer{rows(1, 2, 3, 4, 5, 6), november}, answer{}, 0, "imported", 6, ""},
		"four fifths": {answer{rows(1, 2, 3, 6), november}, answer{}, 0, "imported", 4, ""},
		"shrunk":      {answer{rows(1, 2, 9), november}, answer{}, 0, "failed", 5, "3 entries"},
		"shrunk, the other": {
			answer{rows(1, 2, 9), november}, answer{rows(1, 2, 3, 4, 5, 6), ""}, 0, "imported", 6, "3 entries",
		},
		"older":       {answer{rows(1, 2, 3, 4, 5, 6), october}, answer{}, 0, "failed", 5, "2026-10-01"},
		"a page":      {answer{"<html>", november}, answer{rows(1, 2, 3, 4, 5, 6), ""}, 0, "imported", 6, "XML"},
		"gone":        {answer{}, answer{rows(1, 2, 3, 4, 5, 6), ""}, 0, "imported", 6, "404"},
		"no new rows": {answer{rows(1, 2, 3, 5), november}, answer{}, 2400 * time.Hour, "unchanged", 5, "2026-11-01"},
		"the same for long": {
			answer{rows(1, 2, 3, 4, 5), november},
			answer{rows(1, 2, 3, 4, 5, 6), ""},
			2400 * time.Hour, "imported", 6, "2026-11-01",
		},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]answer{"/a": {rows(1, 2, 3, 4, 5), november}}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := answers[r.URL.Path]
				switch {
				case a.body == "":
					w.WriteHeader(http.StatusNotFound)
					return
				case a.modified != "":
					w.Header().Set("Last-Modified", a.modified)
				}
				tag := `"` + itoa(len(a.body)) + `"`
				w.Header().Set("ETag", tag)
				if r.Header.Get("If-None-Match") == tag {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				_, _ = w.Write([]byte(a.body))
			}))
			defer server.Close()
			u := Updater{
				Dir: t.TempDir(), Client: http.DefaultClient, Now: func() time.Time { return start },
				Addresses: Addresses{AnimeIDs: []string{server.URL + "/a", server.URL + "/b"}},
			}
			if _, err := u.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
			answers = map[string]answer{"/a": c.first, "/b": c.second}
			u.Now = func() time.Time { return start.Add(c.after) }
			outcomes, err := u.Update(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			o := outcomes[0]
			if got := states(outcomes)[0]; got != "anime-ids "+c.want || o.Info.Rows != c.rows {
				t.Errorf("%s, %d rows; %v", got, o.Info.Rows, o.Err)
			}
			if err := errors.Join(o.Err, o.Refused); (err == nil) != (c.reason == "") ||
				err != nil && !strings.Contains(err.Error(), c.reason) {
				t.Errorf("refused because of %v, want %q", err, c.reason)
			}
			x, err := Open(u.Dir)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			if infos, _, err := x.Stats(); err != nil || infos[0].Rows != c.rows {
				t.Errorf("the index has %v, %v", infos, err)
			}
		})
	}
}

func TestAListThatIsMissingIsReportedInKorean(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	u := Updater{
		Dir: t.TempDir(), Client: http.DefaultClient, Now: time.Now,
		Addresses: Addresses{AnimeIDs: []string{server.URL + "/a"}},
	}
	outcomes, err := u.Update(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lang.Use(lang.Korean)
	defer lang.Use(lang.English)
	if got := lang.Say(lang.TextOf(outcomes[0].Err)); !strings.HasSuffix(got, "404 Not Found: 그런 파일이 없습니다") {
		t.Error(got)
	}
}
