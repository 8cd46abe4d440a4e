// Package storetest has the tests that every [ratelimit.Store] must pass, wherever it keeps its state, and [Place], a
// backend that fails, delays, repeats and returns wrong times.
package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

// World is one shared state, empty at first. Open returns another process's store on it, which the suite closes.
type World struct {
	Open func(t *testing.T) ratelimit.Store
}

// Test runs the suite. Each test gets a new world.
func Test(t *testing.T, world func(t *testing.T) World) {
	for name, test := range map[string]func(*testing.T, World){
		"an error keeps nothing":                         errorKeepsNothing,
		"a question writes nothing":                      readWritesNothing,
		"a panic is the caller's and frees the state":    panicFreesTheState,
		"a cancelled update does nothing":                cancelledUpdate,
		"no update is lost, none is made twice":          noUpdateIsLost,
		"failures do not touch those beside them":        failuresAmongOthers,
		"what one process meets holds for all":           sharedPause,
		"slots are shared and come back":                 sharedSlots,
		"time does not run backwards":                    timeRunsForward,
		"a closed store leaves nothing behind":           closedLimiterFreesEverything,
		"operators reach everybody":                      operatorsReachEverybody,
		"a budget is one for all, to the last request":   sharedBudget,
		"accounts, their slots, keys and quotas are one": sharedAccounts,
	} {
		t.Run(name, func(t *testing.T) { test(t, world(t)) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tuning returns a tuning that permits as many requests at once as a test wants.
func tuning() ratelimit.Tuning {
	t := ratelimit.Default()
	t.RateBase, t.BucketCap, t.Ceiling = 400, 400, 400
	t.Concurrency, t.ConcurrencyTotal = 128, 256
	return t
}

// tryGrant gets a permit directly from the snapshot and returns its number.
func tryGrant(at ratelimit.Instant, s *ratelimit.Snapshot, tu *ratelimit.Tuning) uint64 {
	g := s.TryGrant(at, machine.Ask{Owner: "0123456789abcdef", Tuning: tu, MaxWait: time.Hour})
	return g.Pass.Number
}

func countPermits(t *testing.T, st ratelimit.Store) int {
	t.Helper()
	got, err := ratelimit.Operator{Store: st}.Status(t.Context(), tuning())
	must(t, err)
	return got.Running
}

func addPermit(ctx context.Context, st ratelimit.Store) (n uint64, err error) {
	tu := tuning()
	err = st.Update(ctx, func(at ratelimit.Instant, s *ratelimit.Snapshot) error {
		n = tryGrant(at, s, &tu)
		return nil
	})
	return n, err
}

func errorKeepsNothing(t *testing.T, w World) {
	st := w.Open(t)
	_, err := addPermit(t.Context(), st)
	must(t, err)
	boom, tu := errors.New("boom"), tuning()
	err = st.Update(t.Context(), func(at ratelimit.Instant, s *ratelimit.Snapshot) error {
		c := s.Clone()
		tryGrant(at, &c, &tu)
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("update = %v, want boom", err)
	}
	if got := countPermits(t, st); got != 1 {
		t.Errorf("%d marks, want 1", got)
	}
}

func readWritesNothing(t *testing.T, w World) {
	st, other := w.Open(t), w.Open(t)
	_, err := addPermit(t.Context(), st)
	must(t, err)
	for range 3 {
		st, err := ratelimit.Operator{Store: other}.Status(t.Context(), tuning())
		must(t, err)
		if st.Running != 1 || len(st.Processes) != 1 {
			t.Errorf("%d running, %d processes; want 1, 1", st.Running, len(st.Processes))
		}
	}
	if got := countPermits(t, st); got != 1 {
		t.Errorf("%d marks, want 1", got)
	}
}

func panicFreesTheState(t *testing.T, w World) {
	st, other := w.Open(t), w.Open(t)
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recovered %v, want boom", v)
			}
		}()
		_ = st.Update(t.Context(), func(ratelimit.Instant, *ratelimit.Snapshot) error { panic("boom") })
	}()
	for _, st := range []ratelimit.Store{st, other} {
		_, err := addPermit(t.Context(), st)
		must(t, err)
	}
}

func cancelledUpdate(t *testing.T, w World) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := w.Open(t).Update(ctx, func(ratelimit.Instant, *ratelimit.Snapshot) error {
		t.Error("called")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("update = %v", err)
	}
}

func noUpdateIsLost(t *testing.T, w World) {
	const stores, callers, each = 3, 4, 10
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = map[uint64]int{}
	)
	for range stores {
		st := w.Open(t)
		for range callers {
			wg.Go(func() {
				for range each {
					n, err := addPermit(t.Context(), st)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					seen[n]++
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	first := slices.Min(slices.Collect(maps.Keys(seen)))
	want := map[uint64]int{}
	for n := range uint64(stores * callers * each) {
		want[first+n] = 1
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("numbers given (-want +got):\n%s", diff)
	}
}

func failuresAmongOthers(t *testing.T, w World) {
	st := w.Open(t)
	boom := errors.New("boom")
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			switch i % 3 {
			case 0:
				if _, err := addPermit(t.Context(), st); err != nil {
					t.Error(err)
				}
			case 1:
				err := st.Update(t.Context(), func(ratelimit.Instant, *ratelimit.Snapshot) error { return boom })
				if !errors.Is(err, boom) {
					t.Errorf("update = %v, want boom", err)
				}
			default:
				defer func() {
					if v := recover(); v != "boom" {
						t.Errorf("recovered %v, want boom", v)
					}
				}()
				_ = st.Update(t.Context(), func(ratelimit.Instant, *ratelimit.Snapshot) error { panic("boom") })
			}
		})
	}
	wg.Wait()
	if got := countPermits(t, st); got != 10 {
		t.Errorf("%d marks, want 10", got)
	}
}

func limiter(t *testing.T, w World, tu ratelimit.Tuning) (*ratelimit.Limiter, ratelimit.Store) {
	t.Helper()
	st := w.Open(t)
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: tu, Rand: func() float64 { return 0.5 }})
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, st
}

func sharedPause(t *testing.T, w World) {
	a, _ := limiter(t, w, tuning())
	b, _ := limiter(t, w, tuning())
	p, err := a.Acquire(t.Context())
	must(t, err)
	p.Report(ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: ratelimit.Wait{
		Duration: time.Hour,
		Present:  true,
	}})
	if _, err := b.Acquire(t.Context()); !isBlocked(err) {
		t.Errorf("acquire = %v, want blocked", err)
	}
}

func sharedSlots(t *testing.T, w World) {
	tu := tuning()
	tu.Concurrency, tu.ConcurrencyTotal = 2, 2
	a, _ := limiter(t, w, tu)
	b, _ := limiter(t, w, tu)
	p, err := a.Acquire(t.Context())
	must(t, err)
	q, err := b.Acquire(t.Context())
	must(t, err)
	if _, err := b.Acquire(ratelimit.With(t.Context(), ratelimit.Request{MaxWait: time.Nanosecond})); !errors.Is(err,
		ratelimit.ErrAcquireTimeout) {
		t.Errorf("acquire = %v, want a timeout", err)
	}
	p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200}) // a second Report has no effect
	r, err := b.Acquire(t.Context())
	must(t, err)
	q.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	r.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	if st, err := a.Status(t.Context()); err != nil || st.Running != 0 || st.Waiting != 0 {
		t.Errorf("%d running, %d waiting, %v", st.Running, st.Waiting, err)
	}
}

func timeRunsForward(t *testing.T, w World) {
	stores := []ratelimit.Store{w.Open(t), w.Open(t)}
	var last, now ratelimit.Instant
	for i := range 50 {
		err := stores[i%2].Update(t.Context(), func(at ratelimit.Instant, _ *ratelimit.Snapshot) error {
			now = at // the last call counts
			return nil
		})
		must(t, err)
		if now.Boot < last.Boot || now.BootID == "" || i > 0 && now.BootID != last.BootID {
			t.Errorf("%+v after %+v", now, last)
		}
		last = now
	}
}

func closedLimiterFreesEverything(t *testing.T, w World) {
	l, st := limiter(t, w, tuning())
	other, _ := limiter(t, w, tuning())
	_, err := l.Reserve(t.Context(), 0)
	must(t, err)
	p, err := l.Acquire(t.Context())
	must(t, err)
	p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	must(t, l.Close())
	if got, err := other.Status(t.Context()); err != nil || len(got.Processes) != 0 {
		t.Errorf("%d processes take part, %v; want none", len(got.Processes), err)
	}
	if c, ok := st.(interface{ Close() error }); ok {
		must(t, c.Close())
		must(t, c.Close())
		if _, err := addPermit(t.Context(), st); !errors.Is(err, ratelimit.ErrStoreClosed) {
			t.Errorf("update of a closed store = %v", err)
		}
	}
}

func operatorsReachEverybody(t *testing.T, w World) {
	l, _ := limiter(t, w, tuning())
	st := w.Open(t)
	must(t, (ratelimit.Operator{Store: st}).Tune(t.Context(), map[string]string{"rate_base": "7"}, time.Hour))
	p, err := l.Acquire(t.Context())
	must(t, err)
	if got := l.Tuning().RateBase; got != 7 {
		t.Errorf("rate_base %v, want 7", got)
	}
	_, _, err = (ratelimit.Operator{Store: st}).ForceCacheOnly(t.Context(), 0)
	must(t, err)
	if _, err := l.Acquire(t.Context()); !isBlocked(err) {
		t.Errorf("acquire = %v, want blocked", err)
	}
	p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	if _, moved, err := (ratelimit.Operator{Store: st}).Resume(t.Context()); err != nil || !moved {
		t.Errorf("resumed: %t, %v", moved, err)
	}
}

func sharedBudget(t *testing.T, w World) {
	tu := tuning()
	tu.Budget = ratelimit.Budget{Requests: 5, Period: 24 * time.Hour}
	a, _ := limiter(t, w, tu)
	b, _ := limiter(t, w, tu)
	r, err := a.Reserve(t.Context(), 3)
	must(t, err)
	if _, err := b.Reserve(t.Context(), 3); !errors.Is(err, ratelimit.ErrBudget) {
		t.Errorf("reserve = %v, want no budget", err)
	}
	r.Release()
	r, err = b.Reserve(t.Context(), 5)
	must(t, err)
	ctx := ratelimit.With(t.Context(), ratelimit.Request{Reservation: r})
	for range 5 {
		p, err := b.Acquire(ctx)
		must(t, err)
		p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	}
	if _, err := a.Acquire(t.Context()); !errors.Is(err, ratelimit.ErrBudget) {
		t.Errorf("acquire = %v, want no budget", err)
	}
}

func sharedAccounts(t *testing.T, w World) {
	keys := []ratelimit.Fingerprint{ratelimit.FingerprintOf("one"), ratelimit.FingerprintOf("two")}
	open := func() (*ratelimit.Limiter, ratelimit.Store) {
		st := w.Open(t)
		l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: tuning(), Accounts: []ratelimit.Account{
			{Name: "first", Priority: 1, Keys: keys[:1], Slots: 1, Quota: ratelimit.Budget{Requests: 3, Period: time.Hour}},
			{Name: "second", Priority: 2, Keys: keys[1:]},
		}})
		must(t, err)
		t.Cleanup(func() { must(t, l.Close()) })
		return l, st
	}
	a, st := open()
	b, _ := open()
	take := func(l *ratelimit.Limiter, want string) *ratelimit.Permit {
		t.Helper()
		p, err := l.Acquire(t.Context())
		must(t, err)
		if got := p.Choice().Account; got != want {
			t.Errorf("through %s, want %s", got, want)
		}
		return p
	}
	ok := ratelimit.Event{Outcome: ratelimit.OK, Status: 200}
	take(a, "first").Report(ok)
	held := take(a, "first")
	take(b, "second").Report(ok) // its only slot is taken by another process
	held.Report(ok)
	take(b, "first").Report(ok)
	take(a, "second").Report(ok)
	take(b, "second").Report(ratelimit.Event{Outcome: ratelimit.Client, Status: 401, Key: ratelimit.KeyRefused})
	if _, err := a.Acquire(t.Context()); err == nil {
		t.Error("a request without an account")
	}
	must(t, (ratelimit.Operator{Store: st}).EnableAccount(t.Context(), "second", true, 0))
	take(a, "second").Report(ok)
	got, err := ratelimit.Operator{Store: st}.Status(t.Context(), tuning())
	must(t, err)
	if len(got.Accounts) != 2 || got.Accounts[0].QuotaUsed != 3 ||
		got.Accounts[1].Keys[0].Standing != ratelimit.StandingProven {
		t.Errorf("%+v", got.Accounts)
	}
}

func isBlocked(err error) bool {
	_, ok := errors.AsType[*ratelimit.BlockedError](err)
	return ok
}
