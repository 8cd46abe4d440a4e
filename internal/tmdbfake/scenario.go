// This file decides how faults are written down: the scenario file, what a
// fault can match, and what is refused.

package tmdbfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scenario is what goes wrong, and when. Times count from the moment it is applied.
type Scenario struct {
	Name          string   `json:"name,omitempty"`
	Limits        string   `json:"limits,omitempty"`         // ParseLimits' text form; "" leaves the limits as they are
	RenumberAfter Duration `json:"renumber_after,omitempty"` // shape O's seasons flip then; 0 never
	Faults        []Fault  `json:"faults,omitempty"`
}

// Fault is one rule: which requests, when, how likely, and what befalls them.
type Fault struct {
	Match Match    `json:"match,omitzero"`
	From  Duration `json:"from,omitempty"`
	To    Duration `json:"to,omitempty"` // 0: for ever
	P     float64  `json:"p,omitempty"`  // chance in (0, 1]; 0 is read as 1
	Do    Action   `json:"do"`
}

// Match says which requests a fault is for; zero fields match all.
type Match struct {
	Path  string            `json:"path,omitempty"`  // * stands for any text, slashes too
	Query map[string]string `json:"query,omitempty"` // parameter -> value, with * as in Path, case ignored
	Nth   Numbers           `json:"nth,omitempty"`   // of the requests that match otherwise, from 1
	Every int               `json:"every,omitempty"` // of those, each so many-th
	IP    string            `json:"ip,omitempty"`
	Share float64           `json:"share,omitempty"` // this part of all paths, always the same ones
}

// Action is what a fault does. Kind decides which of the other fields count.
type Action struct {
	Kind       string   `json:"kind"`
	Status     int      `json:"status,omitempty"`
	Code       int      `json:"code,omitempty"`        // TMDB's code in a JSON body
	Body       string   `json:"body,omitempty"`        // json, nosuccess, html, captive, empty
	RetryAfter string   `json:"retry_after,omitempty"` // a mode of RetryAfterModes or seconds
	Wait       Duration `json:"wait,omitempty"`        // what retry_after speaks of
	Delay      Duration `json:"delay,omitempty"`
	Bytes      int      `json:"bytes,omitempty"`
	Every      Duration `json:"every,omitempty"`
	Location   string   `json:"location,omitempty"`
	Skew       Duration `json:"skew,omitempty"`
}

// Duration is a time.Duration that reads "90s" or a number of seconds from JSON.
type Duration time.Duration

// UnmarshalJSON reads a duration text or a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		v, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 90s", s)
		}
		*d = Duration(v)
		return nil
	}
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("%s is not a duration: write \"90s\" or a number of seconds", b)
	}
	if f < 0 || f > 1e9 {
		return fmt.Errorf("%s s is no duration a scenario can have", b)
	}
	*d = Duration(f * float64(time.Second))
	return nil
}

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// span is an inclusive range of numbers.
type span struct{ from, to int }

// Numbers is a set of positive numbers: 3, [1, 4] or "1-200,300" in JSON.
type Numbers []span

// Has reports whether n is in the set; the empty set holds every number.
func (ns Numbers) Has(n int) bool {
	return len(ns) == 0 || slices.ContainsFunc(ns, func(s span) bool { return s.from <= n && n <= s.to })
}

// UnmarshalJSON reads a number, a list of numbers or a text with ranges.
func (ns *Numbers) UnmarshalJSON(b []byte) error {
	var one int
	if json.Unmarshal(b, &one) == nil {
		*ns = Numbers{{one, one}}
		return ns.check()
	}
	var many []int
	if json.Unmarshal(b, &many) == nil {
		*ns = nil
		for _, n := range many {
			*ns = append(*ns, span{n, n})
		}
		return ns.check()
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("nth %s: write 3, [1,4] or \"1-200\"", b)
	}
	*ns = nil
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(strings.TrimSpace(from))
		z := a
		if err == nil && isRange {
			z, err = strconv.Atoi(strings.TrimSpace(to))
		}
		if err != nil {
			return fmt.Errorf("nth %q: write 3, [1,4] or \"1-200\"", text)
		}
		*ns = append(*ns, span{a, z})
	}
	return ns.check()
}

// MarshalJSON writes the text form.
func (ns Numbers) MarshalJSON() ([]byte, error) {
	parts := make([]string, 0, len(ns))
	for _, s := range ns {
		parts = append(parts, fmt.Sprintf("%d-%d", s.from, s.to))
	}
	return json.Marshal(strings.Join(parts, ","))
}

func (ns Numbers) check() error {
	for _, s := range ns {
		if s.from < 1 || s.to < s.from {
			return fmt.Errorf("nth %d-%d: counting starts at 1 and ends after it begins", s.from, s.to)
		}
	}
	return nil
}

// ReadScenario reads one scenario in JSON. An unknown field, a bad value or
// anything behind it is an error.
func ReadScenario(r io.Reader) (Scenario, error) {
	b, err := io.ReadAll(io.LimitReader(r, 1<<20+1))
	if err != nil {
		return Scenario{}, fmt.Errorf("read scenario: %w", err)
	}
	if len(b) > 1<<20 {
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

// Validate reports the first rule that cannot be meant.
func (s Scenario) Validate() error {
	if s.Limits != "" {
		if _, err := ParseLimits(s.Limits); err != nil {
			return fmt.Errorf("scenario: %w", err)
		}
	}
	if s.RenumberAfter < 0 {
		return errors.New("scenario: renumber_after is below 0")
	}
	for i, f := range s.Faults {
		if err := f.validate(); err != nil {
			return fmt.Errorf("scenario: fault %d: %w", i+1, err)
		}
	}
	return nil
}

func (f Fault) validate() error {
	k, ok := faultKinds[f.Do.Kind]
	if !ok {
		return fmt.Errorf("kind %q is unknown: use one of %v", f.Do.Kind, FaultKinds())
	}
	m, d := f.Match, f.Do
	switch {
	case f.P < 0 || f.P > 1:
		return fmt.Errorf("p %g is outside 0..1", f.P)
	case m.Share < 0 || m.Share > 1:
		return fmt.Errorf("share %g is outside 0..1", m.Share)
	case m.Every < 0:
		return fmt.Errorf("every %d is below 0", m.Every)
	case f.From < 0 || f.To < 0 || f.To != 0 && f.To <= f.From:
		return fmt.Errorf("it lasts from %s to %s, which is no time", time.Duration(f.From), time.Duration(f.To))
	case k.stage == stageConn && (m.Path != "" || m.Query != nil || m.Share != 0):
		return fmt.Errorf("%s strikes a connection, which has no path and no query yet", d.Kind)
	case d.Kind == "status" && (d.Status < 200 || d.Status > 599):
		return fmt.Errorf("status %d is outside 200..599", d.Status)
	case d.Body != "" && !slices.Contains(faultBodies, d.Body):
		return fmt.Errorf("body %q is unknown: use one of %v", d.Body, faultBodies)
	case d.Kind == "redirect" && d.Location == "":
		return errors.New("redirect needs a location")
	case d.Kind == "delay" && d.Delay <= 0:
		return errors.New("delay needs a delay")
	case d.Delay < 0 || d.Every < 0 || d.Wait < 0 || d.Bytes < 0:
		return errors.New("delay, every, wait and bytes are not below 0")
	case d.Bytes > 1<<30:
		return fmt.Errorf("bytes %d is more than 1 GiB", d.Bytes)
	case d.Code != 0 && codeStatus[d.Code] == 0:
		return fmt.Errorf("code %d is no error of TMDB's", d.Code)
	}
	return validRetryAfter(d.RetryAfter)
}

var faultBodies = []string{"json", "nosuccess", "html", "captive", "empty"}

// wild matches text against a pattern in which * stands for any text.
func wild(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := len(parts) - 1
	for _, p := range parts[1:last] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, parts[last])
}

// fits reports whether a request is one that the match is for, leaving nth and
// every aside. r is nil for a connection.
func (m *Match) fits(r *http.Request, ip string, seed uint64) bool {
	if m.IP != "" && m.IP != ip {
		return false
	}
	if r == nil {
		return true
	}
	if m.Path != "" && !wild(m.Path, r.URL.Path) {
		return false
	}
	if m.Share > 0 && chance(seed, "share", r.URL.Path) >= m.Share {
		return false
	}
	if len(m.Query) > 0 {
		q := r.URL.Query()
		for name, want := range m.Query {
			if !wild(strings.ToLower(want), strings.ToLower(q.Get(name))) {
				return false
			}
		}
	}
	return true
}
