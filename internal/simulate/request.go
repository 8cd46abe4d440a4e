package simulate

import (
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// This file decides what a request does from its beginning to its end: it does what ratelimit's Limiter and Transport
// do, with plans in place of timers. Everything about permission is the snapshot's decision.

// process is one of the processes that share the state.
type process struct {
	world  *world
	id     string
	tuning ratelimit.Tuning

	known  bool       // it has asked for something
	inside int        // requests that hold or want a permit; at most concurrency
	queue  []*request // those behind them, first come first served
	parked []*request // those inside that wait to ask again
	share  Share
}

// request is one item of work with all its tries.
type request struct {
	process *process
	attempt int           // from 1
	waited  time.Duration // what counts against max_wait
	ticket  uint64
	pass    ratelimit.Pass

	parkedAt time.Duration
	counts   bool   // the present wait counts against max_wait
	slot     bool   // it is woken when a slot of its process is free
	nap      uint64 // counts waits, so that an old plan wakes nobody
	ready    func() // what comes after the wait

	departed time.Duration
	waiting  bool // it is not on the wire
}

// begin starts a new item of work.
func (p *process) begin() {
	r := &request{process: p, attempt: 1}
	r.wait(true)
	p.enter(r)
}

// wait notes whether a request is on the wire.
func (r *request) wait(is bool) {
	if r.waiting == is {
		return
	}
	r.waiting = is
	if is {
		r.process.world.timeline.waiting++
	} else {
		r.process.world.timeline.waiting--
	}
}

// enter lets a request ask for a permit, or queue behind the others of its process.
func (p *process) enter(r *request) {
	if p.inside < p.tuning.Concurrency && len(p.queue) == 0 {
		p.inside++
		r.ask()
		return
	}
	p.queue = append(p.queue, r)
}

// leave gives a place inside back.
func (p *process) leave() {
	p.inside--
	for p.inside < p.tuning.Concurrency && len(p.queue) > 0 {
		r := p.queue[0]
		p.queue = p.queue[1:]
		p.inside++
		p.world.clock.plan(0, r.ask)
	}
}

// ask asks for a permit.
func (r *request) ask() {
	p, w := r.process, r.process.world
	g := w.snapshot.TryGrant(w.now(), ratelimit.Ask{
		Owner: p.id, Tuning: &p.tuning, Ticket: r.ticket, Patience: r.left(), Hold: p.tuning.RequestTimeout + time.Second,
		Retry: r.attempt > 1,
	})
	r.ticket = g.Ticket
	if !p.known {
		p.known = true
		w.grants.unknown--
	}
	if g.Moved {
		w.moved(g.Transition)
		p.wake(func(*request) bool { return true })
	}
	counts := g.Why != ratelimit.WhyCacheOnly
	switch {
	case g.Granted:
		r.pass = g.Pass
		r.send()
	case g.Refused:
		p.leave()
		r.giveUp(g.Until)
	case counts && r.left() <= 0:
		w.snapshot.Withdraw(w.now(), g.Ticket)
		r.ticket = 0
		p.leave()
		p.wake(func(o *request) bool { return o.slot })
		r.giveUp(time.Time{})
	default:
		nap := g.Wait
		if counts {
			nap = min(nap, r.left())
		}
		r.slot = g.Why == ratelimit.WhySlot || g.Why == ratelimit.WhyTurn
		p.parked = append(p.parked, r)
		r.sleep(nap, counts, r.ask)
	}
}

// sleep plans what comes after a wait.
func (r *request) sleep(d time.Duration, counts bool, then func()) {
	w := r.process.world
	r.nap++
	nap := r.nap
	r.parkedAt, r.counts, r.ready = w.clock.now, counts, then
	w.clock.plan(d, func() {
		if r.nap == nap {
			r.rise()
		}
	})
}

// rise ends a wait.
func (r *request) rise() {
	p := r.process
	r.nap++
	if r.counts {
		r.waited += p.world.clock.now - r.parkedAt
	}
	p.parked = slices.DeleteFunc(p.parked, func(o *request) bool { return o == r })
	r.ready()
}

// wake ends the waits of a process's requests for whom it is time.
func (p *process) wake(who func(*request) bool) {
	for _, r := range p.parked {
		if who(r) {
			r.nap++
			nap := r.nap
			p.world.clock.plan(0, func() {
				if r.nap == nap {
					r.rise()
				}
			})
		}
	}
}

func (r *request) left() time.Duration { return max(r.process.tuning.MaxWait-r.waited, 0) }

// send puts a request on the wire: it arrives after some part of the latency, and is decided upon then.
func (r *request) send() {
	p, w := r.process, r.process.world
	r.wait(false)
	r.ticket, r.departed = 0, w.clock.now
	p.share.Sent++
	w.timeline.sent++
	w.grants.add(w.clock.now)
	way := time.Duration((0.25 + 0.5*w.chance.Float64()) * float64(w.upstream.mean()))
	w.clock.plan(way, func() {
		a := w.upstream.Answer(w.clock.now)
		latency := max(a.Latency, way)
		if a.Fail == Silent || latency >= p.tuning.RequestTimeout {
			a = Answer{Fail: Silent, Status: 0}
			latency = max(p.tuning.RequestTimeout, way)
		}
		w.clock.plan(latency-way, func() { r.answered(a) })
	})
}

// answered gives the permit back and decides how it goes on.
func (r *request) answered(a Answer) {
	p, w := r.process, r.process.world
	e := ratelimit.Event{Outcome: outcome(&a), Status: a.Status, Latency: w.clock.now - r.departed, Attempt: r.attempt}
	if e.Outcome == ratelimit.Throttled || e.Outcome == ratelimit.Server && e.Status == http.StatusServiceUnavailable {
		e.RetryAfter, _ = ratelimit.ParseRetryAfter(a.Header, epoch.Add(w.clock.now)) // what is odd counts as none
	}
	out := w.snapshot.Record(w.now(), ratelimit.Report{Owner: p.id, Tuning: &p.tuning, Pass: r.pass, Event: e, Draw: w.chance.Float64()})
	if out.Moved {
		w.moved(out.Transition)
		p.wake(func(*request) bool { return true })
	}
	p.leave()
	p.wake(func(o *request) bool { return o.slot })
	w.timeline.answered(e.Outcome)
	r.wait(true)
	switch {
	case e.Outcome == ratelimit.OK:
		p.share.Good++
		r.end()
	case e.Outcome.Retryable() && r.attempt <= p.tuning.MaxRetries:
		r.retry(e.Outcome)
	default:
		r.giveUp(time.Time{})
	}
}

// outcome is what an answer counts as; of a status the limiter's own table decides.
func outcome(a *Answer) ratelimit.Outcome {
	switch a.Fail {
	case Reset, Silent:
		return ratelimit.Network
	case Poisoned:
		return ratelimit.Server
	case None, Status:
	}
	return ratelimit.ClassifyStatus(nil, &http.Response{StatusCode: a.Status}, nil, nil)
}

// retry waits before the next try, as ratelimit's Transport does.
func (r *request) retry(after ratelimit.Outcome) {
	w := r.process.world
	// Full jitter, U(0, min(30 s, 1.5 s * 2^(n-1))); after a 429 everybody's pause is the delay.
	limit := min(1.5*math.Pow(2, float64(r.attempt-1)), 30)
	delay := time.Duration(w.chance.Float64() * limit * float64(time.Second))
	if after == ratelimit.Throttled {
		delay = 0
	}
	r.attempt++
	if delay > r.left() {
		r.giveUp(time.Time{})
		return
	}
	r.askRetry(delay, r.waited)
}

// askRetry asks whether there have been too many retries of late; what that takes is part of the delay.
func (r *request) askRetry(delay, before time.Duration) {
	p, w := r.process, r.process.world
	g := w.snapshot.TryRetry(w.now(), ratelimit.Ask{Owner: p.id, Tuning: &p.tuning, Patience: r.left()})
	switch {
	case g.Granted:
		r.sleep(delay-(r.waited-before), true, func() { p.enter(r) })
	case g.Refused:
		r.giveUp(g.Until)
	case r.left() <= 0:
		r.giveUp(time.Time{})
	default:
		r.sleep(min(g.Wait, r.left()), true, func() { r.askRetry(delay, before) })
	}
}

// giveUp ends an item without success. A run would leave the rest pending then; here its place is taken again when the
// block is over, so that the time after it can be seen.
func (r *request) giveUp(until time.Time) {
	w := r.process.world
	r.process.share.Failed++
	w.timeline.failed++
	rest := time.Second
	if !until.IsZero() {
		rest = min(max(until.Sub(w.now().Wall), rest), time.Minute)
	}
	r.wait(false)
	w.clock.plan(rest, r.process.begin)
}

// end ends an item with success.
func (r *request) end() {
	r.wait(false)
	r.process.world.clock.plan(0, r.process.begin)
}
