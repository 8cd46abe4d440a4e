package ratelimit

import (
	"errors"
	"time"
)

// FileOptions tunes [OpenFileStore]. The zero value is what programs want.
type FileOptions struct {
	// Processes is by how much everything is divided when the folder can't be used at all and nobody knows who else
	// is there; 0 means 2.
	Processes int
	// Now supplies the present moment; nil means [SystemInstant]. All processes that share a folder must use the same
	// clock.
	Now func() Instant
	// Patience is how long an update waits for the lock before it goes on alone; 0 means 250 ms.
	Patience time.Duration
	// OnWarning is [SharedOptions].OnWarning.
	OnWarning func(error)
}

// OpenFileStore returns the store that all processes of a machine share in a folder; see docs/limiter.md,
// "What survives". The folder is made when it is first used; one that can't be used is not an error but a warning, see
// [SharedStore]. The only error is an empty dir.
//
// Files: ratelimit.lock, ratelimit.state, alive-<id> for each process, and ratelimit.state.corrupt-<time> for what
// could not be read.
func OpenFileStore(dir string, opts FileOptions) (*SharedStore, error) {
	if dir == "" {
		return nil, errors.New("open limiter store: no folder given")
	}
	if opts.Now == nil {
		opts.Now = SystemInstant
	}
	if opts.Patience <= 0 {
		opts.Patience = defaultPatience
	}
	b := NewFileBackend(dir, opts.Patience, opts.Now)
	return NewSharedStore(b, SharedOptions{
		Place: b.dir, Processes: opts.Processes, Patience: opts.Patience, Now: opts.Now, OnWarning: opts.OnWarning,
	}), nil
}
