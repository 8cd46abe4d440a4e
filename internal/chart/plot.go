// Package chart draws what the limiter did over time as SVG: its states, the rate it allowed, and what came back.
// NewTimeline makes the small picture of a page (the report's); Drawing is a picture in a file of its own (of limiter
// simulate). Both stand on Plot and Span.
package chart

import (
	"math"
	"strconv"
	"strings"
	"time"
)

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

// units writes a coordinate to a tenth of a unit.
func units(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
