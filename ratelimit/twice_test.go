package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// repeating is a store whose first try is lost, as of a compare-and-swap: it calls fn on another snapshot first.
type repeating struct {
	Store
	other func() Snapshot
	calls int
}

func (r *repeating) Update(ctx context.Context, fn func(Instant, *Snapshot) error) error {
	return r.Store.Update(ctx, func(at Instant, s *Snapshot) error {
		lost := r.other()
		_ = fn(at, &lost)
		r.calls++
		return fn(at, s)
	})
}

// others are snapshots on which every call goes another way.
func others(at Instant) map[string]Snapshot {
	all := map[string]Snapshot{}
	tu := Default()
	tu.Budget = Budget{Requests: 1000, Period: time.Hour}
	ask := core.PermitRequest{Owner: "stranger", Tuning: &tu, MaxWait: time.Minute}
	for name, change := range map[string]func(s *Snapshot){
		"fresh":     func(*Snapshot) {},
		"blocked":   func(s *Snapshot) { s.ForceCacheOnly(at, 0) },
		"spent":     func(s *Snapshot) { _, _ = s.Reserve(at, "stranger", 1000, &tu, nil) },
		"full":      func(s *Snapshot) { *s = core.NewCautiousSnapshot(at) },
		"tuned":     func(s *Snapshot) { _ = s.Override(at, map[string]string{"concurrency": "9"}, time.Hour) },
		"inhabited": func(s *Snapshot) { s.TryGrant(at, ask) },
		"refused": func(s *Snapshot) {
			a := ask
			a.Accounts = pool(Account{Name: "a2"})
			g := s.TryGrant(at, a)
			e := Event{Outcome: Client, Status: 401, Key: KeyRefused}
			s.Record(at, core.Report{Owner: a.Owner, Tuning: &tu, Pass: g.Pass, Event: e})
		},
	} {
		s := core.NewSnapshot(at)
		change(&s)
		all[name] = s
	}
	return all
}

// What a limiter does is the same where every function that it gives to the store is called twice, on another
// snapshot first.
func TestEveryUpdateMayBeRepeated(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{
			"acquire", "acquire", "acquire", "ok", "429", "500", "net", "404", "gone", "reserve", "release", "with",
			"tune", "untune", "401", "tune account", "disable", "cacheonly", "resume", "reset", "status", "sleep", "close",
		}), 1, 60).Draw(rt, "steps")
		decoy := rapid.SampledFrom([]string{"fresh", "blocked", "spent", "full", "tuned", "inhabited", "refused"}).Draw(rt,
			"lost on")
		var accounts []Account
		if rapid.Bool().Draw(rt, "with accounts") {
			accounts = pool(Account{Name: "a2", Slots: 2}, Account{Name: "b1", Quota: Budget{Requests: 9, Period: time.Hour}})
		}
		var once, twice []string
		synctest.Test(t, func(t *testing.T) { once = play(t, steps, "", accounts) })
		synctest.Test(t, func(t *testing.T) { twice = play(t, steps, decoy, accounts) })
		for i := range once {
			if once[i] != twice[i] {
				rt.Fatalf("step %d, %s:\nonce  %s\ntwice %s", i, steps[i], once[i], twice[i])
			}
		}
	})
}

// play makes the steps and returns what each has shown.
func play(t *testing.T, steps []string, decoy string, accounts []Account) []string {
	memory := NewMemoryStore()
	store := memory
	if decoy != "" {
		now := time.Now()
		lost := others(Instant{Wall: now, BootID: "memory"})[decoy]
		store = &repeating{Store: memory, other: func() Snapshot { return lost.Clone() }}
	}
	told := []string{}
	l, err := New(Config{
		Store: store, Tuning: Tuning{MaxWait: 3 * time.Second, Budget: Budget{
			Requests: 30,
			Period:   time.Hour,
		}}, Rand: func() float64 { return 0.5 },
		Accounts: accounts,
		Hooks: Hooks{
			OnTransition: func(tr Transition) { told = append(told, fmt.Sprint(tr.From, tr.To, tr.Reason)) },
			OnAnswer:     func(a Answer) { told = append(told, fmt.Sprint(a.Late, a.Pause, a.Gauges)) },
			OnWait:       func(w WaitInfo) { told = append(told, fmt.Sprint(w.State, w.Cause, w.Ended)) },
			OnWarning:    func(err error) { told = append(told, err.Error()) },
		},
	})
	must(t, err)
	l.ownerID = "p"
	ctx := t.Context()
	var out []*Permit
	var booked []*Reservation
	done := func(e Event) {
		if len(out) > 0 {
			out[0].Report(e)
			out = out[1:]
		}
	}
	var shown []string
	for _, step := range steps {
		told = told[:0]
		var err error
		switch step {
		case "acquire", "with":
			ctx := ctx
			if step == "with" && len(booked) > 0 {
				ctx = With(ctx, Request{Reservation: booked[0]})
			}
			var p *Permit
			if p, err = l.Acquire(ctx); err == nil {
				out = append(out, p)
			}
		case "ok":
			done(Event{Outcome: OK, Status: 200})
		case "429":
			done(Event{Outcome: Throttled, Status: 429})
		case "500":
			done(Event{Outcome: Server, Status: 500})
		case "net":
			done(Event{Outcome: Network})
		case "404":
			done(Event{Outcome: Client, Status: 404})
		case "401":
			done(Event{Outcome: Client, Status: 401, Key: KeyRefused})
		case "gone":
			done(Event{})
		case "reserve":
			var r *Reservation
			if r, err = l.Reserve(ctx, 5); err == nil {
				booked = append(booked, r)
			}
		case "release":
			if len(booked) > 0 {
				booked[0].Release()
				booked = booked[1:]
			}
		case "tune":
			err = (Operator{store}).Tune(ctx, map[string]string{"concurrency": "2", "rate_base": "10"}, time.Hour)
		case "tune account":
			err = (Operator{store}).TuneAccount(ctx, "b1", map[string]string{"rate": "5", "concurrency": "1"}, time.Hour)
		case "disable":
			err = (Operator{store}).EnableAccount(ctx, "b1", len(shown)%2 == 0, time.Hour)
		case "untune":
			err = (Operator{store}).ResetTuning(ctx)
		case "cacheonly":
			_, _, err = (Operator{store}).ForceCacheOnly(ctx, 2*time.Second)
		case "resume":
			_, _, err = (Operator{store}).Resume(ctx)
		case "reset":
			err = (Operator{store}).Reset(ctx, false)
		case "status":
			var st Status
			st, err = l.Status(ctx)
			told = append(told, fmt.Sprintf("%+v", st))
		case "sleep":
			time.Sleep(1700 * time.Millisecond)
		case "close":
			err = l.Close()
		}
		raw := encoded(t, memory)
		shown = append(shown, fmt.Sprintf("%v; told %q; inside %d of %d; %x", err, told,
			l.localQueue.insideCount, l.localQueue.limit,
			raw))
	}
	return shown
}

// A reservation that fits only at the second try keeps nothing of the first.
func TestReserveIsWhatItsLastTrySaid(t *testing.T) {
	memory := NewMemoryStore()
	spent := others(Instant{Wall: time.Now(), BootID: "memory"})["spent"]
	l, err := New(Config{
		Store:  &repeating{Store: memory, other: func() Snapshot { return spent.Clone() }},
		Tuning: Tuning{Budget: Budget{Requests: 10, Period: time.Hour}},
	})
	must(t, err)
	r, err := l.Reserve(t.Context(), 8)
	if err != nil || r.Left() != 8 || errors.Is(err, ErrBudget) {
		t.Errorf("%v, %d left", err, r.Left())
	}
}
