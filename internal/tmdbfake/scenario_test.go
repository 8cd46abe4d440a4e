package tmdbfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadScenario(t *testing.T) {
	s, err := ReadScenario(strings.NewReader(`{
		"name": "bad day", "limits": "sliding:5/1s", "renumber_after": 90,
		"faults": [{"match": {"path": "/3/tv/*", "query": {"language": "ko*"}, "nth": "1-3,7", "every": 2, "ip": "10.0.0.1", "share": 0.5},
			"from": "5s", "to": "1m", "p": 0.25, "do": {"kind": "status", "status": 503, "code": 46, "retry_after": "delta", "wait": 12}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Scenario{
		Name: "bad day", Limits: "sliding:5/1s", RenumberAfter: Duration(90 * time.Second),
		Faults: []Fault{{
			Match: Match{
				Path: "/3/tv/*", Query: map[string]string{"language": "ko*"}, Nth: Numbers{{1, 3}, {7, 7}}, Every: 2,
				IP: "10.0.0.1", Share: 0.5,
			},
			From: Duration(5 * time.Second), To: Duration(time.Minute), P: 0.25,
			Do: Action{Kind: "status", Status: 503, Code: 46, RetryAfter: "delta", Wait: Duration(12 * time.Second)},
		}},
	}
	if d := cmp.Diff(want, s, cmp.AllowUnexported(span{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestScenariosThatCannotBeMeant(t *testing.T) {
	for text, part := range map[string]string{
		`{"faulst": []}`:             `unknown field "faulst"`,
		`{} {}`:                      "something follows",
		`[]`:                         "cannot unmarshal array",
		`{"limits": "sliding:0/1s"}`: "outside 1..",
		`{"renumber_after": "-1s"}`:  "below 0",
		`{"renumber_after": "soon"}`: "not a duration",
		`{"renumber_after": -7}`:     "no duration a scenario can have",
		`{"faults": [{"do": {}}]}`:   `kind "" is unknown`,
		`{"faults": [{"p": 2, "do": {"kind": "reset"}}]}`:                                 "outside 0..1",
		`{"faults": [{"from": "5s", "to": "5s", "do": {"kind": "reset"}}]}`:               "which is no time",
		`{"faults": [{"match": {"nth": 0}, "do": {"kind": "reset"}}]}`:                    "counting starts at 1",
		`{"faults": [{"match": {"nth": "5-2"}, "do": {"kind": "reset"}}]}`:                "ends after it begins",
		`{"faults": [{"match": {"nth": "x"}, "do": {"kind": "reset"}}]}`:                  "write 3",
		`{"faults": [{"match": {"path": "/3/tv/*"}, "do": {"kind": "conn_reset"}}]}`:      "no path",
		`{"faults": [{"match": {"share": -1}, "do": {"kind": "reset"}}]}`:                 "share",
		`{"faults": [{"do": {"kind": "status"}}]}`:                                        "status 0 is outside",
		`{"faults": [{"do": {"kind": "status", "status": 503, "body": "pdf"}}]}`:          "body",
		`{"faults": [{"do": {"kind": "status", "status": 503, "code": 99}}]}`:             "no error of TMDB's",
		`{"faults": [{"do": {"kind": "status", "status": 429, "retry_after": "later"}}]}`: "retry_after",
		`{"faults": [{"do": {"kind": "redirect"}}]}`:                                      "needs a location",
		`{"faults": [{"do": {"kind": "delay"}}]}`:                                         "needs a delay",
		`{"faults": [{"do": {"kind": "drip", "bytes": -1}}]}`:                             "not below 0",
		`{"faults": [{"do": {"kind": "huge", "bytes": 99999999999}}]}`:                    "more than 1 GiB",
		`{"name": "` + strings.Repeat("x", 1<<20) + `"}`:                                  "larger than 1 MiB",
	} {
		if _, err := ReadScenario(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%.60s: error %v, want one with %q", text, err, part)
		}
	}
}

func FuzzReadScenario(f *testing.F) {
	for _, name := range Presets() {
		s, err := Preset(name)
		if err != nil {
			f.Fatal(err)
		}
		b, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadScenario(strings.NewReader(text))
		if err != nil {
			return
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadScenario(strings.NewReader(string(b))); err != nil && len(b) < 1<<20 {
			t.Fatalf("%s was written by a scenario that was read, and is refused: %v", b, err)
		}
	})
}

func TestEveryPresetIsValid(t *testing.T) {
	want := []string{
		"burst5xx", "drip", "flap", "gzip-bug", "key-suspended", "maintenance-20m", "outage-60s", "poison", "singapore", "storm",
	}
	if d := cmp.Diff(want, Presets()); d != "" {
		t.Errorf("presets (-want +got):\n%s", d)
	}
	for _, name := range Presets() {
		s, err := Preset(name)
		if err != nil || s.Name != name || s.Validate() != nil {
			t.Errorf("%s: %v, %v", name, err, s.Validate())
		}
	}
	if _, err := Preset("sunshine"); err == nil || !strings.Contains(err.Error(), "outage-60s") {
		t.Errorf("an unknown preset gives %v, want the names", err)
	}
}

func TestWild(t *testing.T) {
	for _, row := range []struct {
		pattern, text string
		want          bool
	}{
		{"/3/tv/*", "/3/tv/1/season/2", true},
		{"/3/tv/*", "/3/tv", false},
		{"*/season/*", "/3/tv/1/season/2", true},
		{"/3/*/1/*/2", "/3/tv/1/season/2", true},
		{"/3/tv/1", "/3/tv/1", true},
		{"/3/tv/1", "/3/tv/12", false},
		{"*", "", true},
		{"a*a", "a", false},
		{"a*b*c", "axbxc", true},
		{"a*b*c", "axcxb", false},
	} {
		if got := wild(row.pattern, row.text); got != row.want {
			t.Errorf("wild(%q, %q) = %v", row.pattern, row.text, got)
		}
	}
}

// TestMatchingDecidesWhichRequestsAreStruck writes one letter per request: .
// for a good answer, x for a fault.
func TestMatchingDecidesWhichRequestsAreStruck(t *testing.T) {
	bad := Action{Kind: "status", Status: 500, Code: 11}
	tv, movie := "/3/tv/1396", "/3/movie/603"
	for _, row := range []struct {
		name  string
		fault Fault
		paths []string
		want  string
	}{
		{"all", Fault{Do: bad}, []string{tv, movie}, "xx"},
		{"path", Fault{Match: Match{Path: "/3/movie/*"}, Do: bad}, []string{tv, movie}, ".x"},
		{"nth of the matching", Fault{Match: Match{Path: "/3/tv/*", Nth: Numbers{{2, 3}}}, Do: bad}, []string{tv, movie, tv, movie, tv, tv}, "..x.x."},
		{"every second", Fault{Match: Match{Every: 2}, Do: bad}, []string{tv, tv, tv, tv}, ".x.x"},
		{"query", Fault{Match: Match{Query: map[string]string{"language": "KO*"}}, Do: bad}, []string{tv, tv + "?language=ko-KR", tv + "?language=ja"}, ".x."},
		{"another address", Fault{Match: Match{IP: "10.9.9.9"}, Do: bad}, []string{tv}, "."},
		{"own address", Fault{Match: Match{IP: "127.0.0.1"}, Do: bad}, []string{tv}, "x"},
		{"chance", Fault{P: 0.5, Do: bad}, slices.Repeat([]string{tv}, 12), "..xxx...x..."},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := start(t, newFake(t, Config{Seed: 3, Scenario: Scenario{Faults: []Fault{row.fault}}}))
			c := clientOf(t, s)
			got := ""
			for _, p := range row.paths {
				r, err := ask(c, s.URL()+p)
				if err != nil {
					t.Fatal(err)
				}
				got += map[bool]string{true: ".", false: "x"}[r.StatusCode == http.StatusOK]
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestFaultsKeepTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flap, err := Preset("flap")
		if err != nil {
			t.Fatal(err)
		}
		s := newFake(t, Config{Scenario: flap}).ListenMem()
		tr := s.Transport()
		tr.DisableKeepAlives = true // Go sends a GET again that a kept connection lost
		c := &http.Client{Transport: tr}
		got := ""
		for range 45 { // every five seconds, in the middle of each
			time.Sleep(2500 * time.Millisecond)
			_, err := ask(c, s.URL()+"/3/configuration")
			got += map[bool]string{true: ".", false: "x"}[err == nil]
			time.Sleep(2500 * time.Millisecond)
		}
		if want := strings.Repeat(".x", 20) + "....."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestGzipBugStrikesTheSamePathsAlways is what "stable per path" means.
func TestGzipBugStrikesTheSamePathsAlways(t *testing.T) {
	bug, err := Preset("gzip-bug")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, newFake(t, Config{Seed: 7, Scenario: bug}))
	c := clientOf(t, s)
	round := func() map[string]bool {
		struck := map[string]bool{}
		for id := 1; id <= 300; id++ {
			path := fmt.Sprintf("/3/tv/%d", id) // 404 bodies are struck like any
			got := observe(t.Context(), c, s.URL()+path)
			if got.err != nil {
				t.Fatal(got.err)
			}
			struck[path] = len(got.reply.body) > 0 && got.reply.body[0] == 0x1f
		}
		return struck
	}
	first := round()
	if d := cmp.Diff(first, round()); d != "" {
		t.Errorf("the second round differs:\n%s", d)
	}
	n := 0
	for _, b := range first {
		if b {
			n++
		}
	}
	if n < 80 || n > 142 { // 111 ± 3.7 standard deviations
		t.Errorf("%d of 300 paths are struck, want about 111", n)
	}
}

// TestConcurrencyDoesNotChangeHowManyFail asks from many goroutines and alone.
func TestConcurrencyDoesNotChangeWhichRequestsFail(t *testing.T) {
	burst, err := Preset("burst5xx")
	if err != nil {
		t.Fatal(err)
	}
	// fates gives, for every path, how often each status came.
	fates := func(workers int) map[int]int {
		f := newFake(t, Config{Seed: 5, Scenario: burst})
		s := start(t, f)
		c := clientOf(t, s)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for range 240 / workers {
					if _, err := ask(c, fmt.Sprintf("%s/3/tv/1396?worker=%d", s.URL(), w)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		counts := map[int]int{}
		for i, e := range f.Journal() {
			if e.Seq != i+1 || e.End.IsZero() {
				t.Errorf("entry %d: seq %d, end %v", i, e.Seq, e.End)
			}
			counts[e.Status]++
		}
		return counts
	}
	alone, together := fates(1), fates(8)
	if d := cmp.Diff(alone, together); d != "" {
		t.Errorf("one worker and eight (-one +eight):\n%s", d)
	}
	if alone[502] < 40 || alone[502] > 80 {
		t.Errorf("%d of 200 failed, want about 60", alone[502])
	}
}

func TestSameSeedSameBodies(t *testing.T) {
	paths := []string{"/3/search/tv?query=the", "/3/tv/9000024?append_to_response=season/1,translations", "/3/discover/tv?page=2", "/3/tv/changes"}
	clock := func() time.Time { return time.Date(2026, 5, 5, 0, 0, 0, 0, time.UTC) }
	all := func() map[string]string {
		s := start(t, newFake(t, Config{Seed: 11, Clock: clock}))
		c := clientOf(t, s)
		out := map[string]string{}
		for _, p := range paths {
			r, err := ask(c, s.URL()+p)
			if err != nil {
				t.Fatal(err)
			}
			out[p] = string(r.body) + fmt.Sprint(r.Header)
		}
		return out
	}
	if d := cmp.Diff(all(), all()); d != "" {
		t.Errorf("two stand-ins of one seed:\n%s", d)
	}
}
