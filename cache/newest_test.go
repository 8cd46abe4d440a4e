package cache

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/cache/internal/store"
)

// A resource's newest answer is found wherever it lies, whoever stored it.
func TestNewestIsTheLatestFetchOfAResource(t *testing.T) {
	begin := newClock().Now()
	key := func(path string) string { return "GET http://h:80/3/" + path }
	rows := map[string]struct {
		put  map[string]time.Duration // fetched so long after begin
		want time.Duration            // of tv/12; 0: never
	}{
		"nothing":               {nil, 0},
		"its details":           {map[string]time.Duration{"tv/12?language=en-US": time.Hour}, time.Hour},
		"details without query": {map[string]time.Duration{"tv/12": time.Hour}, time.Hour},
		"the later of two": {map[string]time.Duration{
			"tv/12?language=en-US": time.Hour, "tv/12?language=de-DE": 2 * time.Hour,
		}, 2 * time.Hour},
		"a season of it": {map[string]time.Duration{
			"tv/12?language=en-US": time.Hour, "tv/12/season/3?language=en-US": 3 * time.Hour,
		}, 3 * time.Hour},
		"longer ids, other kinds": {map[string]time.Duration{
			"tv/120?language=en-US": time.Hour, "tv/1?a=b": time.Hour, "tv/129/season/1": time.Hour, "movie/12": time.Hour,
			"search/tv?query=12": time.Hour,
		}, 0},
		"dated ahead of the clock": {map[string]time.Duration{"tv/12": time.Hour, "tv/12/season/1": 30 * day}, time.Hour},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			for _, where := range []string{"database", "another process", "import", "memory"} {
				t.Run(where, func(t *testing.T) {
					if where == "import" && name == "dated ahead of the clock" {
						t.Skip("an import brings such a date back itself")
					}
					clk := newClock()
					clk.advance(10 * day)
					dir := t.TempDir()
					reader := open(t, dir, Options{Now: clk.Now})
					writer := reader
					switch where {
					case "another process":
						writer = open(t, dir, Options{Now: clk.Now})
					case "import":
						writer = open(t, t.TempDir(), Options{Now: clk.Now})
					case "memory":
						reader = open(t, dir, Options{Now: clk.Now, testOptions: store.Options{NoLocks: true}})
						writer = reader
					}
					for path, after := range r.put {
						err := writer.Put(t.Context(), answerOf(key(path), begin.Add(after), day, 10))
						if pending := errors.Is(err, ErrPending); err != nil && !pending || pending != (where == "memory") {
							t.Fatal(err)
						}
					}
					if where == "import" {
						carryOver(t, writer, reader)
					}
					got, err := reader.Newest(t.Context(), key("movie/99"), key("tv/12"), key("tv/12"))
					if err != nil {
						t.Fatal(err)
					}
					var want time.Time
					if r.want > 0 {
						want = begin.Add(r.want)
					}
					if diff := cmp.Diff([]time.Time{{}, want, want}, got); diff != "" {
						t.Error(diff)
					}
				})
			}
		})
	}
}

// What was cleared, deleted or is past the 180 days is not known any more.
func TestNewestForgetsWhatIsGone(t *testing.T) {
	for name, remove := range map[string]func(*testing.T, *Store, *clock){
		"deleted": func(t *testing.T, s *Store, _ *clock) {
			if err := s.Delete(t.Context(), tvKey("1")); err != nil {
				t.Fatal(err)
			}
		},
		"cleared": func(t *testing.T, s *Store, _ *clock) {
			if err := s.Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"180 days old": func(_ *testing.T, _ *Store, clk *clock) { clk.advance(180 * day) },
	} {
		t.Run(name, func(t *testing.T) {
			clk := newClock()
			s := open(t, t.TempDir(), Options{Now: clk.Now})
			putAnswer(t, s, tvKey("1"), clk.Now(), day, 10)
			clk.advance(time.Second)
			remove(t, s, clk)
			if got, err := s.Newest(t.Context(), tvKey("1")); err != nil || !got[0].IsZero() {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// BenchmarkNewest asks for 5,000 resources of a cache of 10,000 answers.
func BenchmarkNewest(b *testing.B) {
	s := open(b, b.TempDir(), Options{})
	var resources []string
	for i := range 5000 {
		resources = append(resources, tvKey(fmt.Sprint(i)))
		putAnswer(b, s, tvKey(fmt.Sprint(i, "?language=en-US")), time.Now(), day, 10_000)
		putAnswer(b, s, tvKey(fmt.Sprint(i, "/season/1?language=en-US")), time.Now(), day, 10_000)
	}
	for b.Loop() {
		if _, err := s.Newest(b.Context(), resources...); err != nil {
			b.Fatal(err)
		}
	}
}
