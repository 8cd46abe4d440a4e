package simulate

import (
	"net/http"
	"slices"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

// A simulated request takes the same steps as a request of ratelimit's Limiter and Transport, with scheduled events
// instead of timers. The snapshot grants the permits.

type process struct {
	world  *world
	id     string
	tuning ratelimit.Tuning

	hasAsked   bool       // whether the process has asked for a permit
	slotsUsed  int        // requests that hold or ask for a permit; at most the tuning's Concurrency
	queue      []*request // requests that wait for a slot, first come, first served
	parked     []*request // requests in a slot that wait before they ask for a permit again
	retriesDue []*request // failed requests whose retry is due
	counts     ProcessCounts
}

type request struct {
	process     *process
	attempt     int           // from 1
	firstPermit uint64        // number of the first attempt's permit
	waited      time.Duration // time counted against max_wait so far
	ticket      uint64
	permitID    machine.Pass

	parkedAt    time.Duration
	usesMaxWait bool   // the current wait counts against max_wait
	wantsSlot   bool   // the request waits for a free slot of its process
	waitNumber  uint64 // number of the current wait; scheduled events of earlier waits do nothing

	sentAt  time.Duration
	waiting bool // not sent yet, or already answered
}

func (p *process) startRequest() {
	r := &request{process: p, attempt: 1}
	if len(p.retriesDue) > 0 {
		r, p.retriesDue = p.retriesDue[0], p.retriesDue[1:]
	}
	r.setWaiting(true)
	p.takeSlot(r)
}

func (r *request) setWaiting(waiting bool) {
	t := &r.process.world.timeline
	switch {
	case waiting && !r.waiting:
		t.current.Waiting++
	case !waiting && r.waiting:
		t.current.Waiting--
	}
	r.waiting = waiting
}

func (p *process) takeSlot(r *request) {
	if p.slotsUsed < p.tuning.Concurrency && len(p.queue) == 0 {
		p.slotsUsed++
		r.askPermit()
		return
	}
	p.queue = append(p.queue, r)
}

func (p *process) freeSlot() {
	p.slotsUsed--
	for p.slotsUsed < p.tuning.Concurrency && len(p.queue) > 0 {
		r := p.queue[0]
		p.queue = p.queue[1:]
		p.slotsUsed++
		p.world.clock.schedule(0, r.askPermit)
	}
}

func (r *request) askPermit() {
	p, w := r.process, r.process.world
	g := w.snapshot.TryGrant(w.now(), machine.Ask{
		Owner: p.id, Tuning: &p.tuning, Ticket: r.ticket, MaxWait: r.patienceLeft(),
		Lease: p.tuning.RequestTimeout + time.Second, Retry: r.attempt > 1,
	})
	r.ticket = g.Ticket
	if !p.hasAsked {
		p.hasAsked = true
		w.permits.processesNotAsked--
	}
	if g.Transitioned {
		w.addTransition(g.Transition)
		p.wakeParked(func(*request) bool { return true })
	}
	counts := g.State != ratelimit.CacheOnly
	switch {
	case g.Granted:
		if r.permitID = g.Pass; r.firstPermit == 0 {
			r.firstPermit = g.Pass.Number
		}
		r.send()
	case g.Refused:
		p.freeSlot()
		r.giveUp(g.Until)
	case counts && r.patienceLeft() <= 0:
		w.snapshot.Withdraw(w.now(), g.Ticket)
		r.ticket = 0
		p.freeSlot()
		p.wakeParked(func(o *request) bool { return o.wantsSlot })
		r.giveUp(time.Time{})
	default:
		nap := g.Wait
		if counts {
			nap = min(nap, r.patienceLeft())
		}
		r.wantsSlot = g.Cause == ratelimit.ReasonSlot || g.Cause == ratelimit.ReasonTurn
		p.parked = append(p.parked, r)
		r.parkedAt, r.usesMaxWait = w.clock.now, counts
		r.wakeAfter(nap)
	}
}

// wakeAfter schedules the end of the current wait, in place of an earlier schedule.
func (r *request) wakeAfter(d time.Duration) {
	r.waitNumber++
	nap := r.waitNumber
	r.process.world.clock.schedule(d, func() {
		if r.waitNumber == nap {
			r.wakeUp()
		}
	})
}

func (r *request) wakeUp() {
	p := r.process
	r.waitNumber++
	if r.usesMaxWait {
		r.waited += p.world.clock.now - r.parkedAt
	}
	p.parked = slices.DeleteFunc(p.parked, func(o *request) bool { return o == r })
	r.askPermit()
}

func (p *process) wakeParked(matches func(*request) bool) {
	for _, r := range p.parked {
		if matches(r) {
			r.wakeAfter(0)
		}
	}
}

func (r *request) patienceLeft() time.Duration { return max(r.process.tuning.MaxWait-r.waited, 0) }

func (r *request) send() {
	p, w := r.process, r.process.world
	r.setWaiting(false)
	r.ticket, r.sentAt = 0, w.clock.now
	p.counts.Sent++
	w.timeline.current.Sent++
	w.permits.add(w.clock.now)
	way := time.Duration((0.25 + 0.5*w.rng.Float64()) * float64(w.config.Latency.Mean()))
	w.clock.schedule(way, func() {
		a := w.server.answer(w.clock.now)
		latency := max(a.latency, way)
		if latency >= p.tuning.RequestTimeout {
			a = answer{}
			latency = max(p.tuning.RequestTimeout, way)
		}
		w.clock.schedule(latency-way, func() { r.handleAnswer(a) })
	})
}

func (r *request) handleAnswer(a answer) {
	p, w := r.process, r.process.world
	e := ratelimit.Event{Outcome: outcome(a), Status: a.status, Latency: w.clock.now - r.sentAt}
	e.Attempt, e.First = r.attempt, r.firstPermit
	// An invalid value counts as absent.
	e.RetryAfter, _ = ratelimit.ParseRetryAfter(a.header, startTime.Add(w.clock.now))
	out := w.snapshot.Record(w.now(), machine.Report{
		Owner: p.id, Tuning: &p.tuning, Pass: r.permitID, Event: e, Draw: w.rng.Float64(),
	})
	if out.Transitioned {
		w.addTransition(out.Transition)
		p.wakeParked(func(*request) bool { return true })
	}
	p.freeSlot()
	p.wakeParked(func(o *request) bool { return o.wantsSlot })
	w.timeline.countOutcome(e.Outcome)
	r.setWaiting(true)
	switch {
	case e.Outcome == ratelimit.OK:
		p.counts.Good++
		r.setWaiting(false)
		w.clock.schedule(0, p.startRequest)
	case e.Outcome.Retryable() && r.attempt < 2*r.triesPerRound():
		r.retryLater(&e)
		w.clock.schedule(0, p.startRequest)
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

// triesPerRound returns how many attempts a request gets in one round: when it is first sent, and again each time it is
// retried after the other requests.
func (r *request) triesPerRound() int { return 1 + max(r.process.tuning.MaxRetries, 0) }

// retryLater tries the request again after a delay. As in a real run, other requests go first, and each retry of the
// second round waits like a first one.
func (r *request) retryLater(e *ratelimit.Event) {
	p, w := r.process, r.process.world
	n := r.attempt
	if n >= r.triesPerRound() {
		n = 1
	}
	delay := machine.RetryDelay(n, e, w.rng.Float64())
	r.setWaiting(false)
	r.attempt++
	r.waited = 0
	w.clock.schedule(delay, func() { p.retriesDue = append(p.retriesDue, r) })
}

// giveUp counts the request as failed. A real run would leave all further items pending, but the simulation starts a
// new request when the block is over, to show the recovery.
func (r *request) giveUp(until time.Time) {
	w := r.process.world
	r.process.counts.Failed++
	w.timeline.current.Failed++
	rest := time.Second
	if !until.IsZero() {
		rest = min(max(until.Sub(w.now().Wall), rest), time.Minute)
	}
	r.setWaiting(false)
	w.clock.schedule(rest, r.process.startRequest)
}
