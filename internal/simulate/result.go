package simulate

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

// Result is what a simulation recorded.
type Result struct {
	Scenario     upstream.Scenario
	Limits       upstream.Limits // the scenario's, or else the configured ones
	Latency      upstream.Latency
	Seed         uint64
	Length, Step time.Duration
	Tunings      []ratelimit.Tuning

	Steps       []Step
	Transitions []Transition
	Processes   []ProcessCounts
	Totals      Totals
}

// Step is one row of the timeline: counts of what happened in it, and the state at its end.
type Step struct {
	At        time.Duration // end of the step
	Phase     string        // the scenario's label at the beginning of the step
	State     ratelimit.State
	Rate      float64 // requests per second that the first process may send
	Sent      int
	Good      int
	Throttled int // answers with status 429
	Errors    int // answers with status 5xx, and requests without an answer
	Failed    int // requests given up
	Waiting   int // requests that are started but not at the upstream
}

// Transition is a change of the limiter's state.
type Transition struct {
	At       time.Duration
	From, To ratelimit.State
	Reason   ratelimit.Reason
}

// ProcessCounts are the counts of one process.
type ProcessCounts struct{ Sent, Good, Failed int }

// Totals are the sums of a run.
type Totals struct {
	Sent, Good, Throttled, Errors, Failed int
	// Wasted is the number of requests that got no good answer.
	Wasted int
	// Possible is how many good answers the same slots could have got; see [Possible].
	Possible float64
	// Fairness is Jain's index of the good answers per process: 1 if all have the same number, 1/n if one has all.
	Fairness float64
	// Peak is the largest number of permits granted in any span of ceiling_window; Ceiling is how many were allowed.
	Peak, Ceiling int
	// TimeInState is the time spent in each state, by the state's name.
	TimeInState map[string]time.Duration
}

type timeline struct {
	world *world
	step  time.Duration
	steps []Step

	stepStart time.Duration // when the current step began
	current   Step          // its counts so far
}

func (t *timeline) advanceTo(at time.Duration) {
	w := t.world
	for {
		end := min(t.stepStart+t.step, w.config.Length)
		if end > at || end <= t.stepStart {
			return
		}
		g, s := w.snapshot.Gauges(&w.processes[0].tuning), t.current
		s.At, s.Phase, s.State, s.Rate = end, w.config.Scenario.LabelAt(t.stepStart), g.State, g.Rate
		t.steps = append(t.steps, s)
		t.stepStart, t.current = end, Step{Waiting: s.Waiting}
	}
}

func (t *timeline) countOutcome(o ratelimit.Outcome) {
	switch o {
	case ratelimit.OK:
		t.current.Good++
	case ratelimit.Throttled:
		t.current.Throttled++
	case ratelimit.Server, ratelimit.Network, ratelimit.Client, ratelimit.Misconfigured:
		t.current.Errors++
	case ratelimit.Cancelled, ratelimit.Deferred:
	}
}

// permitCounter checks the ceiling from outside: it counts permits once every process has asked for one. Only then do
// all processes know the smallest ceiling.
type permitCounter struct {
	processesNotAsked int // number of processes that have not asked yet
	window            time.Duration
	ceiling           int
	recent            []time.Duration
	peak              int
}

func (g *permitCounter) add(at time.Duration) {
	g.recent = append(slices.DeleteFunc(g.recent, func(t time.Duration) bool { return at-t >= g.window }), at)
	if g.processesNotAsked == 0 {
		g.peak = max(g.peak, len(g.recent))
	}
}

func (w *world) result() *Result {
	c := w.config
	r := &Result{
		Scenario: c.Scenario, Limits: w.server.behaviour.Limits(), Latency: c.Latency, Seed: c.Seed,
		Length: c.Length, Step: c.Step, Tunings: c.Processes,
		Steps: w.timeline.steps, Transitions: w.transitions,
	}
	t := &r.Totals
	for _, s := range r.Steps {
		t.Sent += s.Sent
		t.Good += s.Good
		t.Throttled += s.Throttled
		t.Errors += s.Errors
		t.Failed += s.Failed
	}
	t.Wasted = t.Throttled + t.Errors
	var sum, squares float64
	for _, p := range w.processes {
		r.Processes = append(r.Processes, p.counts)
		sum += float64(p.counts.Good)
		squares += float64(p.counts.Good) * float64(p.counts.Good)
	}
	t.Fairness = 1
	if squares > 0 {
		t.Fairness = sum * sum / (float64(len(w.processes)) * squares)
	}
	t.Peak, t.Ceiling = w.permits.peak, w.permits.ceiling
	t.Possible = Possible(c.Scenario, r.Limits, c.Latency, c.slots(), c.Length)
	t.TimeInState = map[string]time.Duration{}
	for _, s := range r.spans() {
		t.TimeInState[s.State] += s.To - s.From
	}
	return r
}

func (c *Config) slots() int {
	own, total := 0, c.Processes[0].ConcurrencyTotal
	for _, t := range c.Processes {
		own += t.Concurrency
		total = min(total, t.ConcurrencyTotal)
	}
	return min(own, total)
}

func (r *Result) spans() []chart.Span {
	out := []chart.Span{{State: ratelimit.Normal.String(), To: r.Length}}
	for _, m := range r.Transitions {
		out[len(out)-1].To = m.At
		out = append(out, chart.Span{State: m.To.String(), From: m.At, To: r.Length, Why: m.Reason.String()})
	}
	return out
}

func (r *Result) phases() []chart.Phase {
	cuts := []time.Duration{0, r.Length}
	for _, f := range r.Scenario.Faults {
		for _, c := range []upstream.Duration{f.From, f.To} {
			if at := time.Duration(c); at > 0 && at < r.Length {
				cuts = append(cuts, at)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []chart.Phase
	for i, from := range cuts[:len(cuts)-1] {
		label := r.Scenario.LabelAt(from)
		if n := len(out); n > 0 && out[n-1].Label == label {
			out[n-1].To = cuts[i+1]
			continue
		}
		out = append(out, chart.Phase{From: from, To: cuts[i+1], Label: label, Trouble: label != upstream.NormalLabel})
	}
	return out
}

// Possible returns how many good answers an ideal client could get: one that knows the scenario, never sends a request
// that will be refused, and has that many slots. It is an upper bound for every client. Faults with a probability count
// by it, and latencies by the middle of their range.
func Possible(
	s upstream.Scenario, limits upstream.Limits, latency upstream.Latency, slots int, length time.Duration,
) float64 {
	own := limits
	if l, err := upstream.ParseLimits(s.Limits); s.Limits != "" && err == nil {
		own = l
	}
	limits, s.Limits = withoutPenalty(limits), withoutPenalty(own).String()
	b, err := upstream.New(limits, 0)
	if err != nil || b.Apply(s, startTime) != nil || latency.Mean() <= 0 {
		return 0
	}
	var c clock
	good := 0.0
	end := startTime.Add(length)
	for range slots {
		var next func()
		next = func() {
			now := startTime.Add(c.now)
			if up := b.DownUntil(now, end); up.After(now) {
				c.schedule(up.Sub(now), next)
				return
			}
			if ok, wait := b.Allow(now, client.IP); !ok {
				c.schedule(max(wait, 100*time.Microsecond), next)
				return
			}
			chance, took := b.ExpectedResponse(now, client, latency.Mean())
			if c.now+took <= length {
				good += chance
			}
			c.schedule(took, next)
		}
		c.schedule(0, next)
	}
	for at, ok := c.next(); ok && at < length; at, ok = c.next() {
		c.step()
	}
	return good
}

func withoutPenalty(l upstream.Limits) upstream.Limits {
	l.CountRejected, l.PenaltyAfter, l.PenaltyFor = false, 0, 0
	return l
}

const (
	textWidth = 80
	barWidth  = 22
)

// WriteText writes the timeline and the totals as text with at most 80 columns.
func (r *Result) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	for _, line := range ui.Wrap(r.title(), textWidth) {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "\n%8s %-9s %6s %6s %6s %5s %5s %4s %s\n",
		"TIME", "STATE", "RATE", "SENT", "GOOD", "429", "ERROR", "WAIT", "GOOD A SECOND")
	phases, moves := r.phases(), r.Transitions
	top := 1.0
	for i := range r.Steps {
		top = max(top, r.perSecond(i, r.Steps[i].Good))
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		for len(phases) > 0 && phases[0].From < s.At {
			head := fmt.Sprintf("%8s -- %s ", ui.Offset(phases[0].From), ui.Cut(phases[0].Label, 56))
			fmt.Fprintln(w, head+strings.Repeat("-", max(0, textWidth-ui.Width(head))))
			phases = phases[1:]
		}
		for len(moves) > 0 && moves[0].At < s.At {
			m := moves[0]
			fmt.Fprintf(w, "%8s %s -> %s: %s\n", ui.Offset(m.At), m.From, m.To, m.Reason)
			moves = moves[1:]
		}
		bar := strings.Repeat("#", int(math.Round(barWidth*r.perSecond(i, s.Good)/top)))
		line := fmt.Sprintf("%8s %-9s %6.1f %6d %6d %5d %5d %4d %s", ui.Offset(s.At), s.State, s.Rate,
			s.Sent, s.Good, s.Throttled, s.Errors, s.Waiting, bar)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	fmt.Fprintln(w)
	for _, row := range r.totalRows() {
		for i, line := range ui.Wrap(row[1], textWidth-14) {
			label := row[0]
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(w, "%-13s %s\n", label, line)
		}
	}
	return w.Flush()
}

func (r *Result) title() string {
	name := cmp.Or(r.Scenario.Name, "scenario")
	return fmt.Sprintf("%s for %s: %s, limit %s, latency %s, seed %d",
		name, r.Length, lang.Count(len(r.Tunings), "process"), r.Limits, r.Latency, r.Seed)
}

func (r *Result) totalRows() [][2]string {
	t := &r.Totals
	reached, wasted := percent(float64(t.Good), t.Possible), percent(float64(t.Wasted), float64(t.Sent))
	rows := [][2]string{
		{"good answers", fmt.Sprintf("%d of the %.0f possible with the same slots (%s)", t.Good, t.Possible, reached)},
		{"sent", fmt.Sprintf("%d: %d good, %d refused (429), %d errors; %s wasted", t.Sent, t.Good, t.Throttled, t.Errors,
			wasted)},
		{"given up", lang.Count(t.Failed, "item").String()},
		{"most permits", fmt.Sprintf("%d in any ceiling_window, %d allowed", t.Peak, t.Ceiling)},
	}
	if len(r.Processes) > 1 {
		parts := slicesx.Map(r.Processes, func(s ProcessCounts) string { return strconv.Itoa(s.Good) })
		fairness := fmt.Sprintf("%.3f (good answers: %s)", t.Fairness, strings.Join(parts, ", "))
		rows = append(rows, [2]string{"fairness", fairness})
	}
	var states []string
	for _, s := range machine.States() {
		if d := t.TimeInState[s.String()]; d > 0 {
			states = append(states, fmt.Sprintf("%s %s", s, ui.Offset(d)))
		}
	}
	rows = append(rows, [2]string{"time in", strings.Join(states, ", ")})
	return append(rows, [2]string{"transitions", strconv.Itoa(len(r.Transitions))})
}

func (r *Result) perSecond(i, n int) float64 {
	length := r.Step
	if i > 0 {
		length = r.Steps[i].At - r.Steps[i-1].At
	}
	return float64(n) / length.Seconds()
}

func percent(part, whole float64) string {
	if whole <= 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}

var csvHeader = []string{
	"t", "phase", "state", "rate", "sent", "good", "throttled", "errors", "failed",
	"waiting", "transitions",
}

// WriteCSV writes the timeline as CSV: a header row, then one row per step. The last column holds the transitions
// within the step, as "12.345 Normal>Throttle error_ratio", separated by semicolons.
func (r *Result) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	rows := [][]string{csvHeader}
	moves := r.Transitions
	for _, s := range r.Steps {
		var within []string
		for len(moves) > 0 && moves[0].At < s.At {
			m := moves[0]
			within = append(within, fmt.Sprintf("%.3f %s>%s %s", m.At.Seconds(), m.From, m.To, m.Reason))
			moves = moves[1:]
		}
		rows = append(rows, []string{
			strconv.FormatFloat(s.At.Seconds(), 'f', -1, 64), s.Phase, s.State.String(), strconv.FormatFloat(s.Rate, 'f', 3, 64),
			strconv.Itoa(s.Sent), strconv.Itoa(s.Good), strconv.Itoa(s.Throttled), strconv.Itoa(s.Errors),
			strconv.Itoa(s.Failed), strconv.Itoa(s.Waiting), strings.Join(within, "; "),
		})
	}
	return w.WriteAll(rows)
}

// WriteSVG writes the run as an SVG picture.
func (r *Result) WriteSVG(out io.Writer) error {
	t := &r.Totals
	d := chart.Drawing{
		Title: r.title(), Description: r.describe(), Length: r.Length, Phases: r.phases(), Spans: r.spans(),
		Footer: fmt.Sprintf("%d good of %.0f possible (%s), %d refused, %d errors, %d given up; "+
			"at most %d of %d permits in any ceiling_window", t.Good, t.Possible, percent(float64(t.Good), t.Possible),
			t.Throttled, t.Errors, t.Failed, t.Peak, t.Ceiling),
	}
	for _, s := range machine.States() {
		d.States = append(d.States, s.String())
	}
	for i, s := range r.Steps {
		d.Steps = append(d.Steps, chart.Step{
			End: s.At, Good: r.perSecond(i, s.Good), Allowed: s.Rate,
			Bad: r.perSecond(i, s.Errors+s.Throttled), Throttled: s.Throttled,
		})
	}
	return d.WriteSVG(out)
}

func (r *Result) describe() string {
	parts := slicesx.Map(r.totalRows(), func(row [2]string) string { return row[0] + ": " + row[1] })
	for _, m := range r.Transitions {
		parts = append(parts, fmt.Sprintf("%s %s to %s, %s", ui.Offset(m.At), m.From, m.To, m.Reason))
	}
	return strings.Join(parts, ". ") + "."
}
