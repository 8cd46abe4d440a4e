// Command organize measures what it takes to put a big library in order: how long plans take, warm, where all is to do
// and where nothing is; how long it takes to carry plans out, to undo them and to resume one that was half done, beside
// bare loops of the system's calls. Numbers of plans are of the whole process, which matches the library as well;
// "match" beside them is that alone.
//
//	go run -C bench ./organize [-shows 1000] [-episodes 100] [-runs 3] [-only plans,runs] [-bin FILE]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/tmdbfake"
)

func main() {
	shows := flag.Int("shows", 1000, "series in the library")
	episodes := flag.Int("episodes", 100, "episodes of each")
	runs := flag.Int("runs", 3, "how often each is measured, in turns")
	only := flag.String("only", "plans,runs", "which parts")
	bin := flag.String("bin", "", "program to measure (default: build it)")
	flag.Parse()
	if err := run(context.Background(), *bin, *only, *shows, *episodes, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "organize:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, only string, shows, episodes, runs int) error {
	tmp, err := os.MkdirTemp("", "organize-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if bin, err = kit.Anivault(ctx, tmp, bin); err != nil {
		return err
	}
	fmt.Println(kit.Machine())
	lib, out := filepath.Join(tmp, "lib"), filepath.Join(tmp, "out")
	if err := fill(lib, shows, episodes); err != nil {
		return err
	}
	cat, err := kit.Catalogue(shows, 1000, episodes)
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return err
	}
	_, server, err := kit.StandIn(tmdbfake.Config{Catalogue: cat})
	if err != nil {
		return err
	}
	defer server.Close()
	b := bench{bin, append(kit.Env(tmp, server.URL()), "ANIVAULT_RATE_BASE=400", "ANIVAULT_CEILING=400"), lib, out}
	fmt.Printf("\n%d files, the median of %d runs\n\n", shows*episodes, runs)
	if _, err := b.match(); err != nil { // cold
		return err
	}
	if strings.Contains(only, "plans") {
		if err := b.plans(runs); err != nil {
			return err
		}
	}
	if strings.Contains(only, "runs") {
		if err := b.carryOut(shows*episodes, runs); err != nil {
			return err
		}
	}
	return nil
}

// plans measures how long plans take.
func (b bench) plans(runs int) (err error) {
	fmt.Printf("%-28s %9s %9s %9s %9s %9s %9s\n", "what", "seconds", "CPU s", "peak MB", "planned", "in place", "left")
	for _, step := range []struct {
		name string
		do   func() (result, error)
	}{
		{"match, warm", b.match},
		{"plan, all to do", b.plan},
		{"the same, to a file", b.save},
		{"", b.link},
		{"plan, nothing to do", b.plan},
	} {
		var took, cpu []float64
		var last result
		for range runs {
			if last, err = step.do(); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			took, cpu = append(took, last.Took.Seconds()), append(cpu, last.CPU.Seconds())
			if step.name == "" {
				break
			}
		}
		if step.name != "" {
			fmt.Printf("%-28s %9.3f %9.3f %9.1f %9d %9d %9d\n", step.name, kit.Quantile(took, 0.5), kit.Quantile(cpu, 0.5),
				float64(last.Peak)/1e6,
				last.Planned, last.InPlace, last.Left+last.Conflicts)
		}
	}
	if err := os.RemoveAll(b.out); err != nil {
		return err
	}
	return os.Mkdir(b.out, 0o700)
}

type bench struct {
	bin      string
	env      []string
	lib, out string
}

// result is how long a run took, and its summary where it has one.
type result struct {
	kit.Usage
	summary
}

type summary struct {
	Planned   int `json:"planned"`
	InPlace   int `json:"in_place"`
	Left      int `json:"left"`
	Conflicts int `json:"conflicts"`
}

func (b bench) exec(out io.Writer, args ...string) (result, error) {
	cmd := exec.Command(b.bin, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = b.env, out, os.Stderr
	usage, err := kit.Run(cmd)
	return result{Usage: usage}, err
}

func (b bench) match() (result, error) { return b.exec(io.Discard, "match", "--quiet", b.lib) }

// save makes a plan's text.
func (b bench) save() (result, error) {
	plan := filepath.Join(b.out, "..", "plan")
	if err := os.RemoveAll(plan); err != nil { // none is replaced
		return result{}, err
	}
	return b.exec(io.Discard, "organize", "--quiet", "--plan", plan, "--to", b.out, b.lib)
}

// plan makes a plan of objects, whose last line is read.
func (b bench) plan() (result, error) {
	var last tail
	r, err := b.exec(&last, "organize", "--quiet", "--format", "ndjson", "--to", b.out, b.lib)
	if err != nil {
		return r, err
	}
	lines := strings.Split(strings.TrimSpace(string(last)), "\n")
	return r, json.Unmarshal([]byte(lines[len(lines)-1]), &r.summary)
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	const keep = 4096
	*t = append(*t, p...)
	if n := len(*t); n > 1<<20 {
		*t = append((*t)[:0], (*t)[n-keep:]...)
	}
	return len(p), nil
}

// link carries a plan out by bare links.
func (b bench) link() (result, error) {
	all, err := b.read("hardlink")
	if err == nil {
		err = all.folders()
	}
	if err == nil {
		err = all.each(os.Link)
	}
	return result{}, err
}

// fill makes a library of series in folders of their own.
func fill(lib string, shows, episodes int) error {
	for i := range shows {
		title := kit.Title(i)
		dir := filepath.Join(lib, title)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for e := range episodes {
			file := filepath.Join(dir, fmt.Sprintf("[G] %s - S01E%02d [1080p].mkv", title, e+1))
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
