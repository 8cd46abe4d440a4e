package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/bench/virtual"
)

// The shared quota of Farkiani, Liu and Crowley, "Rethinking HTTP API Rate Limiting: A Client-Side Approach",
// arXiv:2510.04516, with the clients of https://github.com/Bfarkiani/ratelimiter. Clients ask for 500 or 800 things at
// random moments of five minutes, each for one at a time and until it is answered.

// envoy has a token bucket of 100, and adds 80 each minute, as Envoy's local rate limit does. Its 429s have no
// Retry-After.
type envoy struct {
	start time.Time

	mu             sync.Mutex
	tokens, minute int
	refused        int
}

// RoundTrip implements http.RoundTripper.
func (s *envoy) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := peers.Sleep(req.Context(), time.Duration(jittered(0.5)*float64(10*time.Millisecond))); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for minute := int(time.Since(s.start).Minutes()); s.minute < minute; s.minute++ {
		s.tokens = min(100, s.tokens+80)
	}
	if s.tokens == 0 {
		s.refused++
		return virtual.Response(req, http.StatusTooManyRequests, "")
	}
	s.tokens--
	return virtual.Response(req, http.StatusOK, "")
}

// unlimitedBackoff (UB) waits longer with each try, at most about half a minute.
func unlimitedBackoff() policy {
	longest := 30 + 4*rand.Float64() //nolint:gosec // no secret
	return policy{again: func(c *call, _ time.Duration) (time.Duration, bool) {
		most := min(math.Pow(2, float64(c.failed))-1, longest)
		return time.Duration((0.1 + rand.Float64()*(most-0.1)) * float64(time.Second)), true //nolint:gosec // no secret
	}}
}

// adaptiveBucket (ATB) is a token bucket whose rate grows by a fifth with each good answer and halves with each 429.
func adaptiveBucket() policy {
	const size = 40
	tokens, rate, last := 1.0, 40.0/60, time.Now()
	return policy{
		admit: func(now time.Time) (time.Duration, bool) {
			tokens = min(size, tokens+now.Sub(last).Seconds()*rate)
			wait := time.Duration(max(0, 1-tokens) / rate * float64(time.Second))
			tokens, last = max(0, tokens-1), now.Add(wait)
			return wait, true
		},
		answered: func(_ time.Time, status int) {
			if status == http.StatusOK {
				rate = max(rate+0.01, rate*1.2)
				return
			}
			rate, tokens = max(0.01, rate/2), 0
		},
		again: func(*call, time.Duration) (time.Duration, bool) { return 0, true },
	}
}

// sharedCase is a number of clients and of their requests.
type sharedCase struct{ clients, requests int }

var sharedCases = []sharedCase{{5, 500}, {5, 800}, {100, 500}, {100, 800}}

type sharedClient struct {
	name      string
	published map[sharedCase]string // fewer 429s and longer duration than UB
	client    maker
}

func sharedClients() []sharedClient {
	return []sharedClient{
		{"UB: exponential backoff", nil, published(unlimitedBackoff)},
		{
			"ATB: adaptive token bucket",
			map[sharedCase]string{{100, 500}: "−91.5 %; +24.3 %", {100, 800}: "−90.5 %; +23.1 %"},
			published(adaptiveBucket),
		},
		{
			"AATB: ATB with telemetry", map[sharedCase]string{
				{5, 500}: "−96.9 %; +13.3 %", {5, 800}: "−97.3 %; +19.8 %",
				{100, 500}: "−77.8 %; +26.4 %", {100, 800}: "−91.7 %; +11.7 %",
			}, nil,
		},
		{
			"**anivault, one machine, told the quota**", nil,
			ours("rate_base=1.33 bucket_cap=20 ceiling=80 ceiling_window=60s"),
		},
		{"**anivault, one machine**", nil, ours("")},
		{"**anivault, a machine a client**", nil, oursAlone("")},
	}
}

// sharedTable runs the experiment.
func sharedTable(together virtual.Together, seeds int) []string {
	type result struct {
		refused  int
		duration time.Duration
	}
	clients := sharedClients()
	results := map[string]*result{}
	var runs []func()
	var mu sync.Mutex
	for _, c := range clients {
		for _, at := range sharedCases {
			sum := &result{}
			results[fmt.Sprint(c.name, at)] = sum
			for range seeds {
				if c.client == nil {
					continue
				}
				runs = append(runs, func() {
					refused, duration := at.run(c.client)
					mu.Lock()
					defer mu.Unlock()
					sum.refused += refused
					sum.duration += duration
				})
			}
		}
	}
	together(runs...)
	head, under := "| client |", "|---|"
	for _, at := range sharedCases {
		head += fmt.Sprintf(" %d clients, %d requests: published | here |", at.clients, at.requests)
		under += "---|---|"
	}
	lines := []string{head, under}
	for i, c := range clients {
		line := fmt.Sprintf("| %s |", c.name)
		for _, at := range sharedCases {
			r, base := results[fmt.Sprint(c.name, at)], results[fmt.Sprint(clients[0].name, at)]
			here := "not run"
			switch {
			case i == 0:
				here = fmt.Sprintf("%d × 429; %.0f s", r.refused/seeds, r.duration.Seconds()/float64(seeds))
			case c.client != nil:
				here = fmt.Sprintf("%s; %s", change(float64(r.refused), float64(base.refused)),
					change(r.duration.Seconds(), base.duration.Seconds()))
			}
			published := c.published[at]
			if published == "" {
				published = "–"
			}
			line += fmt.Sprintf(" %s | %s |", published, here)
		}
		lines = append(lines, line)
	}
	return lines
}

// change says by how many percent a figure is above or below another.
func change(now, was float64) string {
	percent := math.Round(1000*(now-was)/max(was, 1)) / 10
	if percent < 0 {
		return fmt.Sprintf("−%.1f %%", -percent)
	}
	return fmt.Sprintf("+%.1f %%", percent)
}

// run returns how many 429s there were, and how long it took until everything was answered.
func (at sharedCase) run(client maker) (refused int, duration time.Duration) {
	server := &envoy{start: time.Now(), tokens: 100}
	next, end := client(server)
	defer end()
	start := time.Now()
	var group sync.WaitGroup
	for i := range at.clients {
		do := next()
		perClient := at.requests / at.clients
		group.Go(func() {
			time.Sleep(time.Duration(i) * time.Second / 2 % (10 * time.Second))
			begin, moments := time.Now(), make([]float64, perClient)
			for j := range moments {
				moments[j] = 300 * rand.Float64() //nolint:gosec // no secret
			}
			slices.Sort(moments)
			for _, seconds := range moments {
				time.Sleep(time.Until(begin.Add(time.Duration(seconds * float64(time.Second)))))
				for virtual.Get(context.Background(), do, "/") != nil {
					_ = peers.Sleep(context.Background(), time.Second)
				}
			}
		})
	}
	group.Wait()
	return server.refused, time.Since(start)
}
