package store

// Group commit: all writers add to the pending changes; one of them at a time takes them all, the lock and one
// transaction with its sync, while the next ones queue. A write returns when its transaction is committed. A change
// that can't be written stays pending, where reads find it, and goes into the next transaction.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/boltfile"
)

const (
	retryPause = time.Minute
	// a write waits this many times longer for an active holder of the lock than for a stopped one
	activeWaitFactor = 8
	closeWait        = 5 * time.Second
	pendingBytes     = 64 << 20
)

// ErrPending reports a change that is kept in memory because the disk can't be written now. Reads see it, and the store
// writes it with a later transaction. A kill -9 before that loses it.
var ErrPending = errors.New("cache: not on disk yet, kept in memory")

type valueKey struct{ bucket, key string }

// change is a value that is not in the database yet; a nil value is a deletion.
type change struct {
	valueKey
	value  []byte
	number uint64 // sequence number of the write
}

func (c change) size() int { return len(c.bucket) + 1 + len(c.key) + len(c.value) }

type pending struct {
	values    map[valueKey]change
	size      int
	last      uint64 // number of the newest write
	attempted uint64 // number of the newest write that a transaction has attempted
	committed uint64 // number of the newest write on disk, like all before it
	dropped   uint64 // number of the newest write that was dropped for lack of room
}

func newPending() pending { return pending{values: map[valueKey]change{}} }

// add appends a change, and drops the oldest ones above the limit.
func (p *pending) add(at valueKey, value []byte) {
	p.discard(at)
	p.last++
	p.values[at] = change{at, value, p.last}
	p.size += p.values[at].size()
	for p.size > pendingBytes && len(p.values) > 1 {
		oldest := p.values[at]
		for _, c := range p.values {
			if c.number < oldest.number {
				oldest = c
			}
		}
		p.dropped = max(p.dropped, oldest.number)
		p.discard(oldest.valueKey)
	}
}

func (p *pending) discard(at valueKey) {
	if c, ok := p.values[at]; ok {
		p.size -= c.size()
		delete(p.values, at)
	}
}

func (p *pending) takeBatch() []change {
	p.attempted = p.last
	batch := make([]change, 0, len(p.values))
	for _, c := range p.values {
		batch = append(batch, c)
	}
	slices.SortFunc(batch, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.key, b.key))
	})
	return batch
}

func (p *pending) markCommitted(batch []change) {
	p.committed = p.attempted
	for _, c := range batch {
		if p.values[c.valueKey].number == c.number {
			p.discard(c.valueKey)
		}
	}
}

func (p *pending) clear() {
	clear(p.values)
	p.size, p.attempted, p.committed = 0, p.last, p.last
}

// put writes or deletes items. It returns when their transaction is committed, or with ErrPending if they stay in
// memory.
func (s *Store) put(bucket string, items []Item, remove bool) error {
	if len(items) == 0 {
		return nil
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	first := s.pending.last + 1
	for _, it := range items {
		var value []byte
		if !remove {
			if it.FetchedAt.IsZero() {
				it.FetchedAt = s.db.now()
			}
			value = it.encode(bucket)
		}
		s.pending.add(valueKey{bucket, it.Key}, value)
	}
	last := s.pending.last
	s.mu.Unlock()

	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	s.mu.Lock()
	due := s.pending.attempted < last && !time.Now().Before(s.retryAt)
	s.mu.Unlock()
	if due && s.db.mode() == modeShared {
		s.commit(s.opts.LockWait)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending.committed < last || s.pending.dropped >= first {
		return ErrPending
	}
	return nil
}

// commit writes the pending changes in one transaction if it gets the lock within wait. The caller holds s.committing.
func (s *Store) commit(wait time.Duration) {
	s.mu.Lock()
	batch := s.pending.takeBatch()
	s.mu.Unlock()
	s.db.pruneDue.Store(false)
	ctx, begun := context.Background(), time.Now()
	release, err := s.db.beginWriting(ctx, wait)
	for errors.Is(err, ErrHolderActive) && wait < closeWait && WaitForActiveHolder(ctx, begun, activeWaitFactor*wait) {
		release, err = s.db.beginWriting(ctx, wait)
	}
	if err == nil {
		if err = s.writeBatch(batch); err == nil && s.opts.Written != nil {
			var keys []string
			for _, c := range batch {
				if c.bucket == answers {
					keys = append(keys, c.key)
				}
			}
			s.opts.Written(s.db.previousGeneration, s.db.generation, keys)
		}
		release()
	}
	s.mu.Lock()
	if err == nil {
		s.pending.markCommitted(batch)
	} else if !errors.Is(err, ErrLocked) {
		s.retryAt = time.Now().Add(retryPause)
	}
	s.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, ErrHolderActive) && wait < closeWait, s.db.mode() != modeShared:
	case errors.Is(err, ErrLocked):
		s.db.warnings.warn(Warning{Kind: WarnLocked, Path: s.db.dir, Err: err})
	default:
		s.db.warnings.warn(Warning{Kind: WarnWrite, Path: s.db.dir, Err: err})
	}
}

// writeBatch writes a batch into the database. If the database is damaged, it renames it and writes into a new one. The
// caller holds the exclusive lock.
func (s *Store) writeBatch(batch []change) error {
	for range 2 {
		err := s.db.update(func(db *boltfile.DB, meta dbMeta) error {
			if err := db.Update(func(tx *bolt.Tx) error { return writeAll(tx, batch) }); err != nil {
				return err
			}
			if s.opts.Committed != nil {
				s.opts.Committed()
			}
			if err := db.View(func(tx *bolt.Tx) error { return verifyWritten(tx, batch) }); err != nil {
				return err
			}
			return s.pruneIfDue(db, meta)
		})
		var damage *boltfile.DamageError
		if !errors.As(err, &damage) {
			return err
		}
		if err := s.db.renameDamagedLocked(damage); err != nil {
			return err
		}
	}
	return errors.New("the database is damaged again and again")
}

func writeAll(tx *bolt.Tx, batch []change) error {
	for _, c := range batch {
		b, err := tx.CreateBucketIfNotExists([]byte(c.bucket))
		if err == nil && c.value == nil {
			err = b.Delete([]byte(c.key))
		} else if err == nil {
			err = b.Put([]byte(c.key), c.value)
		}
		if err != nil {
			return fmt.Errorf("write %q: %w", c.key, err)
		}
	}
	return nil
}

// verifyWritten looks up each written key in the same session: if a page has its keys out of order, the lookup fails.
func verifyWritten(tx *bolt.Tx, batch []change) error {
	for _, c := range batch {
		if found := tx.Bucket([]byte(c.bucket)).Get([]byte(c.key)) != nil; found != (c.value != nil) {
			return &boltfile.ContentError{Cause: fmt.Errorf("what was written is not found again: %q in %s", c.key, c.bucket)}
		}
	}
	return nil
}
