package store

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
	batchKeys = 4096 // how many keys one session reads at most: about 10 ms
	rangeKeys = 512  // how many keys one step of a walk takes
)

// lookup returns the item of each key; with ErrLocked, of the values pending here.
func (s *Store) lookup(ctx context.Context, bucket string, keys []string) ([]Item, error) {
	items := make([]Item, 0, len(keys))
	var firstErr error
	for part := range slices.Chunk(keys, batchKeys) {
		if ctx.Err() != nil {
			return append(items, make([]Item, len(keys)-len(items))...), context.Cause(ctx)
		}
		found, err := s.lookupSome(ctx, bucket, part)
		items = append(items, found...)
		if firstErr == nil {
			firstErr = err
		}
	}
	return items, firstErr
}

func (s *Store) lookupSome(ctx context.Context, bucket string, keys []string) ([]Item, error) {
	items, values, known := make([]Item, len(keys)), make([][]byte, len(keys)), make([]bool, len(keys))
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return items, ErrClosed
	}
	for i, k := range keys {
		var c change
		c, known[i] = s.pending.values[slot{bucket, k}]
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
	if errors.Is(err, ErrLocked) && !errors.Is(err, ErrAtWork) {
		s.db.warned.say(Warning{Kind: WarnLocked, Path: s.db.dir, Err: err})
	}
	now := s.db.now()
	for i, k := range keys {
		if values[i] == nil || err != nil && !known[i] {
			continue
		}
		it, bad := decodeItem(bucket, k, values[i])
		if bad != nil {
			(&Bucket{s, bucket}).Damaged(k, bad)
		} else if it = it.datedSensibly(now); now.Sub(it.FetchedAt) < KeepLimit {
			items[i] = it
		}
	}
	return items, err
}

// Damaged warns of a value that can't be read.
func (b *Bucket) Damaged(key string, err error) {
	db := b.store.db
	db.warned.say(Warning{Kind: WarnRecord, Path: db.dir, Err: fmt.Errorf("%q in %s: %w", key, b.name, err)})
}

// walk calls fn for every item of a bucket, in key order, without holding anything meanwhile: some hundred keys a
// session, and their values in the next.
func (s *Store) walk(ctx context.Context, bucket string, fn func(Item) error) error {
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
	pending := s.pendingIn(bucket)
	err = s.db.view(ctx, func(tx *bolt.Tx) error {
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
	for k := range pending {
		if k > after && (!more || k <= keys[rangeKeys-1]) { // else it comes in a later step
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), more, nil
}

func (s *Store) pendingIn(bucket string) map[string][]byte {
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

// Buckets lists the buckets besides the answers'.
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
	delete(found, answers)
	delete(found, metaBucket)
	var buckets []*Bucket
	for _, name := range slices.Sorted(maps.Keys(found)) {
		buckets = append(buckets, &Bucket{s, name})
	}
	return buckets, nil
}

// Name is the bucket's name.
func (b *Bucket) Name() string { return b.name }

// Newest returns when the newest answer about each resource was fetched, by whatever process; see cache.Store.Newest.
func (s *Store) Newest(ctx context.Context, resources ...string) ([]time.Time, error) {
	n := newest{
		at: make(map[string]time.Time, len(resources)), now: s.db.now(), pending: s.pendingIn(answers),
	}
	for _, r := range resources {
		n.at[r] = time.Time{}
	}
	for key, value := range n.pending {
		n.takePending(key, value)
	}
	sorted := slices.Clone(resources) // a cursor that moves forwards reads each page once
	slices.Sort(sorted)
	var firstErr error
	for part := range slices.Chunk(slices.Compact(sorted), batchKeys) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		err := s.db.view(ctx, func(tx *bolt.Tx) error {
			if b := tx.Bucket([]byte(answers)); b != nil {
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
	pending map[string][]byte // by key, whose value in the database is an older one
}

// take notes a value about a resource. Only its head is read: which of two times is the newer one needs no body, and a
// damaged head makes at most a memory void.
func (n *newest) take(resource string, value []byte) {
	it, err := decodeHead(value)
	if err != nil || n.now.Sub(it.FetchedAt) >= KeepLimit || it.FetchedAt.After(n.now.Add(ClockSlack)) {
		return
	}
	if it.FetchedAt.After(n.at[resource]) {
		n.at[resource] = it.FetchedAt
	}
}

func (n *newest) takePending(key string, value []byte) {
	path, _, _ := strings.Cut(key, "?")
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		if _, wanted := n.at[path[:end]]; wanted {
			n.take(path[:end], value)
		}
	}
}

func (n *newest) inDatabase(c *bolt.Cursor, resources []string) {
	scan := func(resource, from string, belongs func(k []byte) bool) {
		for k, v := c.Seek([]byte(from)); k != nil && belongs(k); k, v = c.Next() {
			if _, changed := n.pending[string(k)]; !changed {
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
