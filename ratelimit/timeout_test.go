package ratelimit

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTwoTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Tuning.MaxRetries = -1 }, statuses(200))
		r.u.latency = time.Hour
		start := time.Now()
		_, err := r.get(t.Context())
		var late *RequestTimeoutError
		if !errors.Is(err, ErrRequestTimeout) || errors.Is(err, ErrAcquireTimeout) || !errors.As(err, &late) ||
			!late.Timeout() {
			t.Fatalf("%v", err)
		}
		if got := time.Since(start); got != 15*time.Second {
			t.Errorf("after %s", got)
		}
		if c := r.status().Counts; c.Network != 1 || c.Total() != 1 {
			t.Errorf("%+v", c)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Tuning.Concurrency, c.Tuning.MaxWait = 2, 10*time.Second }, statuses(200))
		// A stranger keeps all slots there are.
		other, _ := New(Config{Store: r.l.store, Tuning: func() Tuning {
			t := Default()
			t.Concurrency,
				t.ConcurrencyTotal = 2, 2
			return t
		}()})
		for range 2 {
			if _, err := other.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		_, err := r.l.Acquire(t.Context())
		var late *AcquireTimeoutError
		if !errors.Is(err, ErrAcquireTimeout) || errors.Is(err, ErrRequestTimeout) || !errors.As(err, &late) {
			t.Fatalf("%v", err)
		}
		if got := time.Since(start); got != 10*time.Second || late.Waited != got || late.Cause != ReasonSlot {
			t.Errorf("after %s: %v", got, late)
		}
		if st := r.status(); st.Waiting != 0 || st.Counts.Total() != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A probe that times out has failed: its permit must not run out before its report.
func TestAProbeThatTimesOutHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reasons []string
		r := newRig(t, func(c *Config) {
			c.Tuning.NFailures, c.Tuning.MaxRetries = 1, -1
			c.Hooks.OnTransition = func(tr Transition) { reasons = append(reasons, tr.Reason.String()) }
		}, statuses(200))
		r.u.latency = time.Hour
		var wg sync.WaitGroup
		for range 3 { // the others ask again and again while the probe is out
			wg.Go(func() {
				for range 2 {
					_, _ = r.get(t.Context())
				}
			})
		}
		wg.Wait()
		if got := strings.Join(reasons[:4], " "); got != "consecutive_failures sleep_elapsed probe_failed sleep_elapsed" {
			t.Errorf("%v", reasons)
		}
	})
}

func TestBlockedAtOnce(t *testing.T) {
	tests := []struct {
		name  string
		serve script
		gets  int
		state State
		cause Reason
		tune  func(*Config)
	}{
		{"a pause beyond max-wait", func(int, *http.Request) (*http.Response,
			error,
		) {
			return reply(429, "Retry-After", "200"), nil
		}, 1, Normal, ReasonPause, nil},
		{"a long Retry-After", func(int, *http.Request) (*http.Response, error) {
			return reply(429, "Retry-After", "3600"),
				nil
		}, 1, CacheOnly, ReasonRetryAfterLong, nil},
		{
			"a long Sleep", statuses(500), 3, Sleep, ReasonConsecutiveFailures,
			func(c *Config) { c.Tuning.SleepMin, c.Tuning.MaxRetries = 150*time.Second, -1; c.Tuning.NFailures = 2 },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tt.tune, tt.serve)
				var err error
				for range tt.gets {
					_, err = r.get(t.Context())
				}
				start := time.Now()
				_, err2 := r.get(t.Context())
				var blocked *BlockedError
				if !errors.As(err2, &blocked) || blocked.State != tt.state || blocked.Cause != tt.cause ||
					blocked.Until.Before(start) {
					t.Fatalf("%v", err2)
				}
				if tt.gets == 1 && !errors.As(err, &blocked) {
					t.Errorf("the retry was not refused: %v", err)
				}
				if time.Since(start) != 0 {
					t.Errorf("after %s", time.Since(start))
				}
			})
		})
	}
}

func TestMaxWaitIsTheSumOfAllWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Every answer costs 30 s of pause: after four of them two minutes are spent.
		r := newRig(t, func(c *Config) { c.Tuning.MaxRetries, c.Tuning.NThrottle, c.Tuning.NCacheOnly = 20, 50, 60 },
			func(int, *http.Request) (*http.Response, error) { return reply(429, "Retry-After", "30"), nil })
		start := time.Now()
		_, err := r.get(t.Context())
		var blocked *BlockedError
		if !errors.As(err, &blocked) || blocked.Cause != ReasonPause {
			t.Fatalf("%v", err)
		}
		if got := time.Since(start); got != 120*time.Second || r.u.tries() != 5 {
			t.Errorf("after %s and %d tries", got, r.u.tries())
		}
	})
}

func TestOfflineAsksNobody(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Offline = true }, statuses(200))
	_, err := r.get(t.Context())
	var blocked *BlockedError
	if !errors.As(err, &blocked) || !blocked.Offline() || !blocked.Until.IsZero() || r.u.tries() != 0 {
		t.Fatalf("%v after %d tries", err, r.u.tries())
	}
	other, _ := New(Config{Store: r.l.store})
	if st, _ := other.Status(t.Context()); st.Offline || st.State != Normal {
		t.Errorf("%+v", st)
	}
	if st := r.status(); !st.Offline {
		t.Error("the status does not say offline")
	}
}
