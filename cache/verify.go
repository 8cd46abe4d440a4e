package cache

// Verify: is everything in the cache what was once written? bbolt's own check
// of its pages, the checksum of every record, and the journals.

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Problem is one thing that Verify found.
type Problem struct {
	Where string // the file, bucket or key
	What  string
}

func (p Problem) String() string { return p.Where + ": " + p.What }

// VerifyReport is what Verify has looked at and found.
type VerifyReport struct {
	Records        int // in the database
	Journals       int
	JournalRecords int
	Problems       []Problem
}

func (r *VerifyReport) add(where, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{where, fmt.Sprintf(format, args...)})
}

// Verify checks everything and changes nothing. Others can read meanwhile.
// What a killed process left half written at the end of its journal is no
// problem: it was never acknowledged.
func (s *Store) Verify(ctx context.Context) (VerifyReport, error) {
	var rep VerifyReport
	s.verifyJournals(&rep)
	// The free list is loaded here, where faults are caught, and not by
	// bbolt's check, which runs in a goroutine of its own.
	opts := bolt.Options{ReadOnly: true, PreLoadFreelist: true}
	err := s.viewOnce(ctx, opts, func(tx *bolt.Tx, _ dbMeta) error {
		if err := s.verifyRecords(ctx, tx, &rep); err != nil {
			return err
		}
		for err := range tx.Check() {
			rep.add(s.dbPath(), "%v", err)
		}
		return nil
	})
	var corrupt *corruptError
	switch {
	case errors.Is(err, errNoDB):
		err = nil
	case errors.As(err, &corrupt):
		rep.add(s.dbPath(), "%v", corrupt.cause)
		err = nil
	}
	return rep, err
}

func (s *Store) verifyRecords(ctx context.Context, tx *bolt.Tx, rep *VerifyReport) error {
	return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
		if string(name) == metaBucket {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			if rep.Records++; rep.Records%1024 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			where := string(name) + "/" + string(k)
			rec, err := decodeRecord(string(name), string(k), v)
			if err != nil {
				rep.add(where, "%v", err)
				return nil
			}
			if string(name) != responses || rec.deleted {
				return nil
			}
			e, err := entryOf(string(k), rec)
			if err == nil {
				err = checkBody(e.Body)
			}
			if err != nil {
				rep.add(where, "%v", err)
			}
			return nil
		})
	})
}

// verifyJournals reads every journal afresh. Only those of the dead can be
// judged to their end: the living are writing.
func (s *Store) verifyJournals(rep *VerifyReport) {
	for _, name := range s.journalNames() {
		alive := s.alive(name.owner)
		j := newJournal(s.journalDir(), name)
		if err := j.refresh(); err != nil {
			continue // merged and gone
		}
		rep.Journals++
		rep.JournalRecords += j.count
		if j.bad != nil && !alive {
			rep.add(name.String(), "%v", j.bad)
		}
		for k, p := range j.index {
			v, err := j.value(p)
			if err != nil {
				continue
			}
			bucket, key := cutSlot(k)
			if _, err := decodeRecord(bucket, key, v); err != nil {
				rep.add(name.String()+"/"+key, "%v", err)
			}
		}
		j.close()
	}
}
