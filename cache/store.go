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

// Options are the settings of a Store. A zero field means its default.
type Options struct {
	// Class returns the class of a GET, which determines how long its answer is kept; nil: nothing is cached.
	Class func(*http.Request) Class
	// MaxSize limits the used pages of the database, in bytes. The default is 512 MiB. Above it, the store first removes
	// expired records, and then those that were fetched longest ago.
	MaxSize int64
	// LockWait is how long to wait for the lock of another process before continuing without the cache. The default is
	// 250 ms. If the holder shows that it is active, a request waits up to ClaimTimeout before it asks the upstream.
	LockWait time.Duration
	// ClaimTimeout is how long the holder of a claim may show no activity before another process sends the same request.
	// The holder may have been stopped. The default is 5 s.
	ClaimTimeout time.Duration
	// Memory is how many bytes of decoded answers to keep in memory. It is meant for a process that repeats the same
	// requests. By default, no answers are kept in memory.
	Memory int64
	// Now is the clock that determines which answers are fresh. The default is time.Now.
	Now func() time.Time
	// OnWarning is called once for each kind of problem that the store works around. It may be called from any goroutine,
	// but never while a lock is held. It may be nil.
	OnWarning func(Warning)

	testOptions store.Options // only tests set this
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
	// Warning is a problem that the store works around.
	Warning = store.Warning
	// PruneOptions select what Prune removes in addition to records past KeepLimit.
	PruneOptions = store.PruneOptions
	// PruneResult says what Prune removed.
	PruneResult = store.PruneResult
	// CompactResult is the size of the database file before and after.
	CompactResult = store.CompactResult
	// VerifyReport says what Verify checked and found.
	VerifyReport = store.VerifyReport
)

// KeepLimit is the maximum time that anything is kept, even offline: the terms of TMDB allow six months.
const KeepLimit = store.KeepLimit

var (
	// ErrLocked reports that another process held the cache's lock for longer than the store waits.
	ErrLocked = store.ErrLocked
	// ErrPending reports a change that is kept in memory because the disk can't be written now. Reads see it, and the
	// store writes it in a later transaction, at the latest in Close. It is lost if the process is killed before that.
	ErrPending = store.ErrPending
)

// Store is an open cache directory, which any number of Stores and processes may share. It is safe for concurrent use.
type Store struct {
	opts    Options
	disk    *store.Store
	answers *store.Bucket
	memory  memoryCache
}

// Open opens the cache in dir, and creates the directory with mode 0700 if needed. It starts no goroutine and reads no
// data. If the directory is unusable, that is not an error: the store warns and does what is still possible.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" {
		return nil, errors.New("cache: no directory")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Store{opts: o, memory: memoryCache{maxBytes: o.Memory}}
	disk := o.testOptions
	disk.MaxSize, disk.LockWait, disk.ClaimTimeout = o.MaxSize, o.LockWait, o.ClaimTimeout
	disk.Now, disk.OnWarning, disk.OnWritten = o.Now, o.OnWarning, s.memory.dropWritten
	s.disk = store.Open(dir, disk)
	s.answers = s.disk.Answers()
	return s, nil
}

// Path returns the cache directory.
func (s *Store) Path() string { return s.disk.Path() }

// Close writes pending changes. Changes that it can't write are lost, after a warning. The store can't be used
// afterwards. The error is always nil; it makes Store an io.Closer.
func (s *Store) Close() error {
	s.disk.Close()
	return nil
}

// Bucket returns the namespace called name. A name consists of a lower-case letter and at most 31 lower-case letters,
// digits, '-' and '_'. The names "responses" and "meta" are reserved.
func (s *Store) Bucket(name string) (*Bucket, error) { return s.disk.Bucket(name) }

// Get returns the answer stored under a key (see [KeyOf]), fresh or expired, unless it is older than 180 days. ok is
// false if there is none. If the error is [ErrLocked], the store could not be read.
func (s *Store) Get(ctx context.Context, key string) (e *Entry, ok bool, err error) {
	generation := uint64(0)
	if s.memory.maxBytes > 0 {
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
	if !it.HadFutureDate && generation != 0 &&
		generation == s.answers.Generation(key) { // otherwise another process may have replaced the answer
		s.memory.put(generation, e)
	}
	return e, true, err
}

// Range calls fn for each stored answer in key order, fresh or expired, unless it is older than 180 days. Concurrent
// writes may be missed. It stops at the first error of fn and returns it. fn may use the store.
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

// Put stores an answer, whose body must be a JSON array, or a JSON object that is not empty. If the error is nil, the
// answer is on disk and survives a crash or a power failure. If it is [ErrPending], the answer is only in memory.
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

// Delete removes answers by key. It returns the same errors as Put.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	return s.answers.Delete(ctx, keys...)
}

// Newest returns when the newest answer about each resource was fetched by any process, in the order of resources. The
// time is zero if no answer is stored.
//
// A resource is the key of a request without its query, such as "GET https://api.themoviedb.org:443/3/tv/1399" (see
// [KeyOf]). Answers to that path with any query, and to paths below it ("/3/tv/1399/season/1"), are about the resource.
// 404s count too. Deleted answers, answers older than 180 days, and answers with a date in the future do not.
//
// One session reads thousands of resources. If the error is [ErrLocked], only pending writes of this process count.
func (s *Store) Newest(ctx context.Context, resources ...string) ([]time.Time, error) {
	return s.disk.Newest(ctx, resources...)
}

// WaitingRequests returns how many requests of this process are waiting for the answer of another process.
func (s *Store) WaitingRequests() int { return s.disk.WaitingRequests() }

// Prune removes records past KeepLimit, records that the options select, and records above the size limit. It waits for
// the lock until ctx ends, but at most 30 s.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (PruneResult, error) {
	return s.disk.Prune(ctx, o)
}

// Clear removes everything, in all buckets.
func (s *Store) Clear(ctx context.Context) error { return s.disk.Clear(ctx) }

// Compact rewrites the database without gaps, because the file never shrinks otherwise. It needs free disk space for
// the new file. Meanwhile other processes wait, or continue without the cache.
func (s *Store) Compact(ctx context.Context) (CompactResult, error) { return s.disk.Compact(ctx) }

// Verify checks all pages, the order of keys and the checksums. It changes nothing and lets others read.
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
	Fresh    int // answers that are served without asking the upstream
	Expired  int // answers that are served only if the upstream can't be asked
	Negative int // stored 404s
	ByClass  map[Class]int
	Oldest   time.Time // when the oldest answer was fetched
	Newest   time.Time

	FileSize     int64    // size of the database file
	Used         int64    // bytes in use; Compact frees the others
	MaxSize      int64    // the limit for Used
	DamagedFiles []string // paths of renamed damaged databases
}

// Stats reads the whole cache and returns its statistics.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	u, err := s.disk.Usage(ctx)
	st := Stats{
		FileSize: u.FileSize, Used: u.Used, MaxSize: s.opts.MaxSize, DamagedFiles: u.DamagedFiles, ByClass: map[Class]int{},
	}
	if err != nil {
		return st, err
	}
	now := s.opts.Now()
	err = s.answers.Range(ctx, func(it Item) error {
		status, err := decodeStatus(it.Value)
		if err != nil {
			return nil //nolint:nilerr // skip unreadable records, which Verify reports
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

// memoryCache keeps decoded answers for a process that repeats the same requests (Options.Memory), because opening the
// database and decompressing take most of the time of a request.
//
// It never returns an answer that is older than the stored one. Before a process changes the database, it writes the
// next generation into the lock file. So answers read in one generation are valid until the generation changes.
type memoryCache struct {
	maxBytes int64 // in bytes; 0 to keep nothing

	mu         sync.Mutex
	generation uint64
	entries    map[string]*Entry
	size       int64
}

// entryOverhead is an estimate of the bytes that an answer takes besides its text.
const entryOverhead = 256

func (m *memoryCache) get(generation uint64, key string) *Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if generation == 0 || generation != m.generation {
		return nil
	}
	return m.entries[key]
}

// put adds an answer. It first drops all others if they belong to another generation or if there is no room.
func (m *memoryCache) put(generation uint64, e *Entry) {
	cost := int64(len(e.Key)+len(e.Body)+len(e.ETag)) + entryOverhead
	m.mu.Lock()
	defer m.mu.Unlock()
	if generation == 0 || cost > m.maxBytes {
		return
	}
	if m.entries == nil || generation != m.generation || m.size+cost > m.maxBytes {
		m.generation, m.entries, m.size = generation, map[string]*Entry{}, 0
	}
	m.entries[e.Key] = e
	m.size += cost
}

// dropWritten drops the answers just written. If another process wrote since generation before, it drops all.
func (m *memoryCache) dropWritten(before, now uint64, keys []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before != m.generation {
		return
	}
	m.generation = now
	for _, key := range keys {
		delete(m.entries, key) // m.size still includes the entry until the next reset
	}
}
