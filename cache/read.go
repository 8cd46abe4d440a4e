package cache

// Reading: what is newest in this process's journals, the others' and the database. Journals first, then the
// database: a record moves from a journal into the database and is only then gone from the journal, so in this order it
// can't be missed.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/lockfile"
)

// batchKeys is how many keys one session reads at most: about 10 ms.
const batchKeys = 4096

// sight is what a reader has seen, so that changes since then are noticed.
type sight struct {
	state  dbState // the database's
	recent bool    // it had just changed, and may change again without another state
	stamp  uint64  // the record's, there or deleted
	blind  bool    // the database could not be read
}

// lookup returns the newest sound record of each key, and the largest stamp that was met in its place; a record with
// stamp 0 is not there. It also returns what was seen of the database. With ErrLocked the records are those of the
// journals alone.
func (s *Store) lookup(ctx context.Context, bucket string, keys []string) (recs []record, stamps []uint64, saw sight, err error) {
	recs, stamps = make([]record, len(keys)), make([]uint64, len(keys))
	for from := 0; from < len(keys); from += batchKeys {
		if ctx.Err() != nil {
			return recs, stamps, saw, context.Cause(ctx)
		}
		to := min(from+batchKeys, len(keys))
		var e error
		if saw, e = s.lookupChunk(ctx, bucket, keys[from:to], recs[from:to], stamps[from:to]); err == nil {
			err = e
		}
	}
	return recs, stamps, saw, err
}

func (s *Store) lookupChunk(ctx context.Context, bucket string, keys []string, recs []record, stamps []uint64) (sight, error) {
	written, err := s.fromJournals(bucket, keys)
	if err != nil {
		return sight{blind: true}, err
	}
	s.warnOfStrange()
	var meta dbMeta
	stored := make([][]byte, len(keys))
	err = s.view(ctx, func(tx *bolt.Tx, m dbMeta) error {
		meta = m
		if b := tx.Bucket([]byte(bucket)); b != nil {
			for i, k := range keys {
				stored[i] = bytes.Clone(b.Get([]byte(k)))
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errNoDB):
		err = nil
	case err != nil:
		clear(stored)
		if errors.Is(err, ErrLocked) && !errors.Is(err, errAtWork) {
			s.warned.say(Warning{Kind: WarnLocked, Path: s.dir, Err: err})
		}
	}
	now := s.now()
	var newest uint64
	for i, k := range keys {
		recs[i], stamps[i] = s.newest(bucket, k, written[i], stored[i], meta.Cleared, now)
		newest = max(newest, stamps[i])
	}
	s.mu.Lock()
	for _, seen := range [...]uint64{newest, meta.Cleared} { // what is written from now on is younger
		if !isAhead(seen, now) {
			s.last = max(s.last, seen)
		}
	}
	s.cleared = max(s.cleared, meta.Cleared)
	s.pruneDue = s.pruneDue || isPruneDue(meta, now)
	s.mu.Unlock()
	return sight{state: meta.state, recent: meta.state.isRecent(), blind: err != nil}, err
}

// newest picks the newer one of two sound values. Deleted, cleared and 180 days old are as good as absent.
func (s *Store) newest(bucket, key string, a, b []byte, cleared uint64, now time.Time) (r record, stamp uint64) {
	if isNewer(stampOf(b), stampOf(a), now) {
		a, b = b, a
	}
	stamp = stampOf(a)
	for _, v := range [...][]byte{a, b} {
		if v == nil {
			continue
		}
		r, err := decodeRecord(bucket, key, v)
		if err != nil {
			s.damagedRecord(bucket, key, err)
			continue
		}
		dated := r.datedSensibly(now)
		if r.deleted || isCleared(r.stamp, cleared, now) || now.Sub(dated.fetched) >= KeepLimit {
			break
		}
		return dated, stamp
	}
	return record{}, stamp
}

func (s *Store) damagedRecord(bucket, key string, err error) {
	s.warned.say(Warning{Kind: WarnRecord, Path: s.dir, Err: fmt.Errorf("%q in %s: %w", key, bucket, err)})
}

// fromJournals reads the newest journalled value of each key, nil where there is none.
func (s *Store) fromJournals(bucket string, keys []string) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.refreshPeers()
	values := make([][]byte, len(keys))
	if s.proc == nil && len(s.peers) == 0 && len(s.private.values) == 0 {
		return values, nil
	}
	for i, k := range keys {
		values[i] = s.journalled(slot(bucket, k))
	}
	return values, nil
}

// warnOfStrange warns of what lies among the journals and is none.
func (s *Store) warnOfStrange() {
	s.mu.Lock()
	err := s.strange
	s.strange = nil
	s.mu.Unlock()
	if err != nil {
		s.warned.say(Warning{Kind: WarnShared, Path: s.dir, Err: err})
	}
}

// journalled reads the newest journalled value of a slot. s.mu is held.
func (s *Store) journalled(k string) []byte {
	best, now := s.private.values[k], s.now()
	for j := range s.journals() {
		p, ok := j.index[k]
		if !ok || isNewer(stampOf(best), p.head.stamp, now) {
			continue
		}
		// A file that is gone meanwhile has been merged: the database has it.
		if v, err := j.value(p); err == nil {
			best = v
		}
	}
	return best
}

// journalledStamp is the largest stamp that a slot has in the journals, 0 if it is in none. s.mu is held.
func (s *Store) journalledStamp(k string) uint64 {
	best := stampOf(s.private.values[k])
	for j := range s.journals() {
		best = max(best, j.index[k].head.stamp)
	}
	return best
}

// journals yields all journals that are known. s.mu is held.
func (s *Store) journals() func(yield func(*journal) bool) {
	return func(yield func(*journal) bool) {
		if s.proc != nil {
			for _, j := range s.proc.journals {
				if !yield(j) {
					return
				}
			}
		}
		for _, j := range s.peers {
			if !yield(j) {
				return
			}
		}
	}
}

// refreshPeers reads what the other processes have written since the last time. s.mu is held.
func (s *Store) refreshPeers() {
	if s.how == modeMemory || s.closed {
		return
	}
	if s.folder.unchanged(s.journalDir()) {
		for _, j := range s.peers {
			_ = j.refresh() // what is gone has changed the folder
		}
		return
	}
	present := map[string]bool{}
	for _, name := range s.journalNames() {
		if s.proc != nil && name.owner == s.proc.owner {
			continue
		}
		text := name.String()
		j := s.peers[text]
		if j == nil {
			j = newJournal(s.journalDir(), name)
			j.shy = s.opts.shy
		}
		err := j.refresh()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.As(err, new(*lockfile.NotRegularError)) {
			s.strange = err
			continue
		}
		s.peers[text] = j
		present[text] = true
	}
	for text, j := range s.peers {
		if !present[text] {
			j.close()
			delete(s.peers, text)
		}
	}
}
