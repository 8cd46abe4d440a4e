// Package chart draws as SVG what the limiter did over time: its states, the rate that it allowed, and the answers.
// NewTimeline makes the small picture on the HTML report's page; Drawing is a picture in a file, for limiter simulate.
// Both use Plot and Span.
package chart

import (
	_ "embed" // for the template
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/anivault/anivault/internal/ui"
)

// Drawing is a picture of a whole run in one SVG file, for light and dark colour schemes. It has the upstream's phases
// on top, then a lane for each state, then curves of the rates. A lane is labelled with its state, so nothing depends
// on colours.
type Drawing struct {
	Title       string
	Description string // the run in words, for people who can't see the picture
	Footer      string
	Length      time.Duration
	Phases      []Phase  // the upstream's behaviour, in order of time
	States      []string // from the top lane to the bottom one
	Spans       []Span   // in order
	Steps       []Step   // in order
}

// Phase is a span of time in which the upstream behaves in the same way.
type Phase struct {
	From, To time.Duration
	Label    string
	Trouble  bool
}

// Step is a part of the run. It begins where the previous step ends. Good, Allowed and Bad are rates per second.
type Step struct {
	End                time.Duration
	Good, Allowed, Bad float64
	Throttled          int // number of 429 answers
}

//go:embed drawing.gosvg
var drawingText string

// Positions and sizes in SVG units; the template has the others.
const (
	laneTop    = 72
	laneHeight = 18
	plotHeight = 220
)

type svgData struct {
	Drawing
	Plot
	Height             int
	RateTicks          []float64 // labelled rates
	TimeTicks          []time.Duration
	Good, Allowed, Bad string // path data
	Refusals           []refusalMark
}

type refusalMark struct {
	X, Y  float64
	Count int
}

func (s svgData) BelowPlot(distance int) int { return int(s.Bottom) + distance }

func (s svgData) LaneY(state string, y int) int {
	return laneTop + slices.Index(s.States, state)*laneHeight + y
}

func (s svgData) Width(from, to time.Duration) float64 { return s.X(to) - s.X(from) }

func fitText(text string, width float64) string {
	if letters := int(width / 6.6); letters >= 4 {
		return ui.Cut(text, letters)
	}
	return ""
}

// WriteSVG writes the picture. It fails only if out does.
func (d Drawing) WriteSVG(out io.Writer) error {
	most := 5.0
	for _, s := range d.Steps {
		most = max(most, s.Good, s.Allowed, s.Bad)
	}
	end, tick := AxisScale(most)
	top := float64(laneTop + len(d.States)*laneHeight + 20)
	s := svgData{Drawing: d, Plot: Plot{84, 940, top, top + plotHeight, d.Length, end}}
	s.Height = s.BelowPlot(104)
	for v := 0.0; v <= end; v += tick {
		s.RateTicks = append(s.RateTicks, v)
	}
	for at, every := time.Duration(0), RoundPeriod(d.Length, time.Second, 10); at <= d.Length; at += every {
		s.TimeTicks = append(s.TimeTicks, at)
	}
	s.addCurves()
	t := template.Must(template.New("").Funcs(template.FuncMap{
		"text":    func(s string) string { return html.EscapeString(ui.Escaped(s)) },
		"f":       func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"add":     func(a, b float64) float64 { return a + b },
		"atLeast": func(a, b float64) float64 { return max(a, b) },
		"cut":     ui.Cut, "offset": ui.Offset, "fitting": fitText,
	}).Parse(drawingText))
	return t.Execute(out, s)
}

func (s *svgData) addCurves() {
	if len(s.Steps) == 0 {
		return
	}
	var good, allowed, bad []RateChange
	from := time.Duration(0)
	for _, step := range s.Steps {
		good, allowed = append(good, RateChange{from, step.Good}), append(allowed, RateChange{from, step.Allowed})
		bad = append(bad, RateChange{from, step.Bad})
		if step.Throttled > 0 {
			s.Refusals = append(s.Refusals, refusalMark{(s.X(from) + s.X(step.End)) / 2, s.Y(step.Bad) - 9, step.Throttled})
		}
		from = step.End
	}
	s.Good, s.Allowed, s.Bad = s.StepPath(good, from), s.StepPath(allowed, from), s.StepPath(bad, from)
}

// Plot maps times and rates to positions in a box, in SVG units.
type Plot struct {
	Left, Right, Top, Bottom float64
	Length                   time.Duration // time span from Left to Right
	Max                      float64       // rate at Top
}

// X returns the x coordinate of a time since the beginning.
func (p Plot) X(at time.Duration) float64 {
	return p.Left + float64(at)/float64(p.Length)*(p.Right-p.Left)
}

// Y returns the y coordinate of a rate.
func (p Plot) Y(rate float64) float64 { return p.Bottom - rate/p.Max*(p.Bottom-p.Top) }

// RateChange is a rate that applies from At on.
type RateChange struct {
	At   time.Duration
	Rate float64
}

// minStepWidth is the least distance between two drawn changes, in units.
const minStepWidth = 1.0

// StepPath returns the SVG path data of a step line through values that ends at the time end. It leaves out steps that
// change nothing or follow the previous one in less than minStepWidth. values must not be empty.
func (p Plot) StepPath(values []RateChange, end time.Duration) string {
	var b strings.Builder
	drawn, next := values[0].Rate, p.X(values[0].At)
	b.WriteString("M" + formatUnits(next) + " " + formatUnits(p.Y(drawn)))
	for _, v := range values[1:] {
		if x := p.X(v.At); v.Rate != drawn && x >= next {
			b.WriteString("H" + formatUnits(x) + "V" + formatUnits(p.Y(v.Rate)))
			drawn, next = v.Rate, x+minStepWidth
		}
	}
	return b.String() + "H" + formatUnits(p.X(end))
}

// Span is a span of time in one state.
type Span struct {
	State    string
	From, To time.Duration
	Why      string // why the state was entered; "" if unknown
}

// AxisScale returns the end of an axis for values up to maximum, and the distance between its ticks.
func AxisScale(maximum float64) (end, tick float64) {
	tick = 1
	for _, factor := range []float64{2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5} { // 1, 2, 5, 10, ...
		if maximum <= 6*tick {
			break
		}
		tick *= factor
	}
	return math.Ceil(maximum/tick) * tick, tick
}

// RoundPeriod returns the shortest round period of at least minimum that fits into d at most maxCount times, or 4 h.
func RoundPeriod(d, minimum time.Duration, maxCount int) time.Duration {
	for _, t := range []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
		2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
	} {
		if t >= minimum && int(d/t) <= maxCount {
			return t
		}
	}
	return 4 * time.Hour
}

func formatUnits(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
