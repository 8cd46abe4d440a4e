package store

// Reads look at the pending writes first and then at the database. In this order they can't miss a value, because a
// value leaves the pending writes only when it is in the database.

import (
	"bytes"
	"cmp"
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
	maxBatchKeys = 4096 // maximum keys that one session reads, which takes about 10 ms
	maxRangeKeys = 512  // maximum keys that one step of forEachItem reads
)

// lookup returns the item for each key. If the error is ErrLocked, it returns only pending values.
func (s *Store) lookup(ctx context.Context, bucket string, keys []string) ([]Item, error) {
	items := make([]Item, 0, len(keys))
	var firstErr error
	for part := range slices.Chunk(keys, maxBatchKeys) {
		if ctx.Err() != nil {
			return append(items, make([]Item, len(keys)-len(items))...), context.Cause(ctx)
		}
		found, err := s.lookupChunk(ctx, bucket, part)
		items = append(items, found...)
		firstErr = cmp.Or(firstErr, err)
	}
	return items, firstErr
}

func (s *Store) lookupChunk(ctx context.Context, bucket string, keys []string) ([]Item, error) {
	items, values, known := make([]Item, len(keys)), make([][]byte, len(keys)), make([]bool, len(keys))
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return items, ErrClosed
	}
	for i, k := range keys {
		var c change
		c, known[i] = s.pending.values[valueKey{bucket, k}]
		values[i] = c.value
	}
	s.mu.Unlock()
	err := s.db.view(ctx, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		for i, k := range keys {
			if b != nil && !known[i] {
				values[i] = bytes.Clone(b.Get([]byte(k)))
			}
		}
		return nil
	})
	if errors.Is(err, ErrLocked) && !errors.Is(err, ErrHolderActive) {
		s.db.warnings.warn(Warning{Kind: WarnLocked, Path: s.db.dir, Err: err})
	}
	now := s.db.now()
	for i, k := range keys {
		if values[i] == nil || err != nil && !known[i] {
			continue
		}
		it, bad := decodeItem(bucket, k, values[i])
		if bad != nil {
			(&Bucket{s, bucket}).WarnDamaged(k, bad)
		} else if it = it.withoutFutureDates(now); now.Sub(it.FetchedAt) < KeepLimit {
			items[i] = it
		}
	}
	return items, err
}

// WarnDamaged warns about a value that can't be decoded.
func (b *Bucket) WarnDamaged(key string, err error) {
	db := b.store.db
	db.warnings.warn(Warning{Kind: WarnRecord, Path: db.dir, Err: fmt.Errorf("%q in %s: %w", key, b.name, err)})
}

// forEachItem calls fn for each item of a bucket in key order. While fn runs, it holds no lock: it reads some hundred
// keys in one session, and their values in the next.
func (s *Store) forEachItem(ctx context.Context, bucket string, fn func(Item) error) error {
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
		items, err := s.lookup(ctx, bucket, keys)
		if err != nil {
			return err
		}
		for _, it := range items {
			if it.Key == "" {
				continue
			}
			if err := fn(it); err != nil {
				return err
			}
		}
		after = keys[len(keys)-1]
	}
	return nil
}

func (s *Store) keysAfter(ctx context.Context, bucket, after string) (keys []string, more bool, err error) {
	pending := s.pendingValues(bucket)
	err = s.db.view(ctx, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for k, _ := c.Seek([]byte(after)); k != nil; k, _ = c.Next() {
			if string(k) <= after {
				continue // after itself, and out-of-order keys of a damaged page, with which the caller could loop forever
			}
			if len(keys) == maxRangeKeys {
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
	for k := range pending {
		if k > after && (!more || k <= keys[maxRangeKeys-1]) { // otherwise a later call returns it
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), more, nil
}

func (s *Store) pendingValues(bucket string) map[string][]byte {
	values := map[string][]byte{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, c := range s.pending.values {
		if at.bucket == bucket {
			values[at.key] = c.value
		}
	}
	return values
}

// Buckets returns all buckets except that of the answers.
func (s *Store) Buckets(ctx context.Context) ([]*Bucket, error) {
	found := map[string]bool{}
	err := s.db.view(ctx, func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
			found[string(name)] = true
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	for at := range s.pending.values {
		found[at.bucket] = true
	}
	s.mu.Unlock()
	delete(found, answersBucket)
	delete(found, metaBucket)
	var buckets []*Bucket
	for _, name := range slices.Sorted(maps.Keys(found)) {
		buckets = append(buckets, &Bucket{s, name})
	}
	return buckets, nil
}

// Name returns the name of the bucket.
func (b *Bucket) Name() string { return b.name }

// Newest returns when the newest answer about each resource was fetched by any process; see cache.Store.Newest.
func (s *Store) Newest(ctx context.Context, resources ...string) ([]time.Time, error) {
	n := newestTimes{
		byResource: make(map[string]time.Time, len(resources)), now: s.db.now(), pending: s.pendingValues(answersBucket),
	}
	for _, r := range resources {
		n.byResource[r] = time.Time{}
	}
	for key, value := range n.pending {
		path, _, _ := strings.Cut(key, "?")
		for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
			if _, wanted := n.byResource[path[:end]]; wanted {
				n.add(path[:end], value)
			}
		}
	}
	sorted := slices.Clone(resources) // in this order, the cursor reads each page only once
	slices.Sort(sorted)
	var firstErr error
	for part := range slices.Chunk(slices.Compact(sorted), maxBatchKeys) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		err := s.db.view(ctx, func(tx *bolt.Tx) error {
			if b := tx.Bucket([]byte(answersBucket)); b != nil {
				n.addFromDatabase(b.Cursor(), part)
			}
			return nil
		})
		firstErr = cmp.Or(firstErr, err)
	}
	out := make([]time.Time, len(resources))
	for i, r := range resources {
		out[i] = n.byResource[r]
	}
	return out, firstErr
}

type newestTimes struct {
	byResource map[string]time.Time
	now        time.Time
	pending    map[string][]byte // pending values by key, which replace those in the database
}

// add takes a value about a resource into account. It reads only the header and does not verify the checksum. Comparing
// times does not need the body, and a damaged header can only make a stored result look outdated.
func (n *newestTimes) add(resource string, value []byte) {
	it, err := decodeItemHeader(value)
	if err != nil || n.now.Sub(it.FetchedAt) >= KeepLimit || it.FetchedAt.After(n.now.Add(ClockSlack)) {
		return
	}
	if it.FetchedAt.After(n.byResource[resource]) {
		n.byResource[resource] = it.FetchedAt
	}
}

func (n *newestTimes) addFromDatabase(c *bolt.Cursor, resources []string) {
	scan := func(resource, from string, belongs func(k []byte) bool) {
		for k, v := c.Seek([]byte(from)); k != nil && belongs(k); k, v = c.Next() {
			if _, changed := n.pending[string(k)]; !changed {
				n.add(resource, v)
			}
		}
	}
	for _, r := range resources {
		exact, below, query := []byte(r), []byte(r+"/"), []byte(r+"?")
		// Two scans are needed because in byte order, the digits of longer IDs are between "/" and "?".
		scan(r, r, func(k []byte) bool { return bytes.Equal(k, exact) || bytes.HasPrefix(k, below) })
		scan(r, r+"?", func(k []byte) bool { return bytes.HasPrefix(k, query) })
	}
}
