package limiter

import (
	"context"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	fsrate "github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"
)

// eachWay runs the benchmark with one goroutine and with as many as there are cores.
func eachWay(b *testing.B, request func() error) {
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := request(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := request(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// faster returns a clock that runs so fast that no request waits. It and the clock that it is made of agree at first.
func faster() func(ratelimit.Instant) ratelimit.Instant {
	var first ratelimit.Instant
	return func(at ratelimit.Instant) ratelimit.Instant {
		if first.BootID == "" {
			first = at
		}
		ahead := (at.Boot - first.Boot) * 1000
		at.Boot, at.Wall = at.Boot+ahead, at.Wall.Add(ahead)
		return at
	}
}

// fast is a store in memory with such a clock.
type fast struct {
	*ratelimit.MemoryStore
	clock func(ratelimit.Instant) ratelimit.Instant
}

func (f fast) Update(ctx context.Context, fn func(ratelimit.Instant, *ratelimit.Snapshot) error) error {
	return f.MemoryStore.Update(ctx, func(at ratelimit.Instant, s *ratelimit.Snapshot) error { return fn(f.clock(at), s) })
}

func newLimiter(b *testing.B, store ratelimit.Store) *ratelimit.Limiter {
	t := ratelimit.Default()
	t.RateBase, t.Ceiling, t.CeilingWindow = 400, 400, time.Millisecond
	t.Concurrency, t.ConcurrencyTotal = 64, 64
	l, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: t})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	return l
}

func acquireAndDone(l *ratelimit.Limiter) func() error {
	ctx := context.Background()
	return func() error {
		p, err := l.Acquire(ctx)
		if err != nil {
			return err
		}
		p.Done(ratelimit.Event{Outcome: ratelimit.OK, Status: 200, Latency: time.Millisecond})
		return nil
	}
}

func BenchmarkAnivaultMemory(b *testing.B) {
	eachWay(b, acquireAndDone(newLimiter(b, fast{ratelimit.NewMemoryStore(), faster()})))
}

func BenchmarkAnivaultFile(b *testing.B) {
	clock := faster()
	now := func() ratelimit.Instant { return clock(ratelimit.SystemInstant()) }
	st, err := ratelimit.OpenFileStore(b.TempDir(), ratelimit.FileOptions{Now: now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	eachWay(b, acquireAndDone(newLimiter(b, st)))
}

func BenchmarkXTimeRate(b *testing.B) {
	l := rate.NewLimiter(1e9, 1000)
	ctx := context.Background()
	eachWay(b, func() error { return l.Wait(ctx) })
}

func BenchmarkGobreaker(b *testing.B) {
	cb := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{})
	eachWay(b, func() error {
		_, err := cb.Execute(func() (int, error) { return 200, nil })
		return err
	})
}

func BenchmarkFailsafeBreaker(b *testing.B) {
	cb := circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.2, 20, 30*time.Second).Build()
	ex := failsafe.With[int](cb)
	eachWay(b, func() error {
		_, err := ex.Get(func() (int, error) { return 200, nil })
		return err
	})
}

func BenchmarkFailsafeLimiterBreakerRetry(b *testing.B) {
	ex := failsafe.With[int](
		retrypolicy.NewBuilder[int]().WithMaxRetries(4).WithBackoff(time.Second, 30*time.Second).Build(),
		circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.2, 20, 30*time.Second).Build(),
		fsrate.NewBurstyBuilder[int](1<<40, time.Second).WithMaxWaitTime(time.Minute).Build(),
	)
	eachWay(b, func() error {
		_, err := ex.Get(func() (int, error) { return 200, nil })
		return err
	})
}
