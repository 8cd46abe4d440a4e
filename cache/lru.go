package cache

// Two small memories: decoded answers that were used lately, and what could
// not be written to disk.

import (
	"container/list"
	"sync"
)

const (
	lruEntries   = 1024
	lruBytes     = 16 << 20
	overlayBytes = 64 << 20
)

// lru keeps the entries used last, bounded by number and bytes.
type lru struct {
	mu         sync.Mutex
	order      *list.List // of *Entry, newest first
	byKey      map[string]*list.Element
	size       int
	maxEntries int
	maxSize    int
}

func newLRU(entries, bytes int) *lru {
	return &lru{order: list.New(), byKey: map[string]*list.Element{}, maxEntries: entries, maxSize: bytes}
}

func entrySize(e *Entry) int { return len(e.Key) + len(e.Body) + 128 }

func (l *lru) get(key string) *Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	el := l.byKey[key]
	if el == nil {
		return nil
	}
	l.order.MoveToFront(el)
	return el.Value.(*Entry)
}

// put takes e unless a newer one is there.
func (l *lru) put(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el := l.byKey[e.Key]; el != nil {
		if old := el.Value.(*Entry); old.stamp > e.stamp {
			return
		}
		l.drop(el)
	}
	l.byKey[e.Key] = l.order.PushFront(e)
	l.size += entrySize(e)
	for l.order.Len() > l.maxEntries || l.size > l.maxSize {
		l.drop(l.order.Back())
	}
}

func (l *lru) remove(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el := l.byKey[key]; el != nil {
		l.drop(el)
	}
}

// forget drops what was written before everything was cleared.
func (l *lru) forget(cleared uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for el := l.order.Front(); el != nil; {
		next := el.Next()
		if el.Value.(*Entry).stamp <= cleared {
			l.drop(el)
		}
		el = next
	}
}

func (l *lru) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order.Init()
	clear(l.byKey)
	l.size = 0
}

func (l *lru) drop(el *list.Element) {
	e := l.order.Remove(el).(*Entry)
	delete(l.byKey, e.Key)
	l.size -= entrySize(e)
}

// overlay holds values by slot, bounded by bytes; the oldest go first. The
// store's mutex guards it.
type overlay struct {
	values map[string][]byte
	order  []string
	size   int
	max    int
}

func newOverlay(limit int) *overlay {
	return &overlay{values: map[string][]byte{}, max: limit}
}

func (o *overlay) put(k string, value []byte) {
	if old, ok := o.values[k]; ok {
		o.size -= len(old)
	} else {
		o.order = append(o.order, k)
		o.size += len(k)
	}
	o.values[k] = value
	o.size += len(value)
	for o.size > o.max && len(o.order) > 1 {
		first := o.order[0]
		o.order = o.order[1:]
		o.size -= len(first) + len(o.values[first])
		delete(o.values, first)
	}
}
