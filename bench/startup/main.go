// Command startup measures how long the whole process takes of what a person types most: `anivault version`, and a
// match of ten files whose answers are at hand. Beside it run, turn by turn and in the same minutes, a program of the
// Go standard library alone, one with nothing but cobra, and yq, a cobra program that many people use.
//
//	go run -C bench ./startup [-rounds 200]
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// peer is the cobra program that others wrote, built with what its authors pinned.
const peer = "github.com/mikefarah/yq/v4@v4.45.1"

// program is one contestant: what is run each round and how long each took.
type program struct {
	name  string
	args  []string
	ready func() error // before each run, untimed; may be nil
	took  []time.Duration
}

func main() {
	rounds := flag.Int("rounds", 200, "how often each program runs")
	flag.Parse()
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, "startup:", err)
		os.Exit(1)
	}
}

func run(rounds int) error {
	tmp, err := os.MkdirTemp("", "startup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fmt.Fprintln(os.Stderr, "building")
	bin, err := build(tmp)
	if err != nil {
		return err
	}
	fake, err := tmdbfake.New(tmdbfake.Config{})
	if err != nil {
		return err
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close()
	env := append(os.Environ(), "HOME="+filepath.Join(tmp, "home"), "ANIVAULT_TMDB_BASE_URL="+server.URL(), "ANIVAULT_TMDB_TOKEN=bench")

	lib := filepath.Join(tmp, "lib")
	if err := fill(lib, 1, 10); err != nil {
		return err
	}
	first := exec.Command(bin("anivault"), "match", "--quiet", lib)
	first.Env, first.Stderr = env, os.Stderr
	if err := first.Run(); err != nil {
		return fmt.Errorf("first match: %w", err)
	}
	asked := len(fake.Journal())
	fresh := 0 // the number of the folder that no run has seen yet
	programs := []*program{
		{name: "Go, standard library", args: []string{bin("plain")}},
		{name: "cobra hello version", args: []string{bin("hello"), "version"}},
		{name: "yq --version", args: []string{bin("yq"), "--version"}},
		{name: "anivault version", args: []string{bin("anivault"), "version"}},
		{name: "anivault match, 10 seen files", args: []string{bin("anivault"), "match", "--quiet", lib}},
		{name: "anivault match, 10 new files of known series", args: []string{bin("anivault"), "match", "--quiet", filepath.Join(tmp, "new")}, ready: func() error {
			fresh++
			if err := os.RemoveAll(filepath.Join(tmp, "new")); err != nil {
				return err
			}
			return fill(filepath.Join(tmp, "new", fmt.Sprint(fresh)), 1, 10)
		}},
	}
	for round := range rounds + 2 { // the first two bring the files into memory
		for i := range programs {
			p := programs[(i+round)%len(programs)] // nobody always follows the same one
			if p.ready != nil {
				if err := p.ready(); err != nil {
					return err
				}
			}
			took, err := once(p.args, env)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if round >= 2 {
				p.took = append(p.took, took)
			}
		}
	}
	if n := len(fake.Journal()) - asked; n > 0 {
		return fmt.Errorf("the warm runs sent %d requests: they measure something else", n)
	}
	return show(programs, rounds)
}

// build makes every program and returns where each is.
func build(tmp string) (func(string) string, error) {
	bin := func(name string) string { return filepath.Join(tmp, name) }
	plain := filepath.Join(tmp, "plain.go")
	if err := os.WriteFile(plain, []byte("package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"plain\\n\") }\n"), 0o600); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"build", "-o", bin("plain"), plain},
		{"build", "-o", bin("hello"), "./startup/hello"},
		{"build", "-C", "..", "-o", bin("anivault"), "./cmd/anivault"},
		{"install", peer},
	} {
		cmd := exec.Command("go", args...)
		cmd.Env, cmd.Stderr = append(os.Environ(), "GOBIN="+tmp), os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
	}
	return bin, nil
}

// fill makes one series' files below dir.
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

// once runs a program to its end and returns how long that took, from before its start to after its exit.
func once(args, env []string) (time.Duration, error) {
	cmd := exec.Command(args[0], args[1:]...)
	var out, complaint bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &complaint
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err == nil && out.Len() == 0 {
		err = fmt.Errorf("it printed nothing")
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, complaint.String())
	}
	return took, nil
}

// show prints a table; the last column is the median beside that of the cobra hello.
func show(programs []*program, rounds int) error {
	hello := median(programs[1].took)
	fmt.Printf("%d cores, %s, %d rounds of whole processes, milliseconds\n\n%-46s %8s %8s %8s %10s\n", runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), rounds,
		"what", "least", "median", "p95", "of hello")
	for _, p := range programs {
		slices.Sort(p.took)
		m := median(p.took)
		fmt.Printf("%-46s %8.1f %8.1f %8.1f %9.2fx\n", p.name, ms(p.took[0]), ms(m), ms(p.took[len(p.took)*95/100]), float64(m)/float64(hello))
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
