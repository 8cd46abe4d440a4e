package simulate

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit/machine"
)

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
	top := r.maxGoodRate()
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
		parts := make([]string, len(r.Processes))
		for i, s := range r.Processes {
			parts[i] = strconv.Itoa(s.Good)
		}
		rows = append(rows, [2]string{
			"fairness",
			fmt.Sprintf("%.3f (good answers: %s)", t.Fairness, strings.Join(parts, ", ")),
		})
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

func (r *Result) maxGoodRate() float64 {
	top := 1.0
	for i := range r.Steps {
		top = max(top, r.perSecond(i, r.Steps[i].Good))
	}
	return top
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
	parts := make([]string, 0, len(r.Transitions)+1)
	for _, row := range r.totalRows() {
		parts = append(parts, row[0]+": "+row[1])
	}
	for _, m := range r.Transitions {
		parts = append(parts, fmt.Sprintf("%s %s to %s, %s", ui.Offset(m.At), m.From, m.To, m.Reason))
	}
	return strings.Join(parts, ". ") + "."
}
