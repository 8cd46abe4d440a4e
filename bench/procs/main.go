// Command procs measures how real anivault processes share one rate: several
// `anivault match` at a time, each with a library of its own and all with the same
// state, against the stand-in with a sliding limit.
//
//	go run -C bench ./procs [-processes 2,4,8] [-for 35s] [-limit sliding:40/1s] [-bin FILE] [-other FILE]
//
// It prints the 429s, which should be none, the rate of all together from the moment
// on at which the bucket is first empty, and the share of each process in it. -other
// names a second anivault that is measured in turns, to compare two versions.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// The default tuning of anivault.
const (
	rateBase  = 35.0
	bucketCap = 35.0
)

func main() {
	processes := flag.String("processes", "2,4,8", "numbers of processes")
	length := flag.Duration("for", 35*time.Second, "length of each run")
	limit := flag.String("limit", "sliding:40/1s", "the stand-in's limit")
	bin := flag.String("bin", "", "program to measure (default: build it)")
	other := flag.String("other", "", "another version to measure in turns")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *processes, *length, *limit, *bin, *other); err != nil {
		fmt.Fprintln(os.Stderr, "procs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, processes string, length time.Duration, limit, bin, other string) error {
	dir, err := os.MkdirTemp("", "procs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if bin, err = kit.Anivault(ctx, dir, bin); err != nil {
		return err
	}
	programs := []string{bin}
	if other != "" {
		programs = append(programs, other)
	}
	fmt.Printf("%s, limit %s, rate_base %g\n", kit.Machine(), limit, rateBase)
	for _, text := range strings.Split(processes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > len(names) {
			return fmt.Errorf("-processes %q: not a number from 1 to %d", text, len(names))
		}
		for i, program := range programs {
			t := trial{program: program, dir: filepath.Join(dir, fmt.Sprint(n, "-", i)), processes: n, length: length}
			if err := t.run(ctx, limit); err != nil {
				return err
			}
			if i > 0 {
				fmt.Print("\nthe other version:")
			}
			t.show()
		}
	}
	fmt.Printf("(load at the end: %s)\n", kit.Load())
	return nil
}

// trial is one number of processes of one program.
type trial struct {
	program, dir string
	processes    int
	length       time.Duration

	start   time.Time
	entries []tmdbfake.Entry
}

// run runs the processes and records what the stand-in has seen.
func (t *trial) run(ctx context.Context, limit string) error {
	limits, err := upstream.ParseLimits(limit)
	if err != nil {
		return err
	}
	fake, server, err := kit.StandIn(tmdbfake.Config{
		Limits:  limits,
		Latency: upstream.Latency{Min: 20 * time.Millisecond, Max: 60 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	defer server.Close()
	for _, name := range names[:t.processes] {
		if err := kit.Library(filepath.Join(t.dir, name), name, int(40*t.length.Seconds())); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, t.length)
	defer cancel()
	t.start = time.Now()
	var group sync.WaitGroup
	errs := make([]error, t.processes)
	for i := range t.processes {
		group.Go(func() { errs[i] = t.match(ctx, names[i], server.URL()) })
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("process %d: %w", i+1, err)
		}
	}
	t.entries = fake.Journal()
	return nil
}

// match runs one process until ctx ends.
func (t *trial) match(ctx context.Context, name, url string) error {
	cmd := exec.CommandContext(ctx, t.program, "match", "--quiet", "--format", "ndjson", filepath.Join(t.dir, name))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env, cmd.Stderr = kit.Env(t.dir, url), os.Stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil: // it was interrupted, and its exit status says so
		err = nil
	case err == nil:
		err = fmt.Errorf("%s had nothing left to ask before the end", name)
	}
	return err
}

// names begin the titles in each process's library, so that its requests can be
// recognised.
var names = []string{
	"Brelvandor", "Crumfastig", "Dwolkiner", "Fjalmutter", "Gnorvelik", "Hrastopel", "Jvimgarten",
	"Klompuzart",
}

// show prints what came of the trial.
func (t *trial) show() {
	refused := 0
	for _, e := range t.entries {
		if e.Limiter == "limit" {
			refused++
		}
	}
	fmt.Printf("\n%d processes: %d requests, %d refused (429)\n", t.processes, len(t.entries), refused)
	first, empty := t.bucketEmpty()
	end := t.length - 500*time.Millisecond // the last requests may have been interrupted
	shares, unknown := t.shares(empty, end)
	sum := unknown
	for _, n := range shares {
		sum += n
	}
	if sum == 0 {
		fmt.Println("  the bucket was never empty: run it for longer")
		return
	}
	rate := float64(sum) / (end - empty).Seconds()
	fmt.Printf("  the bucket was first empty after %.1f s; from then on %.2f/s: %+.1f %% of %g/s; fairness %.4f\n",
		(empty - first).Seconds(), rate, 100*(rate/rateBase-1), rateBase, kit.Fairness(shares))
	fair := float64(sum) / float64(t.processes)
	for i, n := range shares {
		fmt.Printf("  process %d: %d, %+.1f %% of its fair share\n", i+1, n, 100*(float64(n)/fair-1))
	}
	if unknown > 0 {
		fmt.Printf("  of unknown processes: %d\n", unknown)
	}
}

// bucketEmpty returns when the first request came, and when a full bucket with the
// configured rate was first empty.
func (t *trial) bucketEmpty() (first, empty time.Duration) {
	at := make([]time.Duration, len(t.entries))
	for i, e := range t.entries {
		at[i] = e.At.Sub(t.start)
	}
	slices.Sort(at)
	if len(at) == 0 {
		return 0, t.length
	}
	for i, moment := range at {
		if float64(i+1) >= bucketCap+rateBase*(moment-at[0]).Seconds()-2 {
			return at[0], moment
		}
	}
	return at[0], t.length
}

// shares counts the requests of each process within a time.
func (t *trial) shares(from, to time.Duration) (shares []int, unknown int) {
	owner := map[int]int{} // of connections: not every request names a title
	for _, e := range t.entries {
		query := strings.ToLower(e.Query)
		if i := slices.IndexFunc(names[:t.processes],
			func(name string) bool { return strings.Contains(query, strings.ToLower(name)) }); i >= 0 {
			owner[e.Conn] = i + 1
		}
	}
	shares = make([]int, t.processes)
	for _, e := range t.entries {
		if at := e.At.Sub(t.start); at < from || at >= to {
			continue
		}
		if i := owner[e.Conn]; i > 0 {
			shares[i-1]++
		} else {
			unknown++
		}
	}
	return shares, unknown
}
