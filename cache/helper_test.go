package cache

// What the tests share: a directory that is checked when the test ends, a clock that is set by hand, and an upstream
// that counts what it is asked.

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anivault/anivault/cache/internal/store"
)

// clock is a wall clock that moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// openStore opens a store whose questions have classes, by a few of TMDB's paths.
func openStore(dir string, o Options) (*Store, error) {
	o.Class = func(req *http.Request) Class {
		switch path := req.URL.Path; {
		case req.Method != http.MethodGet, strings.HasSuffix(path, "/changes"):
			return Uncached
		case strings.HasPrefix(path, "/3/search/"):
			return Search
		case strings.Contains(path, "/season/"):
			return SeasonDetails
		case strings.HasPrefix(path, "/3/tv/"):
			return TVDetails
		case strings.HasPrefix(path, "/3/movie/"):
			return MovieDetails
		case strings.HasPrefix(path, "/3/configuration"):
			return Reference
		}
		return Uncached
	}
	return Open(dir, o)
}

// noSync spares the disk.
var noSync = store.Options{NoSync: true}

func dbPath(s *Store) string { return filepath.Join(s.Path(), "cache-v2.db") }

func lockPath(s *Store) string { return filepath.Join(s.Path(), "cache.lock") }

// pair opens two stores over one directory, as two processes would.
func pair(t *testing.T) (a, b *Store) {
	dir := t.TempDir()
	return open(t, dir, Options{}), open(t, dir, Options{})
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); runtime.Gosched() { // a busy disk may need half a minute
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// open opens a store that is closed, and whose directory is verified, at the end of the test.
func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := openStore(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		verifyDir(t, dir)
	})
	return s
}

// verifyDir runs the consistency check on a cache directory.
func verifyDir(t testing.TB, dir string) {
	t.Helper()
	s, err := openStore(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Verify(context.Background())
	if err != nil {
		t.Errorf("verify: %v", err)
	}
	for _, p := range report.Problems {
		t.Errorf("verify: %v", p)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// upstream is a server as a function; it notes what it was asked.
type upstream struct {
	mu    sync.Mutex
	asked []string
	serve func(*http.Request) (*http.Response, error)
}

func (u *upstream) RoundTrip(req *http.Request) (*http.Response, error) {
	u.mu.Lock()
	u.asked = append(u.asked, req.URL.RequestURI())
	u.mu.Unlock()
	return u.serve(req)
}

func (u *upstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.asked)
}

// reply makes a response; headers are "Name: value".
func reply(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func always(status int, body string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return reply(status, body, headers...), nil }
}

// get asks a transport, and gives status, body and source in one word.
func get(t testing.TB, tr http.RoundTripper, url string) (status int, body, source string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, err.Error(), "error"
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	info, ok := InfoFrom(resp)
	if !ok {
		return resp.StatusCode, string(b), "none"
	}
	return resp.StatusCode, string(b), info.Source.String()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// randomText can't be compressed much.
func randomText(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

// answerOf makes an answer about a series that has ended.
func answerOf(key string, fetched time.Time, fresh time.Duration, size int) *Entry {
	body := `{"status":"Ended","pad":"` + strings.Repeat(key[len(key)-1:]+"!", size/2) + `"}`
	return &Entry{
		Key: key, Status: 200, ETag: `"e"`, Body: []byte(body), FetchedAt: fetched, ExpiresAt: fetched.Add(fresh),
	}
}

func putAnswer(t testing.TB, s *Store, key string, fetched time.Time, fresh time.Duration, size int) {
	t.Helper()
	if err := s.Put(t.Context(), answerOf(key, fetched, fresh, size)); err != nil {
		t.Fatal(err)
	}
}

func keysOf(t testing.TB, s *Store) []string {
	t.Helper()
	var keys []string
	err := s.Range(t.Context(), func(e *Entry) error {
		keys = append(keys, strings.TrimPrefix(e.Key, "GET http://h:80/3/tv/"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func tvKey(name string) string { return "GET http://h:80/3/tv/" + name }

// carryOver exports one store and imports it into another.
func carryOver(t testing.TB, from, to *Store) {
	t.Helper()
	var text strings.Builder
	if _, err := from.Export(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Import(t.Context(), strings.NewReader(text.String()), nil); err != nil {
		t.Fatal(err)
	}
}
