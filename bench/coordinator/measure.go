package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/ratelimit"
)

const (
	rate     = 35.0 // of the default tuning
	machines = 4
	callers  = 8
)

// fleet are the processes of some machines and the way of each machine to the server.
type fleet struct {
	processes []*process
	proxies   []*redistest.Proxy
	upstream  *upstream
}

// send starts processes that send to an upstream.
func (b *bench) send(kind string, processes, callers int, answer, longer time.Duration) (*fleet, error) {
	dir, err := b.place()
	if err != nil {
		return nil, err
	}
	f := &fleet{upstream: newUpstream(answer)}
	for range machines {
		p, err := redistest.NewProxy(b.server.Addr)
		if err != nil {
			return nil, err
		}
		p.SetDelay(longer)
		f.proxies = append(f.proxies, p)
	}
	for i := range processes {
		machine, at := 0, b.server.Addr
		if kind == "redis" {
			machine = i % machines
			if longer > 0 || processes == machines {
				at = f.proxies[machine].Addr
			}
		}
		url := fmt.Sprintf("%s/%d", f.upstream.URL, i)
		p, err := start(b.ctx, kind, "send", at, filepath.Join(dir, fmt.Sprint(machine)), url, callers)
		if err != nil {
			return nil, err
		}
		f.processes = append(f.processes, p)
	}
	return f, nil
}

// end ends all and returns how many permits and round trips there were.
func (f *fleet) end() (permits, trips int64, err error) {
	for _, p := range f.processes {
		p.stdin.Close()
	}
	for _, p := range f.processes {
		n, m, err := p.end()
		if err != nil {
			return 0, 0, err
		}
		permits, trips = permits+n, trips+m
	}
	f.upstream.Close()
	for _, p := range f.proxies {
		p.Close()
	}
	return permits, trips, nil
}

func (b *bench) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-b.ctx.Done():
	}
}

// steady is 16 processes after the bucket was first empty.
func (b *bench) steady(kind string, answer, longer time.Duration) (string, error) {
	f, err := b.send(kind, 16, callers, answer, longer)
	if err != nil {
		return "", err
	}
	b.sleep(4 * time.Second)
	from := time.Now()
	b.sleep(b.length)
	to := time.Now()
	good, refused, by := f.upstream.between(from, to)
	permits, trips, err := f.end()
	if err != nil {
		return "", err
	}
	sum, squares := 0.0, 0.0
	for _, n := range by {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	got := float64(good) / to.Sub(from).Seconds()
	text := list(fmt.Sprintf("%.3f of the rate (%.1f/s)", got/rate, got),
		fmt.Sprintf("%d x 429 of %d", refused, good+refused), fmt.Sprintf("fairness %.3f", sum*sum/squares/16))
	if kind == "redis" {
		text = list(text, fmt.Sprintf("%.1f round trips a permit", float64(trips)/float64(permits)))
	}
	return text, nil
}

// uncontended takes permits one after the other, in turns with redis_rate.
func (b *bench) uncontended() (string, error) {
	dir, err := b.place()
	if err != nil {
		return "", err
	}
	store, _, err := openStore("redis", b.server.Addr, dir)
	if err != nil {
		return "", err
	}
	defer store.Close()
	tuning := ratelimit.Default()
	tuning.RateBase, tuning.BucketCap, tuning.Ceiling = 400, 400, 400
	limiter, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: tuning})
	if err != nil {
		return "", err
	}
	client := redis.NewClient(&redis.Options{Addr: b.server.Addr, MaxRetries: -1})
	defer client.Close()
	other := redis_rate.NewLimiter(client)
	var ours, theirs []time.Duration
	for range 2000 {
		time.Sleep(2 * time.Millisecond) // the same rest before both: what comes first after one is slower
		start := time.Now()
		p, err := limiter.Acquire(b.ctx)
		if err != nil {
			return "", err
		}
		ours = append(ours, time.Since(start))
		p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
		time.Sleep(2 * time.Millisecond)
		start = time.Now()
		if _, err := other.Allow(b.ctx, "bench", redis_rate.PerSecond(400)); err != nil {
			return "", err
		}
		theirs = append(theirs, time.Since(start))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	ratio := func(p float64) float64 { return float64(percentile(ours, p)) / float64(percentile(theirs, p)) }
	return list(fmt.Sprintf("p50 %.2f x (%v / %v)", ratio(0.5), percentile(ours, 0.5), percentile(theirs, 0.5)),
		fmt.Sprintf("p99 %.2f x (%v / %v)", ratio(0.99), percentile(ours, 0.99), percentile(theirs, 0.99))), nil
}

// tripsAlone counts the round trips of a process that is alone.
func (b *bench) tripsAlone() (string, error) {
	dir, err := b.place()
	if err != nil {
		return "", err
	}
	store, backend, err := openStore("redis", b.server.Addr, dir)
	if err != nil {
		return "", err
	}
	defer store.Close()
	limiter, err := ratelimit.New(ratelimit.Config{Store: store})
	if err != nil {
		return "", err
	}
	const n = 30 // what the bucket holds: nothing is waited for
	take := func() error {
		p, err := limiter.Acquire(b.ctx)
		if err == nil {
			p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
		}
		return err
	}
	if err := take(); err != nil {
		return "", err
	}
	before := backend.RoundTrips()
	for range n {
		if err := take(); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%.2f", float64(backend.RoundTrips()-before)/n), nil
}

// tripsWaiting counts those of 16 processes of which each has one request that waits.
func (b *bench) tripsWaiting() (string, error) {
	f, err := b.send("redis", 16, 1, 40*time.Millisecond, 0)
	if err != nil {
		return "", err
	}
	b.sleep(b.length)
	permits, trips, err := f.end()
	return fmt.Sprintf("%.1f", float64(trips)/float64(permits)), err
}

// gone takes the server away from four machines, and gives it back: connections are closed and refused.
func (b *bench) gone() (string, error) { return b.without((*redistest.Proxy).SetDown) }

// silent is gone in a harder way: nothing is refused, nothing answers.
func (b *bench) silent() (string, error) { return b.without((*redistest.Proxy).SetSilent) }

func (b *bench) without(set func(*redistest.Proxy, bool)) (string, error) {
	f, err := b.send("redis", machines, callers, 40*time.Millisecond, 0)
	if err != nil {
		return "", err
	}
	b.sleep(5 * time.Second)
	for _, p := range f.proxies {
		set(p, true)
	}
	lost := time.Now()
	b.sleep(b.length)
	back := time.Now()
	slowest := time.Duration(0)
	for i := range machines {
		at, ok := f.upstream.first(lost.Add(50*time.Millisecond), fmt.Sprintf("/%d", i))
		if !ok {
			at = back
		}
		slowest = max(slowest, at.Sub(lost))
	}
	_, refused, by := f.upstream.between(lost.Add(2*time.Second), back)
	least := 1e9
	for i := range machines {
		got := float64(by[fmt.Sprintf("/%d", i)]) / (back.Sub(lost) - 2*time.Second).Seconds()
		least = min(least, got/(rate/machines))
	}
	for _, p := range f.proxies {
		set(p, false)
	}
	whole := time.Duration(-1)
	for waited := time.Duration(0); waited < 20*time.Second && whole < 0; waited = time.Since(back) {
		b.sleep(50 * time.Millisecond)
		now := time.Now()
		// The second that begins there has the whole rate.
		if good, _, _ := f.upstream.between(now.Add(-time.Second), now); good >= 34 && now.Sub(back) > 1500*time.Millisecond {
			whole = now.Add(-time.Second).Sub(back)
		}
	}
	if _, _, err := f.end(); err != nil {
		return "", err
	}
	return list(fmt.Sprintf("flows after %.2f s", slowest.Seconds()), fmt.Sprintf("each machine %.2f of its part", least),
		fmt.Sprintf("%d x 429", refused), fmt.Sprintf("back after %.1f s", whole.Seconds())), nil
}

// killed kills a process that holds all slots, seen from its own machine and from another.
func (b *bench) killed() (string, error) {
	var took []time.Duration
	for _, same := range []bool{true, false} {
		dir, err := b.place()
		if err != nil {
			return "", err
		}
		holder, err := start(b.ctx, "redis", "hold", b.server.Addr, filepath.Join(dir, "0"), "", 2)
		if err != nil {
			return "", err
		}
		if _, err := holder.out.ReadString('\n'); err != nil {
			return "", err
		}
		at := filepath.Join(dir, "1")
		if same {
			at = filepath.Join(dir, "0")
		}
		store, _, err := openStore("redis", b.server.Addr, at)
		if err != nil {
			return "", err
		}
		tuning := ratelimit.Default()
		tuning.Concurrency, tuning.ConcurrencyTotal = 2, 2
		limiter, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: tuning})
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
		var killed time.Time
		timer := time.AfterFunc(4*time.Second, func() {
			killed = time.Now()
			_ = holder.cmd.Process.Kill()
		})
		_, err = limiter.Acquire(ctx)
		got := time.Now()
		timer.Stop()
		cancel()
		if err != nil {
			return "", err
		}
		took = append(took, got.Sub(killed))
		_ = holder.cmd.Wait()
		_ = store.Close()
	}
	return list(fmt.Sprintf("%.1f s", took[0].Seconds()), fmt.Sprintf("%.1f s", took[1].Seconds())), nil
}
