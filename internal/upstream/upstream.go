// Package upstream describes a server that limits its clients and sometimes fails: how many requests it allows
// ([Limits], [Limiter]), how long its responses take ([Latency]), and what goes wrong when ([Scenario], read from JSON
// by [ReadScenario], or built in and returned by [Preset]).
//
// A [Behaviour] runs a scenario. The fake TMDB server asks it what to do with each HTTP request; the simulator asks it
// the same questions in virtual time. This package never sends anything, sleeps or reads a clock: callers pass the
// time, and all randomness comes from a seed.
package upstream

import (
	"iter"
	"net/url"
	"time"
)

// Request is what a scenario's rules look at. URL is nil for a connection without a request, and in the simulator.
type Request struct {
	IP  string
	URL *url.URL
}

// Behaviour applies limits and a scenario to requests, in order of time. It is not safe for concurrent use.
type Behaviour struct {
	seed            uint64
	limits          Limits
	limiter         Limiter
	scenario        Scenario
	started         time.Time // when the scenario began
	rules           []*rule
	hasLimit        bool                   // some rule has the kind "limit"
	recentlyAllowed map[string][]time.Time // if hasLimit: requests allowed in the last second, by client
}

type rule struct {
	Fault
	point  FaultPoint
	number int // position in the scenario, from 1; makes the rule's random numbers its own
	count  int // requests that matched so far
}

// New returns a Behaviour without faults.
func New(limits Limits, seed uint64) (*Behaviour, error) {
	if err := limits.Validate(); err != nil {
		return nil, err
	}
	return &Behaviour{
		seed: seed, limits: limits, limiter: limits.NewLimiter(), recentlyAllowed: map[string][]time.Time{},
	}, nil
}

// Apply replaces the scenario. One without limits keeps the current limits, and what clients have used of them.
func (b *Behaviour) Apply(s Scenario, now time.Time) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if s.Limits != "" {
		l, err := ParseLimits(s.Limits)
		if err != nil {
			return err
		}
		b.limits, b.limiter = l, l.NewLimiter()
	}
	b.scenario, b.started, b.rules, b.hasLimit = s, now, nil, false
	for i, f := range s.Faults {
		r := &rule{Fault: f, point: kinds()[f.Do.Kind], number: i + 1}
		b.rules = append(b.rules, r)
		b.hasLimit = b.hasLimit || f.Do.Kind == "limit"
	}
	return nil
}

// Reset forgets all requests and starts the scenario again.
func (b *Behaviour) Reset(now time.Time) {
	b.limiter, b.started = b.limits.NewLimiter(), now
	clear(b.recentlyAllowed)
	for _, r := range b.rules {
		r.count = 0
	}
}

// Limits returns the current limits.
func (b *Behaviour) Limits() Limits { return b.limits }

// Scenario returns the current scenario.
func (b *Behaviour) Scenario() Scenario { return b.scenario }

// Started returns when the scenario began.
func (b *Behaviour) Started() time.Time { return b.started }

// Quota returns the values of the X-RateLimit headers; ok is false for models other than legacy, which send none.
func (b *Behaviour) Quota(ip string) (q Quota, ok bool) {
	m := b.limiter
	if p, wrapped := m.(*clientBlocker); wrapped {
		m = p.Limiter
	}
	w, ok := m.(*fixedWindows)
	if !ok || w.calendar {
		return Quota{}, false
	}
	q = Quota{Limit: w.Rate, Remaining: w.Rate}
	if c := w.clients[ip]; c != nil {
		q.Remaining, q.Reset = max(0, w.Rate-c.count), c.start.Add(w.Per)
	}
	return q, true
}

// Allow counts a request and reports whether the limits allow it; if not, retryAfter is how long to wait.
func (b *Behaviour) Allow(now time.Time, ip string) (ok bool, retryAfter time.Duration) {
	if !b.hasLimit {
		return b.limiter.Allow(now, ip)
	}
	seen := timesAfter(b.recentlyAllowed[ip], now.Add(-time.Second))
	b.recentlyAllowed[ip] = seen
	for r := range b.activeRules(now) {
		if r.Do.Kind != "limit" {
			continue
		}
		limit := max(1, int(r.rateAt(now.Sub(b.started))))
		if over := len(seen) - limit; over >= 0 {
			return false, seen[over].Add(time.Second).Sub(now)
		}
	}
	if ok, retryAfter = b.limiter.Allow(now, ip); ok {
		b.recentlyAllowed[ip] = append(seen, now)
	}
	return ok, retryAfter
}

func timesAfter(times []time.Time, moment time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(moment) {
		times = times[1:]
	}
	return times
}

func (b *Behaviour) activeRules(now time.Time) iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		for _, r := range b.rules {
			if r.activeAt(now.Sub(b.started)) && !yield(r) {
				return
			}
		}
	}
}

func (b *Behaviour) matchingRules(st FaultPoint, now time.Time, req Request) iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		for r := range b.activeRules(now) {
			if r.point != st || !r.Match.matches(req, b.seed) {
				continue
			}
			r.count++
			if r.Match.Nth.Has(r.count) && (r.Match.Every <= 1 || r.count%r.Match.Every == 0) && !yield(r) {
				return
			}
		}
	}
}

// SlowedLatency returns the latency of a response under the active faults of kind slow; d is its latency without them.
func (b *Behaviour) SlowedLatency(now time.Time, d time.Duration) time.Duration {
	for r := range b.activeRules(now) {
		if r.Do.Kind == "slow" {
			d = time.Duration(float64(d) * r.Do.Factor)
		}
	}
	return d
}

// ActionsFor counts a request and returns the actions that apply to it at a point, in the order of the rules. Whether a
// rule applies to its n-th matching request depends only on the seed.
func (b *Behaviour) ActionsFor(st FaultPoint, now time.Time, req Request) []Action {
	var out []Action
	for r := range b.matchingRules(st, now, req) {
		if r.Probability <= 0 || r.Probability >= 1 || Chance(b.seed, "fault", r.number, r.count) < r.Probability {
			out = append(out, r.Do)
		}
	}
	return out
}

// ExpectedResponse counts a request as ActionsFor does. It returns the probability of a good response and its mean
// latency; d is the latency without faults.
func (b *Behaviour) ExpectedResponse(now time.Time, req Request, d time.Duration) (chance float64, took time.Duration) {
	chance, took = 1, b.SlowedLatency(now, d)
	for r := range b.matchingRules(BeforeAnswer, now, req) {
		if r.Do.Kind == "delay" {
			took += time.Duration(r.probability() * float64(r.Do.Delay))
		}
		if r.Do.Fails() {
			chance *= 1 - r.probability()
		}
	}
	return chance, took
}

// DownUntil returns when requests can succeed again, at most end. It returns now unless every request fails.
func (b *Behaviour) DownUntil(now, end time.Time) time.Time {
	until := now
	for r := range b.activeRules(now) {
		if !r.Match.matchesAll() || r.probability() < 1 || !r.Do.Fails() {
			continue
		}
		if r.To == 0 {
			return end
		}
		if over := b.started.Add(time.Duration(r.To)); over.After(until) {
			until = over
		}
	}
	return until
}
