package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/internal/simulate"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
)

// What every upstream allows, and how long its answers take.
var (
	limits  = upstream.Limits{Model: "sliding", Rate: 50, Per: time.Second}
	latency = upstream.Latency{Min: 20 * time.Millisecond, Max: 60 * time.Millisecond}
)

// totalSlots is the most that ours has on the wire in all processes together.
const totalSlots = 16

// trial is one client in one experiment.
type trial struct {
	experiment
	label, client string
	program       string // whose worker runs; "": this program's
	processes     int
	seed          uint64

	seen     []virtual.Request
	states   []entered
	failed   int
	possible float64
}

// simulate runs the trial in virtual time and records its results.
func (t *trial) simulate() error {
	began := time.Now()
	var s states
	client, err := newClient(t.client, ratelimit.NewMemoryStore(), &s)
	if err != nil {
		return err
	}
	server, err := virtual.NewScripted(t.scenario, limits, latency, t.seed)
	if err != nil {
		return err
	}
	v := virtual.Trial{
		Length: t.length, Life: t.life, Processes: t.processes, Client: client,
		Server: func() virtual.Server { return server },
	}
	v.Run()
	t.seen, t.failed = v.Seen, v.Failed
	t.finish(began, s.list)
	return v.Err
}

// finish adds what is computed of all other results.
func (t *trial) finish(start time.Time, states []entered) {
	slices.SortFunc(states, func(a, b entered) int { return cmp.Compare(a.Epoch, b.Epoch) })
	for i := range states {
		states[i].after = states[i].At.Sub(start)
	}
	t.states = states
	for i := range t.seen {
		t.seen[i].Fails = t.fails(t.seen[i].At)
	}
	t.possible = t.possibleIn(t.all())
}

// fails returns the share of the requests that fail at a time.
func (t *trial) fails(at time.Duration) float64 {
	good := 1.0
	for _, f := range t.scenario.Faults {
		if at < time.Duration(f.From) || at >= time.Duration(f.To) || !f.Do.Fails() {
			continue
		}
		if f.Probability == 0 {
			return 1
		}
		good *= 1 - f.Probability
	}
	return 1 - good
}

func (t *trial) possibleIn(s span) float64 {
	until := func(length time.Duration) float64 {
		return simulate.Possible(t.scenario, limits, latency, min(virtual.Slots*t.processes, totalSlots), length)
	}
	return until(s.to) - until(s.from)
}

// run runs the trial and records its results.
func (t *trial) run(start time.Time) (err error) {
	dir, err := os.MkdirTemp("", "goodput-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fake, server, err := kit.StandIn(tmdbfake.Config{
		Seed: t.seed, Limits: limits, Latency: latency,
		PIDHeader: virtual.ProcessHeader,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	applied := make(chan error, 1)
	time.AfterFunc(time.Until(start), func() { applied <- fake.Apply(t.scenario) })
	reports, errs := make([]report, t.processes), make([]error, t.processes)
	var group sync.WaitGroup
	for i := range t.processes {
		group.Go(func() { reports[i], errs[i] = t.process(i, server.URL(), dir, start) })
	}
	group.Wait()
	if err := errors.Join(append(errs, <-applied)...); err != nil {
		return err
	}
	for _, e := range fake.Journal() {
		process, err := strconv.Atoi(e.PID)
		if err != nil {
			return err
		}
		// The stand-in's decision counts, also where the process ended before the answer.
		t.seen = append(t.seen, virtual.Request{
			At: e.At.Sub(start), Process: process, Good: e.Limiter == "pass" && e.Fault == "", Refused: e.Limiter == "limit",
		})
	}
	var states []entered
	for _, r := range reports {
		t.failed += r.Failed
		states = append(states, r.States...)
	}
	t.finish(start, states)
	return nil
}

// process runs one of the processes to the end, or with a life one after the other.
func (t *trial) process(i int, url, dir string, start time.Time) (sum report, err error) {
	program := t.program
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return sum, err
		}
	}
	end, life := start.Add(t.length), t.life
	if life == 0 {
		life = t.length
	}
	for from := start; from.Before(end); from = from.Add(life) {
		if now := time.Now(); from.Before(now) {
			from = now
		}
		until := from.Add(life)
		if until.After(end) {
			until = end
		}
		//nolint:gosec // a program of the user's choice
		cmd := exec.Command(program, "worker", "-client", t.client, "-dir", dir, "-process", strconv.Itoa(i),
			"-url", url+"/3/configuration?api_key=0123456789abcdef0123456789abcdef",
			"-start", strconv.FormatInt(from.UnixNano(), 10), "-end", strconv.FormatInt(until.UnixNano(), 10))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return sum, err
		}
		var r report
		if err := json.Unmarshal(out, &r); err != nil {
			return sum, err
		}
		sum.Failed += r.Failed
		sum.States = append(sum.States, r.States...)
	}
	return sum, nil
}
