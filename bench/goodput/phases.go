package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/ratelimit"
)

// entered is a transition of the limiter.
type entered struct {
	State  string
	Reason string
	Epoch  uint64
	At     time.Time

	after time.Duration // since the start of the trial
}

// states collects the transitions of one process.
type states struct {
	mu   sync.Mutex
	list []entered
}

func (s *states) add(t ratelimit.Transition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, entered{t.To.String(), t.Reason.String(), t.Epoch, t.At, 0})
}

// phases returns the parts of an experiment in which the upstream does the same.
func (e experiment) phases() []span {
	ends := []time.Duration{0, e.length}
	for _, f := range e.scenario.Faults {
		ends = append(ends, min(time.Duration(f.From), e.length), min(time.Duration(f.To), e.length))
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	var spans []span
	for i, from := range ends[:len(ends)-1] {
		spans = append(spans, span{from, ends[i+1]})
	}
	return spans
}

// printPhases prints what a client does in each phase, as means of all trials.
func printPhases(trials []*trial) error {
	t := trials[0]
	fmt.Printf("\n%s, %d processes: means of %d runs\n", t.label, t.processes, len(trials))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "phase\tpossible\tgood\tof it\tsent\t429s\tother errors\tseconds in each state")
	mean := func(f func(*trial) float64) float64 {
		sum := 0.0
		for _, t := range trials {
			sum += f(t)
		}
		return sum / float64(len(trials))
	}
	spans := t.phases()
	if len(spans) > 1 {
		spans = append(spans, t.all())
	}
	for _, s := range spans {
		possible := t.possibleIn(s)
		good := mean(func(t *trial) float64 { return float64(t.good(s)) })
		sent := mean(func(t *trial) float64 { return float64(t.sent(s)) })
		refused := mean(func(t *trial) float64 {
			return float64(t.count(s, func(r virtual.Request) bool { return r.Refused }))
		})
		var times []string
		for _, state := range []string{"Normal", "Throttle", "HalfOpen", "Sleep"} {
			d := mean(func(t *trial) float64 { return t.timeIn(state, s).Seconds() })
			if d > 0 && strings.HasPrefix(t.client, "ours") {
				times = append(times, fmt.Sprintf("%s %.1f", state, d))
			}
		}
		fmt.Fprintf(w, "%g to %g s\t%.0f\t%.1f\t%.1f %%\t%.1f\t%.1f\t%.1f\t%s\n", s.from.Seconds(), s.to.Seconds(), possible,
			good, percent(good, possible), sent, refused, sent-good-refused, strings.Join(times, ", "))
	}
	return w.Flush()
}

// timeIn returns how long the limiter was in a state during a span.
func (t *trial) timeIn(state string, s span) (sum time.Duration) {
	present, since := "Normal", time.Duration(0)
	add := func(until time.Duration) {
		if from, to := max(since, s.from), min(until, s.to); present == state && from < to {
			sum += to - from
		}
	}
	for _, e := range t.states {
		add(e.after)
		present, since = e.State, e.after
	}
	add(t.length)
	return sum
}
