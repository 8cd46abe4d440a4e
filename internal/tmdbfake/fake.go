// Package tmdbfake is a stand-in for The Movie Database's API: a catalogue, a
// search, limits, faults and a journal behind an http.Handler. The demo, tests
// and cmd/tmdbfake use it, over TCP or, for testing/synctest, in memory.
//
// [New] makes a [Fake]; its Listen methods serve it; Journal returns what it has
// been asked. All chance follows from Config.Seed, and it takes the time from
// Config.Clock alone.
package tmdbfake

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// Config says what a Fake holds and how it behaves. The zero value is the
// authored catalogue, the kindest model of TMDB, no limits and no faults.
type Config struct {
	Model
	Seed         uint64
	Catalogue    *Catalogue // nil: Authored
	Limits       upstream.Limits
	Scenario     upstream.Scenario
	Keys         []string // credentials accepted; nil: any bearer that is not a v3 key, any v3 key as api_key
	Latency      upstream.Latency
	LimitByKey   bool                        // Limits count by credential, not by address
	Slow         map[string]upstream.Latency // of the answers to a credential, in place of Latency
	Clock        func() time.Time            // nil: time.Now, which synctest makes virtual
	StrictAppend bool                        // drops append_to_response items that hold %2F
	TrustFakeIP  bool                        // the header X-Fake-IP names the client
	PIDHeader    string                      // header in which a client names its process; "": X-Anivault-Pid
}

// Fake is the stand-in. It is an http.Handler and safe for concurrent use.
type Fake struct {
	seed         uint64
	catalogue    *Catalogue
	model        Model
	keys         []string
	latency      upstream.Latency
	limitByKey   bool
	slow         map[string]upstream.Latency
	strictAppend bool
	trustFakeIP  bool
	pidHeader    string
	clock        func() time.Time
	journal      journal

	mu        sync.Mutex // guards what follows; never held while anything waits
	behaviour *upstream.Behaviour
	started   time.Time
	renumber  time.Time     // when the season maps flip; zero: never
	advanced  time.Duration // added to the clock
	skew      time.Duration // added to Date headers
	struck    map[string]int
	answered  int // requests that got a latency
	conns     connTable
}

// New returns a stand-in. It starts nothing; an invalid Config is an error.
func New(cfg Config) (*Fake, error) {
	model := cfg.Model
	var err error
	if model.Rank, err = ParseRank(string(model.Rank)); err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	if model.Finds, err = ParseFinds(string(model.Finds)); err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	behaviour, err := upstream.New(cfg.Limits, cfg.Seed)
	if err != nil {
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
		seed: cfg.Seed, catalogue: cfg.Catalogue, model: model, keys: cfg.Keys, latency: cfg.Latency,
		limitByKey: cfg.LimitByKey, slow: cfg.Slow,
		strictAppend: cfg.StrictAppend, trustFakeIP: cfg.TrustFakeIP, pidHeader: cfg.PIDHeader, clock: cfg.Clock,
		behaviour: behaviour, struck: map[string]int{}, conns: newConnTable(),
	}
	if f.catalogue == nil {
		if f.catalogue, err = Authored(); err != nil {
			return nil, fmt.Errorf("tmdbfake: %w", err)
		}
	}
	if f.catalogue, err = model.apply(f.catalogue); err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
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

// Apply replaces the scenario. Its times and counts begin now.
func (f *Fake) Apply(s upstream.Scenario) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.nowLocked()
	if err := f.behaviour.Apply(s, now); err != nil {
		return err
	}
	f.scheduleRenumberingLocked()
	return nil
}

func (f *Fake) scheduleRenumberingLocked() {
	f.renumber = time.Time{}
	if after := f.behaviour.Scenario().RenumberAfter; after > 0 {
		f.renumber = f.behaviour.Started().Add(time.Duration(after))
	}
}

// Reset empties the journal and the counts, forgets what clients have used of
// their limits, and starts the scenario again.
func (f *Fake) Reset() {
	f.journal.reset()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.struck = map[string]int{}
	f.answered, f.advanced, f.skew = 0, 0, 0
	f.started = f.nowLocked()
	f.conns.resetCounts()
	f.behaviour.Reset(f.started)
	f.scheduleRenumberingLocked()
}

// Now returns the stand-in's time: its clock, and what Advance has added.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nowLocked()
}

func (f *Fake) nowLocked() time.Time { return f.clock().Add(f.advanced) }

// Advance moves the stand-in's time forward: the windows of faults and limits
// pass at once. A negative d is an error.
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

// Renumber flips, at once, the season map of the works that have a second one.
func (f *Fake) Renumber() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renumber = f.nowLocked()
}

func (f *Fake) renumberedLocked(now time.Time) bool {
	return !f.renumber.IsZero() && !now.Before(f.renumber)
}

// Journal returns a copy of every request since the start or the last Reset, in
// the order of arrival.
func (f *Fake) Journal() []Entry { return f.journal.list() }

// Catalogue returns the works that are served.
func (f *Fake) Catalogue() *Catalogue { return f.catalogue }

// Clock is the stand-in's time, and what has been done to it.
type Clock struct {
	Now, Started   time.Time
	Advanced, Skew time.Duration
	ScenarioFor    time.Duration // how long the scenario has been in force
}

// ReadClock returns the stand-in's time.
func (f *Fake) ReadClock() Clock {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.nowLocked()
	return Clock{now, f.started, f.advanced, f.skew, now.Sub(f.behaviour.Started())}
}

// State returns a summary of the journal and of what is in force.
func (f *Fake) State() State {
	s := f.journal.summary()
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Now, s.Started = f.nowLocked(), f.started
	s.Faults = maps.Clone(f.struck)
	s.Conns, s.OpenConns, s.MaxConns, s.Refused = f.conns.total, f.conns.open, f.conns.most, f.conns.refused
	s.Scenario, s.Limits = f.behaviour.Scenario().Name, f.behaviour.Limits().String()
	s.Rank, s.Works, s.Renumbered = f.model.Rank, f.catalogue.Len(), f.renumberedLocked(s.Now)
	return s
}

// strikes returns the actions of a stage that befall a request of a client.
func (f *Fake) strikes(st upstream.FaultPoint, r upstream.Request) []upstream.Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	actions := f.behaviour.ActionsFor(st, f.nowLocked(), r)
	for _, a := range actions {
		f.struck[a.Kind]++
	}
	return actions
}

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
