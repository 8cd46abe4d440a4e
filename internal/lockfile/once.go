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

// Acquire takes a lock that is needed rarely and held for long, such as that of an import. It opens the file, tries
// until patience has passed (0: once), and closes the file on release. For frequent use there is [Lock], which keeps
// its file open and waits in the kernel. The two exclude each other.
//
// Errors: [ErrBusy], ctx's error, [*NotRegularError], and system errors.
func Acquire(ctx context.Context, path string, kind Kind, patience time.Duration) (release func(), err error) {
	f, err := Open(path, os.O_RDWR|os.O_CREATE, 0o600) // flock must not open a pipe
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
