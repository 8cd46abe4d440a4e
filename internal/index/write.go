package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/anivault/anivault/internal/lang"
)

type record struct {
	bucket     bucket
	key, value []byte
}

const (
	chunkSize  = 1 << 20
	headerSize = 1 + 2 + 4 // bucket, length of the key, length of the value
	// maxRecords bounds the memory of an import. All of TMDB's series and films take about a sixth of it.
	maxRecords = 1 << 30
	maxKey     = 1<<15 - 1 // bbolt's bound is one more
)

// records takes records in any order and yields them sorted: a B+tree that is filled in order is built in one pass
// and densely. They lie one behind the other in chunks of memory without pointers.
type records struct {
	chunks [][]byte
	at     []uint64 // of each record its chunk, in the upper half, and its place there
	size   int
}

type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

func (s *records) add(r record) error {
	n := headerSize + len(r.key) + len(r.value)
	if s.size += n; s.size > maxRecords {
		return &storeError{lang.Error("the lists hold more than %d MiB of titles", maxRecords>>20)}
	}
	if len(r.key) > maxKey {
		return nil
	}
	last := len(s.chunks) - 1
	if last < 0 || cap(s.chunks[last])-len(s.chunks[last]) < n {
		s.chunks = append(s.chunks, make([]byte, 0, max(chunkSize, n)))
		last++
	}
	b := s.chunks[last]
	s.at = append(s.at, uint64(last)<<32|uint64(len(b)))
	b = append(b, byte(r.bucket))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.key)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.value)))
	s.chunks[last] = append(append(b, r.key...), r.value...)
	return nil
}

func (s *records) get(at uint64) record {
	b := s.chunks[at>>32][uint32(at):]
	key := headerSize + int(binary.LittleEndian.Uint16(b[1:]))
	value := key + int(binary.LittleEndian.Uint32(b[3:]))
	return record{bucket(b[0]), b[headerSize:key:key], b[key:value:value]}
}

func (s *records) each(yield func(record) error) error {
	slices.SortFunc(s.at, func(a, b uint64) int { return compareRecords(s.get(a), s.get(b)) })
	for i, at := range s.at {
		r := s.get(at)
		if i > 0 {
			if last := s.get(s.at[i-1]); last.bucket == r.bucket && bytes.Equal(last.key, r.key) {
				continue
			}
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

func compareRecords(a, b record) int {
	return cmp.Or(cmp.Compare(a.bucket, b.bucket), bytes.Compare(a.key, b.key), bytes.Compare(a.value, b.value))
}

type writer struct {
	ctx   context.Context //nolint:containedctx // lives as long as one import
	db    *bolt.DB
	batch []record
	infos []SourceInfo
}

func (w *writer) put(r record) error {
	w.batch = append(w.batch, r)
	if len(w.batch) < batchSize {
		return nil
	}
	return w.flush()
}

func (w *writer) flush() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	err := w.db.Update(func(tx *bolt.Tx) error {
		var b *bolt.Bucket
		var of bucket
		for _, r := range w.batch {
			if b == nil || r.bucket != of {
				var err error
				if b, err = tx.CreateBucketIfNotExists(r.bucket.name()); err != nil {
					return err
				}
				b.FillPercent = 0.95 // keys come in order
				of = r.bucket
			}
			if err := b.Put(r.key, r.value); err != nil {
				return err
			}
		}
		return nil
	})
	w.batch = w.batch[:0]
	return err
}

// keepOthers copies the sources that are not imported anew. A present index that can't be read is no reason not to
// make a new one.
func (w *writer) keepOthers(dir string, replaced []SourceInfo) error {
	old, err := Open(dir)
	if err != nil {
		return nil // none, or unreadable: what it held has to be imported again
	}
	defer func() { _ = old.Close() }()
	infos, _, err := old.Stats()
	if err != nil {
		return nil
	}
	for _, info := range infos {
		if slices.ContainsFunc(replaced, func(r SourceInfo) bool { return r.Source == info.Source }) {
			continue
		}
		if err := w.copySource(old, info); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) copySource(old *Index, info SourceInfo) error {
	if err := w.flush(); err != nil {
		return err
	}
	err := old.db.View(func(tx *bolt.Tx) error {
		for _, b := range bucketsOf[info.Source] {
			from := tx.Bucket(b.name())
			if from == nil {
				continue
			}
			err := from.ForEach(func(k, v []byte) error {
				if err := w.put(record{b, slices.Clone(k), slices.Clone(v)}); err != nil {
					return &storeError{err}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	var own *storeError
	switch {
	case errors.As(err, &own):
		return own.err
	case err == nil:
		w.infos = append(w.infos, info)
		return nil
	}
	w.batch = w.batch[:0]
	return w.db.Update(func(tx *bolt.Tx) error {
		for _, b := range bucketsOf[info.Source] {
			if err := tx.DeleteBucket(b.name()); err != nil && !errors.Is(err, bolterrors.ErrBucketNotFound) {
				return err
			}
		}
		return nil
	})
}

func (w *writer) meta(infos []SourceInfo) error {
	return w.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(metaName)
		if err != nil {
			return err
		}
		for _, info := range slices.Concat(w.infos, infos) {
			value, err := json.Marshal(info)
			if err != nil {
				return err
			}
			if err := b.Put([]byte(info.Source), value); err != nil {
				return err
			}
		}
		return nil
	})
}
