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

// fast is a store whose clock runs so fast that no request waits.
type fast struct {
	ratelimit.Store
	since time.Duration
}

func (f fast) Update(ctx context.Context, fn func(ratelimit.Instant, *ratelimit.Snapshot) error) error {
	return f.Store.Update(ctx, func(at ratelimit.Instant, s *ratelimit.Snapshot) error {
		at.Boot += (at.Boot - f.since) * 100_000
		return fn(at, s)
	})
}

func newLimiter(b *testing.B, store ratelimit.Store) *ratelimit.Limiter {
	t := ratelimit.Default()
	t.RateBase, t.Ceiling, t.CeilingWindow = 400, 400, time.Millisecond
	t.Concurrency, t.ConcurrencyTotal = 64, 64
	var since time.Duration
	err := store.Update(context.Background(), func(at ratelimit.Instant, _ *ratelimit.Snapshot) error {
		since = at.Boot
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	l, err := ratelimit.New(ratelimit.Config{Store: fast{store, since}, Tuning: t})
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
	eachWay(b, acquireAndDone(newLimiter(b, ratelimit.NewMemoryStore())))
}

func BenchmarkAnivaultFile(b *testing.B) {
	st, err := ratelimit.OpenFileStore(b.TempDir(), ratelimit.FileOptions{})
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
