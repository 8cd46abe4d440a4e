package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/lockfile"
)

// pair opens two stores over one directory, as two processes would.
func pair(t *testing.T) (a, b *Store) {
	dir := t.TempDir()
	o := Options{MergeEvery: time.Hour}
	return open(t, dir, o), open(t, dir, o)
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestWhatHappensBetweenTheLookAndTheClaimIsSeen(t *testing.T) {
	merge := func(t *testing.T, s *Store) {
		if _, err := s.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rows := map[string]struct {
		between func(t *testing.T, other *Store)
		want    bool
	}{
		"nothing": {func(*testing.T, *Store) {}, false},
		"an answer was written": {func(t *testing.T, other *Store) {
			putAnswer(t, other, tvKey("1"), time.Now(), day, 10)
		}, true},
		"an answer was written and merged": {func(t *testing.T, other *Store) {
			putAnswer(t, other, tvKey("1"), time.Now(), day, 10)
			merge(t, other)
		}, true},
		"an answer was deleted": {func(t *testing.T, other *Store) {
			if err := other.Delete(t.Context(), tvKey("1")); err != nil {
				t.Fatal(err)
			}
		}, true},
		"another key was written": {func(t *testing.T, other *Store) {
			putAnswer(t, other, tvKey("2"), time.Now(), day, 10)
		}, false},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			putAnswer(t, b, tvKey("0"), time.Now(), day, 10)
			merge(t, b)
			long := time.Now().Add(-time.Hour) // the database has been as it is for long
			if err := os.Chtimes(a.dbPath(), long, long); err != nil {
				t.Fatal(err)
			}
			e, saw, err := a.entry(t.Context(), tvKey("1"))
			if e != nil || err != nil {
				t.Fatal(e, err)
			}
			r.between(t, b)
			c, err := a.claim(t.Context(), tvKey("1"), func() {})
			if err != nil {
				t.Fatal(err)
			}
			defer c.release()
			if got := a.changedSince(tvKey("1"), saw, c.waited > 0); got != r.want || c.waited > 0 {
				t.Errorf("changed: %v, want %v; waited %v", got, r.want, c.waited)
			}
		})
	}
}

// A merge within the same tick of the file system's clock may leave the database's time of change as it was.
func TestADatabaseThatHasJustChangedMayHaveChangedAgain(t *testing.T) {
	a, b := pair(t)
	putAnswer(t, b, tvKey("0"), time.Now(), day, 10)
	if _, err := b.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Hour)
	if err := os.Chtimes(a.dbPath(), soon, soon); err != nil {
		t.Fatal(err)
	}
	_, saw, err := a.entry(t.Context(), tvKey("1"))
	if err != nil {
		t.Fatal(err)
	}
	if !a.changedSince(tvKey("1"), saw, false) {
		t.Error("it counts as unchanged")
	}
}

func TestAClaimIsWaitedForUntilItIsGivenBack(t *testing.T) {
	a, b := pair(t)
	held, err := b.claim(t.Context(), tvKey("1"), func() {})
	if err != nil || held.waited != 0 {
		t.Fatal(held.waited, err)
	}
	got := make(chan claim)
	go func() {
		c, err := a.claim(t.Context(), tvKey("1"), func() {})
		if err != nil {
			t.Error(err)
		}
		got <- c
	}()
	eventually(t, "one waits", func() bool { return a.Awaiting() == 1 })
	held.release()
	c := <-got
	if c.waited <= 0 || a.Awaiting() != 0 {
		t.Errorf("waited %v, %d still wait", c.waited, a.Awaiting())
	}
	c.release()
}

func TestWhoWaitsForAClaimLeavesWhenItLikes(t *testing.T) {
	a, b := pair(t)
	held, err := b.claim(t.Context(), tvKey("1"), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := a.claim(ctx, tvKey("1"), func() {})
		left <- err
	}()
	eventually(t, "one waits", func() bool { return a.Awaiting() == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) || a.Awaiting() != 0 {
		t.Errorf("%v, %d still wait", err, a.Awaiting())
	}
}

// A gateway may ask with the same cache while its client holds a claim on the question to the gateway: whatever the hashes,
// they don't wait for each other.
func TestAClaimIsNotWaitedForByQuestionsToAnotherUpstream(t *testing.T) {
	client, gateway := pair(t)
	const asked = "GET http://127.0.0.1:7777/3/tv/1"
	hash := func(key string) string { return claimFile(key)[len("claim-00000000"):] }
	next := asked
	for n := 0; next == asked || hash(next) != hash(asked); n++ {
		next = fmt.Sprintf("GET https://api.example:443/3/tv/%d", n)
	}
	held, err := client.claim(t.Context(), asked, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := gateway.claim(ctx, next, cancel)
	if err != nil {
		t.Fatal("it waits for its own client:", err)
	}
	c.release()
}

// A holder that never touches its file was stopped.
func TestAClaimWhoseHolderDoesNotMoveIsDoneWithout(t *testing.T) {
	var h heard
	s := open(t, t.TempDir(), Options{ClaimTimeout: 20 * time.Millisecond, OnWarning: h.hear})
	release, err := lockfile.Acquire(t.Context(), s.claimLock(tvKey("1")).Path(), lockfile.Exclusive, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	c, err := s.claim(t.Context(), tvKey("1"), func() {})
	if err != nil || c.waited <= 0 || h.kinds() != "locked" {
		t.Errorf("waited %v: %v, warned %q", c.waited, err, h.kinds())
	}
	c.release()
}

func TestAHolderThatMovesIsToldFromOneThatWasStopped(t *testing.T) {
	type look struct {
		after   time.Duration
		touched int64
		moves   bool
	}
	for name, looks := range map[string][]look{
		"touched each time":  {{0, 1, true}, {4, 2, true}, {8, 3, true}, {12, 4, true}},
		"never again":        {{0, 1, true}, {4, 1, true}, {5, 1, false}, {9, 1, false}},
		"again after a stop": {{0, 1, true}, {6, 1, false}, {7, 2, true}},
		"no file":            {{0, 0, false}},
		"a clock elsewhere":  {{0, 1 << 60, true}, {4, -5, true}, {9, -5, false}},
	} {
		t.Run(name, func(t *testing.T) {
			w := pulseWatch{limit: 5 * time.Second}
			for _, l := range looks {
				if got := w.moves(l.touched, newClock().Now().Add(l.after*time.Second)); got != l.moves {
					t.Errorf("after %d s: %v", l.after, got)
				}
			}
		})
	}
}

// What can't be locked is no reason not to ask.
func TestWithoutClaimsTheQuestionIsAsked(t *testing.T) {
	var h heard
	s := open(t, t.TempDir(), Options{OnWarning: h.hear})
	if err := os.Mkdir(s.claimLock(tvKey("1")).Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := s.claim(t.Context(), tvKey("1"), func() {})
	if err != nil || h.kinds() != "memory" {
		t.Errorf("%v, warned %q", err, h.kinds())
	}
	c.release()
}

func TestADamagedFileIsSetAsideOnceByAllWhoFoundIt(t *testing.T) {
	a, b := pair(t)
	overwrite(t, a.dbPath(), []byte("garbage"))
	var found [2]*DamageError
	for i, s := range []*Store{a, b} {
		if _, _, err := s.openCache(bolt.Options{ReadOnly: true}, checkDeep); !errors.As(err, &found[i]) {
			t.Fatal(err)
		}
	}
	a.setAside(t.Context(), found[0])
	putAnswer(t, a, tvKey("1"), time.Now(), day, 10)
	if _, err := a.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.setAside(t.Context(), found[1]) // comes late
	aside, err := filepath.Glob(a.dbPath() + ".corrupt-*")
	if err != nil || len(aside) != 1 {
		t.Errorf("%v %v", aside, err)
	}
	if _, err := os.Stat(a.dbPath()); err != nil {
		t.Errorf("the new one is gone: %v", err)
	}
}
