package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// model is a guess at TMDB, as flags of the stand-in.
type model struct {
	name string
	args string
	what string
}

// models are the guesses at TMDB. Nobody knows which is nearest in what: a figure is one model's, or a range.
// The least friendly stands first: on TMDB most seasons are called "Season 2", and most specials have names that no
// list knows.
var models = []model{
	{"plain", "-plain seasons,specials", "finds by every title, seasons and specials have no names, mixed order"},
	{"shown", "-finds shown", "finds by the shown and the original name only"},
	{"namesake", "-rank namesake", "an older animation of the same titles, with two episodes, beside every work"},
	{"prefix", "-finds prefix", "finds only titles that begin with the question"},
	{"seasons", "-plain seasons", "seasons have no names of their own"},
	{"specials", "-plain specials", "specials have none"},
	{"decoy", "-rank decoy", "an unpopular drama with the first result's name beside it"},
	{"popular", "-rank popularity", "search results in the order of popularity"},
	{"text", "-rank text", "in the order of likeness"},
	{"shuffled", "-rank shuffled", "in the order of chance, within what is alike"},
	{"twenty", "-rows 20", "never more than twenty rows"},
	{"kind", "", "names seasons and specials as AniDB does, mixed order"},
}

// leftOut is the model in which every work is missing while its names are matched. It is not one stand-in but several,
// each without a share of the works.
const leftOut = "left-out"

// shares is the number of parts in which works are left out.
const shares = 8

// result is what came of a list in one model.
type result struct {
	*verdict
	requests []asked
}

// runKey names a run: a model, with or without an index, over a list.
type runKey struct {
	model   string
	indexed bool
	list    string
}

func modelNamed(name string) (model, bool) {
	i := slices.IndexFunc(models, func(m model) bool { return m.name == name })
	if i < 0 {
		return model{}, false
	}
	return models[i], true
}

// modelTable matches both lists in every model that is asked for, without and with an index, and prints what came of
// it.
func (b *bench) modelTable() error {
	var wanted []model
	for _, m := range models {
		if b.model == "" || b.model == m.name {
			wanted = append(wanted, m)
		}
	}
	fmt.Printf("\n== models of TMDB\n")
	for _, m := range wanted {
		fmt.Printf("%-10s %s\n", m.name, m.what)
	}
	if err := b.runModels(wanted); err != nil {
		return err
	}
	for _, list := range matchLists {
		if len(wanted) == 0 {
			break // -model left-out alone
		}
		fmt.Printf("\n== %s names by model of TMDB, percent of rows (what they mean: -only match)\n", list.label)
		b.printModels(wanted, list.label, anything)
		if list.label == "real" {
			fmt.Printf("\n== %s names without source %s\n", list.label, mostOfReal)
			b.printModels(wanted, list.label, func(group string) bool { return group != mostOfReal })
		}
	}
	if b.model == "" || b.model == leftOut {
		return b.leftOutTable()
	}
	return nil
}

// atOnce is how many models are run at a time: a run waits for its rate most of the time.
const atOnce = 3

// runModels runs the models that have not been run.
func (b *bench) runModels(wanted []model) error {
	began := time.Now()
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(m model) bool {
		_, ran := b.results[runKey{m.name, false, matchLists[0].label}]
		return ran
	})
	var wait sync.WaitGroup
	failed := make(chan error, len(wanted))
	places := make(chan struct{}, atOnce)
	for i, m := range wanted {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			if err := b.runModel(m); err != nil {
				failed <- fmt.Errorf("%s: %w", m.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s: model %d of %d, %s\n", time.Since(began).Round(time.Second), i+1, len(wanted), m.name)
		})
	}
	wait.Wait()
	close(failed)
	return <-failed
}

// runModel matches both lists without and with an index, each from an empty cache.
func (b *bench) runModel(m model) error {
	s, err := b.stand(strings.Fields(m.args)...)
	if err != nil {
		return err
	}
	defer s.stop()
	asked := 0
	for _, list := range matchLists {
		rows, err := readRows(b.file(list.file))
		if err != nil {
			return err
		}
		for _, indexed := range []bool{false, true} {
			data := ""
			if indexed {
				data = b.indexDir
			}
			u, err := s.user(data)
			if err != nil {
				return err
			}
			records, err := u.match(rows)
			if err != nil {
				return err
			}
			v, err := b.judge(rows, records)
			if err != nil {
				return err
			}
			requests, err := s.journal()
			if err != nil {
				return err
			}
			b.keep(runKey{m.name, indexed, list.label}, result{v, requests[asked:]})
			asked = len(requests)
		}
	}
	return nil
}

func (b *bench) keep(k runKey, r result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[k] = r
}

// lost returns the rows that were all right without the index and are not with it.
func lost(without, with result) map[int][]byte {
	out := map[int][]byte{}
	for i, failure := range with.failed {
		if _, failed := without.failed[i]; !failed {
			out[i] = failure
		}
	}
	return out
}

// printModels prints a line for each model, without and with the index. "lost" counts the rows that the index makes
// wrong, "differ" those that come out differently than in the first model.
func (b *bench) printModels(wanted []model, list string, want func(group string) bool) {
	fmt.Printf("%-10s %-6s %7s %7s %7s %7s %7s %7s %9s %9s %6s %7s %5s %7s\n", "model", "index", "id", "placed", "of can",
		"all", "apart", "wrong", "wrong.sure", "any.sure", "traps", "asked", "lost", "differ")
	first := b.results[runKey{wanted[0].name, false, list}]
	lowest, highest := map[int]float64{}, map[int]float64{}
	for _, m := range wanted {
		without := b.results[runKey{m.name, false, list}]
		for _, indexed := range []bool{false, true} {
			r := b.results[runKey{m.name, indexed, list}]
			word, losses := "no", "-"
			if indexed {
				word, losses = "yes", fmt.Sprint(r.among(want, lost(without, r)))
			}
			both := func(k int) tally {
				read, unread := r.measure(k, want)
				return read.plus(unread)
			}
			for _, k := range []int{idLine, placedLine, decidedLine, allLine, anySureLine} {
				share := both(k).share()
				if old, ok := lowest[k]; !ok || share < old {
					lowest[k] = share
				}
				highest[k] = max(highest[k], share)
			}
			traps := both(trapsLine)
			read, unread := r.measure(allLine, want)
			differ := map[int][]byte{}
			for i := range r.records {
				if r.records[i].outcome() != first.records[i].outcome() {
					differ[i] = nil
				}
			}
			fmt.Printf("%-10s %-6s %7s %7s %7s %7s %7s %7s %9s %9s %6d %7.2f %5s %7d\n", m.name, word,
				both(idLine).percent(), both(placedLine).percent(), both(decidedLine).percent(), both(allLine).percent(),
				difference(read, unread), both(wrongLine).percent(), both(wrongSureLine).percent(),
				both(anySureLine).percent(), traps.all-traps.right,
				float64(len(r.requests))/float64(len(worksOf(r.rows))), losses, r.among(want, differ))
		}
	}
	for _, k := range []int{idLine, placedLine, decidedLine, allLine, anySureLine} {
		fmt.Printf("range of models: %-36s %7.2f to %.2f\n", matchMeasures[k].label, 100*lowest[k], 100*highest[k])
	}
}

// among counts the rows of the groups that are asked for.
func (v *verdict) among(want func(group string) bool, rows map[int][]byte) int {
	n := 0
	for i := range rows {
		if want(classOf(v.rows[i])) {
			n++
		}
	}
	return n
}

// leftOutTable prints how often names are matched to another entry while theirs is missing.
func (b *bench) leftOutTable() error {
	fmt.Printf("\n== %s: every name while its entry is missing at TMDB\n%-10s %7s %9s %9s %7s\n", leftOut, "index",
		"names", "matched", "sure", "percent")
	for _, indexed := range []bool{false, true} {
		v, err := b.withoutTruth(indexed)
		if err != nil {
			return err
		}
		matched, sure := 0, 0
		for i, r := range v.records {
			if !r.matched() || v.rows[i].right(r) {
				continue
			}
			if matched++; r.Confidence >= sureFrom {
				sure++
			}
		}
		word := "no"
		if indexed {
			word = "yes"
		}
		fmt.Printf("%-10s %7d %9d %9d %7.2f\n", word, len(v.records), matched, sure,
			100*float64(sure)/float64(len(v.records)))
		if err := b.noteSure(leftOut+" index "+word, v); err != nil {
			return err
		}
	}
	return nil
}

// withoutTruth matches the names of each share of the works against a TMDB that lacks them. What an entry counts as
// right besides may be there.
func (b *bench) withoutTruth(indexed bool, args ...string) (*verdict, error) {
	rows, err := b.allRows()
	if err != nil {
		return nil, err
	}
	data := ""
	if indexed {
		data = b.indexDir
	}
	out := &verdict{}
	for part := 1; part <= shares; part++ {
		share := tmdbfake.Share{Part: part, Of: shares}
		s, err := b.stand("-without", fmt.Sprintf("%d/%d", part, shares))
		if err != nil {
			return nil, err
		}
		var mine []row
		for _, r := range rows {
			if share.Has(tmdbfake.Kind(r.Kind), r.TMDB) {
				mine = append(mine, r)
			}
		}
		u, err := s.user(data)
		var records []record
		if err == nil {
			records, err = u.match(mine, args...)
		}
		s.stop()
		if err != nil {
			return nil, err
		}
		out.rows, out.records = append(out.rows, mine...), append(out.records, records...)
		fmt.Fprintf(os.Stderr, "%s: part %d of %d\n", leftOut, part, shares)
	}
	return out, nil
}
