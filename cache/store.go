package cache

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultMaxSize      = 512 << 20
	DefaultLockWait     = 250 * time.Millisecond
	DefaultClaimTimeout = 5 * time.Second
)

// Options are the settings of a Store; the zero value means the defaults.
type Options struct {
	// Class returns the class of a question, which decides how long its answer is kept; see tmdb.ClassOf. Nothing is
	// cached without it.
	Class func(*http.Request) Class
	// MaxSize bounds the database, in bytes of used pages. Above it the expired records go first, then those fetched
	// longest ago.
	MaxSize int64
	// LockWait is the longest wait for another process's lock; after it the store does without. Where the holder shows
	// that it is at work, a question waits for up to ClaimTimeout before it is asked of the upstream.
	LockWait time.Duration
	// ClaimTimeout is how long a process that holds a claim may give no sign of life (because it was stopped, say)
	// before another asks too.
	ClaimTimeout time.Duration
	// Memory bounds the answers that are kept decoded in memory, in bytes: for a process that is asked the same
	// questions again and again. 0: none are.
	Memory int64
	// Now is the clock for what is fetched, fresh, expired. Default time.Now.
	Now func() time.Time
	// OnWarning is called once for each kind of trouble that the store worked around, without locks held, from any
	// goroutine.
	OnWarning func(Warning)

	// Test seams: a file system without locks; the disk is spared; called in each transaction that writes records.
	noLocks   bool
	noSync    bool
	committed func()
}

// Validate refuses settings that make no sense.
func (o Options) Validate() error {
	switch {
	case o.MaxSize < 0:
		return fmt.Errorf("cache: MaxSize %d is negative", o.MaxSize)
	case o.Memory < 0:
		return fmt.Errorf("cache: Memory %d is negative", o.Memory)
	case o.LockWait < 0, o.ClaimTimeout < 0:
		return errors.New("cache: a duration is negative")
	}
	return nil
}

func (o Options) withDefaults() Options {
	def(&o.MaxSize, DefaultMaxSize)
	def(&o.LockWait, DefaultLockWait)
	def(&o.ClaimTimeout, DefaultClaimTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Class == nil {
		o.Class = func(*http.Request) Class { return Uncached }
	}
	return o
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Store is an open cache directory. It may be used by many goroutines; any number of Stores, in one or in many
// processes, may share a directory.
type Store struct {
	opts   Options
	db     *database
	claims *claims

	memory memory

	committing sync.Mutex // held by the one who writes what is pending

	mu      sync.Mutex // guards what follows; never held while waiting
	pending pending
	retry   time.Time // until when a disk that refused a write is left alone
	closing bool
	closed  bool
}

// Open opens the cache in dir, making the directory (0700) if needed. It starts nothing and reads nothing yet. Trouble
// with the directory is not an error: the store then works as well as it can and warns.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" {
		return nil, errors.New("cache: no directory")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Store{opts: o, db: newDatabase(dir, o), memory: memory{max: o.Memory}, pending: newPending()}
	s.claims = &claims{db: s.db, dir: filepath.Join(dir, "locks"), timeout: o.ClaimTimeout, locks: map[string]*claimLock{}}
	if err := os.MkdirAll(s.claims.dir, 0o700); err != nil {
		if _, e := os.Stat(s.db.path); e == nil {
			s.db.goReadOnly(err)
		} else {
			s.db.goPrivate(err)
		}
		return s, nil
	}
	if err := ownedByOthers(dir, s.db.path); err != nil {
		s.db.warned.say(Warning{Kind: WarnShared, Path: dir, Err: err})
	}
	tag(dir)
	removeOlder(dir, formatVersion)
	return s, nil
}

// Path is the cache's directory.
func (s *Store) Path() string { return s.db.dir }

// cacheTag is the text of CACHEDIR.TAG, by which backup programs know what they may leave out
// (https://bford.info/cachedir/).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# This file marks a cache directory of anivault. What is here can be fetched again.\n"

func tag(dir string) {
	path := filepath.Join(dir, "CACHEDIR.TAG")
	if _, err := os.Lstat(path); err == nil {
		return
	}
	_ = os.WriteFile(path, []byte(cacheTag), 0o600) // without the tag everything works as well
}

// Close writes what could not be written yet and gives up all claims. The store can't be used afterwards. What can't be
// written even now is lost, after a warning; the error is always nil, and there for io.Closer.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil
	}
	s.closing = true
	s.mu.Unlock()

	s.committing.Lock()
	defer s.committing.Unlock()
	s.mu.Lock()
	left := len(s.pending.values) > 0
	s.mu.Unlock()
	switch shared := s.db.mode() == modeShared; {
	case shared && left:
		s.commit(closeWait)
	case shared && s.db.pruneDue.Load():
		s.commit(0)
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.db.lock.close()
	return nil
}
