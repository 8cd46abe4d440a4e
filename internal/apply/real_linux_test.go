package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
)

// realTree says what there is below a folder: names, modes, times, inodes of files and contents.
func realTree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(d.Name(), ".fuse_hidden") {
			return nil
		} else if err != nil {
			return err
		}
		line := fmt.Sprint(strings.TrimPrefix(p, root), " ", info.Mode(), " ", info.ModTime().UnixNano())
		if d.Type().IsRegular() {
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += " " + string(text)
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// realPlan writes the files of a folder, and a plan of "a > b" and "a = b".
func realPlan(t *testing.T, root, target string, rows ...string) *organize.Plan {
	t.Helper()
	p := &organize.Plan{ID: NewID(time.Now()), Created: time.Now().UTC(), Mode: organize.ModeMove, Layout: "jellyfin"}
	for i, dir := range []string{"src", target} {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		place, err := disk.RootOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			p.Sources = append(p.Sources, place.Root)
		} else {
			p.Targets = append(p.Targets, place.Root)
		}
	}
	for i, row := range rows {
		f := strings.Fields(row)
		file := filepath.Join(root, "src", f[0])
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("content of "+f[0]), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Now(), time.Unix(1_500_000_000+int64(i), 123456789)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range rows {
		f := strings.Fields(row)
		dir, err := System{}.Open(filepath.Join(p.Sources[0].Path, filepath.Dir(f[0])))
		if err != nil {
			t.Fatal(err)
		}
		info, err := dir.Lstat(filepath.Base(f[0]))
		dir.Close()
		if err != nil {
			t.Fatal(err)
		}
		op := organize.Op{
			Verb:   organize.VerbMove,
			Size:   info.Size,
			MTime:  info.MTime,
			Inode:  info.Inode,
			Source: f[0],
			To:     f[2],
		}
		switch f[1] {
		case "=":
			op.Verb = organize.VerbLink
		case ":":
			op.Verb = organize.VerbCopy
		case "~":
			op.Verb = organize.VerbReflink
		case "@":
			op.Verb = organize.VerbSymlink
		}
		p.Units = append(p.Units, organize.Unit{Dir: ".", Ops: []organize.Op{op}})
	}
	return p
}

func realEngine(t *testing.T) *Engine {
	t.Helper()
	dir, err := System{}.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return &Engine{System: System{}, Journals: dir, Now: time.Now, InheritOwner: os.Geteuid() == 0}
}

// On this machine's own file systems a run gives the planned names, and undo the tree before, in names, bytes, modes
// and times.
func TestOnRealFileSystems(t *testing.T) {
	for _, base := range []string{os.TempDir(), "/dev/shm"} {
		for name, row := range map[string]struct {
			target string
			rows   []string
			want   string // the files below target afterwards
		}{
			"hard links": {
				"lib",
				[]string{"a/1.mkv = S/1.mkv", "a/2.mkv = S/2.mkv"},
				"S/1.mkv=a/1.mkv S/2.mkv=a/2.mkv",
			},
			"moves": {
				"lib",
				[]string{"a/1.mkv > S/1.mkv", "a/b/2.mkv > S/2.mkv"},
				"S/1.mkv=a/1.mkv S/2.mkv=a/b/2.mkv",
			},
			"a cycle":                      {"src", []string{"1 > 2", "2 > 3", "3 > 1"}, "1=3 2=1 3=2"},
			"a case":                       {"src", []string{"a.mkv > A.mkv"}, "A.mkv=a.mkv"},
			"a file that becomes a folder": {"src", []string{"x > a/1", "a > b"}, "a/1=x b=a"},
		} {
			t.Run(base+" "+name, func(t *testing.T) {
				if _, err := os.Stat(base); err != nil {
					t.Skip("there is no " + base)
				}
				root, err := os.MkdirTemp(base, "anivault-test-")
				if err != nil {
					t.Skip(err)
				}
				defer os.RemoveAll(root)
				p := realPlan(t, root, row.target, row.rows...)
				before := realTree(t, root)
				e := realEngine(t)
				out, err := e.Apply(context.Background(), p, Options{})
				if err != nil || out.Unfinished || out.Count(StatusDone) != len(row.rows) {
					t.Fatalf("%+v %v", out, err)
				}
				var got []string
				for _, line := range realTree(t, filepath.Join(root, row.target)) {
					if name, content, file := strings.Cut(line, " content of "); file {
						name, _, _ = strings.Cut(name, " ")
						got = append(got, name[1:]+"="+content)
					}
				}
				if diff := cmp.Diff(row.want, strings.Join(got, " ")); diff != "" {
					t.Error(diff)
				}
				out, err = e.Undo(context.Background(), p.ID, UndoOptions{})
				if err != nil || out.Count(StatusUndone) != len(row.rows) {
					t.Fatalf("%+v %v", out, err)
				}
				if diff := cmp.Diff(before, realTree(t, root)); diff != "" {
					t.Error(diff)
				}
				// The same plan can be carried out again.
				if out, err = e.Apply(context.Background(), p, Options{}); err != nil || out.Run == p.ID ||
					out.Count(StatusDone) != len(row.rows) {
					t.Errorf("%+v %v", out, err)
				}
			})
		}
	}
}

// Between two real file systems a move is a copy that was read back, and undo brings the file home as it was.
func TestBetweenRealFileSystems(t *testing.T) {
	root, err := os.MkdirTemp("", "anivault-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	far, err := os.MkdirTemp("/dev/shm", "anivault-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(far)
	p := realPlan(t, root, far, "a/1.mkv > S/1.mkv", "a/2.mkv : S/2.mkv", "3.mkv @ S/3.mkv")
	if near, err := (System{}).Open(root); err != nil {
		t.Fatal(err)
	} else if other, err := (System{}).Open(far); err != nil {
		t.Fatal(err)
	} else if a, _ := near.Stat(); true {
		b, _ := other.Stat()
		near.Close()
		other.Close()
		if a.Device == b.Device {
			t.Skip("there is only one file system here")
		}
	}
	before := append(realTree(t, root), realTree(t, far)...)
	e := realEngine(t)
	out, err := e.Apply(context.Background(), p, Options{})
	if err != nil || out.Unfinished || out.Count(StatusDone) != 3 {
		t.Fatalf("%+v %v", out, err)
	}
	for name, want := range map[string]string{"1.mkv": "a/1.mkv", "2.mkv": "a/2.mkv", "3.mkv": "3.mkv"} {
		text, err := os.ReadFile(filepath.Join(far, "S", name))
		info, _ := os.Stat(filepath.Join(far, "S", name))
		if err != nil || string(text) != "content of "+want || info.Mode().Perm() != 0o640 ||
			info.ModTime().Nanosecond() != 123456789 {
			t.Errorf("%s: %q %v %v", name, text, info, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "src", "a", "1.mkv")); err == nil {
		t.Error("the source of a move is still there")
	}
	verified, err := e.Verify(context.Background(), p.ID, true)
	if err != nil || verified.Count(StatusOK) != 3 {
		t.Errorf("%+v %v", verified, err)
	}
	if out, err = e.Undo(context.Background(), p.ID, UndoOptions{}); err != nil || out.Count(StatusUndone) != 3 {
		t.Fatalf("%+v %v", out, err)
	}
	if diff := cmp.Diff(before, append(realTree(t, root), realTree(t, far)...)); diff != "" {
		t.Error(diff)
	}
}

// Several workers check the sources, and each finds the files of its part that have changed.
func TestSeveralWorkersCheckTheSources(t *testing.T) {
	root := t.TempDir()
	rows := make([]string, 200)
	for i := range rows {
		rows[i] = fmt.Sprintf("d%d/%d.mkv = S/%d.mkv", i/10, i, i)
	}
	p := realPlan(t, root, "lib", rows...)
	for _, n := range []int{0, 66, 199} {
		if err := os.WriteFile(filepath.Join(root, "src", fmt.Sprintf("d%d/%d.mkv", n/10, n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := realEngine(t)
	e.Workers = 3
	out, err := e.Apply(context.Background(), p, Options{Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	var changed []int
	for _, r := range out.Results {
		if r.Problem != nil && r.Problem.Code == CodeChanged {
			changed = append(changed, r.N-1)
		}
	}
	if diff := cmp.Diff([]int{0, 66, 199}, changed); diff != "" || out.Count(StatusDone) != 197 {
		t.Errorf("%d done, changed (-want +got): %s", out.Count(StatusDone), diff)
	}
}

// A copy that can't have the owner of its source, as on a network share or in a container that does not know the user,
// is made anyway, and is reported to lack something.
func TestAnOwnerThatCantBeKept(t *testing.T) {
	runtime.LockOSThread() // the user for file systems is the thread's
	defer runtime.UnlockOSThread()
	const nobody = 65534
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	d, err := System{}.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if before, err := unix.SetfsuidRetUid(nobody); err != nil {
		t.Fatal(err)
	} else {
		defer unix.SetfsuidRetUid(before)
	}
	from, err1 := d.Create("from")
	to, err2 := d.Create("to")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	whole, err := to.CopyMetadata(from, Info{UID: 0, GID: 0, Mode: 0o4644, MTime: organize.Stamp{Sec: 1}}, true)
	after, err2 := to.Stat()
	if err != nil || err2 != nil || whole || after.Mode != 0o644 || after.MTime.Sec != 1 {
		t.Errorf("whole: %v, %+v %v %v", whole, after, err, err2)
	}
}
