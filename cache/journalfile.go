package cache

// One journal on disk, this process's, which is appended to, or another's, which is read: an index of where the newest
// value of each key lies. Values stay in the file.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/anivault/anivault/internal/lockfile"
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
	count int   // its records
	index map[string]place
	bad   error // why reading stopped before the end, if it did
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
	return &journal{name: name, path: name.in(dir), index: map[string]place{}}
}

// create makes the file, empty but for its head.
func (j *journal) create() error {
	f, err := lockfile.OpenNoFollow(j.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(journalMagic)); err != nil {
		return errors.Join(err, f.Close(), os.Remove(j.path))
	}
	j.f, j.size = f.File, journalHead
	return nil
}

// append writes records with one write. Once it returns nil they survive the death of the process. On an error the file
// is as it was before.
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

// note takes one record into the index; off is where its value begins. Of one key the last record is the newest.
func (j *journal) note(r journalRecord, off int64) {
	head, err := decodeHead(r.value)
	if err != nil {
		j.bad = err
		return
	}
	j.count++
	j.index[slot(r.bucket, r.key)] = place{off: off, size: len(r.value), head: head}
}

// open returns the file, opened if it is not, and how to give it back.
func (j *journal) open() (f *os.File, done func(), err error) {
	if j.f != nil {
		return j.f, func() {}, nil
	}
	opened, err := lockfile.OpenNoFollow(j.path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	if j.shy {
		return opened.File, func() { opened.Close() }, nil
	}
	j.f = opened.File
	return j.f, func() {}, nil
}

// refresh reads what was appended since the last time.
func (j *journal) refresh() error {
	f, done, err := j.open()
	if err != nil {
		return err
	}
	defer done()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() <= j.size {
		return nil
	}
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
	return nil
}

// salvage takes the sound records behind a damaged place, of a journal that nobody writes to any more. A length that is
// damaged looks like a record that is not complete, until others are found behind it.
func (j *journal) salvage() {
	before := j.count
	f, done, err := j.open()
	if err != nil {
		return
	}
	defer done()
	if info, err := f.Stat(); err == nil {
		salvage(f, max(j.size, journalHead), info.Size(), j.note)
	}
	if j.bad == nil && j.count > before {
		j.bad = fmt.Errorf("%w: length", errJournal)
	}
}

// value reads a value that the index knows.
func (j *journal) value(p place) ([]byte, error) {
	f, done, err := j.open()
	if err != nil {
		return nil, err
	}
	defer done()
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

// remove deletes the file. Where somebody has it open and that is in the way, it is emptied instead: a merged journal
// must not be merged again.
func (j *journal) remove() error {
	j.close()
	err := os.Remove(j.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(os.Truncate(j.path, 0), err)
}
