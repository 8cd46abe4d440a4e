package ratelimit

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A block whose end has come refuses nobody, however long the outage lasts: somebody has to be let through to end it.
func TestBlockedEndsWithTheBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tuning := Default()
		tuning.SleepMin, tuning.MaxWait = 10*time.Second, 30*time.Second
		l, err := New(Config{Store: NewMemoryStore(), Tuning: tuning})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		fail := func(times int) {
			for range times {
				p, err := l.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				p.Report(Event{Outcome: Server, Status: 503})
			}
		}
		fail(tuning.NFailures)
		blocked := func(patience time.Duration) bool {
			return errors.As(l.Blocked(With(t.Context(), Request{MaxWait: patience})), new(*BlockedError))
		}
		if blocked(time.Minute) || !blocked(time.Second) {
			t.Error("at first: who has patience is refused, or who has none is not")
		}
		time.Sleep(time.Hour)
		if blocked(time.Second) {
			t.Error("an hour after its end the block refuses who asks")
		}
		fail(1) // the probe
		if !blocked(30 * time.Second) {
			t.Error("within the next block, of an outage longer than max-wait, who asks is not refused")
		}
	})
}
