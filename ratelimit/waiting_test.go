package ratelimit

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

func TestAutoRecoverWaitsAsLongAsItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		tu := Default()
		tu.AutoRecover, tu.MaxWait = 15*time.Minute, time.Second
		var waits []WaitInfo
		l, _ := New(Config{Store: store, Tuning: tu, Hooks: Hooks{OnWait: func(w WaitInfo) { waits = append(waits, w) }}})
		if _, _, err := (Operator{store}).ForceCacheOnly(t.Context(), 15*time.Minute); err != nil {
			t.Fatal(err)
		}
		plain, _ := New(Config{Store: store})
		var blocked *BlockedError
		if _, err := plain.Acquire(t.Context()); !errors.As(err, &blocked) || blocked.State != CacheOnly {
			t.Errorf("without the flag: %v", err)
		}
		start := time.Now()
		p, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.Report(Event{Outcome: OK, Status: 200})
		if got := time.Since(start); got < 15*time.Minute || got > 15*time.Minute+time.Second {
			t.Errorf("after %s", got)
		}
		if len(waits) != 2 || waits[0].State != CacheOnly || waits[0].Until.Sub(start) != 15*time.Minute || !waits[1].Ended {
			t.Errorf("%+v", waits)
		}
	})
}

// A run that is answered from the cache writes no file for the limiter.
func TestCloseOfAnUnusedLimiterWritesNothing(t *testing.T) {
	dir := t.TempDir()
	store, err := OpenFileStore(dir, FileOptions{})
	must(t, err)
	l, _ := New(Config{Store: store})
	_ = l.Blocked(t.Context())
	must(t, errors.Join(l.Close(), store.Close()))
	if alive, _ := filepath.Glob(filepath.Join(dir, "alive-*")); len(alive) > 0 {
		t.Errorf("there is %v", alive)
	}
	if l, _ := New(Config{Store: closedStore{}}); l.Close() != nil {
		t.Error("an unused limiter updates its store")
	}
}

type closedStore struct{ Store }

func (closedStore) Update(context.Context, func(Instant, *Snapshot) error) error { return ErrClosed }

func TestCloseEndsAllWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l, _ := New(Config{Store: store})
		other, _ := New(Config{Store: store})
		var out []*Permit
		for range 4 {
			p, _ := l.Acquire(t.Context())
			out = append(out, p)
		}
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if _, err := l.Acquire(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("%v", err)
				}
			})
		}
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if st, _ := other.Status(t.Context()); st.Running != 4 || st.Waiting != 0 {
			t.Errorf("%+v", st)
		}
		for _, p := range out {
			p.Report(Event{Outcome: OK, Status: 200})
		}
		if st, _ := other.Status(t.Context()); st.Running != 0 || len(st.Processes) != 0 {
			t.Errorf("%+v", st)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// mortal is a store whose users can die.
type mortal struct {
	Store
	owner string
	mu    *sync.Mutex
	dead  map[string]bool
	asked int
}

func (m *mortal) Owner() string { return m.owner }

func (m *mortal) Living() int { return 0 }

func (m *mortal) Dead(ids []string) (dead []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	for _, id := range ids {
		if m.dead[id] {
			dead = append(dead, id)
		}
	}
	return dead
}

func TestTheDeadGiveBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, mu, dead := NewMemoryStore(), &sync.Mutex{}, map[string]bool{}
		tu := Default()
		tu.ConcurrencyTotal, tu.Budget = 4, Budget{Requests: 10, Period: time.Hour}
		a, _ := New(Config{Store: &mortal{Store: store, owner: "a", mu: mu, dead: dead}, Tuning: tu})
		b, _ := New(Config{Store: &mortal{Store: store, owner: "b", mu: mu, dead: dead}, Tuning: tu})
		for range 4 {
			if _, err := a.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Reserve(t.Context(), 6); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Reserve(t.Context(), 1); !errors.Is(err, ErrBudget) {
			t.Fatalf("%v", err)
		}
		mu.Lock()
		dead["a"] = true
		mu.Unlock()
		start := time.Now()
		p, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got > 20*time.Millisecond {
			t.Errorf("slots were back after %s", got)
		}
		p.Report(Event{Outcome: OK, Status: 200})
		if _, err := b.Reserve(t.Context(), 9); err != nil {
			t.Errorf("the dead one's budget: %v", err)
		}
	})
}

// Acquire waits no longer than max-wait wherever it waits: here for a place in its own process.
func TestMaxWaitHoldsInTheProcessesOwnQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := New(Config{Store: NewMemoryStore(), Tuning: Tuning{Concurrency: 1, MaxWait: 100 * time.Millisecond}})
		p, err := l.Acquire(t.Context())
		must(t, err)
		start := time.Now()
		var late *AcquireTimeoutError
		if _, err := l.Acquire(t.Context()); !errors.As(err, &late) || late.Cause != ReasonTurn ||
			time.Since(start) != 100*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		p.Report(Event{})
		if _, err := l.Acquire(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What a request has waited elsewhere is a part of its max-wait.
func TestWaitedElsewhereCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := New(Config{Store: NewMemoryStore(), Tuning: Tuning{Concurrency: 1, MaxWait: 10 * time.Second}})
		_, err := l.Acquire(t.Context())
		must(t, err)
		ctx := With(With(t.Context(), Request{Waited: 4 * time.Second}), Request{Waited: 3 * time.Second})
		start := time.Now()
		var late *AcquireTimeoutError
		if _, err := l.Acquire(ctx); !errors.As(err, &late) || late.Waited != 10*time.Second ||
			time.Since(start) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// What counts as an answer is an HTTP status for the budget as well.
func TestDoneFailAndReport(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*Permit)
		want core.Counts
		used int
	}{
		{"Done", (*Permit).Done, core.Counts{OK: 1}, 1},
		{"Fail without an error", func(p *Permit) { p.Fail(nil) }, core.Counts{OK: 1}, 1},
		{"Fail", func(p *Permit) { p.Fail(errors.New("no route")) }, core.Counts{Network: 1}, 0},
		{"a deadline", func(p *Permit) { p.Fail(context.DeadlineExceeded) }, core.Counts{Network: 1}, 0},
		{"cancelled", func(p *Permit) { p.Fail(context.Canceled) }, core.Counts{}, 0},
		{"Report", func(p *Permit) { p.Report(Event{Outcome: Server, Status: 503}) }, core.Counts{Server: 1}, 1},
		{"a panic", func(p *Permit) { p.Report(Event{}) }, core.Counts{}, 0},
		{"the first counts", func(p *Permit) { p.Done(); p.Fail(errors.New("late")) }, core.Counts{OK: 1}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := New(Config{Store: NewMemoryStore(), Tuning: Tuning{Budget: Budget{Requests: 9, Period: time.Hour}}})
			must(t, err)
			p, err := l.Acquire(t.Context())
			must(t, err)
			row.end(p)
			st, err := l.Status(t.Context())
			must(t, err)
			if st.Counts != row.want || st.BudgetUsed != row.used || st.Running != 0 {
				t.Errorf("%+v, %d used, %d running", st.Counts, st.BudgetUsed, st.Running)
			}
		})
	}
}

// Whoever forgets Done finds the reason in the error, also where a context's deadline comes before max-wait.
func TestATimedOutAcquireCountsThePermitsThatAreOut(t *testing.T) {
	for _, deadline := range []time.Duration{0, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l, err := New(Config{Store: NewMemoryStore(), Tuning: Tuning{MaxWait: 5 * time.Second}})
			must(t, err)
			for i := range 5 {
				p, err := l.Acquire(t.Context())
				must(t, err)
				if i == 2 {
					p.Done()
				}
			}
			ctx := t.Context()
			want := "send request: no permission to send in time: waited 5s, last for turn in Normal; permits not given back: 4"
			if deadline > 0 {
				var end context.CancelFunc
				ctx, end = context.WithTimeout(ctx, deadline)
				defer end()
				want = strings.Replace(want, "5s", "2s", 1)
			}
			_, err = l.Acquire(ctx)
			if late, ok := errors.AsType[*AcquireTimeoutError](err); !ok || late.Out != 4 || late.Error() != want ||
				!errors.Is(err, ErrAcquireTimeout) || errors.Is(err, context.DeadlineExceeded) != (deadline > 0) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAForgottenPermitGivesItsPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := New(Config{Store: NewMemoryStore(), Tuning: Tuning{Concurrency: 1, MaxWait: 2 * time.Hour}})
		forgotten, err := l.Acquire(t.Context())
		must(t, err)
		start := time.Now()
		p, err := l.Acquire(t.Context())
		if err != nil || time.Since(start) > core.MaxLease+core.MaxRetryWait {
			t.Fatalf("%v after %s", err, time.Since(start))
		}
		forgotten.Report(Event{Outcome: OK, Status: 200}) // frees nobody else's place
		if l.localQueue.insideCount != 1 {
			t.Errorf("%d inside", l.localQueue.insideCount)
		}
		p.Report(Event{Outcome: OK, Status: 200})
		if l.localQueue.insideCount != 0 {
			t.Errorf("%d inside", l.localQueue.insideCount)
		}
	})
}

func TestAPanicInAHookKeepsNothing(t *testing.T) {
	for _, hook := range []string{"transition by an answer", "transition by an ask", "wait", "answer"} {
		t.Run(hook, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hooks Hooks
				armed := true
				fail := func(when bool) {
					if armed && when {
						armed = false
						panic(hook)
					}
				}
				switch hook {
				case "wait":
					hooks.OnWait = func(WaitInfo) { fail(true) }
				case "answer":
					hooks.OnAnswer = func(Answer) { fail(true) }
				case "transition by an ask":
					hooks.OnTransition = func(tr Transition) { fail(tr.To == HalfOpen) }
				default:
					hooks.OnTransition = func(Transition) { fail(true) }
				}
				l, _ := New(Config{Store: NewMemoryStore(), Tuning: Tuning{Concurrency: 1, NFailures: 1}, Hooks: hooks})
				round := func(o Outcome) {
					defer func() { _ = recover() }()
					p, err := l.Acquire(t.Context())
					must(t, err)
					p.Report(Event{Outcome: o})
				}
				round(Server)
				round(OK)
				if armed {
					t.Fatal("the hook was not called")
				}
				if st, _ := l.Status(t.Context()); st.Running != 0 || st.Waiting != 0 || l.localQueue.insideCount != 0 {
					t.Errorf("%d running, %d waiting, %d inside", st.Running, st.Waiting, l.localQueue.insideCount)
				}
			})
		})
	}
}

// closing closes a limiter between a caller's look at it and its update.
type closing struct {
	Store
	before func()
}

func (c *closing) Update(ctx context.Context, fn func(Instant, *Snapshot) error) error {
	if before := c.before; before != nil {
		c.before = nil
		before()
	}
	return c.Store.Update(ctx, fn)
}

func TestNobodyAsksAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &closing{Store: NewMemoryStore()}
		polite, _ := New(Config{Store: store, Tuning: Tuning{RateBase: 2, Ceiling: 2}})
		store.before = func() { must(t, polite.Close()) }
		if _, err := polite.Acquire(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
		other, _ := New(Config{Store: store})
		if st, _ := other.Status(t.Context()); len(st.Processes) != 0 || st.Ceiling != 40 {
			t.Errorf("the closed limiter takes part: ceiling %d, %+v", st.Ceiling, st.Processes)
		}
	})
}

func TestCloseEndsARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Rand = func() float64 { return 0.99 } }, statuses(500))
		start := time.Now()
		time.AfterFunc(time.Second, func() { must(t, r.l.Close()) })
		if _, err := r.get(t.Context()); !errors.Is(err, ErrClosed) || time.Since(start) != time.Second || r.u.tries() != 1 {
			t.Errorf("%v after %s and %d tries", err, time.Since(start), r.u.tries())
		}
	})
}

// Of two limiters on one store each keeps its own when the other is closed.
func TestLimitersOfOneProcessAreTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &mortal{Store: NewMemoryStore(), owner: t.Name(), mu: &sync.Mutex{}, dead: map[string]bool{}}
		tuning := Tuning{Budget: Budget{Requests: 10, Period: time.Hour}}
		a, _ := New(Config{Store: store, Tuning: tuning})
		b, _ := New(Config{Store: store, Tuning: tuning})
		_, err := a.Reserve(t.Context(), 6)
		must(t, err)
		_, err = b.Reserve(t.Context(), 2)
		must(t, err)
		must(t, b.Close())
		if st, _ := a.Status(t.Context()); st.BudgetHeld != 6 {
			t.Errorf("%d reserved", st.BudgetHeld)
		}
		// Both die with their process.
		c, _ := New(Config{Store: store, Tuning: tuning})
		_, err = c.Reserve(t.Context(), 1)
		must(t, err)
		store.dead[t.Name()] = true
		stranger, _ := New(Config{Store: &mortal{
			Store: store.Store, owner: "stranger", mu: store.mu,
			dead: store.dead,
		}, Tuning: tuning})
		if _, err := stranger.Reserve(t.Context(), 10); err != nil {
			t.Error(err)
		}
	})
}

// slow is a store whose every update takes its time, one after the other.
type slow struct {
	Store
	turn  chan struct{}
	takes time.Duration
}

func (s *slow) Update(ctx context.Context, fn func(Instant, *Snapshot) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	time.Sleep(s.takes)
	return s.Store.Update(ctx, fn)
}

// Time spent in the store is a part of max-wait, which ends within one update.
func TestMaxWaitHoldsOverASlowStore(t *testing.T) {
	for _, takes := range []time.Duration{130 * time.Millisecond, 300 * time.Millisecond} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const maxWait = 2 * time.Second
				store := &slow{Store: NewMemoryStore(), turn: make(chan struct{}, 1), takes: takes}
				tuning := Tuning{ConcurrencyTotal: 4, MaxWait: maxWait}
				busy, _ := New(Config{Store: store, Tuning: tuning})
				for range 4 {
					_, err := busy.Acquire(t.Context())
					must(t, err)
				}
				l, _ := New(Config{Store: store, Tuning: tuning})
				start := time.Now()
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						_, err := l.Acquire(t.Context())
						if took := time.Since(start); !errors.Is(err, ErrAcquireTimeout) || took > maxWait+takes+2*minStoreWait {
							t.Errorf("%v after %s", err, took)
						}
					})
				}
				wg.Wait()
			})
		})
	}
}

// A reason that is added last, for a new transition, is one that people wait for.
func TestWaitingForANewReasonIsReported(t *testing.T) {
	told := 0
	l, err := New(Config{Store: NewMemoryStore(), Hooks: Hooks{OnWait: func(WaitInfo) { told++ }}})
	if err != nil {
		t.Fatal(err)
	}
	for r := range Reason(64) {
		c := newCall(t.Context(), l, 0)
		told = 0
		c.beginWait(Block{State: Sleep, Cause: r, Until: time.Now().Add(time.Hour)}, Gauges{})
		if short := r >= ReasonSlot && r <= core.ReasonAccount; (told == 0) != short { // the numbers of what a request lacks
			t.Errorf("%v: told %d times", r, told)
		}
	}
}
