package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// This file decides what can go wrong with an upstream, as a value. How it is written down is in parse.go.

// Script is what goes wrong with an upstream, and when. Times count from the beginning. The zero Script is an
// upstream nothing is ever wrong with.
type Script struct {
	Name   string
	Limits string // text form of tmdbfake.Limits; "": the script does not say
	Faults []Fault
}

// Failure is what becomes of a request that a fault strikes.
type Failure uint8

// The failures.
const (
	None     Failure = iota // it succeeds, however late
	Status                  // it is answered with Fault.Status
	Reset                   // its connection is reset
	Silent                  // it is never answered
	Poisoned                // it is answered with 200 and a page that is no answer
)

// Fault is one thing that goes wrong. Several may hold at once: delays add up, and the first failure counts.
type Fault struct {
	Label    string        // what people call it
	From, To time.Duration // To 0: for ever

	Fail       Failure
	Status     int              // of Fail Status
	Chance     float64          // of failing, in (0,1]; 0 is read as 1
	Nth        tmdbfake.Numbers // of the requests within the time, those that may fail; empty: all
	Every      int              // of those, each so many-th; 0: all
	RetryAfter string           // mode or seconds, as in tmdbfake; "": no header
	Wait       time.Duration    // what the header speaks of

	Slower float64       // the latency is so many times as long; 0: as ever
	Delay  time.Duration // and so much longer

	LimitFrom, LimitTo float64 // requests in a sliding second, changing evenly from one to the other; 0: no such limit
}

// lasts reports whether the fault holds at a moment.
func (f *Fault) lasts(at time.Duration) bool { return at >= f.From && (f.To == 0 || at < f.To) }

// harmless reports whether nothing is wrong: such a fault only names a time.
func (f *Fault) harmless() bool {
	return f.Fail == None && f.Slower == 0 && f.Delay == 0 && f.LimitFrom == 0
}

// limit returns how many requests a sliding second may see at a moment.
func (f *Fault) limit(at time.Duration) float64 {
	if f.To <= f.From {
		return f.LimitFrom
	}
	share := float64(at-f.From) / float64(f.To-f.From)
	return f.LimitFrom + share*(f.LimitTo-f.LimitFrom)
}

// slow returns the latency under the fault.
func (f *Fault) slow(latency time.Duration) time.Duration {
	if f.Slower > 0 {
		latency = time.Duration(float64(latency) * f.Slower)
	}
	return latency + f.Delay
}

// chance returns the probability with which a request that is due fails.
func (f *Fault) chance() float64 {
	switch {
	case f.Fail == None:
		return 0
	case f.Chance == 0:
		return 1
	}
	return f.Chance
}

// Length returns when the last fault ends, 0 if there is none or one has no end.
func (s Script) Length() time.Duration {
	var end time.Duration
	for _, f := range s.Faults {
		if f.To == 0 {
			return 0
		}
		end = max(end, f.To)
	}
	return end
}

// usual returns how long it takes to see what there is to see: the script, and if it ends in trouble what comes then.
func (s Script) usual() time.Duration {
	length := s.Length()
	switch {
	case length == 0:
		return 2 * time.Minute
	case s.At(length-1) == "normal":
		return length
	}
	return length + 30*time.Second
}

// At returns the labels of what is wrong at a moment, "normal" if nothing is.
func (s Script) At(at time.Duration) string {
	var labels []string
	for i := range s.Faults {
		if f := &s.Faults[i]; f.lasts(at) && !f.harmless() {
			labels = append(labels, f.Label)
		}
	}
	if len(labels) == 0 {
		return "normal"
	}
	return strings.Join(labels, " + ")
}

// phase is a span of time in which the same things are wrong.
type phase struct {
	label    string
	from, to time.Duration
}

// phases cuts the time until end wherever a fault begins or ends.
func (s Script) phases(end time.Duration) []phase {
	cuts := []time.Duration{0, end}
	for _, f := range s.Faults {
		for _, c := range []time.Duration{f.From, f.To} {
			if c > 0 && c < end {
				cuts = append(cuts, c)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []phase
	for i, from := range cuts[:len(cuts)-1] {
		p := phase{s.At(from), from, cuts[i+1]}
		if n := len(out); n > 0 && out[n-1].label == p.label {
			out[n-1].to = p.to
			continue
		}
		out = append(out, p)
	}
	return out
}

// Presets lists the scripts that have a name: this package's own and those of the stand-in's that are about more
// than the content of answers.
func Presets() []string {
	names := make([]string, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	for _, name := range tmdbfake.Presets() {
		if s, err := tmdbfake.Preset(name); err == nil {
			if _, err := FromScenario(s); err == nil {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// own are this package's scripts in their text form.
var own = map[string]string{
	"gauntlet": "normal 15s, error 40% 500 5s, normal 10s, outage 503 8s, reset 4s, limit 5..50 10s, normal 10s, " +
		"brownout 10x 10% 503 8s, normal 10s",
	"steady":     "normal 60s",
	"slow-start": "normal 10s, limit 5..50 20s, normal 30s",
	"long-wait":  "normal 10s, outage 503 retry-after=30s 20s, normal 40s",
}

// Preset returns the script with that name.
func Preset(name string) (Script, error) {
	if text, ok := own[name]; ok {
		s, err := Parse(text)
		s.Name = name
		return s, err
	}
	if slices.Contains(Presets(), name) {
		scenario, err := tmdbfake.Preset(name)
		if err != nil {
			return Script{}, err
		}
		return FromScenario(scenario)
	}
	return Script{}, fmt.Errorf("preset %q is unknown", name)
}
