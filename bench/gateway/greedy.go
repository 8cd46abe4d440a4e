package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/kit"
)

// Those who ask seldom beside the one of whose requests so many wait at any time.
const (
	greedyWaits = 500
	lightOnes   = 4
)

const greedyYAML = "serve: {queue: {max: 1000, per_client: 600}, acquire_timeout: {interactive: 5m}}\n"

// greedy is how much later four light clients are answered while 500 requests of another one wait.
func (t *trial) greedy(ctx context.Context) error {
	_, server, err := standIn()
	if err != nil {
		return err
	}
	defer server.Close()
	gateway, err := t.gateway(ctx, "greedy", server.URL(), greedyYAML, "--listen", "unix:"+filepath.Join(t.dir, "greedy.sock"))
	if err != nil {
		return err
	}
	defer gateway.stop()
	tokens, err := t.tokens(ctx, gateway, lightOnes+1)
	if err != nil {
		return err
	}
	if err := gateway.start(); err != nil {
		return err
	}
	wait(ctx, time.Second)
	alone := lightAsk(ctx, gateway.url, tokens[1:], t.length/2)
	run, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	for range greedyWaits {
		asking.Go(func() { askOn(run, gateway.url, tokens[0], 0) })
	}
	wait(ctx, burstLast*time.Second)
	beside := lightAsk(ctx, gateway.url, tokens[1:], t.length/2)
	cancel()
	asking.Wait()
	a, b := kit.Quantile(alone, .5), kit.Quantile(beside, .5)
	fmt.Printf("%d requests of one client wait: the median answer of %d light ones takes %.0f ms, without them %.0f ms: %.0f ms later (goal: 100)\n",
		greedyWaits, lightOnes, b, a, b-a)
	return nil
}

// lightAsk lets each client ask about once a second, and returns how long the answers took, in milliseconds.
func lightAsk(ctx context.Context, url string, tokens []string, length time.Duration) (took []float64) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	end := time.Now().Add(length)
	for i, token := range tokens {
		asking.Go(func() {
			c, base := client(url, 1)
			defer c.CloseIdleConnections()
			for time.Now().Before(end) && ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/3/movie/%d%07d", base, i+2, asked.Add(1)), nil)
				if err != nil {
					return
				}
				req.Header.Set("Authorization", "Bearer "+token)
				begun := time.Now()
				resp, err := c.Do(req)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err == nil {
					mu.Lock()
					took = append(took, float64(time.Since(begun))/float64(time.Millisecond))
					mu.Unlock()
				}
				wait(ctx, time.Second+time.Duration(i)*37*time.Millisecond)
			}
		})
	}
	asking.Wait()
	return took
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// tokens makes clients.
func (t *trial) tokens(ctx context.Context, gateway *server, n int) (tokens []string, err error) {
	for i := range n {
		cmd := exec.CommandContext(ctx, t.bin, "serve", "token", "new", fmt.Sprintf("client-%d", i))
		cmd.Env = gateway.cmd.Env
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("make a token: %w", err)
		}
		tokens = append(tokens, strings.TrimSpace(string(out)))
	}
	return tokens, nil
}

var departure = regexp.MustCompile(`(?:ts|time)=(\S+) .*event=slot_acquired `)

// mostDeparted reads from a gateway's log how many requests left within any second at most: what the upstream refuses
// although that was within its limit came late.
func mostDeparted(file string) (most int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var left []time.Time
	first := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m := departure.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, m[1])
		if err != nil {
			return 0, err
		}
		left = append(left, at)
		for at.Sub(left[first]) >= time.Second {
			first++
		}
		most = max(most, len(left)-first)
	}
	return most, nil
}
