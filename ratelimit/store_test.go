package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/shared"
	"github.com/anivault/anivault/ratelimit/internal/testing/storetest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStores(t *testing.T) {
	overPlace := func(misbehave func(*storetest.Place)) func(*testing.T) storetest.World {
		return func(*testing.T) storetest.World {
			p := storetest.NewPlace()
			misbehave(p)
			return storetest.World{Open: func(t *testing.T) ratelimit.Store { return closed(t, p.Open(noWarning(t))) }}
		}
	}
	count := 0
	for name, world := range map[string]func(*testing.T) storetest.World{
		"memory": func(*testing.T) storetest.World {
			st := ratelimit.NewMemoryStore()
			return storetest.World{Open: func(*testing.T) ratelimit.Store { return st }}
		},
		"file": func(t *testing.T) storetest.World {
			dir := t.TempDir()
			return storetest.World{Open: func(t *testing.T) ratelimit.Store {
				st, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{Patience: time.Minute, OnWarning: noWarning(t)})
				must(t, err)
				return closed(t, st)
			}}
		},
		"backend":          overPlace(func(*storetest.Place) {}),
		"a coordinator":    overPlace(func(p *storetest.Place) { p.Coordinator = true }),
		"one that repeats": overPlace(func(p *storetest.Place) { p.ExtraCalls = func() int { return 2 } }),
		"one that delays": overPlace(func(p *storetest.Place) {
			p.Patience, p.Delay = time.Minute, func() time.Duration { return time.Millisecond }
		}),
		"one whose wall clock jumps": overPlace(func(p *storetest.Place) {
			p.DistortTime = func(at ratelimit.Instant) ratelimit.Instant {
				count++
				at.Wall = at.Wall.Add(time.Duration(count%3-1) * time.Hour)
				return at
			}
		}),
	} {
		t.Run(name, func(t *testing.T) { storetest.Test(t, world) })
	}
}

func closed(t *testing.T, st *shared.Store) *shared.Store {
	t.Cleanup(func() { st.Close() })
	return st
}

func noWarning(t *testing.T) func(error) {
	return func(err error) { t.Errorf("warned: %v", err) }
}

// events collects the kinds of the warnings of stores.
type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(err error) {
	w, ok := errors.AsType[*ratelimit.StoreWarning](err)
	if !ok {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, w.Event)
}

func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprint(e.list)
}

// work sends requests of 40 ms with callers on one limiter until ctx ends, and returns when each was let go.
func work(ctx context.Context, t *testing.T, l *ratelimit.Limiter, callers int) []time.Time {
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		all []time.Time
	)
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				p, err := l.Acquire(ctx)
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					continue
				}
				mu.Lock()
				all = append(all, time.Now())
				mu.Unlock()
				time.Sleep(40 * time.Millisecond)
				p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
			}
		})
	}
	wg.Wait()
	return all
}

func newLimiter(t *testing.T, st ratelimit.Store, tu ratelimit.Tuning) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: tu})
	must(t, err)
	return l
}

func TestASlowStoreNeverSilencesAProcessThatIsAlone(t *testing.T) {
	for _, c := range []struct {
		update  time.Duration
		callers int
		least   int // permits in 18 s
		events  string
	}{
		{130 * time.Millisecond, 1, 50, "[]"},
		{130 * time.Millisecond, 4, 120, "[]"},
		{300 * time.Millisecond, 1, 24, "[lock_slow]"}, // two updates and 40 ms each
		{300 * time.Millisecond, 2, 36, "[lock_slow]"},
		{300 * time.Millisecond, 4, 60, "[lock_slow]"},
	} {
		t.Run(fmt.Sprintf("%v, %d callers", c.update, c.callers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, told := storetest.NewPlace(), &events{}
				p.Delay = func() time.Duration { return c.update }
				l := newLimiter(t, p.Open(told.add), ratelimit.Default())
				ctx, cancel := context.WithTimeout(t.Context(), 18*time.Second)
				defer cancel()
				if got := len(work(ctx, t, l, c.callers)); got < c.least {
					t.Errorf("%d permits, want at least %d", got, c.least)
				}
				if told.String() != c.events {
					t.Errorf("warned of %v, want %s", told, c.events)
				}
			})
		})
	}
}

func TestMaxWaitIsKeptWithASlowStore(t *testing.T) {
	const update = 300 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		p := storetest.NewPlace()
		p.Delay = func() time.Duration { return update }
		tu := ratelimit.Default()
		tu.MaxWait, tu.Concurrency, tu.ConcurrencyTotal = 2*time.Second, 2, 2
		other := newLimiter(t, p.Open(func(error) {}), tu)
		for range 2 {
			_, err := other.Acquire(t.Context())
			must(t, err)
		}
		l := newLimiter(t, p.Open(func(error) {}), tu)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				start := time.Now()
				_, err := l.Acquire(t.Context())
				took := time.Since(start)
				if !errors.Is(err, ratelimit.ErrAcquireTimeout) || took > tu.MaxWait+update {
					t.Errorf("acquire = %v after %v", err, took)
				}
			})
		}
		wg.Wait()
	})
}

// A process that holds the lock for a while each second, as one in a throttled container does, costs the others the
// time in which it holds it.
func TestAHolderDelaysOthersOnlyWhileItHoldsTheLock(t *testing.T) {
	const seconds = 12
	run := func(t *testing.T, every, hold time.Duration) (permits int) {
		synctest.Test(t, func(t *testing.T) {
			p := storetest.NewPlace()
			ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
			defer cancel()
			var (
				wg  sync.WaitGroup
				mu  sync.Mutex
				all []time.Time
			)
			for range 3 {
				l := newLimiter(t, p.Open(func(error) {}), ratelimit.Default())
				wg.Go(func() {
					times := work(ctx, t, l, 4)
					mu.Lock()
					defer mu.Unlock()
					all = append(all, times...)
				})
			}
			holder := p.Open(func(error) {})
			wg.Go(func() {
				for hold > 0 && ctx.Err() == nil {
					time.Sleep(every - hold)
					_ = holder.Update(ctx, func(ratelimit.Instant, *ratelimit.Snapshot) error {
						time.Sleep(hold) // as if it was stopped here
						return nil
					})
				}
			})
			wg.Wait()
			permits = len(all)
			wantCeiling(t, all, ratelimit.Default())
		})
		return permits
	}
	calm := run(t, time.Second, 0)
	for _, c := range []struct {
		every, hold time.Duration
		least       float64 // of the calm rate
	}{
		{5 * time.Second, 300 * time.Millisecond, 0.6 * 0.94},
		{2 * time.Second, 300 * time.Millisecond, 0.6 * 0.85},
		{time.Second, 300 * time.Millisecond, 0.6 * 0.7},
		{5 * time.Second, 2 * time.Second, 0.6 * 0.6},
	} {
		t.Run(fmt.Sprintf("%v every %v", c.hold, c.every), func(t *testing.T) {
			got := run(t, c.every, c.hold)
			t.Logf("%.1f/s of %.1f/s", float64(got)/seconds, float64(calm)/seconds)
			if float64(got) < c.least*float64(calm) {
				t.Errorf("%d permits of %d, want at least %.0f %%", got, calm, 100*c.least)
			}
		})
	}
}

// wantCeiling checks that no rolling window has seen more permits than the ceiling.
func wantCeiling(t *testing.T, all []time.Time, tu ratelimit.Tuning) {
	t.Helper()
	slices.SortFunc(all, time.Time.Compare)
	for i, j := 0, 0; j < len(all); j++ {
		for all[j].Sub(all[i]) >= tu.CeilingWindow {
			i++
		}
		if j-i+1 > tu.Ceiling {
			t.Fatalf("%d permits within %v, the ceiling is %d", j-i+1, tu.CeilingWindow, tu.Ceiling)
		}
	}
}

func TestCallersThatWaitAtOneMomentShareOneUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := storetest.NewPlace()
		st, other := p.Open(noWarning(t)), p.Open(noWarning(t))
		nothing := func(ratelimit.Instant, *ratelimit.Snapshot) error { return nil }
		must(t, st.Update(t.Context(), nothing))
		must(t, other.Update(t.Context(), nothing))
		before := p.Writes.Load()
		var wg sync.WaitGroup
		wg.Go(func() {
			must(t, other.Update(t.Context(), func(ratelimit.Instant, *ratelimit.Snapshot) error {
				time.Sleep(100 * time.Millisecond)
				return nil
			}))
		})
		synctest.Wait()
		var mu sync.Mutex
		var order []int
		for i := range 8 {
			wg.Go(func() {
				must(t, st.Update(t.Context(), func(ratelimit.Instant, *ratelimit.Snapshot) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
					return nil
				}))
			})
			synctest.Wait()
		}
		wg.Wait()
		// The first of the eight waits for the other process, the seven after it for the first.
		if got := p.Writes.Load() - before; got != 3 {
			t.Errorf("%d writes, want 3", got)
		}
		if !slices.IsSorted(order) {
			t.Errorf("in the order %v", order)
		}
	})
}

func TestACancelledCallerLeavesTheOthersUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := storetest.NewPlace()
		st := p.Open(noWarning(t))
		p.Delay = func() time.Duration { return 100 * time.Millisecond }
		nothing := func(ratelimit.Instant, *ratelimit.Snapshot) error { return nil }
		var wg sync.WaitGroup
		wg.Go(func() { must(t, st.Update(t.Context(), nothing)) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if err := st.Update(ctx, nothing); !errors.Is(err, context.Canceled) {
				t.Errorf("update = %v", err)
			}
		})
		wg.Go(func() { must(t, st.Update(t.Context(), nothing)) })
		synctest.Wait()
		cancel()
		wg.Wait()
	})
}

func TestAProcessContinuesAloneIfItsBackendFails(t *testing.T) {
	for name, break_ := range map[string]func(*storetest.Place, *error){
		"before it has done anything": func(p *storetest.Place, err *error) { p.FailBefore(func() error { return *err }) },
		"after it has written":        func(p *storetest.Place, err *error) { p.FailAfter = func() error { return *err } },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, told := storetest.NewPlace(), &events{}
				var trouble error
				break_(p, &trouble)
				st := p.Open(told.add)
				l := newLimiter(t, st, ratelimit.Default())
				acquire := func() {
					t.Helper()
					permit, err := l.Acquire(t.Context())
					must(t, err)
					permit.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
				}
				acquire()
				trouble = errors.New("no connection")
				for range 3 {
					acquire()
				}
				if !errors.Is(st.IsolationCause(), trouble) || l.Tuning().RateBase != 17 {
					t.Errorf("apart: %v, at %v requests a second", st.IsolationCause(), l.Tuning().RateBase)
				}
				p1, err := l.Acquire(t.Context())
				must(t, err)
				p1.Report(ratelimit.Event{
					Outcome: ratelimit.Throttled, Status: 429, RetryAfter: ratelimit.Wait{Duration: 100 * time.Second, Present: true},
				})
				trouble = nil
				time.Sleep(time.Second)
				got, err := newLimiter(t, p.Open(told.add), ratelimit.Default()).Status(t.Context())
				must(t, err)
				if !got.PauseUntil.IsZero() {
					t.Error("the pause is known before anybody could know it")
				}
				must(t, st.Update(t.Context(), func(ratelimit.Instant, *ratelimit.Snapshot) error { return nil }))
				if st.IsolationCause() != nil {
					t.Errorf("still apart: %v", st.IsolationCause())
				}
				if got, err = l.Status(t.Context()); err != nil || time.Until(got.PauseUntil) < 98*time.Second || got.Running != 0 {
					t.Errorf("pause until %v, %d running, %v", got.PauseUntil, got.Running, err)
				}
				if told.String() != "[state_unavailable]" {
					t.Errorf("warned of %v", told)
				}
			})
		})
	}
}

// Where each question costs a round trip, a store asks for longer naps and wakes those whose turn has come.
func TestAStoreMayAskForNapsAndWake(t *testing.T) {
	for _, c := range []struct {
		wakes bool
		want  time.Duration // from a slot's end to the next permit
	}{{false, 245 * time.Millisecond}, {true, 0}} {
		t.Run(fmt.Sprintf("wakes %t", c.wakes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := storetest.NewPlace()
				p.MinAskInterval = 250 * time.Millisecond
				tu := ratelimit.Default()
				tu.Concurrency, tu.ConcurrencyTotal = 2, 2
				a, b := newLimiter(t, p.Open(noWarning(t)), tu), newLimiter(t, p.Open(noWarning(t)), tu)
				var held []*ratelimit.Permit
				for range 2 {
					permit, err := a.Acquire(t.Context())
					must(t, err)
					held = append(held, permit)
				}
				var wg sync.WaitGroup
				var mu sync.Mutex
				var got []time.Time
				for range 2 {
					wg.Go(func() {
						permit, err := b.Acquire(t.Context())
						must(t, err)
						mu.Lock()
						got = append(got, time.Now())
						mu.Unlock()
						permit.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
					})
				}
				time.Sleep(5 * time.Millisecond)
				freed := time.Now()
				for _, permit := range held {
					permit.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
				}
				if c.wakes {
					p.WakeAll()
				}
				wg.Wait()
				for _, at := range got {
					if at.Sub(freed) != c.want {
						t.Errorf("after %v, want %v", at.Sub(freed), c.want)
					}
				}
			})
		})
	}
}
