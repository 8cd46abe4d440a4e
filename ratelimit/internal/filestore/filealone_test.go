package filestore_test

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

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// holdLock takes the lock of the folder as another process would, and returns how to let go.
func holdLock(t *testing.T, dir string) (release func()) {
	t.Helper()
	release, err := lockfile.Acquire(context.Background(), filepath.Join(dir, filestore.LockName), lockfile.Exclusive,
		time.Minute)
	must(t, err)
	release = sync.OnceFunc(release)
	t.Cleanup(release)
	return release
}

// untilTogether updates until the store is back in contact. It has no event to wait for: the
// lock comes to a goroutine that the kernel wakes.
func untilTogether(t *testing.T, s storeUnderTest) ratelimit.Snapshot {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if snap, parts := s.look(); parts <= 1 {
			return snap
		}
	}
	t.Fatal("still alone")
	return ratelimit.Snapshot{}
}

func TestAProcessContinuesAloneIfTheLockIsHeld(t *testing.T) {
	dir := t.TempDir()
	a := openTest(t, dir, filestore.Options{Patience: time.Millisecond})
	b := openTest(t, dir, filestore.Options{Patience: time.Millisecond})
	openTest(t, dir, filestore.Options{}).look() // a third one lives
	err := a.Update(context.Background(), func(now ratelimit.Instant, s *ratelimit.Snapshot) error {
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
	err = a.Update(context.Background(), func(now ratelimit.Instant, s *ratelimit.Snapshot) error {
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

func TestLockHeldFromTheStartIsSurvived(t *testing.T) {
	dir := t.TempDir()
	first := openTest(t, dir, filestore.Options{})
	first.mark(7)
	release := holdLock(t, dir)
	s := openTest(t, dir, filestore.Options{Patience: time.Millisecond})
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
	s := openTest(t, dir, filestore.Options{Patience: time.Millisecond})
	s.look()
	release := holdLock(t, dir)
	s.look()
	s.Close()
	release()
	other := openTest(t, dir, filestore.Options{Patience: time.Minute})
	other.mark(3) // would wait for a minute if the closed store had kept the lock
	other.wantEvents("")
}

func TestCancelledWaitForTheLockIsResumed(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, filestore.Options{Patience: time.Minute})
	s.look()
	release := holdLock(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(5*time.Millisecond, cancel)
	if err := s.Update(ctx, func(ratelimit.Instant, *ratelimit.Snapshot) error { return nil }); !errors.Is(err,
		context.Canceled) {
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

// fill fills the disk, and returns how to make room again.
func (s storeUnderTest) fill() (mend func()) {
	s.look() // opens the file
	return s.backend.FillDisk()
}

func TestUpdateThatCannotBeWrittenCountsAlone(t *testing.T) {
	dir := t.TempDir()
	s, other := openTest(t, dir, filestore.Options{Processes: 4}), openTest(t, dir, filestore.Options{})
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
	s.clock.pass(shared.RetryEvery)
	s.mark(9) // still full: it counts alone like any other update, or who asks once a second is always told to wait
	if snap, parts := s.look(); parts != 4 || markOf(snap) != 9 {
		t.Errorf("after another try alone in %d parts, mark %d; want 4, 9", parts, markOf(snap))
	}
	mend()
	s.clock.pass(shared.RetryEvery)
	if snap, parts := s.look(); parts > 1 || markOf(snap) != 7 {
		t.Errorf("back in %d parts, mark %d; want the shared 7", parts, markOf(snap))
	}
	s.wantEvents("state_unavailable")
}

func TestTheDeadAreFoundAndTheLivingAreNot(t *testing.T) {
	dir := t.TempDir()
	a, b := openTest(t, dir, filestore.Options{}), openTest(t, dir, filestore.Options{})
	a.look()
	b.look()
	gone, left := "00112233445566aa", "00112233445566bb"
	must(t, os.WriteFile(filepath.Join(dir, filestore.AlivePrefix+left), nil, 0o600))
	strange := "../../" + filestore.StateName
	dead := a.Dead([]string{a.Owner(), b.Owner(), gone, left, strange})
	if want := []string{gone, left, strange}; !slices.Equal(dead, want) {
		t.Errorf("dead: %q, want %q", dead, want)
	}
	if _, err := os.Stat(filepath.Join(dir, filestore.AlivePrefix+left)); !errors.Is(err, os.ErrNotExist) {
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
	a, b := openTest(t, dir, filestore.Options{}), openTest(t, dir, filestore.Options{})
	a.mark(1)
	if err := os.Remove(filepath.Join(dir, filestore.AlivePrefix+a.Owner())); err != nil {
		t.Skip(err) // Windows: it cannot be stolen
	}
	a.clock.pass(filestore.ProveEvery)
	a.look()
	if dead := b.Dead([]string{a.Owner()}); len(dead) != 0 {
		t.Error("b takes a for dead")
	}
}

func TestSystemInstantMovesForward(t *testing.T) {
	a := core.SystemInstant()
	b := core.SystemInstant()
	if a.Boot <= 0 || b.Boot < a.Boot || b.BootID != a.BootID {
		t.Errorf("%+v, then %+v", a, b)
	}
	if d := time.Since(a.Wall); d < 0 || d > time.Hour {
		t.Errorf("wall clock is off by %v", d)
	}
}

// An order that stays in the own memory is none: it must not look carried out.
func TestOrdersThatNobodyElseSees(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		cut  func(t *testing.T, dir string, s storeUnderTest)
	}{
		{"the lock is held", func(t *testing.T, dir string, _ storeUnderTest) { holdLock(t, dir) }},
		{"the disk is full", func(_ *testing.T, _ string, s storeUnderTest) { s.fill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := openTest(t, dir, filestore.Options{Patience: time.Millisecond})
			must(t, (ratelimit.Operator{Store: s}).Tune(ctx, map[string]string{"rate_base": "10"}, time.Hour))
			c.cut(t, dir, s)
			_, _, stopped := (ratelimit.Operator{Store: s}).ForceCacheOnly(ctx, 0)
			_, _, resumed := (ratelimit.Operator{Store: s}).Resume(ctx)
			for what, err := range map[string]error{
				"tune": (ratelimit.Operator{Store: s}).Tune(ctx, map[string]string{"rate_base": "5"},
					time.Hour), "reset tuning": (ratelimit.Operator{Store: s}).ResetTuning(ctx),
				"cache-only": stopped, "resume": resumed, "reset": (ratelimit.Operator{Store: s}).Reset(ctx, false),
			} {
				if !errors.Is(err, ratelimit.ErrNotShared) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	occupied := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(occupied, nil, 0o600))
	s, err := filestore.Open(occupied, filestore.Options{Processes: 1})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	if err := (ratelimit.Operator{Store: s}).Reset(ctx, true); !errors.Is(err, ratelimit.ErrNotShared) {
		t.Errorf("no folder: %v", err)
	}
	if err := (ratelimit.Operator{Store: ratelimit.NewMemoryStore()}).Reset(ctx, true); err != nil {
		t.Errorf("a store for one process shares all there is: %v", err)
	}
}
