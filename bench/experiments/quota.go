package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/bench/virtual"
)

// The quota simulation of stkai-sdk-python: https://github.com/rafaelpontezup/stkai-sdk-python, simulations/.
// A hundred requests a minute for all processes; each has eight workers, who together ask for 200 a minute.

const (
	quota        = 100
	quotaMinutes = 5
	quotaWorkers = 8
)

var quotaProcesses = []int{1, 2, 3, 5, 7, 10}

// quotaServer counts calendar minutes. A refusal asks for 5 s, and an answer takes the longer the more of the minute's
// quota is used.
type quotaServer struct {
	start time.Time

	mu            sync.Mutex
	minute, used  int
	sent, refused int
}

// RoundTrip implements http.RoundTripper.
func (s *quotaServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.sent++
	if minute := int(time.Since(s.start).Minutes()); minute != s.minute {
		s.minute, s.used = minute, 0
	}
	status, after, took := http.StatusTooManyRequests, "5", 10*time.Millisecond
	if s.used < quota {
		s.used++
		load := min(float64(s.used)/quota, 0.95)
		status, after, took = http.StatusOK, "", time.Duration(0.2/(1-load)*jittered(0.2)*float64(time.Second))
	} else {
		s.refused++
	}
	s.mu.Unlock()
	if err := peers.Sleep(req.Context(), took); err != nil {
		return nil, err
	}
	return virtual.Response(req, status, after)
}

// backsOff is the retry of all of that simulation's clients: three times, from half a second on, or Retry-After.
func backsOff(c *call, after time.Duration) (time.Duration, bool) {
	wait := time.Duration(jittered(0.1) * math.Pow(2, float64(c.failed-1)) * float64(time.Second/2))
	return max(wait, after), c.failed <= 3
}

// aimd is its adaptive client: a token bucket whose size and rate shrink by a share with each 429, and grow with each
// good answer.
func aimd(penalty, recovery, floor float64, patience time.Duration) policy {
	size, tokens, last := float64(quota), float64(quota), time.Time{}
	return policy{
		admit: func(now time.Time) (time.Duration, bool) {
			if !last.IsZero() {
				tokens = min(size, tokens+now.Sub(last).Minutes()*size)
			}
			last = now
			wait := time.Duration(0)
			if tokens < 1 {
				wait = time.Duration((1 - tokens) / size * jittered(0.2) * float64(time.Minute))
			}
			if wait > patience {
				return 0, false
			}
			tokens--
			return wait, true
		},
		answered: func(_ time.Time, status int) {
			if status == http.StatusOK {
				size = min(quota, size+quota*recovery*jittered(0.2))
				return
			}
			size = max(quota*floor, size*(1-penalty*jittered(0.2)))
			tokens = min(tokens, size)
		},
		again: backsOff,
	}
}

// fixedBucket is its token bucket of 33 a minute, a third of the quota.
func fixedBucket() policy {
	const size = 33.0
	tokens, last := size, time.Time{}
	admit := func(now time.Time) (time.Duration, bool) {
		if !last.IsZero() {
			tokens = min(size, tokens+now.Sub(last).Minutes()*size)
		}
		last = now
		wait := max(0, time.Duration((1-tokens)/size*float64(time.Minute)))
		if wait > 45*time.Second {
			return 0, false
		}
		tokens--
		return wait, true
	}
	return policy{admit: admit, again: backsOff}
}

// The settings of ours that say how large the quota is, and that let eight workers of ten processes ask at once.
const (
	told         = "rate_base=1.66 bucket_cap=100 ceiling=100 ceiling_window=60s"
	eightWorkers = " concurrency=8 concurrency_total=80"
)

// quotaClient is a row of the table.
type quotaClient struct {
	name      string
	published map[int]string // success in %, by the number of processes; the rest are graphs
	client    maker
}

func quotaClients() []quotaClient {
	return []quotaClient{
		{
			"no limit, three retries",
			map[int]string{1: "93", 10: "28"},
			published(func() policy { return policy{again: backsOff} }),
		},
		{"token bucket, 33 a minute each", map[int]string{1: "100"}, published(fixedBucket)},
		{
			"AIMD, optimistic",
			map[int]string{10: "57"},
			published(func() policy { return aimd(0.15, 0.1, 0.3, 20*time.Second) }),
		},
		{
			"AIMD, balanced",
			map[int]string{10: "75"},
			published(func() policy { return aimd(0.3, 0.05, 0.1, 45*time.Second) }),
		},
		{
			"AIMD, conservative",
			map[int]string{10: "95"},
			published(func() policy { return aimd(0.5, 0.02, 0.05, 2*time.Minute) }),
		},
		{"**anivault, told the quota**", nil, ours(told + eightWorkers)},
		{"**anivault, not told**", nil, ours(eightWorkers)},
	}
}

// quotaRun lets all workers ask, and returns how many calls ended in time and how many of them well.
func quotaRun(s *quotaServer, client maker, processes int) (done, good int) {
	next, end := client(s)
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), quotaMinutes*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range processes {
		do := next()
		for range quotaWorkers {
			workers.Go(func() {
				for peers.Sleep(ctx, gap(2*quota/60.0/quotaWorkers)) == nil {
					// No deadline: a client that sees one may give up before it.
					call, end := context.WithCancel(context.WithoutCancel(ctx))
					stop := context.AfterFunc(ctx, end)
					err := virtual.Get(call, do, "/")
					stop()
					end()
					if ctx.Err() != nil {
						return
					}
					mu.Lock()
					done++
					if err == nil {
						good++
					}
					mu.Unlock()
				}
			})
		}
	}
	workers.Wait()
	return done, good
}

// quotaTable runs the experiment.
func quotaTable(together virtual.Together, seeds int) []string {
	clients := quotaClients()
	type result struct{ done, good, sent, refused int }
	results := make([][]result, len(clients))
	var mu sync.Mutex
	var runs []func()
	for i, c := range clients {
		results[i] = make([]result, len(quotaProcesses))
		for j, processes := range quotaProcesses {
			for range seeds {
				runs = append(runs, func() {
					s := &quotaServer{start: time.Now()}
					done, good := quotaRun(s, c.client, processes)
					mu.Lock()
					defer mu.Unlock()
					sum := &results[i][j]
					sum.done += done
					sum.good += good
					sum.sent += s.sent
					sum.refused += s.refused
				})
			}
		}
	}
	together(runs...)
	lines := []string{
		"| client | published success: 1 process, 10 processes | here: " + joined(quotaProcesses) +
			" processes | good a minute with 10 | of 10's requests 429 |",
		"|---|---|---|---|---|",
	}
	for i, c := range clients {
		var shares []string
		for _, r := range results[i] {
			shares = append(shares, fmt.Sprintf("%.0f", percent(r.good, r.done)))
		}
		last := results[i][len(quotaProcesses)-1]
		lines = append(lines, fmt.Sprintf("| %s | %s | %s %% | %.0f | %.0f %% |", c.name, c.both(),
			strings.Join(shares, ", "),
			float64(last.good)/float64(seeds)/quotaMinutes, percent(last.refused, last.sent)))
	}
	return lines
}

func (c quotaClient) both() string {
	one, ten := c.published[1], c.published[10]
	switch {
	case one == "" && ten == "":
		return "–"
	case one == "":
		return "graph only; " + ten + " %"
	case ten == "":
		return one + " %; graph only"
	}
	return one + " %; " + ten + " %"
}

func joined(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ", ")
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
