package store

// Group commit: everybody who writes adds to what is pending; one of them at a time takes all of it, the lock and one
// transaction with its sync, while the next ones gather behind it. A write returns when its transaction is through.
// What can't be written stays pending, is read from there, and goes with the next transaction.

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
	failPause = time.Minute
	// workWaits is how many times longer than for a stopped holder of the lock a write waits for one that is at work.
	workWaits    = 8
	closeWait    = 5 * time.Second
	pendingBytes = 64 << 20
)

// ErrPending reports that a value is kept in memory because it can't be written now. The store reads it from there, and
// writes it with a later transaction. A kill -9 before that loses it.
var ErrPending = errors.New("cache: not on disk yet, kept in memory")

type slot struct{ bucket, key string }

// change is a value that is not in the database yet; a nil one is a deletion.
type change struct {
	slot
	value  []byte
	number uint64 // of the write, in order
}

func (c change) size() int { return len(c.bucket) + 1 + len(c.key) + len(c.value) }

type pending struct {
	values  map[slot]change
	size    int
	last    uint64 // number of the newest write
	tried   uint64 // number of the newest write that a transaction was tried with
	done    uint64 // number of the newest write that is on disk, with all before it
	dropped uint64 // number of the newest write that was dropped for want of room
}

func newPending() pending { return pending{values: map[slot]change{}} }

// add takes a value in, and drops the oldest ones above the bound.
func (p *pending) add(at slot, value []byte) {
	p.drop(at)
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
		p.drop(oldest.slot)
	}
}

func (p *pending) drop(at slot) {
	if c, ok := p.values[at]; ok {
		p.size -= c.size()
		delete(p.values, at)
	}
}

func (p *pending) take() []change {
	p.tried = p.last
	batch := make([]change, 0, len(p.values))
	for _, c := range p.values {
		batch = append(batch, c)
	}
	slices.SortFunc(batch, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.key, b.key))
	})
	return batch
}

func (p *pending) written(batch []change) {
	p.done = p.tried
	for _, c := range batch {
		if p.values[c.slot].number == c.number {
			p.drop(c.slot)
		}
	}
}

func (p *pending) clear() {
	clear(p.values)
	p.size, p.tried, p.done = 0, p.last, p.last
}

// put writes items, or deletes them, and returns when the transaction that holds them is through, or with ErrPending
// when they have to wait in memory.
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
		s.pending.add(slot{bucket, it.Key}, value)
	}
	last := s.pending.last
	s.mu.Unlock()

	s.committing.Lock()
	defer s.committing.Unlock()
	s.mu.Lock()
	due := s.pending.tried < last && !time.Now().Before(s.retry)
	s.mu.Unlock()
	if due && s.db.mode() == modeShared {
		s.commit(s.opts.LockWait)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending.done < last || s.pending.dropped >= first {
		return ErrPending
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
	for errors.Is(err, ErrAtWork) && wait < closeWait && AwaitWork(ctx, begun, workWaits*wait) {
		release, err = s.db.exclusive(ctx, wait)
	}
	if err == nil {
		if err = s.writeDown(batch); err == nil && s.opts.Written != nil {
			var keys []string
			for _, c := range batch {
				if c.bucket == answers {
					keys = append(keys, c.key)
				}
			}
			s.opts.Written(s.db.before, s.db.generation, keys)
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
	case err == nil, errors.Is(err, ErrAtWork) && wait < closeWait, s.db.mode() != modeShared:
	case errors.Is(err, ErrLocked):
		s.db.warned.say(Warning{Kind: WarnLocked, Path: s.db.dir, Err: err})
	default:
		s.db.warned.say(Warning{Kind: WarnWrite, Path: s.db.dir, Err: err})
	}
}

// writeDown writes a batch into the database. One that turns out to be damaged while it is written to is set aside, and
// a fresh one gets the batch. The caller holds the exclusive lock.
func (s *Store) writeDown(batch []change) error {
	for range 2 {
		err := s.db.update(func(db *boltfile.DB, meta dbMeta) error {
			if err := db.Update(func(tx *bolt.Tx) error { return writeAll(tx, batch) }); err != nil {
				return err
			}
			if s.opts.Committed != nil {
				s.opts.Committed()
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

// findAgain looks up what was written, as long as it is in memory too: pages whose keys are not in order lead a search
// astray, and nothing but looking shows that.
func findAgain(tx *bolt.Tx, batch []change) error {
	for _, c := range batch {
		if found := tx.Bucket([]byte(c.bucket)).Get([]byte(c.key)) != nil; found != (c.value != nil) {
			return &boltfile.Unsound{Cause: fmt.Errorf("what was written is not found again: %q in %s", c.key, c.bucket)}
		}
	}
	return nil
}
