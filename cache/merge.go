package cache

// Merging journals into the database: this process's, and those of the dead. All of it happens under the exclusive
// lock; a journal is deleted only after the transaction that holds its records is on disk, so a record is always in one
// of the two. Merging the same record twice changes nothing: the larger stamp wins.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// mergeBytes bounds one transaction, and with it the memory of a merge.
const mergeBytes = 32 << 20

// journalled is where a merge finds the newest value of a slot.
type journalled struct {
	slot string
	j    *journal
	at   place
}

// merge takes the lock within wait and merges. It returns the number of records that reached the database.
func (s *Store) merge(ctx context.Context, wait time.Duration) (merged int, err error) {
	if s.mode() != modeShared {
		return 0, nil
	}
	release, err := s.exclusive(ctx, wait)
	if err != nil {
		return 0, err
	}
	defer release()
	return s.mergeLocked()
}

// mergeLocked merges; the caller holds the exclusive lock.
func (s *Store) mergeLocked() (merged int, err error) {
	defer func() {
		if err != nil && !errors.Is(err, ErrLocked) && s.mode() == modeShared {
			s.warned.say(Warning{Kind: WarnWrite, Path: s.dir, Err: err})
		}
	}()
	mine, err := s.beginJournal()
	if err != nil {
		return 0, err
	}
	orphans := s.takeOrphans()
	defer orphans.release()
	newest := newestOf(slices.Concat(mine, orphans.journals()), s.now())
	s.mu.Lock()
	prune := s.pruneDue
	s.pruneDue = false
	s.mu.Unlock()
	if len(newest) > 0 || prune {
		if err := s.writeDown(newest); err != nil {
			return 0, err
		}
	}
	s.removeMerged(mine)
	s.bury(orphans)
	return len(newest), nil
}

// beginJournal starts a new own journal if the present one holds values, and returns those to be merged.
func (s *Store) beginJournal() ([]*journal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil, nil
	}
	if s.proc.current().count > 0 {
		if err := s.proc.rotate(); err != nil {
			return nil, fmt.Errorf("start a journal: %w", err)
		}
	}
	return slices.Clone(s.proc.journals[:len(s.proc.journals)-1]), nil
}

// removeMerged deletes own journals that have been merged.
func (s *Store) removeMerged(mine []*journal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range mine {
		s.proc.journals = slices.DeleteFunc(s.proc.journals, func(o *journal) bool { return o == j })
		_ = j.remove() // what stays is merged again, to no effect
	}
}

// newestOf finds the newest value of each slot, in key order: bbolt likes its writes sorted.
func newestOf(journals []*journal, now time.Time) []journalled {
	best := map[string]journalled{}
	for _, j := range journals {
		for k, p := range j.index {
			if old, ok := best[k]; !ok || !isNewer(old.at.head.stamp, p.head.stamp, now) {
				best[k] = journalled{k, j, p}
			}
		}
	}
	out := make([]journalled, 0, len(best))
	for _, v := range best {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b journalled) int { return strings.Compare(a.slot, b.slot) })
	return out
}

// writeDown writes the values into the database. One that turns out to be damaged while it is written to is set aside,
// and a fresh one gets them.
func (s *Store) writeDown(values []journalled) error {
	for range 2 {
		err := s.inDatabase(func(db *DB, meta dbMeta) error {
			if err := s.writeTo(db, meta, values); err != nil {
				return err
			}
			return s.pruneIfDue(db, meta)
		})
		var damage *DamageError
		if !errors.As(err, &damage) {
			return err
		}
		if err := s.setAsideLocked(damage); err != nil {
			return err
		}
	}
	return errors.New("merge journals: the database is damaged again and again")
}

func (s *Store) writeTo(db *DB, meta dbMeta, values []journalled) error {
	for len(values) > 0 {
		n, size := 0, 0
		for n < len(values) && (n == 0 || size+values[n].at.size <= mergeBytes) {
			size += values[n].at.size
			n++
		}
		var written []journalled
		err := db.Update(func(tx *bolt.Tx) error {
			for _, v := range values[:n] {
				value, err := v.j.value(v.at)
				if err != nil {
					return fmt.Errorf("read %s: %w", v.j.name, err)
				}
				ok, err := s.mergeValue(tx, meta, v.slot, value)
				if err != nil {
					return err
				}
				if ok {
					written = append(written, v)
				}
			}
			return nil
		})
		if err == nil {
			err = db.View(func(tx *bolt.Tx) error { return findAgain(tx, written) })
		}
		if err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// errLost: pages whose keys are not in order lead a search astray. Nothing but looking shows that.
var errLost = errors.New("what was written is not found again")

// findAgain looks up what was written, as long as it lies in journals too.
func findAgain(tx *bolt.Tx, written []journalled) error {
	for _, v := range written {
		bucket, key := cutSlot(v.slot)
		if tx.Bucket([]byte(bucket)).Get([]byte(key)) == nil {
			return fmt.Errorf("%w: %q in %s", errLost, key, bucket)
		}
	}
	return nil
}

// mergeValue puts one value in its place and reports whether it lies there: not where a newer one is there, nor where
// it is of no use.
func (s *Store) mergeValue(tx *bolt.Tx, meta dbMeta, k string, value []byte) (written bool, err error) {
	bucket, key := cutSlot(k)
	now := s.now()
	rec, err := decodeRecord(bucket, key, value)
	if err != nil {
		s.damagedRecord(bucket, key, err)
		return false, nil
	}
	if isCleared(rec.stamp, meta.Cleared, now) || key == "" || len(key) > bolt.MaxKeySize {
		return false, nil
	}
	b, err := tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return false, err
	}
	if old := b.Get([]byte(key)); isNewer(stampOf(old), rec.stamp, now) {
		if _, err := decodeRecord(bucket, key, old); err == nil {
			return false, nil
		}
	}
	return true, b.Put([]byte(key), value)
}
