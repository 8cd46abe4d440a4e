package cache

// What a lock that is not free means: our own session at work, another process at work, or one that does not move.

import (
	"context"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// heldElsewhere makes a store with one answer in its database, and lets another one hold the exclusive lock. That one
// gives no sign of life; moves says whether it counts as active anyway.
func heldElsewhere(t *testing.T, o Options, moves bool) (s *Store, release func()) {
	t.Helper()
	if moves {
		o.testOptions.InactivityLimit = time.Hour
	}
	s = open(t, t.TempDir(), o)
	get(t, &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}, tvURL)
	release, err := lockfile.Acquire(t.Context(), lockPath(s), lockfile.Exclusive, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return s, release
}

// While another process writes for long, and lives, it is waited for: what it writes may be the answer. Nothing is
// asked twice for it.
func TestALongSessionOfALiveProcessLeadsToNoQuestion(t *testing.T) {
	var h heard
	s, release := heldElsewhere(t, Options{LockWait: time.Millisecond, ClaimTimeout: time.Hour, OnWarning: h.hear}, true)
	up := &upstream{serve: always(200, endedBody)}
	looked := make(chan struct{})
	tr := &Transport{Store: s, Next: up, NextClosed: func(context.Context) bool { looked <- struct{}{}; return false }}
	source := make(chan string)
	go func() {
		_, _, from := get(t, tr, tvURL)
		source <- from
	}()
	for range 5 { // it comes back to the lock several times
		select {
		case from := <-source:
			t.Fatalf("answered from %s", from)
		case <-looked:
		}
	}
	release()
	for answered := false; !answered; {
		select {
		case <-looked: // once more, perhaps
		case from := <-source:
			answered = true
			if from != "fresh" || up.count() > 0 {
				t.Errorf("answered from %s, %d questions", from, up.count())
			}
		}
	}
	if h.kinds() != "" {
		t.Errorf("warned of %q", h.kinds())
	}
}

func TestAnInactiveHolderIsIgnored(t *testing.T) {
	refuses := func(context.Context) bool { return true }
	for name, r := range map[string]struct {
		claimTimeout time.Duration
		moves        bool
		asked        *Transport
		warned       string
	}{
		"no sign of life":                  {time.Hour, false, &Transport{}, "locked"},
		"for too long":                     {time.Millisecond, true, &Transport{}, ""},
		"offline: at once":                 {time.Hour, true, &Transport{Offline: true}, ""},
		"offline, no signs":                {time.Hour, false, &Transport{Offline: true}, "locked"},
		"while Next would refuse: at once": {time.Hour, true, &Transport{NextClosed: refuses}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var h heard
			o := Options{LockWait: 20 * time.Millisecond, ClaimTimeout: r.claimTimeout, OnWarning: h.hear}
			s, release := heldElsewhere(t, o, r.moves)
			defer release()
			tr := r.asked
			tr.Store, tr.Next = s, &upstream{serve: always(200, endedBody)}
			if _, _, from := get(t, tr, tvURL); from != "network" {
				t.Errorf("answered from %s", from)
			}
			if h.kinds() != r.warned {
				t.Errorf("warned of %q", h.kinds())
			}
		})
	}
}
