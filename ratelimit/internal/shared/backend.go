package shared

import (
	"context"
	"errors"
	"time"

	"github.com/anivault/anivault/internal/lockfile"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Backend keeps the bytes of one snapshot for several processes. It has no policy: what a [Store] does with the
// bytes, and without them, is the same for all backends. A Backend may implement [Liveness], [Waker], [Pacer],
// [Leaver], [Quarantine], [Coordinator] and io.Closer as well.
type Backend interface {
	// Exchange replaces old by what change makes of it, as one step: no other Exchange on the same bytes happens in
	// between. change is pure and may be called several times; its last call counts. It gets
	//   - old nil where there are no bytes yet,
	//   - old nil and at.Lost where the bytes can't be trusted, and
	//   - at.Lost where they can, but newer ones may be missing.
	// It returns what to keep, nil for nothing. When it returns [ErrDamaged], Exchange calls it again with nil and
	// at.Lost; any other error ends Exchange, which returns it. Damaged bytes are set aside before others take
	// their place. The bytes on both sides are valid until change or Exchange returns.
	//
	// Other errors are [ErrBusy], [ErrNewer], ctx's and what the system says. After one of them nothing is kept,
	// as far as is known.
	Exchange(ctx context.Context, change func(at core.Instant, old []byte) (next []byte, err error)) error
}

// Waker is an optional interface of a [Store] or [Backend] that hears of changes.
type Waker interface {
	// Wake returns a channel that gets a value when the turn of a request of this process may have come; nil if it
	// never does.
	Wake() <-chan struct{}
}

// Pacer is an optional interface of a [Store] or [Backend] to which each question is dear.
type Pacer interface {
	// Nap returns the shortest time between two questions of a request that waits for its turn, if it isn't woken.
	Nap() time.Duration
}

// Leaver is an optional interface of a [Backend].
type Leaver interface {
	// Leave is called when this process goes on alone. From then on the others count it among the living. It returns
	// the newest bytes that can be had while Exchange fails, nil if there are none. It must not wait.
	Leave() []byte
}

// Coordinator is an optional interface of a [Backend] on a server that several machines share.
type Coordinator interface {
	// Machines returns on how many machines these processes run, this one included.
	Machines(owners []string) int
	// Back reports whether Exchange, which has failed, is worth another try. It must not wait.
	Back() bool
	// Lost returns since when the server has left this process without an answer, once Exchange has failed: what the
	// others were given until then, this process may not know. Zero: since just now.
	Lost() time.Time
	// Missed returns since when the server had left this process without an answer, although no Exchange has failed, the
	// first time since Exchange has last written; zero: it always had one. Others may have gone on alone meanwhile.
	Missed() time.Time
	// WakeNext is called by change each time before it returns something to keep. With that the turn of a request of this
	// process, which sleeps, is so far away; "" where nobody has to be woken.
	WakeNext(owner string, in time.Duration)
}

// Quarantine is an optional interface of a [Backend] that sets damaged bytes aside.
type Quarantine interface {
	// Aside returns where the last ones are now, and what was wrong with them.
	Aside() (place string, cause error)
}

var (
	// ErrBusy is what Exchange returns when another process held the bytes for longer than this one's patience.
	ErrBusy = lockfile.ErrBusy
	// ErrNewer is what Exchange returns for bytes that a newer version of the program has written.
	ErrNewer = errors.New("limiter state was written by a newer version")
	// ErrDamaged is what change returns for bytes that it can't read.
	ErrDamaged = errors.New("limiter state is damaged")
)
