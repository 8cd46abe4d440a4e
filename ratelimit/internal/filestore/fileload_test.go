package filestore_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

func TestDamagedStateIsSetAsideAndReplacedCarefully(t *testing.T) {
	garbage := map[string]func(t *testing.T, path string){
		"emptied":   func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		"truncated": func(t *testing.T, path string) { must(t, os.Truncate(path, filestore.FrameHeader+1)) },
		"garbled": func(t *testing.T, path string) {
			must(t, os.WriteFile(path, bytes.Repeat([]byte("garbage"), 50_000), 0o600))
		},
		"framed garbage": func(t *testing.T, path string) {
			b, err := filestore.FirstFile(1, []byte{core.SnapshotVersion, 0xff, 0xff})
			must(t, err)
			must(t, os.WriteFile(path, b, 0o600))
		},
		"a folder": func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.MkdirAll(filepath.Join(path, "x"), 0o700))
		},
		"a symbolic link": func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".elsewhere"))
			if err := os.Symlink(path+".elsewhere", path); err != nil {
				t.Skip(err)
			}
		},
	}
	for name, damage := range garbage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, filestore.StateName)
			old := openTest(t, dir, filestore.Options{})
			old.mark(7)
			old.Close()
			damage(t, path)
			s, other := openTest(t, dir, filestore.Options{}), openTest(t, dir, filestore.Options{})
			snap, parts := s.look()
			if snap.State() != ratelimit.Throttle || parts > 1 || !s.silent() {
				t.Errorf("state %v in %d parts, silent %v; want Throttle, whole, silent", snap.State(), parts, s.silent())
			}
			if n := snap.Status(s.clock.now(), ratelimit.Default(), "").Tokens; n >= 1 {
				t.Errorf("%v tokens in the bucket", n)
			}
			if found := corruptFiles(t, dir); len(found) != 1 {
				t.Errorf("set aside %q, want one", found)
			}
			if got, _ := other.look(); got.State() != ratelimit.Throttle {
				t.Errorf("the other is in %v", got.State())
			}
			s.look()
			s.wantEvents("state_corrupt")
			other.wantEvents("")
			if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
				t.Errorf("state file afterwards: %v %v", fi, err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamageWhileRunningIsSetAsideOnceByAll(t *testing.T) {
	dir := t.TempDir()
	a, b := openTest(t, dir, filestore.Options{}), openTest(t, dir, filestore.Options{})
	a.mark(7)
	b.mark(8)
	b.mark(8) // so it has looked at the state's path just now
	must(t, os.WriteFile(filepath.Join(dir, filestore.StateName), []byte("garbage"), 0o600))
	a.mark(9)
	if got := b.marked(); got != 9 {
		t.Errorf("b sees %d, want 9", got)
	}
	a.wantEvents("state_corrupt")
	b.wantEvents("")
	if found := corruptFiles(t, dir); len(found) != 1 {
		t.Errorf("set aside %q, want one", found)
	}
}

func TestDamageIsNotForgottenWhenNothingCanBePutInItsPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, filestore.StateName)
	must(t, os.WriteFile(path, []byte("garbage"), 0o600))
	must(t, os.MkdirAll(filepath.Join(path+".new", "in the way"), 0o700))
	s := openTest(t, dir, filestore.Options{})
	if snap, _ := s.look(); snap.State() != ratelimit.Throttle {
		t.Errorf("alone in %v, want Throttle", snap.State())
	}
	if snap, parts := s.look(); snap.State() != ratelimit.Throttle || parts != 2 {
		t.Errorf("%v in %d parts, want Throttle, 2: alone", snap.State(), parts)
	}
	must(t, os.RemoveAll(path+".new"))
	s.clock.pass(shared.RetryEvery)
	if snap, parts := s.look(); snap.State() != ratelimit.Throttle || parts > 1 {
		t.Errorf("%v in %d parts, want Throttle, whole", snap.State(), parts)
	}
	s.wantEvents("state_unavailable state_corrupt")
}

func TestOnlyTheNewestDamagedStatesAreKept(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, filestore.Options{})
	for range 2 * filestore.KeepCorrupt {
		s.look()
		must(t, os.Truncate(filepath.Join(dir, filestore.StateName), 0))
		s.clock.pass(2 * time.Minute)
	}
	s.look()
	if found := corruptFiles(t, dir); len(found) != filestore.KeepCorrupt {
		t.Errorf("kept %d, want %d", len(found), filestore.KeepCorrupt)
	}
}

func TestStateOfANewerVersionIsLeftUntouched(t *testing.T) {
	newerFrame, err := filestore.FirstFile(1, nil)
	must(t, err)
	binary.LittleEndian.PutUint32(newerFrame[8:], filestore.FrameVersion+1)
	binary.LittleEndian.PutUint32(newerFrame[12:], crc32.Checksum(newerFrame[:12], filestore.Castagnoli))
	newerSnapshot, err := filestore.FirstFile(1, binary.AppendUvarint(nil, core.SnapshotVersion+1))
	must(t, err)
	for name, content := range map[string][]byte{"frame": newerFrame, "snapshot": newerSnapshot} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, filestore.StateName)
			must(t, os.WriteFile(path, content, 0o600))
			s := openTest(t, dir, filestore.Options{})
			s.mark(5)
			snap, parts := s.look()
			if snap.State() != ratelimit.Normal || parts != 2 || markOf(snap) != 5 {
				t.Errorf("%v in %d parts, mark %d; want Normal, 2, 5", snap.State(), parts, markOf(snap))
			}
			s.clock.pass(2 * shared.RetryEvery)
			s.look()
			s.wantEvents("state_newer")
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
				t.Errorf("the file was touched: %v", err)
			}
		})
	}
}

func TestUnusableFolderMeansMemoryAndAPart(t *testing.T) {
	base := t.TempDir()
	blocker := filepath.Join(base, "file")
	must(t, os.WriteFile(blocker, nil, 0o600))
	locked := filepath.Join(base, "locked")
	must(t, os.MkdirAll(filepath.Join(locked, filestore.LockName), 0o700))
	for name, c := range map[string]struct{ dir, obstacle string }{
		"below a file": {filepath.Join(blocker, "dir"), blocker},
		"no lock file": {locked, filepath.Join(locked, filestore.LockName)},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, c.dir, filestore.Options{Processes: 3})
			s.mark(5)
			s.wantEvents("state_unavailable")
			if snap, parts := s.look(); parts != 3 || markOf(snap) != 5 || snap.State() != ratelimit.Normal {
				t.Errorf("%v in %d parts, mark %d", snap.State(), parts, markOf(snap))
			}
			// Once it can be used, it is.
			must(t, os.Remove(c.obstacle))
			s.clock.pass(shared.RetryEvery)
			if _, parts := s.look(); parts > 1 {
				t.Errorf("still alone in %d parts", parts)
			}
			s.wantEvents("state_unavailable")
		})
	}
	if _, err := filestore.Open("", filestore.Options{}); err == nil {
		t.Error("opened a store nowhere")
	}
}

func TestDeletedWhileRunningKeepsWhatWasKnown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be deleted here")
	}
	for name, remove := range map[string]func(dir string) error{
		"state":  func(dir string) error { return os.Remove(filepath.Join(dir, filestore.StateName)) },
		"lock":   func(dir string) error { return os.Remove(filepath.Join(dir, filestore.LockName)) },
		"folder": os.RemoveAll,
		"moved":  func(dir string) error { return os.Rename(dir, dir+"-moved") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			a, b := openTest(t, dir, filestore.Options{}), openTest(t, dir, filestore.Options{})
			a.mark(7)
			b.mark(8)
			must(t, remove(dir))
			time.Sleep(20 * time.Millisecond) // by then a new look at the paths is due
			a.clock.pass(shared.RetryEvery)
			b.clock.pass(shared.RetryEvery)
			if got := b.marked(); got != 8 {
				t.Errorf("b sees %d, want 8", got)
			}
			if name != "lock" {
				if !b.silent() {
					t.Error("b grants as if nobody else could have")
				}
			}
			b.mark(9)
			if got := a.marked(); got != 9 {
				t.Errorf("a sees %d, want 9", got)
			}
			if _, err := os.Stat(filepath.Join(dir, filestore.LockName)); err != nil {
				t.Error(err)
			}
			if dead := a.Dead([]string{b.Owner()}); len(dead) != 0 {
				t.Error("a takes b for dead")
			}
			a.wantEvents("")
			b.wantEvents("")
		})
	}
}

func TestUpdateOfARemovedStateHappensOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be deleted here")
	}
	dir := t.TempDir()
	s := openTest(t, dir, filestore.Options{})
	for n := 1; n <= 3; n++ {
		err := s.Update(t.Context(), func(at ratelimit.Instant, shared *ratelimit.Snapshot) error {
			return setMark(at, shared, markOf(shared.Clone())+1)
		})
		must(t, err)
		if got := s.marked(); got != n {
			t.Fatalf("marked %d, want %d", got, n)
		}
		must(t, os.Remove(filepath.Join(dir, filestore.StateName)))
	}
}
