package cache

// Buckets: name spaces of one store. The answers have one of their own; others (what was decided for which file, say)
// hold plain bytes.

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

// responses is the bucket of the answers.
const responses = "responses"

var bucketName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Bucket is a name space for plain values.
type Bucket struct {
	store *Store
	name  string
}

// Item is one value of a Bucket. A missing one has an empty Key.
type Item struct {
	Key   string // 1 to 32768 bytes
	Value []byte // at most 32 MiB; must not be modified after Put, nor after Get
	// FetchedAt is how old the value counts; zero in Put means now. It is deleted 180 days later at the latest.
	FetchedAt time.Time
	// ExpiresAt is until when the value is of use; zero: no date. Only pruning looks at it: an expired value is got
	// until then.
	ExpiresAt time.Time
}

func itemOf(key string, r record) Item {
	return Item{Key: key, Value: r.payload, FetchedAt: r.fetched, ExpiresAt: r.expires}
}

// Bucket opens the name space called name: a lower-case letter, then letters, digits, '-' and '_', 32 in all.
// "responses" and "meta" are taken.
func (s *Store) Bucket(name string) (*Bucket, error) {
	if name == responses || name == metaBucket || !bucketName.MatchString(name) {
		return nil, fmt.Errorf("cache: bucket name %q can't be used", name)
	}
	return &Bucket{s, name}, nil
}

// Get reads one value. ok is false when there is none. With [ErrLocked] it is not known whether there is one.
func (b *Bucket) Get(ctx context.Context, key string) (item Item, ok bool, err error) {
	items, err := b.GetBatch(ctx, []string{key})
	return items[0], items[0].Key != "", err
}

// GetBatch reads many values, in as few sessions as possible; the result has the order of keys, and an Item without Key
// for each that is not there. With [ErrLocked] the database could not be read.
func (b *Bucket) GetBatch(ctx context.Context, keys []string) ([]Item, error) {
	recs, err := b.store.lookup(ctx, b.name, keys)
	items := make([]Item, len(keys))
	for i, r := range recs {
		if r.found {
			items[i] = itemOf(keys[i], r)
		}
	}
	return items, err
}

// Put writes values in one transaction, which it may share with others. When it returns nil they survive the death of
// the process and a loss of power, unless a warning said that nothing can be written.
func (b *Bucket) Put(_ context.Context, items ...Item) error {
	ws := make([]write, len(items))
	for i, it := range items {
		if it.Key == "" || len(it.Key) > maxKey {
			return fmt.Errorf("cache: a key of %d bytes can't be stored", len(it.Key))
		}
		if len(it.Value) > maxBody {
			return fmt.Errorf("cache: a value of %d bytes can't be stored", len(it.Value))
		}
		if it.FetchedAt.IsZero() {
			it.FetchedAt = b.store.db.now()
		}
		rec := record{fetched: it.FetchedAt, expires: it.ExpiresAt, payload: it.Value}
		ws[i] = write{bucket: b.name, key: it.Key, rec: rec}
	}
	return b.store.put(ws...)
}

// maxKey is bbolt's bound.
const maxKey = 32768

// Delete removes values.
func (b *Bucket) Delete(_ context.Context, keys ...string) error {
	return b.store.remove(b.name, keys...)
}

func (s *Store) remove(bucket string, keys ...string) error {
	ws := make([]write, len(keys))
	for i, k := range keys {
		ws[i] = write{bucket: bucket, key: k, gone: true}
	}
	return s.put(ws...)
}

// Get reads the answer stored under a key (see [KeyOf]), fresh or not, but none older than 180 days. ok is false when
// there is none. With [ErrLocked] it is not known whether there is one.
func (s *Store) Get(ctx context.Context, key string) (e *Entry, ok bool, err error) {
	generation := s.remembers(key)
	if e := s.memory.get(generation, key); e != nil {
		return e, true, nil
	}
	recs, err := s.lookup(ctx, responses, []string{key})
	if !recs[0].found {
		return nil, false, err
	}
	e, bad := entryOf(key, recs[0])
	if bad != nil {
		s.damagedRecord(responses, key, bad)
		return nil, false, err
	}
	if !recs[0].ahead && generation != 0 && generation == s.db.lock.generation() { // else it may have been replaced
		s.memory.put(generation, e)
	}
	return e, true, err
}

// remembers returns the generation of the database for which an answer may come from memory, 0 if it must not.
func (s *Store) remembers(key string) uint64 {
	if s.memory.max == 0 || s.db.mode() == modeMemory {
		return 0
	}
	s.mu.Lock()
	_, pending := s.pending.values[slot(responses, key)]
	closed := s.closed
	s.mu.Unlock()
	if pending || closed {
		return 0
	}
	return s.db.lock.generation()
}

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

// Put stores an answer. Its body must be a JSON object; see Bucket.Put for what a nil error means.
func (s *Store) Put(_ context.Context, e *Entry) error {
	if err := checkBody(e.Body); err != nil {
		return fmt.Errorf("store %s: %w", e.Key, err)
	}
	return s.putChecked(e)
}

// putChecked is Put for a body that has passed checkBody.
func (s *Store) putChecked(e *Entry) error {
	if e.Key == "" || len(e.Key) > maxKey || len(e.Body) > maxBody {
		return fmt.Errorf("store %.80s: key or body is too long", e.Key)
	}
	return s.put(write{bucket: responses, key: e.Key, rec: record{
		fetched: e.FetchedAt, expires: e.ExpiresAt, payload: e.payload(),
	}})
}

// Delete removes answers by key.
func (s *Store) Delete(_ context.Context, keys ...string) error {
	return s.remove(responses, keys...)
}
