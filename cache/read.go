package cache

// Reading: first what this process has not written yet, then the database. A value is in the database before it ceases
// to be pending, so in this order it can't be missed.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	// batchKeys is how many keys one session reads at most: about 10 ms.
	batchKeys = 4096
	// rangeKeys is how many keys one step of a walk takes.
	rangeKeys = 512
)

// lookup returns the record of each key. With ErrLocked they are those that are pending here.
func (s *Store) lookup(ctx context.Context, bucket string, keys []string) ([]record, error) {
	recs := make([]record, len(keys))
	var firstErr error
	for from := 0; from < len(keys); from += batchKeys {
		if ctx.Err() != nil {
			return recs, context.Cause(ctx)
		}
		to := min(from+batchKeys, len(keys))
		if err := s.lookupChunk(ctx, bucket, keys[from:to], recs[from:to]); firstErr == nil {
			firstErr = err
		}
	}
	return recs, firstErr
}

func (s *Store) lookupChunk(ctx context.Context, bucket string, keys []string, recs []record) error {
	values, known := make([][]byte, len(keys)), make([]bool, len(keys))
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	for i, k := range keys {
		var w waiting
		w, known[i] = s.pending.values[slot(bucket, k)]
		values[i] = w.value
	}
	s.mu.Unlock()
	err := s.db.view(ctx, func(tx *bolt.Tx, _ dbMeta) error {
		b := tx.Bucket([]byte(bucket))
		for i, k := range keys {
			if b != nil && !known[i] {
				values[i] = bytes.Clone(b.Get([]byte(k)))
			}
		}
		return nil
	})
	if errors.Is(err, ErrLocked) && !errors.Is(err, errAtWork) {
		s.db.warned.say(Warning{Kind: WarnLocked, Path: s.db.dir, Err: err})
	}
	now := s.db.now()
	for i, k := range keys {
		if values[i] == nil || err != nil && !known[i] {
			continue
		}
		r, bad := decodeRecord(bucket, k, values[i])
		if bad != nil {
			s.damagedRecord(bucket, k, bad)
		} else if r = r.datedSensibly(now); now.Sub(r.fetched) < KeepLimit {
			recs[i] = r
		}
	}
	return err
}

func (s *Store) damagedRecord(bucket, key string, err error) {
	s.db.warned.say(Warning{Kind: WarnRecord, Path: s.db.dir, Err: fmt.Errorf("%q in %s: %w", key, bucket, err)})
}

// walk calls fn for every record of a bucket, in key order, without holding anything meanwhile: some hundred keys a
// session, and their values in the next.
func (s *Store) walk(ctx context.Context, bucket string, fn func(key string, r record) error) error {
	after, more := "", true
	for more {
		var keys []string
		var err error
		if keys, more, err = s.keysAfter(ctx, bucket, after); err != nil {
			return err
		}
		if len(keys) == 0 {
			return nil
		}
		recs, err := s.lookup(ctx, bucket, keys)
		if err != nil {
			return err
		}
		for i, r := range recs {
			if !r.found {
				continue
			}
			if err := fn(keys[i], r); err != nil {
				return err
			}
		}
		after = keys[len(keys)-1]
	}
	return nil
}

// keysAfter returns the next keys of a bucket; more reports whether there may be others behind them.
func (s *Store) keysAfter(ctx context.Context, bucket, after string) (keys []string, more bool, err error) {
	waiting := s.pendingKeys(bucket)
	err = s.db.view(ctx, func(tx *bolt.Tx, _ dbMeta) error {
		b := tx.Bucket([]byte(bucket))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for k, _ := c.Seek([]byte(after)); k != nil; k, _ = c.Next() {
			if string(k) <= after {
				continue // after itself, and what a damaged page has out of order: else a walk could go in circles
			}
			if len(keys) == rangeKeys {
				more = true
				break
			}
			keys = append(keys, string(k))
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	for _, k := range waiting {
		if k > after && (!more || k <= keys[rangeKeys-1]) { // else it comes in a later step
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), more, nil
}

// pendingKeys lists the keys of a bucket that are pending, deleted ones too.
func (s *Store) pendingKeys(bucket string) []string {
	prefix := slot(bucket, "")
	var keys []string
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.pending.values {
		if key, ok := strings.CutPrefix(k, prefix); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// bucketNames lists the buckets besides the answers'.
func (s *Store) bucketNames(ctx context.Context) ([]string, error) {
	found := map[string]bool{}
	err := s.db.view(ctx, func(tx *bolt.Tx, _ dbMeta) error {
		return tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
			found[string(name)] = true
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	for k := range s.pending.values {
		bucket, _ := cutSlot(k)
		found[bucket] = true
	}
	s.mu.Unlock()
	delete(found, responses)
	delete(found, metaBucket)
	return slices.Sorted(maps.Keys(found)), nil
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
	n := newest{at: make(map[string]time.Time, len(resources)), now: s.db.now(), pending: map[string]bool{}}
	for _, r := range resources {
		n.at[r] = time.Time{}
	}
	s.mu.Lock()
	for k, w := range s.pending.values {
		if bucket, key := cutSlot(k); bucket == responses {
			n.pending[key] = true
			n.takePending(key, w.value)
		}
	}
	s.mu.Unlock()
	sorted := slices.Clone(resources) // a cursor that moves forwards reads each page once
	slices.Sort(sorted)
	var firstErr error
	for part := range slices.Chunk(slices.Compact(sorted), batchKeys) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		err := s.db.view(ctx, func(tx *bolt.Tx, _ dbMeta) error {
			if b := tx.Bucket([]byte(responses)); b != nil {
				n.inDatabase(b.Cursor(), part)
			}
			return nil
		})
		if firstErr == nil {
			firstErr = err
		}
	}
	out := make([]time.Time, len(resources))
	for i, r := range resources {
		out[i] = n.at[r]
	}
	return out, firstErr
}

// newest gathers fetch times by resource.
type newest struct {
	at      map[string]time.Time
	now     time.Time
	pending map[string]bool // keys whose value in the database is an older one
}

// take notes a value about a resource. Only its head is read: which of two times is the newer one needs no body, and a
// damaged head makes at most a memory void.
func (n *newest) take(resource string, value []byte) {
	r, err := decodeHead(value)
	if err != nil || n.now.Sub(r.fetched) >= KeepLimit || r.fetched.After(n.now.Add(clockSlack)) {
		return
	}
	if r.fetched.After(n.at[resource]) {
		n.at[resource] = r.fetched
	}
}

// takePending notes a pending value about its path and all those above it.
func (n *newest) takePending(key string, value []byte) {
	path, _, _ := strings.Cut(key, "?")
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		if _, wanted := n.at[path[:end]]; wanted {
			n.take(path[:end], value)
		}
	}
}

// inDatabase looks resources up, which are sorted.
func (n *newest) inDatabase(c *bolt.Cursor, resources []string) {
	scan := func(resource, from string, belongs func(k []byte) bool) {
		for k, v := c.Seek([]byte(from)); k != nil && belongs(k); k, v = c.Next() {
			if !n.pending[string(k)] {
				n.take(resource, v)
			}
		}
	}
	for _, r := range resources {
		exact, below, query := []byte(r), []byte(r+"/"), []byte(r+"?")
		// "/" and "?" have the digits of longer ids between them.
		scan(r, r, func(k []byte) bool { return bytes.Equal(k, exact) || bytes.HasPrefix(k, below) })
		scan(r, r+"?", func(k []byte) bool { return bytes.HasPrefix(k, query) })
	}
}
