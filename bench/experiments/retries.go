package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/bench/virtual"
)

// Marc Brooker's simulation of retries: https://brooker.co.za/blog/2022/02/28/retries.html, and
// https://github.com/mbrooker/simulator_example, retry_sim/. Calls arrive at random, whether those before have ended or
// not, at a server that fails a share of all requests. There it is 1,000 calls a second for 10 s, here 100 for 100 s:
// the ceiling of the limiter ends at 400, and each client makes as many calls.

const (
	retryCalls  = 100.0
	retryLength = 100 * time.Second
)

var (
	retryClients  = []int{10, 100, 1000}
	retryFailures = []float64{0.01, 0.05, 0.10, 0.20, 0.30, 0.50, 1}
)

// failing is a server that fails a share of the requests. Either way takes 10 ms on average.
type failing struct {
	share float64

	mu   sync.Mutex
	sent int
}

// RoundTrip implements http.RoundTripper.
func (s *failing) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := peers.Sleep(req.Context(), gap(100)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.sent++
	s.mu.Unlock()
	status := http.StatusOK
	if rand.Float64() < s.share { //nolint:gosec // no secret
		status = http.StatusInternalServerError
	}
	if err := peers.Sleep(req.Context(), gap(100)); err != nil {
		return nil, err
	}
	return virtual.Response(req, status, "")
}

// retryBucket lets a call be tried again for a token. Every call brings a share of one.
func retryBucket(share, size float64) policy {
	tokens := size
	return policy{
		begin: func(*call) { tokens = min(size, tokens+share) },
		again: func(*call, time.Duration) (time.Duration, bool) {
			if tokens <= 1 {
				return 0, false
			}
			tokens--
			return 0, true
		},
	}
}

// retryBreaker tries a call again three times, unless more than a share of the calls have failed so far.
func retryBreaker(share float64) policy {
	calls, failures := 0.0, 0.0
	return policy{
		begin: func(*call) { calls++ },
		again: func(c *call, _ time.Duration) (time.Duration, bool) {
			failures++
			return 0, failures/calls <= share && c.failed <= 3
		},
	}
}

// fast are the settings of ours for so many calls and their retries.
const fast = "rate_base=400 bucket_cap=100 ceiling=400 concurrency=256 concurrency_total=256"

type retryStrategy struct {
	name      string
	published string
	client    maker
	many      bool // the page has it for 10, 100 and 1,000 clients; else for 100
	waits     bool // while the server is down
}

func retryStrategies() []retryStrategy {
	return []retryStrategy{
		{"no retries", "x fail; load 1", published(func() policy { return upTo(0) }), false, false},
		{"three retries", "load 4 at 100 %", published(func() policy { return upTo(3) }), false, false},
		{
			"retry bucket, 10 %", "load about 1.1 far above 10 %", published(func() policy { return retryBucket(0.1, 5) }),
			true, false,
		},
		{"retry breaker, 10 %", "graphs only", published(func() policy { return retryBreaker(0.1) }), true, false},
		{"**anivault**", "–", ours(fast), true, true},
	}
}

// retryTable runs the experiment.
func retryTable(together virtual.Together) []string {
	type result struct {
		calls, good, sent int
		took              []time.Duration // of good calls
	}
	type row struct {
		name    string
		results []result
	}
	var rows []*row
	var runs []func()
	for _, s := range retryStrategies() {
		for _, clients := range retryClients {
			if !s.many && clients != 100 {
				continue
			}
			r := &row{fmt.Sprintf("%s | %s | %d", s.name, s.published, clients), make([]result, len(retryFailures))}
			rows = append(rows, r)
			for i, share := range retryFailures {
				runs = append(runs, func() {
					server, out, length := &failing{share: share}, &r.results[i], retryLength
					if share == 1 && s.waits {
						length /= 5 // nothing new happens in the rest, in which ten thousand calls would wait
					}
					next, end := s.client(server)
					defer end()
					var mu sync.Mutex
					var group sync.WaitGroup
					for range clients {
						do := next()
						group.Go(func() {
							arrivals(do, retryCalls/float64(clients), length, func(ok bool, _, took time.Duration) {
								mu.Lock()
								defer mu.Unlock()
								out.calls++
								if ok {
									out.good++
									out.took = append(out.took, took)
								}
							})
						})
					}
					group.Wait()
					out.sent = server.sent
				})
			}
		}
	}
	together(runs...)
	head, under := "| client | published | clients |", "|---|---|---|"
	for _, share := range retryFailures {
		head += fmt.Sprintf(" here: %.0f %% fail |", 100*share)
		under += "---|"
	}
	lines := []string{head + " 95 % of the calls answered at 20 % take |", under + "---|"}
	for _, r := range rows {
		var cells []string
		for _, x := range r.results {
			cells = append(cells, fmt.Sprintf("%.1f; %.2f", percent(x.good, x.calls), float64(x.sent)/float64(x.calls)))
		}
		took := r.results[slices.Index(retryFailures, 0.20)].took
		slices.Sort(took)
		lines = append(lines, fmt.Sprintf("| %s | %s | %.2f s |", r.name, strings.Join(cells, " | "),
			took[len(took)*95/100].Seconds()))
	}
	return lines
}
