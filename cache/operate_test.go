package cache

// What a person asks of the whole cache.

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestStatsCountWhatIsThere(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	s := open(t, dir, Options{Now: clk.Now})
	begin := clk.Now()
	putAnswer(t, s, tvKey("1"), begin, time.Hour, 10)
	putAnswer(t, s, "GET http://h:80/3/search/tv?query=x", begin.Add(time.Minute), 3*time.Hour, 10)
	gone := &Entry{Key: tvKey("2"), Status: 404, Body: []byte(missing)}
	gone.FetchedAt, gone.ExpiresAt = begin.Add(time.Hour), begin.Add(9*time.Hour)
	if err := s.Put(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), Item{Key: "k"}, Item{Key: "l"}); err != nil {
		t.Fatal(err)
	}
	clk.advance(2 * time.Hour)
	got, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{
		Entries: 3, Fresh: 2, Expired: 1, Negative: 1,
		ByClass: map[Class]int{TVDetails: 2, Search: 1},
		Oldest:  begin, Newest: begin.Add(time.Hour),
		FileSize: got.FileSize, Used: got.Used, MaxSize: defaultMaxSize,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if got.Used <= 0 || got.Used > got.FileSize {
		t.Errorf("used %d of %d", got.Used, got.FileSize)
	}
}

// A process that is running when another clears the cache asks anew.
func TestClearReachesRunningProcesses(t *testing.T) {
	dir := t.TempDir()
	up := &upstream{serve: always(200, endedBody)}
	a := open(t, dir, Options{})
	running := &Transport{Store: a, Next: up}
	get(t, running, tvURL)
	if err := open(t, dir, Options{}).Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A new, empty database could not be written on a full disk.
	if _, err := os.Stat(dbPath(a)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the database: %v", err)
	}
	for _, want := range []string{"network", "fresh"} {
		if _, _, source := get(t, running, tvURL); source != want {
			t.Errorf("answered from %s, want %s", source, want)
		}
	}
}
