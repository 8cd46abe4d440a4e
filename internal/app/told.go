package app

import (
	"errors"
	"io/fs"
	"sync"
)

// told remembers which warnings were said. One cause meets many on their way (a lock that can't be opened: every question to
// the cache), and a person needs to read of it once.
type told struct {
	mu   sync.Mutex
	said map[string]bool
}

// first reports whether a warning's cause is new: the failing of a file, where there is one, else the text.
func (t *told) first(err error) bool {
	cause := err.Error()
	var file *fs.PathError
	if errors.As(err, &file) {
		cause = file.Error()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == nil {
		t.said = map[string]bool{}
	}
	again := t.said[cause]
	t.said[cause] = true
	return !again
}
