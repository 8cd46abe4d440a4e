package ratelimit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

func TestTuneIsObeyedAtTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var odd []string
		own := Default()
		own.Ceiling = 36
		l, _ := New(Config{
			Store: NewMemoryStore(), Tuning: own,
			Hooks: Hooks{OnWarning: func(err error) { odd = append(odd, err.Error()) }},
		})
		ask := func() {
			t.Helper()
			p, err := l.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.Report(Event{Outcome: OK, Status: 200})
		}
		ask()
		if err := (Operator{l.store}).Tune(t.Context(), map[string]string{"rate_base": "10", "max_wait": "7"},
			time.Hour); err != nil {
			t.Fatal(err)
		}
		ask()
		if got := l.Tuning(); got.RateBase != 10 || got.MaxWait != 7*time.Second {
			t.Errorf("%+v", got)
		}
		// One that crosses the process's own value is clamped, and said once.
		if err := (Operator{l.store}).Tune(t.Context(), map[string]string{"rate_base": "38"}, 0); err != nil {
			t.Fatal(err)
		}
		ask()
		ask()
		if got := l.Tuning(); got.RateBase != 36 || len(odd) != 1 || !strings.Contains(odd[0], "ceiling=36") {
			t.Errorf("%v %q", got.RateBase, odd)
		}
		st, _ := l.Status(t.Context())
		if len(st.Overrides) != 2 || st.Overrides[0].Key != "max_wait" || st.Overrides[0].Until.IsZero() ||
			!st.Overrides[1].Until.IsZero() {
			t.Errorf("%+v", st.Overrides)
		}
		time.Sleep(time.Hour)
		ask()
		if got := l.Tuning(); got.RateBase != 36 || got.MaxWait != own.MaxWait {
			t.Errorf("an hour later: %+v", got)
		}
		if err := (Operator{l.store}).ResetTuning(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask()
		if got := l.Tuning(); got != own {
			t.Errorf("%+v", got)
		}
	})
}

// Whoever tunes the rate to 0.1 by mistake and takes it back does not wait out the ten seconds of the mistake, nor does
// a request that waits already.
func TestARaisedRateHoldsAtOnce(t *testing.T) {
	slow := map[string]string{"rate_base": "0.1"}
	for _, row := range []struct {
		name     string
		accounts []Account
		lower    func(context.Context, *Limiter, Operator) error
		raise    func(context.Context, *Limiter, Operator) error
	}{
		{
			"an operator's rate", nil,
			func(ctx context.Context, _ *Limiter, o Operator) error { return o.Tune(ctx, slow, 0) },
			func(ctx context.Context, _ *Limiter, o Operator) error { return o.ResetTuning(ctx) },
		},
		{
			"its own rate", nil,
			func(_ context.Context, l *Limiter, _ Operator) error { return l.Retune(Tuning{RateBase: 0.1}) },
			func(_ context.Context, l *Limiter, _ Operator) error { return l.Retune(Tuning{}) },
		},
		{
			"an account's rate",
			[]Account{{Name: "a1"}},
			func(ctx context.Context, _ *Limiter, o Operator) error {
				return o.TuneAccount(ctx, "a1", map[string]string{"rate": "0.1"}, 0)
			},
			func(ctx context.Context, _ *Limiter, o Operator) error {
				return o.TuneAccount(ctx, "a1", map[string]string{"rate": "20"}, 0)
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := NewMemoryStore()
				l := limited(t, store, Tuning{}, row.accounts...)
				ask := func() time.Duration {
					start := time.Now()
					p, err := l.Acquire(t.Context())
					if err != nil {
						t.Error(err)
						return 0
					}
					p.Done()
					return time.Since(start)
				}
				must(t, row.lower(t.Context(), l, Operator{store}))
				ask()
				if waited := ask(); waited < 9*time.Second {
					t.Fatalf("at the low rate the second waited %s", waited)
				}
				waited := make(chan time.Duration, 1)
				go func() { waited <- ask() }()
				time.Sleep(time.Second / 2)
				must(t, row.raise(t.Context(), l, Operator{store}))
				if got := <-waited; got > 2*time.Second {
					t.Errorf("who waited when the rate rose waited %s", got)
				}
			})
		})
	}
}

// A process with a low rate does not make the others wait for what it was granted.
func TestAFastProcessJoinsASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		slow := limited(t, store, Tuning{RateBase: 0.1})
		take(t, slow).Done()
		fast := limited(t, store, Tuning{})
		start := time.Now()
		p, err := fast.Acquire(t.Context())
		must(t, err)
		p.Done()
		if waited := time.Since(start); waited > time.Second {
			t.Errorf("waited %s", waited)
		}
	})
}

// A process tells what it obeys from now on: from which value to which, until when, and when its own holds again.
func TestATuningIsReportedWhenItIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Tuned
		l, _ := New(Config{Store: NewMemoryStore(), Hooks: Hooks{OnTuned: func(c Tuned) { told = append(told, c) }}})
		operator, begun := Operator{l.store}, time.Now()
		for _, step := range []struct {
			name string
			do   func() error
			want []Tuned
		}{
			{"nothing is changed", func() error { return nil }, nil},
			{
				"for a time", func() error { return operator.Tune(t.Context(), map[string]string{"rate_base": "10"}, time.Hour) },
				[]Tuned{{Key: "rate_base", From: "35", To: "10", Until: begun.Add(time.Hour)}},
			},
			{
				"another one for good, the first as it is", func() error {
					return operator.Tune(t.Context(),
						map[string]string{"max_wait": "7"}, 0)
				},
				[]Tuned{{Key: "max_wait", From: "2m", To: "7s"}},
			},
			{
				"to the value it has", func() error { return operator.Tune(t.Context(), map[string]string{"max_wait": "7s"}, 0) },
				nil,
			},
			{
				"the time is over", func() error { time.Sleep(time.Hour); return nil },
				[]Tuned{{Key: "rate_base", From: "10", To: "35", Ended: true}},
			},
			{
				"reset", func() error { return operator.ResetTuning(t.Context()) },
				[]Tuned{{Key: "max_wait", From: "7s", To: "2m", Ended: true}},
			},
		} {
			told = nil
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if _, err := l.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
			near := cmp.Comparer(func(a, b time.Time) bool { return a.IsZero() == b.IsZero() && a.Sub(b).Abs() < time.Second })
			if diff := cmp.Diff(step.want, told, near); diff != "" {
				t.Errorf("%s: %s", step.name, diff)
			}
		}
	})
}

func TestTheFirstReaderAdoptsATuning(t *testing.T) {
	odd := 0
	l, _ := New(Config{Store: NewMemoryStore(), Hooks: Hooks{OnWarning: func(error) { odd++ }}})
	if err := (Operator{l.store}).Tune(t.Context(), map[string]string{"concurrency": "2", "rate_base": "300"},
		time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.localQueue.limit != 2 || odd != 1 || l.Tuning().RateBase != 40 {
		t.Errorf("%d places, %d warnings, rate %v", l.localQueue.limit, odd, l.Tuning().RateBase)
	}
}

func TestTuneRefuses(t *testing.T) {
	store := NewMemoryStore()
	for name, values := range map[string]map[string]string{
		"an unknown knob": {"rate_bsae": "10"},
		"no number":       {"rate_base": "fast"},
		"out of range":    {"rate_base": "0"},
		"crossed":         {"rate_base": "60", "ceiling": "50"},
		"too late":        {"processes": "3"},
		"one of two":      {"rate_base": "10", "concurrency": "x"},
	} {
		var wrong *TuningError
		if err := (Operator{store}).Tune(t.Context(), values, 0); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	st, err := Operator{Store: store}.Status(t.Context(), Default())
	if err != nil || len(st.Overrides) != 0 {
		t.Errorf("%+v", st.Overrides)
	}
	// Higher than the default ceiling is no mistake as such: a process may have a higher one.
	if err := (Operator{store}).Tune(t.Context(), map[string]string{"rate_base": "45"}, 0); err != nil {
		t.Error(err)
	}
	// But it is one with a ceiling that is an override itself.
	if err := (Operator{store}).Tune(t.Context(), map[string]string{"ceiling": "44"}, 0); err == nil {
		t.Error("crossed with an earlier override")
	}
}

func TestResumeWhereThereIsNothingToResume(t *testing.T) {
	store := NewMemoryStore()
	if _, moved, err := (Operator{store}).Resume(t.Context()); moved || err != nil {
		t.Errorf("%v %v", moved, err)
	}
	if tr, moved, err := (Operator{store}).ForceCacheOnly(t.Context(), 0); !moved || err != nil ||
		tr.Reason != ReasonOperator {
		t.Errorf("%v %v", tr, err)
	}
	if _, moved, _ := (Operator{store}).ForceCacheOnly(t.Context(), 15*time.Minute); moved {
		t.Error("twice")
	}
	if st, _ := (Operator{Store: store}).Status(t.Context(), Default()); st.AutoRecover < 15*time.Minute ||
		st.Until.Sub(st.At).Round(time.Second) != 15*time.Minute {
		t.Errorf("%+v", st)
	}
	if tr, moved, _ := (Operator{store}).Resume(t.Context()); !moved || tr.To != Sleep {
		t.Errorf("%+v", tr)
	}
}

// With limited_by account, Resume ends the CacheOnly of an account, too. TMDB's pause still applies to it.
func TestResumeEndsTheCacheOnlyOfAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		tu := Tuning{LimitedBy: core.ByAccount, MaxWait: 2 * time.Hour}
		l := limited(t, store, tu, Account{Name: "a1"})
		prove(t, l)
		throttled := Event{Outcome: Throttled, Status: 429}
		throttled.RetryAfter.Present, throttled.RetryAfter.Duration = true, time.Hour
		take(t, l).Report(throttled)
		st, err := l.Status(t.Context())
		must(t, err)
		if a := st.Accounts[0]; a.State != CacheOnly || st.State != Normal {
			t.Fatalf("account in %s, address in %s", a.State, st.State)
		}
		begun := time.Now()
		tr, moved, err := (Operator{store}).Resume(t.Context())
		must(t, err)
		if !moved || tr.Account != "a1" || tr.To != Sleep {
			t.Errorf("moved: %t, %+v", moved, tr)
		}
		p, err := l.Acquire(t.Context())
		must(t, err)
		p.Report(ok())
		if waited := time.Since(begun); waited < time.Hour || waited > time.Hour+time.Minute {
			t.Errorf("asked again after %s", waited)
		}
	})
}

// The period counts from the command that gives it, also where CacheOnly is older.
func TestAutoRecoverCountsFromItsCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		_, _, err := (Operator{store}).ForceCacheOnly(t.Context(), 0)
		must(t, err)
		time.Sleep(time.Hour)
		_, _, err = (Operator{store}).ForceCacheOnly(t.Context(), 15*time.Minute)
		must(t, err)
		start := time.Now()
		l, _ := New(Config{Store: store, Tuning: Tuning{AutoRecover: time.Hour}})
		if _, err := l.Acquire(t.Context()); err != nil || time.Since(start) != 15*time.Minute {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestGraphDrawsTheTable(t *testing.T) {
	g := core.Graph()
	if !strings.HasPrefix(g, "stateDiagram-v2\n    [*] --> Normal\n") {
		t.Error(g)
	}
	for _, r := range core.Rules() {
		if !strings.Contains(g, r.Reason.String()) {
			t.Errorf("%s is not drawn", r.Reason)
		}
	}
	for _, arrow := range []string{
		"Normal --> Throttle: error_ratio, consecutive_429", "Sleep --> CacheOnly: operator\n",
		"HalfOpen --> Normal: probe_ok", "HalfOpen --> Sleep: probe_failed\n",
		"CacheOnly --> Sleep: resume, auto_recover, retry_after_elapsed",
	} {
		if !strings.Contains(g, "    "+arrow) {
			t.Errorf("no %q in\n%s", arrow, g)
		}
	}
}
