package core

import (
	"fmt"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fakeClock is a clock that the test moves.
type fakeClock struct{ at Instant }

func newFakeClock() *fakeClock {
	return &fakeClock{Instant{Wall: time.Unix(1_700_000_000, 0), Boot: time.Hour, BootID: "b"}}
}

func (c *fakeClock) now() Instant { return c.at }

func (c *fakeClock) pass(d time.Duration) {
	c.at.Wall, c.at.Boot = c.at.Wall.Add(d), c.at.Boot+d
}

// pool makes accounts: each with as many keys as its name says, "a2" has two.
func pool(list ...Account) []Account {
	for i := range list {
		for k := range int(list[i].Name[1] - '0') {
			list[i].Keys = append(list[i].Keys, FingerprintOf(fmt.Sprint(list[i].Name, k)))
		}
	}
	return list
}

func ok() Event { return Event{Outcome: OK, Status: 200} }

// at is a snapshot at a moment, seen with a tuning.
func (s *Snapshot) at(now Stamp, t *Tuning) view { return view{s, now, t, Instant{}} }

func (q *queue) running(epoch uint64) int {
	return count(q.leases, func(l *lease) bool { return l.epoch == epoch })
}
