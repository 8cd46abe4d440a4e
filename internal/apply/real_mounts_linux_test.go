package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
)

// realKinds are the file systems between which everything is tried, and how an image of each is made and mounted;
// "IMAGE" and "DIR" stand for where.
var realKinds = []struct {
	name        string
	megabytes   int64 // of the image, which is sparse; 0: there is none
	make, mount []string
	clones      bool
}{
	{"ext4", 64, []string{"mkfs.ext4", "-q", "IMAGE"}, []string{"mount", "-o", "loop", "IMAGE", "DIR"}, false},
	{"tmpfs", 0, nil, []string{"mount", "-t", "tmpfs", "none", "DIR"}, false},
	{"btrfs", 160, []string{"mkfs.btrfs", "-q", "IMAGE"}, []string{"mount", "-o", "loop", "IMAGE", "DIR"}, true},
	{"xfs", 320, []string{"mkfs.xfs", "-q", "IMAGE"}, []string{"mount", "-o", "loop", "IMAGE", "DIR"}, true},
	{"fuse", 64, []string{"mkfs.ext4", "-q", "IMAGE"}, []string{"fuse2fs", "IMAGE", "DIR"}, false},
}

// realMounts mounts one of each kind and returns their folders; it reports and skips those that can't be mounted here.
func realMounts(t *testing.T) map[string]string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount file systems: between ext4, tmpfs, btrfs, XFS and FUSE nothing was tried")
	}
	out := map[string]string{}
	for _, kind := range realKinds {
		dir, image := filepath.Join(t.TempDir(), kind.name), filepath.Join(t.TempDir(), "image")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if kind.megabytes > 0 {
			if err := os.WriteFile(image, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(image, kind.megabytes<<20); err != nil {
				t.Fatal(err)
			}
		}
		failed := false
		for _, words := range [][]string{kind.make, kind.mount} {
			if len(words) == 0 || failed {
				continue
			}
			var said bytes.Buffer
			cmd := exec.Command(words[0], words[1:]...)
			for i, word := range cmd.Args {
				cmd.Args[i] = strings.NewReplacer("IMAGE", image, "DIR", dir).Replace(word)
			}
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Run(); err != nil {
				t.Logf("%s is not tried: %s: %v %s", kind.name, words[0], err, strings.TrimSpace(said.String()))
				failed = true
			}
		}
		if failed {
			continue
		}
		t.Cleanup(func() { unmount(t, dir) })
		out[kind.name] = dir
	}
	if len(out) < 2 {
		t.Skip("fewer than two file systems can be mounted here")
	}
	return out
}

// unmount waits for what still holds the file system, as the server of one does.
func unmount(t *testing.T, dir string) {
	for range 50 {
		err := syscall.Unmount(dir, 0)
		if err == nil {
			return
		}
		if !errors.Is(err, syscall.EBUSY) {
			t.Errorf("unmount %s: %v", dir, err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
		t.Errorf("unmount %s: %v", dir, err)
	}
}

// Between each two of the file systems that this machine can mount every mode gives the planned names, or is refused
// with the reason, verify finds everything in place, and undo gives the tree before, in names, bytes, modes and times.
func TestEveryModeBetweenMountedFileSystems(t *testing.T) {
	mounts := realMounts(t)
	for _, from := range realKinds {
		for _, to := range realKinds {
			if mounts[from.name] == "" || mounts[to.name] == "" {
				continue
			}
			for _, row := range []struct {
				mode, sign string
				within     organize.Code // why it is refused in one file system
				between    organize.Code // and between two
			}{
				{"hardlink", "=", "", organize.CodeCrossDevice},
				{"move", ">", "", ""},
				{"symlink", "@", "", ""},
				{"copy", ":", "", ""},
				{"reflink", "~", organize.CodeNoReflink, organize.CodeCrossDevice},
			} {
				t.Run(from.name+" to "+to.name+" "+row.mode, func(t *testing.T) {
					want := row.between
					if from.name == to.name {
						want = row.within
						if from.clones {
							want = ""
						}
					}
					tryMode(t, mounts[from.name], mounts[to.name], row.sign, want)
				})
			}
		}
	}
}

// Two mounts of one file system, such as two volumes of a container, are like two file systems: no link goes from one
// to the other, and a move is a copy.
func TestEveryModeBetweenTwoMountsOfOneFileSystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount folders: two mounts of one file system were not tried")
	}
	from, real, mounted := t.TempDir(), t.TempDir(), t.TempDir()
	if err := syscall.Mount(real, mounted, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("a folder can't be mounted here: ", err)
	}
	t.Cleanup(func() { unmount(t, mounted) })
	for sign, want := range map[string]organize.Code{"=": organize.CodeCrossDevice, ">": "", "@": "", ":": ""} {
		t.Run(sign, func(t *testing.T) { tryMode(t, from, mounted, sign, want) })
	}
}

// Files and folders that a container's image has keep their inodes, but not their birth times, when they are first
// changed: they are carried out, found in place and put back as others are.
func TestEveryModeInAnImage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount an overlay: nothing was tried in one")
	}
	for sign := range strings.SplitSeq("= > @ :", " ") {
		t.Run(sign, func(t *testing.T) {
			base := t.TempDir()
			for _, name := range []string{"image", "changes", "work", "container"} {
				if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			image, container := filepath.Join(base, "image"), filepath.Join(base, "container")
			p := realPlan(t, image, "lib", "a/1.mkv "+sign+" S/1.mkv", "2.mkv "+sign+" S/2.mkv")
			options := fmt.Sprintf("lowerdir=%s,upperdir=%s/changes,workdir=%s/work", image, base, base)
			if err := syscall.Mount("overlay", container, "overlay", 0, options); err != nil {
				t.Skip("an overlay can't be mounted here: ", err)
			}
			t.Cleanup(func() { unmount(t, container) })
			for _, root := range []*organize.Root{&p.Sources[0], &p.Targets[0]} {
				place, err := disk.RootOf(filepath.Join(container, filepath.Base(root.Path)))
				if err != nil {
					t.Fatal(err)
				}
				*root = place.Root
			}
			before := realTree(t, container)
			e := realEngine(t)
			if out, err := e.Apply(context.Background(), p, Options{}); err != nil || out.Count(StatusDone) != 2 {
				t.Fatalf("%s %v", said(out), err)
			}
			if out, err := e.Verify(context.Background(), p.ID, true); err != nil || out.Count(StatusOK) != 2 {
				t.Fatalf("%s %v", said(out), err)
			}
			if out, err := e.Undo(context.Background(), p.ID, UndoOptions{}); err != nil || out.Count(StatusUndone) != 2 {
				t.Fatalf("%s %v", said(out), err)
			}
			if diff := cmp.Diff(before, realTree(t, container)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func tryMode(t *testing.T, from, to, sign string, want organize.Code) {
	t.Helper()
	root, err := os.MkdirTemp(from, "from")
	if err != nil {
		t.Fatal(err)
	}
	lib, err := os.MkdirTemp(to, "to")
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{"a/1.mkv " + sign + " S/1.mkv", "a/b/2.mkv " + sign + " S/2.mkv", "3.mkv " + sign + " S/T/3.mkv"}
	p := realPlan(t, root, lib, rows...)
	before := append(realTree(t, root), realTree(t, lib)...)
	e := realEngine(t)
	out, err := e.Apply(context.Background(), p, Options{})
	if err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	if want != "" {
		for _, r := range out.Results {
			if r.Status != StatusRefused || r.Problem.Code != want {
				t.Fatalf("%s: %s %v, not refused with %s", r.Source, r.Status, r.Problem, want)
			}
		}
		if want == organize.CodeNoReflink && strings.HasSuffix(to, "fuse") {
			// libfuse keeps a file that was removed while it was open under a hidden name for a while, and its folder.
			return
		}
	} else {
		if out.Count(StatusDone) != len(rows) {
			t.Fatalf("%s", said(out))
		}
		for name, source := range map[string]string{"S/1.mkv": "a/1.mkv", "S/2.mkv": "a/b/2.mkv", "S/T/3.mkv": "3.mkv"} {
			if text, err := os.ReadFile(filepath.Join(lib, name)); err != nil || string(text) != "content of "+source {
				t.Fatalf("%s: %q %v", name, text, err)
			}
		}
		verified, err := e.Verify(context.Background(), p.ID, true)
		if err != nil || verified.Count(StatusOK) != len(rows) {
			t.Fatalf("%s %v", said(verified), err)
		}
		if out, err = e.Undo(context.Background(), p.ID, UndoOptions{}); err != nil || out.Count(StatusUndone) != len(rows) {
			t.Fatalf("%s %v", said(out), err)
		}
	}
	after := append(realTree(t, root), realTree(t, lib)...)
	if strings.HasSuffix(filepath.Dir(root), "fuse") || strings.HasSuffix(filepath.Dir(lib), "fuse") {
		before, after = withoutHiddenByFUSE(before), withoutHiddenByFUSE(after)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// withoutHiddenByFUSE removes what libfuse may still do after a run: it keeps a file that was removed while it was open
// under a hidden name for a while, and removing that changes the folder's time.
func withoutHiddenByFUSE(tree []string) (out []string) {
	for _, line := range tree {
		if folder := strings.Fields(line); strings.Contains(line, " drwx") {
			line = strings.Join(folder[:len(folder)-1], " ")
		}
		if !strings.Contains(line, "/.fuse_hidden") {
			out = append(out, line)
		}
	}
	return out
}
