package simulate

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// This file decides how a result is drawn: phases on top, below them a lane for each state (where the bar lies says
// which it is, not its colour), below them rates over time. One file that needs nothing else, for light and dark.

const (
	drawWidth  = 960
	drawLeft   = 84
	drawRight  = 20
	phaseTop   = 42
	phaseTall  = 20
	laneTop    = phaseTop + phaseTall + 10
	laneTall   = 18
	plotTop    = laneTop + 5*laneTall + 20
	plotTall   = 220
	plotBottom = plotTop + plotTall
	drawHeight = plotBottom + 104
)

// svgStyle has the colours of both schemes. Lines differ in dashes and markers as well.
const svgStyle = `<style>
svg{background:#fff;color:#1f2328;--grid:#d8dee4;--quiet:#57606a;--good:#0a6640;--rate:#0550ae;--bad:#a40e26;--trouble:#eac54f55}
@media (prefers-color-scheme:dark){svg{background:#0d1117;color:#e6edf3;--grid:#30363d;--quiet:#9198a1;--good:#56d364;--rate:#79c0ff;--bad:#ff9492;--trouble:#bb800940}}
text{font:12px system-ui,sans-serif;fill:currentColor}
.t{font-size:15px;font-weight:600}.q{fill:var(--quiet)}.m{text-anchor:middle}.e{text-anchor:end}
.grid{stroke:var(--grid);stroke-width:1;fill:none}.trouble{fill:var(--trouble)}
.state{fill:currentColor;fill-opacity:.72}
.good{stroke:var(--good);stroke-width:2;fill:none}.area{fill:var(--good);fill-opacity:.15}
.rate{stroke:var(--rate);stroke-width:1.5;stroke-dasharray:6 4;fill:none}
.bad{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:2 3;fill:none}.mark{fill:var(--bad)}
</style>
`

// drawing is a picture under way.
type drawing struct {
	*bufio.Writer
	r         *Result
	top, tick float64 // of the axis, requests a second
}

// WriteSVG draws the run.
func (r *Result) WriteSVG(out io.Writer) error {
	top, tick := r.axis()
	d := drawing{bufio.NewWriter(out), r, top, tick}
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="t d">`+"\n",
		drawWidth, drawHeight, drawWidth, drawHeight)
	fmt.Fprintf(d, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", escape(r.title()), escape(r.describe()))
	d.WriteString(svgStyle) //nolint:errcheck // bufio keeps the first error for Flush
	fmt.Fprintf(d, `<text class="t" x="12" y="24">%s</text>`+"\n", escape(clip(r.title(), 124)))
	d.phases()
	d.lanes()
	d.axes()
	d.curves()
	d.legend()
	fmt.Fprint(d, "</svg>\n")
	return d.Flush()
}

// describe tells the run in words, for those who can't see it.
func (r *Result) describe() string {
	parts := make([]string, 0, len(r.Moves)+1)
	for _, row := range r.totals() {
		parts = append(parts, row[0]+": "+row[1])
	}
	for _, m := range r.Moves {
		parts = append(parts, fmt.Sprintf("%s %s to %s, %s", clockText(m.At), m.From, m.To, m.Reason))
	}
	return strings.Join(parts, ". ") + "."
}

// x and y place a moment and a rate.
func (d *drawing) x(at time.Duration) float64 {
	return drawLeft + float64(at)/float64(d.r.For)*(drawWidth-drawLeft-drawRight)
}

func (d *drawing) y(rate float64) float64 { return plotBottom - rate/d.top*plotTall }

// phases draws what the script does, and shades the time in which something is wrong.
func (d *drawing) phases() {
	fmt.Fprintf(d, `<text class="q e" x="%d" y="%d">upstream</text>`+"\n", drawLeft-8, phaseTop+14)
	for _, p := range d.r.Script.phases(d.r.For) {
		from, wide := d.x(p.from), d.x(p.to)-d.x(p.from)
		tip := fmt.Sprintf("%s, %s to %s", p.label, clockText(p.from), clockText(p.to))
		class := "grid"
		if p.label != "normal" {
			class = "grid trouble"
			fmt.Fprintf(d, `<rect class="trouble" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", from, laneTop, wide, plotBottom-laneTop)
		}
		fmt.Fprintf(d, `<g><title>%s</title><rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`, escape(tip), class, from, phaseTop, wide, phaseTall)
		if fits := int(wide / 6.6); fits >= 4 {
			fmt.Fprintf(d, `<text x="%.1f" y="%d">%s</text>`, from+4, phaseTop+14, escape(clip(p.label, fits)))
		}
		fmt.Fprint(d, "</g>\n")
	}
}

// lanes draws which state held when.
func (d *drawing) lanes() {
	lanes := ratelimit.States()
	for i, s := range lanes {
		y := laneTop + i*laneTall
		fmt.Fprintf(d, `<text class="e" x="%d" y="%d">%s</text><path class="grid" d="M%d %dH%d"/>`+"\n",
			drawLeft-8, y+13, s, drawLeft, y+laneTall, drawWidth-drawRight)
	}
	for _, s := range d.r.spans() {
		y := laneTop + slices.Index(lanes, s.state)*laneTall
		tip := fmt.Sprintf("%s, %s to %s", s.state, clockText(s.from), clockText(s.to))
		if s.reason != ratelimit.ReasonNone {
			tip += ": " + s.reason.String()
		}
		fmt.Fprintf(d, `<rect class="state" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`+"\n",
			d.x(s.from), y+4, max(1.5, d.x(s.to)-d.x(s.from)), laneTall-7, escape(tip))
	}
}

// axes draws both axes with their units.
func (d *drawing) axes() {
	for v := 0.0; v <= d.top; v += d.tick {
		fmt.Fprintf(d, `<path class="grid" d="M%d %.1fH%d"/><text class="q e" x="%d" y="%.1f">%g</text>`+"\n",
			drawLeft, d.y(v), drawWidth-drawRight, drawLeft-8, d.y(v)+4, v)
	}
	fmt.Fprintf(d, `<text class="q m" transform="translate(18 %d) rotate(-90)">requests a second</text>`+"\n", plotTop+plotTall/2)
	every := tickEvery(d.r.For)
	for at := time.Duration(0); at <= d.r.For; at += every {
		fmt.Fprintf(d, `<path class="grid" d="M%.1f %dv5"/><text class="q m" x="%.1f" y="%d">%s</text>`+"\n",
			d.x(at), plotBottom, d.x(at), plotBottom+19, clockText(at))
	}
	fmt.Fprintf(d, `<text class="q m" x="%d" y="%d">time since the beginning</text>`+"\n", (drawLeft+drawWidth-drawRight)/2, plotBottom+38)
}

// tickEvery gives some five to ten ticks.
func tickEvery(d time.Duration) time.Duration {
	for _, t := range []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
		2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
	} {
		if d/t <= 10 {
			return t
		}
	}
	return 4 * time.Hour
}

// curves draws good answers, the rate allowed, and what was wasted.
func (d *drawing) curves() {
	var good, rate, bad, marks strings.Builder
	from := time.Duration(0)
	for i := range d.r.Steps {
		s := &d.r.Steps[i]
		left, right := d.x(from), d.x(s.At)
		stair := func(b *strings.Builder, v float64) {
			letter := "L"
			if i == 0 {
				letter = "M"
			}
			fmt.Fprintf(b, "%s%.1f %.1fL%.1f %.1f", letter, left, d.y(v), right, d.y(v))
		}
		stair(&good, d.r.perSecond(i, s.Good))
		stair(&rate, s.Rate)
		stair(&bad, d.r.perSecond(i, s.Errors+s.Throttled))
		if s.Throttled > 0 {
			x, y := (left+right)/2, d.y(d.r.perSecond(i, s.Errors+s.Throttled))
			fmt.Fprintf(&marks, `<path class="mark" d="M%.1f %.1fl4 7h-8z"><title>%d refused (429)</title></path>`+"\n", x, y-9, s.Throttled)
		}
		from = s.At
	}
	if len(d.r.Steps) == 0 {
		return
	}
	fmt.Fprintf(d, `<path class="area" d="%sL%.1f %dL%d %dZ"/>`+"\n", good.String(), d.x(from), plotBottom, drawLeft, plotBottom)
	fmt.Fprintf(d, `<path class="rate" d="%s"/><path class="bad" d="%s"/><path class="good" d="%s"/>`+"\n%s", rate.String(), bad.String(), good.String(), marks.String())
}

// legend says what the lines are, and the totals.
func (d *drawing) legend() {
	y := plotBottom + 62
	x := drawLeft
	for _, l := range []struct{ class, text string }{
		{"good", "good answers"}, {"rate", "rate allowed"}, {"bad", "errors and 429s"}, {"", "429s in the step"}, {"trouble", "the upstream is in trouble"},
	} {
		switch l.class {
		case "":
			fmt.Fprintf(d, `<path class="mark" d="M%d %dl4 7h-8z"/>`, x+14, y-8)
		case "trouble":
			fmt.Fprintf(d, `<rect class="grid trouble" x="%d" y="%d" width="28" height="12"/>`, x, y-10)
		default:
			fmt.Fprintf(d, `<path class="%s" d="M%d %dh28"/>`, l.class, x, y-4)
		}
		fmt.Fprintf(d, `<text x="%d" y="%d">%s</text>`+"\n", x+34, y, l.text)
		x += 34 + 7*len(l.text) + 22
	}
	t := &d.r.Totals
	fmt.Fprintf(d, `<text class="q" x="%d" y="%d">%s</text>`+"\n", drawLeft, y+24, escape(fmt.Sprintf(
		"%d good of %.0f possible (%s), %d refused, %d errors, %d given up; at most %d of %d permits in any ceiling_window",
		t.Good, t.Possible, share(float64(t.Good), t.Possible), t.Throttled, t.Errors, t.Failed, t.Peak, t.Ceiling)))
}

// axis returns the end of the axis, above everything that is drawn, and the distance of its ticks.
func (r *Result) axis() (top, tick float64) {
	top = 5
	for i := range r.Steps {
		s := &r.Steps[i]
		top = max(top, s.Rate, r.perSecond(i, max(s.Good, s.Errors+s.Throttled)))
	}
	tick = 1
	for _, factor := range []float64{2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5} { // 1, 2, 5, 10, ...
		if top <= 6*tick {
			break
		}
		tick *= factor
	}
	return math.Ceil(top/tick) * tick, tick
}

func escape(s string) string { return html.EscapeString(s) }
