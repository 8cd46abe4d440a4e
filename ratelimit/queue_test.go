package ratelimit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// oneByOne is a Queue with a single place, which refuses whom it does not know.
type oneByOne struct {
	place chan struct{}
	log   []string
}

type whoKey struct{}

var errStranger = errors.New("who is that?")

func (q *oneByOne) Enter(ctx context.Context) error {
	who, ok := ctx.Value(whoKey{}).(string)
	if !ok {
		return errStranger
	}
	select {
	case q.place <- struct{}{}:
		q.log = append(q.log, who+" in")
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *oneByOne) Granted() { q.log = append(q.log, "granted") }

func (q *oneByOne) Leave(granted bool) {
	q.log = append(q.log, map[bool]string{true: "out", false: "out without"}[granted])
	<-q.place
}

func TestACallersOwnQueueDecidesWhoMayAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &oneByOne{place: make(chan struct{}, 1)}
		l, err := New(Config{Store: NewMemoryStore(), Queue: q, Tuning: Tuning{MaxWait: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		as := func(who string) context.Context { return context.WithValue(t.Context(), whoKey{}, who) }
		first, err := l.Acquire(as("a"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Acquire(t.Context()); !errors.Is(err, errStranger) {
			t.Errorf("the queue's own error is returned as %v", err)
		}
		start := time.Now()
		_, err = l.Acquire(With(as("b"), Request{MaxWait: 3 * time.Second}))
		if timeout, ok := errors.AsType[*AcquireTimeoutError](err); !ok || timeout.Waited != 3*time.Second ||
			time.Since(start) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		gone, cancel := context.WithTimeout(as("c"), time.Second)
		defer cancel()
		if _, err := l.Acquire(gone); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gave up gets %v", err)
		}
		go func() { time.Sleep(time.Second); first.Report(Event{Outcome: OK, Status: 200}); first.Report(Event{}) }()
		second, err := l.Acquire(as("d"))
		if err != nil {
			t.Fatal(err)
		}
		go func() { time.Sleep(time.Second); _ = l.Close() }()
		if _, err := l.Acquire(as("e")); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		second.Report(Event{Outcome: OK, Status: 200})
		if diff := cmp.Diff([]string{"a in", "granted", "out", "d in", "granted", "out"}, q.log); diff != "" {
			t.Error(diff)
		}
	})
}

func TestARequestMayWaitLongerThanOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l, err := New(Config{Store: store, Tuning: Tuning{MaxWait: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		permit, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		permit.Report(Event{Outcome: Throttled, Status: 429, RetryAfter: Wait{Present: true, Duration: time.Minute}})
		if _, err := l.Acquire(t.Context()); !errors.As(err, new(*BlockedError)) {
			t.Errorf("a pause beyond max-wait gives %v", err)
		}
		start := time.Now()
		permit, err = l.Acquire(With(t.Context(), Request{MaxWait: time.Hour}))
		if err != nil || time.Since(start) < time.Minute-time.Second {
			t.Fatalf("after %s: %v", time.Since(start), err)
		}
		permit.Report(Event{Outcome: OK, Status: 200})
	})
}

func TestRetuneHoldsFromTheNextRequestOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := New(Config{Store: NewMemoryStore()})
		if err != nil {
			t.Fatal(err)
		}
		var wrong *TuningError
		if err := l.Retune(Tuning{RateBase: 90}); !errors.As(err, &wrong) {
			t.Errorf("a rate above the ceiling: %v", err)
		}
		if err := l.Retune(Tuning{RateBase: 7, Concurrency: 2}); err != nil {
			t.Fatal(err)
		}
		st, err := l.Status(t.Context())
		if err != nil || st.Rate != 7 || st.OwnSlots != 2 || l.Tuning().RateBase != 7 {
			t.Errorf("%+v, %v", st, err)
		}
	})
}
