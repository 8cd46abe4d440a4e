package store

// Pruning removes every record 180 days after its fetch. It removes values other than answers, such as the decision for
// a file, when they expire, because they are never served stale. If the database is larger than its limit, pruning
// first removes expired records, and then those that were fetched longest ago.

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
	pruneInterval = day
	pruneTarget   = 0.90 // the fraction of the size limit to prune to, so that not every transaction prunes
)

// PruneOptions select what Prune removes in addition to records past KeepLimit.
type PruneOptions struct {
	// Expired removes all expired records, including answers that could still be served stale.
	Expired bool
	// MaxSize, if not 0, replaces Options.MaxSize for this call.
	MaxSize int64
}

// PruneResult is the result of Prune.
type PruneResult struct {
	Removed int   // the number of records
	Used    int64 // bytes in use afterwards; Compact frees the others
}

// Prune removes records past KeepLimit, records that the options select, and records above the size limit. It waits for
// the lock until ctx ends, but at most 30 s.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (PruneResult, error) {
	var res PruneResult
	o.MaxSize = cmp.Or(o.MaxSize, s.opts.MaxSize)
	err := s.db.withExclusiveLock(ctx, func() error {
		return s.db.update(func(db *boltfile.DB, meta dbMeta) (err error) {
			res, err = s.prune(db, meta, o)
			return err
		})
	})
	return res, err
}

// pruneIfDue prunes once a day, and whenever the database is larger than its limit.
func (s *Store) pruneIfDue(db *boltfile.DB, meta dbMeta) error {
	if !isPruneDue(meta, s.db.now()) && usedBytes(db) <= s.opts.MaxSize {
		return nil
	}
	_, err := s.prune(db, meta, PruneOptions{MaxSize: s.opts.MaxSize})
	return err
}

// isPruneDue reports whether the last prune was at least a day ago, or has a date in the future.
func isPruneDue(meta dbMeta, now time.Time) bool {
	since := now.Sub(time.Unix(meta.LastPrune, 0))
	return since >= pruneInterval || since < -ClockSlack
}

// usedBytes returns the size that the database would have after compaction.
func usedBytes(db *boltfile.DB) int64 {
	st := db.Stats()
	info, err := os.Stat(db.Path())
	if err != nil {
		return 0
	}
	size := info.Size()
	_ = db.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil }) // if this fails, the file size is close enough
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
				case err != nil, now.Sub(dated.FetchedAt) >= KeepLimit, c.expired && (o.Expired || c.bucket != answersBucket):
					doomed = append(doomed, c)
				case dated.HadFutureDate:
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
		meta.LastPrune = now.Unix()
		return writeMeta(tx, meta)
	})
	return PruneResult{Removed: len(doomed), Used: usedBytes(db)}, err
}

// replaceFutureDates stores a record whose date is in the future as fetched now, so that it is removed within 180 days.
func replaceFutureDates(b *bolt.Bucket, c pruneRecord, now time.Time) error {
	it, err := decodeItem(c.bucket, c.key, b.Get([]byte(c.key)))
	if err != nil {
		return b.Delete([]byte(c.key))
	}
	return b.Put([]byte(c.key), it.withoutFutureDates(now).encode(c.bucket))
}

// selectOverLimit returns the records to remove to get below the limit: expired ones first, then the oldest.
func selectOverLimit(records []pruneRecord, used, limit int64) []pruneRecord {
	slices.SortFunc(records, func(a, b pruneRecord) int {
		if a.expired == b.expired {
			return a.fetched.Compare(b.fetched)
		}
		if a.expired {
			return -1
		}
		return 1
	})
	goal := int64(float64(limit) * pruneTarget)
	n := 0
	for n < len(records) && used > goal {
		used -= records[n].size
		n++
	}
	return records[:n]
}

// recordSize estimates how many bytes of the file a record takes up. A large record takes up whole pages.
func recordSize(key, value, page int) int64 {
	n := 16 + key + value
	if n > page/2 {
		n = (n + 16 + page - 1) / page * page
	}
	return int64(n)
}
