package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/anivault/anivault/internal/simulate"
	"github.com/anivault/anivault/internal/tmdbfake"
)

// This file decides what is measured of each client, and how it is shown.

// trial is one client in one experiment.
type trial struct {
	client    string
	processes int
	seed      uint64 // that the upstream's chance follows from
	script    simulate.Script
	length    time.Duration
	life      time.Duration // processes end after that and others take their place; 0: they live as long as it lasts

	seen     []sight
	failed   int64
	possible float64
	err      error
}

// together runs trials side by side.
func together(trials []*trial) error {
	start := time.Now().Add(3 * time.Second) // for all processes to be there
	var group sync.WaitGroup
	for _, t := range trials {
		group.Go(func() { t.err = t.run(start) })
	}
	group.Wait()
	for _, t := range trials {
		if t.err != nil {
			return fmt.Errorf("%s: %w", t.client, t.err)
		}
	}
	return nil
}

func (t *trial) run(start time.Time) error {
	dir, err := os.MkdirTemp("", "goodput")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	up, err := serve(t.script, t.seed, start)
	if err != nil {
		return err
	}
	reports := make([]report, t.processes)
	errs := make([]error, t.processes)
	var group sync.WaitGroup
	for i := range t.processes {
		group.Go(func() { reports[i], errs[i] = t.process(i, up.url, dir, start) })
	}
	group.Wait()
	t.seen = up.close()
	for i := range reports {
		if errs[i] != nil {
			return errs[i]
		}
		t.failed += reports[i].Failed
	}
	limits, err := tmdbfake.ParseLimits(limitText)
	if err != nil {
		return err
	}
	latency, err := tmdbfake.ParseLatency(latencyText)
	if err != nil {
		return err
	}
	t.possible = simulate.Possible(t.script, limits, latency, min(slots*t.processes, 16), t.length)
	return nil
}

// process runs one place among the processes to the end: one process, or one after the other.
func (t *trial) process(i int, url, dir string, start time.Time) (sum report, err error) {
	self, err := os.Executable()
	if err != nil {
		return sum, err
	}
	end := start.Add(t.length)
	life := t.life
	if life == 0 {
		life = t.length
	}
	for from := start; from.Before(end); from = from.Add(life) {
		if now := time.Now(); from.Before(now) {
			from = now
		}
		until := from.Add(life)
		if until.After(end) {
			until = end
		}
		cmd := exec.Command(self, "worker", "-client", t.client, "-url", url, "-dir", dir, "-process", strconv.Itoa(i), //nolint:gosec // this very program
			"-start", strconv.FormatInt(from.UnixNano(), 10), "-end", strconv.FormatInt(until.UnixNano(), 10))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return sum, err
		}
		var r report
		if err := json.Unmarshal(out, &r); err != nil {
			return sum, err
		}
		sum.Done += r.Done
		sum.Failed += r.Failed
	}
	return sum, nil
}

// count counts requests of a time.
func (t *trial) count(from, to time.Duration, which func(sight) bool) int {
	n := 0
	for _, s := range t.seen {
		if s.at >= from && s.at < to && which(s) {
			n++
		}
	}
	return n
}

func all(sight) bool       { return true }
func good(s sight) bool    { return s.good }
func refused(s sight) bool { return s.refused }

// jain is the fairness of good answers among processes in a time.
func (t *trial) jain(from, to time.Duration) float64 {
	var sum, squares float64
	for i := range t.processes {
		n := float64(t.count(from, to, func(s sight) bool { return s.good && s.process == i }))
		sum += n
		squares += n * n
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(t.processes) * squares)
}

func percent(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*part/whole, 'f', 1, 64) + " %"
}

// table prints a row a client and number of processes.
func table(title string, header []string, trials []*trial, row func(*trial) []string) error {
	fmt.Println(title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(append([]string{"client", "processes"}, header...), "\t"))
	for _, t := range trials {
		fmt.Fprintln(w, strings.Join(append([]string{t.client, strconv.Itoa(t.processes)}, row(t)...), "\t"))
	}
	return w.Flush()
}

// trials makes one of each client for each number of processes.
func trialsOf(names []string, processes []int, script simulate.Script, life time.Duration) []*trial {
	var out []*trial
	for _, n := range processes {
		for _, name := range names {
			out = append(out, &trial{client: name, processes: n, seed: 1, script: script, length: script.Length(), life: life})
		}
	}
	return out
}

// each runs the trials of one number of processes at a time.
func each(names []string, processes []int, script simulate.Script, life time.Duration) ([]*trial, error) {
	var out []*trial
	for _, n := range processes {
		ts := trialsOf(names, []int{n}, script, life)
		if err := together(ts); err != nil {
			return nil, err
		}
		out = append(out, ts...)
	}
	return out, nil
}

// scaled makes the phases of a script longer or shorter.
func scaled(s simulate.Script, by float64) simulate.Script {
	out := s
	out.Faults = nil
	for _, f := range s.Faults {
		f.From, f.To = time.Duration(float64(f.From)*by), time.Duration(float64(f.To)*by)
		out.Faults = append(out.Faults, f)
	}
	return out
}

// scripted runs the full script, each client with the same seeds, and shows means and the range of what matters most: which
// answers fail is chance.
func scripted(names []string, o options) error {
	script, err := simulate.Preset("gauntlet")
	if err != nil {
		return err
	}
	script = scaled(script, o.scale)
	var rows []*trial // the first of its seeds stands for all
	runs := map[*trial][]*trial{}
	for _, n := range []int{1, 4} {
		var trials []*trial
		for _, first := range trialsOf(names, []int{n}, script, 0) {
			rows = append(rows, first)
			for seed := range o.seeds {
				t := *first
				t.seed = uint64(seed + 1)
				runs[first] = append(runs[first], &t)
			}
			trials = append(trials, runs[first]...)
		}
		if err := together(trials); err != nil {
			return err
		}
	}
	title := fmt.Sprintf("The full script, %s, mean of %d (lowest to highest)", script.Length(), o.seeds)
	return table(title, []string{"of the possible", "good", "sent", "429", "wasted", "failed"}, rows, func(first *trial) []string {
		var share, wasted, answered, sent, refusals, failed []float64
		for _, t := range runs[first] {
			all, n := float64(t.count(0, t.length, all)), float64(t.count(0, t.length, good))
			share, wasted = append(share, 100*n/t.possible), append(wasted, 100*(all-n)/all)
			answered, sent = append(answered, n), append(sent, all)
			refusals, failed = append(refusals, float64(t.count(0, t.length, refused))), append(failed, float64(t.failed))
		}
		return []string{
			spread(share), fmt.Sprintf("%.0f", mean(answered)), fmt.Sprintf("%.0f", mean(sent)), fmt.Sprintf("%.1f", mean(refusals)),
			spread(wasted), fmt.Sprintf("%.1f", mean(failed)),
		}
	})
}

func mean(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(len(of))
}

// spread is a mean of percentages, with their range where there are several.
func spread(of []float64) string {
	if len(of) == 1 {
		return fmt.Sprintf("%.1f %%", of[0])
	}
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", mean(of), slices.Min(of), slices.Max(of))
}

func steady(names []string, o options) error {
	script, err := simulate.Parse("normal 40s")
	if err != nil {
		return err
	}
	script = scaled(script, o.scale)
	trials, err := each(names, []int{1, 4, 8}, script, 0)
	if err != nil {
		return err
	}
	half := script.Length() / 2
	return table("Steady, "+script.Length().String()+"; rate and fairness of the second half", []string{"429s of sent", "good a second", "fairness"}, trials, func(t *trial) []string {
		return []string{
			percent(float64(t.count(0, t.length, refused)), float64(t.count(0, t.length, all))),
			strconv.FormatFloat(float64(t.count(half, t.length, good))/(t.length-half).Seconds(), 'f', 2, 64),
			strconv.FormatFloat(t.jain(half, t.length), 'f', 3, 64),
		}
	})
}

// lasting is a time of errors that is no outage: a quarter of all answers.
func lasting(names []string, o options) error {
	script, err := simulate.Parse("normal 5s, error 25% 500 60s")
	if err != nil {
		return err
	}
	script = scaled(script, o.scale)
	trials, err := each(names, []int{1, 4}, script, 0)
	if err != nil {
		return err
	}
	from, to := script.Faults[1].From, script.Faults[1].To
	return table(fmt.Sprintf("A quarter of all answers are errors for %s", to-from), []string{"good a second", "sent", "wasted", "failed"}, trials, func(t *trial) []string {
		sent, n := t.count(from, to, all), t.count(from, to, good)
		return []string{
			strconv.FormatFloat(float64(n)/(to-from).Seconds(), 'f', 2, 64), strconv.Itoa(sent), percent(float64(sent-n), float64(sent)),
			strconv.FormatInt(t.failed, 10),
		}
	})
}

func outage(names []string, o options) error {
	script, err := simulate.Parse("normal 5s, outage 503 60s, normal 1s")
	if err != nil {
		return err
	}
	script = scaled(script, o.scale)
	trials, err := each(names, []int{1, 4}, script, 0)
	if err != nil {
		return err
	}
	from, to := script.Faults[1].From, script.Faults[1].To
	short := from + (to-from)/5
	return table(fmt.Sprintf("Sent in an outage of %s", to-from), []string{"first " + (short - from).String(), "all of it", "failed"}, trials, func(t *trial) []string {
		return []string{strconv.Itoa(t.count(from, short, all)), strconv.Itoa(t.count(from, to, all)), strconv.FormatInt(t.failed, 10)}
	})
}

func restart(names []string, o options) error {
	script, err := simulate.Parse("normal 24s")
	if err != nil {
		return err
	}
	script = scaled(script, o.scale)
	life := time.Duration(4 * float64(time.Second) * o.scale)
	trials, err := each(names, []int{4}, script, life)
	if err != nil {
		return err
	}
	return table(fmt.Sprintf("Restarted every %s, for %s", life, script.Length()), []string{"good a second", "429s of sent"}, trials, func(t *trial) []string {
		return []string{
			strconv.FormatFloat(float64(t.count(0, t.length, good))/t.length.Seconds(), 'f', 2, 64),
			percent(float64(t.count(0, t.length, refused)), float64(t.count(0, t.length, all))),
		}
	})
}
