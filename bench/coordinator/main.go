// Command coordinator measures one limit over several machines: the store in Redis beside the file store of one
// machine, and beside redis_rate, in one run.
//
//	go run -C bench ./coordinator [-for 20s] [-rounds 3] [-only TEXT]
//
// It starts a redis-server of its own. Machines are state folders of their own with a way of their own to the server;
// processes are processes. The upstream allows 40 requests in a sliding second by its own clock.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/testing/redistest"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := work(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	length := flag.Duration("for", 20*time.Second, "length of each run")
	rounds := flag.Int("rounds", 3, "rounds, whose median is printed")
	only := flag.String("only", "", "only rows with this in their name")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *length, *rounds, *only); err != nil {
		fmt.Fprintln(os.Stderr, "coordinator:", err)
		os.Exit(1)
	}
}

// row is one line of the table: a figure for each round.
type row struct {
	what, atLeast string
	texts         []string
	measure       func() (string, error)
}

func run(ctx context.Context, length time.Duration, rounds int, only string) error {
	dir, err := os.MkdirTemp("", "coordinator-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := redistest.New(dir)
	if err != nil {
		return err
	}
	defer server.Kill()
	fmt.Println(kit.Machine())
	b := &bench{ctx: ctx, server: server, dir: dir, length: length}
	const usual, long = 40 * time.Millisecond, 500 * time.Millisecond
	steady := func(kind string, answer, longer time.Duration) func() (string, error) {
		return func() (string, error) { return b.steady(kind, answer, longer) }
	}
	rows := []row{
		{
			"16 processes on 4 machines, Redis", ">= 0.97 of the rate, <= 1 x 429 in 2,000, fairness >= 0.95",
			nil, steady("redis", usual, 0),
		},
		{"16 processes on 1 machine, file", "beside it", nil, steady("file", usual, 0)},
		{"slot-bound (500 ms an answer), Redis", ">= 0.95 of the file store's", nil, steady("redis", long, 0)},
		{"slot-bound, file", "beside it", nil, steady("file", long, 0)},
		{"round trip 5 ms longer, Redis", ">= 0.95 of the rate", nil, steady("redis", usual, 5*time.Millisecond)},
		{"acquire, uncontended, beside redis_rate.Allow", "p50 <= 1.3 x, p99 <= 1.5 x", nil, b.uncontended},
		{"round trips a permit, one process", "<= 2", nil, b.tripsAlone},
		{"round trips a permit, 16 waiting", "<= 6", nil, b.tripsWaiting},
		{
			"Redis gone and back, 4 machines",
			"flows <= 1.2 s, each machine >= 0.85 of its part, 0 x 429; back <= 3 s", nil, b.gone,
		},
		{"the same, and it only falls silent", "beside it", nil, b.silent},
		{"slots of a killed process: own machine, another", "<= 1 s, <= 8 s", nil, b.killed},
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !strings.Contains(r.what, only) })
	for round := range rounds {
		fmt.Printf("\nround %d of %d, load %s\n", round+1, rounds, kit.Load())
		for i := range rows {
			r := &rows[i]
			text, err := r.measure()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", r.what, err)
			}
			r.texts = append(r.texts, text)
			fmt.Printf("%-50s %-60s at least: %s\n", r.what, text, r.atLeast)
		}
	}
	if rounds > 1 {
		fmt.Printf("\nmedian of %d rounds, by the first figure\n", rounds)
		for _, r := range rows {
			slices.Sort(r.texts)
			fmt.Printf("%-50s %-60s at least: %s\n", r.what, r.texts[len(r.texts)/2], r.atLeast)
		}
	}
	return nil
}

// bench is what the measurements share.
type bench struct {
	ctx    context.Context
	server *redistest.Server
	dir    string
	length time.Duration
	runs   int
}

// place returns an empty folder, and a server without keys.
func (b *bench) place() (string, error) {
	if _, err := b.server.Do("FLUSHALL"); err != nil {
		return "", err
	}
	b.runs++
	dir := filepath.Join(b.dir, fmt.Sprintf("run%d", b.runs))
	return dir, os.MkdirAll(dir, 0o700)
}

// percentile returns the value below which p of a sorted list lie.
func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

func list(parts ...string) string { return strings.Join(parts, ", ") }
