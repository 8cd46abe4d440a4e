package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/anivault/anivault/cache/internal/store"
)

// The defaults of Options.
const (
	defaultMaxSize      = 512 << 20
	defaultLockWait     = 250 * time.Millisecond
	defaultClaimTimeout = 5 * time.Second
)

// Options are the settings of a Store; the zero value means the defaults.
type Options struct {
	// Class returns the class of a request, which decides how long its answer is kept; see tmdb.ClassOf. If it is nil,
	// nothing is cached.
	Class func(*http.Request) Class
	// MaxSize limits the used pages of the database, in bytes; default 512 MiB. Above it the store removes expired records
	// first, then the ones fetched longest ago.
	MaxSize int64
	// LockWait is how long to wait for another process's lock before going on without it; default 250 ms. While the holder
	// shows that it is working, a request waits up to ClaimTimeout before it asks the upstream.
	LockWait time.Duration
	// ClaimTimeout is how long the holder of a claim may show no activity, because it was stopped, say, before another
	// process asks too; default 5 s.
	ClaimTimeout time.Duration
	// Memory limits the decoded answers kept in memory, in bytes, for a process that repeats the same requests. 0 keeps
	// none.
	Memory int64
	// Now is the clock that decides what is fresh. Default time.Now.
	Now func() time.Time
	// OnWarning is called once for each kind of problem that the store worked around, without locks held, from any
	// goroutine.
	OnWarning func(Warning)

	testOptions store.Options // set by tests only
}

// Validate rejects invalid settings.
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
	o.MaxSize = cmp.Or(o.MaxSize, defaultMaxSize)
	o.LockWait = cmp.Or(o.LockWait, defaultLockWait)
	o.ClaimTimeout = cmp.Or(o.ClaimTimeout, defaultClaimTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Class == nil {
		o.Class = func(*http.Request) Class { return Uncached }
	}
	return o
}

type (
	// Bucket is a namespace for plain values.
	Bucket = store.Bucket
	// Item is one value of a Bucket.
	Item = store.Item
	// Warning is a problem that the store worked around.
	Warning = store.Warning
	// PruneOptions select what Prune removes in addition to records past KeepLimit.
	PruneOptions = store.PruneOptions
	// PruneResult tells what Prune removed.
	PruneResult = store.PruneResult
	// CompactResult is the size of the database file before and after.
	CompactResult = store.CompactResult
	// VerifyReport tells what Verify checked and found.
	VerifyReport = store.VerifyReport
)

// KeepLimit is the longest time that anything is kept, whatever the settings, even offline: TMDB's terms allow six
// months.
const KeepLimit = store.KeepLimit

var (
	// ErrLocked reports that another process held the cache's lock for longer than the store waits.
	ErrLocked = store.ErrLocked
	// ErrPending reports a change that is kept in memory because the disk can't be written now. Reads see it, and the
	// store writes it with a later transaction, at the latest in Close. A kill -9 before that loses it.
	ErrPending = store.ErrPending
)

// Store is an open cache directory. It is safe for concurrent use, and any number of Stores, in one or many processes,
// may share a directory.
type Store struct {
	opts    Options
	disk    *store.Store
	answers *store.Bucket
	memory  memory
}

// Open opens the cache in dir and creates the directory (0700) if needed. It starts no goroutine and reads no data. An
// unusable directory is not an error: the store warns and works as well as it can.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" {
		return nil, errors.New("cache: no directory")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Store{opts: o, memory: memory{max: o.Memory}}
	disk := o.testOptions
	disk.MaxSize, disk.LockWait, disk.ClaimTimeout = o.MaxSize, o.LockWait, o.ClaimTimeout
	disk.Now, disk.OnWarning, disk.Written = o.Now, o.OnWarning, s.memory.dropWritten
	s.disk = store.Open(dir, disk)
	s.answers = s.disk.Answers()
	return s, nil
}

// Path returns the cache directory.
func (s *Store) Path() string { return s.disk.Path() }

// Close writes pending changes and releases all claims. The store can't be used afterwards. Changes that can't be
// written even now are lost, after a warning. The error is always nil and makes Store an io.Closer.
func (s *Store) Close() error {
	s.disk.Close()
	return nil
}

// Bucket opens the namespace called name: a lower-case letter, then letters, digits, '-' and '_', at most 32
// characters. "responses" and "meta" are reserved.
func (s *Store) Bucket(name string) (*Bucket, error) { return s.disk.Bucket(name) }

// Get returns the answer stored under a key (see [KeyOf]), fresh or expired, unless it is older than 180 days. ok is
// false if there is none. With [ErrLocked] the store could not look.
func (s *Store) Get(ctx context.Context, key string) (e *Entry, ok bool, err error) {
	generation := uint64(0)
	if s.memory.max > 0 {
		generation = s.answers.Generation(key)
	}
	if e := s.memory.get(generation, key); e != nil {
		return e, true, nil
	}
	it, found, err := s.answers.Get(ctx, key)
	if !found {
		return nil, false, err
	}
	e, bad := decodeEntry(it)
	if bad != nil {
		s.answers.WarnDamaged(key, bad)
		return nil, false, err
	}
	if !it.Ahead && generation != 0 && generation == s.answers.Generation(key) { // else it may have been replaced
		s.memory.put(generation, e)
	}
	return e, true, err
}

// Range calls fn for each stored answer in key order, fresh or expired, unless it is older than 180 days. It may or may
// not see concurrent writes. It stops at the first error and returns it. fn may use the store.
func (s *Store) Range(ctx context.Context, fn func(*Entry) error) error {
	return s.answers.Range(ctx, func(it Item) error {
		e, err := decodeEntry(it)
		if err != nil {
			s.answers.WarnDamaged(it.Key, err)
			return nil
		}
		return fn(e)
	})
}

// Put stores an answer, whose body must be a JSON object or array. If it returns nil the answer is on disk and survives
// a crash or a power failure. With [ErrPending] it is only in memory.
func (s *Store) Put(ctx context.Context, e *Entry) error {
	if err := checkBody(e.Body); err != nil {
		return fmt.Errorf("store %s: %w", e.Key, err)
	}
	return s.putChecked(ctx, e)
}

func (s *Store) putChecked(ctx context.Context, e *Entry) error {
	if len(e.Body) > store.MaxValue {
		return fmt.Errorf("store %.80s: body is too long", e.Key)
	}
	return s.answers.Put(ctx, e.toItem())
}

// Delete removes answers by key. Its errors are those of Put.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	return s.answers.Delete(ctx, keys...)
}

// Newest returns when the newest answer about each resource was fetched, by any process; the zero time if none is
// stored. The result is in the order of resources.
//
// A resource is the key of a request without its query, as in "GET https://api.themoviedb.org:443/3/tv/1399" (see
// [KeyOf]). Answers to that path with any query, and to paths below it ("/3/tv/1399/season/1"), are about the resource.
// 404s count. Deleted answers, answers past their time limit and answers dated in the future do not.
//
// One session reads thousands of resources. With [ErrLocked] the result covers only this process's pending writes.
func (s *Store) Newest(ctx context.Context, resources ...string) ([]time.Time, error) {
	return s.disk.Newest(ctx, resources...)
}

// Awaiting returns how many requests of this process wait for another process's answer.
func (s *Store) Awaiting() int { return s.disk.Awaiting() }

// Prune removes records past KeepLimit, records that the options select, and records above the size limit. It waits for
// the lock as long as ctx allows.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (PruneResult, error) {
	return s.disk.Prune(ctx, o)
}

// Clear removes everything, in all buckets.
func (s *Store) Clear(ctx context.Context) error { return s.disk.Clear(ctx) }

// Compact rewrites the database without gaps, because the file never shrinks by itself. It needs free disk space for
// the result. Meanwhile other processes wait, or go on without the cache.
func (s *Store) Compact(ctx context.Context) (CompactResult, error) { return s.disk.Compact(ctx) }

// Verify checks all pages, the order of the keys and the checksum of each record. It changes nothing, and other
// processes can read meanwhile.
func (s *Store) Verify(ctx context.Context) (VerifyReport, error) {
	return s.disk.Verify(ctx, func(it Item) error {
		e, err := decodeEntry(it)
		if err != nil {
			return err
		}
		return checkBody(e.Body)
	})
}

// Stats describes the contents of a cache directory.
type Stats struct {
	Entries  int // stored answers
	Fresh    int // served without asking the upstream
	Expired  int // served only when the upstream can't be asked
	Negative int // 404s
	ByClass  map[Class]int
	Oldest   time.Time // when the oldest answer was fetched
	Newest   time.Time

	FileSize int64    // size of the database file
	Used     int64    // bytes in use; Compact frees the rest
	MaxSize  int64    // the limit for Used
	SetAside []string // paths of damaged databases that were renamed
}

// Stats reads the whole cache.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	u, err := s.disk.Usage(ctx)
	st := Stats{
		FileSize: u.FileSize, Used: u.Used, MaxSize: s.opts.MaxSize, SetAside: u.SetAside, ByClass: map[Class]int{},
	}
	if err != nil {
		return st, err
	}
	now := s.opts.Now()
	err = s.answers.Range(ctx, func(it Item) error {
		status, err := decodeStatus(it.Value)
		if err != nil {
			return nil //nolint:nilerr // an unreadable record is Verify's business, not a failed count
		}
		e := Entry{FetchedAt: it.FetchedAt, ExpiresAt: it.ExpiresAt}
		st.Entries++
		st.ByClass[s.classOf(it.Key)]++
		if e.Fresh(now) {
			st.Fresh++
		} else {
			st.Expired++
		}
		if status == http.StatusNotFound {
			st.Negative++
		}
		if st.Oldest.IsZero() || e.FetchedAt.Before(st.Oldest) {
			st.Oldest = e.FetchedAt
		}
		if e.FetchedAt.After(st.Newest) {
			st.Newest = e.FetchedAt
		}
		return nil
	})
	return st, err
}

func (s *Store) classOf(key string) Class {
	u, ok := keyURL(key)
	if !ok {
		return Uncached
	}
	return s.opts.Class(&http.Request{Method: http.MethodGet, URL: u})
}

// memory keeps decoded answers of one generation of the database, for a process that repeats the same requests
// (Options.Memory): opening the database and unpacking take most of the time of a request.
//
// It never returns anything older than the disk. Every process writes the next generation into the lock file before it
// changes the database, so answers read in one generation are valid until the generation changes.
type memory struct {
	max int64 // bytes; 0 keeps nothing

	mu         sync.Mutex
	generation uint64
	entries    map[string]*Entry
	size       int64
}

// entryCost estimates what an answer takes besides its bytes.
const entryCost = 256

func (m *memory) get(generation uint64, key string) *Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if generation == 0 || generation != m.generation {
		return nil
	}
	return m.entries[key]
}

// put keeps an answer. It drops all others if they belong to another generation or there is no room.
func (m *memory) put(generation uint64, e *Entry) {
	cost := int64(len(e.Key)+len(e.Body)+len(e.ETag)) + entryCost
	m.mu.Lock()
	defer m.mu.Unlock()
	if generation == 0 || cost > m.max {
		return
	}
	if m.entries == nil || generation != m.generation || m.size+cost > m.max {
		m.generation, m.entries, m.size = generation, map[string]*Entry{}, 0
	}
	m.entries[e.Key] = e
	m.size += cost
}

// dropWritten drops the answers that this process has just written. It keeps the rest: no other process wrote in
// between.
func (m *memory) dropWritten(before, now uint64, keys []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before != m.generation {
		return
	}
	m.generation = now
	for _, key := range keys {
		delete(m.entries, key) // m.size still counts it, until the next reset
	}
}
