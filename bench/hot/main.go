// Command hot measures what happens most often: a whole process with little to do, one permit of the limiter, and one
// put and one get of the cache.
//
//	go run -C bench ./hot [-rounds 100] [-bin FILE] [-other FILE]
//
// With -other the processes of a second anivault are measured in turns with the first.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/tmdbfake"
)

// program is a command line that is measured.
type program struct {
	name      string
	args, env []string
	ready     func() error // runs before each measurement; nil: nothing to do
	took, cpu []time.Duration
}

func main() {
	rounds := flag.Int("rounds", 100, "runs of each program")
	bin := flag.String("bin", "", "program to measure (default: build it)")
	other := flag.String("other", "", "another version to measure in turns")
	flag.Parse()
	if err := run(context.Background(), *rounds, *bin, *other); err != nil {
		fmt.Fprintln(os.Stderr, "hot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, bin, other string) error {
	tmp, err := os.MkdirTemp("", "hot-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if bin, err = kit.Anivault(ctx, tmp, bin); err != nil {
		return err
	}
	fmt.Println(kit.Machine())
	if err := calls(ctx, tmp); err != nil {
		return err
	}
	return startUp(ctx, tmp, rounds, bin, other)
}

// startUp measures whole processes.
func startUp(ctx context.Context, tmp string, rounds int, bin, other string) error {
	fake, server, err := kit.StandIn(tmdbfake.Config{})
	if err != nil {
		return err
	}
	defer server.Close()
	programs, err := version(ctx, filepath.Join(tmp, "home"), "anivault", bin, server.URL())
	if err != nil {
		return err
	}
	if other != "" {
		more, err := version(ctx, filepath.Join(tmp, "home of the other"), "the other", other, server.URL())
		if err != nil {
			return err
		}
		programs = append(programs, more...)
	}
	asked := len(fake.Journal())
	for round := range rounds + 2 { // the first two bring the files into memory
		for i := range programs {
			p := programs[(i+round)%len(programs)] // no program always follows the same one
			took, cpu, err := p.once(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if round >= 2 {
				p.took, p.cpu = append(p.took, took), append(p.cpu, cpu)
			}
		}
	}
	if n := len(fake.Journal()) - asked; n > 0 {
		return fmt.Errorf("the warm runs sent %d requests, so they measure something else", n)
	}
	fmt.Printf("\n%-50s %9s %9s %9s\n", "whole processes, milliseconds", "median", "p95", "CPU")
	for _, p := range programs {
		fmt.Printf("%-50s %9.1f %9.1f %9.1f\n", p.name, ms(p.took, 0.5), ms(p.took, 0.95), ms(p.cpu, 0.5))
	}
	return nil
}

// version returns the programs of one anivault, which has a library and a home of its own.
func version(ctx context.Context, home, name, bin, url string) ([]*program, error) {
	lib, fresh := filepath.Join(home, "lib"), filepath.Join(home, "new")
	env := kit.Env(home, url)
	first := exec.CommandContext(ctx, bin, "match", "--quiet", lib)
	first.Env, first.Stderr = env, os.Stderr
	if err := errors.Join(fill(lib), first.Run()); err != nil {
		return nil, fmt.Errorf("first match of %s: %w", name, err)
	}
	n := 0
	newFolder := func() error {
		n++
		return errors.Join(os.RemoveAll(fresh), fill(filepath.Join(fresh, fmt.Sprint(n))))
	}
	match := []string{bin, "match", "--quiet"}
	return []*program{
		{name: name + " version", args: []string{bin, "version"}, env: env},
		{name: name + " match, 10 seen files", args: append(match, lib), env: env},
		{name: name + " match, 10 new files of a known series", args: append(match, fresh), env: env, ready: newFolder},
	}, nil
}

// fill creates ten files of one series below dir.
func fill(dir string) error {
	dir = filepath.Join(dir, "Cowboy Bebop")
	err := os.MkdirAll(dir, 0o700)
	for i := range 10 {
		name := fmt.Sprintf("[G] Cowboy Bebop - %02d [1080p].mkv", i+1)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	return err
}

// once runs the program to its end and returns the time that it took, and its CPU time.
func (p *program) once(ctx context.Context) (took, cpu time.Duration, err error) {
	if p.ready != nil {
		if err := p.ready(); err != nil {
			return 0, 0, err
		}
	}
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	var out, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &out, &stderr
	usage, err := kit.Run(cmd)
	if err == nil && out.Len() == 0 {
		err = errors.New("it printed nothing")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return usage.Took, usage.CPU, nil
}

// ms returns a quantile in milliseconds.
func ms(took []time.Duration, q float64) float64 {
	return float64(kit.Quantile(took, q)) / float64(time.Millisecond)
}
