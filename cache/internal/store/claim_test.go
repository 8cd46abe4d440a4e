package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/boltfile"
	"github.com/anivault/anivault/internal/lockfile"
)

func TestWaitersWaitUntilAClaimIsReleased(t *testing.T) {
	a, b := pair(t)
	held, err := b.claims.acquire(t.Context(), "1", func() {})
	if err != nil || held.Waited != 0 {
		t.Fatal(held.Waited, err)
	}
	got := make(chan Claim)
	go func() {
		c, err := a.claims.acquire(t.Context(), "1", func() {})
		if err != nil {
			t.Error(err)
		}
		got <- c
	}()
	eventually(t, "one waits", func() bool { return a.WaitingRequests() == 1 })
	held.Release()
	c := <-got
	if c.Waited <= 0 || a.WaitingRequests() != 0 {
		t.Errorf("waited %v, %d still wait", c.Waited, a.WaitingRequests())
	}
	c.Release()
}

// People empty their cache folders, also below a process that runs for months.
func TestAClaimMakesARemovedFolderAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folder of an open file can't be removed")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	s := open(t, dir, Options{})
	for _, key := range []string{"1", "2"} {
		claim, err := s.claims.acquire(t.Context(), key, func() {})
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, key)
		claim.Release()
		if got := keysOf(t, open(t, dir, Options{})); !slices.Equal(got, []string{key}) {
			t.Errorf("another process finds %v", got)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A request with no time to wait, as with a max-wait of 0, gets what it need not wait for.
func TestAFreeClaimNeedsNoTime(t *testing.T) {
	a, b := pair(t)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	claim, err := a.claims.acquire(ctx, "1", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	if _, err := b.claims.acquire(ctx, "1", func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a claim that another process has: %v", err)
	}
}

func TestWaitingForAClaimCanBeCancelled(t *testing.T) {
	a, b := pair(t)
	held, err := b.claims.acquire(t.Context(), "1", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := a.claims.acquire(ctx, "1", func() {})
		left <- err
	}()
	eventually(t, "one waits", func() bool { return a.WaitingRequests() == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) || a.WaitingRequests() != 0 {
		t.Errorf("%v, %d still wait", err, a.WaitingRequests())
	}
}

// Two different questions never wait for each other, however many are claimed; and what is given back leaves no file.
func TestOneQuestionOneClaim(t *testing.T) {
	a, b := pair(t)
	never := func() { t.Error("one waits for another question") }
	var held []Claim
	for i := range 1000 {
		s := a
		if i%2 == 1 {
			s = b
		}
		c, err := s.claims.acquire(t.Context(), fmt.Sprint(900000+i), never)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Release()
	}
	if left := listFolder(a.claims.dir); len(left) > 0 || len(a.claims.locks) > 0 || len(b.claims.locks) > 0 {
		t.Errorf("left: %d files, %d and %d locks", len(left), len(a.claims.locks), len(b.claims.locks))
	}
}

// A claim goes from one to the next although each removes its file.
func TestManyWaitForOneClaim(t *testing.T) {
	a, b := pair(t)
	var holders atomic.Int32
	var all sync.WaitGroup
	for i := range 40 {
		s := a
		if i%2 == 1 {
			s = b
		}
		all.Go(func() {
			c, err := s.claims.acquire(t.Context(), "1", func() {})
			if err != nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n != 1 {
				t.Errorf("%d hold it", n)
			}
			runtime.Gosched()
			holders.Add(-1)
			c.Release()
		})
	}
	all.Wait()
}

// What a killed process has left in the claims' folder goes with a later prune, but not what is held.
func TestFilesOfDeadClaimsGo(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	held, err := s.claims.acquire(t.Context(), "1", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	dead, young := filepath.Join(s.claims.dir, "claim-00-17"), filepath.Join(s.claims.dir, "claim-0000000000000001")
	overwrite(t, dead, nil)
	overwrite(t, young, nil)
	long := time.Now().Add(-2 * day)
	for _, path := range []string{dead, s.claims.lockFor("1").lock.Path()} {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Prune(t.Context(), PruneOptions{}); err != nil {
		t.Fatal(err)
	}
	if left := listFolder(s.claims.dir); len(left) != 2 || slices.Contains(left, filepath.Base(dead)) {
		t.Errorf("left: %v", left)
	}
}

// A holder that never touches its file was stopped.
func TestAnInactiveHoldersClaimIsIgnored(t *testing.T) {
	var h heard
	s := open(t, t.TempDir(), Options{ClaimTimeout: 20 * time.Millisecond, OnWarning: h.hear})
	release, err := lockfile.Acquire(t.Context(), s.claims.lockFor("1").lock.Path(), lockfile.Exclusive, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	c, err := s.claims.acquire(t.Context(), "1", func() {})
	if err != nil || c.Waited <= 0 || h.kinds() != "locked" {
		t.Errorf("waited %v: %v, warned %q", c.Waited, err, h.kinds())
	}
	c.Release()
}

func TestAnActiveHolderIsDistinguishedFromAStoppedOne(t *testing.T) {
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
			w := activityWatch{limit: 5 * time.Second}
			for _, l := range looks {
				if got := w.isActive(l.touched, newClock().Add(l.after*time.Second)); got != l.moves {
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
	if err := os.Mkdir(s.claims.lockFor("1").lock.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := s.claims.acquire(t.Context(), "1", func() {})
	if err != nil || h.kinds() != "memory" {
		t.Errorf("%v, warned %q", err, h.kinds())
	}
	c.Release()
}

func TestADamagedFileIsSetAsideOnceByAllWhoFoundIt(t *testing.T) {
	a, b := pair(t)
	overwrite(t, a.db.path, []byte("garbage"))
	var found [2]*boltfile.DamageError
	for i, s := range []*Store{a, b} {
		if _, _, err := s.db.open(bolt.Options{ReadOnly: true}, boltfile.CheckLeaves); !errors.As(err, &found[i]) {
			t.Fatal(err)
		}
	}
	a.db.renameDamaged(t.Context(), found[0])
	put(t, a, "1")
	b.db.renameDamaged(t.Context(), found[1]) // comes late
	aside, err := filepath.Glob(a.db.path + ".corrupt-*")
	if err != nil || len(aside) != 1 {
		t.Errorf("%v %v", aside, err)
	}
	if _, err := os.Stat(a.db.path); err != nil {
		t.Errorf("the new one is gone: %v", err)
	}
}
