package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/anivault/anivault/internal/lang"
)

// record is a value of a bucket.
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

// storeError is a fault of our own files or bounds, not of what is imported.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// add copies a record. A key that is too long for the index is left out: nobody asks for it.
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

// each yields all records in order; of several with one key only the first by value.
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
