package app

import (
	"errors"
	"io/fs"
	"sync"
)

// warnOnce suppresses repeated warnings: one cause, such as a lock that can't be opened, often surfaces through many
// callers.
type warnOnce struct {
	mu   sync.Mutex
	said map[string]bool
}

// first reports whether a warning's cause is new: the failing of a file, where there is one, else the text.
func (w *warnOnce) first(err error) bool {
	cause := err.Error()
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		cause = file.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said == nil {
		w.said = map[string]bool{}
	}
	again := w.said[cause]
	w.said[cause] = true
	return !again
}
