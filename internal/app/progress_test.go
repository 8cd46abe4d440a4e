package app

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

func newTestObserver() *observer {
	return &observer{log: slog.New(slog.DiscardHandler), metrics: metrics.New()}
}

func TestTheMostSevereWaitIsReported(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	wait := func(state ratelimit.State, cause ratelimit.Reason, in time.Duration) ratelimit.WaitInfo {
		return ratelimit.WaitInfo{Block: ratelimit.Block{State: state, Cause: cause, Until: now.Add(in)}}
	}
	var (
		backoff   = wait(ratelimit.Normal, ratelimit.ReasonBackoff, time.Hour)
		pause     = wait(ratelimit.Normal, ratelimit.ReasonPause, time.Minute)
		sleep     = wait(ratelimit.Sleep, ratelimit.ReasonProbeFailed, time.Second)
		cacheOnly = wait(ratelimit.CacheOnly, ratelimit.ReasonPolicy, 0)
		later     = wait(ratelimit.Normal, ratelimit.ReasonBackoff, 2*time.Hour)
	)
	for _, tt := range []struct {
		name  string
		waits []ratelimit.WaitInfo
		want  ratelimit.WaitInfo
	}{
		{"what holds everybody up", []ratelimit.WaitInfo{backoff, pause}, pause},
		{"Sleep before a pause", []ratelimit.WaitInfo{sleep, pause}, sleep},
		{"CacheOnly before Sleep", []ratelimit.WaitInfo{sleep, cacheOnly}, cacheOnly},
		{"the last to end", []ratelimit.WaitInfo{backoff, later}, later},
	} {
		if got := mostSevereWait(tt.waits); got.Block != tt.want.Block || !got.Active() {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	if mostSevereWait(nil).Active() {
		t.Error("nothing is waited for, and yet")
	}
}

// TestAPauseNamesTheAnswerThatAskedForIt follows a pause from the limiter's hooks to the status line's numbers.
func TestAPauseNamesTheAnswerThatAskedForIt(t *testing.T) {
	o := newTestObserver()
	a := &App{components: components{observer: o}}
	gauges := ratelimit.Gauges{Block: ratelimit.Block{State: ratelimit.Throttle}, Rate: 17.5}
	o.onAnswer(ratelimit.Answer{
		Event: ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429}, Pause: time.Minute,
		Gauges: gauges,
	})
	pause := ratelimit.Block{Cause: ratelimit.ReasonPause, Until: time.Now().Add(time.Minute)}
	w := ratelimit.WaitInfo{Block: pause, Attempt: 1, Gauges: gauges}
	o.onWait(w)
	p := a.Progress()
	if p.Wait.Status != 429 || p.Wait.Cause != ratelimit.ReasonPause || p.State != "Throttle" || p.Rate != 17.5 {
		t.Errorf("in the pause: %+v", p)
	}
	w.Ended = true
	o.onWait(w)
	if p = a.Progress(); p.Wait.Active() {
		t.Errorf("after it: %+v", p)
	}
	a.opts.Offline = true
	if p = a.Progress(); p.State != "offline" || p.Rate != 0 {
		t.Errorf("offline: %+v", p)
	}
}

// TestAProcessWithoutEventsSeesTheSharedState is the second process in an outage: it waits for the first one's
// answer and never asks the limiter itself.
func TestAProcessWithoutEventsSeesTheSharedState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := ratelimit.NewMemoryStore()
		limiter := func() *ratelimit.Limiter {
			l, err := ratelimit.New(ratelimit.Config{Store: shared})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		answers, err := cache.Open(t.TempDir(), cache.Options{Class: tmdb.ClassOf})
		if err != nil {
			t.Fatal(err)
		}
		defer answers.Close()
		a := &App{components: components{observer: newTestObserver(), limiter: limiter(), cache: answers}}
		a.PollSharedState()
		if p := a.Progress(); p.State != "Normal" || p.Rate != 35 || p.Wait.Active() || p.AwaitsOtherProcess {
			t.Errorf("before the outage: %+v", p)
		}
		first := limiter()
		for range 8 {
			permit, err := first.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			permit.Report(ratelimit.Event{Outcome: ratelimit.Server, Status: 503})
		}
		a.PollSharedState()
		p := a.Progress()
		if p.State != "Sleep" || p.Rate != 0 || p.Wait.State != ratelimit.Sleep ||
			p.Wait.Cause != ratelimit.ReasonConsecutiveFailures || !p.Wait.Until.After(time.Now()) {
			t.Errorf("in the outage: %+v", p)
		}
		// What the limiter tells this process itself is of more weight.
		block := ratelimit.Block{State: ratelimit.CacheOnly}
		own := ratelimit.WaitInfo{Block: block, Gauges: ratelimit.Gauges{Block: block}}
		a.observer.onWait(own)
		if p := a.Progress(); p.Wait.State != ratelimit.CacheOnly || p.State != "CacheOnly" {
			t.Errorf("told by the limiter: %+v", p)
		}
		if _, _, err := (ratelimit.Operator{Store: shared}).ForceCacheOnly(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		own.Ended = true
		a.observer.onWait(own)
		a.PollSharedState()
		if p := a.Progress(); p.Wait.State != ratelimit.CacheOnly || p.Wait.Cause != ratelimit.ReasonOperator {
			t.Errorf("stopped by an operator: %+v", p)
		}
	})
}

func TestACacheThatCantBeWrittenIsKnownUntilItCan(t *testing.T) {
	g := &Gateway{components: components{observer: newTestObserver()}}
	for _, err := range []error{nil, errors.New("no space left"), nil} {
		if g.observer.recordWrite(err); g.CacheUnwritable() != (err != nil) {
			t.Errorf("after %v: %v", err, g.CacheUnwritable())
		}
	}
	if n := g.Metrics().Snapshot().Value(metrics.CacheWriteErrors); n != 1 {
		t.Errorf("%v errors are counted", n)
	}
}
