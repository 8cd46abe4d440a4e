package cache

// Compact gives the space of removed records back: bbolt files never shrink by themselves, they use their free pages
// again.

import (
	"context"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

// compactBytes is the size of one transaction while copying.
const compactBytes = 16 << 20

// CompactResult is the size of the database file before and after.
type CompactResult struct {
	Before, After int64
}

// Compact merges what is in the journals and writes the database anew, without gaps. It needs as much free space as the
// result takes; the others wait, or go on without the cache, meanwhile.
func (s *Store) Compact(ctx context.Context) (CompactResult, error) {
	var res CompactResult
	err := s.operate(ctx, func() error {
		if _, err := s.mergeLocked(); err != nil {
			return err
		}
		src, _, err := s.openExclusive()
		if err != nil {
			return err
		}
		res.Before = fileSize(s.dbPath())
		temp := s.dbPath() + ".new"
		if info, e := src.file.Stat(); e == nil {
			if cause := checkDeep(src.file, info); cause != nil { // the copy enters whatever looks like a bucket
				err = &DamageError{Cause: cause, file: info}
			}
		}
		if err == nil {
			err = copyCompact(src, temp)
		}
		if e := src.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = os.Rename(temp, s.dbPath())
		}
		if err != nil {
			os.Remove(temp)
			return err
		}
		res.After = fileSize(s.dbPath())
		return nil
	})
	if err != nil {
		return res, fmt.Errorf("compact the cache: %w", err)
	}
	return res, nil
}

func copyCompact(src *DB, temp string) error {
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	dst, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: guardTimeout})
	if err != nil {
		return err
	}
	err = src.judge(guarded(func() error { return bolt.Compact(dst, src.DB, compactBytes) }))
	if e := dst.Close(); err == nil {
		err = e
	}
	return err
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
