// Package filestore keeps the limiter's state in a folder, for all processes of a machine.
package filestore

import (
	"cmp"
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

	aliveCheckInterval = time.Second
	sweepInterval      = time.Hour
)

// Backend is a [shared.Backend] in a folder with one lock file and one small state file, both kept open. Each process
// also holds a lock on alive-<id> there. It is safe for concurrent use.
type Backend struct {
	dir         string
	lockTimeout time.Duration
	now         func() core.Instant
	owner       string
	mode        fs.FileMode
	lock        *lockfile.Lock

	// The fields below belong to the holder of the lock.
	alive        *lockfile.LivenessFile
	aliveCheckAt time.Duration  // when to check that the alive file still exists
	sweepAt      time.Duration  // when to remove the files of dead processes
	state        *lockfile.File // nil: not open
	copies       copies
	damagedCopy  string
	damageCause  error
}

// NewBackend returns the backend in dir, without creating anything yet. Exchange waits for the lock for at most
// patience. All processes that share a folder must use the same clock.
func NewBackend(dir string, patience time.Duration, now func() core.Instant) *Backend {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	dir = filepath.Clean(dir)
	b := &Backend{dir: dir, lockTimeout: patience, now: now, owner: hex.EncodeToString(id[:8]), mode: 0o600}
	if isSetgid(dir) { // which is how several users share one state
		b.mode = 0o660
	}
	b.lock = lockfile.New(filepath.Join(dir, lockName), lockfile.Options{Mode: b.mode, LastUse: b.lastWrite})
	b.alive = lockfile.NewLivenessFile(b.alivePath(b.owner), b.mode)
	b.copies.writer = binary.LittleEndian.Uint64(id[8:])
	return b
}

// Exchange implements [shared.Backend].
func (b *Backend) Exchange(ctx context.Context, change func(core.Instant, []byte) ([]byte, error)) error {
	if err := b.lockFolder(ctx); err != nil {
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
	if b.state == nil || damage != nil || at.Boot >= b.aliveCheckAt || at.Boot < b.aliveCheckAt-aliveCheckInterval {
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

// prepare does the slow work: it creates this process's alive file, and a state file with next. The caller then repeats
// the decision, because a permit is valid from the time of its decision.
func (b *Backend) prepare(next []byte, at core.Instant, damage error) error {
	if err := b.ensureAlive(at.Boot); err != nil {
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

func (b *Backend) lastWrite() time.Time {
	info, err := os.Stat(b.statePath())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (b *Backend) lockFolder(ctx context.Context) error {
	err := b.lock.Lock(ctx, lockfile.Exclusive, b.lockTimeout)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeDir(b.dir); err == nil {
			err = b.lock.Lock(ctx, lockfile.Exclusive, b.lockTimeout)
		}
	}
	return err
}

func (b *Backend) load() (old []byte, damage, err error) {
	if b.state != nil && !b.state.IsAtPath() {
		b.closeState()
	}
	if b.state == nil {
		f, err := lockfile.OpenNoFollow(b.statePath(), os.O_RDWR, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			b.copies.damaged = false
			return nil, nil, nil
		case errors.As(err, new(*lockfile.NotRegularError)):
			return nil, err, nil
		case err != nil:
			return nil, nil, err
		}
		b.state = f
		b.copies = copies{file: f, writer: b.copies.writer, payload: b.copies.payload, buf: b.copies.buf}
	}
	old, err = b.copies.load()
	if errors.Is(err, errNoValidCopy) {
		if !b.state.IsAtPath() { // another process has moved it already
			b.closeState()
			return b.load()
		}
		return nil, err, nil
	}
	return old, nil, err
}

// ensureAlive creates this process's alive file before the others can see its first write. So a living process without
// a state file means that somebody removed the state.
func (b *Backend) ensureAlive(boot time.Duration) error {
	if err := b.alive.Ensure(); err != nil {
		return err
	}
	b.aliveCheckAt = boot + aliveCheckInterval
	if boot >= b.sweepAt || boot < b.sweepAt-sweepInterval {
		b.sweepAt = boot + sweepInterval
		for _, name := range b.aliveNames() {
			lockfile.RemoveDead(filepath.Join(b.dir, name))
		}
	}
	return nil
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

// Owner implements [core.Liveness].
func (b *Backend) Owner() string { return b.owner }

// Dead implements [core.Liveness]: a process is dead if certainly nobody holds the lock on its alive file.
func (b *Backend) Dead(ids []string) []string {
	var dead []string
	for _, id := range ids {
		raw, err := hex.DecodeString(id) // the shared file may have an id that is not safe in a path; no process has it
		if id != b.owner && (err != nil || len(raw) != 8 || lockfile.RemoveDead(b.alivePath(id))) {
			dead = append(dead, id)
		}
	}
	return dead
}

// Living implements [core.Liveness].
func (b *Backend) Living() int {
	n := 1
	for _, name := range b.aliveNames() {
		if name != alivePrefix+b.owner && lockfile.IsOwnerAlive(filepath.Join(b.dir, name)) {
			n++
		}
	}
	return n
}

// Leave implements [shared.Leaver]. A copy that is being written has a wrong checksum, so Leave returns the other one.
func (b *Backend) Leave() []byte {
	_ = b.alive.Ensure() // best effort, as the folder may not be writable
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

// DamagedCopy implements [shared.Quarantine].
func (b *Backend) DamagedCopy() (place string, cause error) { return b.damagedCopy, b.damageCause }

// Close closes all files. It waits for the current Exchange.
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

// Options are the settings of [Open]. The zero value suits most programs.
type Options struct {
	// Processes is how many processes to assume if the folder can't be used and nobody can count them; 0 means 2.
	Processes int
	// Now returns the current time, the same for all processes of a folder; nil means [core.SystemInstant].
	Now func() core.Instant
	// Patience is how long an update waits for the lock before it continues alone; 0 means 250 ms.
	Patience time.Duration
	// OnWarning is the OnWarning of [shared.Options].
	OnWarning func(error)
}

// Open returns the store that all processes of a machine share in a folder; see docs/limiter.md, "What survives". It
// creates the folder on first use. A folder that can't be used causes a warning, not an error; see [shared.Store]. The
// only error is an empty dir.
//
// Files: ratelimit.lock, ratelimit.state, alive-<id> for each process, and ratelimit.state.corrupt-<time> for a damaged
// state.
func Open(dir string, opts Options) (*shared.Store, error) {
	if dir == "" {
		return nil, errors.New("open limiter store: no folder given")
	}
	if opts.Now == nil {
		opts.Now = core.SystemInstant
	}
	opts.Patience = cmp.Or(opts.Patience, shared.DefaultPatience)
	b := NewBackend(dir, opts.Patience, opts.Now)
	return shared.New(b, shared.Options{
		Place: b.dir, Processes: opts.Processes, Patience: opts.Patience, Now: opts.Now, OnWarning: opts.OnWarning,
	}), nil
}
