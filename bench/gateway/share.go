package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

const (
	rateBase  = 35.0 // of the default tuning, and its bucket
	burstLast = rateBase/5 + 2
)

// standIn is a stand-in with a sliding limit of 40 requests a second.
func standIn() (*tmdbfake.Fake, *tmdbfake.Server, error) {
	limits, err := upstream.ParseLimits("sliding:40/1s")
	if err != nil {
		return nil, nil, err
	}
	return kit.StandIn(tmdbfake.Config{Limits: limits, Latency: upstream.Latency{Min: 20 * time.Millisecond, Max: 60 * time.Millisecond}})
}

// greed is how many requests each client has under way at any time: enough that one of them always waits.
var greed = []int{4, 5, 6, 8, 12, 16, 32, 64}

// clients is how eight clients of unequal greed share the rate.
func (t *trial) clients(ctx context.Context) error {
	fake, server, err := standIn()
	if err != nil {
		return err
	}
	defer server.Close()
	gateway, err := t.gateway(ctx, "clients", server.URL(), "", "--listen", "unix:"+filepath.Join(t.dir, "clients.sock"))
	if err != nil {
		return err
	}
	defer gateway.stop()
	log := filepath.Join(t.dir, "clients.log")
	gateway.cmd.Env = append(gateway.cmd.Env, "ANIVAULT_LOG_FILE="+log, "ANIVAULT_LOG_LEVEL=debug", "ANIVAULT_LOG_MAX_SIZE=1GB")
	tokens, err := t.tokens(ctx, gateway, len(greed))
	if err != nil {
		return err
	}
	if err := gateway.start(); err != nil {
		return err
	}
	run, cancel := context.WithTimeout(ctx, t.length)
	defer cancel()
	start := time.Now()
	var asking sync.WaitGroup
	for i, n := range greed {
		for range n {
			asking.Go(func() { askOn(run, gateway.url, tokens[i], i) })
		}
	}
	asking.Wait()
	refused, shares, seconds := count(fake, start, t.length, len(greed), func(e tmdbfake.Entry) int { return owner(e.Path) })
	tell(refused, shares, seconds, nil)
	gateway.stop()
	left, err := mostDeparted(log)
	if err != nil {
		return err
	}
	fmt.Printf("at most %d requests left the gateway within any second (the stand-in refuses from the 41st on that arrives in one)\n", left)
	return nil
}

var asked atomic.Int64

// askOn asks for what nobody has asked for, again and again.
func askOn(ctx context.Context, url, token string, who int) {
	c, base := client(url, 64)
	defer c.CloseIdleConnections()
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/3/movie/%d%07d", base, who+1, asked.Add(1)), nil)
		if err != nil {
			return
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := c.Do(req)
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// owner is whose request a path of askOn is, -1 for nobody's.
func owner(path string) int {
	if id, ok := strings.CutPrefix(path, "/3/movie/"); ok && len(id) == 8 {
		return int(id[0] - '1')
	}
	return -1
}

// count counts what the stand-in has seen once the bucket was empty for the first time: each one's requests, and in how many
// seconds.
func count(fake *tmdbfake.Fake, start time.Time, length time.Duration, n int, of func(tmdbfake.Entry) int) (refused int, shares []int, seconds float64) {
	from, to := time.Duration(burstLast*float64(time.Second)), length-500*time.Millisecond
	shares = make([]int, n)
	for _, e := range fake.Journal() {
		if e.Limiter == "limit" {
			refused++
		}
		if at := e.At.Sub(start); at < from || at >= to {
			continue
		}
		if i := of(e); i >= 0 && i < n {
			shares[i]++
		}
	}
	return refused, shares, (to - from).Seconds()
}

// tell prints shares. tickets are how much of the rate each should have; nil: the same.
func tell(refused int, shares []int, seconds float64, tickets []int) {
	all, weight := 0, 0
	for i, n := range shares {
		all += n
		if tickets != nil {
			weight += tickets[i]
		} else {
			weight++
		}
	}
	rate := float64(all) / seconds
	fmt.Printf("429s: %d; %.2f requests/s, %.3f of the rate\n", refused, rate, rate/rateBase)
	worst := 2.0
	for i, n := range shares {
		part := 1.0
		if tickets != nil {
			part = float64(tickets[i])
		}
		worst = min(worst, float64(n)/seconds/(rateBase*part/float64(weight)))
	}
	fmt.Printf("requests by each: %v; the one with the least has %.3f of its share\n", shares, worst)
}

// matchers begin the titles in the libraries of the processes beside the gateway.
var matchers = []string{"Brelvandor", "Crumfastig", "Dwolkiner", "Fjalmutter"}

// beside is how a gateway with 16 places and four matches of four share the rate.
func (t *trial) beside(ctx context.Context) error {
	fake, server, err := standIn()
	if err != nil {
		return err
	}
	defer server.Close()
	gateway, err := t.gateway(ctx, "beside", server.URL(), "", "--listen", "unix:"+filepath.Join(t.dir, "beside.sock"))
	if err != nil {
		return err
	}
	defer gateway.stop()
	for _, name := range matchers {
		if err := kit.Library(filepath.Join(t.dir, "beside", name), name, int(20*t.length.Seconds())); err != nil {
			return err
		}
	}
	if err := gateway.start(); err != nil {
		return err
	}
	run, cancel := context.WithTimeout(ctx, t.length)
	defer cancel()
	start := time.Now()
	var working sync.WaitGroup
	for range 48 {
		working.Go(func() { askOn(run, gateway.url, "", 0) })
	}
	for _, name := range matchers {
		cmd := exec.CommandContext(run, t.bin, "match", "--quiet", "--format", "ndjson", filepath.Join(t.dir, "beside", name))
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 10 * time.Second
		cmd.Env = append(slices.Clone(gateway.cmd.Env), "ANIVAULT_CONCURRENCY=4")
		working.Go(func() { _ = cmd.Run() }) // it is interrupted
	}
	working.Wait()
	conns := map[int]int{} // whose connection it is: not every request names a title
	for _, e := range fake.Journal() {
		query := strings.ToLower(e.Query)
		if i := slices.IndexFunc(matchers, func(m string) bool { return strings.Contains(query, strings.ToLower(m)) }); i >= 0 {
			conns[e.Conn] = i + 1
		}
	}
	refused, shares, seconds := count(fake, start, t.length, 5, func(e tmdbfake.Entry) int {
		if owner(e.Path) == 0 {
			return 0
		}
		if i := conns[e.Conn]; i > 0 {
			return i
		}
		return -1
	})
	tell(refused, shares, seconds, []int{16, 4, 4, 4, 4})
	return nil
}
