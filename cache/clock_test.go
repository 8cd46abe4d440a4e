package cache

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// afterAWrongClock makes a cache by a process whose clock was wrong by so much, and opens it with one that is right.
func afterAWrongClock(t *testing.T, wrong time.Duration, write func(*Store)) (*Store, *clock) {
	t.Helper()
	dir, clk := t.TempDir(), newClock()
	clk.advance(wrong)
	s, err := openStore(dir, Options{Now: clk.Now, testOptions: noSync})
	if err != nil {
		t.Fatal(err)
	}
	write(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clk.advance(-wrong)
	return open(t, dir, Options{Now: clk.Now}), clk
}

// What a clock that was ahead has left blocks no write.
func TestAfterAClockThatWasAheadEveryWriteCounts(t *testing.T) {
	k := tvKey("1")
	put := func(t *testing.T, s *Store, body string) {
		now := s.opts.Now()
		e := &Entry{Key: k, Status: 200, Body: []byte(body), FetchedAt: now, ExpiresAt: now.Add(day)}
		check(t, s.Put(t.Context(), e))
	}
	rows := map[string]struct {
		ahead, then func(*testing.T, *Store)
		want        string // the body that is there in the end
	}{
		"a put over an answer": {
			func(t *testing.T, s *Store) { put(t, s, `{"a":"old"}`) },
			func(t *testing.T, s *Store) { put(t, s, `{"a":"new"}`) }, `{"a":"new"}`,
		},
		"a put over a deletion": {
			func(t *testing.T, s *Store) { check(t, s.Delete(t.Context(), k)) },
			func(t *testing.T, s *Store) { put(t, s, `{"a":"new"}`) }, `{"a":"new"}`,
		},
		"a deletion of an answer": {
			func(t *testing.T, s *Store) { put(t, s, `{"a":"old"}`) },
			func(t *testing.T, s *Store) { check(t, s.Delete(t.Context(), k)) }, "",
		},
		"a put over a clearing": {
			func(t *testing.T, s *Store) { check(t, s.Clear(t.Context())) },
			func(t *testing.T, s *Store) { put(t, s, `{"a":"new"}`) }, `{"a":"new"}`,
		},
		"a clearing of an answer": {
			func(t *testing.T, s *Store) { put(t, s, `{"a":"old"}`) },
			func(t *testing.T, s *Store) { check(t, s.Clear(t.Context())) }, "",
		},
		"an import over an answer": {
			func(t *testing.T, s *Store) { put(t, s, `{"a":"old"}`) },
			func(t *testing.T, s *Store) {
				from := open(t, t.TempDir(), Options{Now: func() time.Time { return s.opts.Now().Add(time.Second) }})
				put(t, from, `{"a":"new"}`)
				carryOver(t, from, s)
			}, `{"a":"new"}`,
		},
		"nothing": {
			func(t *testing.T, s *Store) { put(t, s, `{"a":"old"}`) },
			func(*testing.T, *Store) {}, `{"a":"old"}`,
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			for _, wrong := range []time.Duration{0, time.Hour, 365 * day} {
				t.Run(wrong.String(), func(t *testing.T) {
					s, clk := afterAWrongClock(t, wrong, func(s *Store) { r.ahead(t, s) })
					clk.advance(time.Second)
					r.then(t, s)
					var got string
					if e, ok, err := s.Get(t.Context(), k); err != nil {
						t.Fatal(err)
					} else if ok {
						got = string(e.Body)
					}
					if got != r.want {
						t.Errorf("%q, want %q", got, r.want)
					}
				})
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A process whose clock is ahead writes on while another clears the cache.
func TestClearReachesRecordsFromAFastClock(t *testing.T) {
	dir, clk := t.TempDir(), newClock()
	ahead := open(t, dir, Options{Now: func() time.Time { return clk.Now().Add(time.Hour) }})
	putAnswer(t, ahead, tvKey("1"), clk.Now(), day, 10)
	s := open(t, dir, Options{Now: clk.Now})
	check(t, s.Clear(t.Context()))
	if got := keysOf(t, s); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// A remembered value can be replaced, and what was dated ahead counts as fetched now and as expired.
func TestAPlainValueThatIsDatedAheadIsExpired(t *testing.T) {
	s, clk := afterAWrongClock(t, 365*day, func(s *Store) {
		b, err := s.Bucket("results")
		check(t, err)
		check(t, b.Put(t.Context(), Item{Key: "k", Value: []byte("old"), ExpiresAt: s.opts.Now().Add(day)}))
	})
	b, err := s.Bucket("results")
	check(t, err)
	now := clk.Now()
	want := []Item{{Key: "k", Value: []byte("old"), FetchedAt: now, ExpiresAt: now, HadFutureDate: true}}
	got, err := b.GetBatch(t.Context(), []string{"k"})
	check(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	check(t, b.Put(t.Context(), Item{Key: "k", Value: []byte("new")}))
	if it, _, err := b.Get(t.Context(), "k"); err != nil || string(it.Value) != "new" {
		t.Errorf("%q: %v", it.Value, err)
	}
}

// The question is asked once, and its answer is kept.
func TestAfterAClockThatWasAheadAQuestionIsAskedOnce(t *testing.T) {
	for name, ahead := range map[string]func(*Transport){
		"an answer": func(tr *Transport) { get(t, tr, tvURL) },
		"a deletion": func(tr *Transport) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tvURL, nil)
			check(t, err)
			tr.Forget(req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			up := &upstream{serve: always(200, endedBody)}
			s, clk := afterAWrongClock(t, 365*day, func(s *Store) {
				ahead(&Transport{Store: s, Next: &upstream{serve: always(200, runsBody)}})
			})
			for i, want := range []string{"network", "fresh", "fresh"} {
				again := open(t, s.Path(), Options{Now: clk.Now})
				if _, body, source := get(t, &Transport{Store: again, Next: up}, tvURL); source != want || body != endedBody {
					t.Errorf("process %d: %s %s", i, source, body)
				}
				check(t, again.Close())
			}
		})
	}
}

// A prune with a date in the future is due, and records with such a date are removed after at most 180 days.
func TestAPruneInTheFutureIsDue(t *testing.T) {
	s, clk := afterAWrongClock(t, 5*365*day, func(s *Store) {
		putAnswer(t, s, tvKey("9"), s.opts.Now(), day, 10)
		_, err := s.Prune(t.Context(), PruneOptions{})
		check(t, err)
	})
	putAnswer(t, s, tvKey("1"), clk.Now(), day, 10)
	check(t, s.Close())
	for _, step := range []struct {
		after time.Duration
		left  int
	}{{0, 2}, {179 * day, 2}, {2 * day, 0}} {
		clk.advance(step.after)
		s := open(t, s.Path(), Options{Now: clk.Now})
		_, err := s.Prune(t.Context(), PruneOptions{})
		check(t, err)
		if got := keysOf(t, s); len(got) != step.left {
			t.Errorf("after %v: %v", step.after, got)
		}
	}
}

// An import is fresh for no longer than the table says, and was fetched now at the latest.
func TestAnImportSetsNoLifetimesOfItsOwn(t *testing.T) {
	now := newClock().Now()
	years := 50 * 365 * day
	search, ended := "GET http://h:80/3/search/tv?query=a", tvKey("1")
	rows := map[string]struct {
		key, body        string
		fetched, expires time.Time
		want             [2]time.Time
	}{
		"fresh for years":   {search, noHitBody, now, now.Add(years), [2]time.Time{now, now.Add(8 * time.Hour)}},
		"as the table says": {ended, endedBody, now, now.Add(14 * day), [2]time.Time{now, now.Add(14 * day)}},
		"shorter than that": {ended, endedBody, now, now.Add(time.Hour), [2]time.Time{now, now.Add(time.Hour)}},
		"fetched in years": {
			search, noHitBody, now.Add(years), now.Add(2 * years), [2]time.Time{now, now.Add(8 * time.Hour)},
		},
		"a minute ago, too long": {
			ended, endedBody, now.Add(-time.Minute), now.Add(years),
			[2]time.Time{now.Add(-time.Minute), now.Add(14*day - time.Minute)},
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			clk := newClock()
			s := open(t, t.TempDir(), Options{Now: clk.Now})
			text := fmt.Sprintf("{\"format\":%q,\"version\":%d}\n", exportFormat, exportVersion) +
				line(exportLine{
					Bucket: exportAnswers, Key: r.key, Status: 200, Body: r.body, FetchedAt: &r.fetched, ExpiresAt: &r.expires,
				}) +
				"{\"end\":true,\"records\":1}\n"
			_, err := s.Import(t.Context(), strings.NewReader(text), nil)
			check(t, err)
			e, _, err := s.Get(t.Context(), r.key)
			check(t, err)
			if diff := cmp.Diff(r.want, [2]time.Time{e.FetchedAt, e.ExpiresAt}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
