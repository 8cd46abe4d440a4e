package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// virtual is a gateway in virtual time: no network, and the limiter's state in memory.
type virtual struct {
	t    *testing.T
	g    *Gateway
	fake *tmdbfake.Fake
}

// inMemory sends requests to a handler, with a key.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+poolKey)
	m.ServeHTTP(w, req)
	return w.Result(), req.Context().Err()
}

// begin opens a gateway within a bubble of virtual time.
func begin(t *testing.T, dir, yaml string) *virtual {
	t.Helper()
	fake, err := tmdbfake.New(tmdbfake.Config{Latency: upstream.Latency{Min: 30 * time.Millisecond, Max: 60 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir}
	b.configure("coordinator: memory\n" + yaml)
	cfg, err := b.load("http://tmdb.test", "127.0.0.1:0", poolKey)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(cfg, Options{wire: inMemory{fake}})
	if err != nil {
		t.Fatal(err)
	}
	return &virtual{t, g, fake}
}

// ask asks the gateway.
func (v *virtual) ask(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(v.t.Context(), http.MethodGet, path, nil)
	r.Host = "localhost"
	v.g.ServeHTTP(w, r)
	return w
}

func (v *virtual) apply(s upstream.Scenario) {
	v.t.Helper()
	if err := v.fake.Apply(s); err != nil {
		v.t.Fatal(err)
	}
}

func known(n int) string { return tv(9000001 + n) }

// A week in which TMDB is down: whatever is stored is answered, and marked once it has expired; who asks for anything else is told
// when asking again makes sense. Then TMDB is well again, and is not flooded.
func TestAWeekWithoutTMDB(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		v := begin(t, dir, "limiter: {auto_recover: 15m}\n")
		defer v.g.Close()
		stored := map[string]int{}
		for n := range 10 {
			stored[known(n)] = v.ask(known(n)).Code
		}
		v.apply(upstream.Scenario{Faults: []upstream.Fault{{Do: upstream.Action{Kind: "status", Status: 503, Code: 46}}}})
		stale, refused := 0, 0
		for hour := range 7 * 24 {
			time.Sleep(time.Hour)
			for path, status := range stored {
				w := v.ask(path)
				told := w.Header().Get("Cache-Status")
				if w.Code != status || !strings.HasPrefix(told, "anivault; hit; ttl=") {
					t.Fatalf("hour %d, %s: %d %s %s", hour, path, w.Code, told, w.Body)
				}
				if strings.HasPrefix(told, "anivault; hit; ttl=-") {
					stale++
					if !strings.Contains(told, "; detail=") || w.Header().Get("Age") == "" {
						t.Fatalf("hour %d, %s: expired and not marked: %s", hour, path, told)
					}
				}
			}
			w := v.ask(tv(5_000_000 + hour))
			if w.Code == http.StatusBadGateway {
				continue // it was the probe
			}
			refused++
			if w.Code != http.StatusServiceUnavailable && w.Code != http.StatusTooManyRequests {
				t.Fatalf("hour %d, not stored: %d %s", hour, w.Code, w.Body)
			}
			after, err := strconv.Atoi(w.Header().Get("Retry-After"))
			st, stErr := v.g.up.Limiter().Status(t.Context())
			if err != nil || stErr != nil || after < 1 {
				t.Fatalf("hour %d: Retry-After %q, %v", hour, w.Header().Get("Retry-After"), stErr)
			}
			// Honest: the block that it was told of ends then, and not before.
			if end := time.Until(st.Gauges.Until); w.Code == http.StatusServiceUnavailable && end > 0 && (float64(after) < end.Seconds() || float64(after) > end.Seconds()+1) {
				t.Fatalf("hour %d: Retry-After %d, but it is blocked for %s: %s; %+v", hour, after, end, w.Body, st.Gauges)
			}
		}
		if stale == 0 || refused == 0 {
			t.Errorf("%d expired answers, %d refused: too little has happened", stale, refused)
		}
		down := len(v.fake.Journal())
		v.apply(upstream.Scenario{})
		time.Sleep(time.Hour) // the last Sleep, or CacheOnly, ends
		var asking sync.WaitGroup
		for i := range 120 {
			asking.Go(func() { v.ask(tv(6_000_000 + i)) })
		}
		asking.Wait()
		within(t, v.fake.Journal()[down:], 40, 1050*time.Millisecond)
		for path, status := range stored {
			if w := v.ask(path); w.Code != status || strings.Contains(w.Header().Get("Cache-Status"), "ttl=-") {
				t.Errorf("afterwards %s: %d %s", path, w.Code, w.Header().Get("Cache-Status"))
			}
		}
	})
}

// within fails where more requests than the limit arrived in one span of time.
func within(t *testing.T, entries []tmdbfake.Entry, limit int, span time.Duration) {
	t.Helper()
	first := 0
	for i := range entries {
		for entries[i].At.Sub(entries[first].At) >= span {
			first++
		}
		if n := i - first + 1; n > limit {
			t.Fatalf("%d requests within %s, %s after the first", n, span, entries[first].At.Sub(entries[0].At))
		}
	}
}

// Three hours of traffic, some of it from clients that go away: nothing grows but what is stored.
func TestThreeHoursOfTrafficLeaveNothingBehind(t *testing.T) {
	length := 3 * time.Hour
	if d, err := time.ParseDuration(os.Getenv("TEST_SOAK")); err == nil {
		length = d
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		v := begin(t, dir, "")
		defer v.g.Close()
		random := rand.New(rand.NewPCG(3, 3))
		var begun, ended uint64
		routines := 0
		var asking sync.WaitGroup
		start := time.Now()
		for i := 0; time.Since(start) < length; i++ {
			path, patience := tv(random.IntN(3000)), time.Duration(random.IntN(2000))*time.Millisecond
			leaves := random.IntN(5) == 0
			asking.Go(func() {
				ctx := t.Context()
				if leaves {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, patience)
					defer cancel()
				}
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
				r.Host = "localhost"
				v.g.ServeHTTP(httptest.NewRecorder(), r)
			})
			time.Sleep(time.Duration(random.IntN(8000)) * time.Millisecond)
			if time.Since(start) > length/3 && begun == 0 {
				asking.Wait()
				begun, routines = heap(), runtime.NumGoroutine()
			}
		}
		asking.Wait()
		ended = heap()
		if n := runtime.NumGoroutine(); n > routines {
			t.Errorf("%d goroutines, %d after a third of the time", n, routines)
		}
		if ended > begun+begun/2+4<<20 {
			t.Errorf("%d bytes are held, %d after a third of the time", ended, begun)
		}
		f := v.g.flights
		if inside, _ := v.g.queue.running(); len(f.byKey) != 0 || len(f.perClient) != 0 || f.waiting != 0 || f.background != 0 || inside != 0 {
			t.Errorf("left: %d flights, %v waiting (%d), %d behind, %d places", len(f.byKey), f.perClient, f.waiting, f.background, inside)
		}
		st, err := v.g.up.Limiter().Status(t.Context())
		if err != nil || st.Running != 0 || st.Waiting != 0 {
			t.Errorf("%d run, %d wait, %v", st.Running, st.Waiting, err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, ".cache", "anivault", "journals", "*.log")); len(names) > 2 {
			t.Errorf("%d journals", len(names))
		}
		series := 0
		for range v.g.up.Metrics().Snapshot().Gateway.Requests {
			series++
		}
		if series > 20 {
			t.Errorf("%d series of gateway_requests_total", series)
		}
		fmt.Fprintf(t.Output(), "%d bytes after a third, %d in the end; %d requests upstream\n", begun, ended, len(v.fake.Journal()))
	})
}

// heap is what is held after garbage was collected.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
