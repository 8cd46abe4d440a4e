package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/lockfile"
)

func tellable(key, overview string, at time.Time) *Entry {
	return &Entry{
		Key: key, Status: 200, Body: []byte(`{"id":1,"overview":"` + overview + `"}`),
		FetchedAt: at, ExpiresAt: at.Add(day),
	}
}

// overview reads what a store knows about a key.
func overview(t rapid.TB, s *Store, key string) string {
	t.Helper()
	e, _, err := s.Get(context.Background(), key)
	if err != nil && !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	if e == nil {
		return "nothing"
	}
	_, text, _ := strings.Cut(string(e.Body), `"overview":"`)
	return strings.TrimSuffix(text, `"}`)
}

// Whatever two stores write, delete and clear, in whatever order: who remembers answers tells what lies on disk.
func TestMemoryReturnsNothingOlderThanTheDisk(t *testing.T) {
	told := 0
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "cache-memory-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		clk := newClock()
		open := func(memory int64) *Store {
			s, err := openStore(dir, Options{Now: clk.Now, Memory: memory, testOptions: noSync})
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
			key := tvKey(fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "id")))
			var err error
			switch rapid.SampledFrom([]string{"put", "put", "delete", "clear", "compact", "lock"}).Draw(t, "what") {
			case "put":
				err = s.Put(t.Context(), tellable(key, fmt.Sprint(step), clk.Now()))
			case "delete":
				err = s.Delete(t.Context(), key)
			case "clear":
				err = s.Clear(t.Context())
			case "compact":
				_, err = s.Compact(t.Context())
			case "lock": // somebody clears away the lock file
				err = os.Remove(lockPath(s))
			}
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			fresh := open(0)
			for id := range 3 {
				key := tvKey(fmt.Sprint(id))
				want := overview(t, fresh, key)
				for i, s := range []*Store{a, b, a} {
					if s.memory.get(s.answers.Generation(key), key) != nil {
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

// What is remembered needs no session on the database, and a write of one's own voids only what it writes.
func TestRememberedAnswersNeedNoSession(t *testing.T) {
	for name, row := range map[string]struct {
		memory int64
		want   string
	}{"with memory": {1 << 20, "first"}, "without": {0, "nothing"}, "too small for it": {100, "nothing"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, Options{Memory: row.memory, LockWait: time.Millisecond})
			for _, k := range []string{"1", "2"} {
				if err := s.Put(t.Context(), tellable(tvKey(k), "first", time.Now())); err != nil {
					t.Fatal(err)
				}
				if got := overview(t, s, tvKey(k)); got != "first" {
					t.Fatalf("at first %q", got)
				}
			}
			other := open(t, dir, Options{})
			// Nobody else gets at the database.
			release, err := lockfile.Acquire(t.Context(), lockPath(other), lockfile.Exclusive, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			if got := overview(t, s, tvKey("1")); got != row.want {
				t.Errorf("told %q", got)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := memoryCache{maxBytes: 100_000}
	body := []byte(strings.Repeat("x", 1000))
	for i := range 1000 {
		key := fmt.Sprint(i)
		m.put(7, &Entry{Key: key, Body: body})
		if m.get(7, key) == nil || m.get(8, key) != nil {
			t.Fatalf("answer %d is not told, or of another generation", i)
		}
		if len(m.entries) > 100 || m.size > m.maxBytes {
			t.Fatalf("%d answers, %d bytes", len(m.entries), m.size)
		}
	}
}
