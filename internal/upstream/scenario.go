package upstream

import (
	"bytes"
	"cmp"
	_ "embed" // the presets
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Scenario says what goes wrong and when. All times count from when it is applied.
type Scenario struct {
	Name          string   `json:"name,omitempty"`
	Limits        string   `json:"limits,omitempty"`         // in the form of ParseLimits; "" keeps the current limits
	RenumberAfter Duration `json:"renumber_after,omitempty"` // when TMDB renumbers its seasons; 0 means never
	Faults        []Fault  `json:"faults,omitempty"`
}

// Fault is one rule of a scenario: which requests are hit, when, how likely, and what happens to them.
type Fault struct {
	Match       Match    `json:"match,omitzero"`
	From        Duration `json:"from,omitempty"`
	To          Duration `json:"to,omitempty"` // 0 means that the fault never ends
	Probability float64  `json:"p,omitempty"`  // probability in (0, 1]; 0 means 1
	Do          Action   `json:"do"`
}

// Match selects requests. A zero field matches every request.
type Match struct {
	Path  string            `json:"path,omitempty"`  // * matches any text, slashes included
	Query map[string]string `json:"query,omitempty"` // values by parameter; * as in Path, case does not matter
	Nth   Numbers           `json:"nth,omitempty"`   // which of the requests that match the other fields, from 1
	Every int               `json:"every,omitempty"` // only every Every-th of the matching requests
	IP    string            `json:"ip,omitempty"`
	Share float64           `json:"share,omitempty"` // fraction of all paths, always the same paths
}

// Action is what a fault does. Kind decides which of the other fields are used.
type Action struct {
	Kind       string   `json:"kind"`
	Status     int      `json:"status,omitempty"`
	Code       int      `json:"code,omitempty"`        // TMDB's status_code in a JSON body
	Body       string   `json:"body,omitempty"`        // json, nosuccess, html, captive or empty
	RetryAfter string   `json:"retry_after,omitempty"` // one of RetryAfterModes, or a number of seconds
	Wait       Duration `json:"wait,omitempty"`        // the wait that retry_after announces
	Delay      Duration `json:"delay,omitempty"`
	Bytes      int      `json:"bytes,omitempty"`
	Every      Duration `json:"every,omitempty"`
	Location   string   `json:"location,omitempty"`
	Skew       Duration `json:"skew,omitempty"`
	Rate       float64  `json:"rate,omitempty"`    // requests allowed in any second
	RateTo     float64  `json:"rate_to,omitempty"` // the rate at the end of the fault, reached evenly; 0 means rate
	Factor     float64  `json:"factor,omitempty"`
}

const maxScenarioBytes = 1 << 20 // bytes

// ReadScenario reads one scenario in JSON. An unknown field, an invalid value or text after the object is an error.
func ReadScenario(r io.Reader) (Scenario, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxScenarioBytes+1))
	if err != nil {
		return Scenario{}, fmt.Errorf("read scenario: %w", err)
	}
	if len(b) > maxScenarioBytes {
		return Scenario{}, errors.New("read scenario: it is larger than 1 MiB")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var s Scenario
	if err := dec.Decode(&s); err != nil {
		return Scenario{}, fmt.Errorf("read scenario: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Scenario{}, errors.New("read scenario: something follows the object")
	}
	return s, s.Validate()
}

// Join returns s with the faults of other added. If other has limits or a renumbering, they replace those of s.
func (s Scenario) Join(other Scenario) Scenario {
	s.Faults = append(s.Faults[:len(s.Faults):len(s.Faults)], other.Faults...)
	s.Limits = cmp.Or(other.Limits, s.Limits)
	s.RenumberAfter = cmp.Or(other.RenumberAfter, s.RenumberAfter)
	if s.Name != "" && other.Name != "" {
		s.Name += "+"
	}
	s.Name += other.Name
	return s
}

// End returns when the last fault ends; ok is false if some fault never ends.
func (s Scenario) End() (end time.Duration, ok bool) {
	for _, f := range s.Faults {
		if f.To == 0 {
			return 0, false
		}
		end = max(end, time.Duration(f.To))
	}
	return end, true
}

// NormalLabel is the label that LabelAt returns when no fault is active.
const NormalLabel = "normal"

// LabelAt returns the labels of the faults active at a time, or NormalLabel.
func (s Scenario) LabelAt(at time.Duration) string {
	var labels []string
	for i := range s.Faults {
		if f := &s.Faults[i]; f.activeAt(at) {
			labels = append(labels, f.label())
		}
	}
	return cmp.Or(strings.Join(labels, " + "), NormalLabel)
}

// label returns a short description of the fault, such as "40% status 500".
func (f *Fault) label() string {
	label := f.Do.Kind
	switch {
	case f.Do.Foreign():
		label = "foreign page"
	case label == "status":
		label = fmt.Sprintf("status %d", f.Do.Status)
	case label == "limit" && f.Do.RateTo != 0:
		label = fmt.Sprintf("limit %g..%g", f.Do.Rate, f.Do.RateTo)
	case label == "limit":
		label = fmt.Sprintf("limit %g", f.Do.Rate)
	case label == "slow":
		label = fmt.Sprintf("slow %gx", f.Do.Factor)
	}
	if p := f.probability(); p < 1 {
		label = fmt.Sprintf("%.3g%% %s", 100*p, label)
	}
	return label
}

func (f *Fault) activeAt(at time.Duration) bool {
	return at >= time.Duration(f.From) && (f.To == 0 || at < time.Duration(f.To))
}

func (f *Fault) probability() float64 { return cmp.Or(f.Probability, 1) }

func (f *Fault) rateAt(at time.Duration) float64 {
	if f.Do.RateTo == 0 || f.To == 0 {
		return f.Do.Rate
	}
	passed := float64(at-time.Duration(f.From)) / float64(f.To-f.From)
	return f.Do.Rate + passed*(f.Do.RateTo-f.Do.Rate)
}

func (m *Match) matchesAll() bool {
	return m.Path == "" && m.Query == nil && len(m.Nth) == 0 && m.Every <= 1 && m.IP == "" && m.Share == 0
}

func (m *Match) matches(r Request, seed uint64) bool {
	if m.IP != "" && m.IP != r.IP {
		return false
	}
	if r.URL == nil {
		return true
	}
	if m.Path != "" && !matchesWildcard(m.Path, r.URL.Path) ||
		m.Share > 0 && Chance(seed, "share", r.URL.Path) >= m.Share {
		return false
	}
	if len(m.Query) == 0 {
		return true
	}
	q := r.URL.Query()
	for name, want := range m.Query {
		if !matchesWildcard(strings.ToLower(want), strings.ToLower(q.Get(name))) {
			return false
		}
	}
	return true
}

// matchesWildcard reports whether text matches a pattern in which * matches any text.
func matchesWildcard(pattern, text string) bool {
	matches, _ := regexp.MatchString("(?s)^"+strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")+"$", text)
	return matches
}

var bodyForms = []string{"json", "nosuccess", "html", "captive", "empty"}

// The largest values that a fault may have.
const (
	maxBytes  = 1 << 30
	maxRate   = 10_000
	maxFactor = 10_000
	maxCode   = 47 // the last one in TMDB's table of errors
)

// Validate returns an error for the first value that is out of range.
func (s Scenario) Validate() error {
	if s.Limits != "" {
		if _, err := ParseLimits(s.Limits); err != nil {
			return fmt.Errorf("scenario: %w", err)
		}
	}
	if s.RenumberAfter < 0 {
		return errors.New("scenario: renumber_after is below 0")
	}
	for i := range s.Faults {
		if err := s.Faults[i].validate(); err != nil {
			return fmt.Errorf("scenario: fault %d: %w", i+1, err)
		}
	}
	return nil
}

func (f *Fault) validate() error {
	if _, ok := kinds()[f.Do.Kind]; !ok {
		return fmt.Errorf("kind %q is unknown: use one of %v", f.Do.Kind, slices.Sorted(maps.Keys(kinds())))
	}
	return cmp.Or(f.validateMatch(), f.validateKind(), f.Do.validate())
}

func (f *Fault) validateMatch() error {
	m, point := &f.Match, kinds()[f.Do.Kind]
	switch {
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("p %g is outside 0..1", f.Probability)
	case m.Share < 0 || m.Share > 1:
		return fmt.Errorf("share %g is outside 0..1", m.Share)
	case m.Every < 0:
		return fmt.Errorf("every %d is below 0", m.Every)
	case f.From < 0 || f.To < 0 || f.To != 0 && f.To <= f.From:
		return fmt.Errorf("from %s to %s is not a span of time", time.Duration(f.From), time.Duration(f.To))
	case point == OnConnect && (m.Path != "" || m.Query != nil || m.Share != 0):
		return fmt.Errorf("%s strikes a connection, which has no path and no query yet", f.Do.Kind)
	case point == AtLimit && (!m.matchesAll() || f.Probability != 0):
		return fmt.Errorf("%s is for all requests: leave match and p out", f.Do.Kind)
	}
	return nil
}

func (f *Fault) validateKind() error {
	switch a := &f.Do; {
	case a.Kind == "status" && (a.Status < 200 || a.Status > 599):
		return fmt.Errorf("status %d is outside 200..599", a.Status)
	case a.Body != "" && !slices.Contains(bodyForms, a.Body):
		return fmt.Errorf("body %q is unknown: use one of %v", a.Body, bodyForms)
	case a.Kind == "redirect" && a.Location == "":
		return errors.New("redirect needs a location")
	case a.Kind == "delay" && a.Delay <= 0:
		return errors.New("delay needs a delay")
	case a.Kind == "limit" && !(a.Rate > 0 && a.Rate <= maxRate):
		return fmt.Errorf("limit needs a rate above 0, up to %d: %g", maxRate, a.Rate)
	case a.RateTo < 0 || a.RateTo > maxRate || a.RateTo != 0 && f.To == 0:
		return fmt.Errorf("rate_to is from 0 to %d, and needs an end in to", maxRate)
	case a.Kind == "slow" && !(a.Factor > 0 && a.Factor <= maxFactor):
		return fmt.Errorf("slow needs a factor above 0, up to %d: %g", maxFactor, a.Factor)
	}
	return nil
}

func (a *Action) validate() error {
	switch {
	case a.Delay < 0 || a.Every < 0 || a.Wait < 0 || a.Bytes < 0:
		return errors.New("delay, every, wait and bytes are not below 0")
	case a.Bytes > maxBytes:
		return fmt.Errorf("bytes %d is more than 1 GiB", a.Bytes)
	case a.Code < 0 || a.Code > maxCode:
		return fmt.Errorf("code %d is not one of TMDB's", a.Code)
	}
	return validRetryAfter(a.RetryAfter)
}

//go:embed presets.json
var presetsText []byte

// presets returns the named scenarios. Those with faults are outages that users of TMDB have reported.
var presets = sync.OnceValue(func() map[string]Scenario {
	var list []Scenario
	if err := json.Unmarshal(presetsText, &list); err != nil {
		panic(err)
	}
	byName := map[string]Scenario{}
	for _, s := range list {
		byName[s.Name] = s
	}
	return byName
})

// Presets returns the names of the built-in scenarios, sorted.
func Presets() []string { return slices.Sorted(maps.Keys(presets())) }

// Preset returns the built-in scenario with a name.
func Preset(name string) (Scenario, error) {
	s, ok := presets()[name]
	if !ok {
		return Scenario{}, fmt.Errorf("preset %q is unknown: use one of %v", name, Presets())
	}
	s.Faults = slices.Clone(s.Faults)
	return s, nil
}
