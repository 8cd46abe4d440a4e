package cache

// Operations on the whole cache that a person asks for: they wait for the lock with patience.

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// operatorWait is how long an operation waits for the lock if its context allows that.
const operatorWait = 30 * time.Second

// ErrUnavailable reports that the directory can't be used for the operation; a warning has said why.
var ErrUnavailable = errors.New("cache directory can't be used")

// operate runs fn under the exclusive lock.
func (s *Store) operate(ctx context.Context, fn func() error) error {
	if s.mode() != modeShared {
		return fmt.Errorf("%s: %w", s.dir, ErrUnavailable)
	}
	release, err := s.exclusive(ctx, operatorWait)
	if err != nil {
		return err
	}
	defer release()
	return fn()
}

// Merge merges this process's journal and those of dead processes into the database now, and returns the number of
// records that it wrote.
func (s *Store) Merge(ctx context.Context) (merged int, err error) {
	err = s.operate(ctx, func() error {
		merged, err = s.mergeLocked()
		return err
	})
	return merged, err
}

// Clear removes everything, in all buckets. What other running processes have in their journals counts as removed too.
func (s *Store) Clear(ctx context.Context) error {
	err := s.operate(ctx, func() error {
		// A damaged file goes aside, a newer one is left alone.
		if err := s.inDatabase(func(*DB, dbMeta) error { return nil }); err != nil {
			return err
		}
		mine, err := s.beginJournal()
		if err != nil {
			return err
		}
		s.mu.Lock()
		stamp := s.nextStamp()
		s.private = newOverlay(overlayBytes)
		s.mu.Unlock()
		meta := dbMeta{Format: formatName, Version: formatVersion, Cleared: stamp, Pruned: s.now().Unix()}
		if err := s.replaceDB(meta); err != nil {
			return err
		}
		s.removeMerged(mine)
		dead := s.takeOrphans()
		s.bury(dead)
		dead.release()
		return nil
	})
	if err != nil {
		return fmt.Errorf("clear the cache: %w", err)
	}
	return nil
}
