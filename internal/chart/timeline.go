package chart

import (
	_ "embed" // the timeline's template and style
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// Template defines "timeline" for html/template: the picture of a *Timeline with its legend. A page needs Style as
// well, and the functions say (lang.Say) and sayf (lang.Sprintf).
//
//go:embed timeline.gohtml
var Template string

// Style is the CSS of Template. It takes the colours --soft and --line from the page.
//
//go:embed timeline.css
var Style string

// Point is the limiter at one moment of a run: State and Rate (requests per second) hold from At on; Requests and
// Throttled count the answers, and among them the 429s, since the point before.
type Point struct {
	At        time.Time
	State     string
	Rate      float64
	Requests  int
	Throttled int
}

// Timeline is the picture of a run on a page: bars for the answers per second, a line for the rate allowed, a mark
// wherever TMDB said 429, and below them a band of the states. It is a box of 1000 × 200 units that is stretched to the
// page; all words stand outside it, so that they stay readable on a phone, and every state is said in words too. The
// strings are in box units.
type Timeline struct {
	Bands    []Band
	Bars     []Bar
	Marks    []string // x
	Rate     string   // path data
	Top      string   // the meaning of the plot's upper edge: "40/s"
	Ticks    []string
	Keys     []Key
	Spans    []StateText
	MoreSpan int
	Label    string
}

// Band is the drawn part of a state.
type Band struct{ X, Width, Class, State string }

// Key explains a colour of the band.
type Key struct{ State, Class string }

// Bar is a number of answers per second.
type Bar struct{ X, Y, Width, Height string }

// StateText is a state in words.
type StateText struct{ At, State, For, Class string }

const (
	boxWidth  = 1000.0
	bandTop   = 184.0       // the band lies below the plot
	mostBars  = 100         // however long the run
	leastBar  = time.Second // over less, a burst that the limiter allows would look like a rate far above its own
	mostTexts = 60          // states in words
)

// NewTimeline draws points, which are in time order; nil where there is nothing to draw.
func NewTimeline(points []Point) *Timeline {
	if len(points) < 2 || !points[len(points)-1].At.After(points[0].At) {
		return nil
	}
	start, end := points[0].At, points[len(points)-1].At.Sub(points[0].At)
	bar := barLength(end)
	n := (end + bar - 1) / bar
	plot := Plot{Right: boxWidth, Bottom: bandTop - 4, Length: n * bar}
	heights := answersPerSecond(points, int(n), bar)
	rates := make([]Value, len(points))
	for i, point := range points {
		rates[i] = Value{point.At.Sub(start), point.Rate}
		plot.Max = max(plot.Max, point.Rate)
	}
	plot.Max = max(math.Ceil(max(plot.Max, slices.Max(heights))*1.1), 1)

	t := &Timeline{Top: fmt.Sprintf("%g/s", plot.Max), Rate: plot.Stairs(rates, end)}
	width := boxWidth / float64(n)
	for i, h := range heights {
		if y := plot.Y(h); h > 0 {
			t.Bars = append(t.Bars, Bar{
				units(float64(i) * width), units(y), units(max(width*0.8, width-4)),
				units(plot.Bottom - y),
			})
		}
	}
	next := 0.0
	for _, point := range points[1:] {
		if x := plot.X(point.At.Sub(start)); point.Throttled > 0 && x >= next {
			t.Marks = append(t.Marks, units(x))
			next = x + finest
		}
	}
	t.states(plot, spansOf(points), end)
	for i := range 5 {
		t.Ticks = append(t.Ticks, ui.Duration(plot.Length*time.Duration(i)/4))
	}
	return t
}

func barLength(run time.Duration) time.Duration {
	bar := max((run / mostBars).Round(time.Second), leastBar)
	if bar*mostBars < run {
		bar += time.Second
	}
	return bar
}

// answersPerSecond spreads the answers of a point over the time since the point before.
func answersPerSecond(points []Point, n int, bar time.Duration) []float64 {
	heights := make([]float64, n)
	width := bar.Seconds()
	for i, point := range points[1:] {
		from, to := points[i].At.Sub(points[0].At).Seconds()/width, point.At.Sub(points[0].At).Seconds()/width
		if point.Requests == 0 {
			continue
		}
		if to <= from { // two points of one moment
			heights[min(int(from), n-1)] += float64(point.Requests) / width
			continue
		}
		each := float64(point.Requests) / (to - from) / width
		for j := int(from); j < n && float64(j) < to; j++ {
			heights[j] += each * (min(to, float64(j+1)) - max(from, float64(j)))
		}
	}
	return heights
}

func spansOf(points []Point) []Span {
	var out []Span
	for _, point := range points {
		at := point.At.Sub(points[0].At)
		if n := len(out); n > 0 {
			out[n-1].To = at
			if out[n-1].State == point.State {
				continue
			}
		}
		out = append(out, Span{State: point.State, From: at, To: at})
	}
	return out
}

func (t *Timeline) states(plot Plot, spans []Span, end time.Duration) {
	next := 0.0
	var said []string
	for i, s := range spans {
		class, x := stateClass(s.State), plot.X(s.From)
		if x >= next || i == len(spans)-1 {
			t.Bands = append(t.Bands, Band{units(x), units(plot.X(end) - x), class, s.State}) // the next one covers its rest
			next = x + finest
		}
		if !slices.Contains(t.Keys, Key{s.State, class}) {
			t.Keys = append(t.Keys, Key{s.State, class})
		}
		if len(t.Spans) == mostTexts {
			t.MoreSpan++
			continue
		}
		lasted := ui.Duration(s.To - s.From)
		t.Spans = append(t.Spans, StateText{ui.Duration(s.From), s.State, lasted, class})
		said = append(said, lang.Sprintf("%s for %s", s.State, lasted))
	}
	t.Label = lang.Sprintf("The limiter during the run: %s", strings.Join(said, ", "))
}

// stateClass returns the style of a state; one that the style does not know looks like CacheOnly.
func stateClass(state string) string {
	switch state {
	case "Normal", "Throttle", "Sleep", "HalfOpen":
		return "st-" + strings.ToLower(state)
	}
	return "st-closed"
}
