package chart

import (
	_ "embed" // for the template and the style
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// Template defines the template "timeline" for html/template: the picture of a *Timeline with its legend. A page that
// uses it also needs Style, and the template functions say (lang.Say) and sayf (lang.Sprintf).
//
//go:embed timeline.gohtml
var Template string

// Style is the CSS for Template. It uses the page's colours --soft and --line.
//
//go:embed timeline.css
var Style string

// Point is the limiter's state at one moment of a run. State and Rate (requests per second) apply from At on; Requests
// and Throttled are the numbers of answers and of 429s since the previous point.
type Point struct {
	At        time.Time
	State     string
	Rate      float64
	Requests  int
	Throttled int
}

// Timeline is the picture of a run on a page: bars for the answers per second, a line for the allowed rate, a mark for
// each 429, and below them a band of the states. The picture is a box of 1000 × 200 units that is stretched to the
// page. All text is outside the box, so it stays readable on a phone, and also lists every state. Coordinates are
// strings in box units.
type Timeline struct {
	Bands        []Band
	Bars         []Bar
	Marks        []string // x coordinates
	RatePath     string   // SVG path data
	TopLabel     string   // label of the plot's upper edge: "40/s"
	Ticks        []string
	Legend       []LegendEntry
	StateTexts   []StateText
	HiddenStates int
	Label        string
}

// Band is a part of the band of states, which shows one state.
type Band struct{ X, Width, Class, State string }

// LegendEntry is one line of the legend: a state, and the CSS class of its colour in the band of states.
type LegendEntry struct{ State, Class string }

// Bar shows the answers per second in one interval.
type Bar struct{ X, Y, Width, Height string }

// StateText describes a state in words.
type StateText struct{ At, State, For, Class string }

const (
	boxWidth      = 1000.0
	bandTop       = 184.0       // the band is below the plot
	maxBars       = 100         // for a run of any length
	minBarLength  = time.Second // in a shorter one, an allowed burst would look like a rate above the limit
	maxStateTexts = 60          // in the list of states
)

// NewTimeline draws points, which must be in order of time. It returns nil if there is nothing to draw.
func NewTimeline(points []Point) *Timeline {
	if len(points) < 2 || !points[len(points)-1].At.After(points[0].At) {
		return nil
	}
	start, end := points[0].At, points[len(points)-1].At.Sub(points[0].At)
	bar := barLength(end)
	n := (end + bar - 1) / bar
	plot := Plot{Right: boxWidth, Bottom: bandTop - 4, Length: n * bar}
	heights := answersPerSecond(points, int(n), bar)
	rates := make([]RateChange, len(points))
	for i, point := range points {
		rates[i] = RateChange{point.At.Sub(start), point.Rate}
		plot.Max = max(plot.Max, point.Rate)
	}
	plot.Max = max(math.Ceil(max(plot.Max, slices.Max(heights))*1.1), 1)

	t := &Timeline{TopLabel: fmt.Sprintf("%g/s", plot.Max), RatePath: plot.StepPath(rates, end)}
	width := boxWidth / float64(n)
	for i, h := range heights {
		if y := plot.Y(h); h > 0 {
			t.Bars = append(t.Bars, Bar{
				formatUnits(float64(i) * width), formatUnits(y), formatUnits(max(width*0.8, width-4)),
				formatUnits(plot.Bottom - y),
			})
		}
	}
	next := 0.0
	for _, point := range points[1:] {
		if x := plot.X(point.At.Sub(start)); point.Throttled > 0 && x >= next {
			t.Marks = append(t.Marks, formatUnits(x))
			next = x + minStepWidth
		}
	}
	t.addStates(plot, spansOf(points), end)
	for i := range 5 {
		t.Ticks = append(t.Ticks, lang.Say(ui.Duration(plot.Length*time.Duration(i)/4)))
	}
	return t
}

func barLength(run time.Duration) time.Duration {
	bar := max((run / maxBars).Round(time.Second), minBarLength)
	if bar*maxBars < run {
		bar += time.Second
	}
	return bar
}

// answersPerSecond returns the answers per second in each of n intervals of length barLength. It spreads a point's
// answers evenly over the time since the previous point.
func answersPerSecond(points []Point, n int, barLength time.Duration) []float64 {
	heights := make([]float64, n)
	width := barLength.Seconds()
	for i, point := range points[1:] {
		from, to := points[i].At.Sub(points[0].At).Seconds()/width, point.At.Sub(points[0].At).Seconds()/width
		if point.Requests == 0 {
			continue
		}
		if to <= from { // two points at the same time
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

func (t *Timeline) addStates(plot Plot, spans []Span, end time.Duration) {
	next := 0.0
	var said []string
	for i, s := range spans {
		class, x := stateClass(s.State), plot.X(s.From)
		if x >= next || i == len(spans)-1 {
			// The next band is drawn over the rest of this one.
			t.Bands = append(t.Bands, Band{formatUnits(x), formatUnits(plot.X(end) - x), class, s.State})
			next = x + minStepWidth
		}
		if !slices.Contains(t.Legend, LegendEntry{s.State, class}) {
			t.Legend = append(t.Legend, LegendEntry{s.State, class})
		}
		if len(t.StateTexts) == maxStateTexts {
			t.HiddenStates++
			continue
		}
		lasted := lang.Say(ui.Duration(s.To - s.From))
		t.StateTexts = append(t.StateTexts, StateText{lang.Say(ui.Duration(s.From)), s.State, lasted, class})
		said = append(said, lang.Sprintf("%s for %s", s.State, lasted))
	}
	t.Label = lang.Sprintf("The limiter during the run: %s", strings.Join(said, ", "))
}

// stateClass returns the CSS class of a state; unknown states look like CacheOnly.
func stateClass(state string) string {
	switch state {
	case "Normal", "Throttle", "Sleep", "HalfOpen":
		return "st-" + strings.ToLower(state)
	}
	return "st-closed"
}
