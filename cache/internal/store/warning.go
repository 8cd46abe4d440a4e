package store

import (
	"fmt"
	"sync"
)

// WarningKind is what the store had to work around.
type WarningKind string

// The kinds of warnings.
const (
	WarnMemory   WarningKind = "memory"    // the directory can't be used: a private cache in memory for this run
	WarnReadOnly WarningKind = "read_only" // the directory can't be written: reads work, nothing new is kept
	WarnWrite    WarningKind = "write"     // writing failed (disk full): the run goes on without
	WarnCorrupt  WarningKind = "corrupt"   // the database was damaged; Path is where it was set aside
	WarnLocked   WarningKind = "locked"    // a lock was held for too long: done without it
	WarnRecord   WarningKind = "record"    // a stored record was damaged and is ignored
	WarnShared   WarningKind = "shared"    // others may decide what is in the cache, or have put something into it
)

// Warning is one thing that was worked around. It is an error, with the cause inside.
type Warning struct {
	Kind WarningKind
	Path string // the file or directory it is about
	Err  error  // the cause
}

// Error is one line for a person.
func (w Warning) Error() string {
	switch w.Kind {
	case WarnMemory:
		return fmt.Sprintf("cache in %s can't be used, this run keeps its own in memory: %v", w.Path, w.Err)
	case WarnReadOnly:
		return fmt.Sprintf("cache in %s can't be written, new answers are not kept: %v", w.Path, w.Err)
	case WarnWrite:
		return fmt.Sprintf("writing the cache in %s failed, the run goes on without: %v", w.Path, w.Err)
	case WarnCorrupt:
		return fmt.Sprintf("%v; set aside as %s", w.Err, w.Path)
	case WarnLocked:
		return fmt.Sprintf("cache in %s is locked by a process that does not move: %v", w.Path, w.Err)
	case WarnRecord:
		return fmt.Sprintf("a record of the cache in %s is damaged and ignored: %v", w.Path, w.Err)
	case WarnShared:
		return fmt.Sprintf("cache in %s is not this user's alone, and who writes there decides its answers: %v",
			w.Path, w.Err)
	}
	return fmt.Sprintf("cache in %s: %v", w.Path, w.Err)
}

// Unwrap returns the cause.
func (w Warning) Unwrap() error { return w.Err }

// warnings says each kind once.
type warnings struct {
	call func(Warning)
	mu   sync.Mutex
	said map[WarningKind]bool
}

func (ws *warnings) say(w Warning) {
	ws.mu.Lock()
	again := ws.said[w.Kind]
	if ws.said == nil {
		ws.said = map[WarningKind]bool{}
	}
	ws.said[w.Kind] = true
	ws.mu.Unlock()
	if !again && ws.call != nil {
		ws.call(w)
	}
}
