package cache

import (
	"context"
	"net/http"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Stats is what a cache directory holds.
type Stats struct {
	Entries  int // stored answers
	Fresh    int // of them, those that answer without asking
	Expired  int // those that serve only when the upstream can't be asked
	Negative int // 404s
	ByClass  map[Class]int
	Oldest   time.Time // when the oldest answer was fetched
	Newest   time.Time

	FileSize int64 // the database file
	Used     int64 // of it; Compact gives the rest back
	MaxSize  int64 // the bound on Used

	SetAside []string // damaged databases that were set aside
}

// Stats walks over the whole cache.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	st := Stats{MaxSize: s.opts.MaxSize, ByClass: map[Class]int{}}
	if err := s.fileStats(ctx, &st); err != nil {
		return st, err
	}
	now := s.db.now()
	err := s.walk(ctx, responses, func(key string, r record) error {
		status, err := statusOf(r.payload)
		if err != nil {
			return nil //nolint:nilerr // an unreadable record is Verify's business, not a failed count
		}
		e := Entry{FetchedAt: r.fetched, ExpiresAt: r.expires}
		st.Entries++
		st.ByClass[s.classOf(key)]++
		if e.Fresh(now) {
			st.Fresh++
		} else {
			st.Expired++
		}
		if status == http.StatusNotFound {
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
	st.FileSize, st.SetAside = fileSize(s.db.path), s.db.setAsideFiles()
	opts := bolt.Options{ReadOnly: true, PreLoadFreelist: true}
	return s.db.viewWith(ctx, opts, func(tx *bolt.Tx, _ dbMeta) error {
		st.Used = tx.Size() - int64(tx.DB().Stats().FreePageN)*int64(tx.DB().Info().PageSize)
		return nil
	})
}

// classOf is the class of the question that a key stands for.
func (s *Store) classOf(key string) Class {
	u, ok := keyURL(key)
	if !ok {
		return Uncached
	}
	return s.opts.Class(&http.Request{Method: http.MethodGet, URL: u})
}
