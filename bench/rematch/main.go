// Command rematch measures how fast a library that has not changed is matched again: wall time, CPU time and peak
// memory of the whole process, beside two floors of walking the same tree: the standard library's walk with the size
// and time of each file, and anivault's own, which also follows links and judges what is media.
//
//	go run -C bench ./rematch [-files 100000] [-folder 50] [-runs 5] [-before BIN]
//
// With -before, another build of the program is measured in the same turns.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/tmdbfake"
)

var titles = []string{
	"Cowboy Bebop", "Death Note", "Toradora!", "Bleach", "Naruto", "Trigun", "Odd Taxi", "Haikyu!!",
	"Clannad", "Chainsaw Man",
}

func main() {
	files := flag.Int("files", 100_000, "size of the library")
	folder := flag.Int("folder", 50, "files in each folder")
	runs := flag.Int("runs", 5, "how often each is measured, in turns")
	bin := flag.String("bin", "", "program to measure (default: build it)")
	before := flag.String("before", "", "another `program` to measure in the same turns")
	flag.Parse()
	if err := run(*bin, *before, *files, *folder, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "rematch:", err)
		os.Exit(1)
	}
}

// bench is what the measurements share.
type bench struct {
	bin  string
	env  []string
	fake *tmdbfake.Fake
}

func run(bin, before string, files, folder, runs int) error {
	tmp, err := os.MkdirTemp("", "rematch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if bin, err = kit.Anivault(context.Background(), tmp, bin); err != nil {
		return err
	}
	lib := filepath.Join(tmp, "lib")
	if err := fill(lib, files, folder); err != nil {
		return err
	}
	fake, server, err := kit.StandIn(tmdbfake.Config{})
	if err != nil {
		return err
	}
	defer server.Close()
	b := bench{bin, kit.Env(tmp, server.URL()), fake}

	fmt.Printf("%d cores, %s, %d files, %d in a folder; the median of %d runs\n\n%-30s %10s %8s %12s %10s %9s\n",
		runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), files, folder, runs, "what", "seconds", "CPU", "files/s",
		"peak MB", "requests")
	programs := []struct {
		bench
		name string
	}{{b, ""}}
	if before != "" {
		was := b
		was.bin, was.env = before, append(slices.Clone(b.env), "HOME="+filepath.Join(tmp, "before")) // the last HOME counts
		programs = append(programs, struct {
			bench
			name string
		}{was, ", before"})
	}
	cold := []step{}
	warm := []step{
		{"walk alone: WalkDir", func() (result, error) { return timed(lib, walk) }},
		{"walk alone: our own", func() (result, error) { return timed(lib, ownWalk) }},
	}
	for _, p := range programs {
		match := func() (result, error) { return p.match(lib) }
		cold = append(cold, step{"match, cold" + p.name, match})
		warm = append(warm, step{"match, warm" + p.name, match})
	}
	if err := measure(1, cold); err != nil {
		return err
	}
	return measure(runs, warm)
}

// step is one thing that is measured; result is what came of it.
type step struct {
	name string
	do   func() (result, error)
}

type result struct {
	kit.Usage // zero but for Took: not known
	files     int
	requests  int
}

// measure does the steps in turns, so that what else the machine does hits all of them alike, and prints medians.
func measure(runs int, steps []step) error {
	all := make([][]result, len(steps))
	for range runs {
		for i, s := range steps {
			r, err := s.do()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			all[i] = append(all[i], r)
		}
	}
	for i, s := range steps {
		slices.SortFunc(all[i], func(a, b result) int { return cmp.Compare(a.Took, b.Took) })
		r := all[i][runs/2]
		slices.SortFunc(all[i], func(a, b result) int { return cmp.Compare(a.CPU, b.CPU) })
		fmt.Printf("%-30s %10.3f %8.3f %12.0f %10.1f %9d\n", s.name, r.Took.Seconds(), all[i][runs/2].CPU.Seconds(),
			float64(r.files)/r.Took.Seconds(), float64(r.Peak)/1e6, r.requests)
	}
	return nil
}

// match runs the program over a library.
func (b bench) match(lib string) (result, error) {
	before := len(b.fake.Journal())
	var out lines
	cmd := exec.Command(b.bin, "match", "--quiet", lib)
	cmd.Env, cmd.Stdout, cmd.Stderr = b.env, &out, os.Stderr
	usage, err := kit.Run(cmd)
	return result{usage, int(out) - 1, len(b.fake.Journal()) - before}, err
}

// timed measures a walk in this process.
func timed(lib string, walk func(string) (int, error)) (result, error) {
	start := time.Now()
	n, err := walk(lib)
	return result{Usage: kit.Usage{Took: time.Since(start)}, files: n}, err
}

// fill makes a library of folders of one series each.
func fill(lib string, files, perFolder int) error {
	for i := range files {
		folder := i / perFolder
		title := titles[folder%len(titles)]
		dir := filepath.Join(lib, fmt.Sprintf("%05d", folder), title)
		if i%perFolder == 0 {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("[G] %s - %02d [1080p].mkv", title, i%perFolder+1)), nil,
			0o600); err != nil {
			return err
		}
	}
	return nil
}

// walk reads what a match has to read at least: every folder, and size and time of every file.
func walk(lib string) (int, error) {
	n := 0
	err := filepath.WalkDir(lib, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		_, err = d.Info()
		return err
	})
	return n, err
}

// ownWalk is the walk of anivault itself.
func ownWalk(lib string) (int, error) {
	n := 0
	err := library.Walk(context.Background(), []string{lib}, library.Options{}, func(d library.Dir) error {
		n += len(d.Files)
		return d.Err
	})
	return n, err
}

// lines counts the lines that are written to it.
type lines int

func (l *lines) Write(p []byte) (int, error) {
	*l += lines(bytes.Count(p, []byte("\n")))
	return len(p), nil
}
