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

// Defaults of Options.
const (
	defaultMaxSize      = 512 << 20
	defaultLockWait     = 250 * time.Millisecond
	defaultClaimTimeout = 5 * time.Second
)

// Options are the settings of a Store; the zero value means the defaults.
type Options struct {
	// Class returns the class of a question, which decides how long its answer is kept; see tmdb.ClassOf. Nothing is
	// cached without it.
	Class func(*http.Request) Class
	// MaxSize bounds the database, in bytes of used pages; default 512 MiB. Above it the expired records go first, then
	// those fetched longest ago.
	MaxSize int64
	// LockWait is the longest wait for another process's lock, default 250 ms; after it the store does without. Where
	// the holder shows that it is at work, a question waits for up to ClaimTimeout before it is asked of the upstream.
	LockWait time.Duration
	// ClaimTimeout is how long a process that holds a claim may give no sign of life (because it was stopped, say)
	// before another asks too; default 5 s.
	ClaimTimeout time.Duration
	// Memory bounds the answers that are kept decoded in memory, in bytes: for a process that is asked the same
	// questions again and again. 0: none are.
	Memory int64
	// Now is the clock for what is fetched, fresh, expired. Default time.Now.
	Now func() time.Time
	// OnWarning is called once for each kind of trouble that the store worked around, without locks held, from any
	// goroutine.
	OnWarning func(Warning)

	seams store.Options // of tests
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
	// Bucket is a name space for plain values.
	Bucket = store.Bucket
	// Item is one value of a Bucket.
	Item = store.Item
	// Warning is trouble that the store worked around.
	Warning = store.Warning
	// PruneOptions are what Prune removes beyond what must go.
	PruneOptions = store.PruneOptions
	// PruneResult is what a prune removed.
	PruneResult = store.PruneResult
	// CompactResult is the size of the database file before and after.
	CompactResult = store.CompactResult
	// VerifyReport is what Verify has looked at and found.
	VerifyReport = store.VerifyReport
)

// KeepLimit is the longest time anything is kept, whatever the settings say, also offline: TMDB's terms allow six
// months.
const KeepLimit = store.KeepLimit

var (
	// ErrLocked reports that another process holds the cache's lock for longer than the store waits.
	ErrLocked = store.ErrLocked
	// ErrPending reports that what was put or deleted is kept in memory because the disk can't be written now. The store
	// reads it from there, and writes it with a later transaction, at the latest with Close. A kill -9 before that loses
	// it.
	ErrPending = store.ErrPending
)

// Store is an open cache directory. It may be used by many goroutines; any number of Stores, in one or in many
// processes, may share a directory.
type Store struct {
	opts    Options
	disk    *store.Store
	answers *store.Bucket
	memory  memory
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
	s := &Store{opts: o, memory: memory{max: o.Memory}}
	disk := o.seams
	disk.MaxSize, disk.LockWait, disk.ClaimTimeout = o.MaxSize, o.LockWait, o.ClaimTimeout
	disk.Now, disk.OnWarning, disk.Written = o.Now, o.OnWarning, s.memory.written
	s.disk = store.Open(dir, disk)
	s.answers = s.disk.Answers()
	return s, nil
}

// Path is the cache's directory.
func (s *Store) Path() string { return s.disk.Path() }

// Close writes what could not be written yet and gives up all claims. The store can't be used afterwards. What can't be
// written even now is lost, after a warning; the error is always nil, and there for io.Closer.
func (s *Store) Close() error {
	s.disk.Close()
	return nil
}

// Bucket opens the name space called name: a lower-case letter, then letters, digits, '-' and '_', 32 in all.
// "responses" and "meta" are taken.
func (s *Store) Bucket(name string) (*Bucket, error) { return s.disk.Bucket(name) }

// Get reads the answer stored under a key (see [KeyOf]), fresh or not, but none older than 180 days. ok is false when
// there is none. With [ErrLocked] it is not known whether there is one.
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
	e, bad := entryOf(it)
	if bad != nil {
		s.answers.Damaged(key, bad)
		return nil, false, err
	}
	if !it.Ahead && generation != 0 && generation == s.answers.Generation(key) { // else it may have been replaced
		s.memory.put(generation, e)
	}
	return e, true, err
}

// Range calls fn for every stored answer, in key order, fresh or not, but none older than 180 days. What is written
// meanwhile may or may not be seen. It ends with the first error, which it returns. fn may use the store.
func (s *Store) Range(ctx context.Context, fn func(*Entry) error) error {
	return s.answers.Range(ctx, func(it Item) error {
		e, err := entryOf(it)
		if err != nil {
			s.answers.Damaged(it.Key, err)
			return nil
		}
		return fn(e)
	})
}

// Put stores an answer. Its body must be a JSON object or array. When it returns nil the answer is on disk: it survives
// the death of the process and a loss of power. With [ErrPending] it is in memory.
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
	return s.answers.Put(ctx, e.item())
}

// Delete removes answers by key; for its error see Put.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	return s.answers.Delete(ctx, keys...)
}

// Newest returns when the newest answer about each resource was fetched, by whatever process: the zero time where
// nothing is stored about it.
//
// A resource is the key of a request without its query, as in "GET https://api.themoviedb.org:443/3/tv/1399" (see
// [KeyOf]). Answers to that path, with any query, and to every path below it ("/3/tv/1399/season/1") are about it; 404s
// count, deleted answers and those that nothing may serve any more do not. An answer that is dated ahead of the clock
// does not count either: it is asked for again.
//
// One session reads thousands of resources. The result has the order of the resources. With [ErrLocked] the times are
// those of what this process has not written yet.
func (s *Store) Newest(ctx context.Context, resources ...string) ([]time.Time, error) {
	return s.disk.Newest(ctx, resources...)
}

// Awaiting is how many questions of this process wait now for another process's answer.
func (s *Store) Awaiting() int { return s.disk.Awaiting() }

// Prune removes what is past the 180 days, what the options say, and what is above the size bound. It waits for the
// lock as long as ctx allows.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (PruneResult, error) {
	return s.disk.Prune(ctx, o)
}

// Clear removes everything, in all buckets.
func (s *Store) Clear(ctx context.Context) error { return s.disk.Clear(ctx) }

// Compact writes the database anew, without gaps: it never shrinks by itself. It needs as much free space as the result
// takes; the others wait, or go on without the cache, meanwhile.
func (s *Store) Compact(ctx context.Context) (CompactResult, error) { return s.disk.Compact(ctx) }

// Verify checks that everything in the database is what was once written: all pages, the order of the keys, the
// checksum of every record. It changes nothing, and others can read meanwhile.
func (s *Store) Verify(ctx context.Context) (VerifyReport, error) {
	return s.disk.Verify(ctx, func(it Item) error {
		e, err := entryOf(it)
		if err != nil {
			return err
		}
		return checkBody(e.Body)
	})
}

// Stats is what a cache directory holds.
type Stats struct {
	Entries  int // stored answers
	Fresh    int // of them, those that answer without asking
	Expired  int // those that serve only when the upstream can't be asked
	Negative int // 404s
	ByClass  map[Class]int
	Oldest   time.Time // when the oldest answer was fetched
	Newest   time.Time

	FileSize int64    // the database file
	Used     int64    // of it; Compact frees the rest
	MaxSize  int64    // the bound on Used
	SetAside []string // damaged databases that were set aside
}

// Stats walks over the whole cache.
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
		status, err := statusOf(it.Value)
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

// memory holds decoded answers of one generation of the database, for a process that is asked the same questions again
// and again (Options.Memory): a session with its unpacking takes longer than all else that answering takes.
//
// It tells nothing older than what is on disk. Whoever may change the database writes the next generation into the lock
// file before, so an answer that was read in one generation holds until there is another.
type memory struct {
	max int64 // bytes; 0: nothing is kept

	mu         sync.Mutex
	generation uint64
	entries    map[string]*Entry
	size       int64
}

// entryCost is what an answer takes besides its bytes.
const entryCost = 256

func (m *memory) get(generation uint64, key string) *Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if generation == 0 || generation != m.generation {
		return nil
	}
	return m.entries[key]
}

// put keeps an answer. What is of another generation goes, and so does everything when there is no room.
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

// written drops what this process has just written, and keeps the rest: nobody else was in between.
func (m *memory) written(before, now uint64, keys []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before != m.generation {
		return
	}
	m.generation = now
	for _, key := range keys {
		delete(m.entries, key) // its cost is counted until there is no room
	}
}
