package lockfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const long = time.Minute // no test waits for so long

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hold takes the lock of path with an open file of its own, as another process would.
func hold(t *testing.T, path string, kind Kind) (release func()) {
	t.Helper()
	f, err := openLockFile(path, os.O_CREATE, 0o600)
	must(t, err)
	must(t, waitLockFile(f.File, kind))
	t.Cleanup(func() { f.Close() })
	return func() { f.Close() }
}

// eventually waits for something that the kernel tells another goroutine, which is no event here.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestKindsExcludeEachOther(t *testing.T) {
	for _, c := range []struct {
		name        string
		held, asked Kind
		want        error
	}{
		{"exclusive beside exclusive", Exclusive, Exclusive, ErrBusy},
		{"shared beside exclusive", Exclusive, Shared, ErrBusy},
		{"exclusive beside shared", Shared, Exclusive, ErrBusy},
		{"shared beside shared", Shared, Shared, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			hold(t, path, c.held)
			l := New(path, Options{})
			if err := l.Lock(t.Context(), c.asked, 0); !errors.Is(err, c.want) {
				t.Errorf("lock = %v, want %v", err, c.want)
			}
		})
	}
}

func TestGoroutinesOfOneProcessTakeTurns(t *testing.T) {
	for name, opts := range map[string]Options{"kept open": {}, "removed": {RemoveOnUnlock: true}} {
		t.Run(name, func(t *testing.T) {
			l := New(filepath.Join(t.TempDir(), "lock"), opts)
			defer l.Close()
			inside, sum := 0, 0
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 50 {
						if err := l.Lock(t.Context(), Exclusive, long); err != nil {
							t.Error(err)
							return
						}
						if inside++; inside > 1 {
							t.Error("two are inside")
						}
						sum++
						inside--
						l.Unlock()
					}
				})
			}
			wg.Wait()
			if sum != 400 {
				t.Errorf("%d turns, want 400", sum)
			}
		})
	}
}

func TestAHolderOfThisProcessIsWaitedForBeyondPatience(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "lock"), Options{})
	must(t, l.Lock(t.Context(), Exclusive, 0))
	got := make(chan error)
	go func() { got <- l.Lock(t.Context(), Exclusive, time.Millisecond) }()
	select {
	case err := <-got:
		t.Fatalf("lock = %v while another goroutine holds it", err)
	case <-time.After(20 * time.Millisecond):
	}
	l.Unlock()
	if err := <-got; err != nil {
		t.Errorf("lock = %v", err)
	}
}

func TestPatienceEndsOnceForAStoppedHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release := hold(t, path, Exclusive)
	l := New(path, Options{})
	if err := l.Lock(t.Context(), Exclusive, time.Millisecond); !errors.Is(err, ErrBusy) {
		t.Fatalf("lock = %v, want busy", err)
	}
	for range 3 { // would each wait for a minute
		if err := l.Lock(t.Context(), Exclusive, long); !errors.Is(err, ErrBusy) {
			t.Fatalf("lock = %v, want busy", err)
		}
	}
	release()
	eventually(t, "the wait that was left behind ends", func() bool { return !l.isWaiting() })
	must(t, l.Lock(t.Context(), Exclusive, long))
	l.Unlock()
	hold(t, path, Exclusive)() // nobody else holds it
}

// A lock that goes from hand to hand is not held by a stopped process, however long one waits for it.
func TestPatienceBeginsAnewWhileTheLockIsUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release := hold(t, path, Exclusive)
	looks := make(chan time.Time)
	l := New(path, Options{LastUse: func() time.Time { return <-looks }})
	got := make(chan error)
	go func() { got <- l.Lock(t.Context(), Exclusive, 10*time.Millisecond) }()
	for i := range 6 { // takes its turn, waits in the kernel, and four times it loses patience
		looks <- time.Unix(int64(i), 0)
	}
	select {
	case err := <-got:
		t.Fatalf("lock = %v while it is used", err)
	default:
	}
	go func() {
		for {
			select {
			case looks <- time.Unix(6, 0):
			case <-t.Context().Done():
				return
			}
		}
	}()
	release()
	if err := <-got; err != nil {
		t.Fatalf("lock = %v", err)
	}
	l.Unlock()
}

// Only the time in which this process ran as it should is evidence against the holder.
func TestPatienceCountsStepsThatEndInTime(t *testing.T) {
	const patience = 250 * time.Millisecond
	for _, c := range []struct {
		name       string
		late       []time.Duration // how late the steps end; the last one stands for all further ones
		used       int             // the step in which the holder uses the lock; 0: none
		from, most time.Duration
	}{
		{"an idle machine", []time.Duration{0}, 0, patience, patience},
		{"a little late", []time.Duration{10 * time.Millisecond}, 0, patience, 2 * patience},
		{"too busy to run in time", []time.Duration{20 * time.Millisecond}, 0, 10 * patience, 11 * patience},
		{
			"busy for a while",
			[]time.Duration{50 * time.Millisecond, 50 * time.Millisecond, 0},
			0,
			400 * time.Millisecond, 2 * patience,
		},
		{"suspended", []time.Duration{0, 0, time.Hour, 0}, 0, time.Hour + patience, time.Hour + 2*patience},
		{"used", []time.Duration{0}, 8, 400 * time.Millisecond, 2 * patience},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				step, began := 0, time.Now()
				l := New("lock", Options{LastUse: func() time.Time {
					if c.used > 0 && step >= c.used {
						return began
					}
					return time.Time{}
				}})
				p := l.newPatienceTimer(patience)
				for expired := false; !expired; expired = p.expired() {
					<-p.timer.C
					time.Sleep(c.late[min(step, len(c.late)-1)])
					step++
				}
				p.timer.Stop()
				if took := time.Since(began); took < c.from || took > c.most {
					t.Errorf("the patience lasted %s, want %s to %s", took, c.from, c.most)
				}
			})
		})
	}
}

func TestCancelledWaitIsTakenOver(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second Kind
	}{{"by the same kind", Exclusive, Exclusive}, {"by the other kind", Shared, Exclusive}} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			release := hold(t, path, Exclusive)
			l := New(path, Options{})
			ctx, cancel := context.WithCancel(t.Context())
			cancelled := make(chan error, 1)
			go func() { cancelled <- l.Lock(ctx, c.first, long) }()
			eventually(t, "it waits in the kernel", l.isWaiting)
			cancel()
			if err := <-cancelled; !errors.Is(err, context.Canceled) {
				t.Fatalf("lock = %v, want canceled", err)
			}
			if !l.isWaiting() {
				t.Fatal("nobody waits in the kernel")
			}
			time.AfterFunc(5*time.Millisecond, release)
			must(t, l.Lock(t.Context(), c.second, long))
			if l.isWaiting() {
				t.Error("somebody still waits in the kernel")
			}
			other := New(path, Options{})
			if err := other.Lock(t.Context(), Shared, 0); !errors.Is(err, ErrBusy) {
				t.Errorf("another gets it, too: %v", err)
			}
			l.Unlock()
			must(t, other.Lock(t.Context(), Shared, long))
		})
	}
}

func TestCancelledLockTakesNothing(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "lock"), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Lock(ctx, Exclusive, long); !errors.Is(err, context.Canceled) {
		t.Errorf("lock = %v", err)
	}
	must(t, l.Lock(t.Context(), Exclusive, 0))
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := l.Lock(ctx, Exclusive, long); !errors.Is(err, context.Canceled) {
		t.Errorf("lock behind a goroutine = %v", err)
	}
}

func TestClosedLockLetsGoOfAWaitLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release := hold(t, path, Exclusive)
	l := New(path, Options{})
	if err := l.Lock(t.Context(), Exclusive, time.Millisecond); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	l.Close()
	l.Close()
	if err := l.Lock(t.Context(), Exclusive, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("lock of a closed one = %v", err)
	}
	release()
	eventually(t, "the wait ends", func() bool { return !l.isWaiting() })
	must(t, New(path, Options{}).Lock(t.Context(), Exclusive, 0))
}

func TestRemovedLockFileIsMadeAgain(t *testing.T) {
	if !canRenameLocked {
		t.Skip("an open file can't be removed here")
	}
	path := filepath.Join(t.TempDir(), "lock")
	l, other := New(path, Options{}), New(path, Options{})
	must(t, l.Lock(t.Context(), Exclusive, 0))
	l.Unlock()
	must(t, os.Remove(path))
	must(t, l.Lock(t.Context(), Exclusive, 0)) // must not be the lock of a file that nobody else finds
	if err := other.Lock(t.Context(), Exclusive, 0); !errors.Is(err, ErrBusy) {
		t.Errorf("lock = %v, want busy", err)
	}
}

func TestReadOnlyLockFileCanBeLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	must(t, os.WriteFile(path, nil, 0o400))
	release, err := Acquire(t.Context(), path, Shared, 0)
	must(t, err)
	defer release()
	if _, err := Acquire(t.Context(), path, Exclusive, 0); !errors.Is(err, ErrBusy) {
		t.Errorf("lock = %v, want busy", err)
	}
}

func TestAliveFileTellsTheLivingFromTheDead(t *testing.T) {
	dir := t.TempDir()
	a := NewLivenessFile(filepath.Join(dir, "alive-a"), 0o600)
	must(t, a.Ensure())
	must(t, a.Ensure())
	left := filepath.Join(dir, "alive-left")
	must(t, os.WriteFile(left, nil, 0o600))
	for path, want := range map[string]bool{
		a.path: true, left: false, filepath.Join(dir, "alive-never"): false,
		dir: false,
	} {
		if got := IsOwnerAlive(path); got != want {
			t.Errorf("%s lives: %t, want %t", filepath.Base(path), got, want)
		}
	}
	if _, err := takeOver(a.path); !errors.Is(err, ErrBusy) {
		t.Errorf("take over the living = %v", err)
	}
	if _, err := takeOver(filepath.Join(dir, "alive-never")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("take over nobody = %v", err)
	}
	dead, err := takeOver(left)
	must(t, err)
	if _, err := takeOver(left); !errors.Is(err, ErrBusy) {
		t.Errorf("two take over = %v", err)
	}
	dead.Close()
	a.Close()
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestRemovedAliveFileIsMadeAgain(t *testing.T) {
	if !canRenameLocked {
		t.Skip("an open file can't be removed here")
	}
	a := NewLivenessFile(filepath.Join(t.TempDir(), "alive-a"), 0o600)
	must(t, a.Ensure())
	must(t, os.Remove(a.path))
	if IsOwnerAlive(a.path) {
		t.Error("lives without a file")
	}
	must(t, a.Ensure())
	if !IsOwnerAlive(a.path) {
		t.Error("dead after the file was made again")
	}
	a.Close()
}

func TestFoldersAndLinksAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	must(t, os.WriteFile(file, []byte("text"), 0o600))
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if f, err := Open(link, os.O_RDONLY, 0); err != nil || !f.IsAtPath() {
		t.Errorf("a link is not followed: %v", err)
	}
	wantNotRegular(t, "a folder", func() error { _, err := Open(dir, os.O_RDONLY, 0); return err })
	wantNotRegular(t, "a symbolic link", func() error { _, err := OpenNoFollow(link, os.O_RDONLY, 0); return err })
	wantNotRegular(t, "a symbolic link", func() error { return New(link, Options{}).Lock(t.Context(), Exclusive, 0) })
}

func wantNotRegular(t *testing.T, kind string, open func() error) {
	t.Helper()
	var notRegular *NotRegularError
	if err := open(); !errors.As(err, &notRegular) || notRegular.Kind() != kind {
		t.Errorf("%v, want %s", err, kind)
	}
}

func TestCreatedFileGetsTheGroupsBits(t *testing.T) {
	if !canRenameLocked {
		t.Skip("permissions are lists here")
	}
	path := filepath.Join(t.TempDir(), "file")
	f, err := Open(path, os.O_RDWR|os.O_CREATE, 0o660)
	must(t, err)
	defer f.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v; want 0660", info.Mode(), err)
	}
}

// The tests below use real processes: the test binary runs itself with childRole set.

const childRole, childPath = "LOCKFILE_TEST_ROLE", "LOCKFILE_TEST_PATH"

func TestMain(m *testing.M) {
	path := os.Getenv(childPath)
	switch os.Getenv(childRole) {
	case "lock":
		if _, err := Acquire(context.Background(), path, Exclusive, long); err != nil {
			panic(err)
		}
	case "alive":
		if err := NewLivenessFile(path, 0o600).Ensure(); err != nil {
			panic(err)
		}
	default:
		os.Exit(m.Run())
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startChild starts a process that holds path until it is killed.
func startChild(t *testing.T, role, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childPath+"="+path)
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { kill(cmd) })
	if line := bufio.NewScanner(out); !line.Scan() || line.Text() != "ready" {
		t.Fatalf("the child says %q", line.Text())
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func TestKilledProcessHoldsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	child := startChild(t, "lock", path)
	l := New(path, Options{})
	if err := l.Lock(t.Context(), Exclusive, 0); !errors.Is(err, ErrBusy) {
		t.Fatalf("lock = %v, want busy", err)
	}
	time.AfterFunc(5*time.Millisecond, func() { _ = child.Process.Kill() })
	must(t, l.Lock(t.Context(), Exclusive, long)) // the kernel wakes it
}

func TestKilledProcessIsDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alive-child")
	child := startChild(t, "alive", path)
	if !IsOwnerAlive(path) {
		t.Error("dead while it runs")
	}
	kill(child)
	if IsOwnerAlive(path) {
		t.Error("lives after it was killed")
	}
	dead, err := takeOver(path)
	must(t, err)
	dead.Close()
}
