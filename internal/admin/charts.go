package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/metrics"
)

type curve struct {
	class, name string
	value       func(sample) float64
}

// drawing is what the template "chart" shows: a box of 320 × 160 units with the curves in chartBox. A drawing without
// Words has no samples yet.
type drawing struct {
	Title, Words string
	Rates, Times []tick
	Curves       []drawnCurve
}

type tick struct {
	At    float64 // the position, in units
	Label string
}

type drawnCurve struct{ Class, Path string }

var chartBox = chart.Plot{Left: 44, Right: 316, Top: 10, Bottom: 132}

func drawChart(title, unit string, list []sample, span time.Duration, curves ...curve) drawing {
	d := drawing{Title: title}
	if len(list) < 2 {
		return d
	}
	begin, most := list[len(list)-1].at.Add(-span), 1.0
	for _, c := range curves {
		low, high := c.value(list[0]), 0.0
		for _, s := range list {
			low, high = min(low, c.value(s)), max(high, c.value(s))
		}
		most = max(most, high)
		d.Words += fmt.Sprintf("%s: now %.3g%s, from %.3g to %.3g. ", c.name, c.value(list[len(list)-1]), unit, low, high)
	}
	p, step := chartBox, 0.0
	p.Length = span
	p.Max, step = chart.AxisScale(most)
	for v := 0.0; v <= p.Max; v += step {
		d.Rates = append(d.Rates, tick{p.Y(v), fmt.Sprintf("%.3g", v)})
	}
	for i := range time.Duration(5) {
		d.Times = append(d.Times, tick{p.X(span * i / 4), begin.Add(span * i / 4).Local().Format("15:04")})
	}
	for _, c := range curves {
		values := make([]chart.RateChange, len(list))
		for i, s := range list {
			values[i] = chart.RateChange{At: max(s.at.Sub(begin), 0), Rate: c.value(s)}
		}
		d.Curves = append(d.Curves, drawnCurve{c.class, p.StepPath(values, span)})
	}
	return d
}

func (s *Server) overviewCharts() []drawing {
	hour, _ := s.histories.samples("")
	draw := func(title, unit string, curves ...curve) drawing {
		return drawChart(title, unit, hour, time.Hour, curves...)
	}
	return []drawing{
		draw("Requests under way", "",
			curve{"limit", "limit", func(s sample) float64 { return s.limit }},
			curve{"main", "running", func(s sample) float64 { return s.running }}),
		draw("Requests a second", "/s", curve{"main", "sent", func(s sample) float64 { return s.sent }}),
		draw("429 answers", "", curve{"bad", "429s in ten seconds", func(s sample) float64 { return s.throttled }}),
		draw("Questions that wait", "", curve{"main", "queue", func(s sample) float64 { return s.queue }}),
	}
}

func (s *Server) accountCharts(name string) []drawing {
	hour, day := s.histories.samples(name)
	used := curve{"main", "utilisation", func(s sample) float64 {
		if s.limit == 0 {
			return 0
		}
		return 100 * s.running / s.limit
	}}
	return []drawing{
		drawChart("Utilisation, last hour", " %", hour, time.Hour, used),
		drawChart("Utilisation, last day", " %", day, 24*time.Hour, used),
	}
}

// The history is kept in memory: one hour with a sample every ten seconds, and one day with a sample per minute. A
// restart empties it. For longer histories there is /metrics.
const (
	fineInterval, fineSamples     = 10 * time.Second, 360
	coarseInterval, coarseSamples = time.Minute, 1440
)

type sample struct {
	at             time.Time
	running, limit float64
	sent           float64 // requests per second
	throttled      float64 // 429 answers since the previous sample
	queue          float64
}

type history struct{ fine, coarse []sample }

// add adds a sample, and once per minute the mean of the last minute's samples.
func (h *history) add(s sample) {
	h.fine = appendNewest(h.fine, s, fineSamples)
	per := int(coarseInterval / fineInterval)
	if n := len(h.fine); n >= per &&
		(len(h.coarse) == 0 || s.at.Sub(h.coarse[len(h.coarse)-1].at) >= coarseInterval) {
		h.coarse = appendNewest(h.coarse, mean(h.fine[n-per:]), coarseSamples)
	}
}

// mean returns one sample with the time of the last one: the means of the values, but the sum of the 429 answers.
func mean(list []sample) sample {
	n := float64(len(list))
	out := sample{at: list[len(list)-1].at}
	for _, s := range list {
		out.running += s.running / n
		out.limit += s.limit / n
		out.sent += s.sent / n
		out.throttled += s.throttled
		out.queue += s.queue / n
	}
	return out
}

type histories struct {
	mu         sync.Mutex
	byAccount  map[string]*history
	lastCounts counts
}

type counts struct {
	at              time.Time
	sent, throttled float64
}

func (r *histories) run(ctx context.Context, g Gateway) {
	for tick := time.Tick(fineInterval); ; {
		r.takeSample(ctx, g, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

func (r *histories) takeSample(ctx context.Context, g Gateway, now time.Time) {
	st, err := g.Upstream().Limiter().Status(ctx)
	if err != nil {
		return // leaves a gap in the charts
	}
	snap := g.Upstream().Metrics().Snapshot()
	is := counts{at: now, throttled: snap.Value(metrics.Requests, "429")}
	for _, n := range snap.All(metrics.Requests) {
		is.sent += n.Value
	}
	queue := 0.0
	for _, n := range snap.All(metrics.GatewayQueue) {
		queue += n.Value
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := sample{at: is.at, running: float64(st.Running), limit: float64(st.Slots), queue: queue}
	if span := is.at.Sub(r.lastCounts.at); !r.lastCounts.at.IsZero() && span > 0 {
		s.sent = (is.sent - r.lastCounts.sent) / span.Seconds()
		s.throttled = is.throttled - r.lastCounts.throttled
	}
	r.lastCounts = is
	r.historyOf("").add(s)
	for _, a := range st.Accounts {
		r.historyOf(a.Name).add(sample{at: is.at, running: float64(a.Running), limit: float64(cmp.Or(a.Slots, st.Slots))})
	}
}

func (r *histories) historyOf(name string) *history {
	h := cmp.Or(r.byAccount[name], new(history))
	r.byAccount[name] = h
	return h
}

func (r *histories) samples(name string) (hour, day []sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := cmp.Or(r.byAccount[name], new(history))
	return slices.Clone(h.fine), slices.Clone(h.coarse)
}
