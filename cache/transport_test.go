package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	tvURL     = "https://api.example.org/3/tv/1?language=en-US"
	searchURL = "https://api.example.org/3/search/tv?query=x"
	endedBody = `{"id":1,"status":"Ended"}`
	runsBody  = `{"id":1,"status":"Returning Series"}`
	hitBody   = `{"results":[{"id":1}]}`
	noHitBody = `{"results":[]}`
	missing   = `{"success":false,"status_code":34}`
)

var errDown = errors.New("connection refused")

// answers is one answer of an upstream, and what it is asked with.
type answers struct {
	status int // 0: errDown
	body   string
	etag   string
}

func (a answers) serve(req *http.Request) (*http.Response, error) {
	switch {
	case a.status == 0:
		return nil, errDown
	case a.etag != "" && req.Header.Get("If-None-Match") == a.etag:
		return reply(http.StatusNotModified, "", "ETag: "+a.etag), nil
	case a.etag != "":
		return reply(a.status, a.body, "ETag: "+a.etag), nil
	}
	return reply(a.status, a.body), nil
}

// step is one request in the life of one URL.
type step struct {
	after  time.Duration // since the step before
	up     answers
	want   string // source and status
	asked  int    // questions so far
	remark string
}

func TestTransportThroughTheLifeOfAnAnswer(t *testing.T) {
	tagged := answers{200, endedBody, `W/"a"`}
	down := answers{}
	rows := []struct {
		name, url string
		steps     []step
	}{
		{"ended series: 14 days, then revalidated, then stale for 180 days", tvURL, []step{
			{0, tagged, "network 200", 1, ""},
			{14*day - time.Second, tagged, "fresh 200", 1, ""},
			{time.Second, tagged, "revalidated 200", 2, "a 304 renews it"},
			{14*day - time.Second, down, "fresh 200", 2, ""},
			{time.Second, down, "stale 200", 3, ""},
			{166*day - time.Second, answers{503, "<html>", ""}, "stale 200", 4, ""},
			{time.Second, answers{503, "<html>", ""}, "none 503", 5, "180 days after it was last vouched for"},
			{0, down, "error", 6, ""},
		}},
		{"returning series: a day", tvURL, []step{
			{0, answers{200, runsBody, ""}, "network 200", 1, ""},
			{day - time.Second, answers{200, endedBody, ""}, "fresh 200", 1, ""},
			{time.Second, answers{200, endedBody, ""}, "network 200", 2, "no ETag: asked anew"},
			{14*day - time.Second, down, "fresh 200", 2, "and it has ended"},
		}},
		{"another ETag replaces the answer", tvURL, []step{
			{0, tagged, "network 200", 1, ""},
			{14 * day, answers{200, runsBody, `W/"b"`}, "network 200", 2, ""},
			{day, answers{200, runsBody, `W/"b"`}, "revalidated 200", 3, ""},
		}},
		{"404: seven days", tvURL, []step{
			{0, answers{404, missing, ""}, "network 404", 1, ""},
			{7*day - time.Second, down, "fresh 404", 1, ""},
			{time.Second, down, "stale 404", 2, ""},
			{0, tagged, "network 200", 3, "it exists now"},
			{14 * day, answers{404, missing, ""}, "network 404", 4, "and is gone again"},
		}},
		{"404 of a proxy is not stored", tvURL, []step{
			{0, answers{404, "<html>no</html>", ""}, "none 404", 1, ""},
			{0, tagged, "network 200", 2, ""},
			{15 * day, answers{404, "<html>no</html>", ""}, "stale 200", 3, ""},
		}},
		{"empty search: eight hours", searchURL, []step{
			{0, answers{200, noHitBody, ""}, "network 200", 1, ""},
			{8*time.Hour - time.Second, down, "fresh 200", 1, ""},
			{time.Second, answers{200, hitBody, ""}, "network 200", 2, ""},
			{day - time.Second, down, "fresh 200", 2, ""},
		}},
		{"404 of a search is not stored", searchURL, []step{
			{0, answers{404, missing, ""}, "network 404", 1, ""},
			{0, answers{404, missing, ""}, "network 404", 2, ""},
		}},
		{"what is broken never enters", tvURL, []step{
			{0, answers{200, "<html>", ""}, "none 200", 1, ""},
			{0, answers{200, `{"id":1,`, ""}, "none 200", 2, ""},
			{0, answers{200, "", ""}, "none 200", 3, ""},
			{0, answers{200, "{}", ""}, "none 200", 4, ""},
			{0, answers{200, "\x1f\x8b\x08", ""}, "none 200", 5, ""},
			{0, answers{200, `{"poison":true}`, ""}, "none 200", 6, "the client's own check"},
			{0, answers{429, `{"status_code":25}`, ""}, "none 429", 7, ""},
			{0, answers{401, `{"status_code":7}`, ""}, "none 401", 8, ""},
			{0, answers{500, `{"status_code":11}`, ""}, "none 500", 9, ""},
			{0, answers{202, `{"a":1}`, ""}, "none 202", 10, ""},
			{0, down, "error", 11, ""},
			{0, tagged, "network 200", 12, ""},
		}},
		{"and never overwrites", tvURL, []step{
			{0, tagged, "network 200", 1, ""},
			{15 * day, answers{200, "<html>", ""}, "stale 200", 2, ""},
			{0, answers{200, `{"poison":true}`, ""}, "stale 200", 3, ""},
			{0, answers{429, `{}`, ""}, "stale 200", 4, ""},
			{0, answers{408, ``, ""}, "stale 200", 5, ""},
			{0, answers{500, ``, ""}, "stale 200", 6, ""},
			{0, answers{401, `{"status_code":7}`, ""}, "none 401", 7, "a refused key must be seen"},
			{0, down, "stale 200", 8, ""},
			{0, tagged, "revalidated 200", 9, ""},
		}},
		{"other paths pass through", "https://api.example.org/3/tv/changes", []step{
			{0, answers{200, `{"a":1}`, ""}, "none 200", 1, ""},
			{0, answers{200, `{"a":1}`, ""}, "none 200", 2, ""},
		}},
		{"a 304 that nobody asked for is asked again, once", tvURL, []step{
			{0, answers{304, "", ""}, "error", 2, ""},
			{0, tagged, "network 200", 3, ""},
		}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			clk := newClock()
			s := open(t, t.TempDir(), Options{Now: clk.Now})
			up := &upstream{}
			tr := &Transport{Store: s, Next: up, Valid: func(_ *http.Request, _ *http.Response, b []byte) error {
				if strings.Contains(string(b), "poison") {
					return errors.New("poisoned")
				}
				return nil
			}}
			for i, st := range r.steps {
				clk.advance(st.after)
				up.serve = st.up.serve
				status, body, source := get(t, tr, r.url)
				got := source
				if status != 0 {
					got += fmt.Sprintf(" %d", status)
				}
				if got != st.want || up.count() != st.asked {
					t.Fatalf(
						"step %d (%s): %s after %d questions, want %s after %d; body %.80q", i, st.remark, got, up.count(), st.want,
						st.asked, body,
					)
				}
			}
		})
	}
}

// Whatever answers in TMDB's place, nothing of it is stored and nothing stored is lost: what is there answers, and the
// first request after TMDB is well again brings the right answer.
func TestAForeignAnswerCountsAsAnUpstreamThatCouldNotBeAsked(t *testing.T) {
	foreign := map[string]answers{
		"JSON of another kind":        {200, `{"error":"please log in"}`, ""},
		"JSON of another kind, a tag": {200, `{"error":"please log in"}`, `"p"`},
		"no success":                  {200, `{"success":false,"status_code":25}`, ""},
		"HTML":                        {200, "<html>", ""},
		"an edge's page with 404":     {404, "<html>", ""},
		"an edge's JSON with 404":     {404, `{"error":"no such host"}`, ""},
		"an edge's page with 403":     {403, "<html>", ""},
		"JSON of another kind, 403":   {403, `{"error":"please log in"}`, ""},
		"nothing":                     {200, "", ""},
		"cut":                         {200, `{"id":1,`, ""},
		"503":                         {503, "<html>", ""},
	}
	// The client takes series, and error objects of TMDB's own.
	valid := func(_ *http.Request, resp *http.Response, b []byte) error {
		var body struct {
			Status     string
			StatusCode int `json:"status_code"`
		}
		if err := json.Unmarshal(b, &body); err != nil {
			return err
		}
		if resp.StatusCode == http.StatusOK && body.Status == "" || resp.StatusCode != http.StatusOK && body.StatusCode == 0 {
			return errors.New("not TMDB's")
		}
		return nil
	}
	for name, up := range foreign {
		t.Run(name, func(t *testing.T) {
			for have, r := range map[string]struct {
				age  time.Duration // of what is stored; negative: nothing is
				want string
			}{
				"nothing stored": {-1, fmt.Sprintf("none %d", up.status)},
				"fresh":          {time.Hour, "stale 200"}, // asked anyway, with Refresh
				"expired":        {20 * day, "stale 200"},
			} {
				t.Run(have, func(t *testing.T) {
					clk := newClock()
					s := open(t, t.TempDir(), Options{Now: clk.Now})
					tmdb := &upstream{serve: answers{200, runsBody, `"a"`}.serve}
					if r.age >= 0 {
						get(t, &Transport{Store: s, Next: tmdb, Valid: valid}, tvURL)
						clk.advance(r.age)
					}
					before, _, err := s.Get(t.Context(), KeyOf("", mustURL(t, tvURL)))
					if err != nil {
						t.Fatal(err)
					}
					tr := &Transport{
						Store: s, Next: &upstream{serve: answers{up.status, up.body, up.etag}.serve}, Valid: valid, Refresh: true,
					}
					for range 2 {
						status, _, source := get(t, tr, tvURL)
						if got := fmt.Sprint(source, " ", status); got != r.want {
							t.Errorf("answered %s, want %s", got, r.want)
						}
					}
					after, _, err := s.Get(t.Context(), KeyOf("", mustURL(t, tvURL)))
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(before, after); diff != "" {
						t.Errorf("what is stored has changed: %s", diff)
					}
					tmdb.serve = answers{200, endedBody, `"b"`}.serve
					well := &Transport{Store: s, Next: tmdb, Valid: valid, Refresh: true}
					if status, body, source := get(t, well, tvURL); status != 200 || source != "network" || body != endedBody {
						t.Errorf("once it is well: %s %d %s", source, status, body)
					}
				})
			}
		})
	}
}

func mustURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestTransportSharesAnswersBetweenStores(t *testing.T) {
	dir := t.TempDir()
	up := &upstream{serve: always(200, runsBody)}
	a := &Transport{Store: open(t, dir, Options{}), Next: up}
	b := &Transport{Store: open(t, dir, Options{}), Next: up}
	if _, _, source := get(t, a, tvURL); source != "network" {
		t.Fatalf("first asks: %s", source)
	}
	if _, _, source := get(t, b, tvURL); source != "fresh" {
		t.Fatalf("second store: %s", source)
	}
	if err := a.Store.Close(); err != nil {
		t.Fatal(err)
	}
	c := &Transport{Store: open(t, dir, Options{}), Next: up}
	if _, _, source := get(t, c, tvURL); source != "fresh" {
		t.Fatalf("after it was closed: %s", source)
	}
	if up.count() != 1 {
		t.Fatalf("asked %d times", up.count())
	}
}

func TestInfoTellsAgeAndIsNotForged(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	up := &upstream{serve: always(200, runsBody, headerSource+": stale", headerFetched+": 5")}
	tr := &Transport{Store: s, Next: up}
	ask := func(url string) (Info, bool, *http.Response) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		info, ok := InfoFrom(resp)
		return info, ok, resp
	}
	begin := clk.Now()
	if info, ok, _ := ask(tvURL); !ok || info != (Info{Network, begin, begin.Add(day)}) {
		t.Errorf("from the network: %+v %v", info, ok)
	}
	clk.advance(time.Hour)
	info, ok, resp := ask(tvURL)
	if !ok || info != (Info{
		Fresh, begin, begin.Add(day),
	}) || info.Age(clk.Now()) != time.Hour || resp.Header.Get("Age") != "3600" {
		t.Errorf("fresh: %+v %v, Age %s", info, ok, resp.Header.Get("Age"))
	}
	if _, ok, _ := ask("https://api.example.org/3/tv/changes"); ok {
		t.Error("an upstream can pretend to be the cache")
	}
	if _, ok := InfoFrom(nil); ok {
		t.Error("no response has an info")
	}
}

// Another cache may stand before the upstream, as a gateway's does.
func TestAnAnswerIsAsOldAsWhoGaveItSays(t *testing.T) {
	old := func(age time.Duration, status int, body string) func(*http.Request) (*http.Response, error) {
		return always(status, body, `ETag: "a"`, "Age: "+age.String())
	}
	rows := []struct {
		name  string
		after time.Duration
		serve func(*http.Request) (*http.Response, error)
		want  string
		age   time.Duration
		asked int
	}{
		{"new", 0, old(0, 200, endedBody), "network", 0, 1},
		{"revalidated there", 14 * day, old(10*day, 304, ""), "revalidated", 10 * day, 2},
		{"fresh for the rest of its time", 4*day - time.Second, old(0, 200, endedBody), "fresh", 14*day - time.Second, 2},
		{"expired there", time.Second, old(14*day, 304, ""), "stale", 14 * day, 3},
		{"expired, of another ETag", day, old(16*day, 200, runsBody), "stale", 15 * day, 4}, // what is here is newer
		{"expired, and newer than what is here", day, old(15*day, 200, endedBody), "stale", 15 * day, 5},
		{"fresh there", 0, old(13*day, 200, endedBody), "network", 13 * day, 6},
		{"fresh here", time.Hour, old(0, 200, endedBody), "fresh", 13*day + time.Hour, 6},
		{"nobody can be asked", 166 * day, answers{}.serve, "stale", 179*day + time.Hour, 7},
		{"older than may be kept", day, answers{}.serve, "error", 0, 8},
	}
	clk := newClock()
	up := &upstream{}
	tr := &Transport{Store: open(t, t.TempDir(), Options{Now: clk.Now}), Next: up, Age: func(h http.Header) time.Duration {
		age, err := time.ParseDuration(h.Get("Age"))
		if err != nil {
			t.Error(err)
		}
		return age
	}}
	for _, r := range rows {
		clk.advance(r.after)
		up.serve = r.serve
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tvURL, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, age := "error", time.Duration(0)
		if resp, err := tr.RoundTrip(req); err == nil {
			info, _ := InfoFrom(resp)
			got, age = info.Source.String(), info.Age(clk.Now())
			if h := resp.Header.Get("Age"); h != strconv.Itoa(int(age/time.Second)) {
				t.Errorf("%s: Age %s", r.name, h)
			}
			resp.Body.Close()
		}
		if got != r.want || age != r.age || up.count() != r.asked {
			t.Errorf(
				"%s: %s, %v old, after %d questions; want %s, %v after %d", r.name, got, age, up.count(), r.want, r.age, r.asked,
			)
		}
	}
}

func TestRefreshAsksOnceForWhatAnotherCacheHas(t *testing.T) {
	up := &upstream{serve: always(200, endedBody, `ETag: "a"`)}
	tr := &Transport{
		Store: open(t, t.TempDir(), Options{}), Next: up, Refresh: true,
		Age: func(http.Header) time.Duration { return time.Hour },
	}
	for _, want := range []string{"network", "fresh"} {
		if _, _, source := get(t, tr, tvURL); source != want || up.count() != 1 {
			t.Errorf("%s after %d questions, want %s after one", source, up.count(), want)
		}
	}
}

func TestRefreshAsksOnceForWhatIsOlderThanTheRun(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	up := &upstream{serve: answers{200, endedBody, `"a"`}.serve}
	s := open(t, dir, Options{Now: clk.Now})
	get(t, &Transport{Store: s, Next: up}, tvURL)
	clk.advance(time.Minute)
	tr := &Transport{Store: s, Next: up, Refresh: true}
	for i, want := range []string{"revalidated", "fresh", "fresh"} {
		if _, _, source := get(t, tr, tvURL); source != want {
			t.Errorf("request %d: %s, want %s", i, source, want)
		}
		clk.advance(time.Minute)
	}
	up.serve = answers{}.serve
	later := &Transport{Store: s, Next: up, Refresh: true}
	if _, _, source := get(t, later, tvURL); source != "stale" {
		t.Errorf("when it can't be refreshed: %s", source)
	}
}

func TestBlockedDecidesWhichErrorsAStaleAnswerCovers(t *testing.T) {
	clk := newClock()
	up := &upstream{serve: always(200, runsBody)}
	tr := &Transport{
		Store: open(t, t.TempDir(), Options{Now: clk.Now}), Next: up,
		IsBlocked: func(err error) bool { return errors.Is(err, errDown) },
	}
	get(t, tr, tvURL)
	clk.advance(2 * day)
	up.serve = func(*http.Request) (*http.Response, error) { return nil, errDown }
	if _, _, source := get(t, tr, tvURL); source != "stale" {
		t.Errorf("could not ask: %s", source)
	}
	up.serve = func(*http.Request) (*http.Response, error) { return nil, io.ErrNoProgress }
	if _, text, source := get(t, tr, tvURL); source != "error" || text != io.ErrNoProgress.Error() {
		t.Errorf("another error: %s %s", source, text)
	}
}

func TestWithoutNextTheDefaultTransportAsks(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, endedBody)
	}))
	defer server.Close()
	tr := &Transport{Store: open(t, t.TempDir(), Options{})}
	for _, path := range []string{"/3/tv/1", "/3/tv/1", "/3/unknown"} {
		if _, body, _ := get(t, tr, server.URL+path); body != endedBody {
			t.Errorf("%s: %s", path, body)
		}
	}
	if asked != 2 {
		t.Errorf("%d questions", asked)
	}
}

func TestErrorsOfNextComeBackUnchanged(t *testing.T) {
	type blocked struct{ error }
	want := &blocked{errDown}
	tr := &Transport{
		Store: open(t, t.TempDir(), Options{}),
		Next:  roundTrip(func(*http.Request) (*http.Response, error) { return nil, want }),
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tvURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if resp != nil {
		resp.Body.Close()
	}
	if err != error(want) { //nolint:errorlint // unchanged is the point
		t.Errorf("got %v", err)
	}
}

func TestForgottenAnswersAreAskedAgain(t *testing.T) {
	dir := t.TempDir()
	up := &upstream{serve: always(200, endedBody)}
	tr := &Transport{Store: open(t, dir, Options{}), Next: up}
	get(t, tr, tvURL)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tvURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	tr.Forget(req)
	other := &Transport{Store: open(t, dir, Options{}), Next: up}
	for i, tr := range []*Transport{tr, other} {
		want := []string{"network", "fresh"}[i]
		if _, _, source := get(t, tr, tvURL); source != want {
			t.Errorf("%d: %s, want %s", i, source, want)
		}
	}
}

func TestTruncatedTransferAndTooLongBodyAreErrors(t *testing.T) {
	up := &upstream{serve: func(*http.Request) (*http.Response, error) {
		resp := reply(200, "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"a"`), errReader{}))
		return resp, nil
	}}
	tr := &Transport{Store: open(t, t.TempDir(), Options{}), Next: up, MaxBody: 100}
	if _, text, source := get(t, tr, tvURL); source != "error" || !strings.Contains(text, io.ErrUnexpectedEOF.Error()) {
		t.Errorf("cut: %s %s", source, text)
	}
	up.serve = always(200, `{"a":"`+strings.Repeat("x", 100)+`"}`)
	if _, text, source := get(t, tr, tvURL); source != "error" || !strings.Contains(text, "longer than 100") {
		t.Errorf("long: %s %s", source, text)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRequestsWithDealingsOfTheirOwnPassThrough(t *testing.T) {
	up := &upstream{serve: always(200, endedBody)}
	tr := &Transport{Store: open(t, t.TempDir(), Options{}), Next: up}
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Header.Set("Range", "bytes=0-1") },
		func(r *http.Request) { r.Header.Set("If-None-Match", `"a"`) },
		func(r *http.Request) { r.Method = http.MethodPost },
		func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("x")) },
	} {
		before := up.count()
		for range 2 {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, tvURL, nil)
			if err != nil {
				t.Fatal(err)
			}
			change(req)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if up.count() != before+2 {
			t.Error("it was answered from the cache")
		}
	}
}

func TestOnlyGETIsAnsweredFromTheCacheWhateverTheClass(t *testing.T) {
	up := &upstream{serve: always(200, endedBody)}
	s, err := Open(t.TempDir(), Options{Class: func(*http.Request) Class { return Lists }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tr := &Transport{Store: s, Next: up}
	for method, want := range map[string]int{"POST": 2, "PUT": 2, "DELETE": 2, "HEAD": 2, "GET": 1} {
		before := up.count()
		for range 2 {
			req, err := http.NewRequestWithContext(t.Context(), method, tvURL, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if got := up.count() - before; got != want {
			t.Errorf("%s: the upstream saw %d requests, want %d", method, got, want)
		}
	}
}

func TestUpstreamSeesTheRequestAndTheCallerKeepsIt(t *testing.T) {
	clk := newClock()
	var seen []string
	up := &upstream{serve: func(req *http.Request) (*http.Response, error) {
		seen = append(seen, req.Header.Get("Authorization")+" "+req.Header.Get("If-None-Match")+" "+req.URL.String())
		return reply(200, runsBody, `ETag: "a"`), nil
	}}
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	tr := &Transport{Store: s, Next: up}
	u := tvURL + "&api_key=SECRET"
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer SECRET")
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(req.Header) != 1 || resp.Request != req {
			t.Error("the caller's request was changed")
		}
		clk.advance(2 * day)
	}
	want := []string{"Bearer SECRET  " + u, `Bearer SECRET "a" ` + u}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("upstream saw %q", seen)
	}
	err := s.Range(t.Context(), func(e *Entry) error {
		if strings.Contains(e.Key, "SECRET") {
			t.Errorf("the secret is in the key %s", e.Key)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestACancelledRequestIsNotAnsweredAsStale(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), Options{Now: clk.Now})
	get(t, &Transport{Store: s, Next: &upstream{serve: always(200, runsBody)}}, tvURL)
	clk.advance(2 * day)
	for _, want := range []string{"error", "stale"} {
		ctx, cancel := context.WithCancel(t.Context())
		if want == "stale" { // out of time, but the caller is still there
			cancel()
			ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
		}
		tr := &Transport{Store: s, Next: roundTrip(func(*http.Request) (*http.Response, error) {
			if want == "error" {
				cancel()
			}
			return nil, errDown
		})}
		a := ask(ctx, tr, tvURL)
		<-a.done
		cancel()
		if got := a.source; want == "stale" && got != want || want == "error" && a.err == nil {
			t.Errorf("%s: %s %v", want, got, a.err)
		}
	}
}
