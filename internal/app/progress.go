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
	// Files and Series count what the walk through the folders has found so far; Walked reports that it has ended.
	Files, Series int64
	Walked        bool

	State              string  // the name of the limiter's state, or "offline"; "" if unknown
	Rate               float64 // requests a second that this process may send; 0 before the first request
	Hits, Misses       int64
	Stale              int64 // Hits with an expired answer, because TMDB could not be asked
	Elapsed            time.Duration
	Wait               Wait
	AwaitsOtherProcess bool // the run waits for an answer that another process has requested
}

// Wait describes what keeps the run from sending requests. The zero value means that nothing does.
type Wait struct {
	ratelimit.Block
	Status int // the HTTP status that caused a pause; 0 if another process received it
}

// Active reports whether the run has to wait.
func (w Wait) Active() bool { return severity(w.Block) > 0 }

// Progress returns the run's current state from memory.
func (a *App) Progress() Progress {
	o := a.observer
	p := Progress{
		Walked: a.counts.Walked.Load(), Files: a.counts.Files.Load(), Series: a.counts.Series.Load(),
		Hits: o.hits.Load(), Misses: o.misses.Load(), Stale: o.stale.Load(), Elapsed: time.Since(a.started),
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p.Wait = mostSevereWait(o.waiting)
	switch {
	case a.opts.Offline:
		p.State = "offline"
	case o.gaugesKnown:
		p.State, p.Rate = o.gauges.State.String(), o.gauges.Rate
	}
	if p.Wait.Cause == ratelimit.ReasonPause {
		p.Wait.Status = o.pauseStatus
	}
	if !p.Wait.Active() && o.sharedWait.Active() {
		p.Wait = o.sharedWait
	}
	p.AwaitsOtherProcess = o.awaitPolls > 1
	return p
}

// PollSharedState updates the progress from the limiter's shared state. It is called once a second, because the
// limiter's hooks report nothing before the first request and while the run waits for another process's request.
func (a *App) PollSharedState() {
	if a.opts.Offline {
		return
	}
	asked := time.Now()
	st, err := a.Limiter()
	if err != nil {
		return // a request will report the same error
	}
	o := a.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.gaugesKnown || o.gaugesAt.Before(asked) {
		o.gauges, o.gaugesKnown = st.Gauges, true
	}
	o.sharedWait = sharedWait(st)
	o.awaitPolls++
	if a.cache.WaitingRequests() == 0 {
		o.awaitPolls = 0
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

// mostSevereWait returns the wait that affects the most requests; of several such waits, the one that ends last.
func mostSevereWait(waiting []ratelimit.WaitInfo) Wait {
	if len(waiting) == 0 {
		return Wait{}
	}
	w := slices.MaxFunc(waiting, func(a, b ratelimit.WaitInfo) int {
		return cmp.Or(cmp.Compare(severity(a.Block), severity(b.Block)), a.Until.Compare(b.Until))
	})
	return Wait{Block: w.Block}
}

func severity(b ratelimit.Block) int {
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
	minSampleInterval = 100 * time.Millisecond // doubled each time maxSamples is reached
	maxSamples        = 4096
)

// sampler records points of a run for its chart. State and Rate of a point hold until the next one; its counts are
// totals since the run began. The zero value is ready to use.
type sampler struct {
	mu       sync.Mutex
	interval time.Duration
	points   []chart.Point
}

// add records x if enough time has passed since the last point, or if the state or the number of 429s has changed.
func (s *sampler) add(x chart.Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.points); n > 0 {
		last := s.points[n-1]
		if x.At.Before(last.At) { // answers arrived out of order
			x.At = last.At
		}
		if x.State == last.State && x.Throttled == last.Throttled && x.At.Sub(last.At) < max(s.interval, minSampleInterval) {
			return
		}
	}
	s.points = append(s.points, x)
	if len(s.points) < maxSamples {
		return
	}
	s.interval = 2 * max(s.interval, minSampleInterval)
	kept := s.points[:0]
	for i, x := range s.points {
		if i%2 == 0 || x.State != s.points[i-1].State {
			kept = append(kept, x)
		}
	}
	s.points = kept[:min(len(kept), maxSamples*3/4)] // the limit matters only if almost all points change the state
}

// Samples returns the points of the run from its start until now, in time order. The counts of a point are those since
// the previous one. It returns nil if no request was sent.
func (a *App) Samples() []chart.Point {
	a.observer.samples.mu.Lock()
	list := slices.Clone(a.observer.samples.points)
	a.observer.samples.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	first, last := list[0], list[len(list)-1]
	list = slices.Concat(
		[]chart.Point{{At: a.started, State: first.State, Rate: first.Rate}}, list,
		[]chart.Point{a.observer.sample(time.Now(), last.State, last.Rate)})
	for i := len(list) - 1; i > 0; i-- {
		list[i].Requests -= list[i-1].Requests
		list[i].Throttled -= list[i-1].Throttled
	}
	return list
}
