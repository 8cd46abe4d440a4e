package tmdbfake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/upstream"
)

// TestMatchingDecidesWhichRequestsAreStruck writes one letter a request: . for a
// good answer, x for a fault.
func TestMatchingDecidesWhichRequestsAreStruck(t *testing.T) {
	bad := upstream.Action{Kind: "status", Status: 500, Code: 11}
	tv, movie := "/3/tv/1396", "/3/movie/603"
	for _, row := range []struct {
		name  string
		fault upstream.Fault
		paths []string
		want  string
	}{
		{"all", upstream.Fault{Do: bad}, []string{tv, movie}, "xx"},
		{"path", upstream.Fault{Match: upstream.Match{Path: "/3/movie/*"}, Do: bad}, []string{tv, movie}, ".x"},
		{"nth of the matching", upstream.Fault{Match: upstream.Match{
			Path: "/3/tv/*",
			Nth:  upstream.Numbers{{From: 2, To: 3}},
		}, Do: bad}, []string{tv, movie, tv, movie, tv, tv}, "..x.x."},
		{"every second", upstream.Fault{Match: upstream.Match{Every: 2}, Do: bad}, []string{tv, tv, tv, tv}, ".x.x"},
		{
			"query",
			upstream.Fault{Match: upstream.Match{Query: map[string]string{"language": "KO*"}}, Do: bad},
			[]string{tv, tv + "?language=ko-KR", tv + "?language=ja"},
			".x.",
		},
		{"another address", upstream.Fault{Match: upstream.Match{IP: "10.9.9.9"}, Do: bad}, []string{tv}, "."},
		{"own address", upstream.Fault{Match: upstream.Match{IP: "127.0.0.1"}, Do: bad}, []string{tv}, "x"},
		{"chance", upstream.Fault{Probability: 0.5, Do: bad}, slices.Repeat([]string{tv}, 12), "x.xx...x.x.."},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := start(t, newFake(t, Config{Seed: 3, Scenario: upstream.Scenario{Faults: []upstream.Fault{row.fault}}}))
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
		flap, err := upstream.Preset("flap")
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
	bug, err := upstream.Preset("gzip-bug")
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
	burst, err := upstream.Preset("burst5xx")
	if err != nil {
		t.Fatal(err)
	}
	// fates returns the number of each status.
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
	paths := []string{
		"/3/search/tv?query=the", "/3/tv/9000024?append_to_response=season/1,translations",
		"/3/discover/tv?page=2", "/3/tv/changes",
	}
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

// TestLimitAndSlowHoldForTheirTime asks ten times every two seconds, in virtual time.
func TestLimitAndSlowHoldForTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := upstream.Duration(time.Second)
		s := newFake(t, Config{
			Latency: upstream.Latency{Min: 10 * time.Millisecond},
			Scenario: upstream.Scenario{Faults: []upstream.Fault{
				{From: 2 * second, To: 3 * second, Do: upstream.Action{Kind: "limit", Rate: 3}},
				{From: 4 * second, To: 5 * second, Do: upstream.Action{Kind: "slow", Factor: 5}},
			}},
		}).ListenMem()
		tr := s.Transport()
		c := &http.Client{Transport: tr}
		began := time.Now()
		var got []string
		for n := range 4 {
			time.Sleep(time.Until(began.Add(time.Duration(2*n) * time.Second)))
			limited := 0
			sent := time.Now()
			for range 10 {
				r, err := ask(c, s.URL()+"/3/configuration")
				if err != nil {
					t.Fatal(err)
				}
				if r.StatusCode == http.StatusTooManyRequests {
					limited++
				}
			}
			got = append(got, fmt.Sprintf("%d refused in %s", limited, time.Since(sent)))
		}
		want := []string{"0 refused in 100ms", "7 refused in 30ms", "0 refused in 500ms", "0 refused in 100ms"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("by round (-want +got):\n%s", d)
		}
		tr.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
