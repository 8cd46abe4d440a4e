package filestore_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/internal/shared"
	"github.com/anivault/anivault/ratelimit/machine"
)

// warnings collects what stores warn of.
type warnings struct{ list []*ratelimit.StoreWarning }

func (w *warnings) add(err error) {
	var sw *ratelimit.StoreWarning
	if errors.As(err, &sw) {
		w.list = append(w.list, sw)
	}
}

func (w *warnings) events() string {
	var names []string
	for _, sw := range w.list {
		names = append(names, sw.Event)
	}
	return strings.Join(names, " ")
}

// fakeClock is a clock that the test moves.
type fakeClock struct{ at ratelimit.Instant }

func newFakeClock() *fakeClock {
	return &fakeClock{ratelimit.Instant{Wall: time.Unix(1_700_000_000, 0), Boot: time.Hour, BootID: "b"}}
}

func (c *fakeClock) now() ratelimit.Instant { return c.at }

func (c *fakeClock) pass(d time.Duration) {
	c.at.Wall, c.at.Boot = c.at.Wall.Add(d), c.at.Boot+d
}

type storeUnderTest struct {
	*shared.Store
	backend *filestore.Backend
	t       *testing.T
	clock   *fakeClock
	warned
}

type warned = *warnings

// openTest opens a store on a clock of its own that stands still.
func openTest(t *testing.T, dir string, opts filestore.Options) storeUnderTest {
	t.Helper()
	s := storeUnderTest{t: t, clock: newFakeClock(), warned: &warnings{}}
	if opts.Now == nil {
		opts.Now = s.clock.now
	}
	opts.OnWarning = s.add
	if opts.Patience == 0 {
		opts.Patience = shared.DefaultPatience
	}
	s.backend = filestore.NewBackend(dir, opts.Patience, opts.Now)
	s.Store = shared.New(s.backend, shared.Options{
		Place: filepath.Clean(dir), Processes: opts.Processes, Patience: opts.Patience, Now: opts.Now,
		OnWarning: opts.OnWarning,
	})
	t.Cleanup(func() { s.Close() })
	return s
}

// look returns what the store holds, and in how many parts everything is divided.
func (s storeUnderTest) look() (snap ratelimit.Snapshot, parts int) {
	s.t.Helper()
	err := s.Update(context.Background(), func(now ratelimit.Instant, shared *ratelimit.Snapshot) error {
		shared.AdvanceClock(now)
		snap, parts = shared.Clone(), now.Parts
		return nil
	})
	if err != nil {
		s.t.Fatalf("update: %v", err)
	}
	return snap, parts
}

// mark leaves a mark in the snapshot that marked finds again.
func (s storeUnderTest) mark(n int) {
	s.t.Helper()
	err := s.Update(context.Background(), func(now ratelimit.Instant, shared *ratelimit.Snapshot) error {
		return setMark(now, shared, n)
	})
	if err != nil {
		s.t.Fatalf("update: %v", err)
	}
}

func (s storeUnderTest) marked() int {
	s.t.Helper()
	snap, _ := s.look()
	return markOf(snap)
}

func setMark(at ratelimit.Instant, s *ratelimit.Snapshot, n int) error {
	return s.Override(at, map[string]string{"cacheonly_after": strconv.Itoa(n)}, 0)
}

// markOf returns a mark, 0 for none.
func markOf(s ratelimit.Snapshot) int {
	for _, o := range s.Status(ratelimit.Instant{}, ratelimit.Default(), "").Overrides {
		n, _ := strconv.Atoi(o.Value)
		return n
	}
	return 0
}

// pauseFor lets a 429 delay everybody.
func pauseFor(at ratelimit.Instant, s *ratelimit.Snapshot, d time.Duration) {
	t := ratelimit.Default()
	e := ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: ratelimit.Wait{Duration: d, Present: true}}
	s.Record(at, machine.Report{Owner: "p", Tuning: &t, Event: e})
}

// pauseLeft returns what is left of a pause.
func (s storeUnderTest) pauseLeft() time.Duration {
	s.t.Helper()
	snap, _ := s.look()
	at := s.clock.now()
	if end := snap.Status(at, ratelimit.Default(), "").PauseUntil; !end.IsZero() {
		return end.Sub(at.Wall)
	}
	return 0
}

// silent reports whether nothing is granted now because nobody knows what was.
func (s storeUnderTest) silent() bool {
	s.t.Helper()
	snap, _ := s.look()
	t := ratelimit.Default()
	g := snap.TryGrant(s.clock.now(), machine.Ask{Owner: "p", Tuning: &t, MaxWait: time.Minute})
	return !g.Granted && g.Cause == ratelimit.ReasonCeiling
}

func (s storeUnderTest) wantEvents(want string) {
	s.t.Helper()
	if got := s.events(); got != want {
		s.t.Errorf("warned of %q, want %q", got, want)
	}
}

func corruptFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "ratelimit.state.corrupt-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMissingStateIsFreshWithoutWarning(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a", "b"), filestore.Options{})
	snap, parts := s.look()
	if snap.State() != ratelimit.Normal || parts > 1 || s.silent() {
		t.Errorf("state %v in %d parts, silent %v; want Normal, whole, not silent", snap.State(), parts, s.silent())
	}
	s.wantEvents("")
}

func TestStoresOfOneFolderShareOneState(t *testing.T) {
	dir := t.TempDir()
	a, b := openTest(t, dir, filestore.Options{}), openTest(t, dir, filestore.Options{})
	for n := 1; n < 10; n++ {
		a.mark(2 * n)
		if got := b.marked(); got != 2*n {
			t.Fatalf("b sees %d, want %d", got, 2*n)
		}
		b.mark(2*n + 1)
		if got := a.marked(); got != 2*n+1 {
			t.Fatalf("a sees %d, want %d", got, 2*n+1)
		}
	}
	a.Close()
	b.Close()
	if got := openTest(t, dir, filestore.Options{}).marked(); got != 19 {
		t.Errorf("a later process sees %d, want 19", got)
	}
}

func TestFailedUpdateKeepsNothing(t *testing.T) {
	s := openTest(t, t.TempDir(), filestore.Options{})
	s.mark(7)
	boom := errors.New("boom")
	err := s.Update(context.Background(), func(at ratelimit.Instant, shared *ratelimit.Snapshot) error {
		_ = setMark(at, shared, 8)
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("update = %v, want boom", err)
	}
	if got := s.marked(); got != 7 {
		t.Errorf("kept %d, want 7", got)
	}
}

func TestPanicInUpdateFreesTheLock(t *testing.T) {
	dir := t.TempDir()
	s, other := openTest(t, dir, filestore.Options{}), openTest(t, dir, filestore.Options{})
	s.mark(7)
	func() {
		defer func() { _ = recover() }()
		_ = s.Update(context.Background(), func(at ratelimit.Instant, shared *ratelimit.Snapshot) error {
			_ = setMark(at, shared, 8)
			panic("boom")
		})
	}()
	if got := other.marked(); got != 7 {
		t.Errorf("the other sees %d, want 7", got)
	}
	if got := s.marked(); got != 7 {
		t.Errorf("it sees %d itself, want 7", got)
	}
	other.wantEvents("")
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are lists here")
	}
	base := t.TempDir()
	shared := filepath.Join(base, "shared")
	must(t, os.Mkdir(shared, 0o700))
	must(t, os.Chmod(shared, 0o770|fs.ModeSetgid))
	if fi, err := os.Stat(shared); err != nil || fi.Mode()&fs.ModeSetgid == 0 {
		t.Skip("no setgid here")
	}
	for dir, want := range map[string]fs.FileMode{filepath.Join(base, "own"): 0o600, shared: 0o660} {
		s := openTest(t, dir, filestore.Options{})
		s.mark(1)
		for _, name := range []string{filestore.LockName, filestore.StateName, filestore.AlivePrefix + s.Owner()} {
			fi, err := os.Stat(filepath.Join(dir, name))
			must(t, err)
			if got := fi.Mode().Perm(); got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
	fi, err := os.Stat(filepath.Join(base, "own"))
	must(t, err)
	if got := fi.Mode().Perm(); got != 0o700 {
		t.Errorf("folder: %v, want 0700", got)
	}
}

func TestCancelledUpdateDoesNothing(t *testing.T) {
	s := openTest(t, t.TempDir(), filestore.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.Update(ctx, func(ratelimit.Instant, *ratelimit.Snapshot) error {
		t.Error("called")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("update = %v", err)
	}
}

func TestUpdateWaitingItsTurnCanBeCancelled(t *testing.T) {
	s := openTest(t, t.TempDir(), filestore.Options{})
	s.mark(1)
	entered, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Update(context.Background(), func(ratelimit.Instant, *ratelimit.Snapshot) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	if err := s.Update(ctx, func(ratelimit.Instant, *ratelimit.Snapshot) error { return nil }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("update = %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, filestore.Options{})
	s.mark(1)
	s.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Update(context.Background(), func(ratelimit.Instant,
		*ratelimit.Snapshot,
	) error {
		return nil
	}); !errors.Is(err, ratelimit.ErrStoreClosed) {
		t.Errorf("update = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, filestore.AlivePrefix+s.Owner())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("proof of life: %v", err)
	}
}

func TestFreshProcessIsCarefulWhenTheStateWasDeletedBehindOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be deleted here")
	}
	dir := t.TempDir()
	old := openTest(t, dir, filestore.Options{})
	old.mark(1)
	must(t, os.Remove(filepath.Join(dir, filestore.StateName)))
	fresh := openTest(t, dir, filestore.Options{})
	if snap, _ := fresh.look(); snap.State() != ratelimit.Normal || !fresh.silent() {
		t.Errorf("%v, silent %v; want Normal that grants nothing yet", snap.State(), fresh.silent())
	}
	fresh.wantEvents("")
}

// A fresh process pays for what an earlier one has used: the wall clock and the name of
// the boot decide what is carried over, not the process.
func TestBlockOutlivesTheBoot(t *testing.T) {
	dir := t.TempDir()
	before := openTest(t, dir, filestore.Options{})
	err := before.Update(context.Background(), func(now ratelimit.Instant, s *ratelimit.Snapshot) error {
		tu := ratelimit.Default()
		s.TryGrant(now, machine.Ask{Owner: "p", Tuning: &tu, Lease: time.Hour})
		pauseFor(now, s, 10*time.Minute)
		return nil
	})
	must(t, err)
	before.Close()
	after := openTest(t, dir, filestore.Options{})
	after.clock.at.Wall = after.clock.at.Wall.Add(time.Minute)
	after.clock.at.Boot, after.clock.at.BootID = 20*time.Second, "another"
	snap, _ := after.look()
	if left := after.pauseLeft(); left != 9*time.Minute {
		t.Errorf("%v of the pause are left, want 9m", left)
	}
	if n := snap.Status(after.clock.now(), ratelimit.Default(), "").Running; n != 0 {
		t.Errorf("%d leases outlived the boot", n)
	}
}
