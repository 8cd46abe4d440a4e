// Command startup measures whole processes of what people type most: `anivault
// version`, and a match of ten files whose answers are in the cache. In turns with
// it run a program of Go's standard library alone, one with cobra alone, and yq, a
// cobra program that many people use.
//
//	go run -C bench ./startup [-rounds 200] [-bin FILE] [-other FILE]
//
// -other names a second anivault, to compare two versions.
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

// peer is the cobra program that others wrote, built with what its authors pinned.
const peer = "github.com/mikefarah/yq/v4@v4.45.1"

// program is one row of the table: what runs in each round, and how long it took.
type program struct {
	name  string
	args  []string
	env   []string
	ready func() error // before each run, untimed; may be nil
	took  []time.Duration
	cpu   []time.Duration // user and system time: it depends less on what else the machine does
}

func main() {
	rounds := flag.Int("rounds", 200, "runs of each program")
	bin := flag.String("bin", "", "program to measure (default: build it)")
	other := flag.String("other", "", "another version to measure in turns")
	flag.Parse()
	if err := run(context.Background(), *rounds, *bin, *other); err != nil {
		fmt.Fprintln(os.Stderr, "startup:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, bin, other string) error {
	tmp, err := os.MkdirTemp("", "startup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fmt.Fprintln(os.Stderr, "building")
	programs, err := peers(ctx, tmp)
	if err != nil {
		return err
	}
	if bin, err = kit.Anivault(ctx, tmp, bin); err != nil {
		return err
	}
	fake, server, err := kit.StandIn(tmdbfake.Config{})
	if err != nil {
		return err
	}
	defer server.Close()
	for _, v := range []struct{ bin, name string }{{bin, "anivault"}, {other, "the other"}} {
		if v.bin == "" {
			continue
		}
		own, err := version(filepath.Join(tmp, "home of "+v.name), v.name, v.bin, server.URL())
		if err != nil {
			return err
		}
		programs = append(programs, own...)
	}
	asked := len(fake.Journal())
	for round := range rounds + 2 { // the first two bring the files into memory
		for i := range programs {
			p := programs[(i+round)%len(programs)] // nobody always follows the same one
			took, cpu, err := p.once()
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if round >= 2 {
				p.took, p.cpu = append(p.took, took), append(p.cpu, cpu)
			}
		}
	}
	if n := len(fake.Journal()) - asked; n > 0 {
		return fmt.Errorf("the warm runs sent %d requests: they measure something else", n)
	}
	show(programs, rounds)
	return nil
}

// version prepares one anivault, with a library and a home of its own.
func version(home, name, bin, url string) ([]*program, error) {
	lib, fresh := filepath.Join(home, "lib"), filepath.Join(home, "new")
	if err := fill(lib, 1, 10); err != nil {
		return nil, err
	}
	env := kit.Env(home, url)
	first := exec.Command(bin, "match", "--quiet", lib)
	first.Env, first.Stderr = env, os.Stderr
	if err := first.Run(); err != nil {
		return nil, fmt.Errorf("first match of %s: %w", name, err)
	}
	n := 0 // the number of the folder that no run has seen yet
	unseen := func() error {
		n++
		if err := os.RemoveAll(fresh); err != nil {
			return err
		}
		return fill(filepath.Join(fresh, fmt.Sprint(n)), 1, 10)
	}
	return []*program{
		{name: name + " version", args: []string{bin, "version"}, env: env},
		{name: name + " match, 10 seen files", args: []string{bin, "match", "--quiet", lib}, env: env},
		{name: name + " match, 10 new files of known series", args: []string{bin, "match", "--quiet", fresh}, env: env, ready: unseen},
	}, nil
}

// peers builds the programs beside anivault.
func peers(ctx context.Context, tmp string) ([]*program, error) {
	file := func(name string) string { return filepath.Join(tmp, name) }
	if err := os.WriteFile(file("plain.go"), []byte("package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"plain\\n\") }\n"), 0o600); err != nil {
		return nil, err
	}
	if err := errors.Join(kit.Build(ctx, ".", file("plain"), file("plain.go")), kit.Build(ctx, ".", file("hello"), "./startup/hello")); err != nil {
		return nil, err
	}
	install := exec.CommandContext(ctx, "go", "install", peer)
	install.Env, install.Stderr = append(os.Environ(), "GOBIN="+tmp), os.Stderr
	if err := install.Run(); err != nil {
		return nil, fmt.Errorf("go install %s: %w", peer, err)
	}
	return []*program{
		{name: "cobra hello version", args: []string{file("hello"), "version"}},
		{name: "Go, standard library", args: []string{file("plain")}},
		{name: "yq --version", args: []string{file("yq"), "--version"}},
	}, nil
}

// fill creates files of one series below dir.
func fill(dir string, from, to int) error {
	dir = filepath.Join(dir, "Cowboy Bebop")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := from; i <= to; i++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("[G] Cowboy Bebop - %02d [1080p].mkv", i)), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// once runs the program to its end. It returns the time from before its start to after its exit, and its CPU time.
func (p *program) once() (took, cpu time.Duration, err error) {
	if p.ready != nil {
		if err := p.ready(); err != nil {
			return 0, 0, err
		}
	}
	cmd := exec.Command(p.args[0], p.args[1:]...)
	var out, complaint bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &out, &complaint
	start := time.Now()
	err = cmd.Run()
	took = time.Since(start)
	if err == nil && out.Len() == 0 {
		err = fmt.Errorf("it printed nothing")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, complaint.String())
	}
	return took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// show prints a table. The last column is the median in units of that of the cobra program.
func show(programs []*program, rounds int) {
	fmt.Printf("%s, %d rounds of whole processes, milliseconds\n\n%-46s %8s %8s %8s %8s %10s\n", kit.Machine(), rounds,
		"what", "least", "median", "p95", "CPU", "of hello")
	for _, p := range programs {
		fmt.Printf("%-46s %8.1f %8.1f %8.1f %8.1f %9.2fx\n", p.name, ms(p.took, 0), ms(p.took, 0.5), ms(p.took, 0.95),
			ms(p.cpu, 0.5), ms(p.took, 0.5)/ms(programs[0].took, 0.5))
	}
}

// ms returns a quantile in milliseconds.
func ms(took []time.Duration, q float64) float64 {
	return float64(kit.Quantile(took, q)) / float64(time.Millisecond)
}
