package redisstore_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/shared"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// long makes the tests that are worth repeating run for minutes: go test ./ratelimit/redisstore -long
var long = flag.Bool("long", false, "repeat kills, restarts and updates as often as on a bad day")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// machine is a folder of its own and a way of its own to the server.
type machine struct {
	t      testing.TB
	dir    string
	ahead  time.Duration // of its wall clock
	proxy  *redistest.Proxy
	events *events
	stores []*shared.Store
}

func newMachine(t testing.TB, server *redistest.Server) *machine {
	t.Helper()
	p, err := redistest.NewProxy(server.Addr)
	must(t, err)
	t.Cleanup(p.Close)
	return &machine{t: t, dir: t.TempDir(), proxy: p, events: &events{}}
}

func (m *machine) options() redisstore.Options {
	m.t.Helper()
	addr, err := redisstore.ParseAddress("redis://" + m.proxy.Addr)
	must(m.t, err)
	return redisstore.Options{Address: addr, Upstream: "test", Dir: m.dir}
}

// open returns the store of one more process of the machine.
func (m *machine) open() (*shared.Store, *redisstore.Backend) {
	m.t.Helper()
	b, err := redisstore.Open(m.options())
	must(m.t, err)
	now := func() ratelimit.Instant {
		at := core.SystemInstant()
		at.Wall = at.Wall.Add(m.ahead)
		return at
	}
	alone, err := ratelimit.OpenFileStore(m.dir, ratelimit.FileOptions{Now: now, OnWarning: m.events.add})
	must(m.t, err)
	st := shared.New(b, shared.Options{
		Place: "redis", Fallback: alone, Now: now, OnWarning: m.events.add,
	})
	m.stores = append(m.stores, st)
	m.t.Cleanup(func() { st.Close() })
	return st, b
}

func (m *machine) limiter(tu ratelimit.Tuning) *ratelimit.Limiter {
	m.t.Helper()
	st, _ := m.open()
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: tu, Hooks: ratelimit.Hooks{OnWarning: m.events.add}})
	must(m.t, err)
	return l
}

// events collects what a machine has warned of.
type events struct {
	mu   sync.Mutex
	list []error
}

func (e *events) add(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, err)
}

// kinds returns the events in the order of their first appearance.
func (e *events) kinds() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var kinds []string
	for _, err := range e.list {
		kind := "warning"
		if w, ok := errors.AsType[*ratelimit.StoreWarning](err); ok {
			kind = w.Event
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// upstream answers after 40 ms, and notes by its own clock when each request came.
type upstream struct {
	*httptest.Server
	mu    sync.Mutex
	times []time.Time
	by    map[string][]time.Time
}

func newUpstream(t testing.TB) *upstream {
	u := &upstream{by: map[string][]time.Time{}}
	u.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		now := time.Now()
		u.mu.Lock()
		u.times = append(u.times, now)
		u.by[r.URL.Path] = append(u.by[r.URL.Path], now)
		u.mu.Unlock()
		time.Sleep(40 * time.Millisecond)
	}))
	t.Cleanup(u.Close)
	return u
}

// most returns the largest number of requests in a rolling second.
func (u *upstream) most() (most int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, j := 0, 0; j < len(u.times); j++ {
		for u.times[j].Sub(u.times[i]) >= time.Second {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

// since returns how many requests of a path have come since a moment; "" for all.
func (u *upstream) since(at time.Time, path string) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	times := u.times
	if path != "" {
		times = u.by[path]
	}
	for _, got := range times {
		if got.After(at) {
			n++
		}
	}
	return n
}

// send sends requests with callers until ctx ends; those that are refused are tried again.
func send(ctx context.Context, wg *sync.WaitGroup, l *ratelimit.Limiter, url string, callers int) {
	client := &http.Client{Transport: &ratelimit.Transport{
		Base:    &http.Transport{MaxIdleConnsPerHost: callers},
		Limiter: l,
	}}
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if err != nil {
					panic(err)
				}
				if resp, err := client.Do(req); err == nil {
					resp.Body.Close()
				} else if ctx.Err() == nil {
					select {
					case <-time.After(50 * time.Millisecond):
					case <-ctx.Done():
					}
				}
			}
		})
	}
}

// calm leaves room below the upstream's 40 for what a busy machine holds up between a permit and its request's arrival.
func calm() ratelimit.Tuning {
	t := ratelimit.Default()
	t.RateBase, t.BucketCap, t.Ceiling = 30, 30, 34
	return t
}

// traffic is four machines that send to one upstream.
type traffic struct {
	server   *redistest.Server
	machines []*machine
	upstream *upstream
	ctx      context.Context
}

// during sends from four machines, whose wall clocks are an hour apart, lets do happen after a while, and waits until
// the whole rate flows again. limit is what the upstream may see in a second.
func during(t *testing.T, server *redistest.Server, limit int, do func(*traffic)) *traffic {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &traffic{server: server, upstream: newUpstream(t), ctx: ctx}
	var wg sync.WaitGroup
	stalled := false
	wg.Go(func() {
		for ctx.Err() == nil {
			start := time.Now()
			time.Sleep(10 * time.Millisecond)
			stalled = stalled || time.Since(start) > 100*time.Millisecond
		}
	})
	for i := range 4 {
		m := newMachine(t, server)
		m.ahead = time.Duration(i-1) * time.Hour
		w.machines = append(w.machines, m)
		send(ctx, &wg, m.limiter(calm()), fmt.Sprintf("%s/%d", w.upstream.URL, i), 4)
	}
	w.flows(t, "at first")
	do(w)
	w.flows(t, "in the end")
	cancel()
	wg.Wait()
	switch most := w.upstream.most(); {
	case most > limit && stalled:
		t.Logf("%d requests in a second at the upstream, but this machine stood still for a while", most)
	case most > limit:
		t.Errorf("%d requests in a second at the upstream", most)
	}
	return w
}

// flows waits until all machines get answers again, together and at more than half of the rate.
func (w *traffic) flows(t *testing.T, when string) {
	t.Helper()
	for range 60 {
		start := time.Now()
		time.Sleep(time.Second)
		all := w.upstream.since(start, "") >= 18
		for i := range w.machines {
			all = all && w.upstream.since(start, fmt.Sprintf("/%d", i)) > 0 && w.machines[i].stores[0].IsolationCause() == nil
		}
		if all {
			return
		}
	}
	t.Fatalf("%s the requests do not flow", when)
}

// told waits until all machines have warned of these events.
func (w *traffic) told(t *testing.T, want ...string) {
	t.Helper()
	for _, m := range w.machines {
		var got, missing []string
		for range 100 {
			got = m.events.kinds()
			missing = slices.DeleteFunc(slices.Clone(want), func(kind string) bool { return slices.Contains(got, kind) })
			if len(missing) == 0 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if len(missing) > 0 {
			t.Errorf("warned of %v, not of %v", got, missing)
		}
	}
}
