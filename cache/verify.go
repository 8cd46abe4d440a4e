package cache

// Verify checks that everything in the cache is what was once written: all pages, the order of the keys, the checksum
// of every record, and the journals.

import (
	"bytes"
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
	Records  int // in the database
	Journals int
	Problems []Problem
}

func (r *VerifyReport) add(where, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{where, fmt.Sprintf(format, args...)})
}

// Verify checks everything and changes nothing. Others can read meanwhile. What a killed process left half written at
// the end of its journal is not a problem: it was never acknowledged.
func (s *Store) Verify(ctx context.Context) (VerifyReport, error) {
	var rep VerifyReport
	s.verifyJournals(&rep)
	// bbolt's own check would run in a goroutine of its own, where no fault can be caught.
	err := s.viewOnce(ctx, bolt.Options{ReadOnly: true}, checkDeep, func(tx *bolt.Tx, _ dbMeta) error {
		return s.verifyRecords(ctx, tx, &rep)
	})
	var damage *DamageError
	switch {
	case errors.Is(err, errNoDB):
		err = nil
	case errors.As(err, &damage):
		rep.add(s.dbPath(), "%v", damage.Cause)
		err = nil
	}
	return rep, err
}

func (s *Store) verifyRecords(ctx context.Context, tx *bolt.Tx, rep *VerifyReport) error {
	return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
		if string(name) == metaBucket {
			return nil
		}
		var last []byte
		return b.ForEach(func(k, v []byte) error {
			where := string(name) + "/" + string(k)
			if bytes.Compare(k, last) <= 0 {
				rep.add(where, "it is out of order")
			}
			last = bytes.Clone(k)
			if rep.Records++; rep.Records%1024 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
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

// verifyJournals reads every journal afresh. Only those of the dead can be judged to their end: the living are writing.
func (s *Store) verifyJournals(rep *VerifyReport) {
	for _, name := range s.journalNames() {
		alive := s.alive(name.owner)
		j := newJournal(s.journalDir(), name)
		if err := j.refresh(); err != nil {
			continue // merged and gone
		}
		rep.Journals++
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
