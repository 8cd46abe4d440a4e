package cache

// Decoded answers in front of the database, for a process that is asked the same questions again and again
// (Options.Memory). A session on the database, its checksum and unpacking cost more than all else that answering takes.
//
// It tells nothing older than what is on disk. An answer stands in for the database's while that is in the state that it was
// read from, and while no journal has a newer one. Both are looked at for every question, the journals first: what has
// moved from one into the database has changed the database. Such a look is a few calls of stat; only writes cost a session.

import "os"

// memory holds answers in two generations, so that what is asked for often stays: when the younger one has half of the
// bytes, it becomes the older one, and what that held and nobody asked for is gone. The store's mutex guards it.
type memory struct {
	max        int64 // bytes; 0: nothing is kept
	state      dbState
	young, old map[string]remembered
	size       int64 // of the younger one
}

// remembered is an answer and the stamp of its record.
type remembered struct {
	entry *Entry
	stamp uint64
}

// entryCost is what an answer takes besides its bytes.
const entryCost = 256

// get returns what is remembered of a state of the database.
func (m *memory) get(state dbState, key string) (remembered, bool) {
	if m.max == 0 || state != m.state || state == (dbState{}) {
		return remembered{}, false
	}
	r, ok := m.young[key]
	if !ok {
		if r, ok = m.old[key]; ok {
			m.add(key, r)
		}
	}
	return r, ok
}

// put remembers an answer. What was read from another state is forgotten.
func (m *memory) put(state dbState, key string, r remembered) {
	if m.max == 0 || state == (dbState{}) {
		return
	}
	if state != m.state {
		m.state, m.young, m.old, m.size = state, nil, nil, 0
	}
	m.add(key, r)
}

func (m *memory) add(key string, r remembered) {
	cost := int64(len(key)+len(r.entry.Body)+len(r.entry.ETag)) + entryCost
	if cost > m.max/2 {
		return
	}
	if m.size+cost > m.max/2 {
		m.old, m.young, m.size = m.young, nil, 0
	}
	if m.young == nil {
		m.young = map[string]remembered{}
	}
	if _, known := m.young[key]; !known {
		m.size += cost
	}
	m.young[key] = r
}

// recall returns the answer that is remembered, nil where the disk has to be read.
func (s *Store) recall(key string) (*Entry, sight) {
	if s.opts.Memory == 0 {
		return nil, sight{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.how == modeMemory {
		return nil, sight{}
	}
	s.refreshPeers()
	newest := s.journalledStamp(slot(responses, key))
	info, err := os.Stat(s.dbPath())
	if err != nil {
		return nil, sight{}
	}
	state := stateOf(info)
	r, ok := s.memory.get(state, key)
	if !ok || newest > r.stamp {
		return nil, sight{}
	}
	return r.entry, sight{state: state, stamp: r.stamp}
}

// remember keeps an answer that was just read. A state that may change without its time changing is not kept, nor what a
// clock that was wrong has dated.
func (s *Store) remember(e *Entry, r record, saw sight) {
	if s.opts.Memory == 0 || saw.recent || saw.blind || r.ahead || isAhead(r.stamp, s.now()) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.put(saw.state, e.Key, remembered{e, r.stamp})
}
