package ratelimit

// The store that all processes of a machine share: one lock file, one small state file,
// both kept open. This file decides the order of one update and what ends it; how bytes
// lie is in fileframe.go, the lock in filelock.go, what happens without them in filealone.go.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// FileOptions tunes a [FileStore]. The zero value is what programs want.
type FileOptions struct {
	// Processes is by how much everything is divided when the folder cannot be used
	// at all and nobody knows who else is there; 0 means 2.
	Processes int
	// Now supplies the present moment; nil means [SystemInstant]. All processes that share a
	// folder must use the same clock.
	Now func() Instant
	// Patience is how long an update waits for the lock before it goes on alone; 0 means 250 ms.
	Patience time.Duration
	// OnWarning is told, with no lock held, that something is wrong and has been dealt with.
	// The error is a [*StoreWarning]; each kind comes at most once a minute. It
	// may use the store. Nil drops the warnings.
	OnWarning func(error)
}

const (
	defaultProcesses = 2
	defaultPatience  = 250 * time.Millisecond
	// lookEvery is how often a store looks whether its files still lie where it found
	// them, and how often one that is alone tries to get back.
	lookEvery = time.Second
	// maxReopen bounds how often one update may find its files replaced.
	maxReopen = 4
)

// ErrStoreClosed is what Update returns after Close.
var ErrStoreClosed = errors.New("limiter store is closed")

// FileStore is a [Store] in a folder that several processes share (docs/limiter.md,
// "What survives"). It is a [Liveness] and a [Sharing] as well.
//
// A FileStore never fails for reasons of its own: what goes wrong with the files is a
// warning, and the process goes on with a part of everything ([Instant.Parts]) until they
// are usable again. It is safe for concurrent use.
type FileStore struct {
	dir       string
	now       func() Instant
	patience  time.Duration
	processes int
	onWarning func(error)
	writer    uint64
	owner     string

	turn chan struct{} // holds one token: whose turn it is in this process

	// Everything below belongs to the one who has the turn.
	closed   bool
	alive    *alive
	lock     *fileLock
	state    *os.File
	copies   copies
	lookAt   time.Duration // when to look again whether the files are in their place
	snap     Snapshot      // what copies.payload decodes to, if decoded
	decoded  bool
	seen     bool // snap is, or was before an error, a snapshot of this state
	damaged  bool // the state was set aside, and no other is there yet
	encoded  []byte
	alone    *solitude     // nil: in contact
	trouble  error         // while alone: why,
	parts    int           // in how many parts,
	retryAt  time.Duration // and until when
	warnings []error
	warned   map[string]time.Duration
}

// OpenFileStore opens the store in dir and makes the folder if need be. A folder that
// cannot be used is not an error but a warning, see [FileStore]. The only error is an empty dir.
//
// Files: ratelimit.lock, ratelimit.state, alive-<id> for each process, and
// ratelimit.state.corrupt-<time> for what could not be read.
func OpenFileStore(dir string, opts FileOptions) (*FileStore, error) {
	if dir == "" {
		return nil, errors.New("open limiter store: no folder given")
	}
	s := &FileStore{
		dir: filepath.Clean(dir), now: opts.Now, patience: opts.Patience, processes: opts.Processes,
		onWarning: opts.OnWarning, writer: rand.Uint64(), owner: newAliveID(),
		turn: make(chan struct{}, 1), warned: map[string]time.Duration{},
	}
	if s.now == nil {
		s.now = SystemInstant
	}
	if s.patience <= 0 {
		s.patience = defaultPatience
	}
	if s.processes <= 0 {
		s.processes = defaultProcesses
	}
	if err := s.open(); err != nil {
		s.goAlone(s.now(), err, nil)
	}
	s.tell(s.takeWarnings())
	return s, nil
}

// Owner implements [Liveness].
func (s *FileStore) Owner() string { return s.owner }

// Dead implements [Liveness]: an id is dead when nobody holds its lock.
func (s *FileStore) Dead(ids []string) []string {
	var dead []string
	for _, id := range ids {
		if id != s.owner && deadIn(s.dir, id) {
			dead = append(dead, id)
		}
	}
	return dead
}

// Update implements [Store]. Its errors are those of fn and of ctx, and ErrStoreClosed.
func (s *FileStore) Update(ctx context.Context, fn func(now Instant, s *Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	warnings, err := s.update(ctx, fn)
	s.tell(warnings)
	return err
}

// Close gives everything back. It waits for an update that is under way.
func (s *FileStore) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closed {
		return nil
	}
	s.closed = true
	s.alive.close()
	s.closeFiles()
	return nil
}

// update has the turn and gives it back.
func (s *FileStore) update(ctx context.Context, fn func(Instant, *Snapshot) error) (warnings []error, err error) {
	defer func() {
		warnings = s.takeWarnings()
		<-s.turn
	}()
	if s.closed {
		return nil, ErrStoreClosed
	}
	if s.alone != nil && !s.mayReturn() {
		return nil, s.updateAlone(fn)
	}
	trouble, err := s.updateShared(ctx, fn)
	if trouble != nil {
		last := s.lastSeen() // before now is taken: somebody may be writing
		s.goAlone(s.now(), trouble, last)
		return nil, s.updateAlone(fn)
	}
	return nil, err
}

// updateShared does the update on the shared state. Trouble means that fn has not had its
// say and the state cannot be reached.
func (s *FileStore) updateShared(ctx context.Context, fn func(Instant, *Snapshot) error) (trouble, err error) {
	if s.lock == nil {
		if err := s.open(); err != nil {
			return err, nil
		}
	}
	for try := 1; ; try++ {
		if err := s.lock.lock(ctx, s.patience); err != nil {
			if cerr := ctx.Err(); cerr != nil && errors.Is(err, cerr) {
				return nil, err
			}
			return err, nil
		}
		now := s.now()
		fresh, trouble := s.inPlace(now)
		if trouble == nil && fresh {
			return s.updateLocked(now, fn)
		}
		s.closeFiles() // which unlocks
		if trouble == nil {
			trouble = s.open()
		}
		if trouble == nil && try >= maxReopen {
			trouble = errors.New("the limiter's files are replaced all the time")
		}
		if trouble != nil {
			return trouble, nil
		}
	}
}

// updateLocked holds the lock and gives it back.
func (s *FileStore) updateLocked(now Instant, fn func(Instant, *Snapshot) error) (trouble, err error) {
	defer func() {
		if uerr := s.lock.unlock(); uerr != nil {
			s.closeFiles() // a closed file holds no lock
		}
	}()
	if err := s.load(now); err != nil {
		return err, nil
	}
	if s.alone != nil {
		s.snap.rejoin(now, s.alone, s.owner)
		s.alone, s.trouble = nil, nil
	}
	s.decoded = false // not to be trusted if fn fails or panics
	if err := fn(now, &s.snap); err != nil {
		return nil, err
	}
	if done := s.now(); done.Boot-now.Boot >= s.patience {
		s.snap.uncertain(done) // this process was stopped; the others have gone on alone
	}
	s.encoded, _ = s.snap.AppendBinary(s.encoded[:0])
	if err := s.copies.store(s.encoded); err != nil {
		// fn has decided on what it saw; that is kept, alone.
		s.goAlone(now, err, &s.snap)
		return nil, nil
	}
	s.decoded = true
	return nil, nil
}

// inPlace tells, with the lock held, whether the files that are locked and open are
// still the ones that others find. Twice: cheaply each time, thoroughly each second.
func (s *FileStore) inPlace(now Instant) (bool, error) {
	if !linked(s.lock.file) {
		return false, nil
	}
	if now.Boot >= s.lookAt || now.Boot < s.lookAt-lookEvery {
		s.lookAt = now.Boot + lookEvery
		if !sameFile(s.lock.file, filepath.Join(s.dir, lockName)) {
			return false, nil
		}
		if s.state != nil && !sameFile(s.state, filepath.Join(s.dir, stateName)) {
			s.closeState()
		}
		if err := s.alive.ensure(); err != nil {
			return false, err
		}
	}
	if s.state != nil && !linked(s.state) {
		s.closeState()
	}
	return true, nil
}

// open makes the folder, the proof of life and the lock file. The state file is opened
// under the lock.
func (s *FileStore) open() error {
	if err := os.MkdirAll(s.dir, dirMode); err != nil {
		return fmt.Errorf("open limiter store: %w", err)
	}
	mode, err := fileModeIn(s.dir)
	if err != nil {
		return fmt.Errorf("open limiter store: %w", err)
	}
	if s.alive == nil {
		s.alive = &alive{dir: s.dir, id: s.owner, mode: mode}
	}
	if err := s.alive.ensure(); err != nil {
		return err
	}
	f, err := openRegular(filepath.Join(s.dir, lockName), os.O_CREATE, mode)
	if err != nil {
		return fmt.Errorf("open limiter store: %w", err)
	}
	s.lock = newFileLock(f)
	return nil
}

func (s *FileStore) closeState() {
	if s.state != nil {
		s.state.Close()
		s.state = nil
	}
	s.decoded = false
}

func (s *FileStore) closeFiles() {
	s.closeState()
	if s.lock != nil {
		s.lock.close()
		s.lock = nil
	}
}

// sameFile tells whether path leads to the file that is open.
func sameFile(f *os.File, path string) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, there)
}
