// Package store keeps values for many short-lived processes in one folder: a bbolt file that is opened for one batch of
// reads, or for one transaction, inside a file lock.
//
// A [Bucket] is a namespace of [Item] values. [Store.Claim] gives one process the right to send a request. Prune,
// Clear, Compact and Verify maintain the file.
package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// Options are the settings of a Store. The durations, MaxSize and Now are required.
type Options struct {
	MaxSize      int64         // limit for the used pages of the database, in bytes
	LockWait     time.Duration // longest wait for another process's lock
	ClaimTimeout time.Duration // how long the holder of a claim may show no activity
	Now          func() time.Time
	OnWarning    func(Warning) // called once per kind, without locks held, from any goroutine; may be nil
	// Written is called under the exclusive lock after each transaction, with the generations before and after it and the
	// keys of the answers it changed. May be nil.
	Written func(before, now uint64, answers []string)

	// For tests: no file locks; no fsync; called in each write transaction; how long a lock holder may be inactive, if not
	// LockWait.
	NoLocks   bool
	NoSync    bool
	Committed func()
	Silence   time.Duration
}

// Store is an open folder. It is safe for concurrent use, and any number of Stores, in one or many processes, may share
// a folder.
type Store struct {
	opts   Options
	db     *database
	claims *claims

	commitMu sync.Mutex // held while writing the pending changes

	mu      sync.Mutex // guards the fields below; never held while waiting
	pending pending
	retryAt time.Time // no writes before this time, after the disk refused one
	closing bool
	closed  bool
}

// Open opens the store in dir and creates the directory (0700) if needed. It starts no goroutine and reads no data. If
// the directory is unusable, the store warns and works as well as it can.
func Open(dir string, o Options) *Store {
	s := &Store{opts: o, db: newDatabase(dir, o), pending: newPending()}
	s.claims = &claims{db: s.db, dir: filepath.Join(dir, "locks"), timeout: o.ClaimTimeout, locks: map[string]*claimLock{}}
	if err := os.MkdirAll(s.claims.dir, 0o700); err != nil {
		if _, e := os.Stat(s.db.path); e == nil {
			s.db.stopWriting(err)
		} else {
			s.db.stopUsingDisk(err)
		}
		return s
	}
	if err := ownedByOthers(dir, s.db.path); err != nil {
		s.db.warnings.warn(Warning{Kind: WarnShared, Path: dir, Err: err})
	}
	tag(dir)
	removeOlder(dir, formatVersion)
	return s
}

// Path returns the store's directory.
func (s *Store) Path() string { return s.db.dir }

// cacheTag is the content of CACHEDIR.TAG, which tells backup programs that they may skip the folder
// (https://bford.info/cachedir/).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# This file marks a cache directory of anivault. What is here can be fetched again.\n"

func tag(dir string) {
	path := filepath.Join(dir, "CACHEDIR.TAG")
	if _, err := os.Lstat(path); err == nil {
		return
	}
	_ = os.WriteFile(path, []byte(cacheTag), 0o600) // the tag is optional
}

// Close writes pending changes and releases all claims. Changes that can't be written even now are lost, after a
// warning.
func (s *Store) Close() {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return
	}
	s.closing = true
	s.mu.Unlock()

	s.commitMu.Lock()
	defer s.commitMu.Unlock()
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
}

// answers is the bucket whose values may be served after they have expired.
const answers = "responses"

var bucketName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Bucket is a namespace for values.
type Bucket struct {
	store *Store
	name  string
}

// Answers returns the bucket whose values may be served after they have expired.
func (s *Store) Answers() *Bucket { return &Bucket{s, answers} }

// Bucket opens the namespace called name: a lower-case letter, then letters, digits, '-' and '_', at most 32
// characters. "responses" and "meta" are reserved.
func (s *Store) Bucket(name string) (*Bucket, error) {
	if name == answers || name == metaBucket || !bucketName.MatchString(name) {
		return nil, fmt.Errorf("cache: bucket name %q can't be used", name)
	}
	return &Bucket{s, name}, nil
}

// Get reads one value. ok is false if there is none. With [ErrLocked] the store could not look.
func (b *Bucket) Get(ctx context.Context, key string) (item Item, ok bool, err error) {
	items, err := b.GetBatch(ctx, []string{key})
	return items[0], items[0].Key != "", err
}

// GetBatch reads many values in as few sessions as possible. The result is in the order of keys, with an Item without
// Key for each missing one. With [ErrLocked] it has only pending values.
func (b *Bucket) GetBatch(ctx context.Context, keys []string) ([]Item, error) {
	return b.store.lookup(ctx, b.name, keys)
}

// Range calls fn for each value in key order, fresh or expired, unless it is older than [KeepLimit]. It may or may not
// see concurrent writes. It stops at the first error and returns it. fn may use the store.
func (b *Bucket) Range(ctx context.Context, fn func(Item) error) error {
	return b.store.forEachItem(ctx, b.name, fn)
}

// Put writes values in one transaction, possibly shared with other writes. If it returns nil they are on disk and
// survive a crash or a power failure. With [ErrPending] they are in memory, and a later transaction writes them, at the
// latest in Close.
func (b *Bucket) Put(_ context.Context, items ...Item) error {
	for i := range items {
		if n := len(items[i].Key); n == 0 || n > MaxKey {
			return fmt.Errorf("cache: a key of %d bytes can't be stored", n)
		}
		if n := len(items[i].Value); n > MaxValue {
			return fmt.Errorf("cache: a value of %d bytes can't be stored", n)
		}
	}
	return b.store.put(b.name, items, false)
}

// Delete removes values. Its errors are those of Put.
func (b *Bucket) Delete(_ context.Context, keys ...string) error {
	items := make([]Item, len(keys))
	for i, k := range keys {
		items[i].Key = k
	}
	return b.store.put(b.name, items, true)
}

// The limits of an Item.
const (
	MaxKey   = 32768    // bytes of a key; bbolt's limit
	MaxValue = 32 << 20 // bytes of a value
)

// Generation returns the number of the database's last change. The caller may keep a value that it read from the key in
// memory until the number changes. It is 0 if it is unknown or a change of the key is pending.
func (b *Bucket) Generation(key string) uint64 {
	s := b.store
	if s.db.mode() == modeMemory {
		return 0
	}
	s.mu.Lock()
	_, pending := s.pending.values[valueKey{b.name, key}]
	closed := s.closed
	s.mu.Unlock()
	if pending || closed {
		return 0
	}
	return s.db.lock.generation()
}

// ErrClosed reports that the store is closed.
var ErrClosed = errors.New("cache: store is closed")

// WarningKind is the kind of a problem that the store worked around.
type WarningKind string

// The kinds of warnings.
const (
	WarnMemory   WarningKind = "memory"    // the directory is unusable: a private cache in memory for this run
	WarnReadOnly WarningKind = "read_only" // the directory is read-only: reads work, nothing new is stored
	WarnWrite    WarningKind = "write"     // a write failed (disk full): the run goes on without it
	WarnCorrupt  WarningKind = "corrupt"   // the database was damaged; Path is its new name
	WarnLocked   WarningKind = "locked"    // another process held a lock for too long: the run goes on without it
	WarnRecord   WarningKind = "record"    // a stored record was damaged and is ignored
	WarnShared   WarningKind = "shared"    // other users can change the cache
)

// Warning is a problem that the store worked around. It is an error that wraps the cause.
type Warning struct {
	Kind WarningKind
	Path string // the file or directory with the problem
	Err  error  // the cause
}

// Error returns one line for a person.
func (w Warning) Error() string {
	switch w.Kind {
	case WarnMemory:
		return fmt.Sprintf("cache in %s can't be used, this run keeps its own in memory: %v", w.Path, w.Err)
	case WarnReadOnly:
		return fmt.Sprintf("cache in %s can't be written, new answers are not kept: %v", w.Path, w.Err)
	case WarnWrite:
		return fmt.Sprintf("writing the cache in %s failed, the run goes on without: %v", w.Path, w.Err)
	case WarnCorrupt:
		return fmt.Sprintf("%v; set aside as %s", w.Err, w.Path)
	case WarnLocked:
		return fmt.Sprintf("cache in %s is locked by a process that does not move: %v", w.Path, w.Err)
	case WarnRecord:
		return fmt.Sprintf("a record of the cache in %s is damaged and ignored: %v", w.Path, w.Err)
	case WarnShared:
		return fmt.Sprintf("cache in %s is not this user's alone, and who writes there decides its answers: %v",
			w.Path, w.Err)
	}
	return fmt.Sprintf("cache in %s: %v", w.Path, w.Err)
}

// Unwrap returns the cause.
func (w Warning) Unwrap() error { return w.Err }

type warnings struct {
	call func(Warning)
	mu   sync.Mutex
	said map[WarningKind]bool
}

func (ws *warnings) warn(w Warning) {
	ws.mu.Lock()
	again := ws.said[w.Kind]
	if ws.said == nil {
		ws.said = map[WarningKind]bool{}
	}
	ws.said[w.Kind] = true
	ws.mu.Unlock()
	if !again && ws.call != nil {
		ws.call(w)
	}
}
