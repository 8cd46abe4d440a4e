// Package chart draws what the limiter did over time as SVG: its states, the rate it allowed, and what came back.
// NewTimeline makes the small picture of a page (the report's); Drawing is a picture in a file of its own (of limiter
// simulate). Both stand on Plot and Span.
package chart

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
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

// Places in the picture, in SVG units.
const (
	drawWidth  = 960
	drawLeft   = 84
	drawRight  = drawWidth - 20
	phaseTop   = 42
	phaseTall  = 20
	laneTop    = phaseTop + phaseTall + 10
	laneTall   = 18
	plotTall   = 220
	letterWide = 6.6
)

// drawStyle has the colours of both schemes. Lines differ in dashes and markers as well.
const drawStyle = `<style>
svg{background:#fff;color:#1f2328;--grid:#d8dee4;--quiet:#57606a;
--good:#0a6640;--rate:#0550ae;--bad:#a40e26;--trouble:#eac54f55}
@media (prefers-color-scheme:dark){svg{background:#0d1117;color:#e6edf3;--grid:#30363d;
--quiet:#9198a1;--good:#56d364;--rate:#79c0ff;--bad:#ff9492;--trouble:#bb800940}}
text{font:12px system-ui,sans-serif;fill:currentColor}
.t{font-size:15px;font-weight:600}.q{fill:var(--quiet)}.m{text-anchor:middle}.e{text-anchor:end}
.grid{stroke:var(--grid);stroke-width:1;fill:none}.trouble{fill:var(--trouble)}
.state{fill:currentColor;fill-opacity:.72}
.good{stroke:var(--good);stroke-width:2;fill:none}.area{fill:var(--good);fill-opacity:.15}
.rate{stroke:var(--rate);stroke-width:1.5;stroke-dasharray:6 4;fill:none}
.bad{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:2 3;fill:none}.mark{fill:var(--bad)}
</style>
`

type pen struct {
	*bufio.Writer
	Drawing
	Plot
	tick float64
}

// WriteSVG writes the picture. Errors are the writer's.
func (d Drawing) WriteSVG(out io.Writer) error {
	most := 5.0
	for _, s := range d.Steps {
		most = max(most, s.Good, s.Allowed, s.Bad)
	}
	end, tick := Axis(most)
	top := float64(laneTop + len(d.Lanes)*laneTall + 20)
	p := pen{bufio.NewWriter(out), d, Plot{drawLeft, drawRight, top, top + plotTall, d.Length, end}, tick}
	height := int(p.Bottom) + 104
	fmt.Fprintf(p,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" `+
			`aria-labelledby="t d">`+"\n", drawWidth, height, drawWidth, height)
	fmt.Fprintf(p, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n%s", text(d.Title), text(d.Description),
		drawStyle)
	fmt.Fprintf(p, `<text class="t" x="12" y="24">%s</text>`+"\n", text(ui.Cut(d.Title, 124)))
	p.phases()
	p.lanes()
	p.axes()
	p.curves()
	p.legend()
	fmt.Fprint(p, "</svg>\n")
	return p.Flush()
}

func text(s string) string { return html.EscapeString(ui.Escaped(s)) }

func (p *pen) phases() {
	fmt.Fprintf(p, `<text class="q e" x="%d" y="%d">upstream</text>`+"\n", drawLeft-8, phaseTop+14)
	for _, phase := range p.Phases {
		from, wide := p.X(phase.From), p.X(phase.To)-p.X(phase.From)
		class := "grid"
		if phase.Trouble {
			class = "grid trouble"
			fmt.Fprintf(p, `<rect class="trouble" x="%.1f" y="%d" width="%.1f" height="%.0f"/>`+"\n", from, laneTop, wide,
				p.Bottom-laneTop)
		}
		fmt.Fprintf(p, `<g><title>%s, %s to %s</title><rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`,
			text(phase.Label), ui.Offset(phase.From), ui.Offset(phase.To), class, from, phaseTop, wide, phaseTall)
		if fits := int(wide / letterWide); fits >= 4 {
			fmt.Fprintf(p, `<text x="%.1f" y="%d">%s</text>`, from+4, phaseTop+14, text(ui.Cut(phase.Label, fits)))
		}
		fmt.Fprint(p, "</g>\n")
	}
}

func (p *pen) lanes() {
	for i, state := range p.Lanes {
		y := laneTop + i*laneTall
		fmt.Fprintf(p, `<text class="e" x="%d" y="%d">%s</text><path class="grid" d="M%d %dH%d"/>`+"\n",
			drawLeft-8, y+13, text(state), drawLeft, y+laneTall, drawRight)
	}
	for _, s := range p.Spans {
		tip := fmt.Sprintf("%s, %s to %s", s.State, ui.Offset(s.From), ui.Offset(s.To))
		if s.Why != "" {
			tip += ": " + s.Why
		}
		fmt.Fprintf(p, `<rect class="state" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`+"\n",
			p.X(s.From), laneTop+slices.Index(p.Lanes, s.State)*laneTall+4,
			max(1.5, p.X(s.To)-p.X(s.From)), laneTall-7, text(tip))
	}
}

func (p *pen) axes() {
	for v := 0.0; v <= p.Max; v += p.tick {
		fmt.Fprintf(p, `<path class="grid" d="M%d %.1fH%d"/><text class="q e" x="%d" y="%.1f">%g</text>`+"\n",
			drawLeft, p.Y(v), drawRight, drawLeft-8, p.Y(v)+4, v)
	}
	fmt.Fprintf(p, `<text class="q m" transform="translate(18 %.0f) rotate(-90)">requests a second</text>`+"\n",
		(p.Top+p.Bottom)/2)
	for at, every := time.Duration(0), Period(p.Drawing.Length, time.Second, 10); at <= p.Drawing.Length; at += every {
		fmt.Fprintf(p, `<path class="grid" d="M%.1f %.0fv5"/><text class="q m" x="%.1f" y="%.0f">%s</text>`+"\n",
			p.X(at), p.Bottom, p.X(at), p.Bottom+19, ui.Offset(at))
	}
	fmt.Fprintf(p, `<text class="q m" x="%d" y="%.0f">time since the beginning</text>`+"\n", (drawLeft+drawRight)/2,
		p.Bottom+38)
}

// curves draws good answers, the rate allowed, what was wasted, and a mark for each step with 429 answers.
func (p *pen) curves() {
	if len(p.Steps) == 0 {
		return
	}
	var good, allowed, bad []Value
	var marks strings.Builder
	from := time.Duration(0)
	for _, s := range p.Steps {
		good, allowed = append(good, Value{from, s.Good}), append(allowed, Value{from, s.Allowed})
		bad = append(bad, Value{from, s.Bad})
		if s.Throttled > 0 {
			fmt.Fprintf(&marks, `<path class="mark" d="M%.1f %.1fl4 7h-8z"><title>%d refused (429)</title></path>`+"\n",
				(p.X(from)+p.X(s.End))/2, p.Y(s.Bad)-9, s.Throttled)
		}
		from = s.End
	}
	line := p.Stairs(good, from)
	fmt.Fprintf(p, `<path class="area" d="%sV%.0fH%dZ"/>`+"\n", line, p.Bottom, drawLeft)
	fmt.Fprintf(p, `<path class="rate" d="%s"/><path class="bad" d="%s"/><path class="good" d="%s"/>`+"\n%s",
		p.Stairs(allowed, from), p.Stairs(bad, from), line, marks.String())
}

func (p *pen) legend() {
	x, y := drawLeft, int(p.Bottom)+62
	for _, l := range []struct{ class, text string }{
		{"good", "good answers"},
		{"rate", "rate allowed"},
		{"bad", "errors and 429s"},
		{"mark", "429s in the step"},
		{"trouble", "the upstream is in trouble"},
	} {
		switch l.class {
		case "mark":
			fmt.Fprintf(p, `<path class="mark" d="M%d %dl4 7h-8z"/>`, x+14, y-8)
		case "trouble":
			fmt.Fprintf(p, `<rect class="grid trouble" x="%d" y="%d" width="28" height="12"/>`, x, y-10)
		default:
			fmt.Fprintf(p, `<path class="%s" d="M%d %dh28"/>`, l.class, x, y-4)
		}
		fmt.Fprintf(p, `<text x="%d" y="%d">%s</text>`+"\n", x+34, y, l.text)
		x += 34 + 7*len(l.text) + 22
	}
	fmt.Fprintf(p, `<text class="q" x="%d" y="%d">%s</text>`+"\n", drawLeft, y+24, text(p.Footer))
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
