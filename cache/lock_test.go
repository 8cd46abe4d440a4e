package cache

// What a lock that is not free means: our own session at work, another process
// at work, or one that does not move.

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A merge of our own that takes long is waited for: the process must not take
// itself for a stranger, warn about it, and do without what it is writing down.
func TestTheOwnLongMergeIsWaitedForInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		s, err := Open(t.TempDir(), Options{OnWarning: h.hear, noSync: true})
		if err != nil {
			t.Fatal(err)
		}
		putAnswer(t, s, tvKey("1"), time.Now(), day, 100)
		if _, err := s.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		release, err := s.exclusive(t.Context(), 0)
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
			t.Error("still waiting after the merge")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if h.kinds() != "" {
			t.Errorf("warned of %q", h.kinds())
		}
	})
}

// A session of our own that itself waits for a stopped process does not hold
// up the others.
func TestAnOwnSessionThatWaitsForAStrangerIsNotWaitedFor(t *testing.T) {
	g := newGate(filepath.Join(t.TempDir(), "lock"), tryFlock)
	<-g.turn // somebody of us has the turn, but not the lock
	if _, err := g.acquire(t.Context(), false, time.Millisecond); !errors.Is(err, ErrLocked) || errors.Is(err, errAtWork) {
		t.Errorf("got %v", err)
	}
}

func TestTheHolderOfTheExclusiveLockGivesSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.TempDir(), Options{noSync: true})
		if err != nil {
			t.Fatal(err)
		}
		release, err := s.exclusive(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		life := lifeOf(s.dbGate.path)
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

// heldElsewhere makes a store with one answer in its database, and another one,
// as of another process, that holds the exclusive lock. moves is the sign of
// life that the first one sees.
func heldElsewhere(t *testing.T, o Options, moves func(look int64) int64) (s *Store, release func(), looks *atomic.Int64) {
	t.Helper()
	dir := t.TempDir()
	o.MergeEvery = time.Hour // nothing but this test looks at the lock
	s = open(t, dir, o)
	get(t, &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}, tvURL)
	if _, err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.lru.clear()
	looks = new(atomic.Int64)
	s.dbGate.sign = func() int64 { return moves(looks.Add(1)) }
	release, err := open(t, dir, Options{}).exclusive(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return s, release, looks
}

// While another process merges for long, and lives, its merge is waited for:
// what it writes down may be the answer. Nothing is asked twice for it.
func TestALongMergeOfALiveProcessLeadsToNoQuestion(t *testing.T) {
	var h heard
	o := Options{LockWait: time.Millisecond, ClaimTimeout: time.Hour, OnWarning: h.hear}
	s, release, looks := heldElsewhere(t, o, func(look int64) int64 { return look })
	s.dbGate.still = time.Hour
	up := &upstream{serve: always(200, endedBody)}
	source := make(chan string)
	go func() {
		_, _, from := get(t, &Transport{Store: s, Next: up}, tvURL)
		source <- from
	}()
	for looks.Load() < 5 { // it has come back to the lock several times
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
	for name, o := range map[string]struct {
		options Options
		moves   func(int64) int64
		asked   *Transport
		warned  string
	}{
		"no sign of life":   {Options{ClaimTimeout: time.Hour}, func(int64) int64 { return 1 }, &Transport{}, "locked"},
		"for too long":      {Options{ClaimTimeout: time.Millisecond}, func(look int64) int64 { return look }, &Transport{}, ""},
		"offline: at once":  {Options{ClaimTimeout: time.Hour}, func(look int64) int64 { return look }, &Transport{Offline: true}, ""},
		"offline, no signs": {Options{ClaimTimeout: time.Hour}, func(int64) int64 { return 1 }, &Transport{Offline: true}, "locked"},
		"while Next would refuse: at once": {
			Options{ClaimTimeout: time.Hour},
			func(look int64) int64 { return look },
			&Transport{Closed: func(context.Context) bool { return true }}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h heard
			o.options.LockWait, o.options.OnWarning = time.Millisecond, h.hear
			s, release, _ := heldElsewhere(t, o.options, o.moves)
			defer release()
			up := &upstream{serve: always(200, endedBody)}
			if _, _, from := get(t, &Transport{Store: s, Next: up, Offline: o.asked.Offline, Closed: o.asked.Closed}, tvURL); from != "network" {
				t.Errorf("answered from %s", from)
			}
			if h.kinds() != o.warned {
				t.Errorf("warned of %q", h.kinds())
			}
		})
	}
}

// Where no sign can be given or seen the lock works as before.
func TestASignOfLifeThatCannotBeGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone", "lock")
	stop := pulse(path)
	stop()
	if lifeOf(path)() != 0 {
		t.Error("life in a file that is not there")
	}
}
