package cache

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Newest returns when the newest answer about each resource was fetched, by whatever process: the zero time where
// nothing is stored about it.
//
// A resource is the key of a request without its query, as in "GET https://api.themoviedb.org:443/3/tv/1399" (see
// [KeyOf]). Answers to that path, with any query, and to every path below it ("/3/tv/1399/season/1") are about it; 404s
// count, deleted answers and those that nothing may serve any more do not. An answer that is dated ahead of the clock
// does not count either: it is asked for again.
//
// One session reads thousands of resources. The result has the order of the resources. With [ErrLocked] the times are
// those of the journals alone.
func (s *Store) Newest(ctx context.Context, resources ...string) ([]time.Time, error) {
	n := newest{at: make(map[string]time.Time, len(resources)), now: s.now()}
	for _, r := range resources {
		n.at[r] = time.Time{}
	}
	s.newestInJournals(&n)
	sorted := slices.Clone(resources) // a cursor that moves forwards reads each page once
	slices.Sort(sorted)
	var firstErr error
	for part := range slices.Chunk(slices.Compact(sorted), batchKeys) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		err := s.view(ctx, func(tx *bolt.Tx, meta dbMeta) error {
			if b := tx.Bucket([]byte(responses)); b != nil {
				n.cleared = meta.Cleared
				n.inDatabase(b.Cursor(), part)
			}
			return nil
		})
		if err != nil && !errors.Is(err, errNoDB) && firstErr == nil {
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
	cleared uint64
}

// take notes a record about a resource.
func (n *newest) take(resource string, r record) {
	switch {
	case r.deleted, isCleared(r.stamp, n.cleared, n.now), n.now.Sub(r.fetched) >= KeepLimit, r.fetched.After(n.now.Add(clockSlack)):
	case r.fetched.After(n.at[resource]):
		n.at[resource] = r.fetched
	}
}

// inDatabase looks resources up, which are sorted. Only the heads of records are read: which of two times is the newer
// one needs no body, and a damaged head makes at most a memory void.
func (n *newest) inDatabase(c *bolt.Cursor, resources []string) {
	for _, r := range resources {
		exact := []byte(r)
		below, query := []byte(r+"/"), []byte(r+"?")
		// "/" and "?" have the digits of longer ids between them.
		for k, v := c.Seek(exact); bytes.Equal(k, exact) || bytes.HasPrefix(k, below); k, v = c.Next() {
			n.takeHead(r, v)
		}
		for k, v := c.Seek(query); bytes.HasPrefix(k, query); k, v = c.Next() {
			n.takeHead(r, v)
		}
	}
}

func (n *newest) takeHead(resource string, value []byte) {
	if head, err := decodeHead(value); err == nil {
		n.take(resource, head)
	}
}

// newestInJournals takes what lies in journals and in this process's memory.
func (s *Store) newestInJournals(n *newest) {
	s.mu.Lock()
	n.cleared = s.cleared
	s.mu.Unlock()
	s.eachJournal(func(k string, head record) {
		bucket, key := cutSlot(k)
		if bucket != responses {
			return
		}
		path, _, _ := strings.Cut(key, "?")
		for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
			if _, wanted := n.at[path[:end]]; wanted {
				n.take(path[:end], head)
			}
		}
	})
}
