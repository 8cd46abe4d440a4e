package ratelimit

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAutoRecoverWaitsAsLongAsItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		tu := Default()
		tu.AutoRecover, tu.MaxWait = 15*time.Minute, time.Second
		var waits []WaitInfo
		l, _ := New(Config{Store: store, Tuning: tu, Hooks: Hooks{OnWait: func(w WaitInfo) { waits = append(waits, w) }}})
		if _, _, err := ForceCacheOnly(t.Context(), store, 15*time.Minute); err != nil {
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
		p.Done(Event{Outcome: OK, Status: 200})
		if got := time.Since(start); got < 15*time.Minute || got > 15*time.Minute+time.Second {
			t.Errorf("after %s", got)
		}
		if len(waits) != 2 || waits[0].Why != WhyCacheOnly || waits[0].Until.Sub(start) != 15*time.Minute || !waits[1].Ended {
			t.Errorf("%+v", waits)
		}
	})
}

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
			p.Done(Event{Outcome: OK, Status: 200})
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
	*MemoryStore
	owner string
	mu    *sync.Mutex
	dead  map[string]bool
	asked int
}

func (m *mortal) Owner() string { return m.owner }

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
		tu.ConcurrencyTotal, tu.Budget = 4, Budget{10, time.Hour}
		a, _ := New(Config{Store: &mortal{MemoryStore: store, owner: "a", mu: mu, dead: dead}, Tuning: tu})
		b, _ := New(Config{Store: &mortal{MemoryStore: store, owner: "b", mu: mu, dead: dead}, Tuning: tu})
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
		p.Done(Event{Outcome: OK, Status: 200})
		if _, err := b.Reserve(t.Context(), 9); err != nil {
			t.Errorf("the dead one's budget: %v", err)
		}
	})
}

// A stopped process stands in front with tickets nobody asks about.
func TestALateTicketIsPassed(t *testing.T) {
	w := newWorld(t)
	w.tuning.Concurrency, w.tuning.ConcurrencyTotal = 8, 4
	stopped := Ask{Owner: "stopped", Tuning: &w.tuning, Patience: time.Hour}
	for range 4 {
		w.s.TryGrant(w.now, stopped)
	}
	var tickets []uint64
	for range 3 {
		tickets = append(tickets, w.s.TryGrant(w.now, stopped).Ticket)
	}
	live := Ask{Owner: "live", Tuning: &w.tuning, Patience: time.Hour}
	g := w.s.TryGrant(w.now, live)
	if g.Granted || g.Head {
		t.Fatalf("%+v", g)
	}
	for i := range 4 { // the answers come, the tickets do not
		w.record(Pass{w.s.machine.permits - uint64(3-i), w.s.machine.epoch}, Event{Outcome: OK, Status: 200})
	}
	live.Ticket = g.Ticket
	if g = w.s.TryGrant(w.now, live); g.Granted || g.Why != WhyTurn {
		t.Fatalf("passed a ticket that is not late: %+v", g)
	}
	w.sleep(200 * time.Millisecond)
	if g = w.s.TryGrant(w.now, live); !g.Granted {
		t.Fatalf("%+v", g)
	}
	stopped.Ticket = tickets[1] // who wakes up has kept its place
	if g = w.s.TryGrant(w.now, stopped); !g.Granted {
		t.Errorf("%+v", g)
	}
}
