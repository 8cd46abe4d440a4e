package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func budgeted(requests int) func(*Config) {
	return func(c *Config) {
		c.Tuning.Budget = Budget{Requests: requests, Period: 24 * time.Hour}
		c.Tuning.MaxRetries = -1
	}
}

func (r *rig) budget() (used, held int) {
	r.Helper()
	st := r.status()
	return st.BudgetUsed, st.BudgetHeld
}

func (r *rig) wantBudget(when string, used, held int) {
	r.Helper()
	if u, h := r.budget(); u != used || h != held {
		r.Errorf("%s: %d used and %d reserved, want %d and %d", when, u, h, used, held)
	}
}

func TestAReservationPaysForItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, budgeted(5), func(n int, _ *http.Request) (*http.Response, error) {
			if n == 2 {
				return nil, errors.New("connection refused")
			}
			return reply(200), nil
		})
		res, err := r.l.Reserve(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		ctx := With(t.Context(), Request{Reservation: res})
		r.wantBudget("reserved", 0, 2)
		_, _ = r.get(ctx)
		r.wantBudget("one answered", 1, 1)
		_, _ = r.get(ctx) // no answer: not used
		r.wantBudget("one refused", 1, 1)
		if res.Left() != 1 {
			t.Errorf("%d left", res.Left())
		}
		for range 3 { // more than planned: topped up
			if _, err := r.get(ctx); err != nil {
				t.Fatal(err)
			}
		}
		r.wantBudget("topped up", 4, 0)
		other, err := r.l.Reserve(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		var spent *BudgetError
		if _, err = r.l.Reserve(t.Context(), 1); !errors.As(err, &spent) || spent.Used != 4 || spent.Reserved != 1 ||
			spent.Requested != 1 {
			t.Errorf("%v", err)
		}
		if want := time.Now().Add(24 * time.Hour); !spent.Renews.Equal(want) ||
			!strings.Contains(spent.Error(), want.UTC().Format(time.RFC3339)) {
			t.Errorf("renews %s, want %s: %v", spent.Renews, want, spent)
		}
		if _, err = r.get(t.Context()); !errors.Is(err, ErrBudget) {
			t.Errorf("a request nobody has reserved: %v", err)
		}
		refused, _ := r.l.Reserve(t.Context(), 1)
		if _, err = r.get(With(t.Context(), Request{Reservation: refused})); !errors.As(err, &spent) || spent.Requested != 1 {
			t.Errorf("a request of a refused reservation: %v", err)
		}
		refused.Release()
		other.Release()
		other.Release()
		res.Release()
		r.wantBudget("released", 4, 0)
		if _, err = r.get(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(24 * time.Hour)
		r.wantBudget("a day later", 0, 0)
		if _, err = r.l.Reserve(t.Context(), 6); !errors.As(err, &spent) || !spent.Renews.IsZero() {
			t.Errorf("more than there ever is: %v", err)
		}
	})
}

func TestAReleasedReservationKeepsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, budgeted(3), nil)
		res, _ := r.l.Reserve(t.Context(), 3)
		p, err := r.l.Acquire(With(t.Context(), Request{Reservation: res}))
		if err != nil {
			t.Fatal(err)
		}
		res.Release()
		r.wantBudget("one is out", 0, 1)
		p.Report(Event{Outcome: Network})
		r.wantBudget("it was not answered", 0, 0)
	})
}

func TestAnAbandonedReservationRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, budgeted(3), nil)
		if _, err := r.l.Reserve(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		var told []FreedReservations
		hooks := Hooks{OnReservationsFreed: func(o FreedReservations) { told = append(told, o) }}
		other, _ := New(Config{Store: r.l.store, Tuning: *r.l.ownTuning.Load(), Hooks: hooks})
		if _, err := other.Reserve(t.Context(), 1); !errors.Is(err, ErrBudget) {
			t.Fatalf("%v", err)
		}
		time.Sleep(time.Hour)
		for range 3 {
			res, err := other.Reserve(t.Context(), 3)
			if err != nil {
				t.Errorf("an hour later: %v", err)
			}
			res.Release()
		}
		if len(told) != 1 || told[0] != (FreedReservations{Requests: 3, Limit: 3}) {
			t.Errorf("told of %+v", told)
		}
	})
}

// A process that was given another period does not start the day of the others over.
func TestABudgetKeepsThePeriodItBeganWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		send := func(period time.Duration) bool {
			l, _ := New(Config{Store: store, Tuning: Tuning{Budget: Budget{Requests: 10, Period: period}}})
			p, err := l.Acquire(t.Context())
			if errors.Is(err, ErrBudget) {
				return false
			}
			p.Report(Event{Outcome: OK, Status: 200})
			return true
		}
		sent := 0
		for range 40 {
			for _, period := range []time.Duration{24 * time.Hour, time.Minute} {
				if send(period) {
					sent++
				}
			}
			time.Sleep(2 * time.Minute)
		}
		if sent != 10 {
			t.Errorf("%d requests of 10 a day", sent)
		}
		time.Sleep(23 * time.Hour)
		if !send(time.Minute) { // the next period has the length that it begins with
			t.Error("refused a day later")
		}
		time.Sleep(time.Minute)
		for range 10 {
			if !send(24 * time.Hour) {
				t.Error("refused a minute later")
			}
		}
	})
}

// Who asks keeps a reservation alive; once it was free for others it pays for nothing.
func TestAnOrphanedReservationPaysForNothing(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("its owner asks meanwhile: %v", busy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := NewMemoryStore()
				tuning := Tuning{Budget: Budget{Requests: 10, Period: 24 * time.Hour}}
				owner, _ := New(Config{Store: store, Tuning: tuning})
				other, _ := New(Config{Store: store, Tuning: tuning})
				reservation, err := owner.Reserve(t.Context(), 8)
				must(t, err)
				ctx := With(t.Context(), Request{Reservation: reservation})
				use := func(l *Limiter, ctx context.Context, tries int) (n int) {
					for range tries {
						if p, err := l.Acquire(ctx); err == nil {
							p.Report(Event{Outcome: OK, Status: 200})
							n++
						}
					}
					return n
				}
				asked := 0
				for range 3 {
					time.Sleep(30 * time.Minute)
					if busy {
						asked += use(owner, ctx, 1)
					}
				}
				theirs := use(other, t.Context(), 10)
				own := asked + use(owner, ctx, 8-asked)
				want := map[bool][2]int{false: {10, 0}, true: {2, 8}}[busy]
				if got := [2]int{theirs, own}; got != want {
					t.Errorf("the other and the owner used %v, want %v", got, want)
				}
			})
		})
	}
}

func TestCancelledWaitGivesItsReservationBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { budgeted(3)(c); c.Tuning.Concurrency, c.Tuning.ConcurrencyTotal = 2, 2 }, nil)
		other, _ := New(Config{Store: r.l.store, Tuning: *r.l.ownTuning.Load()})
		res, _ := r.l.Reserve(t.Context(), 1)
		for range 2 {
			if _, err := other.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(With(t.Context(), Request{Reservation: res}), time.Second)
		defer cancel()
		if _, err := r.l.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
		if res.Left() != 1 {
			t.Errorf("%d left", res.Left())
		}
		r.wantBudget("cancelled", 0, 3)
	})
}

func TestWithoutABudgetNothingIsCounted(t *testing.T) {
	r := newRig(t, nil, statuses(200))
	res, err := r.l.Reserve(t.Context(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = r.get(With(t.Context(), Request{Reservation: res}))
	res.Release()
	r.wantBudget("off", 0, 0)
	if _, err := r.l.Reserve(t.Context(), -1); err == nil {
		t.Error("a negative number")
	}
}
