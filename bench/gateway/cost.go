package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/kit"
)

// cost is what a cached request costs, beside the peers.
func (t *trial) cost(ctx context.Context) error {
	upstream := httptest.NewServer(http.HandlerFunc(answer))
	defer upstream.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	gateway, err := t.gateway(ctx, "cost", upstream.URL, "", "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	servers := []*server{
		{name: "bare Go handler", cmd: pinned(ctx, self, "-role", "bare")},
		gateway,
		{name: "bare httputil.ReverseProxy", cmd: pinned(ctx, self, "-role", "proxy", "-target", upstream.URL)},
	}
	for _, s := range servers {
		defer s.stop()
		if err := s.start(); err != nil {
			return err
		}
	}
	if s, err := startNginx(ctx, filepath.Join(t.dir, "cost"), upstream.URL); err != nil {
		fmt.Println("without nginx:", err)
	} else {
		servers = append(servers, s)
		defer s.stop()
	}
	fmt.Printf("%d rounds of %d cached requests, 16 connections, %d bytes\n", t.rounds, t.requests, len(body))
	if err := t.turns(servers); err != nil {
		return err
	}
	base := kit.Quantile(servers[0].cost, .5)
	fmt.Printf("%-28s %12s %12s\n", "", "µs/request", "× bare")
	for _, s := range servers {
		median := kit.Quantile(s.cost, .5)
		fmt.Printf("%-28s %12.1f %12.2f\n", s.name, median, median/base)
	}
	fmt.Println("goals: 2 × the bare handler, 3 × nginx, 0.5 × ReverseProxy")
	return nil
}

// turns measures servers in turns, after a first round that does not count.
func (t *trial) turns(servers []*server) error {
	for _, s := range servers {
		if err := load(s.url, 320); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for range t.rounds {
		for _, s := range servers {
			if err := s.measure(t.requests); err != nil {
				return err
			}
		}
	}
	return nil
}

// latency is what a cached request waits at 500 a second, whether or not the one before was answered.
func (t *trial) latency(ctx context.Context) error {
	const rate = 500
	upstream := httptest.NewServer(http.HandlerFunc(answer))
	defer upstream.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	gateway, err := t.gateway(ctx, "latency", upstream.URL, "", "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	servers := []*server{{name: "bare Go handler", cmd: pinned(ctx, self, "-role", "bare")}, gateway}
	took := make([][]time.Duration, len(servers))
	for _, s := range servers {
		defer s.stop()
		if err := s.start(); err != nil {
			return err
		}
		if err := load(s.url, 320); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for range t.rounds {
		for i, s := range servers {
			more, err := openLoop(s.url, rate, 2*time.Second)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			took[i] = append(took[i], more...)
		}
	}
	for i, s := range servers {
		slices.Sort(took[i])
		fmt.Printf("%-28s p50 %6.3f ms, p99 %6.3f ms\n", s.name, ms(kit.Quantile(took[i], .5)), ms(kit.Quantile(took[i], .99)))
	}
	fmt.Printf("%-28s p50 %6.3f ms, p99 %6.3f ms (goals on an idle machine: 0.2 and 2)\n", "added",
		ms(kit.Quantile(took[1], .5)-kit.Quantile(took[0], .5)), ms(kit.Quantile(took[1], .99)-kit.Quantile(took[0], .99)))
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// openLoop asks at a rate, and returns how long each answer took from when its request was due.
func openLoop(url string, rate int, length time.Duration) ([]time.Duration, error) {
	c, base := client(url, 64)
	defer c.CloseIdleConnections()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		took  []time.Duration
		first error
	)
	start, every := time.Now(), time.Second/time.Duration(rate)
	for i := range int(length / every) {
		due := start.Add(time.Duration(i) * every)
		time.Sleep(time.Until(due))
		wg.Go(func() {
			err := get(c, base+path)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
			if err != nil && first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return took, first
}
