package store

// What has to go: everything 180 days after it was fetched; plain values (what was decided for which file) when they
// expire, for they never serve as stale; and, above the size bound, first what has expired and then what was fetched
// longest ago.

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/boltfile"
)

const (
	pruneEvery = day
	pruneTo    = 0.90 // of the size bound, so that not every transaction prunes
)

// PruneOptions are what Prune removes beyond what must go.
type PruneOptions struct {
	// Expired removes every record that is no longer fresh, also those that could still serve as stale.
	Expired bool
	// MaxSize is a bound for this time, if not 0; else Options.MaxSize holds.
	MaxSize int64
}

// PruneResult is what a prune removed.
type PruneResult struct {
	Removed int   // records
	Used    int64 // bytes in use afterwards; Compact frees the rest
}

// Prune removes what is past the 180 days, what the options say, and what is above the size bound. It waits for the
// lock as long as ctx allows.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (PruneResult, error) {
	var res PruneResult
	if o.MaxSize == 0 {
		o.MaxSize = s.opts.MaxSize
	}
	err := s.db.operate(ctx, func() error {
		return s.db.update(func(db *boltfile.DB, meta dbMeta) (err error) {
			res, err = s.prune(db, meta, o)
			return err
		})
	})
	return res, err
}

// pruneIfDue prunes once a day, and when the bound is passed.
func (s *Store) pruneIfDue(db *boltfile.DB, meta dbMeta) error {
	if !isPruneDue(meta, s.db.now()) && usedBytes(db) <= s.opts.MaxSize {
		return nil
	}
	_, err := s.prune(db, meta, PruneOptions{MaxSize: s.opts.MaxSize})
	return err
}

// isPruneDue reports whether the last prune was a day ago. One that is said to have been in the future is due.
func isPruneDue(meta dbMeta, now time.Time) bool {
	since := now.Sub(time.Unix(meta.Pruned, 0))
	return since >= pruneEvery || since < -ClockSlack
}

// usedBytes is what the database would take if it were compacted.
func usedBytes(db *boltfile.DB) int64 {
	st := db.Stats()
	info, err := os.Stat(db.Path())
	if err != nil {
		return 0
	}
	size := info.Size()
	_ = db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil }) // else the file's size will do
	return size - int64(st.FreePageN+st.PendingPageN)*int64(db.Info().PageSize)
}

type candidate struct {
	bucket, key string
	fetched     time.Time
	expired     bool
	size        int64
}

func (s *Store) prune(db *boltfile.DB, meta dbMeta, o PruneOptions) (PruneResult, error) {
	now := s.db.now()
	s.db.dropOldAside()
	s.claims.dropDead()
	var doomed, ahead, rest []candidate
	over := usedBytes(db) > o.MaxSize
	err := db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			if string(name) == metaBucket {
				return nil
			}
			return b.ForEach(func(k, v []byte) error {
				head, err := decodeHead(v)
				dated := head.datedSensibly(now)
				c := candidate{
					bucket: string(name), key: string(k), size: footprint(len(k), len(v), db.Info().PageSize),
					fetched: dated.FetchedAt, expired: !dated.ExpiresAt.IsZero() && !now.Before(dated.ExpiresAt),
				}
				switch {
				case err != nil, now.Sub(dated.FetchedAt) >= KeepLimit, c.expired && (o.Expired || c.bucket != answers):
					doomed = append(doomed, c)
				case dated.Ahead:
					ahead = append(ahead, c)
				case over:
					rest = append(rest, c)
				}
				return nil
			})
		})
	})
	if err != nil {
		return PruneResult{}, err
	}
	if over {
		used := usedBytes(db)
		for _, c := range doomed {
			used -= c.size
		}
		doomed = append(doomed, surplus(rest, used, o.MaxSize)...)
	}
	slices.SortFunc(doomed, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.bucket, b.bucket), strings.Compare(a.key, b.key))
	})
	err = db.Update(func(tx *bolt.Tx) error {
		for _, c := range doomed {
			if err := tx.Bucket([]byte(c.bucket)).Delete([]byte(c.key)); err != nil {
				return err
			}
		}
		for _, c := range ahead {
			if err := redate(tx.Bucket([]byte(c.bucket)), c, now); err != nil {
				return err
			}
		}
		meta.Pruned = now.Unix()
		return writeMeta(tx, meta)
	})
	return PruneResult{Removed: len(doomed), Used: usedBytes(db)}, err
}

// redate writes down that a record which is dated ahead of the clock was fetched now, so that it goes in 180 days at
// the latest.
func redate(b *bolt.Bucket, c candidate, now time.Time) error {
	it, err := decodeItem(c.bucket, c.key, b.Get([]byte(c.key)))
	if err != nil {
		return b.Delete([]byte(c.key))
	}
	return b.Put([]byte(c.key), it.datedSensibly(now).encode(c.bucket))
}

// surplus picks what goes so that used bytes come down below the bound: expired first, then fetched longest ago.
func surplus(rest []candidate, used, limit int64) []candidate {
	slices.SortFunc(rest, func(a, b candidate) int {
		if a.expired == b.expired {
			return a.fetched.Compare(b.fetched)
		}
		if a.expired {
			return -1
		}
		return 1
	})
	goal := int64(float64(limit) * pruneTo)
	n := 0
	for n < len(rest) && used > goal {
		used -= rest[n].size
		n++
	}
	return rest[:n]
}

// footprint is about what a record takes in the file: a leaf element, and whole pages when it has a leaf of its own.
func footprint(key, value, page int) int64 {
	n := 16 + key + value
	if n > page/2 {
		n = (n + 16 + page - 1) / page * page
	}
	return int64(n)
}
