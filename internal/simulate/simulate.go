// Package simulate runs the limiter in virtual time against an upstream that fails according to a scenario: hours of
// trouble take milliseconds, and the same seed gives the same run.
//
// The limiter is the real one: [ratelimit.Snapshot] is the state that processes share, and every permit, answer and
// retry goes through it, as in a [ratelimit.Limiter]. Only the processes with their requests (request.go), time (clock)
// and the upstream (server) are simulated. The upstream behaves as an [upstream.Behaviour].
//
// [Run] returns a [Result]: a timeline, the transitions and the totals. Its methods WriteText, WriteCSV and WriteSVG
// show them.
package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

// startTime is when every simulation begins: on a full hour, so that calendar windows begin with it.
var startTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var client = upstream.Request{IP: "192.0.2.1"}

// server is the simulated upstream. With the same seed, the same requests at the same times get the same answers.
type server struct {
	behaviour *upstream.Behaviour
	latency   upstream.Latency
	rng       *rand.Rand // random numbers for latencies
}

type answer struct {
	status  int           // 0: no answer
	latency time.Duration // never if the connection stays silent
	header  http.Header   // nil: no header fields
	foreign bool          // a good status with another server's page
}

const never = time.Duration(math.MaxInt64)

func newServer(c *Config) (*server, error) {
	if err := cmp.Or(Check(c.Scenario), c.Latency.Validate()); err != nil {
		return nil, err
	}
	b, err := upstream.New(c.Limits, c.Seed)
	if err == nil {
		err = b.Apply(c.Scenario, startTime)
	}
	if err != nil {
		return nil, err
	}
	return &server{b, c.Latency, rand.New(rand.NewPCG(c.Seed, 1))}, nil //nolint:gosec // must be reproducible
}

func (s *server) answer(at time.Duration) answer {
	now := startTime.Add(at)
	a := answer{status: http.StatusOK, latency: s.behaviour.SlowedLatency(now, s.latency.Quantile(s.rng.Float64()))}
	if ok, wait := s.behaviour.Allow(now, client.IP); !ok {
		a.status, a.header = http.StatusTooManyRequests, retryAfter(s.behaviour.Limits().RetryAfter, now, wait)
		return a
	}
	for _, action := range s.behaviour.ActionsFor(upstream.BeforeAnswer, now, client) {
		switch action.Kind {
		case "delay":
			a.latency += time.Duration(action.Delay)
			continue
		case "status":
			a.status, a.foreign = action.Status, action.Foreign()
			a.header = retryAfter(action.RetryAfter, now, time.Duration(action.Wait))
		case "reset", "close":
			a.status = 0
		case "silent":
			a.status, a.latency = 0, never
		}
		return a // only the first rule counts, apart from delays
	}
	return a
}

func retryAfter(mode string, now time.Time, wait time.Duration) http.Header {
	h := http.Header{}
	upstream.SetRetryAfter(h, mode, now, wait, 0)
	if len(h) == 0 {
		return nil
	}
	h.Set("Date", now.Format(http.TimeFormat))
	return h
}

// Check returns an error for the first fault that can't be simulated, such as one of paths, bodies or connections.
func Check(s upstream.Scenario) error {
	for i, f := range s.Faults {
		if err := checkFault(f); err != nil {
			return fmt.Errorf("scenario: fault %d: %w", i+1, err)
		}
	}
	return nil
}

func checkFault(f upstream.Fault) error {
	if f.Match.Path != "" || f.Match.Query != nil || f.Match.IP != "" || f.Match.Share != 0 {
		return fmt.Errorf("%s for some requests only can't be simulated", f.Do.Kind)
	}
	switch f.Do.Kind {
	case "limit", "slow", "reset", "close", "silent", "delay":
		return nil
	case "status":
		if f.Do.Status == http.StatusUnauthorized || f.Do.Status == http.StatusForbidden {
			return fmt.Errorf("status %d ends a run at once, there is nothing to simulate", f.Do.Status)
		}
		return nil
	default:
		return fmt.Errorf("%s can't be simulated: use status, limit, slow, reset, close, silent or delay", f.Do.Kind)
	}
}

// Presets returns the names of the scenarios that can be simulated, sorted.
func Presets() []string {
	return slices.DeleteFunc(upstream.Presets(), func(name string) bool {
		s, err := upstream.Preset(name)
		return err != nil || Check(s) != nil
	})
}

// MaxProcesses is the largest number of processes of a simulation.
const MaxProcesses = 64

const (
	maxSteps  = 100_000
	maxLength = 24 * time.Hour
)

// Config configures a simulation.
type Config struct {
	Scenario  upstream.Scenario
	Limits    upstream.Limits    // used if the scenario has none
	Latency   upstream.Latency   // latency of a good answer
	Processes []ratelimit.Tuning // one tuning per process; the processes share one limiter state
	Length    time.Duration      // 0: until 30 seconds after the last fault; 2 minutes if a fault never ends
	Step      time.Duration      // length of a timeline row; 0: chosen so that there are 20 to 50 rows
	Seed      uint64
}

// Run runs the simulation. Every process keeps twice its concurrency of requests going: when one is done, it starts the
// next. Run fails for a bad configuration, with a *ratelimit.TuningError for a bad tuning, and with ctx's error.
func Run(ctx context.Context, c Config) (*Result, error) {
	w, err := newWorld(&c)
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	for _, p := range w.processes {
		for range 2 * p.tuning.Concurrency {
			p.startRequest()
		}
	}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at, ok := w.clock.next()
		if !ok || at >= c.Length {
			break
		}
		w.timeline.advanceTo(at)
		w.clock.step()
	}
	w.clock.now = c.Length
	w.timeline.advanceTo(c.Length)
	return w.result(), nil
}

func (c *Config) prepare() error {
	if c.Length == 0 {
		c.Length = 2 * time.Minute
		if end, ok := c.Scenario.End(); ok && end > 0 { // 30 seconds more show the recovery
			c.Length = end + 30*time.Second
		}
	}
	c.Step = cmp.Or(c.Step, chart.RoundPeriod(c.Length, 0, 50))
	switch {
	case len(c.Processes) == 0 || len(c.Processes) > MaxProcesses:
		return fmt.Errorf("%d processes: from 1 to %d are possible", len(c.Processes), MaxProcesses)
	case c.Length < 0 || c.Length > maxLength:
		return fmt.Errorf("%s is outside 1ns..%s", c.Length, maxLength)
	case c.Step <= 0 || c.Length/c.Step > maxSteps:
		return fmt.Errorf("steps of %s make more than %d rows of %s", c.Step, maxSteps, c.Length)
	case c.Latency.Max == 0 && c.Latency.Min == 0:
		return errors.New("a latency of 0 would never let time pass")
	}
	for _, t := range c.Processes {
		if err := t.Validate(); err != nil {
			return err
		}
	}
	return nil
}

type world struct {
	config      *Config
	clock       clock
	snapshot    ratelimit.Snapshot
	server      *server
	rng         *rand.Rand // random numbers for the limiter, and for how long a request travels to the upstream
	processes   []*process
	timeline    timeline
	permits     *permitCounter
	transitions []Transition
}

func newWorld(c *Config) (*world, error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	up, err := newServer(c)
	if err != nil {
		return nil, err
	}
	w := &world{
		config: c, server: up, rng: rand.New(rand.NewPCG(c.Seed, 2)), //nolint:gosec // must be reproducible
	}
	w.snapshot = machine.NewSnapshot(w.now())
	w.timeline = timeline{world: w, step: c.Step}
	first := &c.Processes[0]
	w.permits = &permitCounter{processesNotAsked: len(c.Processes), window: first.CeilingWindow, ceiling: first.Ceiling}
	for _, t := range c.Processes[1:] {
		w.permits.window, w.permits.ceiling = max(w.permits.window, t.CeilingWindow), min(w.permits.ceiling, t.Ceiling)
	}
	for i, t := range c.Processes {
		w.processes = append(w.processes, &process{world: w, id: "process-" + strconv.Itoa(i+1), tuning: t})
	}
	return w, nil
}

func (w *world) now() ratelimit.Instant {
	return ratelimit.Instant{Wall: startTime.Add(w.clock.now), Boot: time.Hour + w.clock.now, BootID: "simulation"}
}

func (w *world) addTransition(tr ratelimit.Transition) {
	w.transitions = append(w.transitions, Transition{At: w.clock.now, From: tr.From, To: tr.To, Reason: tr.Reason})
}

// clock is virtual time with scheduled events, in order of time and then in the order of scheduling.
type clock struct {
	now    time.Duration // since the start
	events []event
}

type event struct {
	at  time.Duration
	run func()
}

func (c *clock) schedule(after time.Duration, action func()) {
	at := c.now + max(after, 0)
	i := sort.Search(len(c.events), func(i int) bool { return c.events[i].at > at })
	c.events = slices.Insert(c.events, i, event{at, action})
}

func (c *clock) next() (at time.Duration, ok bool) {
	if len(c.events) == 0 {
		return 0, false
	}
	return c.events[0].at, true
}

func (c *clock) step() {
	e := c.events[0]
	c.events = c.events[1:]
	c.now = e.at
	e.run()
}
