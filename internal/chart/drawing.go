// Package chart draws what the limiter did over time as SVG: its states, the rate it allowed, and the answers.
// NewTimeline makes the small picture of a page (the report's); Drawing is a picture in a file of its own (of limiter
// simulate). Both use Plot and Span.
package chart

import (
	_ "embed" // the template
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

// Drawing is a picture of a whole run in one SVG file, for light and dark: phases on top, below them a lane for each
// state (the lane says which state it is, not a colour), below them rates over time.
type Drawing struct {
	Title       string
	Description string // the run in words, for those who can't see it
	Footer      string
	Length      time.Duration
	Phases      []Phase  // what the upstream does, in order
	Lanes       []string // the states, from the top
	Spans       []Span   // in order
	Steps       []Step   // in order
}

// Phase is a time in which the upstream behaves in one way.
type Phase struct {
	From, To time.Duration
	Label    string
	Trouble  bool
}

// Step is a part of the run; it begins where the one before ends. The rates are per second.
type Step struct {
	End                time.Duration
	Good, Allowed, Bad float64
	Throttled          int // number of 429 answers
}

//go:embed drawing.gosvg
var drawingText string

// Places in the picture, in SVG units; the template has the others.
const (
	laneTop  = 72
	laneTall = 18
	plotTall = 220
)

type sheet struct {
	Drawing
	Plot
	Height             int
	Rates              []float64 // ticks
	Times              []time.Duration
	Good, Allowed, Bad string // path data
	Refusals           []refusal
}

type refusal struct {
	X, Y  float64
	Count int
}

// Below returns the place of what lies so far below the plot.
func (s sheet) Below(distance int) int { return int(s.Bottom) + distance }

// Lane returns a place within the lane of a state.
func (s sheet) Lane(state string, y int) int {
	return laneTop + slices.Index(s.Lanes, state)*laneTall + y
}

// Wide returns the width of a time.
func (s sheet) Wide(from, to time.Duration) float64 { return s.X(to) - s.X(from) }

func fitting(text string, width float64) string {
	if letters := int(width / 6.6); letters >= 4 {
		return ui.Cut(text, letters)
	}
	return ""
}

// WriteSVG writes the picture. Errors are the writer's.
func (d Drawing) WriteSVG(out io.Writer) error {
	most := 5.0
	for _, s := range d.Steps {
		most = max(most, s.Good, s.Allowed, s.Bad)
	}
	end, tick := Axis(most)
	top := float64(laneTop + len(d.Lanes)*laneTall + 20)
	s := sheet{Drawing: d, Plot: Plot{84, 940, top, top + plotTall, d.Length, end}}
	s.Height = s.Below(104)
	for v := 0.0; v <= end; v += tick {
		s.Rates = append(s.Rates, v)
	}
	for at, every := time.Duration(0), Period(d.Length, time.Second, 10); at <= d.Length; at += every {
		s.Times = append(s.Times, at)
	}
	s.curves()
	t := template.Must(template.New("").Funcs(template.FuncMap{
		"text":    func(s string) string { return html.EscapeString(ui.Escaped(s)) },
		"f":       func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"add":     func(a, b float64) float64 { return a + b },
		"atLeast": func(a, b float64) float64 { return max(a, b) },
		"cut":     ui.Cut, "offset": ui.Offset, "fitting": fitting,
	}).Parse(drawingText))
	return t.Execute(out, s)
}

func (s *sheet) curves() {
	if len(s.Steps) == 0 {
		return
	}
	var good, allowed, bad []Value
	from := time.Duration(0)
	for _, step := range s.Steps {
		good, allowed = append(good, Value{from, step.Good}), append(allowed, Value{from, step.Allowed})
		bad = append(bad, Value{from, step.Bad})
		if step.Throttled > 0 {
			s.Refusals = append(s.Refusals, refusal{(s.X(from) + s.X(step.End)) / 2, s.Y(step.Bad) - 9, step.Throttled})
		}
		from = step.End
	}
	s.Good, s.Allowed, s.Bad = s.Stairs(good, from), s.Stairs(allowed, from), s.Stairs(bad, from)
}

// Plot maps times and rates to a box of SVG units.
type Plot struct {
	Left, Right, Top, Bottom float64
	Length                   time.Duration // the time at Right
	Max                      float64       // the rate at Top
}

// X places a time since the beginning.
func (p Plot) X(at time.Duration) float64 {
	return p.Left + float64(at)/float64(p.Length)*(p.Right-p.Left)
}

// Y places a rate.
func (p Plot) Y(rate float64) float64 { return p.Bottom - rate/p.Max*(p.Bottom-p.Top) }

// Value is a number that holds from At on.
type Value struct {
	At     time.Duration
	Number float64
}

// finest is the width in units below which changes are drawn as one.
const finest = 1.0

// Stairs returns the path data of a line that steps from value to value and ends at the time end. It leaves out what
// changes nothing and what is finer than one unit. values must not be empty.
func (p Plot) Stairs(values []Value, end time.Duration) string {
	var b strings.Builder
	drawn, next := values[0].Number, p.X(values[0].At)
	b.WriteString("M" + units(next) + " " + units(p.Y(drawn)))
	for _, v := range values[1:] {
		if x := p.X(v.At); v.Number != drawn && x >= next {
			b.WriteString("H" + units(x) + "V" + units(p.Y(v.Number)))
			drawn, next = v.Number, x+finest
		}
	}
	return b.String() + "H" + units(p.X(end))
}

// Span is a time in one state.
type Span struct {
	State    string
	From, To time.Duration
	Why      string // why the state was entered; "" where that is not known
}

// Axis returns the end of an axis that most fits below, and the distance of its ticks.
func Axis(most float64) (end, tick float64) {
	tick = 1
	for _, factor := range []float64{2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5} { // 1, 2, 5, 10, ...
		if most <= 6*tick {
			break
		}
		tick *= factor
	}
	return math.Ceil(most/tick) * tick, tick
}

// Period returns the shortest round period, from least on, of which at most that many are in d.
func Period(d, least time.Duration, most int) time.Duration {
	for _, t := range []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
		2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
	} {
		if t >= least && int(d/t) <= most {
			return t
		}
	}
	return 4 * time.Hour
}

func units(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
