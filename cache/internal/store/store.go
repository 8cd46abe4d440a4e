// Package store keeps values in one folder for many short-lived processes. The values are in a bbolt file. A process
// opens it for one batch of reads, or for one write transaction, while it holds a file lock.
//
// A [Bucket] is a namespace of [Item] values. [Store.Claim] gives one process the right to send a request. Prune,
// Clear, Compact and Verify maintain the file.
package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// Options are the settings of a Store. The durations, MaxSize and Now are required.
type Options struct {
	MaxSize      int64         // limit for the used pages of the database in bytes
	LockWait     time.Duration // maximum wait for the lock of another process
	ClaimTimeout time.Duration // a holder of a claim without activity for this long has stopped
	Now          func() time.Time
	OnWarning    func(Warning) // called once per kind, from any goroutine, while no lock is held; may be nil
	// OnWritten is called after each transaction, while the exclusive lock is held. It gets the generations before and
	// after the transaction, and the keys of the answers that changed. It may be nil.
	OnWritten func(before, now uint64, answers []string)

	// The following fields are for tests.

	NoLocks         bool          // use no file locks
	NoSync          bool          // do not call fsync
	OnCommit        func()        // called after each commit, before the check of the written records
	InactivityLimit time.Duration // a lock holder without activity for this long has stopped; 0 means LockWait
}

// Store is an open folder, which any number of Stores and processes may share. It is safe for concurrent use.
type Store struct {
	opts   Options
	db     *database
	claims *claimTable

	commitMu sync.Mutex // held while writing the pending changes

	mu      sync.Mutex // guards the fields below; never held while waiting for a lock or the disk
	pending pendingChanges
	retryAt time.Time // no writes before this time, because the last one failed
	closing bool
	closed  bool
}

// Open opens the store in dir, and creates the folder with mode 0700 if needed. It starts no goroutine and reads no
// data. If the folder is unusable, the store warns and does what is still possible.
func Open(dir string, o Options) *Store {
	s := &Store{opts: o, db: newDatabase(dir, o), pending: newPending()}
	s.claims = &claimTable{
		db: s.db, dir: filepath.Join(dir, "locks"), inactivityLimit: o.ClaimTimeout, locks: map[string]*claimLock{},
	}
	if err := lockfile.MkdirAll(s.claims.dir); err != nil {
		if _, e := os.Stat(s.db.path); e == nil {
			s.db.stopWriting(err)
		} else {
			s.db.stopUsingDisk(err)
		}
		return s
	}
	if err := checkOwner(dir, s.db.path); err != nil {
		s.db.warnings.warn(Warning{Kind: WarnShared, Path: dir, Err: err})
	}
	tag := filepath.Join(dir, "CACHEDIR.TAG")
	if _, err := os.Lstat(tag); err != nil {
		_ = os.WriteFile(tag, []byte(cacheTag), 0o600) // the cache works without the tag
		lockfile.Adopt(tag)
	}
	removeOldFormats(dir, formatVersion)
	return s
}

// Path returns the folder of the store.
func (s *Store) Path() string { return s.db.dir }

// cacheTag is the content of CACHEDIR.TAG, which tells backup programs to skip the folder
// (https://bford.info/cachedir/).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# This file marks a cache directory of anivault. What is here can be fetched again.\n"

// Close writes pending changes. Changes that it can't write are lost, after a warning.
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
	switch shared := s.db.mode() == modeReadWrite; {
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

// answersBucket is the bucket of the answers. Only they may be served after they have expired.
const answersBucket = "responses"

var bucketNamePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Bucket is a namespace for values.
type Bucket struct {
	store *Store
	name  string
}

// Answers returns the bucket of the answers.
func (s *Store) Answers() *Bucket { return &Bucket{s, answersBucket} }

// Bucket returns the namespace called name. A name consists of a lower-case letter and at most 31 lower-case letters,
// digits, '-' and '_'. The names "responses" and "meta" are reserved.
func (s *Store) Bucket(name string) (*Bucket, error) {
	if name == answersBucket || name == metaBucket || !bucketNamePattern.MatchString(name) {
		return nil, fmt.Errorf("cache: bucket name %q can't be used", name)
	}
	return &Bucket{s, name}, nil
}

// Get reads one value. ok is false if there is none. If the error is [ErrLocked], the store could not be read.
func (b *Bucket) Get(ctx context.Context, key string) (item Item, ok bool, err error) {
	items, err := b.GetBatch(ctx, []string{key})
	return items[0], items[0].Key != "", err
}

// GetBatch reads many values in as few sessions as possible. The result is in the order of keys, and has an Item with
// an empty Key for each missing value. If the error is [ErrLocked], it contains only pending values.
func (b *Bucket) GetBatch(ctx context.Context, keys []string) ([]Item, error) {
	return b.store.lookup(ctx, b.name, keys)
}

// Range calls fn for each value in key order, fresh or expired, unless it is older than [KeepLimit]. Concurrent writes
// may be missed. It stops at the first error of fn and returns it. fn may use the store.
func (b *Bucket) Range(ctx context.Context, fn func(Item) error) error {
	return b.store.forEachItem(ctx, b.name, fn)
}

// Put writes values in one transaction, possibly together with other writes. If the error is nil, the values are on
// disk and survive a crash or a power failure. If it is [ErrPending], they are in memory, and a later transaction
// writes them, at the latest in Close.
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

// Delete removes values. It returns the same errors as Put.
func (b *Bucket) Delete(_ context.Context, keys ...string) error {
	items := make([]Item, len(keys))
	for i, k := range keys {
		items[i].Key = k
	}
	return b.store.put(b.name, items, true)
}

// The limits of an Item.
const (
	MaxKey   = 32768    // maximum bytes of a key, which is the limit of bbolt
	MaxValue = 32 << 20 // maximum bytes of a value
)

// Generation returns the number of the last change of the database. A value read for the key is current until the
// number changes. It is 0 if the number is unknown, or if a change of the key is pending.
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

// WarningKind is the kind of a problem that the store works around.
type WarningKind string

// The kinds of warnings.
const (
	WarnMemory   WarningKind = "memory"    // the folder is unusable; this process keeps its own cache in memory
	WarnReadOnly WarningKind = "read_only" // the folder is read-only; reads work, but nothing is stored
	WarnWrite    WarningKind = "write"     // a write failed, for example because the disk is full
	WarnCorrupt  WarningKind = "corrupt"   // the database was damaged; Path is its new path
	WarnLocked   WarningKind = "locked"    // another process held a lock for too long
	WarnRecord   WarningKind = "record"    // a record is damaged and ignored
	WarnShared   WarningKind = "shared"    // other users can change the cache
)

// Warning is a problem that the store works around. It is an error that wraps the cause.
type Warning struct {
	Kind WarningKind
	Path string // the file or folder with the problem
	Err  error  // the cause
}

func (w Warning) Error() string {
	format, args := w.Message()
	return fmt.Sprintf(format, args...)
}

// Message returns the text of Error as a format of package fmt and its arguments, so that a program can translate it.
func (w Warning) Message() (format string, args []any) {
	return cmp.Or(map[WarningKind]string{
		WarnMemory:   "cache in %s can't be used, this run keeps its own in memory: %v",
		WarnReadOnly: "cache in %s can't be written, new answers are not kept: %v",
		WarnWrite:    "writing the cache in %s failed, the run continues without it: %v",
		WarnCorrupt:  "%[2]v; set aside as %[1]s",
		WarnLocked:   "cache in %s is locked by a process that does not move: %v",
		WarnRecord:   "a record of the cache in %s is damaged and ignored: %v",
		WarnShared:   "cache in %s is not this user's alone, and who writes there decides its answers: %v",
	}[w.Kind], "cache in %s: %v"), []any{w.Path, w.Err}
}

func (w Warning) Unwrap() error { return w.Err }

type warningLog struct {
	callback func(Warning)
	warned   sync.Map // of WarningKind
}

func (ws *warningLog) warn(w Warning) {
	if _, again := ws.warned.LoadOrStore(w.Kind, true); !again && ws.callback != nil {
		ws.callback(w)
	}
}

const day = 24 * time.Hour

// KeepLimit is the maximum time that anything is kept, even offline: the terms of TMDB allow six months.
const KeepLimit = 180 * day

// ClockSlack is how much the clocks of processes and machines may differ.
const ClockSlack = 5 * time.Minute

// Item is one value of a Bucket. An Item with an empty Key stands for a missing value.
type Item struct {
	Key   string // 1 to 32768 bytes
	Value []byte // at most 32 MiB; must not be modified after Put or Get
	// FetchedAt is when the value was fetched; in Put, zero means now. The value is deleted within 180 days.
	FetchedAt time.Time
	// ExpiresAt is when the value expires; zero means never. Get returns an expired value until it is pruned.
	ExpiresAt time.Time
	// HadFutureDate is set if the stored date was in the future: the value counts as fetched now and expired.
	HadFutureDate bool
}

// withoutFutureDates corrects an item whose date is in the future, so that it counts as fetched now and expired.
func (it Item) withoutFutureDates(now time.Time) Item {
	if it.FetchedAt.After(now.Add(ClockSlack)) {
		it.FetchedAt, it.ExpiresAt, it.HadFutureDate = now, now, true
	}
	return it
}

// itemHeaderSize is the length of what precedes each stored value:
//
//	crc32c (4, of bucket, 0, key and all that follows) · fetched (8) · expires (8) · value
const itemHeaderSize = 4 + 8 + 8

var (
	crc32cTable     = crc32.MakeTable(crc32.Castagnoli)
	errItemShort    = errors.New("record is shorter than its head")
	errItemChecksum = errors.New("record does not match its checksum")
)

func (it Item) encode(bucket string) []byte {
	b := make([]byte, 4, itemHeaderSize+len(it.Value))
	b = binary.BigEndian.AppendUint64(b, uint64(ToMilli(it.FetchedAt)))
	b = binary.BigEndian.AppendUint64(b, uint64(ToMilli(it.ExpiresAt)))
	b = append(b, it.Value...)
	binary.BigEndian.PutUint32(b, itemChecksum(bucket, it.Key, b[4:]))
	return b
}

// decodeItem decodes the result of encode. The value of the item aliases b. The checksum covers bucket and key too, so
// it reveals values under a wrong key as well as damaged bytes.
func decodeItem(bucket, key string, b []byte) (Item, error) {
	it, err := decodeItemHeader(b)
	if err != nil {
		return Item{}, err
	}
	if binary.BigEndian.Uint32(b) != itemChecksum(bucket, key, b[4:]) {
		return Item{}, errItemChecksum
	}
	it.Key, it.Value = key, b[itemHeaderSize:]
	return it, nil
}

// decodeItemHeader reads only the dates. Verifying the checksum would require all pages of the value.
func decodeItemHeader(b []byte) (Item, error) {
	if len(b) < itemHeaderSize {
		return Item{}, errItemShort
	}
	return Item{
		FetchedAt: FromMilli(int64(binary.BigEndian.Uint64(b[4:]))),
		ExpiresAt: FromMilli(int64(binary.BigEndian.Uint64(b[12:]))),
	}, nil
}

func itemChecksum(bucket, key string, rest []byte) uint32 {
	sum := crc32.Checksum([]byte(bucket+"\x00"+key), crc32cTable)
	return crc32.Update(sum, crc32cTable, rest)
}

// ToMilli returns t in Unix milliseconds, or 0 for the zero time.
func ToMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMilli reverses ToMilli.
func FromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
