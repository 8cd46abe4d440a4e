package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/ratelimit"
)

// This file decides what a simulation is made of and how long it runs.

// MaxProcesses is how many processes a simulation can have.
const MaxProcesses = 64

const maxSteps = 100_000

// Config is a simulation.
type Config struct {
	Script    Script
	Limits    tmdbfake.Limits    // of the upstream, unless the script has its own
	Latency   tmdbfake.Latency   // of a good answer
	Processes []ratelimit.Tuning // one for each process; they share one state
	For       time.Duration      // how long; 0: the script's length, and half a minute more if it ends in trouble
	Step      time.Duration      // of the timeline; 0: such that it has 20 to 50 rows
	Seed      uint64
}

// Run simulates. Every process has as much to ask as it may: twice its concurrency of requests under way, the next as
// soon as one is done. It returns an error for a configuration that makes no sense, a *ratelimit.TuningError for
// such a tuning, or ctx's.
func Run(ctx context.Context, c Config) (*Result, error) {
	w, err := newWorld(&c)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	for _, p := range w.processes {
		for range 2 * p.tuning.Concurrency {
			p.begin()
		}
	}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at, ok := w.clock.next()
		if !ok || at >= c.For {
			break
		}
		w.timeline.until(at)
		w.clock.step()
	}
	w.clock.now = c.For
	w.timeline.until(c.For)
	return w.result(), nil
}

// complete fills in what the caller left open, and refuses what can't be meant.
func (c *Config) complete() error {
	if c.For == 0 {
		c.For = c.Script.usual()
	}
	if c.Step == 0 {
		c.Step = niceStep(c.For)
	}
	switch {
	case len(c.Processes) == 0 || len(c.Processes) > MaxProcesses:
		return fmt.Errorf("%d processes: from 1 to %d are possible", len(c.Processes), MaxProcesses)
	case c.For < 0 || c.For > maxLength:
		return fmt.Errorf("%s is no time from 1ns to %s", c.For, maxLength)
	case c.Step <= 0 || c.For/c.Step > maxSteps:
		return fmt.Errorf("steps of %s make more than %d rows of %s", c.Step, maxSteps, c.For)
	case c.Latency.Max == 0 && c.Latency.Min == 0:
		return errors.New("answers without any latency would never let time pass")
	}
	for _, t := range c.Processes {
		if err := t.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// niceStep returns a round step that gives some 20 to 50 rows.
func niceStep(d time.Duration) time.Duration {
	for _, s := range []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
		10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
	} {
		if d/s <= 50 {
			return s
		}
	}
	return 30 * time.Minute
}

// world is everything that takes part.
type world struct {
	config    *Config
	clock     clock
	snapshot  ratelimit.Snapshot
	upstream  *Upstream
	chance    *rand.Rand // draws of the limiter, and the way of a request to the upstream
	processes []*process
	timeline  timeline
	grants    *grants
	moves     []Move
}

func newWorld(c *Config) (*world, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	up, err := NewUpstream(c.Script, c.Limits, c.Latency, c.Seed)
	if err != nil {
		return nil, err
	}
	w := &world{
		config: c, upstream: up, chance: rand.New(rand.NewPCG(c.Seed, 2)), //nolint:gosec // it shall be the same every time
	}
	w.snapshot = ratelimit.NewSnapshot(w.now())
	w.timeline = timeline{world: w, step: c.Step}
	w.grants = newGrants(c.Processes)
	for i, t := range c.Processes {
		w.processes = append(w.processes, &process{world: w, id: "process-" + strconv.Itoa(i+1), tuning: t})
	}
	return w, nil
}

// now is the present as a store would supply it.
func (w *world) now() ratelimit.Instant {
	return ratelimit.Instant{Wall: epoch.Add(w.clock.now), Boot: time.Hour + w.clock.now, BootID: "simulation"}
}

// moved notes a transition.
func (w *world) moved(tr ratelimit.Transition) {
	w.moves = append(w.moves, Move{At: w.clock.now, From: tr.From, To: tr.To, Reason: tr.Reason})
}
