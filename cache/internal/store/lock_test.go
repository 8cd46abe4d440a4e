package store

// What a lock that is not free means: our own session at work, another process at work, or one that does not move.

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A session of our own that takes long is waited for: the process must not take itself for a stranger, warn about it,
// and do without what it is writing down.
func TestWaitingForTheProcessesOwnSessionIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		s := openStore(t.TempDir(), Options{OnWarning: h.hear, NoSync: true})
		put(t, s, "1")
		release, err := s.db.beginWriting(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var answered atomic.Bool
		go func() {
			if _, ok, err := s.Answers().Get(context.Background(), "1"); !ok || err != nil {
				t.Errorf("got %v, %v", ok, err)
			}
			answered.Store(true)
		}()
		time.Sleep(20 * lockWait)
		synctest.Wait()
		if answered.Load() {
			t.Error("answered without the database")
		}
		release()
		synctest.Wait()
		if !answered.Load() {
			t.Error("still waiting after the session")
		}
		s.Close()
		if h.kinds() != "" {
			t.Errorf("warned of %q", h.kinds())
		}
	})
}

func TestTheHolderOfTheExclusiveLockGivesSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t.TempDir(), Options{NoSync: true})
		release, err := s.db.beginWriting(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		life := func() int64 { return touchTime(s.db.lock.lock.Path()) }
		seen := life()
		for range 5 {
			time.Sleep(lockWait)
			synctest.Wait()
			now := life()
			if now == seen {
				t.Error("no sign of life within the time that others wait")
			}
			seen = now
		}
		release()
		seen = life()
		time.Sleep(time.Minute)
		if life() != seen {
			t.Error("signs of life without the lock")
		}
		s.Close()
	})
}

// Where no sign can be given or seen the lock works as before.
func TestASignOfLifeThatCannotBeGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone", "lock")
	stop := keepTouching(path, lockTouchInterval)
	stop()
	if touchTime(path) != 0 {
		t.Error("life in a file that is not there")
	}
}
