package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tellable returns an answer about a series, told apart by its overview.
func tellable(key, overview string, at time.Time) *Entry {
	return &Entry{
		Key: key, Status: 200, Body: []byte(`{"id":1,"overview":"` + overview + `"}`), FetchedAt: at, ExpiresAt: at.Add(day),
	}
}

// rest gives the database and the journals' folder a time of change that lies back, as if nobody had written for so long:
// then their state can be told from the next.
func rest(t rapid.TB, s *Store, ago time.Duration) {
	t.Helper()
	at := time.Now().Add(-ago)
	for _, path := range []string{s.dbPath(), s.journalDir()} {
		if err := os.Chtimes(path, at, at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// Whatever two stores write, delete, clear and merge, in whatever order: who remembers answers tells what lies on disk.
func TestMemoryTellsNothingOlderThanTheDisk(t *testing.T) {
	ctx, told := t.Context(), 0
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "cache-memory-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		clk := newClock()
		open := func(memory int64) *Store {
			s, err := Open(dir, Options{Now: clk.Now, MergeEvery: time.Hour, Memory: memory, noSync: true})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		a, b := open(1<<20), open(1<<20)
		defer a.Close()
		defer b.Close()
		for step := range rapid.IntRange(5, 25).Draw(t, "steps") {
			clk.advance(time.Second)
			s := rapid.SampledFrom([]*Store{a, b}).Draw(t, "store")
			key := fmt.Sprintf("GET http://h:80/3/tv/%d", rapid.IntRange(1, 3).Draw(t, "id"))
			var err error
			switch rapid.SampledFrom([]string{"put", "put", "delete", "clear", "merge", "merge", "rest"}).Draw(t, "what") {
			case "put":
				err = s.Put(ctx, tellable(key, fmt.Sprint(step), clk.Now()))
			case "delete":
				err = s.Delete(ctx, key)
			case "clear":
				err = s.Clear(ctx)
			case "merge":
				_, err = s.Merge(ctx)
			case "rest":
				rest(t, s, time.Hour+time.Duration(step)*time.Minute)
			}
			if err != nil {
				t.Fatal(err)
			}
			fresh := open(0)
			for id := range 3 {
				key := fmt.Sprintf("GET http://h:80/3/tv/%d", id+1)
				want := overview(t, fresh, key)
				for i, s := range []*Store{a, b, a} {
					if e, _ := s.recall(key); e != nil {
						told++
					}
					if got := overview(t, s, key); got != want {
						t.Fatalf("step %d: store %d tells %q of %s, on disk is %q", step, i, got, key, want)
					}
				}
			}
			fresh.Close()
		}
	})
	if told == 0 {
		t.Error("nothing was ever told from memory")
	}
}

// What is remembered needs no session on the database.
func TestWhatIsRememberedNeedsNoSession(t *testing.T) {
	dir := t.TempDir()
	writer := open(t, dir, Options{})
	key := "GET http://h:80/3/tv/1"
	if err := writer.Put(t.Context(), tellable(key, "first", time.Now())); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		memory int64
		want   string
	}{"with memory": {1 << 20, "first"}, "without": {0, "nothing"}, "too small for it": {100, "nothing"}} {
		t.Run(name, func(t *testing.T) {
			reader := open(t, dir, Options{Memory: row.memory, LockWait: time.Millisecond})
			rest(t, reader, time.Hour)
			if got := overview(t, reader, key); got != "first" {
				t.Fatalf("at first %q", got)
			}
			err := writer.operate(t.Context(), func() error { // nobody else gets at the database
				if got := overview(t, reader, key); got != row.want {
					t.Errorf("told %q", got)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := memory{max: 100_000}
	state := dbState{size: 1, mtime: 1}
	body := []byte(strings.Repeat("x", 1000))
	held := func() (bytes int) {
		for _, half := range []map[string]remembered{m.young, m.old} {
			for key, r := range half {
				bytes += len(key) + len(r.entry.Body) + entryCost
			}
		}
		return bytes
	}
	for i := range 1000 {
		m.put(state, fmt.Sprint(i), remembered{&Entry{Body: body}, uint64(i + 1)})
		if _, ok := m.get(state, "0"); !ok {
			t.Fatalf("what is asked for again and again is gone after %d others", i)
		}
		if n := held(); n > 100_000 {
			t.Fatalf("%d bytes after %d answers", n, i+1)
		}
	}
	if _, ok := m.get(state, "500"); ok {
		t.Error("what nobody asked for stays")
	}
	if _, ok := m.get(dbState{size: 2, mtime: 1}, "0"); ok {
		t.Error("an answer of another state is told")
	}
}

// overview reads what a store tells of a key.
func overview(t rapid.TB, s *Store, key string) string {
	t.Helper()
	e, _, _ := s.entry(context.Background(), key)
	if e == nil {
		return "nothing"
	}
	_, text, _ := strings.Cut(string(e.Body), `"overview":"`)
	return strings.TrimSuffix(text, `"}`)
}
