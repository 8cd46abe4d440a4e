package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// keyed sends requests with the pool's key.
type keyed struct{ http.RoundTripper }

func (k keyed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+poolKey)
	return k.RoundTripper.RoundTrip(req)
}

// begin starts a stand-in and a gateway within a bubble of virtual time. Clients, gateway and stand-in speak HTTP over
// pipes; the limiter's state is in memory.
func begin(t *testing.T, dir, yaml string) *bench {
	t.Helper()
	fake, err := tmdbfake.New(
		tmdbfake.Config{Latency: upstream.Latency{Min: 30 * time.Millisecond, Max: 60 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	tmdb, front := fake.ListenMem(), newPipes()
	wire := tmdb.Transport()
	b := &bench{t: t, fake: fake, dir: dir, log: &lockedBuffer{}, url: "http://localhost", net: front.transport()}
	b.configure("coordinator: memory\n" + yaml)
	cfg, err := b.load(tmdb.URL(), "127.0.0.1:0", poolKey)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(cfg, Options{transport: keyed{wire}})
	if err != nil {
		t.Fatal(err)
	}
	b.service = &Service{g: g, listeners: []net.Listener{front}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.service.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
		wire.CloseIdleConnections()
		if err := tmdb.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) apply(s upstream.Scenario) {
	b.t.Helper()
	if err := b.fake.Apply(s); err != nil {
		b.t.Fatal(err)
	}
}

func known(n int) string { return tv(9000001 + n) }

// A week in which TMDB is down: whatever is stored is answered, and marked once it has expired; who asks for anything
// else learns when asking again makes sense. Then TMDB is well again, and is not flooded.
func TestAWeekWithoutTMDB(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, "limiter: {auto_recover: 15m}\n")
		stored := map[string]int{}
		for n := range 10 {
			stored[known(n)] = b.get(known(n)).status
		}
		b.apply(upstream.Scenario{Faults: []upstream.Fault{{Do: upstream.Action{Kind: "status", Status: 503, Code: 46}}}})
		stale, refused := 0, 0
		for hour := range 7 * 24 {
			time.Sleep(time.Hour)
			for path, status := range stored {
				a := b.get(path)
				told := a.Header.Get("Cache-Status")
				if a.status != status || !strings.HasPrefix(told, "anivault; hit; ttl=") {
					t.Fatalf("hour %d, %s: %d %s %s", hour, path, a.status, told, a.body)
				}
				if strings.HasPrefix(told, "anivault; hit; ttl=-") {
					stale++
					if !strings.Contains(told, "; detail=") || a.Header.Get("Age") == "" {
						t.Fatalf("hour %d, %s: expired and not marked: %s", hour, path, told)
					}
				}
			}
			a := b.get(tv(5_000_000 + hour))
			if a.status == http.StatusBadGateway {
				continue // it was the probe
			}
			refused++
			if a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests {
				t.Fatalf("hour %d, not stored: %d %s", hour, a.status, a.body)
			}
			after, err := strconv.Atoi(a.Header.Get("Retry-After"))
			st, stErr := b.service.g.upstream.Limiter().Status(t.Context())
			if err != nil || stErr != nil || after < 1 {
				t.Fatalf("hour %d: Retry-After %q, %v", hour, a.Header.Get("Retry-After"), stErr)
			}
			// Honest: the reported block ends then, and not before.
			if end := time.Until(st.Gauges.Until); a.status == http.StatusServiceUnavailable && end > 0 &&
				(float64(after) < end.Seconds() || float64(after) > end.Seconds()+1) {
				t.Fatalf("hour %d: Retry-After %d, but it is blocked for %s: %s; %+v", hour, after, end, a.body, st.Gauges)
			}
		}
		if stale == 0 || refused == 0 {
			t.Errorf("%d expired answers, %d refused: too little has happened", stale, refused)
		}
		down := len(b.fake.Journal())
		b.apply(upstream.Scenario{})
		time.Sleep(time.Hour) // the last Sleep, or CacheOnly, ends
		var asking sync.WaitGroup
		for i := range 120 {
			asking.Go(func() {
				if _, err := b.request(t.Context(), http.MethodGet, tv(6_000_000+i)); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		within(t, b.fake.Journal()[down:], 40, 1050*time.Millisecond)
		for path, status := range stored {
			if a := b.get(path); a.status != status || strings.Contains(a.Header.Get("Cache-Status"), "ttl=-") {
				t.Errorf("afterwards %s: %d %s", path, a.status, a.Header.Get("Cache-Status"))
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
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	length := 3 * time.Hour
	if d, err := time.ParseDuration(os.Getenv("TEST_SOAK")); err == nil {
		length = d
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, "")
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
				if _, err := b.request(ctx, http.MethodGet, path); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
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
		f := b.service.g.flights
		if inside, _ := b.service.g.queue.running(); len(f.byKey) != 0 || len(f.waitingPerClient) != 0 || f.waiting != 0 ||
			f.backgroundCount != 0 || inside != 0 {
			t.Errorf("left: %d flights, %v waiting (%d), %d behind, %d places", len(f.byKey), f.waitingPerClient, f.waiting,
				f.backgroundCount, inside)
		}
		st, err := b.service.g.upstream.Limiter().Status(t.Context())
		if err != nil || st.Running != 0 || st.Waiting != 0 {
			t.Errorf("%d run, %d wait, %v", st.Running, st.Waiting, err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, ".cache", "anivault", "journals", "*.log")); len(names) > 2 {
			t.Errorf("%d journals", len(names))
		}
		series := 0
		for range b.service.g.upstream.Metrics().Snapshot().All(metrics.GatewayRequests) {
			series++
		}
		if series > 20 {
			t.Errorf("%d series of gateway_requests_total", series)
		}
		fmt.Fprintf(t.Output(), "%d bytes after a third, %d in the end; %d requests upstream\n", begun, ended,
			len(b.fake.Journal()))
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

// A client that won't wait gets an answer anyway if no wait is needed.
func TestAnImpatientClientIsAnsweredIfNobodyWaits(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, "")
		for n := range 20 {
			time.Sleep(time.Second)
			if a := b.get(fmt.Sprint("/3/search/tv?query=", n), "Prefer: wait=0"); a.status != http.StatusOK {
				t.Errorf("question %d: %d %s", n, a.status, a.body)
			}
		}
	})
}

// Who won't wait has one try of TMDB. It is not the last word for those who ask the same at the same time or later.
func TestAnImpatientClientFailsNoOther(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, "")
		var first upstream.Scenario
		for _, path := range []string{"/3/tv/9000001", "/3/tv/9000002"} {
			first.Faults = append(first.Faults, upstream.Fault{
				// Also the retries that may fit into its least patience fail; the last try of anybody else does not.
				Match: upstream.Match{Path: path, Nth: upstream.Numbers{{From: 1, To: 3}}},
				Do:    upstream.Action{Kind: "status", Status: 500},
			})
		}
		b.apply(first)
		b.must(502, "/3/tv/9000001", "Prefer: wait=0")
		b.must(502, "/3/tv/9000001", "Prefer: wait=0")
		b.must(200, "/3/tv/9000001")
		hasty := b.later("/3/tv/9000002", "Prefer: wait=0")
		time.Sleep(10 * time.Millisecond)
		b.must(200, "/3/tv/9000002")
		if a := <-hasty; a.status != 502 {
			t.Errorf("who has no patience: %d %s", a.status, a.body)
		}
	})
}

// Where slots are the limit and not the rate, the queue is as long as the turns of the questions ahead.
func TestARetryAfterIsByTheTurnsThatThereAre(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, "limiter: {concurrency_total: 1}\n")
		b.apply(upstream.Scenario{Faults: []upstream.Fault{
			{Do: upstream.Action{Kind: "delay", Delay: upstream.Duration(2 * time.Second)}},
		}})
		for n := range 11 {
			b.later(known(n))
		}
		synctest.Wait()
		a := b.get(known(11), "Prefer: wait=5") // two are answered, one is asking, eight wait ahead of it
		if a.status != http.StatusTooManyRequests || a.own.RetryAfter < 18 || a.own.RetryAfter > 19 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
