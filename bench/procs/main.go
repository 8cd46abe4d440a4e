// Command procs measures how real anivault processes share one rate: so many `anivault match` at a time, each with a
// library of its own and all with the same state, against the stand-in with a sliding limit.
//
//	go run -C bench ./procs [-processes 2,4,8] [-for 35s] [-limit sliding:40/1s]
//
// It prints the number of 429s, which should be none, the summed rate from the moment on at which the bucket is first
// empty, and the share of each process in it.
//
// Figures depend on machine and load; nothing here is an assertion.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

const (
	rateBase  = 35.0
	bucketCap = 35.0
)

func main() {
	processes := flag.String("processes", "2,4,8", "numbers of processes")
	length := flag.Duration("for", 35*time.Second, "how long each number runs")
	limit := flag.String("limit", "sliding:40/1s", "the stand-in's limit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *processes, *length, *limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, processes string, length time.Duration, limit string) error {
	dir, err := os.MkdirTemp("", "procs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "anivault")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/anivault")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build anivault (run this from bench): %w", err)
	}
	fmt.Printf("%d cores, load %s, %s, %s, limit %s, rate_base %g\n", runtime.NumCPU(), load(), runtime.Version(), time.Now().UTC().Format(time.DateTime), limit, rateBase)
	for _, text := range strings.Split(processes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > len(names) {
			return fmt.Errorf("%q is no number of processes from 1 to %d", text, len(names))
		}
		entries, start, err := trial(ctx, program, filepath.Join(dir, text), n, length, limit)
		if err != nil {
			return err
		}
		show(n, entries, start, length)
	}
	fmt.Printf("(load at the end: %s)\n", load())
	return nil
}

// load is the machine's load average, where it can be had.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	words := strings.Fields(string(raw))
	return strings.Join(words[:min(3, len(words))], " ")
}

// trial runs n processes for a time and returns what the stand-in has seen.
func trial(ctx context.Context, program, dir string, n int, length time.Duration, limit string) ([]tmdbfake.Entry, time.Time, error) {
	limits, err := tmdbfake.ParseLimits(limit)
	if err != nil {
		return nil, time.Time{}, err
	}
	fake, err := tmdbfake.New(tmdbfake.Config{Limits: limits, Latency: tmdbfake.Latency{Min: 20 * time.Millisecond, Max: 60 * time.Millisecond}})
	if err != nil {
		return nil, time.Time{}, err
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		return nil, time.Time{}, err
	}
	defer func() { _ = server.Close() }() // all that matters has been answered by then
	for i := range n {
		if err := makeLibrary(filepath.Join(dir, names[i]), names[i], int(40*length.Seconds())); err != nil {
			return nil, time.Time{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	start := time.Now()
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		group.Go(func() { errs[i] = match(ctx, program, dir, names[i], server.URL()) })
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, start, fmt.Errorf("process %d: %w", i+1, err)
		}
	}
	return fake.Journal(), start, nil
}

// match runs one process until ctx ends.
func match(ctx context.Context, program, dir, name, url string) error {
	cmd := exec.CommandContext(ctx, program, "match", "--quiet", "--format", "ndjson", filepath.Join(dir, name))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ANIVAULT_STATE_DIR=" + filepath.Join(dir, "state"), "ANIVAULT_CACHE_DIR=" + filepath.Join(dir, "cache"),
		"ANIVAULT_TMDB_TOKEN=bench", "ANIVAULT_TMDB_BASE_URL=" + url,
	}
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil: // it was told to end, and says so
		err = nil
	case err == nil:
		err = fmt.Errorf("%s had nothing left to ask before the time was over", name)
	}
	return err
}

// names are what the titles of each process's library begin with, so that its requests can be told.
var names = []string{"Brelvandor", "Crumfastig", "Dwolkiner", "Fjalmutter", "Gnorvelik", "Hrastopel", "Jvimgarten", "Klompuzart"}

// makeLibrary makes empty files of series that nobody has heard of.
func makeLibrary(dir, name string, series int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range series {
		file := fmt.Sprintf("[Group] %s %s - 01 [1080p].mkv", name, word(i))
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// word makes a word of a number, without digits that could be read as a season.
func word(i int) string {
	syllables := []string{"ba", "cu", "do", "fe", "gi", "ka", "lu", "mo", "ne", "pi"}
	var b strings.Builder
	for _, c := range fmt.Sprintf("%05d", i) {
		b.WriteString(syllables[c-'0'])
	}
	return b.String()
}

// show prints one line of the table and the shares.
func show(n int, entries []tmdbfake.Entry, start time.Time, length time.Duration) {
	owner := map[int]int{} // of connections
	for _, e := range entries {
		for i, name := range names[:n] {
			if strings.Contains(strings.ToLower(e.Query), strings.ToLower(name)) {
				owner[e.Conn] = i
			}
		}
	}
	refused, first := 0, length
	at := make([]time.Duration, len(entries))
	for i, e := range entries {
		at[i] = e.At.Sub(start)
		first = min(first, at[i])
		if e.Status == 429 {
			refused++
		}
	}
	sorted := slices.Sorted(slices.Values(at))
	empty := length
	for i, t := range sorted {
		if float64(i+1) >= bucketCap+rateBase*(t-first).Seconds()-2 {
			empty = t
			break
		}
	}
	end := length - 500*time.Millisecond // the last ones may have been told to end
	shares := make([]int, n)
	sum, unknown := 0, 0
	for i, e := range entries {
		if at[i] < empty || at[i] >= end {
			continue
		}
		sum++
		if o, ok := owner[e.Conn]; ok {
			shares[o]++
		} else {
			unknown++
		}
	}
	span := (end - empty).Seconds()
	fmt.Printf("\n%d processes: %d requests, %d refused (429)\n", n, len(entries), refused)
	if sum == 0 {
		fmt.Println("  the bucket was never empty: run it for longer")
		return
	}
	rate := float64(sum) / span
	fmt.Printf("  the bucket was first empty after %.1f s; from then on %.2f/s over %.1f s: %+.1f %% of %g/s\n",
		(empty - first).Seconds(), rate, span, 100*(rate/rateBase-1), rateBase)
	fair := float64(sum) / float64(n)
	for i, s := range shares {
		fmt.Printf("  process %d: %d, %+.1f %% of its fair share\n", i+1, s, 100*(float64(s)/fair-1))
	}
	if unknown > 0 {
		fmt.Printf("  of unknown processes: %d\n", unknown)
	}
}
