package ratelimit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

func TestStatusShowsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Tuning.MaxRetries = -1 }, statuses(200, 404, 500, 200, 429))
		for range 5 {
			_, _ = r.get(t.Context())
		}
		p, err := r.l.Acquire(t.Context()) // after the pause
		if err != nil {
			t.Fatal(err)
		}
		st := r.status()
		want := core.Counts{OK: 2, Throttled: 1, Server: 1}
		if st.Counts != want || st.ErrRatio != 0.5 || st.Streak429 != 1 || st.Successes != 2 {
			t.Errorf("%+v", st)
		}
		if st.Running != 1 || st.OwnSlots != 4 || st.Slots != 16 || len(st.Processes) != 1 || !st.Processes[0].IsOwn ||
			st.Processes[0].Running != 1 {
			t.Errorf("%+v", st)
		}
		if st.Rate != 35 || st.Burst != 35 || st.Tokens < 0 || st.Tokens >= 1 || st.Ceiling != 40 || st.Granted != 6 {
			t.Errorf("%+v", st)
		}
		if st.Cause != ReasonFresh || !st.PauseUntil.IsZero() || !st.Until.IsZero() || st.Cooldown != 2*time.Second {
			t.Errorf("%+v", st)
		}
		p.Report(Event{Outcome: Throttled, Status: 429, RetryAfter: Wait{Duration: 10 * time.Minute, Present: true}})
		st = r.status()
		if end := time.Now().Add(10 * time.Minute); st.State != CacheOnly || st.Cause != ReasonRetryAfterLong ||
			!st.Until.Equal(end) || !st.PauseUntil.Equal(end) || st.Rate != 0 || st.Slots != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestHooksAreCalledOnceAndOutsideTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *Limiter
		var answers []Answer
		var transitions []Transition
		look := func() { // would deadlock under the lock
			if _, err := l.Status(t.Context()); err != nil {
				t.Error(err)
			}
		}
		l, _ = New(Config{Store: NewMemoryStore(), Hooks: Hooks{
			OnAnswer:     func(a Answer) { look(); answers = append(answers, a) },
			OnTransition: func(tr Transition) { look(); transitions = append(transitions, tr) },
			OnWait:       func(WaitInfo) { look() },
			OnWarning:    func(error) { look() },
		}})
		for range 8 {
			p, err := l.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Millisecond)
			p.Report(Event{Outcome: Server, Status: 500})
		}
		if len(answers) != 8 || answers[0].Latency != 30*time.Millisecond || answers[0].Attempt != 1 ||
			answers[0].Gauges.ErrRatio != 1 || answers[6].Gauges.Rate != 35 {
			t.Errorf("%+v", answers)
		}
		if len(transitions) != 1 {
			t.Fatalf("%+v", transitions)
		}
		tr := transitions[0]
		if tr.From != Normal || tr.To != Sleep || tr.Reason != ReasonConsecutiveFailures || !tr.At.Equal(time.Now()) ||
			tr.Until.Before(tr.At.Add(2*time.Second)) || tr.Gauges.State != Sleep {
			t.Errorf("%+v", tr)
		}
	})
}
