// Package store keeps values for many short-lived processes in one folder: a bbolt file that is opened for one batch of
// reads, or for one transaction, inside a file lock.
//
// A [Bucket] is a name space of [Item] values. [Store.Claim] is the right of one process to ask a question. Prune,
// Clear, Compact and Verify tend the file.
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
	MaxSize      int64         // the bound on the used pages of the database, in bytes
	LockWait     time.Duration // the longest wait for another process's lock
	ClaimTimeout time.Duration // how long a claim's holder may give no sign of life
	Now          func() time.Time
	OnWarning    func(Warning) // is called once for each kind, without locks held, from any goroutine; may be nil
	// Written is called, under the exclusive lock, with the generations before and after a transaction and the keys of
	// answers that it changed. May be nil.
	Written func(before, now uint64, answers []string)

	// Test seams: a file system without locks; the disk is spared; called in each transaction that writes; how long a
	// holder of the lock may give no sign of life, where that is not LockWait.
	NoLocks   bool
	NoSync    bool
	Committed func()
	Silence   time.Duration
}

// Store is an open folder. Many goroutines may use it; any number of Stores, in one or in many processes, may share a
// folder.
type Store struct {
	opts   Options
	db     *database
	claims *claims

	committing sync.Mutex // held by the one who writes what is pending

	mu      sync.Mutex // guards what follows; never held while waiting
	pending pending
	retry   time.Time // until when a disk that refused a write is left alone
	closing bool
	closed  bool
}

// Open opens the store in dir, making the directory (0700) if needed. It starts nothing and reads nothing yet. Where
// the directory can't be used the store works as well as it can, and warns.
func Open(dir string, o Options) *Store {
	s := &Store{opts: o, db: newDatabase(dir, o), pending: newPending()}
	s.claims = &claims{db: s.db, dir: filepath.Join(dir, "locks"), timeout: o.ClaimTimeout, locks: map[string]*claimLock{}}
	if err := os.MkdirAll(s.claims.dir, 0o700); err != nil {
		if _, e := os.Stat(s.db.path); e == nil {
			s.db.goReadOnly(err)
		} else {
			s.db.goPrivate(err)
		}
		return s
	}
	if err := ownedByOthers(dir, s.db.path); err != nil {
		s.db.warned.say(Warning{Kind: WarnShared, Path: dir, Err: err})
	}
	tag(dir)
	removeOlder(dir, formatVersion)
	return s
}

// Path is the store's directory.
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

// Close writes what is held in memory and releases all claims. What can't be written even now is lost, after a warning.
func (s *Store) Close() {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return
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
}

// answers is the bucket whose values may serve after they have expired.
const answers = "responses"

var bucketName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Bucket is a name space for values.
type Bucket struct {
	store *Store
	name  string
}

// Answers returns the bucket whose values may serve after they have expired.
func (s *Store) Answers() *Bucket { return &Bucket{s, answers} }

// Bucket opens the name space called name: a lower-case letter, then letters, digits, '-' and '_', 32 in all.
// "responses" and "meta" are taken.
func (s *Store) Bucket(name string) (*Bucket, error) {
	if name == answers || name == metaBucket || !bucketName.MatchString(name) {
		return nil, fmt.Errorf("cache: bucket name %q can't be used", name)
	}
	return &Bucket{s, name}, nil
}

// Get reads one value. ok is false when there is none. With [ErrLocked] it is not known whether there is one.
func (b *Bucket) Get(ctx context.Context, key string) (item Item, ok bool, err error) {
	items, err := b.GetBatch(ctx, []string{key})
	return items[0], items[0].Key != "", err
}

// GetBatch reads many values, in as few sessions as possible; the result has the order of keys, and an Item without Key
// for each missing one. With [ErrLocked] it has only values that this process has not written yet.
func (b *Bucket) GetBatch(ctx context.Context, keys []string) ([]Item, error) {
	return b.store.lookup(ctx, b.name, keys)
}

// Range calls fn for every value, in key order, fresh or not, but none older than [KeepLimit]. What is written
// meanwhile may or may not be seen. It ends with the first error, which it returns. fn may use the store.
func (b *Bucket) Range(ctx context.Context, fn func(Item) error) error {
	return b.store.walk(ctx, b.name, fn)
}

// Put writes values in one transaction, which it may share with others. When it returns nil they are on disk: they
// survive the death of the process and a loss of power. With [ErrPending] they are kept in memory and go with a later
// transaction, at the latest with Close.
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

// Delete removes values; for its error see Put.
func (b *Bucket) Delete(_ context.Context, keys ...string) error {
	items := make([]Item, len(keys))
	for i, k := range keys {
		items[i].Key = k
	}
	return b.store.put(b.name, items, true)
}

// Bounds of an Item.
const (
	MaxKey   = 32768    // bytes of a key, bbolt's bound
	MaxValue = 32 << 20 // bytes of a value
)

// Generation returns the number of the database's last change, for which what was read of a key may be kept in memory.
// It is 0 where it is not known, and where a change of the key is pending.
func (b *Bucket) Generation(key string) uint64 {
	s := b.store
	if s.db.mode() == modeMemory {
		return 0
	}
	s.mu.Lock()
	_, pending := s.pending.values[slot{b.name, key}]
	closed := s.closed
	s.mu.Unlock()
	if pending || closed {
		return 0
	}
	return s.db.lock.generation()
}

// ErrClosed reports a store that was closed.
var ErrClosed = errors.New("cache: store is closed")

// WarningKind is what the store had to work around.
type WarningKind string

// The kinds of warnings.
const (
	WarnMemory   WarningKind = "memory"    // the directory can't be used: a private cache in memory for this run
	WarnReadOnly WarningKind = "read_only" // the directory can't be written: reads work, nothing new is kept
	WarnWrite    WarningKind = "write"     // writing failed (disk full): the run goes on without
	WarnCorrupt  WarningKind = "corrupt"   // the database was damaged; Path is where it was set aside
	WarnLocked   WarningKind = "locked"    // a lock was held for too long: done without it
	WarnRecord   WarningKind = "record"    // a stored record was damaged and is ignored
	WarnShared   WarningKind = "shared"    // others may decide what is in the cache, or have put something into it
)

// Warning is one thing that was worked around. It is an error, with the cause inside.
type Warning struct {
	Kind WarningKind
	Path string // the file or directory it is about
	Err  error  // the cause
}

// Error is one line for a person.
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

func (ws *warnings) say(w Warning) {
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
