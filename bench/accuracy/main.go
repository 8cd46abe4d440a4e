// Command accuracy measures how often names are read and matched right, on real
// names with their truth.
//
//	go run -C bench ./accuracy [-eval DIR] [-only names,match,models,hidden,offline] [-model NAME]
//	  [-errors FILE] [-bin FILE]
//
// It builds anivault and the stand-in from this repository, gives the stand-in the
// evaluation's catalogue, and runs the evaluation's own scorer. The data is not part
// of the project: without it the command fails with a message.
//
//	names    what is read from a name, and whether it is the same when the name is written in another way
//	match    what is matched, by kind of name, with the number of requests, in one model of TMDB
//	models   the same in short for every model of TMDB, without and with a title index
//	hidden   whether confidences are right, also of names whose entry TMDB lacks
//	offline  whether the same comes out offline from a warm cache
//
// A title index is built from lists that are written from the evaluation's catalogue.
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
	"sync"

	"github.com/anivault/anivault/bench/kit"
)

var parts = []string{"names", "match", "models", "hidden", "offline"}

func main() {
	eval := flag.String("eval", filepath.Join("..", "..", "shared", "eval"),
		"folder with the names, the catalogue and the scorer")
	model := flag.String("model", "", "one model of TMDB, by its `name` (default: match the first, models all)")
	wrong := flag.String("errors", "", "append what failed, as JSON lines, to this `file`; unread rows stay unread")
	bin := flag.String("bin", "", "program to measure (default: build it)")
	only := flag.String("only", strings.Join(parts, ","), "what to measure, comma separated")
	flag.Parse()
	if err := run(*eval, *model, strings.Split(*only, ","), *wrong, *bin); err != nil {
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
	indexDir   string   // a data folder with a title index
	model      string   // the only model that is asked for; "": no one in particular

	mu      sync.Mutex
	results map[runKey]result
}

// file returns the path of a file of the evaluation.
func (b *bench) file(name string) string { return filepath.Join(b.eval, name) }

// allRows returns the rows of both lists.
func (b *bench) allRows() ([]row, error) {
	var rows []row
	for _, list := range matchLists {
		more, err := readRows(b.file(list.file))
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func run(eval, model string, only []string, wrong, bin string) error {
	for _, o := range only {
		if !slices.Contains(parts, o) {
			return fmt.Errorf("-only %q: want some of %s", o, strings.Join(parts, ", "))
		}
	}
	if _, ok := modelNamed(model); !ok && model != "" && model != leftOut {
		return fmt.Errorf("-model %q is unknown", model)
	}
	b, err := prepare(eval, bin)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.tmp)
	b.errors, b.model = wrong, model
	fmt.Println(kit.Machine())
	for _, m := range []struct {
		name    string
		measure func() error
	}{
		{"names", b.names},
		{"match", b.scores},
		{"models", b.modelTable},
		{"hidden", b.calibration},
		{"offline", b.offline},
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
	b := &bench{
		eval: eval, tmp: tmp, tmdbfake: filepath.Join(tmp, "tmdbfake"), scorer: filepath.Join(tmp, "scorer"),
		results: map[runKey]result{},
	}
	ctx := context.Background()
	b.anivault, err = kit.Anivault(ctx, tmp, bin)
	err = errors.Join(err, kit.Build(ctx, "..", b.tmdbfake, "./cmd/tmdbfake"),
		kit.Build(ctx, filepath.Join(eval, "scorer"), b.scorer, "."))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	b.everything = []string{"--min-confidence", "0"}
	help, _ := exec.Command(b.anivault, "match", "--help").Output()
	if strings.Contains(string(help), "--min-episode-confidence") {
		b.everything = append(b.everything, "--min-episode-confidence", "0")
	}
	b.indexDir, err = b.index()
	return b, err
}
