// Command accuracy measures how often names are read and matched right, on real
// names with their truth.
//
//	go run -C bench ./accuracy [-eval DIR] [-only names,match,sources,hidden,ranks] [-ranks mixed,popularity,...] [-bin FILE]
//
// It builds anivault and the stand-in from this repository, gives the stand-in the
// evaluation's catalogue, and runs the evaluation's own scorer. The data is not part
// of the project: without it the command fails with a message.
//
//	names    what is read from a name
//	match    what is matched, by kind of name, with the number of requests
//	sources  the same without source anipar, which is most of the real names
//	hidden   whether confidences are right, also of names whose entry the catalogue lacks
//	ranks    the same names in other search orders, and offline from a warm cache
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anivault/anivault/bench/kit"
)

var parts = []string{"names", "match", "sources", "hidden", "ranks"}

func main() {
	eval := flag.String("eval", filepath.Join("..", "..", "shared", "eval"), "folder with the names, the catalogue and the scorer")
	ranks := flag.String("ranks", "mixed,popularity,text,decoy,shuffled", "rank modes of the stand-in's search, comma separated; the first is the one that is scored")
	wrong := flag.String("errors", "", "append the names matched wrongly with confidence 0.9 or more to this `file` (hidden)")
	bin := flag.String("bin", "", "program to measure (default: build it)")
	only := flag.String("only", strings.Join(parts, ","), "what to measure, comma separated")
	flag.Parse()
	if err := run(*eval, strings.Split(*ranks, ","), strings.Split(*only, ","), *wrong, *bin); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// bench is what all measurements share.
type bench struct {
	eval, tmp string
	anivault  string
	tmdbfake  string
	scorer    string
	errors    string // file to append wrong matches to; "": none
}

// files of names with their truth, in the evaluation's folder.
var files = []string{"match_gen_dev.jsonl", "match_eval_dev.jsonl"}

func run(eval string, ranks, only []string, wrong, bin string) error {
	for _, o := range only {
		if !slices.Contains(parts, o) {
			return fmt.Errorf("-only %q: want some of %s", o, strings.Join(parts, ", "))
		}
	}
	b, err := prepare(eval, bin)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.tmp)
	b.errors = wrong
	fmt.Println(kit.Machine())
	for _, m := range []struct {
		name    string
		measure func() error
	}{
		{"names", b.names},
		{"match", func() error { return b.scores(ranks[0]) }},
		{"sources", func() error { return b.withoutSource(ranks[0], "anipar") }},
		{"hidden", func() error { return b.calibration(ranks[0]) }},
		{"ranks", func() error { return b.agreement(ranks) }},
	} {
		if slices.Contains(only, m.name) {
			if err := m.measure(); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

func prepare(eval, bin string) (*bench, error) {
	eval, err := filepath.Abs(eval)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(eval, "scorer", "main.go")); err != nil {
		return nil, fmt.Errorf("no evaluation data: %w; name its folder with -eval", err)
	}
	tmp, err := os.MkdirTemp("", "accuracy-")
	if err != nil {
		return nil, err
	}
	b := &bench{eval: eval, tmp: tmp, tmdbfake: filepath.Join(tmp, "tmdbfake"), scorer: filepath.Join(tmp, "scorer")}
	ctx := context.Background()
	b.anivault, err = kit.Anivault(ctx, tmp, bin)
	err = errors.Join(err, kit.Build(ctx, "..", b.tmdbfake, "./cmd/tmdbfake"), kit.Build(ctx, filepath.Join(eval, "scorer"), b.scorer, "."))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return b, nil
}

// shown returns a command whose output goes to the terminal.
func shown(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// names scores what is read from names.
func (b *bench) names() error {
	fmt.Println("\n== names")
	return shown(b.scorer, "-in", filepath.Join(b.eval, "parse_dev.jsonl"), "-skip", "see", "-by", "style", "-bench", "20", "--",
		b.anivault, "parse", "--format", "ndjson").Run()
}

// scores runs the evaluation's scorer on each file of names, each from an empty cache.
func (b *bench) scores(rank string) error {
	for _, file := range files {
		fmt.Printf("\n== %s, search order %s\n", file, rank)
		if err := b.score(filepath.Join(b.eval, file), rank); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (b *bench) score(path, rank string) error {
	s, err := b.stand(filepath.Join(b.eval, "catalog_dev.jsonl"), rank)
	if err != nil {
		return err
	}
	defer s.stop()
	cmd := shown(b.scorer, append([]string{"-match", "-in", path, "--", b.anivault}, matchArgs...)...)
	cmd.Env = s.env()
	if err := cmd.Run(); err != nil {
		return err
	}
	requests, err := s.journal()
	if err != nil {
		return err
	}
	rows, err := readTruth(path)
	if err != nil {
		return err
	}
	works := map[string]bool{}
	for _, r := range rows {
		works[r.work()] = true
	}
	printRequests(requests, works)
	return nil
}

// withoutSource scores the real names without those of one source.
func (b *bench) withoutSource(rank, source string) error {
	file := files[1]
	rows, err := readTruth(filepath.Join(b.eval, file))
	if err != nil {
		return err
	}
	kept := filepath.Join(b.tmp, "without-"+source+".jsonl")
	f, err := os.Create(kept)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Source != source {
			if _, err := fmt.Fprintf(f, "%s\n", r.raw); err != nil {
				return err
			}
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Printf("\n== %s without source %s, search order %s\n", file, source, rank)
	return b.score(kept, rank)
}
