package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/ratelimit"
)

// calls measures permits and the cache in this process.
func calls(ctx context.Context, tmp string) error {
	clock, began := fastClock(), time.Now()
	file, err := ratelimit.OpenFileStore(filepath.Join(tmp, "state"), ratelimit.FileOptions{
		Now: func() ratelimit.Instant {
			return clock(ratelimit.Instant{Wall: time.Now(), Boot: time.Since(began), BootID: "bench"})
		},
	})
	if err != nil {
		return err
	}
	defer file.Close()
	stored, err := cache.Open(filepath.Join(tmp, "cache"), cache.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = stored.Close() }() // a cache that nobody reads again
	fmt.Printf("\n%-50s %9s %9s %9s\n", "single calls, microseconds", "mean", "p50", "p99")
	permit := func(name string, store ratelimit.Store) error {
		t := ratelimit.Default()
		t.RateBase, t.Ceiling, t.CeilingWindow = 400, 400, time.Millisecond
		l, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: t})
		if err != nil {
			return err
		}
		defer l.Close()
		return each(name, 20_000, func(int) error {
			p, err := l.Acquire(ctx)
			if err == nil {
				p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200, Latency: time.Millisecond})
			}
			return err
		})
	}
	if err := permit("Acquire and Done, in memory", fastMemory{ratelimit.NewMemoryStore(), fastClock()}); err != nil {
		return err
	}
	if err := permit("Acquire and Done, over the shared file", file); err != nil {
		return err
	}
	body := []byte(`{"id":1,"overview":"` + strings.Repeat("lorem ipsum ", 1000) + `"}`)
	key := func(i int) string { return fmt.Sprintf("GET http://api:80/3/tv/%d", i) }
	if err := each("cache put, 12 KB", 1000, func(i int) error {
		now := time.Now()
		return stored.Put(ctx, &cache.Entry{
			Key: key(i), Status: 200, Body: body, FetchedAt: now, ExpiresAt: now.Add(time.Hour),
		})
	}); err != nil {
		return err
	}
	return each("cache get, 12 KB", 1000, func(i int) error {
		_, found, err := stored.Get(ctx, key(i))
		if err == nil && !found {
			err = fmt.Errorf("entry %d is missing", i)
		}
		return err
	})
}

// each prints how long one of n calls takes.
func each(name string, n int, call func(i int) error) error {
	took := make([]time.Duration, n)
	begin := time.Now()
	last := begin
	for i := range took {
		if err := call(i); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		now := time.Now()
		took[i], last = now.Sub(last), now
	}
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	fmt.Printf("%-50s %9.2f %9.2f %9.2f\n", name, us(last.Sub(begin))/float64(n),
		us(kit.Quantile(took, 0.5)), us(kit.Quantile(took, 0.99)))
	return nil
}

// fastClock returns a clock a thousand times as fast as the one it is given, so that no permit waits. Both agree at
// the first call.
func fastClock() func(ratelimit.Instant) ratelimit.Instant {
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

// fastMemory is a store in memory with a fast clock.
type fastMemory struct {
	ratelimit.Store
	clock func(ratelimit.Instant) ratelimit.Instant
}

func (f fastMemory) Update(ctx context.Context, fn func(ratelimit.Instant, *ratelimit.Snapshot) error) error {
	return f.Store.Update(ctx, func(at ratelimit.Instant, s *ratelimit.Snapshot) error { return fn(f.clock(at), s) })
}
