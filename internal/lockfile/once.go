package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

const pollInterval = 10 * time.Millisecond

// Acquire takes a lock that is wanted rarely and for long, as that of an import: it opens the file, tries until
// patience has passed (0: once), and closes the file with release. The hot path has [Lock], which keeps its file open
// and waits in the kernel. Both exclude each other.
//
// Errors: [ErrBusy], ctx's, [*NotRegularError], and what the system says.
func Acquire(ctx context.Context, path string, kind Kind, patience time.Duration) (release func(), err error) {
	f, err := Open(path, os.O_RDWR|os.O_CREATE, 0o600) // a pipe in its place must not be opened by the library
	if err != nil {
		return nil, err
	}
	f.Close()
	l := flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE|noWait), flock.SetPermissions(0o600))
	try, wait := l.TryLock, l.TryLockContext
	if kind == Shared {
		try, wait = l.TryRLock, l.TryRLockContext
	}
	ok, err := try()
	if err == nil && !ok && patience > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, patience, ErrBusy)
		defer cancel()
		ok, err = wait(bounded, pollInterval)
	}
	switch {
	case ok:
		return func() { _ = l.Close() }, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case err == nil, errors.Is(err, context.DeadlineExceeded):
		err = ErrBusy
	}
	return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), l.Close())
}
