package core

import (
	"net/http"
	"slices"
	"time"
)

// Report tells how a request ended that had a permit.
type Report struct {
	Owner  string
	Tuning *Tuning
	Pass   PermitID
	Event  Event
	Draw   float64 // in [0,1), for waits that are drawn by lot
	// KeepBudget keeps the permit's share of the budget reserved if the request
	// was not answered: it belongs to a reservation.
	KeepBudget bool
}

// RecordResult is what a report has changed.
type RecordResult struct {
	Late         bool          // of an older epoch, or after the permit had run out: no evidence
	Pause        time.Duration // every process is delayed for so long from now; 0: no pause
	Transition   Transition
	Transitioned bool        // whether there was a transition
	Keys         []KeyChange // keys that are in or out from now on
}

// Record ends a request: its slot is free, its budget settled, and what it
// says about the upstream is evidence if it belongs to the present epoch.
func (s *Snapshot) Record(at Instant, r Report) RecordResult {
	v := view{s, s.advance(at), r.Tuning, 1}
	now, m, e := v.now, &s.address.machine, &r.Event
	p := v.join(r.Owner)
	held, ok := s.queue.release(r.Pass)
	account, key := s.accounts.keyByID(held.key)
	answered := e.Status > 0
	if answered {
		s.address.quota.count(now, r.Tuning.Budget)
		if account != nil {
			account.quota.count(now, v.limitsOf(account).quota)
		}
	}
	if held.budget && (answered || !r.KeepBudget) {
		p.releaseReserved(1)
	}
	if e.Connection != 0 {
		e.Connection = e.Connection*31 + p.key // numbers of two processes may be the same
	}

	out := RecordResult{Late: !ok || r.Pass.Epoch != m.epoch}
	answer := stepInput{trigger: onAnswer, event: *e, permit: r.Pass.Number, draw: r.Draw}
	row := evidenceRule{address: true}
	if account != nil {
		row = evidenceFor(e, r.Tuning.LimitedBy)
		out.Keys = account.updateKeys(now, key, row.keys, &held)
	}
	if row.account {
		current := held.accountEpoch == account.machine.epoch
		answer.pause = account.machine.applyPause(r.Tuning, now, &answer, current)
		if current {
			out.Transition, out.Transitioned = v.stepAccount(account, answer)
		}
	}
	if !row.address {
		return out
	}
	if account != nil && r.Tuning.LimitedBy == ByAccount {
		answer.event.Limits = Limits{} // they are the account's
	}
	answer.pause = m.applyPause(r.Tuning, now, &answer, !out.Late)
	if e.Outcome == Throttled || answer.pause > 0 {
		out.Pause = max(m.pauseUntil.sub(now), 0)
	}
	if !out.Late && !out.Transitioned { // one transition an event
		out.Transition, out.Transitioned = v.step(answer)
	}
	return out
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

type keyEffect uint8

const (
	leaveKeys      keyEffect = iota
	proveKey                 // it may be used by many at once, and is in again
	refuseKey                // it is out
	suspendAllKeys           // all keys of the account are out
)

// evidenceRule is a row of the table of whose evidence an answer is. The first row that fits decides.
type evidenceRule struct {
	outcomes  []Outcome
	status    int        // of the answer; 0: any
	verdict   KeyVerdict // of the answer; KeyUnknown: any
	limitedBy LimitedBy
	anyLimit  bool // whomever the upstream limits

	keys    keyEffect
	account bool // it is evidence in the account's machine, with its pause
	address bool // in the address's
}

var evidenceRules = []evidenceRule{
	{verdict: KeyRefused, anyLimit: true, keys: refuseKey},
	{verdict: KeySuspended, anyLimit: true, keys: suspendAllKeys},
	{outcomes: []Outcome{OK}, limitedBy: ByAddress, keys: proveKey, address: true},
	{outcomes: []Outcome{OK}, limitedBy: ByAccount, keys: proveKey, account: true, address: true},
	{outcomes: []Outcome{Throttled}, limitedBy: ByAddress, address: true},
	{outcomes: []Outcome{Throttled}, limitedBy: ByAccount, account: true},
	// There is one upstream: an outage must not be learnt once per account.
	{outcomes: []Outcome{Server, Network}, anyLimit: true, address: true},
	// An upstream that queues requests itself, such as a gateway, has a limit for each of its clients.
	{outcomes: []Outcome{Deferred}, status: http.StatusTooManyRequests, limitedBy: ByAccount, account: true},
	// A refusal of the one request: it ends nothing but HalfOpen, for it proves that the upstream lives.
	{outcomes: []Outcome{Client, Deferred}, limitedBy: ByAddress, address: true},
	{outcomes: []Outcome{Client, Deferred}, limitedBy: ByAccount, account: true, address: true},
	{outcomes: []Outcome{Cancelled, Misconfigured}, anyLimit: true, address: true},
}

func evidenceFor(e *Event, by LimitedBy) evidenceRule {
	for i := range evidenceRules {
		row := &evidenceRules[i]
		if (row.anyLimit || row.limitedBy == by) && (row.status == 0 || row.status == e.Status) &&
			(row.verdict != KeyUnknown && row.verdict == e.Key || slices.Contains(row.outcomes, e.Outcome)) {
			out := *row
			if e.Outcome == Client && e.alive() { // a 404 is given to a key that is known
				out.keys = proveKey
			}
			return out
		}
	}
	return evidenceRule{address: true}
}
