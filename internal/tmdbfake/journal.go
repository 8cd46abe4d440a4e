package tmdbfake

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Entry is one request as the stand-in saw it.
type Entry struct {
	Seq     int       `json:"seq"` // from 1, in order of arrival
	At      time.Time `json:"at"`
	End     time.Time `json:"end,omitzero"` // zero until the handler has returned
	Conn    int       `json:"conn"`         // number of the connection; 0: not one of Fake's listeners
	IP      string    `json:"ip"`
	PID     string    `json:"pid,omitempty"` // the client's process, if it names itself
	Proto   string    `json:"proto"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Query   string    `json:"query"` // sorted, credentials replaced
	Auth    string    `json:"auth"`  // bearer, api_key, none: the form, never the value
	IfNone  bool      `json:"conditional,omitempty"`
	Status  int       `json:"status"`          // 0: no answer
	Limiter string    `json:"limiter"`         // pass or limit
	Fault   string    `json:"fault,omitempty"` // the faults that struck, joined by +
	Bytes   int64     `json:"bytes"`           // of the body, as sent
}

// State is a summary of what happened since the start or the last reset.
type State struct {
	Now         time.Time      `json:"now"`
	Started     time.Time      `json:"started"`
	Requests    int            `json:"requests"`
	InFlight    int            `json:"in_flight"`
	MaxInFlight int            `json:"max_in_flight"`
	Statuses    map[string]int `json:"statuses"`
	Limited     int            `json:"limited"`
	Faults      map[string]int `json:"faults"`
	Conns       int            `json:"connections"`
	OpenConns   int            `json:"open_connections"`
	MaxConns    int            `json:"max_open_connections"` // most at once from one address
	Refused     int            `json:"refused_connections"`
	Scenario    string         `json:"scenario,omitempty"`
	Limits      string         `json:"limits"`
	Rank        Rank           `json:"rank"`
	Works       int            `json:"works"`
	Renumbered  bool           `json:"renumbered"`
}

// journal keeps the entries. Nothing waits while it holds its lock.
type journal struct {
	mu       sync.Mutex
	entries  []*Entry
	inFlight int
	most     int // in flight at once
}

func (j *journal) begin(e Entry) *Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Seq = len(j.entries) + 1
	j.entries = append(j.entries, &e)
	j.inFlight++
	j.most = max(j.most, j.inFlight)
	return &e
}

func (j *journal) update(e *Entry, change func(*Entry)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(e)
}

func (j *journal) finish(e *Entry, end time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.End = end
	j.inFlight--
}

func (j *journal) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries, j.most = nil, j.inFlight
}

func (j *journal) list() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]Entry, 0, len(j.entries))
	for _, e := range j.entries {
		out = append(out, *e)
	}
	return out
}

// summary counts the entries.
func (j *journal) summary() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := State{Statuses: map[string]int{}, Requests: len(j.entries), InFlight: j.inFlight, MaxInFlight: j.most}
	for _, e := range j.entries {
		s.Statuses[strconv.Itoa(e.Status)]++
		if e.Limiter == "limit" {
			s.Limited++
		}
	}
	return s
}

// redacted returns a query with its parameters sorted and credentials replaced.
func redacted(raw string) string {
	parts := strings.FieldsFunc(raw, func(r rune) bool { return r == '&' || r == ';' })
	for i, p := range parts {
		name, _, _ := strings.Cut(p, "=")
		if n, err := url.QueryUnescape(name); err == nil {
			name = n
		}
		switch strings.ToLower(name) {
		case "api_key", "session_id", "guest_session_id", "access_token", "authorization":
			parts[i] = name + "=REDACTED"
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}
