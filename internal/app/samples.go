package app

import (
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/chart"
)

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
