// Package tmdbfake is a stand-in for The Movie Database's API: a catalogue, a
// search, limiters, faults and a journal behind an http.Handler. It serves unit
// tests (in memory, also inside testing/synctest), the demo and, through
// cmd/tmdbfake, tests of finished programs.
//
// Everything that looks like chance follows from Config.Seed, and nothing in
// it reads the time but through Config.Clock.
package tmdbfake

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config says what a Fake holds and how it behaves. The zero value is the
// authored catalogue, mixed ranking, no limits and no faults.
type Config struct {
	Seed         uint64
	Catalogue    *Catalogue // nil: Authored
	Limits       Limits
	Scenario     Scenario
	Rank         Rank     // "": RankMixed
	Keys         []string // credentials accepted; nil: any bearer that is no v3 key, any v3 key as api_key
	Latency      Latency
	Clock        func() time.Time // nil: time.Now, which synctest makes virtual
	StrictAppend bool             // drops append_to_response items that hold %2F
	TrustFakeIP  bool             // X-Fake-IP names the client
	PIDHeader    string           // header in which a client names its process; "": X-Anivault-Pid
}

// Fake is the stand-in. It is an http.Handler and safe for concurrent use.
type Fake struct {
	seed         uint64
	cat          *Catalogue
	rank         Rank
	keys         []string
	latency      Latency
	strictAppend bool
	trustFakeIP  bool
	pidHeader    string
	clock        func() time.Time
	journal      journal

	mu         sync.Mutex // guards what follows; never held while anything waits
	limits     Limits
	model      Model
	scenario   Scenario
	rules      []*rule
	applied    time.Time
	started    time.Time
	renumberAt time.Time
	advanced   time.Duration // added to the clock
	skew       time.Duration // added to Date headers
	struck     map[string]int
	latent     int // requests that were given a latency
	conns      connTable
}

// New makes a stand-in. It starts nothing; an invalid Config is an error.
func New(cfg Config) (*Fake, error) {
	rank, err := ParseRank(string(cfg.Rank))
	if err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	if err := cfg.Limits.Validate(); err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	if err := cfg.Latency.Validate(); err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	for _, k := range cfg.Keys {
		if k == "" {
			return nil, errors.New("tmdbfake: an accepted credential is empty")
		}
	}
	f := &Fake{
		seed: cfg.Seed, cat: cfg.Catalogue, rank: rank, keys: cfg.Keys, latency: cfg.Latency,
		strictAppend: cfg.StrictAppend, trustFakeIP: cfg.TrustFakeIP, pidHeader: cfg.PIDHeader, clock: cfg.Clock,
		limits: cfg.Limits, model: cfg.Limits.NewModel(), struck: map[string]int{}, conns: newConnTable(),
	}
	if f.cat == nil {
		if f.cat, err = Authored(); err != nil {
			return nil, fmt.Errorf("tmdbfake: %w", err)
		}
	}
	if f.clock == nil {
		f.clock = time.Now
	}
	if f.pidHeader == "" {
		f.pidHeader = "X-Anivault-Pid"
	}
	f.started = f.clock()
	if err := f.Apply(cfg.Scenario); err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	return f, nil
}

// Now gives the stand-in's time: its clock and what it was advanced by.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nowLocked()
}

func (f *Fake) nowLocked() time.Time { return f.clock().Add(f.advanced) }

// Advance moves the stand-in's time forward: windows of faults and limits pass
// at once. It refuses to go back.
func (f *Fake) Advance(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("tmdbfake: the clock cannot go back by %s", -d)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advanced += d
	return nil
}

// SkewDate makes every Date header wrong by d.
func (f *Fake) SkewDate(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.skew = d
}

// Renumber flips the season map of the works that have a second one, at once.
func (f *Fake) Renumber() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renumberAt = f.nowLocked()
}

func (f *Fake) renumberedLocked(now time.Time) bool {
	return !f.renumberAt.IsZero() && !now.Before(f.renumberAt)
}

// Journal gives a copy of every request since the start or the last Reset, in
// order of arrival.
func (f *Fake) Journal() []Entry { return f.journal.list() }

// Catalogue gives the works that are served.
func (f *Fake) Catalogue() *Catalogue { return f.cat }

// Reset empties the journal and the counts, gives every client a fresh limit,
// and starts the scenario anew.
func (f *Fake) Reset() {
	f.journal.reset()
	f.mu.Lock()
	f.model = f.limits.NewModel()
	f.struck = map[string]int{}
	f.latent = 0
	f.advanced, f.skew = 0, 0
	f.started = f.nowLocked()
	f.conns.resetCounts()
	s := f.scenario
	f.mu.Unlock()
	// A scenario that was applied once is valid.
	_ = f.Apply(s)
}

// State gives the summary.
func (f *Fake) State() State {
	entries := f.journal.list()
	s := State{Statuses: map[string]int{}, Faults: map[string]int{}, Requests: len(entries), Rank: f.rank, Works: f.cat.Len()}
	for _, e := range entries {
		s.Statuses[fmt.Sprint(e.Status)]++
		if e.Limiter == "limit" {
			s.Limited++
		}
	}
	f.journal.mu.Lock()
	s.InFlight, s.MaxInFlight = f.journal.flying, f.journal.most
	f.journal.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Now, s.Started = f.nowLocked(), f.started
	for k, n := range f.struck {
		s.Faults[k] = n
	}
	s.Conns, s.OpenConns, s.MaxConns, s.Refused = f.conns.total, f.conns.open, f.conns.most, f.conns.refused
	s.Scenario, s.Limits = f.scenario.Name, f.limits.String()
	s.Renumbered = f.renumberedLocked(s.Now)
	return s
}

// clientIP names the client of a request.
func (f *Fake) clientIP(r *http.Request) string {
	if f.trustFakeIP {
		if ip := r.Header.Get("X-Fake-IP"); ip != "" {
			return ip
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
