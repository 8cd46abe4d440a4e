package core

import (
	"net/http"
	"slices"
	"time"
)

// Report is the end of a request that had a permit.
type Report struct {
	Owner  string
	Tuning *Tuning
	Pass   Pass
	Event  Event
	Draw   float64 // in [0,1), for waits that are drawn by lot
	// KeepBudget keeps the permit's share of the budget reserved if the request
	// was not answered: it belongs to a reservation.
	KeepBudget bool
}

// Recorded is what a report has changed.
type Recorded struct {
	Late       bool          // of an older epoch, or after the permit had run out: no evidence
	Pause      time.Duration // every process is delayed for so long from now; 0: no pause
	Transition Transition
	Moved      bool        // whether there was a transition
	Keys       []KeyChange // keys that are in or out from now on
}

// Record ends a request: its slot is free, its budget settled, and what it
// says about the upstream is evidence if it belongs to the present epoch.
func (s *Snapshot) Record(at Instant, r Report) Recorded {
	now := s.advance(at)
	p := s.join(now, r.Owner, r.Tuning)
	m := &s.machine
	held, ok := s.slots.release(r.Pass.Number, r.Pass.Epoch)
	s.settle(now, p, held, r)
	if r.Event.Connection != 0 {
		r.Event.Connection = r.Event.Connection*31 + p.key // numbers of two processes may be the same
	}

	out := Recorded{Late: !ok || r.Pass.Epoch != m.epoch}
	row := evidence{address: true}
	if account, key := s.keyOf(held.key); account != nil {
		row = evidenceOf(&r.Event, r.Tuning.LimitedBy)
		out.Keys = account.judge(now, key, row.keys, &held)
		if row.account {
			out.Transition, out.Moved = s.recordAt(now, account, &held, &r)
		}
	}
	if !row.address {
		return out
	}
	asked := m.pause(r.Tuning, now, &r.Event, r.Pass.Number, !out.Late, r.Draw)
	if r.Event.Outcome == Throttled || asked > 0 {
		out.Pause = max(m.pauseUntil.sub(now), 0)
	}
	if !out.Late && !out.Moved { // one transition an event
		v := move{on: onAnswer, event: r.Event, permit: r.Pass.Number, draw: r.Draw, pause: asked}
		out.Transition, out.Moved = s.step(now, r.Tuning, v)
	}
	return out
}

// settle books a request: an answered one is used, any other gives back what it had.
func (s *Snapshot) settle(now Stamp, p *process, held lease, r Report) {
	answered := r.Event.Status > 0
	if answered {
		s.budget.count(now, r.Tuning.Budget)
		if a, _ := s.keyOf(held.key); a != nil {
			l := s.limitsOf(a, r.Tuning, 1)
			a.quota.count(now, l.quota)
		}
	}
	if held.budget && (answered || !r.KeepBudget) {
		p.settle(1)
	}
}

// step makes the machine's step, and keeps the bucket in step with it.
func (s *Snapshot) step(now Stamp, t *Tuning, v move) (Transition, bool) {
	m := &s.machine
	if v.rate = s.fastest(now).rate; v.rate == 0 {
		v.rate = t.RateBase
	}
	_, _, total := s.limits()
	v.slots = regimes[Throttle].slotsOf(total)
	before, probing := s.commonPace(t, now), m.probing()
	tr, moved := m.step(t, now, v)
	if !moved {
		if m.probing() != probing {
			s.bucket.carry(now, before, s.commonPace(t, now))
		}
		return tr, false
	}
	s.bucket.enter(now, m.state, before, s.commonPace(t, now))
	tr.At, tr.Until, tr.Epoch = s.clock.time(now), s.until(), m.epoch
	return tr, true
}

// enter keeps the bucket in step with a new state.
func (b *bucket) enter(now Stamp, state State, before, after pace) {
	switch {
	case regimes[state].entering == emptyBucket:
		b.empty(now)
	case before.rate > 0:
		b.carry(now, before, after)
	case state == HalfOpen: // a probe is due when Sleep ends
		b.full = min(b.full, now)
	}
}

// until returns when the present block ends by itself, zero if there is none or it does not.
func (s *Snapshot) until() time.Time { return s.untilOf(&s.machine) }

func (s *Snapshot) untilOf(m *machine) time.Time {
	switch m.state {
	case Sleep:
		return s.clock.time(max(m.sleepUntil, m.pauseUntil))
	case CacheOnly:
		return s.clock.time(m.blockUntil)
	case Normal, Throttle, HalfOpen:
		if m.pauseUntil > s.clock.now {
			return s.clock.time(m.pauseUntil)
		}
	}
	return time.Time{}
}

// LimitedBy is whom the upstream limits: who is throttled by a 429.
type LimitedBy int

// TMDB limits by address. Others, such as another gateway, limit by account.
const (
	ByAddress LimitedBy = iota
	ByAccount
)

var limitedByNames = [...]string{ByAddress: "address", ByAccount: "account"}

// String returns the word of the configuration.
func (l LimitedBy) String() string {
	if l >= 0 && int(l) < len(limitedByNames) {
		return limitedByNames[l]
	}
	return limitedByNames[ByAddress]
}

// KeyVerdict is what an answer says about the key that asked for it.
type KeyVerdict uint8

// The verdicts. A 401 or 403 that is about something else is none of them.
const (
	KeyUnknown   KeyVerdict = iota // nothing
	KeyRefused                     // this key is not accepted, and no more
	KeySuspended                   // the account behind the key is suspended
)

// onKeys is what an answer does to the keys of its account.
type onKeys uint8

const (
	keepsKeys onKeys = iota
	provesKey        // it may be used by many at once, and is in again
	endsKey          // it is out
	endsAll          // all keys of the account are out
)

// evidence is a row of the table of whose evidence an answer is. The first row that fits decides.
type evidence struct {
	outcomes []Outcome
	status   int        // of the answer; 0: any
	verdict  KeyVerdict // of the answer; KeyUnknown: any
	by       LimitedBy
	any      bool // whomever the upstream limits

	keys    onKeys
	account bool // it is evidence in the account's machine, with its pause
	address bool // in the address's
}

// evidences is the table.
var evidences = []evidence{
	{verdict: KeyRefused, any: true, keys: endsKey},
	{verdict: KeySuspended, any: true, keys: endsAll},
	{outcomes: []Outcome{OK}, by: ByAddress, keys: provesKey, address: true},
	{outcomes: []Outcome{OK}, by: ByAccount, keys: provesKey, account: true, address: true},
	{outcomes: []Outcome{Throttled}, by: ByAddress, address: true},
	{outcomes: []Outcome{Throttled}, by: ByAccount, account: true},
	// There is one upstream: an outage must not be learnt once per account.
	{outcomes: []Outcome{Server, Network}, any: true, address: true},
	// An upstream that queues requests itself, such as a gateway, has a limit for each of its clients.
	{outcomes: []Outcome{Deferred}, status: http.StatusTooManyRequests, by: ByAccount, account: true},
	// A refusal of the one request: it ends nothing but HalfOpen, for it proves that the upstream lives.
	{outcomes: []Outcome{Client, Deferred}, by: ByAddress, address: true},
	{outcomes: []Outcome{Client, Deferred}, by: ByAccount, account: true, address: true},
	{outcomes: []Outcome{Cancelled, Misconfigured}, any: true, address: true},
}

func evidenceOf(e *Event, by LimitedBy) evidence {
	for i := range evidences {
		row := &evidences[i]
		if (row.any || row.by == by) && (row.status == 0 || row.status == e.Status) &&
			(row.verdict != KeyUnknown && row.verdict == e.Key || slices.Contains(row.outcomes, e.Outcome)) {
			out := *row
			if e.Outcome == Client && e.alive() { // a 404 is given to a key that is known
				out.keys = provesKey
			}
			return out
		}
	}
	return evidence{address: true}
}

// record is one answer. It has milliseconds only, which keeps a full window small.
type record struct {
	at      int64 // shared time in ms
	outcome Outcome
}

// window holds the newest answers, oldest first.
type window struct {
	records []record
}

// Counts are the answers in a window by kind. Client errors are not among
// them: they say nothing about the upstream.
type Counts struct {
	OK        int // 2xx, 304
	Throttled int // 429
	Server    int // 5xx, 408, answers that the client's own check refuses
	Network   int // no answer
}

// Total returns the number of answers.
func (c Counts) Total() int { return c.OK + c.Throttled + c.Server + c.Network }

// Errors returns the number of answers that are errors.
func (c Counts) Errors() int { return c.Throttled + c.Server + c.Network }

// Ratio returns errors over total, 0 when there is no answer.
func (c Counts) Ratio() float64 {
	if c.Total() == 0 {
		return 0
	}
	return float64(c.Errors()) / float64(c.Total())
}

func millis(at Stamp) int64 { return int64(at) / int64(time.Millisecond) }

// add appends an answer and forgets those that neither the tuning nor the
// defaults still look at. The defaults keep their share so that a process with
// a short memory does not take the others' evidence away.
func (w *window) add(now Stamp, o Outcome, t *Tuning) {
	d := &defaults
	age, size := max(t.Window, d.Window), max(t.WindowRecords, d.WindowRecords)
	oldest := millis(now) - age.Milliseconds()
	drop := max(len(w.records)+1-size, 0)
	for drop < len(w.records) && w.records[drop].at <= oldest {
		drop++
	}
	w.records = append(w.records[drop:], record{millis(now), o})
}

// counts counts the answers that are both younger than Tuning.Window and among
// the newest Tuning.WindowRecords.
func (w *window) counts(now Stamp, t *Tuning) Counts {
	return w.newest(now, t, t.WindowRecords)
}

// newest counts the same, of the newest most at most.
func (w *window) newest(now Stamp, t *Tuning, most int) Counts {
	oldest := millis(now) - t.Window.Milliseconds()
	first := max(len(w.records)-min(most, t.WindowRecords), 0)
	good, bad := 0, [len(outcomeNames)]int{}
	for i := len(w.records) - 1; i >= first && w.records[i].at > oldest; i-- {
		if o := w.records[i].outcome; o == OK {
			good++
		} else {
			bad[o]++
		}
	}
	return Counts{OK: good, Throttled: bad[Throttled], Server: bad[Server], Network: bad[Network]}
}
