package store

// Pruning removes everything 180 days after its fetch. It removes plain values (the decision for a file) when they
// expire, because they are never served as stale. Above the size limit it removes expired records first, then the ones
// fetched longest ago.

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
	pruneTo    = 0.90 // of the size limit, so that not every transaction prunes
)

// PruneOptions select what Prune removes in addition to records past KeepLimit.
type PruneOptions struct {
	// Expired removes all expired records, including answers that could still be served as stale.
	Expired bool
	// MaxSize replaces Options.MaxSize for this call, if it is not 0.
	MaxSize int64
}

// PruneResult is the result of Prune.
type PruneResult struct {
	Removed int   // records
	Used    int64 // bytes in use afterwards; Compact frees the rest
}

// Prune removes records past KeepLimit, records that the options select, and records above the size limit. It waits for
// the lock as long as ctx allows.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (PruneResult, error) {
	var res PruneResult
	if o.MaxSize == 0 {
		o.MaxSize = s.opts.MaxSize
	}
	err := s.db.withExclusiveLock(ctx, func() error {
		return s.db.update(func(db *boltfile.DB, meta dbMeta) (err error) {
			res, err = s.prune(db, meta, o)
			return err
		})
	})
	return res, err
}

// pruneIfDue prunes once a day, and whenever the size is above the limit.
func (s *Store) pruneIfDue(db *boltfile.DB, meta dbMeta) error {
	if !isPruneDue(meta, s.db.now()) && usedBytes(db) <= s.opts.MaxSize {
		return nil
	}
	_, err := s.prune(db, meta, PruneOptions{MaxSize: s.opts.MaxSize})
	return err
}

// isPruneDue reports whether the last prune was a day ago, or is dated in the future.
func isPruneDue(meta dbMeta, now time.Time) bool {
	since := now.Sub(time.Unix(meta.Pruned, 0))
	return since >= pruneEvery || since < -ClockSlack
}

// usedBytes returns the size that the database would have after compaction.
func usedBytes(db *boltfile.DB) int64 {
	st := db.Stats()
	info, err := os.Stat(db.Path())
	if err != nil {
		return 0
	}
	size := info.Size()
	_ = db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil }) // on failure the file's size is good enough
	return size - int64(st.FreePageN+st.PendingPageN)*int64(db.Info().PageSize)
}

type pruneRecord struct {
	bucket, key string
	fetched     time.Time
	expired     bool
	size        int64
}

func (s *Store) prune(db *boltfile.DB, meta dbMeta, o PruneOptions) (PruneResult, error) {
	now := s.db.now()
	s.db.removeOldDamaged()
	s.claims.removeDeadClaims()
	var doomed, ahead, rest []pruneRecord
	over := usedBytes(db) > o.MaxSize
	err := db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			if string(name) == metaBucket {
				return nil
			}
			return b.ForEach(func(k, v []byte) error {
				head, err := decodeItemHeader(v)
				dated := head.withoutFutureDates(now)
				c := pruneRecord{
					bucket: string(name), key: string(k), size: recordSize(len(k), len(v), db.Info().PageSize),
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
		doomed = append(doomed, selectOverLimit(rest, used, o.MaxSize)...)
	}
	slices.SortFunc(doomed, func(a, b pruneRecord) int {
		return cmp.Or(strings.Compare(a.bucket, b.bucket), strings.Compare(a.key, b.key))
	})
	err = db.Update(func(tx *bolt.Tx) error {
		for _, c := range doomed {
			if err := tx.Bucket([]byte(c.bucket)).Delete([]byte(c.key)); err != nil {
				return err
			}
		}
		for _, c := range ahead {
			if err := replaceFutureDates(tx.Bucket([]byte(c.bucket)), c, now); err != nil {
				return err
			}
		}
		meta.Pruned = now.Unix()
		return writeMeta(tx, meta)
	})
	return PruneResult{Removed: len(doomed), Used: usedBytes(db)}, err
}

// replaceFutureDates stores a record dated in the future as fetched now, so that it is removed within 180 days.
func replaceFutureDates(b *bolt.Bucket, c pruneRecord, now time.Time) error {
	it, err := decodeItem(c.bucket, c.key, b.Get([]byte(c.key)))
	if err != nil {
		return b.Delete([]byte(c.key))
	}
	return b.Put([]byte(c.key), it.withoutFutureDates(now).encode(c.bucket))
}

// selectOverLimit returns the records to remove until used is below the limit: expired ones first, then the oldest.
func selectOverLimit(rest []pruneRecord, used, limit int64) []pruneRecord {
	slices.SortFunc(rest, func(a, b pruneRecord) int {
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

// recordSize estimates the bytes that a record takes in the file: a leaf element, or whole pages for a large one.
func recordSize(key, value, page int) int64 {
	n := 16 + key + value
	if n > page/2 {
		n = (n + 16 + page - 1) / page * page
	}
	return int64(n)
}
