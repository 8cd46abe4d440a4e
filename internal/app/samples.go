package app

import (
	"sync"
	"time"
)

// Sample is the run at one moment: State and Rate hold from then on, the counts are all answers so far.
type Sample struct {
	At                time.Time
	State             string
	Rate              float64
	Requests, HTTP429 int64
}

const (
	sampleEvery = 100 * time.Millisecond // at first; twice as long whenever there are too many
	maxSamples  = 4096
)

// sampler collects samples. The zero value is ready.
type sampler struct {
	mu    sync.Mutex
	every time.Duration
	list  []Sample
}

// add keeps s where enough time has passed since the last one, and always where the state or the 429s have changed.
func (s *sampler) add(x Sample) {
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
		if x.State == last.State && x.HTTP429 == last.HTTP429 && x.At.Sub(last.At) < max(s.every, sampleEvery) {
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

// Samples returns the course of the run from its start until now, in time order; nil where nothing was asked.
func (a *App) Samples() []Sample {
	a.seen.samples.mu.Lock()
	list := append([]Sample(nil), a.seen.samples.list...)
	a.seen.samples.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	first, last := list[0], list[len(list)-1]
	first.At, first.Requests, first.HTTP429 = a.started, 0, 0
	last.At, last.Requests, last.HTTP429 = time.Now(), a.seen.requests.Load(), a.seen.throttled.Load()
	return append(append([]Sample{first}, list...), last)
}
