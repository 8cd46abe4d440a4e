package logging

import (
	"sync"
	"time"
)

// Seldom limits log lines to one per minute and kind, and counts the suppressed ones. The zero Seldom is ready. It
// keeps every kind in memory, so use few.
type Seldom struct {
	mu    sync.Mutex
	kinds map[string]*seldomKind
}

type seldomKind struct {
	said  time.Time
	count int
}

// Due counts an event. due reports whether to log it now; count is the number of events since the last logged one.
func (s *Seldom) Due(kind string, now time.Time) (count int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[kind]
	if k == nil {
		if s.kinds == nil {
			s.kinds = map[string]*seldomKind{}
		}
		k = &seldomKind{}
		s.kinds[kind] = k
	}
	if k.count++; now.Sub(k.said) < time.Minute {
		return 0, false
	}
	count, k.said, k.count = k.count, now, 0
	return count, true
}
