// Package filestore keeps the limiter's state in a folder, for all processes of a machine.
package filestore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

const (
	lockName    = "ratelimit.lock"
	stateName   = "ratelimit.state"
	alivePrefix = "alive-"

	proveEvery = time.Second
	sweepEvery = time.Hour
)

// Backend is a [Backend] in a folder: one lock file and one small state file, both kept open. Each process that
// takes part holds alive-<id> there. It is safe for concurrent use.
type Backend struct {
	dir      string
	patience time.Duration
	now      func() core.Instant
	owner    string
	mode     fs.FileMode // of the files
	lock     *lockfile.Lock

	// These belong to the holder of the lock.
	alive   *lockfile.Alive
	proveAt time.Duration  // when to look whether the alive file is still there
	sweepAt time.Duration  // when to clear away what dead processes have left
	state   *lockfile.File // nil: not open
	copies  copies
	aside   string
	cause   error
}

// NewBackend returns the backend in dir. It touches nothing yet. Exchange waits for the lock for at most patience.
// All processes that share a folder must use the same clock.
func NewBackend(dir string, patience time.Duration, now func() core.Instant) *Backend {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	dir = filepath.Clean(dir)
	b := &Backend{dir: dir, patience: patience, now: now, owner: hex.EncodeToString(id[:8]), mode: fileModeIn(dir)}
	b.lock = lockfile.New(filepath.Join(dir, lockName), lockfile.Options{Mode: b.mode, LastUse: b.written})
	b.alive = lockfile.NewAlive(b.alivePath(b.owner), b.mode)
	b.copies.writer = binary.LittleEndian.Uint64(id[8:])
	return b
}

// Exchange implements [Backend].
func (b *Backend) Exchange(ctx context.Context, change func(core.Instant, []byte) ([]byte, error)) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.lock.Unlock()
	at := b.now()
	old, damage, err := b.load()
	if err != nil {
		return err
	}
	at.Lost = damage != nil || b.copies.damaged
	next, err := change(at, old)
	if errors.Is(err, shared.ErrDamaged) {
		old, damage, at.Lost = nil, err, true
		next, err = change(at, nil)
	}
	if err != nil || next == nil {
		return err
	}
	if b.state == nil || damage != nil || b.unproven(at.Boot) {
		if err := b.prepare(next, at, damage); err != nil {
			return err
		}
		again := b.now()
		again.Lost = at.Lost
		if next, err = change(again, old); err != nil || next == nil {
			return err
		}
	}
	return b.copies.store(next)
}

// prepare does what takes time: it makes this process's alive file, and a state file with next. What was decided before
// is decided once more after it, because a request leaves by the clock of its permit.
func (b *Backend) prepare(next []byte, at core.Instant, damage error) error {
	if err := b.prove(at.Boot); err != nil {
		return err
	}
	if b.state != nil && damage == nil {
		return nil
	}
	if err := b.create(next, at, damage); err != nil {
		return err
	}
	_, damage, err := b.load()
	return errors.Join(damage, err)
}

func (b *Backend) written() time.Time {
	info, err := os.Stat(b.statePath())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (b *Backend) take(ctx context.Context) error {
	err := b.lock.Lock(ctx, lockfile.Exclusive, b.patience)
	if errors.Is(err, fs.ErrNotExist) { // there is no folder, or no longer
		if err = makeDir(b.dir); err == nil {
			err = b.lock.Lock(ctx, lockfile.Exclusive, b.patience)
		}
	}
	return err
}

func (b *Backend) load() (old []byte, damage, err error) {
	if b.state != nil && !b.state.StaysInPlace() {
		b.closeState()
	}
	if b.state == nil {
		f, err := lockfile.OpenNoFollow(b.statePath(), os.O_RDWR, 0)
		var notRegular *lockfile.NotRegularError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			b.copies.damaged = false
			return nil, nil, nil
		case errors.As(err, &notRegular):
			return nil, err, nil
		case err != nil:
			return nil, nil, err
		}
		b.state = f
		b.copies = copies{file: f, writer: b.copies.writer, payload: b.copies.payload, buf: b.copies.buf}
	}
	old, err = b.copies.load()
	if errors.Is(err, errFrameGarbled) {
		if !b.state.InPlace() { // somebody has set it aside already
			b.closeState()
			return b.load()
		}
		return nil, err, nil
	}
	return old, nil, err
}

func (b *Backend) unproven(boot time.Duration) bool {
	return boot >= b.proveAt || boot < b.proveAt-proveEvery
}

// prove makes sure that the others see this process live, before they see what it writes. So a living process and no
// state mean that the state was removed.
func (b *Backend) prove(boot time.Duration) error {
	if err := b.alive.Ensure(); err != nil {
		return err
	}
	b.proveAt = boot + proveEvery
	if boot >= b.sweepAt || boot < b.sweepAt-sweepEvery {
		b.sweepAt = boot + sweepEvery
		b.sweep()
	}
	return nil
}

func (b *Backend) sweep() {
	for _, name := range b.aliveNames() {
		if dead, err := lockfile.TakeOver(filepath.Join(b.dir, name)); err == nil {
			dead.Close()
		}
	}
}

func (b *Backend) aliveNames() []string {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), alivePrefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Owner implements [Liveness].
func (b *Backend) Owner() string { return b.owner }

// Dead implements [Liveness]: a process is dead when nobody holds its alive file. Where nothing can be learnt it counts
// as living.
func (b *Backend) Dead(ids []string) []string {
	var dead []string
	for _, id := range ids {
		if id != b.owner && b.bury(id) {
			dead = append(dead, id)
		}
	}
	return dead
}

func (b *Backend) bury(id string) bool {
	if !validID(id) {
		return true // no process ever had it
	}
	dead, err := lockfile.TakeOver(b.alivePath(id))
	if err == nil {
		dead.Close()
	}
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// Living implements [Liveness].
func (b *Backend) Living() int {
	n := 1
	for _, name := range b.aliveNames() {
		if name != alivePrefix+b.owner && lockfile.Lives(filepath.Join(b.dir, name)) {
			n++
		}
	}
	return n
}

// Leave implements [Leaver]. A copy that is being written meanwhile fails its checksum, and the other one serves.
func (b *Backend) Leave() []byte {
	_ = b.alive.Ensure() // a folder that can't be written has other troubles
	f, err := lockfile.OpenNoFollow(b.statePath(), os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	unlocked := copies{file: f}
	old, err := unlocked.load()
	if err != nil {
		return nil
	}
	return old
}

// Aside implements [Quarantine].
func (b *Backend) Aside() (place string, cause error) { return b.aside, b.cause }

// Close gives everything back. It waits for an Exchange that is under way.
func (b *Backend) Close() error {
	b.lock.Close()
	b.closeState()
	b.alive.Close()
	return nil
}

func (b *Backend) closeState() {
	if b.state != nil {
		b.state.Close()
		b.state = nil
	}
}

func (b *Backend) statePath() string { return filepath.Join(b.dir, stateName) }

func (b *Backend) alivePath(id string) string { return filepath.Join(b.dir, alivePrefix+id) }

// validID guards the paths that are made of ids found in shared files.
func validID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 8
}

// Options tunes [Open]. The zero value is what programs want.
type Options struct {
	// Processes is by how much everything is divided when the folder can't be used at all and nobody knows who else
	// is there; 0 means 2.
	Processes int
	// Now supplies the present moment; nil means [SystemInstant]. All processes that share a folder must use the same
	// clock.
	Now func() core.Instant
	// Patience is how long an update waits for the lock before it goes on alone; 0 means 250 ms.
	Patience time.Duration
	// OnWarning is [SharedOptions].OnWarning.
	OnWarning func(error)
}

// Open returns the store that all processes of a machine share in a folder; see docs/limiter.md,
// "What survives". The folder is made when it is first used; one that can't be used is not an error but a warning, see
// [SharedStore]. The only error is an empty dir.
//
// Files: ratelimit.lock, ratelimit.state, alive-<id> for each process, and ratelimit.state.corrupt-<time> for what
// could not be read.
func Open(dir string, opts Options) (*shared.Store, error) {
	if dir == "" {
		return nil, errors.New("open limiter store: no folder given")
	}
	if opts.Now == nil {
		opts.Now = core.SystemInstant
	}
	if opts.Patience <= 0 {
		opts.Patience = shared.DefaultPatience
	}
	b := NewBackend(dir, opts.Patience, opts.Now)
	return shared.New(b, shared.Options{
		Place: b.dir, Processes: opts.Processes, Patience: opts.Patience, Now: opts.Now, OnWarning: opts.OnWarning,
	}), nil
}
