package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// Defaults of Options.
const (
	DefaultMaxSize      = 512 << 20
	DefaultMergeRecords = 256
	DefaultMergeEvery   = time.Second
	DefaultLockWait     = 250 * time.Millisecond
	DefaultClaimTimeout = 5 * time.Second
)

// Options are the settings of a Store; the zero value means the defaults.
type Options struct {
	// MaxSize bounds the database, in bytes of used pages. Above it the expired records go first, then those fetched
	// longest ago.
	MaxSize int64
	// MergeRecords and MergeEvery are when a process's journal is merged into the database: at that many records, or when
	// the oldest is that old.
	MergeRecords int
	MergeEvery   time.Duration
	// LockWait is the longest wait for another process's lock; after it the store does without. Where the holder shows
	// that it is at work, a question waits for up to ClaimTimeout before it is asked of the upstream.
	LockWait time.Duration
	// ClaimTimeout is how long a process that holds a claim may give no sign of life (because it was stopped, say)
	// before another asks too.
	ClaimTimeout time.Duration
	// Now is the clock for what is fetched, fresh, expired. Default time.Now.
	Now func() time.Time
	// OnWarning is called once for each kind of trouble that the store worked around, without locks held, from any
	// goroutine.
	OnWarning func(Warning)

	// Memory bounds the answers that are kept decoded in memory, in bytes: for a process that is asked the same questions
	// again and again. 0: none are.
	Memory int64

	// Test seams: a file system without locks, others' journals are not kept open, the disk is spared.
	noLocks bool
	shy     bool
	noSync  bool
}

// Validate refuses settings that make no sense.
func (o Options) Validate() error {
	switch {
	case o.MaxSize < 0:
		return fmt.Errorf("cache: MaxSize %d is negative", o.MaxSize)
	case o.Memory < 0:
		return fmt.Errorf("cache: Memory %d is negative", o.Memory)
	case o.MergeRecords < 0:
		return fmt.Errorf("cache: MergeRecords %d is negative", o.MergeRecords)
	case o.MergeEvery < 0, o.LockWait < 0, o.ClaimTimeout < 0:
		return errors.New("cache: a duration is negative")
	}
	return nil
}

func (o Options) withDefaults() Options {
	def(&o.MaxSize, DefaultMaxSize)
	def(&o.MergeRecords, DefaultMergeRecords)
	def(&o.MergeEvery, DefaultMergeEvery)
	def(&o.LockWait, DefaultLockWait)
	def(&o.ClaimTimeout, DefaultClaimTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.shy = o.shy || !keepOpen
	return o
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// mode is how the store works at present.
type mode uint8

const (
	modeShared   mode = iota // database, journals, claims
	modeReadOnly             // the database is read; what is new stays in memory
	modeMemory               // nothing on disk is touched
)

// Store is an open cache directory. It may be used by many goroutines; any number of Stores, in one or in many
// processes, may share a directory.
type Store struct {
	dir      string
	db, logs string // the database and the journals' folder
	opts     Options

	dbLock   dbLock
	pages    checkedPages
	warned   warnings
	awaiting atomic.Int64 // callers of awaitClaim

	mu       sync.Mutex // guards what follows; never held while waiting
	how      mode
	claims   map[string]*lockfile.Lock // by the file's name
	proc     *process                  // nil until the first write
	peers    map[string]*journal
	folder   folderSeen // when the peers were listed
	memory   memory
	private  *overlay // what could not be written
	last     uint64   // the largest stamp given or seen
	cleared  uint64   // the stamp of the last clearing that was seen
	retry    time.Time
	strange  error // what lies among the journals and is none, until it was warned of
	pruneDue bool  // the last prune is more than a day ago
	closing  bool
	closed   bool
	worker   *worker
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
	s := &Store{
		dir: dir, opts: o,
		db: filepath.Join(dir, fmt.Sprintf("cache-v%d.db", formatVersion)), logs: filepath.Join(dir, "journals"),
		warned:  warnings{call: o.OnWarning},
		pages:   checkedPages{now: o.Now},
		claims:  map[string]*lockfile.Lock{},
		peers:   map[string]*journal{},
		private: newOverlay(overlayBytes),
		memory:  memory{max: o.Memory},
	}
	s.pages.path = strings.TrimSuffix(s.dbPath(), ".db") + ".walked"
	s.dbLock.lock = lockfile.New(filepath.Join(dir, "cache.lock"), lockfile.Options{})
	s.dbLock.life.limit = o.LockWait
	err := os.MkdirAll(s.journalDir(), 0o700)
	if err == nil {
		err = os.MkdirAll(s.lockDir(), 0o700)
	}
	if err != nil {
		if _, e := os.Stat(s.dbPath()); e == nil {
			s.goReadOnly(err)
		} else {
			s.goPrivate(err)
		}
		return s, nil
	}
	if err := ownedByOthers(dir, s.dbPath()); err != nil {
		s.warned.say(Warning{Kind: WarnShared, Path: dir, Err: err})
	}
	s.tag()
	removeOlder(dir, formatVersion)
	return s, nil
}

// Path is the cache's directory.
func (s *Store) Path() string { return s.dir }

func (s *Store) dbPath() string { return s.db }

func (s *Store) journalDir() string { return s.logs }

func (s *Store) lockDir() string { return filepath.Join(s.dir, "locks") }

func (s *Store) now() time.Time { return s.opts.Now() }

func (s *Store) mode() mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.how
}

// cacheTag is the text of CACHEDIR.TAG, by which backup programs know what they may leave out
// (https://bford.info/cachedir/).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# This file marks a cache directory of anivault. What is here can be fetched again.\n"

func (s *Store) tag() {
	path := filepath.Join(s.dir, "CACHEDIR.TAG")
	if _, err := os.Lstat(path); err == nil {
		return
	}
	_ = os.WriteFile(path, []byte(cacheTag), 0o600) // without the tag everything works as well
}

// goPrivate gives up the directory for this run.
func (s *Store) goPrivate(cause error) {
	s.mu.Lock()
	s.how = modeMemory
	s.mu.Unlock()
	s.warned.say(Warning{Kind: WarnMemory, Path: s.dir, Err: cause})
}

// goReadOnly gives up writing for this run.
func (s *Store) goReadOnly(cause error) {
	s.mu.Lock()
	s.how = max(s.how, modeReadOnly)
	s.mu.Unlock()
	s.warned.say(Warning{Kind: WarnReadOnly, Path: s.dir, Err: cause})
}

// closeWait is how long Close waits for the lock: what can't be merged then stays in the journal, where everybody reads
// it and the next process merges it.
const closeWait = time.Second

// Close merges what is in the journal and gives up all claims. The store can't be used afterwards. Nothing is lost when
// the merge fails: the error is always nil, and there for io.Closer.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return nil
	}
	s.closing = true
	w := s.worker
	s.mu.Unlock()
	if w != nil {
		w.stop()
	}
	s.mergeLast()

	s.mu.Lock()
	s.closed = true
	if s.proc != nil {
		s.proc.close()
	}
	for _, j := range s.peers {
		j.close()
	}
	s.peers = map[string]*journal{}
	s.mu.Unlock()
	s.pages.remember()
	s.dbLock.lock.Close()
	return nil
}

// mergeLast is the merge at the end. What is not merged stays in the journal: others read it there, and whoever merges
// next takes it along. So the lock is waited for only by the last process, and only if there is anything of its own: of
// eight that end together, each would wait for the seven merges before.
func (s *Store) mergeLast() {
	s.mu.Lock()
	s.refreshPeers()
	own := s.proc != nil && s.proc.unmerged() > 0
	left := len(s.peers) > 0 || s.pruneDue
	last := true
	for _, j := range s.peers {
		last = last && !s.alive(j.name.owner)
	}
	s.mu.Unlock()
	if !own && !left {
		return
	}
	var wait time.Duration
	if own && last {
		wait = closeWait
	}
	_, _ = s.merge(context.Background(), wait) // what went wrong has been warned of
}
