package cache

// What a lock that is not free means: our own session at work, another process at work, or one that does not move.

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// A session of our own that takes long is waited for: the process must not take itself for a stranger, warn about it,
// and do without what it is writing down.
func TestTheOwnLongSessionIsWaitedForInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		s, err := openStore(t.TempDir(), Options{OnWarning: h.hear, noSync: true})
		if err != nil {
			t.Fatal(err)
		}
		putAnswer(t, s, tvKey("1"), time.Now(), day, 100)
		release, err := s.db.exclusive(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var answered atomic.Bool
		go func() {
			if _, ok, err := s.Get(context.Background(), tvKey("1")); !ok || err != nil {
				t.Errorf("got %v, %v", ok, err)
			}
			answered.Store(true)
		}()
		time.Sleep(20 * DefaultLockWait)
		synctest.Wait()
		if answered.Load() {
			t.Error("answered without the database")
		}
		release()
		synctest.Wait()
		if !answered.Load() {
			t.Error("still waiting after the session")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if h.kinds() != "" {
			t.Errorf("warned of %q", h.kinds())
		}
	})
}

func TestTheHolderOfTheExclusiveLockGivesSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := openStore(t.TempDir(), Options{noSync: true})
		if err != nil {
			t.Fatal(err)
		}
		release, err := s.db.exclusive(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		life := func() int64 { return touched(s.db.lock.lock.Path()) }
		seen := life()
		for range 5 {
			time.Sleep(DefaultLockWait)
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
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// heldElsewhere makes a store with one answer in its database, and lets another one hold the exclusive lock. touch is
// called again and again meanwhile.
func heldElsewhere(t *testing.T, o Options, touch func(path string)) (s *Store, release func()) {
	t.Helper()
	dir := t.TempDir()
	s = open(t, dir, o)
	get(t, &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}, tvURL)
	path := s.db.lock.lock.Path()
	unlock, err := lockfile.Acquire(t.Context(), path, lockfile.Exclusive, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				touch(path)
			}
		}
	}()
	return s, func() {
		close(done)
		<-ended
		unlock()
	}
}

func touchNow(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// While another process writes for long, and lives, it is waited for: what it writes may be the answer. Nothing is
// asked twice for it.
func TestALongSessionOfALiveProcessLeadsToNoQuestion(t *testing.T) {
	var h heard
	o := Options{LockWait: time.Millisecond, ClaimTimeout: time.Hour, OnWarning: h.hear}
	s, release := heldElsewhere(t, o, touchNow)
	s.db.lock.life.limit = time.Hour
	up := &upstream{serve: always(200, endedBody)}
	var closedAsked atomic.Int32
	tr := &Transport{Store: s, Next: up, Closed: func(context.Context) bool { closedAsked.Add(1); return false }}
	source := make(chan string)
	go func() {
		_, _, from := get(t, tr, tvURL)
		source <- from
	}()
	for closedAsked.Load() < 5 { // it has come back to the lock several times
		select {
		case from := <-source:
			t.Fatalf("answered from %s", from)
		default:
			time.Sleep(time.Millisecond)
		}
	}
	release()
	if from := <-source; from != "fresh" || up.count() > 0 {
		t.Errorf("answered from %s, %d questions", from, up.count())
	}
	if h.kinds() != "" {
		t.Errorf("warned of %q", h.kinds())
	}
}

func TestAHolderThatDoesNotMoveIsDoneWithout(t *testing.T) {
	still := func(string) {}
	for name, r := range map[string]struct {
		options Options
		touch   func(path string)
		asked   *Transport
		warned  string
	}{
		"no sign of life":   {Options{ClaimTimeout: time.Hour}, still, &Transport{}, "locked"},
		"for too long":      {Options{ClaimTimeout: time.Millisecond}, touchNow, &Transport{}, ""},
		"offline: at once":  {Options{ClaimTimeout: time.Hour}, touchNow, &Transport{Offline: true}, ""},
		"offline, no signs": {Options{ClaimTimeout: time.Hour}, still, &Transport{Offline: true}, "locked"},
		"while Next would refuse: at once": {
			Options{ClaimTimeout: time.Hour}, touchNow, &Transport{Closed: func(context.Context) bool { return true }}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h heard
			r.options.LockWait, r.options.OnWarning = 20*time.Millisecond, h.hear
			s, release := heldElsewhere(t, r.options, r.touch)
			defer release()
			if r.warned == "" {
				s.db.lock.life.limit = time.Hour
			}
			up := &upstream{serve: always(200, endedBody)}
			if _, _, from := get(t, &Transport{Store: s, Next: up, Offline: r.asked.Offline, Closed: r.asked.Closed}, tvURL); from != "network" {
				t.Errorf("answered from %s", from)
			}
			if h.kinds() != r.warned {
				t.Errorf("warned of %q", h.kinds())
			}
		})
	}
}

// Where no sign can be given or seen the lock works as before.
func TestASignOfLifeThatCannotBeGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone", "lock")
	stop := pulse(path, pulseEvery)
	stop()
	if touched(path) != 0 {
		t.Error("life in a file that is not there")
	}
}
