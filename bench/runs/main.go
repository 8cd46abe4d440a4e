// Command runs measures whether runs of anivault end well, and in time, where the limiter has it hard: one `anivault
// match` over a library of which some series always fail, and very many `anivault match` at once that share one state.
//
//	go run -C bench ./runs [-series 900] [-broken 0,2,5] [-errors 20] [-processes 200] [-rate N] [-ceiling N] [-bin FILE]
//
// The stand-in allows 50 requests in a sliding second and answers after 20 to 60 ms. A broken series is found, but each
// question about it is answered with 500. Errors are 500s at random, of all answers. Each of the many processes has a
// library of two files. Good series that are not matched, 429s, more requests in a second than the ceiling (40), more
// at once than there are slots (16) and processes that take the lock for lost should all be none.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
	"golang.org/x/sync/errgroup"
)

func main() {
	series := flag.Int("series", 900, "series of the library that one process matches")
	broken := flag.String("broken", "0,2,5", "`percentages` of its series that always fail, a run each")
	random := flag.String("errors", "20", "`percentages` of all answers that are errors, a run each")
	processes := flag.Int("processes", 200, "processes that run at once; 0: none")
	rate := flag.String("rate", "", "ANIVAULT_RATE_BASE of every process (default: the program's own)")
	ceiling := flag.String("ceiling", "", "ANIVAULT_CEILING of every process (default: the program's own)")
	bin := flag.String("bin", "", "program to measure (default: build it)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var settings []string
	if *rate != "" {
		settings = append(settings, "ANIVAULT_RATE_BASE="+*rate)
	}
	if *ceiling != "" {
		settings = append(settings, "ANIVAULT_CEILING="+*ceiling)
	}
	if err := run(ctx, *series, *broken, *random, *processes, settings, *bin); err != nil {
		fmt.Fprintln(os.Stderr, "runs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, series int, broken, random string, processes int, settings []string, bin string) error {
	var trials []*trial
	shares, err := kit.Percentages("-broken", broken)
	if err != nil {
		return err
	}
	for _, share := range shares {
		trials = append(trials, &trial{processes: 1, series: series, broken: int(share * float64(series))})
	}
	if shares, err = kit.Percentages("-errors", random); err != nil {
		return err
	}
	for _, share := range shares {
		trials = append(trials, &trial{processes: 1, series: series, errors: share})
	}
	if processes > 0 {
		trials = append(trials, &trial{processes: processes, series: 2})
	}
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if bin, err = kit.Anivault(ctx, dir, bin); err != nil {
		return err
	}
	const row = "%9v %7v %7v %7v %8v %8v %14v %9v %11v %8v %5v %10v\n"
	fmt.Printf("%s\n\n"+row, kit.Machine(), "processes", "series", "broken", "errors", "seconds", "matched",
		"good, missed", "requests", "in a second", "at once", "429s", "lock lost")
	for i, t := range trials {
		t.program, t.settings, t.dir = bin, settings, filepath.Join(dir, strconv.Itoa(i))
		if err := t.run(ctx); err != nil {
			return err
		}
		fmt.Printf(row, t.processes, t.processes*t.series, t.broken, fmt.Sprintf("%g %%", 100*t.errors),
			fmt.Sprintf("%.1f", t.took.Seconds()),
			t.matched.Load(), int64(t.processes*t.series-t.broken)-t.matched.Load(), t.seen.Requests, t.most,
			t.seen.MaxInFlight, t.seen.Limited, t.lost.Load())
	}
	fmt.Printf("(load at the end: %s)\n", kit.Load())
	return nil
}

// trial is a number of processes with a library each.
type trial struct {
	program, dir string
	settings     []string // environment variables of each process
	processes    int
	series       int     // of each process
	broken       int     // of all
	errors       float64 // the share of all answers that are errors

	took          time.Duration
	matched, lost atomic.Int64 // lost: processes that say that nobody who runs holds the lock
	most          int          // requests in a second
	seen          tmdbfake.State
}

// run runs the processes and records its results.
func (t *trial) run(ctx context.Context) error {
	if err := t.fill(); err != nil {
		return err
	}
	catalogue, err := kit.Catalogue(t.processes*t.series, firstID, 12)
	if err != nil {
		return err
	}
	var faults []upstream.Fault
	for i := range t.broken {
		id := firstID + i*t.processes*t.series/t.broken
		faults = append(faults, upstream.Fault{
			Match: upstream.Match{Path: fmt.Sprintf("/3/tv/%d*", id)}, Do: upstream.Action{Kind: "status", Status: 500},
		})
	}
	if t.errors > 0 {
		faults = append(faults, upstream.Fault{Probability: t.errors, Do: upstream.Action{Kind: "status", Status: 500}})
	}
	fake, server, err := kit.StandIn(tmdbfake.Config{
		Catalogue: catalogue, Scenario: upstream.Scenario{Faults: faults},
		Limits:  upstream.Limits{Model: "sliding", Rate: 50, Per: time.Second},
		Latency: upstream.Latency{Min: 20 * time.Millisecond, Max: 60 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	defer server.Close()
	start := time.Now()
	var group errgroup.Group
	for i := range t.processes {
		group.Go(func() error { return t.match(ctx, i, server.URL()) })
	}
	err = group.Wait()
	t.took, t.seen, t.most = time.Since(start), fake.State(), mostInSecond(fake.Journal())
	return err
}

// firstID is the number of the first series.
const firstID = 900_000

// fill makes the libraries of all processes.
func (t *trial) fill() error {
	for i := range t.processes * t.series {
		dir := t.library(i / t.series)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "[Group] "+kit.Title(i)+" - 01 [1080p].mkv"), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) library(process int) string {
	return filepath.Join(t.dir, "lib", strconv.Itoa(process))
}

// match runs one process to its end and counts what it says.
func (t *trial) match(ctx context.Context, process int, url string) error {
	var told bytes.Buffer
	cmd := exec.CommandContext(ctx, t.program, "match", "--quiet", "--format", "ndjson", t.library(process))
	cmd.Env, cmd.Stderr = append(kit.Env(t.dir, url), t.settings...), &told
	out, err := cmd.Output()
	const pending = 4
	if t.broken > 0 || t.errors > 0 {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == pending {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("process %d: %w: %s", process+1, err, told.Bytes())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var record struct{ Type, Status string }
		if err := d.Decode(&record); err != nil {
			return err
		}
		if record.Type == "match" && record.Status == "matched" {
			t.matched.Add(1)
		}
	}
	if strings.Contains(told.String(), "does not run") {
		t.lost.Add(1)
	}
	return nil
}

// mostInSecond returns the most requests in any second.
func mostInSecond(journal []tmdbfake.Entry) (most int) {
	slices.SortFunc(journal, func(a, b tmdbfake.Entry) int { return a.At.Compare(b.At) })
	first := 0
	for i, e := range journal {
		for e.At.Sub(journal[first].At) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
