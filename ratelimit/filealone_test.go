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
		s.machine.pauseUntil = s.advance(now).add(time.Minute)
		return nil
	})
	must(t, err)
	b.look()
	release := holdLock(t, dir)

	for _, s := range []storeUnderTest{a, b} {
		for range 3 {
			snap, parts := s.look()
			if parts != 3 {
				t.Fatalf("in %d parts, want 3", parts)
			}
			if left := snap.machine.pauseUntil.sub(snap.clock.now); left != time.Minute {
				t.Errorf("alone %v of the pause are left, want 1m", left)
			}
		}
		s.wantEvents("lock_degraded")
	}
	// What happens to one alone stays its own until they are together again.
	err = a.Update(context.Background(), func(now Instant, s *Snapshot) error {
		s.machine.pauseUntil = s.advance(now).add(2 * time.Minute)
		return nil
	})
	must(t, err)
	if snap, _ := b.look(); snap.machine.pauseUntil.sub(snap.clock.now) != time.Minute {
		t.Error("b saw what a did alone")
	}

	release()
	untilTogether(t, a)
	snap := untilTogether(t, b)
	if left := snap.machine.pauseUntil.sub(snap.clock.now); left != 2*time.Minute {
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
	if snap, parts := s.look(); parts != 2 || snap.overrides.seq != 7 {
		t.Errorf("%d parts, mark %d: the state can be read without the lock", parts, snap.overrides.seq)
	}
	release()
	if snap := untilTogether(t, s); snap.overrides.seq != 7 {
		t.Errorf("together: mark %d, want 7", snap.overrides.seq)
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
	if snap, parts := s.look(); parts != 4 || snap.overrides.seq != 8 {
		t.Errorf("alone in %d parts, mark %d; want 4, 8", parts, snap.overrides.seq)
	}
	if got := other.marked(); got != 7 {
		t.Errorf("the other sees %d, want 7", got)
	}
	s.clock.pass(retryEvery)
	s.look() // still full
	mend()
	s.clock.pass(retryEvery)
	if snap, parts := s.look(); parts > 1 || snap.overrides.seq != 7 {
		t.Errorf("back in %d parts, mark %d; want the shared 7", parts, snap.overrides.seq)
	}
	s.wantEvents("state_unavailable")
}

// The same script for a rejoin in pure values: what was done alone counts, what was given
// back alone is free, and nothing of the others is touched.
func TestRejoinTellsTheOthers(t *testing.T) {
	clock := newFakeClock()
	tuning := Default()
	var shared Snapshot
	now := shared.advance(clock.now())
	me, other := shared.join(now, "me", &tuning).key, shared.join(now, "other", &tuning).key
	shared.machine.permits = 4
	shared.slots.leases = []lease{
		{permit: 1, epoch: 1, owner: me, until: now.add(time.Minute)},
		{permit: 2, epoch: 1, owner: other, until: now.add(time.Minute)},
		{permit: 3, epoch: 1, owner: me, until: now.add(time.Minute)},
	}
	shared.slots.tickets = []ticket{{number: 5, owner: me}, {number: 6, owner: other}}
	shared.slots.seq = 6
	shared.budget = budgetUse{since: now, used: 10}
	shared.ceiling.grants = []Stamp{now - 5}

	a := leave(&shared, clock.now(), "me", 1)
	a.parts = 2
	clock.pass(time.Second)
	alone := a.snap.advance(clock.now())
	a.snap.slots.release(1, 1)
	a.snap.slots.withdraw(5)
	a.snap.ceiling.add(alone, time.Minute)
	a.snap.budget.used += 2
	shared.budget.used += 3 // by the others, meanwhile
	shared.ceiling.add(shared.clock.now, time.Minute)
	shared.join(shared.advance(clock.now()), "other", &tuning) // so it was never alone
	clock.pass(time.Second)
	a.snap.machine.pauseUntil = a.snap.advance(clock.now()).add(time.Minute)

	shared.rejoin(clock.now(), a, "me")
	var permits, tickets []uint64
	for _, l := range shared.slots.leases {
		permits = append(permits, l.permit)
	}
	for _, q := range shared.slots.tickets {
		tickets = append(tickets, q.number)
	}
	if !slices.Equal(permits, []uint64{2, 3}) || !slices.Equal(tickets, []uint64{6}) {
		t.Errorf("leases %v, tickets %v; want [2 3], [6]", permits, tickets)
	}
	if want := []Stamp{now - 5, now, alone}; !slices.Equal(shared.ceiling.grants, want) {
		t.Errorf("grants %v, want %v", shared.ceiling.grants, want)
	}
	if shared.budget.used != 15 {
		t.Errorf("%d used of the budget, want 15", shared.budget.used)
	}
	if left := shared.machine.pauseUntil.sub(shared.clock.now); left != time.Minute {
		t.Errorf("%v of the pause are left", left)
	}
}

// Where several processes were alone, the first to come back makes room for what the others may have granted. It is
// never the reason for silence that what they did is not known yet.
func TestRoomIsKeptForThoseWhoAreStillAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // grants within the window that all know of
		heard  int // others that have been heard of since
		want   int // permits that may be granted at once
	}{
		{"nothing was granted before: everybody has its part", 0, 0, 10},
		{"a few", 4, 0, 40 - 4 - 3*6},
		{"all had granted more than their part: they could grant nothing", 12, 0, 28},
		{"the others are back", 0, 3, 40},
		{"one of them is", 0, 1, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock, tuning := newFakeClock(), Default()
			var shared Snapshot
			since := shared.advance(clock.now())
			for _, id := range []string{"me", "a", "b", "c"} {
				shared.join(since, id, &tuning)
			}
			for range c.before {
				shared.ceiling.add(since, tuning.CeilingWindow)
			}
			mine, late := leave(&shared, clock.now(), "me", 1), leave(&shared, clock.now(), "c", 2)
			mine.parts, late.parts = 4, 4
			clock.pass(300 * time.Millisecond)
			now := shared.advance(clock.now())
			for _, id := range []string{"a", "b", "c"}[:c.heard] {
				shared.join(now, id, &tuning)
			}
			shared.rejoin(clock.now(), mine, "me")
			if got := tuning.Ceiling - shared.ceiling.within(now, tuning.CeilingWindow); got != c.want {
				t.Errorf("room for %d, want %d", got, c.want)
			}
			clock.pass(tuning.CeilingWindow)
			now = shared.advance(clock.now())
			shared.rejoin(clock.now(), late, "c")
			if got := shared.ceiling.within(now, tuning.CeilingWindow); got != 0 {
				t.Errorf("the same trouble counts twice: %d", got)
			}
		})
	}
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
