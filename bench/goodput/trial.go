package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/internal/simulate"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
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

	seen     []request
	failed   int64
	possible float64
}

// request is one request as the upstream saw it.
type request struct {
	at            time.Duration // since the start
	process       int
	good, refused bool
}

// run runs the trial and records what came of it.
func (t *trial) run(start time.Time) (err error) {
	dir, err := os.MkdirTemp("", "goodput-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fake, server, err := kit.StandIn(tmdbfake.Config{
		Seed: t.seed, Limits: limits, Latency: latency,
		PIDHeader: "X-Process",
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
		t.seen = append(t.seen, request{
			at: e.At.Sub(start), process: process, good: e.Limiter == "pass" && e.Fault == "", refused: e.Limiter == "limit",
		})
	}
	for _, r := range reports {
		t.failed += r.Failed
	}
	t.possible = simulate.Possible(t.scenario, limits, latency, min(virtual.Slots*t.processes, totalSlots), t.length)
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
	}
	return sum, nil
}
