package shared

import (
	"context"
	"errors"
	"time"

	"github.com/anivault/anivault/internal/lockfile"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Backend keeps the bytes of one snapshot for several processes, and knows which of them live. It has no policy: a
// [Store] works the same over all backends. A Backend may implement [Waker], [Pacer], [Leaver], [Quarantine],
// [Coordinator] and io.Closer as well.
type Backend interface {
	core.Liveness
	// Exchange replaces old by the result of change in one atomic step. change is pure; Exchange may call it several
	// times, and the last call counts. It gets
	//   - old nil if there are no bytes yet,
	//   - old nil and at.Lost if the bytes can't be trusted, and
	//   - old and at.Lost if newer bytes may be missing.
	// It returns the bytes to write, nil for none. If it returns [ErrDamaged], Exchange calls it again with nil and
	// at.Lost; any other error ends Exchange, which returns it. Exchange keeps a copy of damaged bytes before it replaces
	// them. The bytes on both sides are valid until change or Exchange returns.
	//
	// Other errors are [ErrBusy], [ErrNewer], ctx's and the system's. After one of them nothing was written, as far as
	// is known.
	Exchange(ctx context.Context, change func(at core.Instant, old []byte) (next []byte, err error)) error
}

// Waker is an optional interface of a [Store] or [Backend] that is notified of changes.
type Waker interface {
	// Wake returns a channel that gets a value when a request of this process may be next; nil if it never does.
	Wake() <-chan struct{}
}

// Pacer is an optional interface of a [Store] or [Backend] whose updates are expensive.
type Pacer interface {
	// MinAskInterval returns the shortest time between two tries of a waiting request that isn't woken.
	MinAskInterval() time.Duration
}

// Leaver is an optional interface of a [Backend] that can be read while Exchange fails.
type Leaver interface {
	// Leave is called when this process goes on alone. Other processes still count it as living. It returns the newest
	// available bytes, nil if there are none. It must not wait.
	Leave() []byte
}

// Coordinator is an optional interface of a [Backend] on a server that several machines share.
type Coordinator interface {
	// Machines returns the number of machines that these processes and this one run on.
	Machines(owners []string) int
	// MayReconnect reports whether to try Exchange again after a failure. It must not wait.
	MayReconnect() bool
	// LostAt returns when the server stopped answering, after Exchange has failed; zero means just now. What the server
	// granted to others since then is unknown.
	LostAt() time.Time
	// FirstMissed returns when the server first failed to answer since the last write, although no Exchange has failed;
	// zero if it always answered. Other machines may have worked alone meanwhile.
	FirstMissed() time.Time
	// WakeNext is called each time before change returns bytes to write. After the write, the server must wake owner's
	// waiting request after the delay in; owner "" means nobody.
	WakeNext(owner string, in time.Duration)
}

// Quarantine is an optional interface of a [Backend] that keeps a copy of damaged bytes.
type Quarantine interface {
	// DamagedCopy returns where the latest copy is, and why the bytes were damaged.
	DamagedCopy() (place string, cause error)
}

var (
	// ErrBusy means that another process held the lock for longer than Patience.
	ErrBusy = lockfile.ErrBusy
	// ErrNewer means that a newer version of the program has written the bytes.
	ErrNewer = errors.New("limiter state was written by a newer version")
	// ErrDamaged means that the bytes can't be decoded.
	ErrDamaged = errors.New("limiter state is damaged")
)
