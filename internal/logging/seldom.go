package logging

import (
	"sync"
	"time"
)

// Seldom lets through one line a minute of each kind, and counts the others. The zero Seldom is ready. Kinds have to be
// few: they are kept.
type Seldom struct {
	mu    sync.Mutex
	kinds map[string]*seldomKind
}

type seldomKind struct {
	said  time.Time
	count int
}

// Due counts an event of a kind. It reports whether its line is due, and of how many events since the one before.
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
