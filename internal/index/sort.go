package index

// This file sorts more records than memory should hold: runs of a bounded size go to a scratch file each and are merged.
// A B+tree that is filled in order is built in one pass and densely.

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// record is a value of a bucket.
type record struct {
	bucket     bucket
	key, value []byte
}

func compareRecords(a, b record) int {
	if a.bucket != b.bucket {
		return int(a.bucket) - int(b.bucket)
	}
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	return bytes.Compare(a.value, b.value)
}

// runSize is how many bytes of records are sorted in memory.
const runSize = 48 << 20

// sorter takes records in any order and gives them back sorted; of several with one key only the first by value.
type sorter struct {
	dir   string // of scratch files
	limit int
	run   []record
	size  int
	files []*os.File
}

// storeError is a fault of our own files, not of what is imported.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

func (s *sorter) add(r record) error {
	const overhead = 64
	s.run = append(s.run, r)
	s.size += len(r.key) + len(r.value) + overhead
	if s.size < s.limit {
		return nil
	}
	return s.spill()
}

// spill writes the sorted run to a scratch file.
func (s *sorter) spill() error {
	slices.SortFunc(s.run, compareRecords)
	f, err := os.CreateTemp(s.dir, "sort-*.tmp")
	if err != nil {
		return &storeError{err}
	}
	s.files = append(s.files, f)
	w := bufio.NewWriterSize(f, 256<<10)
	var head []byte
	for _, r := range s.run {
		head = append(head[:0], byte(r.bucket))
		head = binary.AppendUvarint(head, uint64(len(r.key)))
		head = binary.AppendUvarint(head, uint64(len(r.value)))
		for _, b := range [][]byte{head, r.key, r.value} {
			if _, err := w.Write(b); err != nil {
				return &storeError{err}
			}
		}
	}
	if err := w.Flush(); err != nil {
		return &storeError{err}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return &storeError{err}
	}
	s.run, s.size = nil, 0
	return nil
}

// each yields all records in order.
func (s *sorter) each(yield func(record) error) error {
	slices.SortFunc(s.run, compareRecords)
	h := &merge{}
	memory := s.run
	h.add(&stream{next: func() (record, error) {
		if len(memory) == 0 {
			return record{}, io.EOF
		}
		r := memory[0]
		memory = memory[1:]
		return r, nil
	}})
	for _, f := range s.files {
		in := bufio.NewReaderSize(f, 256<<10)
		h.add(&stream{next: func() (record, error) { return readRecord(in) }})
	}
	if h.err != nil {
		return &storeError{h.err}
	}
	heap.Init(h)
	var last record
	for first := true; h.Len() > 0; {
		top := h.streams[0]
		r := top.head
		if first || r.bucket != last.bucket || !bytes.Equal(r.key, last.key) {
			if err := yield(r); err != nil {
				return err
			}
		}
		first, last = false, r
		switch err := top.advance(); {
		case errors.Is(err, io.EOF):
			heap.Pop(h)
		case err != nil:
			return &storeError{fmt.Errorf("read a scratch file: %w", err)}
		default:
			heap.Fix(h, 0)
		}
	}
	return nil
}

// close removes the scratch files.
func (s *sorter) close() {
	for _, f := range s.files {
		f.Close()
		os.Remove(f.Name())
	}
}

// errCut is a scratch file that ends inside a record.
var errCut = errors.New("a scratch file is cut")

func readRecord(in *bufio.Reader) (record, error) {
	b, err := in.ReadByte()
	if err != nil {
		return record{}, err // io.EOF here is the end
	}
	r := record{bucket: bucket(b)}
	for _, into := range []*[]byte{&r.key, &r.value} {
		n, err := binary.ReadUvarint(in)
		if err != nil || n > maxLine {
			return record{}, errCut
		}
		*into = make([]byte, n)
	}
	for _, part := range [][]byte{r.key, r.value} {
		if _, err := io.ReadFull(in, part); err != nil {
			return record{}, errCut
		}
	}
	return r, nil
}

// stream is a sorted run.
type stream struct {
	head record
	next func() (record, error)
}

func (s *stream) advance() (err error) {
	s.head, err = s.next()
	return err
}

// merge is a heap of streams by their first records.
type merge struct {
	streams []*stream
	err     error
}

func (m *merge) add(s *stream) {
	switch err := s.advance(); {
	case errors.Is(err, io.EOF):
	case err != nil:
		m.err = errors.Join(m.err, err)
	default:
		m.streams = append(m.streams, s)
	}
}

func (m *merge) Len() int           { return len(m.streams) }
func (m *merge) Less(i, j int) bool { return compareRecords(m.streams[i].head, m.streams[j].head) < 0 }
func (m *merge) Swap(i, j int)      { m.streams[i], m.streams[j] = m.streams[j], m.streams[i] }
func (m *merge) Push(x any)         { m.streams = append(m.streams, x.(*stream)) }
func (m *merge) Pop() any {
	last := m.streams[len(m.streams)-1]
	m.streams = m.streams[:len(m.streams)-1]
	return last
}
