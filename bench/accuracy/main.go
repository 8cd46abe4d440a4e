// Command accuracy measures how often names are read and matched right, on real
// names with their truth.
//
//	go run -C bench ./accuracy [-eval DIR] [-only names,match,hidden,ranks] [-ranks mixed,popularity,...] [-errors FILE] [-bin FILE]
//
// It builds anivault and the stand-in from this repository, gives the stand-in the
// evaluation's catalogue, and runs the evaluation's own scorer. The data is not part
// of the project: without it the command fails with a message.
//
//	names    what is read from a name
//	match    what is matched, by kind of name, with the number of requests
//	hidden   whether confidences are right, also of names whose entry the catalogue lacks
//	ranks    the same names in other search orders, and offline from a warm cache
//
// A third of the rows is unread: names and matches are scored apart for it and for the
// rest, and of its rows no failure is printed or written anywhere. Whoever writes rules
// looks at the rest alone; how far the two figures are apart tells how much the rules
// fit the names that they were written for.
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

var parts = []string{"names", "match", "hidden", "ranks"}

func main() {
	eval := flag.String("eval", filepath.Join("..", "..", "shared", "eval"), "folder with the names, the catalogue and the scorer")
	ranks := flag.String("ranks", "mixed,popularity,text,decoy,shuffled", "rank modes of the stand-in's search, comma separated; the first is the one that is scored")
	wrong := flag.String("errors", "", "append what failed, as JSON lines, to this `file`; unread rows stay unread")
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
	errors    string // file to append failures to; "": none

	everything []string // flags of match that let no answer be held back
}

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
	b.everything = []string{"--min-confidence", "0"}
	if help, _ := exec.Command(b.anivault, "match", "--help").Output(); strings.Contains(string(help), "--min-episode-confidence") {
		b.everything = append(b.everything, "--min-episode-confidence", "0")
	}
	return b, nil
}
