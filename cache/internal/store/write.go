package store

// Writes are committed in groups. All writers add to the pending changes. One writer at a time takes the lock and
// commits all pending changes in one transaction, while the next changes accumulate. A write returns when its
// transaction is committed. A change that can't be written stays pending. Reads find it there, and the next transaction
// includes it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/boltfile"
)

const (
	retryPause = time.Minute
	// activeWaitFactor is how many times longer a write waits for an active holder of the lock than for a stopped one.
	activeWaitFactor = 8
	closeWait        = 5 * time.Second // how long Close waits for the lock; other commits wait less
	maxPendingBytes  = 64 << 20
)

// ErrPending reports a change that is kept in memory because the disk can't be written now. Reads see it, and the store
// writes it in a later transaction. It is lost if the process is killed before that.
var ErrPending = errors.New("cache: not on disk yet, kept in memory")

type valueKey struct{ bucket, key string }

// change is a value that is not in the database yet. If value is nil, it is a deletion.
type change struct {
	valueKey
	value  []byte
	number uint64 // the sequence number of the write
}

func (c change) size() int { return len(c.bucket) + 1 + len(c.key) + len(c.value) }

// pendingChanges are the changes that are not in the database yet. Writes are numbered in order.
type pendingChanges struct {
	values          map[valueKey]change
	size            int
	lastNumber      uint64 // the number of the newest write
	attemptedNumber uint64 // the newest write that a transaction has tried to commit
	committedNumber uint64 // the newest write on disk; all earlier ones are there too
	droppedNumber   uint64 // the newest write that was dropped because too many were pending
}

func newPending() pendingChanges { return pendingChanges{values: map[valueKey]change{}} }

// add adds a change. If the changes exceed maxPendingBytes, it drops the oldest ones.
func (p *pendingChanges) add(key valueKey, value []byte) {
	p.remove(key)
	p.lastNumber++
	p.values[key] = change{key, value, p.lastNumber}
	p.size += p.values[key].size()
	for p.size > maxPendingBytes && len(p.values) > 1 {
		oldest := p.values[key]
		for _, c := range p.values {
			if c.number < oldest.number {
				oldest = c
			}
		}
		p.droppedNumber = max(p.droppedNumber, oldest.number)
		p.remove(oldest.valueKey)
	}
}

func (p *pendingChanges) remove(key valueKey) {
	if c, ok := p.values[key]; ok {
		p.size -= c.size()
		delete(p.values, key)
	}
}

func (p *pendingChanges) takeBatch() []change {
	p.attemptedNumber = p.lastNumber
	return slices.SortedFunc(maps.Values(p.values), func(a, b change) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.key, b.key))
	})
}

func (p *pendingChanges) markCommitted(batch []change) {
	p.committedNumber = p.attemptedNumber
	for _, c := range batch {
		if p.values[c.valueKey].number == c.number {
			p.remove(c.valueKey)
		}
	}
}

func (p *pendingChanges) clear() {
	clear(p.values)
	p.size, p.attemptedNumber, p.committedNumber = 0, p.lastNumber, p.lastNumber
}

// put writes or deletes items. It returns once they are committed, or with ErrPending if they stay in memory.
func (s *Store) put(bucket string, items []Item, remove bool) error {
	if len(items) == 0 {
		return nil
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	first := s.pending.lastNumber + 1
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
	last := s.pending.lastNumber
	s.mu.Unlock()

	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	s.mu.Lock()
	due := s.pending.attemptedNumber < last && !time.Now().Before(s.retryAt)
	s.mu.Unlock()
	if due && s.db.mode() == modeReadWrite {
		s.commit(s.opts.LockWait)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending.committedNumber < last || s.pending.droppedNumber >= first {
		return ErrPending
	}
	return nil
}

// commit writes the pending changes if it gets the lock within wait. The caller must hold s.commitMu.
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
		if err = s.writeBatch(batch); err == nil && s.opts.OnWritten != nil {
			var keys []string
			for _, c := range batch {
				if c.bucket == answersBucket {
					keys = append(keys, c.key)
				}
			}
			s.opts.OnWritten(s.db.previousGeneration, s.db.generation, keys)
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
	case err == nil, errors.Is(err, ErrHolderActive) && wait < closeWait, s.db.mode() != modeReadWrite:
	case errors.Is(err, ErrLocked):
		s.db.warnings.warn(Warning{Kind: WarnLocked, Path: s.db.dir, Err: err})
	default:
		s.db.warnings.warn(Warning{Kind: WarnWrite, Path: s.db.dir, Err: err})
	}
}

// writeBatch writes changes to the database. If the database is damaged, it renames it and writes to a new one. The
// caller must hold the exclusive lock.
func (s *Store) writeBatch(batch []change) error {
	for range 2 {
		err := s.db.update(func(db *boltfile.DB, meta dbMeta) error {
			if err := db.Update(func(tx *bolt.Tx) error { return writeAll(tx, batch) }); err != nil {
				return err
			}
			if s.opts.OnCommit != nil {
				s.opts.OnCommit()
			}
			// Look up what was written: in a damaged page with unordered keys, that fails.
			if err := db.View(func(tx *bolt.Tx) error {
				for _, c := range batch {
					if found := tx.Bucket([]byte(c.bucket)).Get([]byte(c.key)) != nil; found != (c.value != nil) {
						return &boltfile.ContentError{Cause: fmt.Errorf("what was written is not found again: %q in %s", c.key, c.bucket)}
					}
				}
				return nil
			}); err != nil {
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
