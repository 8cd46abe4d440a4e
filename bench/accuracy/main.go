// Command accuracy measures how often names are read and matched right, on real names with their truth.
//
//	go run -C bench ./accuracy [-eval DIR] [-ranks mixed,popularity,...] [-only names|match]
//
// It builds anivault and the stand-in from this repository, loads the stand-in with the evaluation's catalogue,
// and runs the evaluation's own scorer. The data is not part of the project: without it the command says so.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	eval := flag.String("eval", filepath.Join("..", "..", "shared", "eval"), "folder with the names, the catalogue and the scorer")
	ranks := flag.String("ranks", "mixed", "rank modes of the stand-in's search, comma separated")
	only := flag.String("only", "", "names or match")
	flag.Parse()
	if err := run(*eval, strings.Split(*ranks, ","), *only); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run(eval string, ranks []string, only string) error {
	eval, err := filepath.Abs(eval)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(eval, "scorer", "main.go")); err != nil {
		return fmt.Errorf("no evaluation data: %w; name its folder with -eval", err)
	}
	tmp, err := os.MkdirTemp("", "accuracy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	bin := map[string]string{}
	for name, build := range map[string][]string{
		"anivault": {"..", "./cmd/anivault"}, "tmdbfake": {"..", "./cmd/tmdbfake"}, "scorer": {filepath.Join(eval, "scorer"), "."},
	} {
		bin[name] = filepath.Join(tmp, name)
		if err := command("go", "build", "-C", build[0], "-o", bin[name], build[1]).Run(); err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
	}
	fmt.Printf("%d cores, %s/%s, %s\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly))
	if only != "match" {
		fmt.Println("\n== names")
		err := command(bin["scorer"], "-in", filepath.Join(eval, "parse_dev.jsonl"), "-skip", "see", "-by", "style", "-bench", "20", "--",
			bin["anivault"], "parse", "--format", "ndjson").Run()
		if err != nil {
			return err
		}
	}
	if only == "names" {
		return nil
	}
	for _, rank := range ranks {
		for _, data := range []string{"match_gen_dev.jsonl", "match_eval_dev.jsonl"} {
			if err := match(bin, eval, tmp, rank, data); err != nil {
				return fmt.Errorf("%s, rank %s: %w", data, rank, err)
			}
		}
	}
	return nil
}

// command shows its output as it comes.
func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// match scores one file of names against a fresh stand-in, with an empty cache.
func match(bin map[string]string, eval, tmp, rank, data string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	home, err := os.MkdirTemp(tmp, "home-")
	if err != nil {
		return err
	}
	addresses := filepath.Join(home, "addr")
	fake := exec.CommandContext(ctx, bin["tmdbfake"], "--addr-file", addresses, "--catalog", filepath.Join(eval, "catalog_dev.jsonl"), "--rank", rank)
	if err := fake.Start(); err != nil {
		return err
	}
	defer func() { cancel(); _ = fake.Wait() }()
	api, admin, err := await(addresses)
	if err != nil {
		return err
	}
	fmt.Printf("\n== %s, rank %s\n", data, rank)
	cmd := command(bin["scorer"], "-match", "-in", filepath.Join(eval, data), "--", bin["anivault"], "match", "--quiet", "--names-from", "-", "--format", "ndjson")
	cmd.Env = append(os.Environ(), "HOME="+home, "ANIVAULT_TMDB_BASE_URL=http://"+api, "ANIVAULT_TMDB_TOKEN=accuracy",
		"ANIVAULT_RATE_BASE=400", "ANIVAULT_CEILING=400", "ANIVAULT_CONCURRENCY=8")
	if err := cmd.Run(); err != nil {
		return err
	}
	requests, err := journalSize(admin)
	if err != nil {
		return err
	}
	works, err := distinctWorks(filepath.Join(eval, data))
	if err != nil {
		return err
	}
	fmt.Printf("%d requests for %d works: %.2f each\n", requests, works, float64(requests)/float64(works))
	return nil
}

// await reads the stand-in's two addresses once they are written.
func await(path string) (api, admin string, err error) {
	for range 300 {
		if raw, err := os.ReadFile(path); err == nil {
			if lines := strings.Fields(string(raw)); len(lines) == 2 {
				return lines[0], lines[1], nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "", "", errors.New("the stand-in did not start")
}

func journalSize(admin string) (int, error) {
	resp, err := http.Get("http://" + admin + "/__fake/journal")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var entries []json.RawMessage
	err = json.NewDecoder(resp.Body).Decode(&entries)
	return len(entries), err
}

// distinctWorks counts the works that the rows ask for.
func distinctWorks(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	seen := map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row struct {
			Kind string `json:"tmdb_kind"`
			ID   int    `json:"tmdb_id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return 0, err
		}
		seen[fmt.Sprint(row.Kind, "/", row.ID)] = true
	}
	return len(seen), lines.Err()
}
