package store

// What the tests share: a folder that is checked when the test ends, a clock that is set by hand, and the warnings that
// were heard.

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var errDown = errors.New("down")

func newClock() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// openStore opens a store with the cache's defaults.
func openStore(dir string, o Options) *Store {
	if o.MaxSize == 0 {
		o.MaxSize = 512 << 20
	}
	if o.LockWait == 0 {
		o.LockWait = lockWait
	}
	if o.ClaimTimeout == 0 {
		o.ClaimTimeout = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return Open(dir, o)
}

const lockWait = 250 * time.Millisecond

// open opens a store that is closed, and whose directory is verified, at the end of the test.
func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s := openStore(dir, o)
	t.Cleanup(func() {
		s.Close()
		s := openStore(dir, Options{})
		defer s.Close()
		report, err := s.Verify(context.Background(), func(Item) error { return nil })
		if err != nil || len(report.Problems) > 0 {
			t.Errorf("verify: %v %v", err, report.Problems)
		}
	})
	return s
}

// pair opens two stores over one directory, as two processes would.
func pair(t *testing.T) (a, b *Store) {
	dir := t.TempDir()
	return open(t, dir, Options{}), open(t, dir, Options{})
}

// put writes an answer that is fresh for a day.
func put(t testing.TB, s *Store, key string) {
	t.Helper()
	if err := putNow(s, key); err != nil {
		t.Fatal(err)
	}
}

func putNow(s *Store, key string) error {
	now := s.db.now()
	return s.Answers().Put(
		context.Background(), Item{Key: key, Value: []byte("v"), FetchedAt: now, ExpiresAt: now.Add(day)},
	)
}

func keysOf(t testing.TB, s *Store) []string {
	t.Helper()
	var keys []string
	err := s.Answers().Range(t.Context(), func(it Item) error {
		keys = append(keys, it.Key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// heard collects warnings.
type heard struct {
	mu   sync.Mutex
	list []string
}

func (h *heard) hear(w Warning) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, string(w.Kind))
}

func (h *heard) kinds() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.list, " ")
}

func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
