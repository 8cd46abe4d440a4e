package cache

// Writing: one append to the own journal, after which a record survives the
// death of the process and is seen by all the others. When that fails the
// record stays in this process's memory, with one warning.

import (
	"errors"
	"time"
)

// write is one record to be written.
type write struct {
	bucket, key string
	rec         record
	after       uint64 // a stamp that this write has seen and replaces
}

// fullPause is how long a store whose disk refused a write leaves it alone.
const fullPause = time.Minute

// put writes records and gives up the claims on their keys. The stamp of the
// last one is returned.
func (s *Store) put(ws ...write) (stamp uint64, err error) {
	if len(ws) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return 0, errClosed
	}
	recs := make([]journalRecord, len(ws))
	now := uint64(max(s.now().UnixNano(), 1))
	for i, w := range ws {
		stamp = max(now, s.last+1, w.after+1)
		s.last = stamp
		w.rec.stamp = stamp
		value := w.rec.encode(make([]byte, 0, recordHead+len(w.rec.payload)), w.bucket, w.key)
		recs[i] = journalRecord{kind: kindPut, bucket: w.bucket, key: w.key, value: value}
	}
	kept, err := s.appendLocked(recs...)
	if !kept {
		for _, r := range recs {
			s.private.put(slot(r.bucket, r.key), r.value)
		}
	}
	s.mu.Unlock()
	s.count.written.Add(uint64(len(ws)))
	return stamp, s.workAround(err)
}

var errClosed = errors.New("cache: store is closed")

// appendLocked appends to the own journal, making it if need be, and wakes
// the worker. kept is false where nothing can be written. s.mu is held.
func (s *Store) appendLocked(recs ...journalRecord) (kept bool, err error) {
	if s.how != modeShared || time.Now().Before(s.retry) {
		return false, nil
	}
	if s.proc == nil {
		p, err := newProcess(s.journalDir(), formatVersion, s.opts.try)
		if err != nil {
			return false, err
		}
		if err := p.rotate(s.journalDir(), formatVersion); err != nil {
			p.alive()
			return false, err
		}
		s.proc = p
		s.worker = startWorker(s)
	}
	j := s.proc.current()
	before := s.proc.unmerged()
	if err := j.append(recs...); err != nil {
		return false, err
	}
	after := s.proc.unmerged()
	if before == 0 && after > 0 {
		s.worker.begun = time.Now()
	}
	if before == 0 || after >= s.opts.MergeRecords {
		s.worker.wake()
	}
	return true, nil
}

// workAround turns a failed write into a way of working and a warning. What
// remains an error is the caller's mistake.
func (s *Store) workAround(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooLong):
		return err
	case errors.Is(err, errNoLocks):
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
