package ratelimit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// holdLock takes the lock of the folder as another process would, and returns how to let go.
func holdLock(t *testing.T, dir string) (release func()) {
	t.Helper()
	release, err := lockfile.Acquire(context.Background(), filepath.Join(dir, lockName), lockfile.Exclusive, time.Minute)
	must(t, err)
	release = sync.OnceFunc(release)
	t.Cleanup(release)
	return release
}

// untilTogether updates until the store is back in contact. It has no event to wait for: the
// lock comes to a goroutine that the kernel wakes.
func untilTogether(t *testing.T, s storeUnderTest) Snapshot {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if snap, parts := s.look(); parts <= 1 {
			return snap
		}
	}
	t.Fatal("still alone")
	return Snapshot{}
}

func TestHeldLockMeansGoingOnAlone(t *testing.T) {
	dir := t.TempDir()
	a := openTest(t, dir, FileOptions{Patience: time.Millisecond})
	b := openTest(t, dir, FileOptions{Patience: time.Millisecond})
	openTest(t, dir, FileOptions{}).look() // a third one lives
	err := a.Update(context.Background(), func(now Instant, s *Snapshot) error {
		pauseFor(now, s, time.Minute)
		return nil
	})
	must(t, err)
	b.look()
	release := holdLock(t, dir)

	for _, s := range []storeUnderTest{a, b} {
		for range 3 {
			_, parts := s.look()
			if parts != 3 {
				t.Fatalf("in %d parts, want 3", parts)
			}
			if left := s.pauseLeft(); left != time.Minute {
				t.Errorf("alone %v of the pause are left, want 1m", left)
			}
		}
		s.wantEvents("lock_degraded")
	}
	// What happens to one alone stays its own until they are together again.
	err = a.Update(context.Background(), func(now Instant, s *Snapshot) error {
		pauseFor(now, s, 2*time.Minute)
		return nil
	})
	must(t, err)
	if b.pauseLeft() != time.Minute {
		t.Error("b saw what a did alone")
	}

	release()
	untilTogether(t, a)
	untilTogether(t, b)
	if left := b.pauseLeft(); left != 2*time.Minute {
		t.Errorf("together %v of the pause are left, want 2m", left)
	}
	a.wantEvents("lock_degraded")
	b.wantEvents("lock_degraded")
}

func TestLockHeldFromTheStartIsGotOver(t *testing.T) {
	dir := t.TempDir()
	first := openTest(t, dir, FileOptions{})
	first.mark(7)
	release := holdLock(t, dir)
	s := openTest(t, dir, FileOptions{Patience: time.Millisecond})
	if snap, parts := s.look(); parts != 2 || markOf(snap) != 7 {
		t.Errorf("%d parts, mark %d: the state can be read without the lock", parts, markOf(snap))
	}
	release()
	if snap := untilTogether(t, s); markOf(snap) != 7 {
		t.Errorf("together: mark %d, want 7", markOf(snap))
	}
}

func TestStoreClosedWhileTheLockIsHeldLetsGoOfIt(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, FileOptions{Patience: time.Millisecond})
	s.look()
	release := holdLock(t, dir)
	s.look()
	s.Close()
	release()
	other := openTest(t, dir, FileOptions{Patience: time.Minute})
	other.mark(3) // would wait for a minute if the closed store had kept the lock
	other.wantEvents("")
}

func TestCancelledWaitForTheLockIsTakenUpAgain(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, FileOptions{Patience: time.Minute})
	s.look()
	release := holdLock(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(5*time.Millisecond, cancel)
	if err := s.Update(ctx, func(Instant, *Snapshot) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Fatalf("update = %v, want canceled", err)
	}
	released := make(chan struct{})
	time.AfterFunc(5*time.Millisecond, func() { release(); close(released) })
	s.mark(4)
	<-released // the file is closed only after it
	if got := s.marked(); got != 4 {
		t.Errorf("marked %d, want 4", got)
	}
	s.wantEvents("")
}

// full is a file on a disk that takes no more.
type full struct{ *os.File }

func (full) WriteAt([]byte, int64) (int, error) { return 0, errors.New("no space left on device") }

// fill fills the disk, and returns how to make room again.
func (s storeUnderTest) fill() (mend func()) {
	s.look() // opens the file
	b := s.backend.(*FileBackend)
	b.copies.file = full{b.state.File}
	return func() { b.copies.file = b.state }
}

func TestUpdateThatCannotBeWrittenCountsAlone(t *testing.T) {
	dir := t.TempDir()
	s, other := openTest(t, dir, FileOptions{Processes: 4}), openTest(t, dir, FileOptions{})
	s.mark(7)
	mend := s.fill()
	s.mark(8) // what it decided holds, though nobody else can know
	s.wantEvents("state_unavailable")
	if snap, parts := s.look(); parts != 4 || markOf(snap) != 8 {
		t.Errorf("alone in %d parts, mark %d; want 4, 8", parts, markOf(snap))
	}
	if got := other.marked(); got != 7 {
		t.Errorf("the other sees %d, want 7", got)
	}
	s.clock.pass(retryEvery)
	s.look() // still full
	mend()
	s.clock.pass(retryEvery)
	if snap, parts := s.look(); parts > 1 || markOf(snap) != 7 {
		t.Errorf("back in %d parts, mark %d; want the shared 7", parts, markOf(snap))
	}
	s.wantEvents("state_unavailable")
}

func TestTheDeadAreFoundAndTheLivingAreNot(t *testing.T) {
	dir := t.TempDir()
	a, b := openTest(t, dir, FileOptions{}), openTest(t, dir, FileOptions{})
	a.look()
	b.look()
	gone, left := "00112233445566aa", "00112233445566bb"
	must(t, os.WriteFile(filepath.Join(dir, alivePrefix+left), nil, 0o600))
	strange := "../../" + stateName
	dead := a.Dead([]string{a.Owner(), b.Owner(), gone, left, strange})
	if want := []string{gone, left, strange}; !slices.Equal(dead, want) {
		t.Errorf("dead: %q, want %q", dead, want)
	}
	if _, err := os.Stat(filepath.Join(dir, alivePrefix+left)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the proof of a dead process stays: %v", err)
	}
	if n := a.Living(); n != 2 {
		t.Errorf("%d live, want 2", n)
	}
	b.Close()
	if dead := a.Dead([]string{b.Owner()}); len(dead) != 1 {
		t.Errorf("closed is not dead: %q", dead)
	}
	if dead := a.Dead([]string{a.Owner()}); len(dead) != 0 {
		t.Error("it takes itself for dead")
	}
}

func TestStolenProofOfLifeIsRenewed(t *testing.T) {
	dir := t.TempDir()
	a, b := openTest(t, dir, FileOptions{}), openTest(t, dir, FileOptions{})
	a.mark(1)
	if err := os.Remove(filepath.Join(dir, alivePrefix+a.Owner())); err != nil {
		t.Skip(err) // Windows: it cannot be stolen
	}
	a.clock.pass(proveEvery)
	a.look()
	if dead := b.Dead([]string{a.Owner()}); len(dead) != 0 {
		t.Error("b takes a for dead")
	}
}

func TestSystemInstantMovesForward(t *testing.T) {
	a := SystemInstant()
	b := SystemInstant()
	if a.Boot <= 0 || b.Boot < a.Boot || b.BootID != a.BootID {
		t.Errorf("%+v, then %+v", a, b)
	}
	if d := time.Since(a.Wall); d < 0 || d > time.Hour {
		t.Errorf("wall clock is off by %v", d)
	}
}
