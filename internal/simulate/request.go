package simulate

import (
	"net/http"
	"slices"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

// A request does here what ratelimit's Limiter and Transport do, with planned events in place of timers. The snapshot
// decides about permission.

type process struct {
	world  *world
	id     string
	tuning ratelimit.Tuning

	known  bool       // it has asked for something
	inside int        // requests that hold or want a permit; at most concurrency
	queue  []*request // requests behind them, first come, first served
	parked []*request // requests inside that wait to ask again
	aside  []*request // requests that failed and are due again
	share  Share
}

type request struct {
	process *process
	attempt int           // from 1
	first   uint64        // the number of the first try's permit
	waited  time.Duration // what counts against max_wait
	ticket  uint64
	pass    machine.Pass

	parkedAt time.Duration
	counts   bool   // the present wait counts against max_wait
	slot     bool   // a free slot of its process ends the wait
	nap      uint64 // counts waits: a plan of an earlier wait does nothing

	departed time.Duration
	waiting  bool // it is not on the wire
}

func (p *process) begin() {
	r := &request{process: p, attempt: 1}
	if len(p.aside) > 0 {
		r, p.aside = p.aside[0], p.aside[1:]
	}
	r.wait(true)
	p.enter(r)
}

func (r *request) wait(is bool) {
	t := &r.process.world.timeline
	switch {
	case is && !r.waiting:
		t.present.Waiting++
	case !is && r.waiting:
		t.present.Waiting--
	}
	r.waiting = is
}

func (p *process) enter(r *request) {
	if p.inside < p.tuning.Concurrency && len(p.queue) == 0 {
		p.inside++
		r.ask()
		return
	}
	p.queue = append(p.queue, r)
}

func (p *process) leave() {
	p.inside--
	for p.inside < p.tuning.Concurrency && len(p.queue) > 0 {
		r := p.queue[0]
		p.queue = p.queue[1:]
		p.inside++
		p.world.clock.plan(0, r.ask)
	}
}

func (r *request) ask() {
	p, w := r.process, r.process.world
	g := w.snapshot.TryGrant(w.now(), machine.Ask{
		Owner: p.id, Tuning: &p.tuning, Ticket: r.ticket, MaxWait: r.left(), Lease: p.tuning.RequestTimeout + time.Second,
		Retry: r.attempt > 1,
	})
	r.ticket = g.Ticket
	if !p.known {
		p.known = true
		w.grants.unknown--
	}
	if g.Transitioned {
		w.moved(g.Transition)
		p.wake(func(*request) bool { return true })
	}
	counts := g.State != ratelimit.CacheOnly
	switch {
	case g.Granted:
		if r.pass = g.Pass; r.first == 0 {
			r.first = g.Pass.Number
		}
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
		r.slot = g.Cause == ratelimit.ReasonSlot || g.Cause == ratelimit.ReasonTurn
		p.parked = append(p.parked, r)
		r.parkedAt, r.counts = w.clock.now, counts
		r.riseAfter(nap)
	}
}

// riseAfter plans the end of the present wait; it takes the place of an earlier plan.
func (r *request) riseAfter(d time.Duration) {
	r.nap++
	nap := r.nap
	r.process.world.clock.plan(d, func() {
		if r.nap == nap {
			r.rise()
		}
	})
}

func (r *request) rise() {
	p := r.process
	r.nap++
	if r.counts {
		r.waited += p.world.clock.now - r.parkedAt
	}
	p.parked = slices.DeleteFunc(p.parked, func(o *request) bool { return o == r })
	r.ask()
}

func (p *process) wake(who func(*request) bool) {
	for _, r := range p.parked {
		if who(r) {
			r.riseAfter(0)
		}
	}
}

func (r *request) left() time.Duration { return max(r.process.tuning.MaxWait-r.waited, 0) }

func (r *request) send() {
	p, w := r.process, r.process.world
	r.wait(false)
	r.ticket, r.departed = 0, w.clock.now
	p.share.Sent++
	w.timeline.present.Sent++
	w.grants.add(w.clock.now)
	way := time.Duration((0.25 + 0.5*w.chance.Float64()) * float64(w.config.Latency.Mean()))
	w.clock.plan(way, func() {
		a := w.server.answer(w.clock.now)
		latency := max(a.latency, way)
		if latency >= p.tuning.RequestTimeout {
			a = answer{}
			latency = max(p.tuning.RequestTimeout, way)
		}
		w.clock.plan(latency-way, func() { r.answered(a) })
	})
}

func (r *request) answered(a answer) {
	p, w := r.process, r.process.world
	e := ratelimit.Event{Outcome: outcome(a), Status: a.status, Latency: w.clock.now - r.departed}
	e.Attempt, e.First = r.attempt, r.first
	// A value that can't be read counts as none.
	e.RetryAfter, _ = ratelimit.ParseRetryAfter(a.header, epoch.Add(w.clock.now))
	out := w.snapshot.Record(w.now(), machine.Report{
		Owner: p.id, Tuning: &p.tuning, Pass: r.pass, Event: e, Draw: w.chance.Float64(),
	})
	if out.Transitioned {
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
		r.wait(false)
		w.clock.plan(0, p.begin)
	case e.Outcome.Retryable() && r.attempt < 2*r.tries():
		r.setAside(&e)
		w.clock.plan(0, p.begin)
	default:
		r.giveUp(time.Time{})
	}
}

func outcome(a answer) ratelimit.Outcome {
	switch {
	case a.status == 0:
		return ratelimit.Network
	case a.foreign:
		return ratelimit.Server
	default:
		return ratelimit.ClassifyStatus(nil, &http.Response{StatusCode: a.status}, nil, nil)
	}
}

// tries is how often a request is asked before it waits for the end of the list, and once more there.
func (r *request) tries() int { return 1 + max(r.process.tuning.MaxRetries, 0) }

// setAside asks again later, as a run does: no other request waits for this one.
func (r *request) setAside(e *ratelimit.Event) {
	p, w := r.process, r.process.world
	delay := machine.RetryDelay((r.attempt-1)%r.tries()+1, e, w.chance.Float64())
	r.wait(false)
	r.attempt++
	r.waited = 0
	w.clock.plan(delay, func() { p.aside = append(p.aside, r) })
}

// giveUp: a real run would leave the others pending. Here a new item takes the place when the block is over, so that
// the recovery can be seen.
func (r *request) giveUp(until time.Time) {
	w := r.process.world
	r.process.share.Failed++
	w.timeline.present.Failed++
	rest := time.Second
	if !until.IsZero() {
		rest = min(max(until.Sub(w.now().Wall), rest), time.Minute)
	}
	r.wait(false)
	w.clock.plan(rest, r.process.begin)
}
