package ratelimit

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

func TestOperatorsTuneAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l := limited(t, store, fast, Account{Name: "a1", Slots: 1})
		prove(t, l)
		o := Operator{store}
		must(t, o.TuneAccount(t.Context(), "a1", map[string]string{"account_concurrency": "3", "quota": "100/1h"}, time.Hour))
		for range 3 {
			take(t, l)
		}
		if st := accountOf(t, l, "a1"); st.Slots != 3 || st.Running != 3 ||
			st.Quota != (Budget{Requests: 100, Period: time.Hour}) || st.QuotaReserved != 3 {
			t.Errorf("%+v", st)
		}
		must(t, o.ResetAccount(t.Context(), "a1", "quota"))
		if st := accountOf(t, l, "a1"); st.Slots != 3 || st.Quota.On() {
			t.Errorf("%+v", st)
		}
		time.Sleep(time.Hour)
		if st := accountOf(t, l, "a1"); st.Slots != 1 || len(st.Overrides) != 0 {
			t.Errorf("after its hour: %+v", st)
		}
		for key, value := range map[string]string{
			"account_concurrency": "-1", "concurrency": "many", "rate": "0.01", "quota": "5", "priority": "1",
			"enabled": "true", "": "",
		} {
			if err := o.TuneAccount(t.Context(), "a1", map[string]string{key: value}, 0); !errors.As(err, new(*TuningError)) {
				t.Errorf("%s=%s: %v", key, value, err)
			}
		}
	})
}

// Of processes with different values for one account those of the last to ask hold.
func TestTheLimitsOfTheLastToAskHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l := limited(t, store, fast, Account{Name: "a1", Slots: 5, Quota: Budget{Requests: 100, Period: time.Hour}})
		small := limited(t, store, fast, Account{
			Name: "a1", Slots: 2, KeySlots: 7,
			Quota: Budget{Requests: 50, Period: time.Hour},
		})
		shared := func() core.AccountStatus {
			st, err := Operator{Store: store}.Status(t.Context(), fast)
			must(t, err)
			return st.Accounts[0]
		}
		prove(t, l)
		prove(t, small)
		if st := shared(); st.Slots != 2 || st.KeySlots != 7 || st.Quota.Requests != 50 {
			t.Errorf("%+v", st)
		}
		if st := accountOf(t, l, "a1"); st.Slots != 5 || st.Quota.Requests != 100 { // as if it were to ask now
			t.Errorf("%+v", st)
		}
		prove(t, l)
		if st := shared(); st.Slots != 5 || st.KeySlots != 0 || st.Quota.Requests != 100 {
			t.Errorf("%+v", st)
		}
	})
}

func TestAnAccountsOwnRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast, Account{Name: "a1", Rate: 10, Priority: 1},
			Account{Name: "b1", Rate: 20, Priority: 1})
		prove(t, l)
		time.Sleep(5 * time.Second)
		got := map[string]int{}
		for began := time.Now(); time.Since(began) < 10*time.Second; {
			p, err := l.Acquire(t.Context())
			must(t, err)
			got[p.Choice().Account]++
			p.Report(ok())
		}
		if got["a1"] < 100 || got["a1"] > 111 || got["b1"] < 200 || got["b1"] > 221 { // a burst, and the rate
			t.Errorf("%v", got)
		}
	})
}

// 4,998 of 5,000 used and three at once: exactly one is refused, before it waits.
func TestSeed002TheDoorIsWhatAllAccountsHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast,
			Account{Name: "a1", Priority: 1, Quota: Budget{Requests: 3000, Period: time.Hour}}, Account{
				Name: "b1", Priority: 2,
				Quota: Budget{Requests: 2000, Period: 2 * time.Hour},
			})
		if !l.Rationed() {
			t.Fatal("not rationed")
		}
		prove(t, l)
		for range 4996 {
			p, err := l.Acquire(t.Context())
			must(t, err)
			p.Report(ok())
		}
		var held []*Reservation
		var refused *BudgetError
		for range 3 {
			r, err := l.Reserve(t.Context(), 1)
			if errors.As(err, &refused) {
				continue
			}
			must(t, err)
			held = append(held, r)
		}
		if len(held) != 2 || refused == nil || refused.Budget.Requests != 5000 || refused.Used != 4998 ||
			refused.Reserved != 2 || refused.Renews.IsZero() {
			t.Fatalf("%d fit; %+v", len(held), refused)
		}
		for _, r := range held {
			p, err := l.Acquire(With(t.Context(), Request{Reservation: r}))
			must(t, err)
			if p.Choice().Account != "b1" {
				t.Errorf("%+v", p.Choice())
			}
			p.Report(Event{Outcome: Network}) // what was not answered costs nothing
			r.Release()
		}
		if a, b := accountOf(t, l, "a1"), accountOf(t, l, "b1"); a.QuotaUsed != 3000 || b.QuotaUsed != 1998 ||
			b.QuotaReserved != 0 {
			t.Errorf("%+v %+v", a, b)
		}
		time.Sleep(time.Hour) // one's period is over
		if p := take(t, l); p.Choice().Account != "a1" {
			t.Errorf("%+v", p.Choice())
		}
	})
}

// A quota is left, but its account is disabled for a moment: the refusal says when that is over.
func TestAQuotaIsBackWhenItsAccountIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l := limited(t, store, fast,
			Account{Name: "a1", Priority: 1, Quota: Budget{Requests: 3000, Period: time.Hour}},
			Account{Name: "b1", Priority: 2, Quota: Budget{Requests: 1, Period: time.Hour}})
		prove(t, l)
		must(t, Operator{store}.EnableAccount(t.Context(), "a1", false, 5*time.Second))
		for {
			r, err := l.Reserve(t.Context(), 1)
			if refused, ok := errors.AsType[*BudgetError](err); ok {
				if left := time.Until(refused.Renews); left <= 0 || left > 5*time.Second {
					t.Errorf("it renews in %s", left)
				}
				return
			}
			must(t, err)
			p, err := l.Acquire(With(t.Context(), Request{Reservation: r}))
			must(t, err)
			p.Report(ok())
		}
	})
}

// If one account has no quota, nothing is reserved in advance, and the others' quotas still apply.
func TestAnAccountWithoutQuotaNeedsNoReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast, Account{
			Name: "a1", Priority: 1,
			Quota: Budget{Requests: 5, Period: time.Hour},
		}, Account{Name: "b1", Priority: 2})
		prove(t, l)
		r, err := l.Reserve(t.Context(), 1000)
		must(t, err)
		if r.Left() != 0 {
			t.Errorf("%d reserved", r.Left())
		}
		got := map[string]int{}
		for range 20 {
			p := take(t, l)
			got[p.Choice().Account]++
			defer p.Report(ok())
		}
		if got["a1"] != 4 || got["b1"] != 16 {
			t.Errorf("%v", got)
		}
	})
}

// The books of quotas balance after every step, and no account is ever above its own.
func TestQuotasAreNeverExceeded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{
			"reserve", "acquire", "acquire", "with", "ok", "ok", "net",
			"gone", "release", "sleep",
		}), 1, 60).Draw(rt, "steps")
		a, b := rapid.IntRange(1, 9).Draw(rt, "a"), rapid.IntRange(0, 9).Draw(rt, "b")
		synctest.Test(t, func(t *testing.T) {
			tu := fast
			tu.MaxWait = 10 * time.Millisecond
			l := limited(t, NewMemoryStore(), tu, Account{Name: "a2", Quota: Budget{Requests: a, Period: time.Hour}},
				Account{Name: "b1", Quota: Budget{Requests: b, Period: 2 * time.Hour}})
			var out []*Permit
			var booked []*Reservation
			for _, step := range steps {
				ctx := t.Context()
				switch step {
				case "reserve":
					if r, err := l.Reserve(ctx, 2); err == nil {
						booked = append(booked, r)
					}
				case "acquire", "with":
					if step == "with" && len(booked) > 0 {
						ctx = With(ctx, Request{Reservation: booked[0]})
					}
					if p, err := l.Acquire(ctx); err == nil {
						out = append(out, p)
					}
				case "ok", "net", "gone":
					if len(out) > 0 {
						out[0].Report(map[string]Event{"ok": ok(), "net": {Outcome: Network}, "gone": {}}[step])
						out = out[1:]
					}
				case "release":
					if len(booked) > 0 {
						booked[0].Release()
						booked = booked[1:]
					}
				case "sleep":
					time.Sleep(20 * time.Minute)
				}
				st, err := l.Status(t.Context())
				must(t, err)
				for _, acc := range st.Accounts {
					if acc.Quota.On() && acc.QuotaUsed+acc.QuotaReserved > acc.Quota.Requests {
						rt.Fatalf("after %s: %+v", step, acc)
					}
				}
			}
			for _, p := range out {
				p.Report(Event{})
			}
			for _, r := range booked {
				r.Release()
			}
			st, err := l.Status(t.Context())
			must(t, err)
			if st.Running != 0 || len(st.Processes) > 0 && st.Processes[0].Reserved != 0 {
				rt.Fatalf("%d running, %+v", st.Running, st.Processes)
			}
		})
	})
}

func TestAccountsThatCannotBeUsed(t *testing.T) {
	for name, list := range map[string][]Account{
		"no name": {{Keys: []Fingerprint{1}}}, "no key": {{Name: "a"}}, "two of a name": {{
			Name: "a",
			Keys: []Fingerprint{1},
		}, {Name: "a", Keys: []Fingerprint{2}}},
		"a negative limit": {{Name: "a", Keys: []Fingerprint{1}, Slots: -1}}, "too many": make([]Account, 65),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(Config{Store: NewMemoryStore(), Accounts: list}); err == nil {
				t.Error("taken")
			}
		})
	}
}

// A reservation whose owner asks for nothing is free after its hour.
func TestSeed002AnOrphanAtTheDoorIsFreeAfterItsHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		list := Account{Name: "a1", Quota: Budget{Requests: 5, Period: 24 * time.Hour}}
		stopped, l := limited(t, store, fast, list), limited(t, store, fast, list)
		if _, err := stopped.Reserve(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		if _, err := l.Reserve(t.Context(), 1); !errors.Is(err, ErrBudget) {
			t.Fatalf("before its hour: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := l.Reserve(t.Context(), 5); err != nil {
			t.Errorf("after its hour: %v", err)
		}
	})
}
