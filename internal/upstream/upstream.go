// Package upstream describes how a server behaves that limits its clients and has bad days: how many requests it
// allows ([Limits], [Limiter]), how long its answers take ([Latency]), and what goes wrong when ([Scenario], read from
// JSON by [ReadScenario] or taken by name from [Preset]).
//
// A [Behaviour] is a scenario in force. The stand-in for TMDB asks it what to do with each HTTP request; the
// simulator asks it the same in virtual time. Nothing here sends, sleeps or reads a clock: time is an argument, and
// all chance follows from a seed.
package upstream

import (
	"iter"
	"net/url"
	"time"
)

// Request is what rules look at. A nil URL is a connection without a request, or a simulated request.
type Request struct {
	IP  string
	URL *url.URL
}

// Behaviour is a scenario in force: its limits and rules, with what they have counted so far. It is not safe for
// concurrent use, and time must not run backwards.
type Behaviour struct {
	seed     uint64
	limits   Limits
	model    Limiter
	scenario Scenario
	started  time.Time // when the scenario began
	rules    []*rule
	slopes   bool                   // the scenario has rules that limit
	passed   map[string][]time.Time // with slopes: requests let through in the last second, by client
}

type rule struct {
	Fault
	stage  Stage
	number int // its place, from 1: part of the key of its chances
	count  int
}

// New returns a behaviour without faults.
func New(limits Limits, seed uint64) (*Behaviour, error) {
	if err := limits.Validate(); err != nil {
		return nil, err
	}
	return &Behaviour{seed: seed, limits: limits, model: limits.NewLimiter(), passed: map[string][]time.Time{}}, nil
}

// Apply puts a scenario in force from now on, in place of the one before it. A scenario without limits keeps those in
// force, and what clients have used of them.
func (b *Behaviour) Apply(s Scenario, now time.Time) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if s.Limits != "" {
		l, err := ParseLimits(s.Limits)
		if err != nil {
			return err
		}
		b.limits, b.model = l, l.NewLimiter()
	}
	b.scenario, b.started, b.rules, b.slopes = s, now, nil, false
	for i, f := range s.Faults {
		r := &rule{Fault: f, stage: kinds[f.Do.Kind], number: i + 1}
		b.rules = append(b.rules, r)
		b.slopes = b.slopes || f.Do.Kind == "limit"
	}
	return nil
}

// Reset forgets what clients have used and starts the scenario again.
func (b *Behaviour) Reset(now time.Time) {
	b.model, b.started = b.limits.NewLimiter(), now
	clear(b.passed)
	for _, r := range b.rules {
		r.count = 0
	}
}

// Limits returns the limits in force.
func (b *Behaviour) Limits() Limits { return b.limits }

// Scenario returns the scenario in force.
func (b *Behaviour) Scenario() Scenario { return b.scenario }

// Started returns when the scenario began.
func (b *Behaviour) Started() time.Time { return b.started }

// Quota returns what the limit's model announces in headers; ok is false for all models but legacy.
func (b *Behaviour) Quota(ip string) (q Quota, ok bool) {
	m := b.model
	if p, wrapped := m.(*penalised); wrapped {
		m = p.Limiter
	}
	w, ok := m.(*windows)
	if !ok || w.calendar {
		return Quota{}, false
	}
	q = Quota{Limit: w.Rate, Remaining: w.Rate}
	if c := w.clients[ip]; c != nil {
		q.Remaining, q.Reset = max(0, w.Rate-c.count), c.start.Add(w.Per)
	}
	return q, true
}

// Allow counts a request of a client and reports whether the limits let it through, and if not, how long the client
// should wait.
func (b *Behaviour) Allow(now time.Time, ip string) (ok bool, retryAfter time.Duration) {
	if !b.slopes {
		return b.model.Allow(now, ip)
	}
	seen := since(b.passed[ip], now.Add(-time.Second))
	b.passed[ip] = seen
	for r := range b.inForce(now) {
		if r.Do.Kind != "limit" {
			continue
		}
		limit := max(1, int(r.limit(now.Sub(b.started))))
		if over := len(seen) - limit; over >= 0 {
			return false, seen[over].Add(time.Second).Sub(now)
		}
	}
	if ok, retryAfter = b.model.Allow(now, ip); ok {
		b.passed[ip] = append(seen, now)
	}
	return ok, retryAfter
}

func since(times []time.Time, moment time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(moment) {
		times = times[1:]
	}
	return times
}

func (b *Behaviour) inForce(now time.Time) iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		for _, r := range b.rules {
			if r.lasts(now.Sub(b.started)) && !yield(r) {
				return
			}
		}
	}
}

func (b *Behaviour) due(st Stage, now time.Time, req Request) iter.Seq[*rule] {
	return func(yield func(*rule) bool) {
		for r := range b.inForce(now) {
			if r.stage != st || !r.Match.fits(req, b.seed) {
				continue
			}
			r.count++
			if r.Match.Nth.Has(r.count) && (r.Match.Every <= 1 || r.count%r.Match.Every == 0) && !yield(r) {
				return
			}
		}
	}
}

// Slow returns how long an answer takes that would take d without the rules of kind slow.
func (b *Behaviour) Slow(now time.Time, d time.Duration) time.Duration {
	for r := range b.inForce(now) {
		if r.Do.Kind == "slow" {
			d = time.Duration(float64(d) * r.Do.Factor)
		}
	}
	return d
}

// Strikes counts a request and returns the actions of a stage that hit it, in the order of the rules. The n-th
// match of a rule has the same fate in every run.
func (b *Behaviour) Strikes(st Stage, now time.Time, req Request) []Action {
	var out []Action
	for r := range b.due(st, now, req) {
		if r.P <= 0 || r.P >= 1 || Chance(b.seed, "fault", r.number, r.count) < r.P {
			out = append(out, r.Do)
		}
	}
	return out
}

// Expect counts a request as Strikes does, and returns the probability of a good answer and its mean latency, where d
// is the latency without any rule.
func (b *Behaviour) Expect(now time.Time, req Request, d time.Duration) (chance float64, took time.Duration) {
	chance, took = 1, b.Slow(now, d)
	for r := range b.due(BeforeAnswer, now, req) {
		if r.Do.Kind == "delay" {
			took += time.Duration(r.probability() * float64(r.Do.Delay))
		}
		if r.Do.Fails() {
			chance *= 1 - r.probability()
		}
	}
	return chance, took
}

// DownUntil returns the end of the time in which every request fails, at most end, and now if some succeed.
func (b *Behaviour) DownUntil(now, end time.Time) time.Time {
	until := now
	for r := range b.inForce(now) {
		if !r.Match.all() || r.probability() < 1 || !r.Do.Fails() {
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
