package main

import (
	"fmt"
	"math"
	"time"

	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/internal/upstream"
)

// row is one upstream of the table in virtual time. The goals are what a prototype of the limiter's rules reached.
type row struct {
	name string
	virtual.Upstream
	tuned     bool          // ours sends 45 requests a second, as peers do, and not its 35
	length    time.Duration // 0: as the table
	settle    time.Duration // what comes before does not count
	life      time.Duration
	processes []int // nil: 1 and 4
	outages   []span
	goals     map[int]float64 // the share that ours has to reach, by the number of processes
	waste     float64         // and the most that it may waste, in %; 0: no goal
}

// goals returns the goals of one and four processes.
func goals(one, four float64) map[int]float64 { return map[int]float64{1: one, 4: four} }

// normal is an upstream without trouble.
var normal = virtual.Conditions{Limit: 50, Latency: 40 * time.Millisecond}

// always is an upstream that always does the same.
func always(change func(*virtual.Conditions)) virtual.Upstream {
	return at(func(_ float64, c *virtual.Conditions) { change(c) })
}

// at is an upstream whose conditions depend on the time, in seconds.
func at(change func(seconds float64, c *virtual.Conditions)) virtual.Upstream {
	return virtual.Upstream{At: func(since time.Duration) virtual.Conditions {
		c := normal
		change(since.Seconds(), &c)
		return c
	}}
}

func quiet(*virtual.Conditions) {}

func fails(share float64, status int, retryAfter string) virtual.Upstream {
	return always(func(c *virtual.Conditions) { c.Fails, c.Status, c.RetryAfter = share, status, retryAfter })
}

func limit(perSecond float64) virtual.Upstream {
	return always(func(c *virtual.Conditions) { c.Limit = perSecond })
}

func bucket(perSecond float64) virtual.Upstream {
	u := limit(perSecond)
	u.Bucket = perSecond
	return u
}

func broken(share float64) virtual.Upstream {
	u := always(quiet)
	u.Broken = share
	return u
}

// inTurn is good for some seconds, then bad for some.
func inTurn(good, bad float64, change func(*virtual.Conditions)) virtual.Upstream {
	return at(func(seconds float64, c *virtual.Conditions) {
		if math.Mod(seconds, good+bad) >= good {
			change(c)
		}
	})
}

func down(c *virtual.Conditions)    { c.Fails, c.Status = 1, 503 }
func refuses(c *virtual.Conditions) { c.Limit = 0 }

// script is the scenario of the other experiments.
func script() virtual.Upstream {
	gauntlet, err := upstream.Preset("gauntlet")
	if err != nil {
		panic(err) // a preset of this repository
	}
	return at(func(seconds float64, c *virtual.Conditions) {
		for _, f := range gauntlet.Faults {
			from, to := time.Duration(f.From).Seconds(), time.Duration(f.To).Seconds()
			if seconds < from || seconds >= to {
				continue
			}
			switch f.Do.Kind {
			case "status":
				c.Fails, c.Status = f.Probability, f.Do.Status
				if f.Probability == 0 {
					c.Fails = 1
				}
			case "reset":
				c.Fails, c.Status = 1, 0
			case "limit":
				c.Limit = f.Do.Rate + (f.Do.RateTo-f.Do.Rate)*(seconds-from)/(to-from)
			case "slow":
				c.Latency = time.Duration(f.Do.Factor * float64(c.Latency))
			}
		}
	})
}

// outages are nine, of 52 to 68 s, each four minutes after the one before. They begin at different moments of a second.
func outages() (spans []span) {
	for i := range time.Duration(9) {
		from := (1+4*i)*time.Minute + i*1370*time.Millisecond
		spans = append(spans, span{from, from + (52+2*i)*time.Second})
	}
	return spans
}

func downIn(spans []span) virtual.Upstream {
	u := always(quiet)
	return virtual.Upstream{At: func(since time.Duration) virtual.Conditions {
		c := u.At(since)
		for _, s := range spans {
			if since >= s.from && since < s.to {
				down(&c)
			}
		}
		return c
	}}
}

// overload has four workers who do 44 requests a second, and half of that for ten seconds. A request that has waited
// too long fails, but is worked on all the same.
func overload(trouble span) virtual.Upstream {
	u := limit(1e9)
	service := func(since time.Duration) time.Duration {
		if since >= trouble.from && since < trouble.to {
			return 182 * time.Millisecond
		}
		return 91 * time.Millisecond
	}
	u.Queue = &virtual.Queue{Workers: 4, Service: service, Longest: 150 * time.Millisecond}
	return u
}

// overloaded is when the overload is. Capacity is back at its end.
var overloaded = span{2 * time.Minute, 2*time.Minute + 10*time.Second}

// upstreams returns the rows of the table.
func upstreams() []row {
	minute := time.Minute
	settled := 30 * time.Second
	rows := []row{
		{name: "steady", Upstream: always(quiet), processes: []int{1, 4, 8}, goals: map[int]float64{1: 1, 4: 1, 8: 1}},
		{
			name: "steady, 45/s", Upstream: always(quiet), tuned: true,
			processes: []int{1, 4, 8}, goals: map[int]float64{1: 1, 4: 1, 8: 1},
		},
		{
			name: "restarted every 4 s, 45/s", Upstream: always(quiet), tuned: true, life: 4 * time.Second,
			processes: []int{1, 4, 8}, goals: map[int]float64{1: 1, 4: 0.99, 8: 0.96},
		},
	}
	for _, e := range []struct{ percent, one, four float64 }{
		{5, 1, 1},
		{10, 1, 1},
		{15, 0.97, 0.97},
		{18, 0.89, 0.89},
		{20, 0.93, 0.93},
		{25, 0.99, 0.99},
		{30, 1, 1},
		{40, 0.99, 0.99},
		{50, 1, 1},
	} {
		rows = append(rows, row{
			name: fmt.Sprintf("%g %% of 503s", e.percent), Upstream: fails(e.percent/100, 503, ""), goals: goals(e.one, e.four),
		})
	}
	rows = append(rows, row{name: "20 % of 500s", Upstream: fails(0.20, 500, ""), goals: goals(0.93, 0.93)})
	for _, e := range []struct{ percent, goal float64 }{{2, 1}, {5, 1}, {10, 1}, {20, 0.95}, {30, 1}} {
		rows = append(rows, row{
			name:     fmt.Sprintf("%g %% of 503s, Retry-After 5", e.percent),
			Upstream: fails(e.percent/100, 503, "5"), goals: goals(e.goal, e.goal),
		})
	}
	for _, e := range []struct{ percent, goal float64 }{{1, 0.95}, {2, 0.91}, {5, 0.80}} {
		rows = append(rows, row{
			name:     fmt.Sprintf("%g %% of items always fail", e.percent),
			Upstream: broken(e.percent / 100), goals: goals(e.goal, e.goal),
		})
	}
	return append(rows, []row{
		{name: "2 s up, 2 s down", Upstream: inTurn(2, 2, down), goals: goals(0.79, 0.70)},
		{name: "10 s up, 5 s down", Upstream: inTurn(10, 5, down), goals: goals(0.72, 0.72)},
		{name: "30 s up, 30 s down", Upstream: inTurn(30, 30, down), goals: goals(0.78, 0.78)},
		{name: "a 503 in 500, Retry-After 30", Upstream: fails(0.002, 503, "30"), goals: goals(1, 1)},
		{name: "a 503 in 100, Retry-After 10", Upstream: fails(0.01, 503, "10"), goals: goals(1, 1)},
		{name: "a stray 429 in 100", Upstream: fails(0.01, 429, ""), goals: goals(0.84, 0.84)},
		{name: "a stray 429 in 50", Upstream: fails(0.02, 429, ""), goals: goals(0.72, 0.72)},
		{name: "a stray 429 in 20", Upstream: fails(0.05, 429, ""), goals: goals(0.52, 0.52)},
		{name: "limit 10/s", Upstream: limit(10), settle: settled, waste: 0.2, goals: goals(0.94, 0.94)},
		{name: "limit 20/s", Upstream: limit(20), settle: settled, waste: 0.2, goals: goals(0.97, 0.97)},
		{name: "limit 30/s", Upstream: limit(30), settle: settled, waste: 0.2, goals: goals(0.95, 0.95)},
		{name: "token bucket, 5/s", Upstream: bucket(5), settle: settled, waste: 0.6, goals: goals(1, 1)},
		{name: "token bucket, 20/s", Upstream: bucket(20), settle: settled, waste: 0.6, goals: goals(1, 1)},
		{
			name: "limit falls from 50 to 25/s", settle: minute + settled, waste: 0.2, goals: goals(0.96, 0.96),
			Upstream: at(func(seconds float64, c *virtual.Conditions) {
				if seconds > 60 {
					c.Limit = 25
				}
			}),
		},
		{
			name: "limit rises from 10 to 50/s", settle: settled, waste: 0.5, goals: goals(0.95, 0.95),
			Upstream: at(func(seconds float64, c *virtual.Conditions) {
				if seconds < 120 {
					c.Limit = 10
				}
			}),
		},
		{
			name: "a neighbour takes 30/s every other minute", settle: settled, waste: 0.5, goals: goals(0.88, 0.88),
			Upstream: inTurn(60, 60, func(c *virtual.Conditions) { c.Neighbour = 30 }),
		},
		{name: "429s for 1 s every 20 s", Upstream: inTurn(19, 1, refuses), goals: goals(0.95, 0.95)},
		{name: "429s for 3 s every 60 s", Upstream: inTurn(57, 3, refuses), goals: goals(0.95, 0.95)},
		{name: "outages of 60 s", Upstream: downIn(outages()), length: 37 * minute, outages: outages()},
		{name: "fault script", Upstream: script(), length: 80 * time.Second, waste: 0.8, goals: goals(0.98, 0.98)},
		{
			name: "fault script, 45/s", Upstream: script(), tuned: true, length: 80 * time.Second,
			waste: 0.8, goals: goals(0.92, 0.92),
		},
		{name: "overload that feeds on itself", Upstream: overload(overloaded), length: 5 * minute},
	}...)
}
