package cache

// What is in the cache, and what this process has had from it.

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Stats is what a cache directory holds.
type Stats struct {
	Entries  int   // stored answers
	Fresh    int   // of them, those that answer without asking
	Expired  int   // those that serve only when the upstream can't be asked
	Negative int   // 404s
	Bytes    int64 // bodies, unpacked
	ByClass  map[Class]int
	Buckets  map[string]int // records of the other buckets
	Oldest   time.Time      // when the oldest answer was fetched
	Newest   time.Time

	FileSize int64 // the database file
	Used     int64 // of it; Compact gives the rest back
	MaxSize  int64 // the bound on Used

	Journals  int      // journals not yet merged
	Unmerged  int      // records in them
	Processes int      // live processes that write
	SetAside  []string // damaged files that were set aside
}

// Stats walks over the whole cache.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	st := Stats{MaxSize: s.opts.MaxSize, ByClass: map[Class]int{}, Buckets: map[string]int{}}
	if err := s.fileStats(ctx, &st); err != nil {
		return st, err
	}
	now := s.now()
	err := s.walk(ctx, responses, func(key string, r record) error {
		e, _, _, size, err := entryHead(key, r)
		if err != nil || !e.Usable(now, KeepLimit) {
			return nil //nolint:nilerr // an unreadable record is Verify's business, not a failed count
		}
		st.Entries++
		st.Bytes += int64(size)
		st.ByClass[classOfKey(key)]++
		switch {
		case e.Fresh(now):
			st.Fresh++
		default:
			st.Expired++
		}
		if e.Status == http.StatusNotFound {
			st.Negative++
		}
		if st.Oldest.IsZero() || e.FetchedAt.Before(st.Oldest) {
			st.Oldest = e.FetchedAt
		}
		if e.FetchedAt.After(st.Newest) {
			st.Newest = e.FetchedAt
		}
		return nil
	})
	return st, err
}

func (s *Store) fileStats(ctx context.Context, st *Stats) error {
	if info, err := os.Stat(s.dbPath()); err == nil {
		st.FileSize = info.Size()
	}
	err := s.viewWith(ctx, bolt.Options{ReadOnly: true, PreLoadFreelist: true}, func(tx *bolt.Tx, _ dbMeta) error {
		st.Used = tx.Size() - int64(tx.DB().Stats().FreePageN)*int64(tx.DB().Info().PageSize)
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			if n := string(name); n != metaBucket && n != responses {
				keys := 0
				if err := b.ForEach(func(_, _ []byte) error { keys++; return nil }); err != nil {
					return err
				}
				st.Buckets[n] = keys
			}
			return nil
		})
	})
	if err != nil && !errors.Is(err, errNoDB) {
		return err
	}
	owners := map[string]bool{}
	for _, name := range s.journalNames() {
		j := newJournal(s.journalDir(), name)
		if j.refresh() != nil {
			continue
		}
		st.Journals++
		st.Unmerged += j.count
		j.close()
		if s.alive(name.owner) {
			owners[name.owner] = true
		}
	}
	st.Processes = len(owners)
	st.SetAside = s.setAsideFiles()
	return nil
}

// classOfKey is the class of the question that a key stands for.
func classOfKey(key string) Class {
	u, ok := keyURL(key)
	if !ok {
		return Uncached
	}
	return classOfPath(u.Path)
}

// Class is what kind of question the entry answers.
func (e *Entry) Class() Class { return classOfKey(e.Key) }

// Usage is what this Store has done since it was opened.
type Usage struct {
	Network, Revalidated, Fresh, Stale uint64 // answers by source
	Refused                            uint64 // answers that were not fit to be stored
	Waits                              uint64 // waits for another process's answer
	Written                            uint64 // records
	Merges                             uint64
	Damaged                            uint64 // records that did not match their checksum
}

// Usage reads the counters.
func (s *Store) Usage() Usage {
	c := &s.count
	return Usage{
		Network: c.network.Load(), Revalidated: c.revalidated.Load(), Fresh: c.fresh.Load(), Stale: c.stale.Load(),
		Refused: c.refused.Load(), Waits: c.waits.Load(), Written: c.written.Load(), Merges: c.merges.Load(),
		Damaged: c.damaged.Load(),
	}
}

// counters count what this Store has done since it was opened.
type counters struct {
	fresh, revalidated, stale, network atomic.Uint64 // answers by source
	refused                            atomic.Uint64 // answers that were not fit to be stored
	waits                              atomic.Uint64 // waits for another process's answer
	written, merges, damaged           atomic.Uint64
}
