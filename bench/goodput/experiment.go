package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/internal/upstream"
)

// experiment is a scenario, and the columns that are shown of each client.
type experiment struct {
	name, title string
	scenario    upstream.Scenario
	length      time.Duration
	life        time.Duration // processes end after it, and others take their place; 0: they live to the end
	processes   []int
	columns     []column
}

// column is one figure of a run.
type column struct {
	name string
	unit string // "%", "" or "/s"
	of   func(*trial) float64
}

// experiments returns all of them, with their times multiplied, and one for each share of lasting errors.
func experiments(scale float64, shares []float64) []experiment {
	times := func(d time.Duration) time.Duration { return time.Duration(scale * float64(d)) }
	second := func(n int) upstream.Duration { return upstream.Duration(times(time.Duration(n) * time.Second)) }
	gauntlet, err := upstream.Preset("gauntlet")
	if err != nil {
		panic(err) // a preset of this repository
	}
	for i := range gauntlet.Faults {
		f := &gauntlet.Faults[i]
		f.From, f.To = upstream.Duration(times(time.Duration(f.From))), upstream.Duration(times(time.Duration(f.To)))
	}
	fault := func(from, to int, p float64, status int) upstream.Scenario {
		return upstream.Scenario{Faults: []upstream.Fault{
			{From: second(from), To: second(to), Probability: p, Do: upstream.Action{Kind: "status", Status: status}},
		}}
	}
	bad := span{times(5 * time.Second), times(65 * time.Second)}
	short := span{times(5 * time.Second), times(17 * time.Second)}
	after := span{times(65 * time.Second), times(85 * time.Second)}
	half := span{times(20 * time.Second), times(40 * time.Second)}
	list := []experiment{
		{
			name: "script", title: "The whole script", scenario: gauntlet, length: times(80 * time.Second),
			processes: []int{1, 4},
			columns: []column{
				{"of the possible", "%", func(t *trial) float64 { return percent(float64(t.good(t.all())), t.possible) }},
				{"good", "", func(t *trial) float64 { return float64(t.good(t.all())) }},
				{"429s", "", func(t *trial) float64 { return float64(t.refused()) }},
				{"wasted", "%", func(t *trial) float64 { return t.wasted(t.all()) }},
				{"beyond the unavoidable", "%", func(t *trial) float64 { return t.wastedBeyond(t.all()) }},
				{"failed", "", func(t *trial) float64 { return float64(t.failed) }},
			},
		},
		{
			name: "steady", title: "No trouble", length: times(40 * time.Second), processes: []int{1, 4, 8},
			columns: []column{
				{"good, second half", "/s", func(t *trial) float64 { return t.rate(half) }},
				{"429s of sent", "%", func(t *trial) float64 { return percent(float64(t.refused()), float64(t.sent(t.all()))) }},
				{"fairness", "", func(t *trial) float64 { return t.fairness(half) }},
			},
		},
		{
			name: "outage", title: "An outage", scenario: fault(5, 65, 1, 503), length: times(85 * time.Second),
			processes: []int{1, 4},
			columns: []column{
				{"sent in " + (short.to - short.from).String(), "", func(t *trial) float64 { return float64(t.sent(short)) }},
				{"in " + (bad.to - bad.from).String(), "", func(t *trial) float64 { return float64(t.sent(bad)) }},
				{"seconds to the first good answer after", "", func(t *trial) float64 { return t.firstGood(after).Seconds() }},
				{"failed", "", func(t *trial) float64 { return float64(t.failed) }},
			},
		},
		{
			name: "restart", title: "Processes that live " + times(4*time.Second).String(), length: times(24 * time.Second),
			life: times(4 * time.Second), processes: []int{4},
			columns: []column{
				{"good", "/s", func(t *trial) float64 { return t.rate(t.all()) }},
				{"429s of sent", "%", func(t *trial) float64 { return percent(float64(t.refused()), float64(t.sent(t.all()))) }},
			},
		},
	}
	for _, share := range shares {
		list = append(list, experiment{
			name: "errors", title: fmt.Sprintf("%g %% of all answers are errors", 100*share),
			scenario: fault(5, 65, share, 500), length: times(65 * time.Second), processes: []int{1, 4},
			columns: []column{
				{"of the possible", "%", func(t *trial) float64 { return percent(float64(t.good(t.all())), t.possible) }},
				{"good", "/s", func(t *trial) float64 { return t.rate(bad) }},
				{"wasted", "%", func(t *trial) float64 { return t.wasted(bad) }},
				{"beyond the unavoidable", "%", func(t *trial) float64 { return t.wastedBeyond(bad) }},
				{"failed", "", func(t *trial) float64 { return float64(t.failed) }},
			},
		})
	}
	return list
}

// run runs the experiment and prints its table: a row for each client and number
// of processes, the mean of all seeds with their range.
func (e experiment) run(o options) error {
	fmt.Printf("\n%s, %s, %d seeds\n", e.title, e.length, o.seeds)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	head := []string{"client", "processes"}
	for _, c := range e.columns {
		head = append(head, c.name)
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	var phases [][]*trial
	for _, n := range e.processes {
		rows := e.trials(n, o)
		if err := o.together(slices.Concat(rows...)); err != nil {
			return err
		}
		for _, trials := range rows {
			if o.phases {
				phases = append(phases, trials)
			}
			cells := []string{trials[0].label, fmt.Sprint(n)}
			for _, c := range e.columns {
				cells = append(cells, c.show(trials))
			}
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, trials := range phases {
		if err := printPhases(trials); err != nil {
			return err
		}
	}
	return nil
}

// trials returns, for each client, one run a seed.
func (e experiment) trials(processes int, o options) [][]*trial {
	var rows [][]*trial
	add := func(label, client, program string) {
		var row []*trial
		for seed := range o.seeds {
			row = append(row, &trial{
				experiment: e, label: label, client: client, program: program, processes: processes,
				seed: uint64(seed + 1), //nolint:gosec // small
			})
		}
		rows = append(rows, row)
	}
	for _, name := range o.clients {
		add(name, name, "")
		if o.other != "" && strings.HasPrefix(name, "ours") {
			add("other's "+name, name, o.other)
		}
	}
	return rows
}

// together runs trials side by side.
func (o *options) together(trials []*trial) error {
	start := time.Now().Add(3 * time.Second) // time for all processes to begin
	errs := make([]error, len(trials))
	var group sync.WaitGroup
	var simulations []func()
	for i, t := range trials {
		if o.simulated != nil {
			simulations = append(simulations, func() { errs[i] = t.simulate() })
			continue
		}
		group.Go(func() { errs[i] = t.run(start) })
	}
	group.Wait()
	if o.simulated != nil {
		o.simulated(simulations...)
	}
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", trials[i].label, err)
		}
	}
	return nil
}

// show returns the mean of a column, with the range where there are several runs.
func (c column) show(trials []*trial) string {
	var values []float64
	sum := 0.0
	for _, t := range trials {
		v := c.of(t)
		values, sum = append(values, v), sum+v
	}
	unit := strings.Replace(c.unit, "%", " %", 1)
	text := fmt.Sprintf("%.4g%s", sum/float64(len(values)), unit)
	if len(values) > 1 {
		text += fmt.Sprintf(" (%.4g to %.4g)", slices.Min(values), slices.Max(values))
	}
	return text
}

func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// span is a time within a trial.
type span struct{ from, to time.Duration }

func (t *trial) all() span { return span{0, t.length} }

// count counts requests of a time.
func (t *trial) count(s span, which func(virtual.Request) bool) int {
	n := 0
	for _, r := range t.seen {
		if r.At >= s.from && r.At < s.to && which(r) {
			n++
		}
	}
	return n
}

func (t *trial) sent(s span) int { return t.count(s, func(virtual.Request) bool { return true }) }
func (t *trial) good(s span) int { return t.count(s, func(r virtual.Request) bool { return r.Good }) }

func (t *trial) refused() int {
	return t.count(t.all(), func(r virtual.Request) bool { return r.Refused })
}

func (t *trial) rate(s span) float64 { return float64(t.good(s)) / (s.to - s.from).Seconds() }

// wasted returns the percentage of requests without a good answer.
func (t *trial) wasted(s span) float64 {
	sent := t.sent(s)
	return percent(float64(sent-t.good(s)), float64(sent))
}

// wastedBeyond returns the percentage of requests that were more than the good answers needed.
func (t *trial) wastedBeyond(s span) float64 {
	needed := 0.0
	for _, r := range t.seen {
		if r.Good && r.At >= s.from && r.At < s.to && r.Fails < 1 {
			needed += 1 / (1 - r.Fails)
		}
	}
	sent := float64(t.sent(s))
	return percent(max(0, sent-needed), sent)
}

func (t *trial) fairness(s span) float64 {
	shares := make([]int, t.processes)
	for i := range shares {
		shares[i] = t.count(s, func(r virtual.Request) bool { return r.Good && r.Process == i })
	}
	return kit.Fairness(shares)
}

// firstGood returns the time from the beginning of a span to its first good answer,
// the whole span if there is none.
func (t *trial) firstGood(s span) time.Duration {
	first := s.to
	for _, r := range t.seen {
		if r.Good && r.At >= s.from {
			first = min(first, r.At)
		}
	}
	return first - s.from
}
