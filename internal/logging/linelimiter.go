package logging

import (
	"sync"
	"time"
)

// LineLimiter limits log lines to one per minute and kind, and counts events. The zero LineLimiter is ready to use. It
// keeps every kind in memory, so use only a few kinds.
type LineLimiter struct {
	mu    sync.Mutex
	kinds map[string]*lineCount
}

type lineCount struct {
	lastLogged time.Time
	events     int
}

// Allow counts an event. due reports whether to log a line now. count is then the number of events since the last line.
func (s *LineLimiter) Allow(kind string, now time.Time) (count int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[kind]
	if k == nil {
		if s.kinds == nil {
			s.kinds = map[string]*lineCount{}
		}
		k = &lineCount{}
		s.kinds[kind] = k
	}
	if k.events++; now.Sub(k.lastLogged) < time.Minute {
		return 0, false
	}
	count, k.lastLogged, k.events = k.events, now, 0
	return count, true
}
