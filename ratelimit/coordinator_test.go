package ratelimit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/shared"
	"github.com/anivault/anivault/ratelimit/internal/testing/storetest"
)

// coordinated returns a place that is a coordinator, where each question is dear.
func coordinated() *storetest.Place {
	p := storetest.NewPlace()
	p.Coordinator, p.MinAskInterval = true, 250*time.Millisecond
	return p
}

var fine = ratelimit.Event{Outcome: ratelimit.OK, Status: 200}

// The request at the head of the line is woken on its machine when a slot comes free on another; the others sleep on.
func TestTheNextInLineIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := coordinated()
		tu := ratelimit.Default()
		tu.Concurrency, tu.ConcurrencyTotal = 1, 1
		holder := newLimiter(t, p.Open(noWarning(t)), tu)
		permit, err := holder.Acquire(t.Context())
		must(t, err)
		var wg sync.WaitGroup
		var order []int
		freed := time.Now()
		for i := range 3 {
			l := newLimiter(t, p.Open(noWarning(t)), tu)
			wg.Go(func() {
				permit, err := l.Acquire(t.Context())
				must(t, err)
				order = append(order, i) // one at a time
				if took := time.Since(freed); took > 10*time.Millisecond {
					t.Errorf("%d waited %v after a slot was free", i, took)
				}
				time.Sleep(20 * time.Millisecond)
				freed = time.Now()
				permit.Report(fine)
			})
			synctest.Wait()
		}
		time.Sleep(10 * time.Millisecond)
		asked := p.Exchanges.Load()
		freed = time.Now()
		permit.Report(fine)
		wg.Wait()
		for i, who := range order {
			if i != who {
				t.Errorf("served in the order %v", order)
				break
			}
		}
		if n := p.Exchanges.Load() - asked; n > 12 {
			t.Errorf("%d exchanges for three permits", n)
		}
	})
}

// The coordinator counts time in its own way and the machine in another, whose wall clock is an hour off: going alone
// is still no reboot. Permits that are out keep their slots, there and back, and a pause keeps its end.
func TestPermitsInUseSurviveIsolation(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p, told := coordinated(), &events{}
		p.MachineClock = func() ratelimit.Instant {
			at := p.Now()
			at.Boot, at.BootID, at.Wall = at.Boot+time.Minute, "the machine's own", at.Wall.Add(time.Hour)
			return at
		}
		alone, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{OnWarning: noWarning(t), Now: p.MachineClock})
		must(t, err)
		p.Fallback = alone
		l := newLimiter(t, closed(t, p.Open(told.add)), ratelimit.Default())
		var held []*ratelimit.Permit
		for range 2 {
			permit, err := l.Acquire(t.Context())
			must(t, err)
			held = append(held, permit)
		}
		pause := ratelimit.Wait{Duration: 20 * time.Second, Present: true}
		held[0].Report(ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: pause})
		begun := time.Now()
		time.Sleep(5 * time.Second)
		p.FailBefore(func() error { return errors.New("gone") })
		permit, err := l.Acquire(t.Context())
		must(t, err)
		if took := time.Since(begun); took < 20*time.Second || took > 23*time.Second {
			t.Errorf("sent after %v, want after the pause of 20 s", took)
		}
		permit.Report(fine)
		if st, err := l.Status(t.Context()); err != nil || st.Running != 1 {
			t.Errorf("alone %d permits are out, %v; want the one that is", st.Running, err)
		}
		p.FailBefore(nil)
		time.Sleep(2 * time.Second)
		permit, err = l.Acquire(t.Context())
		must(t, err)
		permit.Report(fine)
		if st, err := l.Status(t.Context()); err != nil || st.Running != 1 {
			t.Errorf("back again %d permits are out, %v; want the one that is", st.Running, err)
		}
		held[1].Report(fine)
		if st, err := l.Status(t.Context()); err != nil || st.Running != 0 {
			t.Errorf("in the end %d permits are out, %v", st.Running, err)
		}
	})
}

// Without the coordinator a machine continues in its own file, and its processes share its part of everything; then the
// limits are shared again after one ceiling window of silence.
func TestAMachineContinuesAloneAndRejoins(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p, told := coordinated(), &events{}
		open := func() *shared.Store {
			alone, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{Now: p.Now, OnWarning: noWarning(t)})
			must(t, err)
			p.Fallback = alone
			return closed(t, p.Open(told.add))
		}
		tu := ratelimit.Default()
		tu.Budget = ratelimit.Budget{Requests: 1000, Period: 24 * time.Hour}
		own := open()
		here, sibling := newLimiter(t, own, tu), newLimiter(t, open(), tu)
		p.Fallback = nil
		far := newLimiter(t, p.Open(told.add), tu)
		for _, l := range []*ratelimit.Limiter{here, sibling, far} {
			permit, err := l.Acquire(t.Context())
			must(t, err)
			permit.Report(fine)
		}
		time.Sleep(3 * time.Second)

		trouble := errors.New("gone")
		p.FailBefore(func() error { return trouble })
		held, err := here.Acquire(t.Context())
		must(t, err)
		alone, err := here.Status(t.Context())
		if err != nil || alone.Ceiling != tu.Ceiling/3 || alone.BudgetUsed != 3 {
			t.Errorf("ceiling %d of %d for three machines, %d of the budget used, %v", alone.Ceiling, tu.Ceiling,
				alone.BudgetUsed, err)
		}
		sees, err := sibling.Status(t.Context())
		if err != nil || sees.Running != 1 {
			t.Errorf("the sibling sees %d permits of the machine, %v", sees.Running, err)
		}
		pause := ratelimit.Wait{Duration: 20 * time.Second, Present: true}
		held.Report(ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: pause})
		if sees, err = sibling.Status(t.Context()); err != nil || sees.PauseUntil.IsZero() {
			t.Errorf("the sibling has no pause, %v", err)
		}

		time.Sleep(10*time.Second + 100*time.Millisecond) // the sibling does not look for the coordinator just now
		p.FailBefore(nil)
		must(t, own.Update(t.Context(), func(ratelimit.Instant, *ratelimit.Snapshot) error { return nil }))
		sees, err = far.Status(t.Context())
		if left := time.Until(sees.PauseUntil); err != nil || left < 9*time.Second || left > 11*time.Second {
			t.Errorf("the far machine pauses for %v, %v", left, err)
		}
		if sees.BudgetUsed != 4 {
			t.Errorf("%d of the budget used, want 4", sees.BudgetUsed)
		}
		if got := told.String(); got != "[coordinator_lost coordinator_lost coordinator_back]" {
			t.Errorf("warned of %v", got)
		}
	})
}

// What was left of the budget when the coordinator went is divided between the machines, as all limits are.
func TestIsolatedMachinesShareTheRestOfTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, told := coordinated(), &events{}
		tu := ratelimit.Default()
		tu.Budget = ratelimit.Budget{Requests: 20, Period: 4 * time.Hour}
		here, far := newLimiter(t, p.Open(told.add), tu), newLimiter(t, p.Open(told.add), tu)
		for _, l := range []*ratelimit.Limiter{here, here, far, far, here} {
			permit, err := l.Acquire(t.Context())
			must(t, err)
			permit.Report(fine)
		}
		time.Sleep(3 * time.Second)
		p.FailBefore(func() error { return errors.New("gone") })
		for range 7 {
			for _, l := range []*ratelimit.Limiter{here, far} {
				res, err := l.Reserve(t.Context(), 1)
				if err != nil {
					t.Fatal(err)
				}
				permit, err := l.Acquire(ratelimit.With(t.Context(), ratelimit.Request{Reservation: res}))
				must(t, err)
				permit.Report(fine)
				res.Release()
			}
		}
		for _, l := range []*ratelimit.Limiter{here, far} {
			if _, err := l.Reserve(t.Context(), 1); !errors.Is(err, ratelimit.ErrBudget) {
				t.Errorf("the eighth of fifteen that were left for two machines: %v", err)
			}
		}
		time.Sleep(4 * time.Hour)
		for _, l := range []*ratelimit.Limiter{here, far} {
			if _, err := l.Reserve(t.Context(), 11); !errors.Is(err, ratelimit.ErrBudget) {
				t.Errorf("the eleventh of twenty in the next period: %v", err)
			}
			res, err := l.Reserve(t.Context(), 10)
			must(t, err)
			res.Release()
		}
		p.FailBefore(nil)
	})
}

// Every loss of the coordinator and every return is a warning, even if they follow each other within a minute.
func TestEachLossOfTheCoordinatorIsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, told := coordinated(), &events{}
		l := newLimiter(t, p.Open(told.add), ratelimit.Default())
		acquire := func() {
			t.Helper()
			permit, err := l.Acquire(t.Context())
			must(t, err)
			permit.Report(fine)
			time.Sleep(3 * time.Second)
		}
		acquire()
		for range 2 {
			p.FailBefore(func() error { return errors.New("gone") })
			acquire()
			acquire()
			p.FailBefore(nil)
			acquire()
		}
		if got := told.String(); got != "[coordinator_lost coordinator_back coordinator_lost coordinator_back]" {
			t.Errorf("warned of %v", got)
		}
	})
}

// A process without a network blocks itself as the shared state would block everybody, and probes with one request at a
// time. The others hear nothing of it.
func TestNetworkErrorsStayInTheirProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := coordinated()
		tu := ratelimit.Default()
		tu.MaxWait = time.Minute
		var warned []error
		st := p.Open(noWarning(t))
		l, err := ratelimit.New(ratelimit.Config{
			Store: st, Tuning: tu, Rand: func() float64 { return 0 },
			Hooks: ratelimit.Hooks{OnWarning: func(err error) { warned = append(warned, err) }},
		})
		must(t, err)
		other := newLimiter(t, p.Open(noWarning(t)), tu)
		fail := func() time.Duration {
			start := time.Now()
			permit, err := l.Acquire(t.Context())
			must(t, err)
			permit.Report(ratelimit.Event{Outcome: ratelimit.Network})
			return time.Since(start)
		}
		for range tu.NFailures {
			fail()
		}
		for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} { // sleep_min, doubled
			if got := fail(); got.Round(time.Second) != want {
				t.Errorf("blocked for %v, want %v", got, want)
			}
		}
		if len(warned) != 1 {
			t.Errorf("warned of %v", warned)
		}
		// One probe at a time; its answer lets the others go.
		time.Sleep(16 * time.Second)
		probe, err := l.Acquire(t.Context())
		must(t, err)
		went := make(chan error, 1)
		go func() {
			permit, err := l.Acquire(t.Context())
			if err == nil {
				permit.Report(fine)
			}
			went <- err
		}()
		time.Sleep(5 * time.Second)
		if len(went) > 0 {
			t.Error("a second request beside the probe")
		}
		probe.Report(fine)
		must(t, <-went)

		got, err := other.Status(t.Context())
		if err != nil || got.State != ratelimit.Normal || got.Counts.Network != 0 || got.Failures != 0 {
			t.Errorf("the others see %s, %d network errors, %v", got.State, got.Counts.Network, err)
		}
		tu.MaxWait = time.Second
		hasty, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: tu})
		must(t, err)
		for range tu.NFailures {
			permit, err := hasty.Acquire(t.Context())
			must(t, err)
			permit.Report(ratelimit.Event{Outcome: ratelimit.Network})
		}
		_, err = hasty.Acquire(t.Context())
		if b, ok := errors.AsType[*ratelimit.BlockedError](err); !ok || b.Cause != ratelimit.ReasonConsecutiveFailures {
			t.Errorf("acquire = %v, want blocked", err)
		}
	})
}

// A permit that comes a quarter of a second after it was decided on is given back: the others count it no more.
func TestALatePermitIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := coordinated()
		l := newLimiter(t, p.Open(func(error) {}), ratelimit.Default())
		slow := true
		p.FailAfter = func() error {
			if slow {
				slow = false
				time.Sleep(300 * time.Millisecond)
			}
			return nil
		}
		permit, err := l.Acquire(t.Context())
		must(t, err)
		if st, err := l.Status(t.Context()); err != nil || st.Running != 1 || st.Granted != 2 {
			t.Errorf("%d running, %d granted, %v; want the second of two", st.Running, st.Granted, err)
		}
		permit.Report(fine)
	})
}

// Whoever can write to the coordinator can't make a process send more than its own ceiling.
func TestAProcessKeepsItsOwnCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := coordinated()
		tu := ratelimit.Default()
		tu.MaxWait = 10 * time.Second
		l := newLimiter(t, p.Open(func(error) {}), tu)
		start, n := time.Now(), 0
		for time.Since(start) < 950*time.Millisecond {
			p.Put(nil) // a fresh state, with a full bucket
			permit, err := l.Acquire(t.Context())
			must(t, err)
			if time.Since(start) < 950*time.Millisecond {
				n++
			}
			permit.Report(fine)
		}
		if n > tu.Ceiling {
			t.Errorf("%d permits in a second", n)
		}
	})
}

// A permit without a known end lives for as long as it is held, and ends soon after its limiter.
func TestLeasesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := coordinated()
		l := newLimiter(t, p.Open(noWarning(t)), ratelimit.Default())
		permit, err := l.Acquire(t.Context())
		must(t, err)
		time.Sleep(25 * time.Minute)
		if st, err := l.Status(t.Context()); err != nil || st.Running != 1 {
			t.Errorf("%d running after 25 minutes, %v", st.Running, err)
		}
		permit.Report(fine)
		if st, err := l.Status(t.Context()); err != nil || st.Running != 0 {
			t.Errorf("%d running in the end, %v", st.Running, err)
		}
		_, err = l.Acquire(t.Context()) // forgotten
		must(t, err)
		time.Sleep(80 * time.Minute)
		if st, err := l.Status(t.Context()); err != nil || st.Running != 0 {
			t.Errorf("%d running though forgotten, %v", st.Running, err)
		}
	})
}

// However often the coordinator is lost, and whenever each machine finds it again, all of them together send no more
// than the ceiling in any second.
func TestTheCeilingHoldsWhileACoordinatorComesAndGoes(t *testing.T) {
	const ms = time.Millisecond
	for _, outage := range []struct {
		name                          string
		gone, there, timeOut, latency time.Duration
		idle                          bool // one machine asks nothing meanwhile
	}{
		{"it is killed", 3 * time.Second, 6 * time.Second, 0, 2 * ms, false},
		{"it is killed again and again", 375 * ms, 1125 * ms, 0, 2 * ms, false},
		{"it is gone for moments", 100 * ms, 2300 * ms, 0, 5 * ms, false},
		{"it is silent", 5 * time.Second, 4 * time.Second, 250 * ms, 2 * ms, false},
		{"it is silent again and again", 700 * ms, 1600 * ms, 250 * ms, 5 * ms, false},
		{"not all miss it", 900 * ms, 2400 * ms, 250 * ms, 2 * ms, true},
		{"not all miss it for long", 3 * time.Second, 3 * time.Second, 250 * ms, 2 * ms, true},
	} {
		t.Run(outage.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := coordinated()
				p.ProbeInterval, p.FailureDelay = 250*ms, outage.timeOut
				p.Delay = func() time.Duration { return outage.latency }
				var gone, rest atomic.Bool
				p.FailBefore(func() error {
					if !gone.Load() {
						return nil
					}
					return errors.New("gone")
				})
				tu := ratelimit.Default()
				tu.RateBase, tu.BucketCap, tu.Ceiling = 30, 30, 34
				ctx, cancel := context.WithCancel(t.Context())
				var mu sync.Mutex
				var times []time.Time
				var wg sync.WaitGroup
				for i := range 4 {
					if i%2 > 0 { // a file of its machine; else memory
						opts := ratelimit.FileOptions{Now: p.Now, OnWarning: noWarning(t)}
						alone, err := ratelimit.OpenFileStore(t.TempDir(), opts)
						must(t, err)
						p.Fallback = alone
					}
					l := newLimiter(t, closed(t, p.Open(func(error) {})), tu)
					p.Fallback = nil
					for range 4 {
						wg.Go(func() {
							for {
								for outage.idle && i == 0 && rest.Load() {
									time.Sleep(ms)
								}
								permit, err := l.Acquire(ctx)
								if ctx.Err() != nil {
									return
								}
								if err != nil {
									time.Sleep(50 * time.Millisecond)
									continue
								}
								mu.Lock()
								times = append(times, time.Now())
								mu.Unlock()
								time.Sleep(40 * time.Millisecond)
								permit.Report(fine)
							}
						})
					}
				}
				time.Sleep(3 * time.Second)
				for range 20 {
					rest.Store(true)
					time.Sleep(1100 * ms) // its requests end
					gone.Store(true)
					time.Sleep(outage.gone + rand.N(100*ms))
					gone.Store(false)
					rest.Store(false)
					time.Sleep(outage.there - 1100*ms + rand.N(100*ms))
				}
				cancel()
				wg.Wait()
				most := 0
				for i, j := 0, 0; j < len(times); j++ {
					for times[j].Sub(times[i]) >= time.Second {
						i++
					}
					most = max(most, j-i+1)
				}
				if t.Logf("%d requests, most %d", len(times), most); most > tu.Ceiling {
					t.Errorf("%d requests in a second", most)
				}
			})
		})
	}
}
