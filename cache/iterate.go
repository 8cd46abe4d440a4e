package cache

// Walking over a bucket, in key order, without holding anything while the caller looks at what it was given: some
// hundred keys a session, and their values in the next.

import (
	"context"
	"errors"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// rangeKeys is how many keys one step takes.
const rangeKeys = 512

// Range calls fn for every stored answer, in key order, fresh or not, but none older than 180 days. What is written
// meanwhile may or may not be seen. It ends with the first error, which it returns. fn may use the store.
func (s *Store) Range(ctx context.Context, fn func(*Entry) error) error {
	return s.walk(ctx, responses, func(key string, r record) error {
		e, err := entryOf(key, r)
		if err != nil {
			s.damagedRecord(responses, key, err)
			return nil
		}
		return fn(e)
	})
}

// Range calls fn for every value of the bucket, in key order. See Store.Range.
func (b *Bucket) Range(ctx context.Context, fn func(Item) error) error {
	return b.store.walk(ctx, b.name, func(key string, r record) error { return fn(itemOf(key, r)) })
}

// walk calls fn for every record of a bucket that is there, in key order.
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
		recs, _, _, err := s.lookup(ctx, bucket, keys)
		if err != nil {
			return err
		}
		for i, r := range recs {
			if r.stamp == 0 {
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

// keysAfter returns the next keys of a bucket, of database and journals; more reports whether there may be others
// behind them.
func (s *Store) keysAfter(ctx context.Context, bucket, after string) (keys []string, more bool, err error) {
	written := s.journalKeys(bucket, after)
	err = s.view(ctx, func(tx *bolt.Tx, _ dbMeta) error {
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
	if err != nil && !errors.Is(err, errNoDB) {
		return nil, false, err
	}
	for _, k := range written {
		if more && k > keys[rangeKeys-1] {
			break // in a later step
		}
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return slices.Compact(keys), more, nil
}

// journalKeys lists the keys of a bucket that lie in journals, sorted.
func (s *Store) journalKeys(bucket, after string) []string {
	prefix := slot(bucket, "")
	var keys []string
	s.eachJournal(func(k string, _ record) {
		if key, ok := strings.CutPrefix(k, prefix); ok && key > after {
			keys = append(keys, key)
		}
	})
	slices.Sort(keys)
	return slices.Compact(keys)
}

// eachJournal calls fn for every slot that lies in a journal, or only in this process's memory, with the head of its
// record; for some slots more than once.
func (s *Store) eachJournal(fn func(slot string, head record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshPeers()
	for j := range s.journals() {
		for k, p := range j.index {
			fn(k, p.head)
		}
	}
	for k, v := range s.private.values {
		if head, err := decodeHead(v); err == nil {
			fn(k, head)
		}
	}
}
