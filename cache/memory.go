package cache

import "sync"

// memory holds decoded answers of one generation of the database, for a process that is asked the same questions again
// and again (Options.Memory): a session with its unpacking takes longer than all else that answering takes.
//
// It tells nothing older than what is on disk. Whoever may change the database writes the next generation into the lock
// file before, so an answer that was read in one generation holds until there is another.
type memory struct {
	max int64 // bytes; 0: nothing is kept

	mu         sync.Mutex
	generation uint64
	entries    map[string]*Entry
	size       int64
}

// entryCost is what an answer takes besides its bytes.
const entryCost = 256

// get returns what is kept of a generation, nil if nothing is.
func (m *memory) get(generation uint64, key string) *Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if generation == 0 || generation != m.generation {
		return nil
	}
	return m.entries[key]
}

// put keeps an answer. What is of another generation goes, and so does everything when there is no room.
func (m *memory) put(generation uint64, e *Entry) {
	cost := int64(len(e.Key)+len(e.Body)+len(e.ETag)) + entryCost
	m.mu.Lock()
	defer m.mu.Unlock()
	if generation == 0 || cost > m.max {
		return
	}
	if m.entries == nil || generation != m.generation || m.size+cost > m.max {
		m.generation, m.entries, m.size = generation, map[string]*Entry{}, 0
	}
	m.entries[e.Key] = e
	m.size += cost
}

// written drops what this process has just written, and keeps the rest: nobody else was in between.
func (m *memory) written(before, now uint64, batch []waiting) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before != m.generation {
		return
	}
	m.generation = now
	for _, w := range batch {
		if bucket, key := cutSlot(w.slot); bucket == responses {
			delete(m.entries, key) // its cost is counted until there is no room
		}
	}
}
