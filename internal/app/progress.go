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
	ratelimit.Block
	Status int // of a pause: of the answer that asked for it, 0 where another process got it
}

// On reports whether there is something to wait for.
func (w Wait) On() bool { return reach(w.Block) > 0 }

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
	if p.Wait.Cause == ratelimit.ReasonPause {
		p.Wait.Status = o.paused
	}
	if !p.Wait.On() && o.shared.On() {
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
		o.gauges, o.heard = st.Gauges, true
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
	case st.State == ratelimit.CacheOnly, st.State == ratelimit.Sleep:
		return Wait{Block: st.Block}
	case st.PauseUntil.After(st.At):
		return Wait{Block: ratelimit.Block{State: st.State, Cause: ratelimit.ReasonPause, Until: st.PauseUntil}}
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
		return cmp.Or(cmp.Compare(reach(a.Block), reach(b.Block)), a.Until.Compare(b.Until))
	})
	return Wait{Block: w.Block}
}

// reach orders waits by how much they hold up; 0 is no long wait.
func reach(b ratelimit.Block) int {
	switch {
	case b.Cause == ratelimit.ReasonBackoff:
		return 1
	case b.State == ratelimit.CacheOnly:
		return 4
	case b.State == ratelimit.Sleep:
		return 3
	case b.Cause == ratelimit.ReasonPause:
		return 2
	default:
		return 0
	}
}
