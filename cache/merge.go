package cache

// Merging journals into the database: the own one, and those of the dead. All
// of it happens under the exclusive lock; a journal is deleted only after the
// transaction that holds its records is on disk, so a record is always in one
// of the two. Merging the same record twice changes nothing: the larger stamp
// wins.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// mergeBytes bounds one transaction, and with it the memory of a merge.
const mergeBytes = 32 << 20

// source is where a merge finds the newest value of a slot.
type source struct {
	slot string
	j    *journal
	at   place
}

// deadOwner is a process that is no more, and what it left.
type deadOwner struct {
	owner    string
	journals []*journal
	release  func() // nil when its lock file is gone
}

// merge takes the lock within wait and merges. It gives the number of records
// that reached the database.
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
	mine, err := s.rotate()
	if err != nil {
		return 0, err
	}
	dead := s.deadOwners()
	defer func() {
		for _, d := range dead {
			if d.release != nil {
				d.release()
			}
		}
	}()
	journals := slices.Clone(mine)
	for _, d := range dead {
		journals = append(journals, d.journals...)
	}
	sources := newestOf(journals)
	s.mu.Lock()
	prune := s.pruneDue
	s.pruneDue = false
	s.mu.Unlock()
	if len(sources) > 0 || prune {
		if err := s.apply(sources); err != nil {
			return 0, err
		}
	}
	s.count.merges.Add(1)
	s.forget(mine)
	s.bury(dead)
	return len(sources), nil
}

// rotate starts a new own journal if the present one holds values, and gives
// those to be merged.
func (s *Store) rotate() ([]*journal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil, nil
	}
	if s.proc.current().count > 0 {
		if err := s.proc.rotate(s.journalDir(), formatVersion); err != nil {
			return nil, fmt.Errorf("start a journal: %w", err)
		}
	}
	return slices.Clone(s.proc.journals[:len(s.proc.journals)-1]), nil
}

// forget deletes own journals that have been merged.
func (s *Store) forget(mine []*journal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range mine {
		s.proc.journals = slices.DeleteFunc(s.proc.journals, func(o *journal) bool { return o == j })
		_ = j.remove() // what stays is merged again, to no effect
	}
}

// deadOwners finds the processes whose lock is free, takes their locks and
// reads their journals.
func (s *Store) deadOwners() []deadOwner {
	own := ""
	s.mu.Lock()
	if s.proc != nil {
		own = s.proc.owner
	}
	s.mu.Unlock()
	byOwner := map[string][]journalName{}
	for _, n := range s.journalNames() {
		if n.owner != own {
			byOwner[n.owner] = append(byOwner[n.owner], n)
		}
	}
	for _, owner := range s.lockOwners() {
		if _, ok := byOwner[owner]; !ok && owner != own {
			byOwner[owner] = nil
		}
	}
	var dead []deadOwner
	for owner, names := range byOwner {
		release, ok, err := s.opts.try(lockPath(s.journalDir(), formatVersion, owner), false, true)
		if !ok && !errors.Is(err, os.ErrNotExist) {
			continue // alive, or nobody can tell
		}
		d := deadOwner{owner: owner, release: release}
		for _, n := range names {
			j := newJournal(s.journalDir(), n)
			if err := j.refresh(); err == nil {
				d.journals = append(d.journals, j)
			}
		}
		dead = append(dead, d)
	}
	return dead
}

// lockOwners lists the owners that have a lock file.
func (s *Store) lockOwners() []string {
	d, err := os.Open(s.journalDir())
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var owners []string
	for _, n := range names {
		if v, owner, ok := parseLockName(n); ok && v == formatVersion {
			owners = append(owners, owner)
		}
	}
	return owners
}

// bury deletes what dead processes left. Their locks are held until the files
// are gone, so that nobody else merges them meanwhile.
func (s *Store) bury(dead []deadOwner) {
	for i, d := range dead {
		gone := true
		for _, j := range d.journals {
			gone = j.remove() == nil && gone
		}
		if !gone {
			continue // its lock is given back later
		}
		release := d.release
		if release == nil {
			release = func() {}
		}
		dropLock(lockPath(s.journalDir(), formatVersion, d.owner), release)
		dead[i].release = nil
	}
}

// newestOf finds the newest value of each slot, in key order: bbolt likes its
// writes sorted.
func newestOf(journals []*journal) []source {
	best := map[string]source{}
	for _, j := range journals {
		for k, p := range j.index {
			if old, ok := best[k]; !ok || p.head.stamp >= old.at.head.stamp {
				best[k] = source{k, j, p}
			}
		}
	}
	out := make([]source, 0, len(best))
	for _, src := range best {
		out = append(out, src)
	}
	slices.SortFunc(out, func(a, b source) int { return strings.Compare(a.slot, b.slot) })
	return out
}

// apply writes the values into the database. One that turns out to be damaged
// while it is written to is set aside, and a fresh one gets them.
func (s *Store) apply(sources []source) error {
	for range 2 {
		db, meta, err := s.openExclusive()
		if err != nil {
			return err
		}
		err = s.applyTo(db, meta, sources)
		if err == nil {
			err = s.pruneIfDue(db, meta)
		}
		if e := db.Close(); err == nil {
			err = e
		}
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

func (s *Store) applyTo(db *DB, meta dbMeta, sources []source) error {
	for len(sources) > 0 {
		n, size := 0, 0
		for n < len(sources) && (n == 0 || size+sources[n].at.size <= mergeBytes) {
			size += sources[n].at.size
			n++
		}
		part := sources[:n]
		sources = sources[n:]
		err := db.Update(func(tx *bolt.Tx) error {
			for _, src := range part {
				value, err := src.j.value(src.at)
				if err != nil {
					return fmt.Errorf("read %s: %w", src.j.name, err)
				}
				if err := mergeValue(tx, meta, src.slot, value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeValue puts one value in its place unless a newer one is there.
func mergeValue(tx *bolt.Tx, meta dbMeta, k string, value []byte) error {
	bucket, key := cutSlot(k)
	rec, err := decodeRecord(bucket, key, value)
	if err != nil || rec.stamp <= meta.Cleared {
		return nil //nolint:nilerr // it was never written like this, so nothing acknowledged is lost
	}
	b, err := tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	if old := b.Get([]byte(key)); stampOf(old) > rec.stamp {
		if _, err := decodeRecord(bucket, key, old); err == nil {
			return nil
		}
	}
	if key == "" || len(key) > bolt.MaxKeySize {
		return nil
	}
	return b.Put([]byte(key), value)
}
