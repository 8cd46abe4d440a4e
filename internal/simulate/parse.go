package simulate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// This file decides how a script is written down:
//
//	normal 15s, error 40% 500 5s, outage 503 retry-after=30s 8s, reset 4s, limit 5..50 10s, brownout 10x 10% 503 8s
//
// Phases follow one another, separated by commas or lines; # begins a comment. A phase is a word, its details in
// any order, and its duration:
//
//	normal                    nothing is wrong
//	error P% [STATUS]         so many requests are answered with the status (500)
//	outage [STATUS]           all are (503)
//	reset                     connections are reset
//	silent                    requests are never answered
//	limit N | N..M            a sliding second sees so many requests at most, M of them at the end of the phase
//	brownout Nx [P%] [STATUS] answers take N times as long, and so many are errors (503)
//	retry-after=SECONDS       goes with error, outage and brownout

const (
	maxScript = 64 << 10       // bytes
	maxLength = 24 * time.Hour // of all phases
	maxPhases = 1000
)

// detail is one of the things a phase may say.
type detail uint8

const (
	percent detail = 1 << iota
	status
	factor
	span
	header
)

// kinds says which phases there are, what each may and what each must say.
var kinds = map[string]struct{ may, must detail }{
	"normal":   {},
	"error":    {percent | status | header, percent},
	"outage":   {status | header, 0},
	"reset":    {},
	"silent":   {},
	"limit":    {span, span},
	"brownout": {factor | percent | status | header, factor},
}

// kindNames lists the words a phase may begin with.
func kindNames() string { return "normal, error, outage, reset, silent, limit or brownout" }

// Parse reads a script in its text form. A text that begins with { is a scenario of the stand-in in JSON.
func Parse(text string) (Script, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		scenario, err := tmdbfake.ReadScenario(strings.NewReader(text))
		if err != nil {
			return Script{}, err
		}
		return FromScenario(scenario)
	}
	if len(text) > maxScript {
		return Script{}, fmt.Errorf("the script is longer than %d KiB", maxScript>>10)
	}
	var s Script
	var at time.Duration
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for part := range strings.SplitSeq(line, ",") {
			words := strings.Fields(part)
			if len(words) == 0 {
				continue
			}
			f, err := parsePhase(words)
			if err != nil {
				return Script{}, fmt.Errorf("phase %q: %w", strings.Join(words, " "), err)
			}
			length := f.To
			if f.From, f.To = at, at+length; f.To > maxLength {
				return Script{}, fmt.Errorf("the script is longer than %s", maxLength)
			}
			at = f.To
			s.Faults = append(s.Faults, f)
		}
	}
	switch {
	case len(s.Faults) == 0:
		return Script{}, errors.New("the script is empty")
	case len(s.Faults) > maxPhases:
		return Script{}, fmt.Errorf("the script has more than %d phases", maxPhases)
	}
	return s, nil
}

// parsePhase reads one phase; it begins at 0.
func parsePhase(words []string) (Fault, error) {
	kind, rest := words[0], words[1:]
	k, ok := kinds[kind]
	if !ok {
		return Fault{}, fmt.Errorf("%q is unknown: use %s", kind, kindNames())
	}
	if len(rest) == 0 {
		return Fault{}, errors.New("it does not say how long it lasts, as in 10s")
	}
	f := Fault{Label: strings.Join(words[:len(words)-1], " ")}
	length, err := time.ParseDuration(rest[len(rest)-1])
	if err != nil || length <= 0 {
		return Fault{}, fmt.Errorf("%q is no duration such as 10s, which is what a phase ends with", rest[len(rest)-1])
	}
	f.To = length
	var said detail
	for _, word := range rest[:len(rest)-1] {
		if kind == "brownout" && word == "latency" {
			continue // "10x latency" reads well
		}
		d, err := f.detail(word)
		if err != nil {
			return Fault{}, err
		}
		if k.may&d == 0 {
			return Fault{}, fmt.Errorf("%q does not go with %s", word, kind)
		}
		if said&d != 0 {
			return Fault{}, fmt.Errorf("%q says again what has been said", word)
		}
		said |= d
	}
	if missing := k.must &^ said; missing != 0 {
		return Fault{}, fmt.Errorf("%s needs %s", kind, map[detail]string{percent: "a share such as 40%", span: "a limit such as 5..50", factor: "a factor such as 10x"}[missing])
	}
	f.settle(kind, said)
	return f, nil
}

// settle fills in what a phase of that kind need not say.
func (f *Fault) settle(kind string, said detail) {
	usual := func(code int) {
		f.Fail = Status
		if f.Status == 0 {
			f.Status = code
		}
	}
	switch kind {
	case "error":
		usual(500)
	case "outage":
		usual(503)
	case "brownout":
		if said&(percent|status|header) != 0 {
			usual(503)
		}
	case "reset":
		f.Fail = Reset
	case "silent":
		f.Fail = Silent
	}
	if said&percent != 0 && f.Chance == 0 {
		f.Fail = None // 0 %
	}
}

// detail reads one word of a phase.
func (f *Fault) detail(word string) (detail, error) {
	if text, ok := strings.CutPrefix(word, "retry-after="); ok {
		seconds, err := strconv.Atoi(strings.TrimSuffix(text, "s"))
		switch {
		case err == nil && seconds >= 0:
			f.RetryAfter = strconv.Itoa(seconds)
		case slices.Contains(tmdbfake.RetryAfterModes(), text):
			f.RetryAfter = text
		default:
			return 0, fmt.Errorf("%q is no number of seconds, and none of %s", text, strings.Join(tmdbfake.RetryAfterModes(), ", "))
		}
		return header, nil
	}
	if text, ok := strings.CutSuffix(word, "%"); ok {
		v, err := number(text, 0, 100)
		f.Chance = v / 100
		return percent, err
	}
	if text, ok := strings.CutSuffix(word, "x"); ok {
		v, err := number(text, 0.01, 10_000)
		f.Slower = v
		return factor, err
	}
	if from, to, ok := strings.Cut(word, ".."); ok {
		a, err := number(from, 0.1, 10_000)
		if err != nil {
			return 0, err
		}
		b, err := number(to, 0.1, 10_000)
		f.LimitFrom, f.LimitTo = a, b
		return span, err
	}
	if strings.HasPrefix(f.Label, "limit") {
		v, err := number(word, 0.1, 10_000)
		f.LimitFrom, f.LimitTo = v, v
		return span, err
	}
	code, err := strconv.Atoi(word)
	if err != nil || code < 400 || code > 599 {
		return 0, fmt.Errorf("%q is no detail: write 40%%, a status from 400 to 599, 10x, 5..50 or retry-after=30s", word)
	}
	f.Status = code
	return status, nil
}

func number(text string, low, high float64) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < low || v > high {
		return 0, fmt.Errorf("%q is no number from %g to %g", text, low, high)
	}
	return v, nil
}
