package cache

// One journal on disk, the own one that is appended to or another process's
// that is read: an index of where the newest value of each key lies. Values
// stay in the file.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// place is where a value lies in a journal.
type place struct {
	off  int64
	size int
	head record
}

type journal struct {
	name  journalName
	path  string
	f     *os.File
	shy   bool  // not kept open: that would be in its owner's way
	size  int64 // how far it is known to be sound
	count int   // records that carry values
	index map[string]place
	// claims are the keys that the owner is asking, if this is its newest
	// journal.
	claims map[string]struct{}
	grown  time.Time // when it was last seen to have grown
	bad    error     // why reading stopped before the end, if it did
}

// errTooLong: a value that no journal can hold.
var errTooLong = errors.New("value is too long")

// slot joins bucket and key to one map key.
func slot(bucket, key string) string { return bucket + "\x00" + key }

func cutSlot(k string) (bucket, key string) {
	bucket, key, _ = strings.Cut(k, "\x00")
	return bucket, key
}

func newJournal(dir string, name journalName) *journal {
	return &journal{
		name: name, path: name.in(dir),
		index: map[string]place{}, claims: map[string]struct{}{}, grown: time.Now(),
	}
}

// create makes the file, empty but for its head.
func (j *journal) create() error {
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(journalMagic)); err != nil {
		return errors.Join(err, f.Close(), os.Remove(j.path))
	}
	j.f, j.size = f, journalHead
	return nil
}

// append writes records with one write. Once it returns nil they survive the
// death of the process. On an error the file is as it was before.
func (j *journal) append(recs ...journalRecord) error {
	n := 0
	for _, r := range recs {
		n += 24 + len(r.bucket) + len(r.key) + len(r.value)
	}
	buf := make([]byte, 0, n)
	ends := make([]int, len(recs))
	for i, r := range recs {
		start := len(buf)
		buf = r.append(buf)
		if len(buf)-start > maxJournal {
			return fmt.Errorf("write %q: %w", r.key, errTooLong)
		}
		ends[i] = len(buf)
	}
	if _, err := j.f.WriteAt(buf, j.size); err != nil {
		return errors.Join(err, j.f.Truncate(j.size))
	}
	for i, r := range recs {
		j.note(r, j.size+int64(ends[i]-len(r.value)))
	}
	j.size += int64(len(buf))
	return nil
}

// note takes one record into the index; off is where its value begins.
func (j *journal) note(r journalRecord, off int64) {
	k := slot(r.bucket, r.key)
	switch r.kind {
	case kindPut:
		delete(j.claims, k)
		head, err := decodeHead(r.value)
		if err != nil {
			j.bad = err
			return
		}
		j.count++
		if old, ok := j.index[k]; !ok || head.stamp >= old.head.stamp {
			j.index[k] = place{off: off, size: len(r.value), head: head}
		}
	case kindClaim:
		j.claims[k] = struct{}{}
	case kindRelease:
		delete(j.claims, k)
	case kindBeat:
	}
}

// refresh reads what was appended since the last time.
func (j *journal) refresh() error {
	f := j.f
	if f == nil {
		var err error
		if f, err = os.Open(j.path); err != nil {
			return err
		}
		if j.shy {
			defer f.Close()
		} else {
			j.f = f
		}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() <= j.size {
		return nil
	}
	before := j.size
	if j.size == 0 {
		head := make([]byte, journalHead)
		if _, err := f.ReadAt(head, 0); err != nil || string(head) != journalMagic {
			if info.Size() >= journalHead {
				j.bad = fmt.Errorf("%w: not a journal", errJournal)
			}
			return nil
		}
		j.size = journalHead
	}
	j.size, j.bad = scanJournal(f, j.size, info.Size(), j.note)
	if j.size > before {
		j.grown = time.Now()
	}
	return nil
}

// value reads a value that the index knows.
func (j *journal) value(p place) ([]byte, error) {
	f := j.f
	if f == nil {
		var err error
		if f, err = os.Open(j.path); err != nil {
			return nil, err
		}
		defer f.Close()
	}
	b := make([]byte, p.size)
	if _, err := f.ReadAt(b, p.off); err != nil {
		return nil, err
	}
	return b, nil
}

func (j *journal) close() {
	if j.f != nil {
		_ = j.f.Close() // nothing buffered, nothing to lose
		j.f = nil
	}
}

// remove deletes the file. Where somebody has it open and that is in the way,
// it is emptied instead: a merged journal must not be merged again.
func (j *journal) remove() error {
	j.close()
	err := os.Remove(j.path)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(os.Truncate(j.path, 0), err)
}

const scanChunk = 1 << 20

// scanJournal calls note for every sound record between off and end, with the
// offset of its value. It gives the offset after the last sound one; the error
// is nil when only an incomplete record follows, or nothing.
func scanJournal(f io.ReaderAt, off, end int64, note func(journalRecord, int64)) (int64, error) {
	var buf []byte
	want := int64(scanChunk)
	for off < end {
		n := min(want, end-off)
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		got, err := f.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			return off, err
		}
		used := 0
		for used < got {
			r, n, err := decodeJournal(buf[used:got])
			if errors.Is(err, errPartial) {
				break
			}
			if err != nil {
				return off + int64(used), err
			}
			note(r, off+int64(used+n-len(r.value)))
			used += n
		}
		switch {
		case used > 0:
			want = scanChunk
		case int64(got) < want:
			return off, nil // the end, inside a record
		default:
			want *= 2 // one record is longer than the buffer
		}
		off += int64(used)
	}
	return off, nil
}
