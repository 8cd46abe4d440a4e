package core

import (
	"net/http"
	"slices"
	"time"
)

// Report describes the end of a request that had a permit.
type Report struct {
	Owner  string
	Tuning *Tuning
	Pass   PermitID
	Event  Event
	Draw   float64 // a random number in [0,1), for random waits
	// KeepBudget keeps the permit's request reserved if it was not answered. It is set for requests of a reservation.
	KeepBudget bool
}

// RecordResult is the effect of a report.
type RecordResult struct {
	Late         bool          // the permit is of an older epoch or has expired, so the answer does not count as evidence
	Pause        time.Duration // how long all processes must pause from now; 0: no pause
	Transition   Transition
	Transitioned bool        // whether there was a transition
	Keys         []KeyChange // keys that became usable or unusable
}

// Record ends a request: it frees the slot, settles the budget and counts evidence of the current epoch.
func (s *Snapshot) Record(at Instant, r Report) RecordResult {
	v := view{s, s.advance(at), r.Tuning, Instant{}}
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
	if held.usesReservation && (answered || !r.KeepBudget) {
		p.releaseReserved(1)
	}
	if e.Connection != 0 {
		e.Connection = e.Connection*31 + p.key // processes number their connections independently
	}

	out := RecordResult{Late: !ok || r.Pass.Epoch != m.epoch}
	answer := stepInput{trigger: onAnswer, event: *e, permit: r.Pass.Number, draw: r.Draw}
	row := attributionRule{address: true, waitsAlone: e.Outcome == Deferred}
	if account != nil {
		row = attributionOf(e, r.Tuning.LimitedBy)
		out.Keys = account.updateKeys(now, key, row.keys, &held)
	}
	if row.waitsAlone {
		answer.event.RetryAfter = Wait{}
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
		answer.event.Limits = Limits{} // the limits were applied to the account
	}
	answer.pause = m.applyPause(r.Tuning, now, &answer, !out.Late)
	if e.Outcome == Throttled || answer.pause > 0 {
		out.Pause = max(m.pauseUntil.sub(now), 0)
	}
	if !out.Late && !out.Transitioned { // an event causes at most one transition
		out.Transition, out.Transitioned = v.step(answer)
	}
	return out
}

// LimitedBy is the subject of the upstream's limit, which a 429 throttles: the address or an account.
type LimitedBy uint8

// TMDB limits by address. Other upstreams, such as another gateway, limit by account.
const (
	ByAddress LimitedBy = iota
	ByAccount
)

var limitedByNames = [...]string{ByAddress: "address", ByAccount: "account"}

func (l LimitedBy) String() string { return enumName(l, limitedByNames[:], "LimitedBy") }

// KeyVerdict is what an answer says about the key of its request.
type KeyVerdict uint8

// The verdicts. A 401 or 403 for a reason other than the key is KeyUnknown.
const (
	KeyUnknown   KeyVerdict = iota // the answer does not say
	KeyRefused                     // this key is not accepted
	KeySuspended                   // the account behind the key is suspended
)

// keyEffect is what an answer changes about the keys of the request's account.
type keyEffect uint8

const (
	leaveKeys      keyEffect = iota
	proveKey                 // the key works: concurrent requests may use it
	refuseKey                // the key is unusable
	suspendAllKeys           // all keys of the account are unusable
)

// attributionRule is a row of the table that says which machines an answer is evidence for: the account's, the
// address's, both or none. The first row that matches applies.
type attributionRule struct {
	outcomes     []Outcome  // the answer has one of these outcomes, or the verdict
	status       int        // the answer's HTTP status; 0: any
	verdict      KeyVerdict // the answer's verdict on the key; KeyUnknown: see outcomes
	limitedBy    LimitedBy
	anyLimitedBy bool // whether the row applies whatever the upstream limits by

	keys    keyEffect
	account bool // whether the answer is evidence for the account's machine and may pause the account
	address bool // whether the answer is evidence for the address's machine and may pause all requests
	// waitsAlone is set if the answer's Retry-After is about its own request only. Its rate-limit fields may still pause.
	waitsAlone bool
}

var attributionRules = []attributionRule{
	{verdict: KeyRefused, anyLimitedBy: true, keys: refuseKey},
	{verdict: KeySuspended, anyLimitedBy: true, keys: suspendAllKeys},
	{outcomes: []Outcome{OK}, limitedBy: ByAddress, keys: proveKey, address: true},
	{outcomes: []Outcome{OK}, limitedBy: ByAccount, keys: proveKey, account: true, address: true},
	{outcomes: []Outcome{Throttled}, limitedBy: ByAddress, address: true},
	{outcomes: []Outcome{Throttled}, limitedBy: ByAccount, account: true},
	// All accounts have the same upstream: an outage concerns all of them at once.
	{outcomes: []Outcome{Server, Network}, anyLimitedBy: true, address: true},
	// An upstream that queues requests itself, such as another gateway, limits each of its clients.
	{outcomes: []Outcome{Deferred}, status: http.StatusTooManyRequests, limitedBy: ByAccount, account: true},
	// These answers concern one request only. They may still end HalfOpen, because they show that the upstream works.
	{outcomes: []Outcome{Client, Deferred}, limitedBy: ByAddress, address: true, waitsAlone: true},
	{outcomes: []Outcome{Client, Deferred}, limitedBy: ByAccount, account: true, address: true, waitsAlone: true},
	{outcomes: []Outcome{Cancelled, Misconfigured}, anyLimitedBy: true, address: true},
}

// PausesAccount reports whether an answer's Retry-After pauses the account of its request, so that others may go on.
func PausesAccount(e *Event, limitedBy LimitedBy) bool {
	row := attributionOf(e, limitedBy)
	return row.account && !row.waitsAlone
}

func attributionOf(e *Event, limitedBy LimitedBy) attributionRule {
	for i := range attributionRules {
		row := &attributionRules[i]
		if (row.anyLimitedBy || row.limitedBy == limitedBy) && (row.status == 0 || row.status == e.Status) &&
			(row.verdict != KeyUnknown && row.verdict == e.Key || slices.Contains(row.outcomes, e.Outcome)) {
			out := *row
			if e.Key == KeyUnknown && e.Outcome == Client && e.showsUpstreamUp() { // it accepted the key before it answered 404
				out.keys = proveKey
			}
			return out
		}
	}
	return attributionRule{address: true}
}

type record struct {
	at      int64 // shared time in milliseconds
	outcome Outcome
}

// window holds the newest answers, from which error ratios are computed.
type window struct{ records []record }

// Counts are the numbers of answers in a window by kind. Client errors are not in the window, because they say nothing
// about the upstream.
type Counts struct {
	OK        int // 2xx, 304
	Throttled int // 429
	Server    int // 5xx, 408, answers that the client's own check rejects
	Network   int // no answer
}

// Total returns the number of answers.
func (c Counts) Total() int { return c.OK + c.Throttled + c.Server + c.Network }

// Errors returns the number of answers that are errors.
func (c Counts) Errors() int { return c.Throttled + c.Server + c.Network }

// Ratio returns the share of errors among all answers; 0 if there are no answers.
func (c Counts) Ratio() float64 {
	if c.Total() == 0 {
		return 0
	}
	return float64(c.Errors()) / float64(c.Total())
}

func millis(at Stamp) int64 { return int64(at) / int64(time.Millisecond) }

// add appends an answer and drops old ones. It keeps at least what the defaults keep, so that a process with a short
// window does not drop the evidence of other processes.
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

// count counts the answers that are both younger than Tuning.Window and among the newest Tuning.WindowRecords.
func (w *window) count(now Stamp, t *Tuning) Counts {
	return w.countNewest(now, t, t.WindowRecords)
}

// countNewest counts answers like count, but only the newest ones, at most limit.
func (w *window) countNewest(now Stamp, t *Tuning, limit int) Counts {
	oldest := millis(now) - t.Window.Milliseconds()
	first := max(len(w.records)-min(limit, t.WindowRecords), 0)
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
