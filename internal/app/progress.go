package app

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/ratelimit"
)

// Progress is the current state of a run.
type Progress struct {
	// Files and Series are how many have been found so far; Walked reports that there will be no more.
	Files, Series int64
	Walked        bool

	State        string  // a state's name, or "offline"; "" while it is not known
	Rate         float64 // requests a second that this process may send now; 0 before the first
	Hits, Misses int64
	Stale        int64 // Hits with an expired answer, because TMDB could not be asked
	Elapsed      time.Duration
	Wait         Wait
	Others       bool // waits for an answer that another process asks for
}

// Wait is what keeps the run from asking; the zero value is nothing.
type Wait struct {
	ratelimit.Block
	Status int // of a pause: of the answer that asked for it, 0 where another process got it
}

// On reports whether there is something to wait for.
func (w Wait) On() bool { return reach(w.Block) > 0 }

// Progress returns the run's current state from memory.
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
		return // a request that asks reports this itself
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

const (
	sampleEvery = 100 * time.Millisecond // at first; twice as long whenever there are too many
	maxSamples  = 4096
)

// sampler collects the course of a run: State and Rate hold from a point on, its counts are all answers so far. The
// zero value is ready.
type sampler struct {
	mu    sync.Mutex
	every time.Duration
	list  []chart.Point
}

// add keeps s where enough time has passed since the last one, and always where the state or the 429s have changed.
func (s *sampler) add(x chart.Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.list); n > 0 {
		last := s.list[n-1]
		switch {
		case !x.At.Before(last.At):
		case x.State == last.State:
			return // two answers overtook each other; the counts come with the next
		default:
			x.At = last.At
		}
		if x.State == last.State && x.Throttled == last.Throttled && x.At.Sub(last.At) < max(s.every, sampleEvery) {
			return
		}
	}
	s.list = append(s.list, x)
	if len(s.list) < maxSamples {
		return
	}
	s.every = 2 * max(s.every, sampleEvery)
	kept := s.list[:0]
	for i, x := range s.list {
		if i%2 == 0 || x.State != s.list[i-1].State {
			kept = append(kept, x)
		}
	}
	s.list = kept[:min(len(kept), maxSamples*3/4)] // of a run that does nothing but change its state, the beginning
}

// Samples returns the course of the run from its start until now, in time order, each point with the answers since the
// one before; nil where nothing was asked.
func (a *App) Samples() []chart.Point {
	a.seen.samples.mu.Lock()
	list := slices.Clone(a.seen.samples.list)
	a.seen.samples.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	first, last := list[0], list[len(list)-1]
	list = slices.Concat(
		[]chart.Point{{At: a.started, State: first.State, Rate: first.Rate}}, list,
		[]chart.Point{a.seen.sample(time.Now(), last.State, last.Rate)})
	for i := len(list) - 1; i > 0; i-- {
		list[i].Requests -= list[i-1].Requests
		list[i].Throttled -= list[i-1].Throttled
	}
	return list
}
