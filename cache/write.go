package cache

// Writing: one append to the process's own journal, after which a record survives the death of the process and is seen
// by all the others. When that fails the record stays in this process's memory, with one warning.

import (
	"errors"
	"time"
)

// write is one record to be written.
type write struct {
	bucket, key string
	rec         record
}

// fullPause is how long a store whose disk refused a write leaves it alone.
const fullPause = time.Minute

var errClosed = errors.New("cache: store is closed")

// put writes records, stamped above everything that this store has read or written.
func (s *Store) put(ws ...write) error {
	if len(ws) == 0 {
		return nil
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return errClosed
	}
	recs := make([]journalRecord, len(ws))
	for i, w := range ws {
		w.rec.stamp = s.nextStamp()
		value := w.rec.encode(make([]byte, 0, recordHead+len(w.rec.payload)), w.bucket, w.key)
		recs[i] = journalRecord{bucket: w.bucket, key: w.key, value: value}
	}
	kept, err := s.appendLocked(recs...)
	if !kept {
		for _, r := range recs {
			s.private.put(slot(r.bucket, r.key), r.value)
		}
	}
	s.mu.Unlock()
	return s.workAround(err)
}

// nextStamp returns a stamp above all that were given or seen, unless those came from a clock that was wrong. s.mu is
// held.
func (s *Store) nextStamp() uint64 {
	now := s.now()
	stamp := uint64(max(now.UnixNano(), 1))
	if !isAhead(s.last, now) {
		stamp = max(stamp, s.last+1)
	}
	s.last = stamp
	return stamp
}

// appendLocked appends to this process's journal, making it if need be, and wakes the worker. kept is false where
// nothing can be written. s.mu is held.
func (s *Store) appendLocked(recs ...journalRecord) (kept bool, err error) {
	if s.how != modeShared || time.Now().Before(s.retry) {
		return false, nil
	}
	if s.proc == nil {
		if s.opts.noLocks {
			return false, errors.ErrUnsupported
		}
		if s.proc, err = newProcess(s.journalDir()); err != nil {
			s.proc = nil
			return false, err
		}
		s.worker = startWorker(s)
	}
	before := s.proc.unmerged()
	if err := s.proc.append(recs...); err != nil {
		return false, err
	}
	if before == 0 {
		s.worker.begun = time.Now()
	}
	if before == 0 || s.proc.unmerged() >= s.opts.MergeRecords {
		s.worker.wake()
	}
	return true, nil
}

// workAround turns a failed write into a way of working and a warning. What remains an error is the caller's mistake.
func (s *Store) workAround(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooLong):
		return err
	case isUnlockable(err):
		s.goPrivate(err)
	case isReadOnly(err):
		s.goReadOnly(err)
	default:
		s.mu.Lock()
		s.retry = time.Now().Add(fullPause)
		s.mu.Unlock()
		s.warned.say(Warning{Kind: WarnWrite, Path: s.dir, Err: err})
	}
	return nil
}

// overlayBytes bounds what could not be written.
const overlayBytes = 64 << 20

// overlay holds values by slot, bounded by bytes; the oldest go first. The store's mutex guards it.
type overlay struct {
	values map[string][]byte
	order  []string
	size   int
	max    int
}

func newOverlay(limit int) *overlay {
	return &overlay{values: map[string][]byte{}, max: limit}
}

func (o *overlay) put(k string, value []byte) {
	if old, ok := o.values[k]; ok {
		o.size -= len(old)
	} else {
		o.order = append(o.order, k)
		o.size += len(k)
	}
	o.values[k] = value
	o.size += len(value)
	for o.size > o.max && len(o.order) > 1 {
		first := o.order[0]
		o.order = o.order[1:]
		o.size -= len(first) + len(o.values[first])
		delete(o.values, first)
	}
}
