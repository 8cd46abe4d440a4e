package cache

// Writing: group commit. Everybody who writes adds to what is pending; one of them at a time takes all of it, the lock
// and one transaction with its sync, while the next ones gather behind it. A write returns when its transaction is
// through. What can't be written stays pending, is read from there, and goes with the next transaction.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/boltfile"
)

// write is one record to be written.
type write struct {
	bucket, key string
	rec         record
	gone        bool // the record is to be deleted
}

const (
	// failPause is how long a store whose disk refused a write leaves it alone.
	failPause = time.Minute
	// workWaits is how many times longer than for a stopped holder of the lock a write waits for one that is at work.
	workWaits = 8
	// closeWait is how long the last transaction waits for the lock.
	closeWait = 5 * time.Second
	// pendingBytes bounds what waits to be written.
	pendingBytes = 64 << 20
)

var errClosed = errors.New("cache: store is closed")

// slot joins bucket and key to one map key.
func slot(bucket, key string) string { return bucket + "\x00" + key }

func cutSlot(k string) (bucket, key string) {
	bucket, key, _ = strings.Cut(k, "\x00")
	return bucket, key
}

// waiting is a value that is not in the database yet; a nil one is a deletion.
type waiting struct {
	slot   string
	value  []byte
	number uint64 // of the write, in order
}

// pending is what waits to be written, by slot. The store's mutex guards it.
type pending struct {
	values map[string]waiting
	size   int
	last   uint64 // number of the newest write
	tried  uint64 // number of the newest write that a transaction was tried with
}

func newPending() pending { return pending{values: map[string]waiting{}} }

// add takes a value in, and drops the oldest ones above the bound.
func (p *pending) add(k string, value []byte) {
	p.drop(k)
	p.last++
	p.values[k] = waiting{k, value, p.last}
	p.size += len(k) + len(value)
	for p.size > pendingBytes && len(p.values) > 1 {
		oldest := k
		for other, w := range p.values {
			if w.number < p.values[oldest].number {
				oldest = other
			}
		}
		p.drop(oldest)
	}
}

func (p *pending) drop(k string) {
	if w, ok := p.values[k]; ok {
		p.size -= len(k) + len(w.value)
		delete(p.values, k)
	}
}

// take returns all values in key order: bbolt likes its writes sorted.
func (p *pending) take() []waiting {
	p.tried = p.last
	batch := make([]waiting, 0, len(p.values))
	for _, w := range p.values {
		batch = append(batch, w)
	}
	slices.SortFunc(batch, func(a, b waiting) int { return cmp.Compare(a.slot, b.slot) })
	return batch
}

// written drops what a transaction has brought into the database, but not what was written over it meanwhile.
func (p *pending) written(batch []waiting) {
	for _, w := range batch {
		if p.values[w.slot].number == w.number {
			p.drop(w.slot)
		}
	}
}

// put writes records and returns when the transaction that holds them is through, or when it is known that they have to
// wait in memory.
func (s *Store) put(ws ...write) error {
	if len(ws) == 0 {
		return nil
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return errClosed
	}
	for _, w := range ws {
		var value []byte
		if !w.gone {
			value = w.rec.encode(w.bucket, w.key)
		}
		s.pending.add(slot(w.bucket, w.key), value)
	}
	mine := s.pending.last
	s.mu.Unlock()

	s.committing.Lock()
	defer s.committing.Unlock()
	s.mu.Lock()
	due := s.pending.tried < mine && !time.Now().Before(s.retry)
	s.mu.Unlock()
	if due && s.db.mode() == modeShared {
		s.commit(s.opts.LockWait)
	}
	return nil
}

// commit writes what is pending, in one transaction, when it gets the lock within wait. s.committing is held.
func (s *Store) commit(wait time.Duration) {
	s.mu.Lock()
	batch := s.pending.take()
	s.mu.Unlock()
	s.db.pruneDue.Store(false)
	ctx, begun := context.Background(), time.Now()
	release, err := s.db.exclusive(ctx, wait)
	for errors.Is(err, errAtWork) && wait < closeWait && awaitWork(ctx, begun, workWaits*wait) {
		release, err = s.db.exclusive(ctx, wait)
	}
	if err == nil {
		if err = s.writeDown(batch); err == nil {
			s.memory.written(s.db.before, s.db.generation, batch)
		}
		release()
	}
	s.mu.Lock()
	if err == nil {
		s.pending.written(batch)
	} else if !errors.Is(err, ErrLocked) {
		s.retry = time.Now().Add(failPause)
	}
	s.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, errAtWork) && wait < closeWait, s.db.mode() != modeShared:
	case errors.Is(err, ErrLocked):
		s.db.warned.say(Warning{Kind: WarnLocked, Path: s.db.dir, Err: err})
	default:
		s.db.warned.say(Warning{Kind: WarnWrite, Path: s.db.dir, Err: err})
	}
}

// writeDown writes a batch into the database. One that turns out to be damaged while it is written to is set aside, and
// a fresh one gets the batch. The caller holds the exclusive lock.
func (s *Store) writeDown(batch []waiting) error {
	for range 2 {
		err := s.db.update(func(db *boltfile.DB, meta dbMeta) error {
			if err := db.Update(func(tx *bolt.Tx) error { return writeAll(tx, batch) }); err != nil {
				return err
			}
			if s.opts.committed != nil {
				s.opts.committed()
			}
			if err := db.View(func(tx *bolt.Tx) error { return findAgain(tx, batch) }); err != nil {
				return err
			}
			return s.pruneIfDue(db, meta)
		})
		var damage *boltfile.DamageError
		if !errors.As(err, &damage) {
			return err
		}
		if err := s.db.setAsideLocked(damage); err != nil {
			return err
		}
	}
	return errors.New("the database is damaged again and again")
}

func writeAll(tx *bolt.Tx, batch []waiting) error {
	for _, w := range batch {
		bucket, key := cutSlot(w.slot)
		b, err := tx.CreateBucketIfNotExists([]byte(bucket))
		if err == nil && w.value == nil {
			err = b.Delete([]byte(key))
		} else if err == nil {
			err = b.Put([]byte(key), w.value)
		}
		if err != nil {
			return fmt.Errorf("write %q: %w", key, err)
		}
	}
	return nil
}

// findAgain looks up what was written, as long as it is in memory too: pages whose keys are not in order lead a search
// astray, and nothing but looking shows that.
func findAgain(tx *bolt.Tx, batch []waiting) error {
	for _, w := range batch {
		bucket, key := cutSlot(w.slot)
		if found := tx.Bucket([]byte(bucket)).Get([]byte(key)) != nil; found != (w.value != nil) {
			return &boltfile.Unsound{Cause: fmt.Errorf("what was written is not found again: %q in %s", key, bucket)}
		}
	}
	return nil
}
