package html

// This file draws the limiter's run: a band of its states, the rate it allowed as a line, the answers per second as bars,
// and a mark wherever TMDB said 429. A bar is a second wide at least: over less, a burst that the limiter allows would look like
// a rate far beyond its own. The picture is plain SVG in a box of 1000 × 200 units that is stretched to the page;
// all words stand outside it, so that they stay readable on a phone, and every state is said in words too.

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	boxWidth  = 1000.0
	boxHeight = 200.0
	bandTop   = 184.0 // the band of states lies below the plot
	bars      = 100   // at most, however long the run
	leastBar  = time.Second
	spans     = 60  // at most so many states in words
	finest    = 1.0 // changes that are closer together are drawn as one
)

// timeline is the picture's parts, in box units.
type timeline struct {
	Bands    []band
	Bars     []bar
	Marks    []mark
	Rate     string // path data of the allowed rate
	Top      string // what the plot's upper edge means: "40/s"
	Ticks    []string
	Keys     []key
	Spans    []span
	MoreSpan int
	Label    string
}

type band struct{ X, Width, Class, State string }

// key explains a colour of the band.
type key struct{ State, Class string }

type bar struct{ X, Y, Width, Height string }

type mark struct{ X string }

// span is a state in words.
type span struct{ At, State, For, Class string }

// newTimeline returns nil where there is nothing to draw.
func newTimeline(points []TimelinePoint) *timeline {
	if len(points) < 2 || !points[len(points)-1].At.After(points[0].At) {
		return nil
	}
	p := newPlot(points[0].At, points[len(points)-1].At)
	t := &timeline{}
	heights := p.bars(points)
	for _, h := range heights {
		p.top = math.Max(p.top, h)
	}
	for _, point := range points {
		p.top = math.Max(p.top, point.Rate)
	}
	p.top = math.Max(math.Ceil(p.top*1.1), 1)
	t.Top = fmt.Sprintf("%g/s", p.top)

	width := boxWidth / float64(len(heights))
	for i, h := range heights {
		if h > 0 {
			y := p.y(h)
			t.Bars = append(t.Bars, bar{units(float64(i) * width), units(y), units(math.Max(width*0.8, width-4)), units(bandTop - 4 - y)})
		}
	}
	next := 0.0
	for _, point := range points[1:] {
		if x := p.x(point.At); point.Throttled > 0 && x >= next {
			t.Marks = append(t.Marks, mark{units(x)})
			next = x + finest
		}
	}
	t.Rate = p.rate(points)
	t.states(p, points)
	for i := range 5 {
		t.Ticks = append(t.Ticks, elapsed(p.length*time.Duration(i)/4))
	}
	return t
}

// plot maps time and rate to the box. It ends with the last whole bar.
type plot struct {
	start, end  time.Time
	length, bar time.Duration
	top         float64
}

func newPlot(start, end time.Time) plot {
	run := end.Sub(start)
	bar := max((run / bars).Round(time.Second), leastBar)
	if bar*bars < run {
		bar += time.Second
	}
	n := (run + bar - 1) / bar
	return plot{start: start, end: end, length: n * bar, bar: bar}
}

func (p plot) x(at time.Time) float64 {
	return boxWidth * float64(at.Sub(p.start)) / float64(p.length)
}

func (p plot) y(rate float64) float64 { return (bandTop - 4) * (1 - rate/p.top) }

// bars is how many answers per second came, bar by bar. What a point counts is spread over the time since the point
// before; what the first one counts lies before the picture.
func (p plot) bars(points []TimelinePoint) []float64 {
	n := int(p.length / p.bar)
	perSecond := make([]float64, n)
	width := p.bar.Seconds()
	for i, point := range points[1:] {
		from, to := points[i].At.Sub(p.start).Seconds()/width, point.At.Sub(p.start).Seconds()/width
		if point.Requests == 0 {
			continue
		}
		if to <= from { // two points of one moment
			perSecond[min(int(from), n-1)] += float64(point.Requests) / width
			continue
		}
		each := float64(point.Requests) / (to - from) / width
		for j := int(from); j < n && float64(j) < to; j++ {
			perSecond[j] += each * (math.Min(to, float64(j+1)) - math.Max(from, float64(j)))
		}
	}
	return perSecond
}

// rate is a step line; points that change nothing are left out.
func (p plot) rate(points []TimelinePoint) string {
	var b strings.Builder
	drawn := points[0].Rate
	b.WriteString("M0 " + units(p.y(drawn)))
	next := 0.0
	for _, point := range points[1:] {
		if x := p.x(point.At); point.Rate != drawn && x >= next {
			b.WriteString("H" + units(x) + "V" + units(p.y(point.Rate)))
			drawn, next = point.Rate, x+finest
		}
	}
	return b.String() + "H" + units(p.x(p.end))
}

// states fills the band and says each state in words.
func (t *timeline) states(p plot, points []TimelinePoint) {
	next := 0.0
	for i := 0; i < len(points); {
		j := i + 1
		for j < len(points) && points[j].State == points[i].State {
			j++
		}
		until := p.end
		if j < len(points) {
			until = points[j].At
		}
		x := p.x(points[i].At)
		class := stateClass(points[i].State)
		if x >= next || j == len(points) {
			t.Bands = append(t.Bands, band{units(x), units(p.x(p.end) - x), class, points[i].State}) // the next one covers its rest
			next = x + finest
		}
		if !slices.Contains(t.Keys, key{points[i].State, class}) {
			t.Keys = append(t.Keys, key{points[i].State, class})
		}
		if len(t.Spans) < spans {
			t.Spans = append(t.Spans, span{elapsed(points[i].At.Sub(p.start)), points[i].State, elapsed(until.Sub(points[i].At)), class})
		} else {
			t.MoreSpan++
		}
		i = j
	}
	var said []string
	for _, s := range t.Spans {
		said = append(said, s.State+" for "+s.For)
	}
	t.Label = "The limiter during the run: " + strings.Join(said, ", ")
}

// stateClass is the style of a state; a state that the style does not know looks like CacheOnly.
func stateClass(state string) string {
	switch state {
	case "Normal", "Throttle", "Sleep", "HalfOpen":
		return "st-" + strings.ToLower(state)
	}
	return "st-closed"
}

func units(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return d.Round(time.Second).String()
}
