package ratelimit

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
)

const (
	lockName    = "ratelimit.lock"
	stateName   = "ratelimit.state"
	alivePrefix = "alive-"

	// proveEvery is how often a process looks whether its alive file is still there.
	proveEvery = time.Second
	// sweepEvery is how often what dead processes have left is cleared away.
	sweepEvery = time.Hour
)

// FileBackend is a [Backend] in a folder: one lock file and one small state file, both kept open. Each process that
// takes part holds alive-<id> there. It is safe for concurrent use.
type FileBackend struct {
	dir      string
	patience time.Duration
	now      func() Instant
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

// NewFileBackend returns the backend in dir. It touches nothing yet. Exchange waits for the lock for at most patience.
// All processes that share a folder must use the same clock.
func NewFileBackend(dir string, patience time.Duration, now func() Instant) *FileBackend {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	dir = filepath.Clean(dir)
	b := &FileBackend{dir: dir, patience: patience, now: now, owner: hex.EncodeToString(id[:8]), mode: fileModeIn(dir)}
	b.lock = lockfile.New(filepath.Join(dir, lockName), lockfile.Options{Mode: b.mode})
	b.alive = lockfile.NewAlive(b.alivePath(b.owner), b.mode)
	b.copies.writer = binary.LittleEndian.Uint64(id[8:])
	return b
}

// Exchange implements [Backend].
func (b *FileBackend) Exchange(ctx context.Context, change func(Instant, []byte) ([]byte, error)) error {
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
	if errors.Is(err, ErrDamaged) {
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
func (b *FileBackend) prepare(next []byte, at Instant, damage error) error {
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

// take takes the lock, and makes the folder if need be.
func (b *FileBackend) take(ctx context.Context) error {
	err := b.lock.Lock(ctx, lockfile.Exclusive, b.patience)
	if errors.Is(err, fs.ErrNotExist) { // there is no folder, or no longer
		if err = makeDir(b.dir); err == nil {
			err = b.lock.Lock(ctx, lockfile.Exclusive, b.patience)
		}
	}
	return err
}

// load returns the newest bytes, nil if there are none. damage says why they can't be trusted.
func (b *FileBackend) load() (old []byte, damage, err error) {
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

// unproven reports whether it is time to look whether the others see this process live.
func (b *FileBackend) unproven(boot time.Duration) bool {
	return boot >= b.proveAt || boot < b.proveAt-proveEvery
}

// prove makes sure that the others see this process live, before they see what it writes. So a living process and no
// state mean that the state was removed.
func (b *FileBackend) prove(boot time.Duration) error {
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

// sweep removes the alive files of the dead.
func (b *FileBackend) sweep() {
	for _, name := range b.aliveNames() {
		if dead, err := lockfile.TakeOver(filepath.Join(b.dir, name)); err == nil {
			dead.Close()
		}
	}
}

// aliveNames returns the names of the alive files of all processes, alive or not.
func (b *FileBackend) aliveNames() []string {
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
func (b *FileBackend) Owner() string { return b.owner }

// Dead implements [Liveness]: a process is dead when nobody holds its alive file. Where nothing can be learnt it counts
// as living.
func (b *FileBackend) Dead(ids []string) []string {
	var dead []string
	for _, id := range ids {
		if id != b.owner && b.bury(id) {
			dead = append(dead, id)
		}
	}
	return dead
}

// bury reports whether a process is dead, and removes its alive file.
func (b *FileBackend) bury(id string) bool {
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
func (b *FileBackend) Living() int {
	n := 1
	for _, name := range b.aliveNames() {
		if name != alivePrefix+b.owner && lockfile.Lives(filepath.Join(b.dir, name)) {
			n++
		}
	}
	return n
}

// Leave implements [Leaver]. A copy that is being written meanwhile fails its checksum, and the other one serves.
func (b *FileBackend) Leave() []byte {
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
func (b *FileBackend) Aside() (place string, cause error) { return b.aside, b.cause }

// Close gives everything back. It waits for an Exchange that is under way.
func (b *FileBackend) Close() error {
	b.lock.Close()
	b.closeState()
	b.alive.Close()
	return nil
}

func (b *FileBackend) closeState() {
	if b.state != nil {
		b.state.Close()
		b.state = nil
	}
}

func (b *FileBackend) statePath() string { return filepath.Join(b.dir, stateName) }

func (b *FileBackend) alivePath(id string) string { return filepath.Join(b.dir, alivePrefix+id) }

// validID guards the paths that are made of ids found in shared files.
func validID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 8
}
