package app

import (
	"cmp"
	"slices"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// Progress is a run as it stands.
type Progress struct {
	// Files and Series are how many have been found so far; Walked reports that there will be no more.
	Files, Series int64
	Walked        bool

	State        string  // a state's name, or "offline"; "" while it is not known
	Rate         float64 // requests a second that this process may send now; 0 before the first
	Hits, Misses int64
	Stale        int64 // of Hits, those that TMDB should have been asked about and was not
	Elapsed      time.Duration
	Wait         Wait
	Others       bool // answers are waited for that another process is asking for
}

// Wait is what keeps the run from asking; the zero value is nothing.
type Wait struct {
	Why    ratelimit.Why
	Cause  ratelimit.Reason
	State  ratelimit.State
	Until  time.Time // zero if nobody knows
	Status int       // of a pause: of the answer that asked for it, 0 where another process got it
}

// On reports whether there is something to wait for.
func (w Wait) On() bool { return w.Why != ratelimit.WhyNothing }

// Progress returns how the run stands without asking anyone.
func (a *App) Progress() Progress {
	o := a.seen
	p := Progress{
		Walked: a.counts.Walked.Load(), Files: a.counts.Files.Load(), Series: a.counts.Series.Load(),
		Hits: o.hits.Load(), Misses: o.misses.Load(), Stale: o.stale.Load(), Elapsed: time.Since(a.started),
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p.Wait = gravest(o.waiting)
	switch {
	case a.opts.Offline:
		p.State = "offline"
	case o.heard:
		p.State, p.Rate = o.gauges.State.String(), o.gauges.Rate
	}
	if p.Wait.Why == ratelimit.WhyPause {
		p.Wait.Status = o.paused
	}
	if reach[p.Wait.Why] == 0 && o.shared.On() {
		p.Wait = o.shared
	}
	p.Others = o.others > 1
	return p
}

// Look reads the shared state, for a run whose limiter reports nothing: one that has not sent a request yet, or waits
// for another process's answer. It is meant to be called about once a second.
func (a *App) Look() {
	if a.opts.Offline {
		return
	}
	asked := time.Now()
	st, err := a.Limiter()
	if err != nil {
		return // who asks in earnest says so
	}
	o := a.seen
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.heard || o.heardAt.Before(asked) {
		o.gauges.State, o.gauges.Rate, o.heard = st.State, st.Rate, true
	}
	o.shared = sharedWait(st)
	o.others++
	if a.cache.Awaiting() == 0 {
		o.others = 0
	}
}

// sharedWait is what holds up every process, as the shared state has it.
func sharedWait(st ratelimit.Status) Wait {
	switch {
	case st.State == ratelimit.CacheOnly:
		return Wait{Why: ratelimit.WhyCacheOnly, Cause: st.Cause, State: st.State, Until: st.Until}
	case st.State == ratelimit.Sleep:
		return Wait{Why: ratelimit.WhySleep, Cause: st.Cause, State: st.State, Until: st.Until}
	case st.PauseUntil.After(st.At):
		return Wait{Why: ratelimit.WhyPause, Cause: ratelimit.ReasonPause, State: st.State, Until: st.PauseUntil}
	}
	return Wait{}
}

// gravest picks of several waits the one that says most about all of them: what holds everybody up before what
// holds up one request, and of equals the one that ends last.
func gravest(waiting []ratelimit.WaitInfo) Wait {
	if len(waiting) == 0 {
		return Wait{}
	}
	w := slices.MaxFunc(waiting, func(a, b ratelimit.WaitInfo) int {
		return cmp.Or(cmp.Compare(reach[a.Why], reach[b.Why]), a.Until.Compare(b.Until))
	})
	return Wait{Why: w.Why, Cause: w.Cause, State: w.State, Until: w.Until}
}

// reach orders waits by how much they hold up.
var reach = map[ratelimit.Why]int{
	ratelimit.WhyCacheOnly: 5, ratelimit.WhySleep: 4, ratelimit.WhyPause: 3, ratelimit.WhyBackoff: 1,
}
