package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/virtual"
)

// The metastable trap: overload that goes on when its cause is over, because failed calls are tried again. Four workers
// do 44 requests a second and are asked for 35; for ten seconds they do half. A request that waits longer than half a
// second fails, but it is worked on all the same.

const (
	trapCalls     = 35.0
	trapLength    = 4 * time.Minute
	trapProcesses = 4
)

var trapTrouble = struct{ from, to time.Duration }{time.Minute, 70 * time.Second}

func trapServer(seed uint64) *virtual.Simulated {
	return virtual.NewSimulated(virtual.Upstream{
		At: func(time.Duration) virtual.Conditions {
			return virtual.Conditions{Limit: 1e9, Latency: time.Millisecond}
		},
		Queue: &virtual.Queue{Workers: 4, Longest: 500 * time.Millisecond, Service: func(since time.Duration) time.Duration {
			if since >= trapTrouble.from && since < trapTrouble.to {
				return 182 * time.Millisecond
			}
			return 91 * time.Millisecond
		}},
	}, seed)
}

// trapTable runs the experiment.
func trapTable(together virtual.Together, seeds int) []string {
	clients := []struct {
		name   string
		client maker
	}{
		{"no retries", published(func() policy { return upTo(0) })},
		{"three retries at once", published(func() policy { return upTo(3) })},
		{"three retries, backoff", published(func() policy { return policy{again: backsOff} })},
		{"retry bucket, 10 %", published(func() policy { return retryBucket(0.1, 5) })},
		{"**anivault**", ours("concurrency=16")},
	}
	type result struct {
		arrived, good []int // calls by the second in which they arrived
		last          time.Duration
		sent          int
	}
	results := make([]result, len(clients))
	var mu sync.Mutex
	var runs []func()
	for i, c := range clients {
		r := &results[i]
		r.arrived, r.good = make([]int, trapLength/time.Second), make([]int, trapLength/time.Second)
		for seed := range seeds {
			runs = append(runs, func() {
				server := trapServer(uint64(seed)) //nolint:gosec // small
				next, end := c.client(server)
				defer end()
				var group sync.WaitGroup
				for range trapProcesses {
					do := next()
					group.Go(func() {
						arrivals(do, trapCalls/trapProcesses, trapLength, func(ok bool, arrived, _ time.Duration) {
							mu.Lock()
							defer mu.Unlock()
							second := arrived / time.Second
							r.arrived[second]++
							if ok {
								r.good[second]++
							} else {
								r.last = max(r.last, arrived)
							}
						})
					})
				}
				group.Wait()
				mu.Lock()
				r.sent += len(server.Seen())
				mu.Unlock()
			})
		}
	}
	together(runs...)
	lines := []string{
		"| client | calls answered: before | in the 10 s | the minute after | the last minute | requests a call |",
		"|---|---|---|---|---|---|",
	}
	for i, c := range clients {
		r, line := results[i], "| "+c.name
		for _, part := range [][2]time.Duration{{0, 60}, {60, 70}, {70, 130}, {180, 240}} {
			arrived, good := 0, 0
			for second := part[0]; second < part[1]; second++ {
				arrived, good = arrived+r.arrived[second], good+r.good[second]
			}
			line += fmt.Sprintf(" | %.0f %%", percent(good, arrived))
		}
		calls := 0
		for _, n := range r.arrived {
			calls += n
		}
		lines = append(lines, fmt.Sprintf("%s | %.2f |", line, float64(r.sent)/float64(calls)))
	}
	return lines
}
