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

// Acquire takes a lock that is rarely needed and held for a long time, such as that of an import. It opens the file,
// tries until patience has passed (only once if it is 0), and closes the file on release. For frequent use, take a
// [Lock], which keeps its file open and waits in the kernel. Acquire and Lock exclude each other on the same file. The
// error is [ErrBusy], that of ctx, a [*NotRegularError], or a system error.
func Acquire(ctx context.Context, path string, kind Kind, patience time.Duration) (release func(), err error) {
	f, err := Open(path, os.O_RDWR|os.O_CREATE, 0o600) // fails for a pipe, which package flock would wait for
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
