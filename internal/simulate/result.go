package simulate

import (
	"slices"
	"time"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
)

// Result is the record of a run.
type Result struct {
	Scenario  upstream.Scenario
	Limits    upstream.Limits // in force
	Latency   upstream.Latency
	Seed      uint64
	For, Step time.Duration
	Tunings   []ratelimit.Tuning

	Steps  []Step
	Moves  []Move
	Shares []Share
	Totals Totals
}

// Step is one row of the timeline: what happened within it, and the state at its end.
type Step struct {
	At        time.Duration // its end
	Phase     string        // label of the scenario at its beginning
	State     ratelimit.State
	Rate      float64 // requests a second that the first process may send
	Sent      int
	Good      int
	Throttled int // 429
	Errors    int // 5xx, and no answer at all
	Failed    int // items given up
	Waiting   int // items under way that are not on the wire
}

// Move is one transition.
type Move struct {
	At       time.Duration
	From, To ratelimit.State
	Reason   ratelimit.Reason
}

// Share is what one process got.
type Share struct{ Sent, Good, Failed int }

// Totals are the sums of a run.
type Totals struct {
	Sent, Good, Throttled, Errors, Failed int
	// Wasted is the number of requests without a good answer.
	Wasted int
	// Possible is the number of good answers possible with the same slots; see [Possible].
	Possible float64
	// Fairness is Jain's index of the processes' good answers: 1 if all have the same, 1/n if one has all.
	Fairness float64
	// Peak is the largest number of permits in any ceiling_window, Ceiling what was allowed.
	Peak, Ceiling int
	// In is the time in each state.
	In map[string]time.Duration
}

type timeline struct {
	world *world
	step  time.Duration
	steps []Step

	begun   time.Duration // when the present step began
	present Step          // what it has counted so far
}

func (t *timeline) until(at time.Duration) {
	w := t.world
	for {
		end := min(t.begun+t.step, w.config.For)
		if end > at || end <= t.begun {
			return
		}
		g, s := w.snapshot.Gauges(&w.processes[0].tuning), t.present
		s.At, s.Phase, s.State, s.Rate = end, w.config.Scenario.At(t.begun), g.State, g.Rate
		t.steps = append(t.steps, s)
		t.begun, t.present = end, Step{Waiting: s.Waiting}
	}
}

func (t *timeline) answered(o ratelimit.Outcome) {
	switch o {
	case ratelimit.OK:
		t.present.Good++
	case ratelimit.Throttled:
		t.present.Throttled++
	case ratelimit.Server, ratelimit.Network, ratelimit.Client, ratelimit.Misconfigured:
		t.present.Errors++
	case ratelimit.Cancelled, ratelimit.Deferred:
	}
}

// grants counts permits against the ceiling from outside, once every process has asked for one: only then is the
// smallest ceiling known to all.
type grants struct {
	unknown int // processes that have not asked yet
	window  time.Duration
	ceiling int
	recent  []time.Duration
	peak    int
}

func newGrants(tunings []ratelimit.Tuning) *grants {
	g := &grants{unknown: len(tunings), window: tunings[0].CeilingWindow, ceiling: tunings[0].Ceiling}
	for _, t := range tunings[1:] {
		g.window, g.ceiling = max(g.window, t.CeilingWindow), min(g.ceiling, t.Ceiling)
	}
	return g
}

func (g *grants) add(at time.Duration) {
	gone := 0
	for gone < len(g.recent) && at-g.recent[gone] >= g.window {
		gone++
	}
	g.recent = append(g.recent[gone:], at)
	if g.unknown == 0 {
		g.peak = max(g.peak, len(g.recent))
	}
}

func (w *world) result() *Result {
	c := w.config
	r := &Result{
		Scenario: c.Scenario, Limits: w.server.behaviour.Limits(), Latency: c.Latency, Seed: c.Seed,
		For: c.For, Step: c.Step, Tunings: c.Processes,
		Steps: w.timeline.steps, Moves: w.moves,
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
		r.Shares = append(r.Shares, p.share)
		sum += float64(p.share.Good)
		squares += float64(p.share.Good) * float64(p.share.Good)
	}
	t.Fairness = 1
	if squares > 0 {
		t.Fairness = sum * sum / (float64(len(w.processes)) * squares)
	}
	t.Peak, t.Ceiling = w.grants.peak, w.grants.ceiling
	t.Possible = Possible(c.Scenario, r.Limits, c.Latency, c.slots(), c.For)
	t.In = map[string]time.Duration{}
	for _, s := range r.spans() {
		t.In[s.State] += s.To - s.From
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
	out := []chart.Span{{State: ratelimit.Normal.String(), To: r.For}}
	for _, m := range r.Moves {
		out[len(out)-1].To = m.At
		out = append(out, chart.Span{State: m.To.String(), From: m.At, To: r.For, Why: m.Reason.String()})
	}
	return out
}

func (r *Result) phases() []chart.Phase {
	cuts := []time.Duration{0, r.For}
	for _, f := range r.Scenario.Faults {
		for _, c := range []upstream.Duration{f.From, f.To} {
			if at := time.Duration(c); at > 0 && at < r.For {
				cuts = append(cuts, at)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []chart.Phase
	for i, from := range cuts[:len(cuts)-1] {
		label := r.Scenario.At(from)
		if n := len(out); n > 0 && out[n-1].Label == label {
			out[n-1].To = cuts[i+1]
			continue
		}
		out = append(out, chart.Phase{From: from, To: cuts[i+1], Label: label, Trouble: label != upstream.Quiet})
	}
	return out
}

// Possible returns the number of good answers that a client could have who knows the scenario, never asks in vain and
// has so many slots: the upper bound of every client. What fails by chance counts by its probability, a latency by the
// middle of its range.
func Possible(
	s upstream.Scenario, limits upstream.Limits, latency upstream.Latency, slots int, length time.Duration,
) float64 {
	own := limits
	if l, err := upstream.ParseLimits(s.Limits); s.Limits != "" && err == nil {
		own = l
	}
	limits, s.Limits = withoutPenalty(limits), withoutPenalty(own).String()
	b, err := upstream.New(limits, 0)
	if err != nil || b.Apply(s, epoch) != nil || latency.Mean() <= 0 {
		return 0
	}
	var c clock
	good := 0.0
	end := epoch.Add(length)
	for range slots {
		var next func()
		next = func() {
			now := epoch.Add(c.now)
			if up := b.DownUntil(now, end); up.After(now) {
				c.plan(up.Sub(now), next)
				return
			}
			if ok, wait := b.Allow(now, client.IP); !ok {
				c.plan(max(wait, 100*time.Microsecond), next)
				return
			}
			chance, took := b.Expect(now, client, latency.Mean())
			if c.now+took <= length {
				good += chance
			}
			c.plan(took, next)
		}
		c.plan(0, next)
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
