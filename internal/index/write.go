package index

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/lang"
)

type record struct {
	bucket     bucket
	key, value []byte
}

const (
	// maxRecordBytes limits the memory of an import. All of TMDB's series and films take about a sixth of it.
	maxRecordBytes = 1 << 30
	maxKeyLength   = 1<<15 - 1 // bbolt's limit is one more
	batchSize      = 20000     // records per transaction
)

// records are all records of an index. Each is encoded in one string: the bucket, the key, the value, and the key's
// length in two bytes. A slice of structs would take twice the memory.
type records struct {
	encoded []string
	size    int
	buffer  []byte
}

// storeError is an error of the index's own files or limits, not of an imported file.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// add adds a copy of a record. It ignores records with a key that is too long for the file: no look-up asks for such
// titles.
func (s *records) add(r record) error {
	if s.size += len(r.key) + len(r.value); s.size > maxRecordBytes {
		return &storeError{lang.Error("the lists hold more than %d MiB of titles", maxRecordBytes>>20)}
	}
	n := len(r.key)
	if n > maxKeyLength {
		return nil
	}
	s.buffer = append(append(append(s.buffer[:0], byte(r.bucket)), r.key...), r.value...)
	s.encoded = append(s.encoded, string(append(s.buffer, byte(n>>8), byte(n))))
	return nil
}

// bucketAndKey returns the part of an encoded record with its bucket and key.
func bucketAndKey(record string) string {
	n := len(record)
	return record[:1+int(record[n-2])<<8+int(record[n-1])]
}

// sort sorts the records in the order of the file, so that the B+tree is built densely. Of records with the same key it
// keeps the first.
func (s *records) sort() {
	slices.SortFunc(s.encoded, func(a, b string) int {
		return cmp.Or(strings.Compare(bucketAndKey(a), bucketAndKey(b)), strings.Compare(a[:len(a)-2], b[:len(b)-2]))
	})
	s.encoded = slices.CompactFunc(s.encoded, func(a, b string) bool { return bucketAndKey(a) == bucketAndKey(b) })
}

// addKeptSources adds the records of the current index whose sources are not being imported. A source that is damaged
// is left out and must be imported again.
func (s *records) addKeptSources(dir string, replaced []SourceInfo) (kept []SourceInfo, err error) {
	old, err := Open(dir)
	if err != nil {
		return nil, nil
	}
	defer func() { _ = old.Close() }()
	infos, _, _ := old.Stats()
	for _, info := range infos {
		if slices.ContainsFunc(replaced, func(r SourceInfo) bool { return r.Source == info.Source }) {
			continue
		}
		before := len(s.encoded)
		err := old.db.View(func(tx *bolt.Tx) error {
			for _, b := range bucketsOf[info.Source] {
				from := tx.Bucket(b.name())
				if from == nil {
					continue
				}
				if err := from.ForEach(func(k, v []byte) error { return s.add(record{b, k, v}) }); err != nil {
					return err
				}
			}
			return nil
		})
		switch {
		case errors.As(err, new(*storeError)):
			return nil, err
		case err != nil:
			s.encoded = s.encoded[:before]
		default:
			kept = append(kept, info)
		}
	}
	return kept, nil
}

// write writes the sorted records to a new file and replaces the current one with it.
func (s *records) write(ctx context.Context, dir, scratch string, infos []SourceInfo) error {
	db, err := bolt.Open(scratch, 0o600, &bolt.Options{NoSync: true, NoFreelistSync: true, Timeout: time.Second})
	if err != nil {
		return lang.Error("make the index: %w", err)
	}
	err = db.Update(func(tx *bolt.Tx) error { return putMeta(tx, infos) })
	for batch := range slices.Chunk(s.encoded, batchSize) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			break
		}
		err = db.Update(func(tx *bolt.Tx) error { return putBatch(tx, batch) })
	}
	if err == nil {
		err = db.Sync()
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return lang.Error("write the index: %w", err)
	}
	if err := os.Rename(scratch, filepath.Join(dir, FileName)); err != nil {
		return lang.Error("put the index in place: %w", err)
	}
	return nil
}

func putBatch(tx *bolt.Tx, batch []string) (err error) {
	var b *bolt.Bucket
	for i, r := range batch {
		at := bucketAndKey(r)
		if i == 0 || at[0] != batch[i-1][0] {
			if b, err = tx.CreateBucketIfNotExists(bucket(at[0]).name()); err != nil {
				return err
			}
			b.FillPercent = 0.95 // keys are added in order
		}
		if err := b.Put([]byte(at[1:]), []byte(r[len(at):len(r)-2])); err != nil {
			return err
		}
	}
	return nil
}

func putMeta(tx *bolt.Tx, infos []SourceInfo) error {
	b, err := tx.CreateBucketIfNotExists(metaName)
	if err != nil {
		return err
	}
	for _, info := range infos {
		value, _ := json.Marshal(info) // it always has a JSON form
		if err := b.Put([]byte(info.Source), value); err != nil {
			return err
		}
	}
	return nil
}
