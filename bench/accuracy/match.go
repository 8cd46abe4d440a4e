package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
)

// matchLists are the files of names whose entries are known.
var matchLists = []struct{ label, file string }{
	{"generated", "match_gen_dev.jsonl"},
	{"real", "match_eval_dev.jsonl"},
}

// mostOfReal is the source of most real names. They are much alike, so the others are scored apart as well.
const mostOfReal = "anipar"

// sureFrom is the confidence on which people rename files.
const sureFrom = 0.9

// record is a line of anivault's output.
type record struct {
	Type              string   `json:"type"`
	Status            string   `json:"status"`
	Kind              string   `json:"kind"`
	ID                int      `json:"tmdb_id"`
	Season            *int     `json:"season"`
	Episodes          []int    `json:"episodes"`
	Confidence        float64  `json:"confidence"`
	EpisodeConfidence *float64 `json:"episode_confidence"`
	Title             string   `json:"title"`
	Reason            string   `json:"reason"`

	raw []byte
}

func (r record) matched() bool { return r.Status == "matched" }

// placed reports whether the record names season and episodes.
func (r record) placed() bool { return r.Season != nil && len(r.Episodes) > 0 }

// sure reports whether somebody would rename a file by the record: all that it says has a confidence of 0.9 or more.
func (r record) sure() bool {
	return r.matched() && r.Confidence >= sureFrom && (r.EpisodeConfidence == nil || *r.EpisodeConfidence >= sureFrom)
}

// outcome returns the part of a record that has to be the same in every run.
func (r record) outcome() string {
	season := "-"
	if r.Season != nil {
		season = fmt.Sprint(*r.Season)
	}
	return fmt.Sprint(r.Status, " ", r.Kind, "/", r.ID, " S", season, " E", r.Episodes)
}

// match runs anivault on names and returns a record for each.
func (u user) match(rows []row, args ...string) ([]record, error) {
	cmd := exec.Command(u.bench.anivault, append(matchArgs[:len(matchArgs):len(matchArgs)], args...)...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = u.env(), inputs(rows), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 4 { // 4: something is pending, which offline is no failure
			return nil, err
		}
	}
	var records []record
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		r := record{raw: bytes.Clone(lines.Bytes())}
		if err := json.Unmarshal(r.raw, &r); err != nil {
			return nil, err
		}
		if r.Type == "match" {
			records = append(records, r)
		}
	}
	if len(records) != len(rows) {
		return nil, fmt.Errorf("%d records for %d names", len(records), len(rows))
	}
	return records, lines.Err()
}

// scores prints how often each list is matched right, by kind of name, and what that has asked for.
func (b *bench) scores() error {
	m := models[0]
	if chosen, ok := modelNamed(b.model); ok {
		m = chosen
	}
	if err := b.runModels([]model{m}); err != nil {
		return err
	}
	for _, list := range matchLists {
		for _, indexed := range []bool{false, true} {
			r := b.results[runKey{m.name, indexed, list.label}]
			with := "without an index"
			if indexed {
				with = "with an index"
			}
			fmt.Printf("\n== %s names, %s, model %s, %s\n", list.label, list.file, m.name, with)
			r.print(anything)
			if list.label == "real" {
				fmt.Printf("\n== %s names without source %s\n", list.label, mostOfReal)
				r.print(func(group string) bool { return group != mostOfReal })
			}
			if err := b.printSpecials(r.verdict); err != nil {
				return err
			}
			r.printClasses()
			r.printWays()
			if list.label == "real" {
				r.printWithoutEachSource()
			}
			printRequests(r.requests, worksOf(r.rows))
			if err := b.note(list.file+", "+with, r.rows, r.failed); err != nil {
				return err
			}
		}
		without, with := b.results[runKey{m.name, false, list.label}], b.results[runKey{m.name, true, list.label}]
		losses := lost(without, with)
		fmt.Printf("%d rows are right without the index and wrong with it\n", len(losses))
		if err := b.note(list.file+", lost with an index", with.rows, losses); err != nil {
			return err
		}
	}
	return nil
}

func worksOf(rows []row) map[string]bool {
	works := map[string]bool{}
	for _, r := range rows {
		works[r.work()] = true
	}
	return works
}

// verdict is what came of matching rows.
type verdict struct {
	*score
	rows      []row
	records   []record
	undecided map[int]string // by row: why no catalogue tells its place
	nameAlone map[int]bool   // rows whose season nothing but a season's name tells
}

// judge has the evaluation's scorer look at records.
func (b *bench) judge(rows []row, records []record) (*verdict, error) {
	var output bytes.Buffer
	for _, r := range records {
		output.Write(append(r.raw, '\n'))
	}
	undecided, err := b.undecided(rows)
	if err != nil {
		return nil, err
	}
	s, err := b.score(rows, output.Bytes(), "class", classOf, "-match")
	if err != nil {
		return nil, err
	}
	alone, err := b.nameAlone(rows, records)
	return &verdict{s, rows, records, undecided, alone}, err
}

// classOf returns the kind of a generated name, or where a real one is from.
func classOf(r row) string {
	if r.Class != "" {
		return r.Class
	}
	return r.Source
}

// count tallies records, apart for rows that are read and those that are not. One that is not asked for is not counted.
func (v *verdict) count(want func(group string) bool, of func(i int) (counts, right bool)) (read, unread tally) {
	for i, r := range v.rows {
		if !want(classOf(r)) {
			continue
		}
		counts, right := of(i)
		to := &read
		if r.unread() {
			to = &unread
		}
		if counts {
			to.all++
			if right {
				to.right++
			}
		}
	}
	return read, unread
}

// wrong reports whether the record says something that is not so: another entry, or a place that the file does not
// have. An entry without a place is no falsehood.
func (v *verdict) wrong(i int) bool {
	_, failed := v.failed[i]
	r := v.records[i]
	return failed && (!v.rows[i].right(r) || r.placed())
}

// The lines of matchMeasures.
const (
	idLine = iota
	placedLine
	decidedLine
	otherwiseLine
	numbersLine
	allLine
	wrongLine
	wrongSureLine
	anySureLine
	trapsLine
)

// matchMeasures are the lines that are printed of a list. In those of wrong ones "right" counts the wrong.
var matchMeasures = []struct {
	label  string
	column string // of the scorer's
	of     func(v *verdict, i int) (counts, right bool)
}{
	idLine: {label: "id right", column: "id"},
	placedLine: {label: "id, season, episodes right, if known", of: func(v *verdict, i int) (bool, bool) {
		_, failed := v.failed[i]
		return v.rows[i].Episode != nil, !failed
	}},
	decidedLine: {label: "the same, where TMDB can tell", of: func(v *verdict, i int) (bool, bool) {
		_, failed := v.failed[i]
		return v.rows[i].Episode != nil && v.undecided[i] == "", !failed
	}},
	otherwiseLine: {label: "and not by a season's name alone", of: func(v *verdict, i int) (bool, bool) {
		_, failed := v.failed[i]
		return v.rows[i].Episode != nil && v.undecided[i] == "" && !v.nameAlone[i], !failed
	}},
	numbersLine: {label: "season, episodes right of right ids", column: "s/e"},
	allLine:     {label: "all right", column: "full"},
	wrongLine: {label: "wrong id of matched", of: func(v *verdict, i int) (bool, bool) {
		return v.records[i].matched(), !v.rows[i].right(v.records[i])
	}},
	wrongSureLine: {label: "wrong id of sure", of: func(v *verdict, i int) (bool, bool) {
		return v.records[i].sure(), !v.rows[i].right(v.records[i])
	}},
	anySureLine: {
		label: "wrong id or number of sure",
		of:    func(v *verdict, i int) (bool, bool) { return v.records[i].sure(), v.wrong(i) },
	},
	trapsLine: {label: "traps: no regular episode given", column: "trap"},
}

// measure returns a line's tallies over the groups that are asked for.
func (v *verdict) measure(k int, want func(string) bool) (read, unread tally) {
	if m := matchMeasures[k]; m.column == "" {
		return v.count(want, func(i int) (bool, bool) { return m.of(v, i) })
	}
	return v.of(matchMeasures[k].column, want)
}

func (v *verdict) print(want func(group string) bool) {
	printPartsHead("percent of rows")
	for k, m := range matchMeasures {
		read, unread := v.measure(k, want)
		printParts(m.label, read, unread)
	}
	read, unread := v.of("trap", want)
	both := read.plus(unread)
	fmt.Printf("%d of %d traps were passed off as a regular episode\n", both.all-both.right, both.all)
	reasons := map[string]int{}
	for i, why := range v.undecided {
		if want(classOf(v.rows[i])) {
			reasons[why]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Printf("%d rows that no catalogue decides: %s\n", reasons[why], why)
	}
}

// minSourceRows is how many rows a source needs for a line of its own.
const minSourceRows = 20

// printWithoutEachSource prints what each source's names do to the figures: those of all others, and how far its own
// are from them.
func (v *verdict) printWithoutEachSource() {
	rows := map[string]int{}
	for _, r := range v.rows {
		rows[classOf(r)]++
	}
	fmt.Printf("\n%-22s %6s   placed without it, its own    wrong of sure without it, its own\n", "source left out",
		"rows")
	for _, source := range slices.Sorted(maps.Keys(rows)) {
		if rows[source] < minSourceRows {
			continue
		}
		fmt.Printf("%-22s %6d", source, rows[source])
		for _, k := range []int{placedLine, anySureLine} {
			read, unread := v.measure(k, func(name string) bool { return name != source })
			others := read.plus(unread)
			read, unread = v.measure(k, func(name string) bool { return name == source })
			fmt.Printf(" %17s %10s", others.percent(), difference(others, read.plus(unread)))
		}
		fmt.Println()
	}
}

// namedRE matches what a reason quotes and counts.
var namedRE = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+`)

// printWays prints how many answers are sure, and how many of those wrong, by the way in which they were found. The
// ways hold nothing of a name, so they are printed of the unread rows, too.
func (v *verdict) printWays() {
	ways := map[string]bool{}
	way := func(i int) string { return namedRE.ReplaceAllString(v.records[i].Reason, "_") }
	for i, r := range v.records {
		if r.sure() {
			ways[way(i)] = true
		}
	}
	fmt.Printf("\n%6s %6s   %6s %6s   way in which a sure answer was found\n", "read", "wrong", "unread", "wrong")
	for _, w := range slices.Sorted(maps.Keys(ways)) {
		read, unread := v.count(anything, func(i int) (bool, bool) { return v.records[i].sure() && way(i) == w, v.wrong(i) })
		fmt.Printf("%6d %6d   %6d %6d   %s\n", read.all, read.right, unread.all, unread.right, w)
	}
}

// printClasses prints the measures that tell kinds of names apart.
func (v *verdict) printClasses() {
	classes := map[string]int{}
	for _, r := range v.rows {
		classes[classOf(r)]++
	}
	columns := []string{"id", "wrong", "s/e", "trap", "full"}
	fmt.Printf("\n%-22s %6s", "kind of name", "rows")
	for _, c := range columns {
		fmt.Printf(" %7s", c)
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		fmt.Printf("\n%-22s %6d", class, classes[class])
		for _, c := range columns {
			read, unread := v.of(c, func(name string) bool { return name == class })
			fmt.Printf(" %7s", read.plus(unread).percent())
		}
	}
	fmt.Println()
}
