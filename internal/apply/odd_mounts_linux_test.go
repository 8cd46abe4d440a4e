package apply

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

// oddKinds are FUSE file systems that have the oddities of the simulated ones, each with how it is mounted; IMAGE, BACK
// and DIR stand for a file of 64 MB, a folder, and where.
var oddKinds = []struct {
	name, oddity string
	mount        [][]string
	finest       int64 // of the times that can be set, nanoseconds
}{
	{
		"exfat-fuse", "folds case, 2 s times, no hard links, no NOREPLACE",
		[][]string{{"mkfs.exfat", "IMAGE"}, {"sh", "-c", "mount.exfat-fuse $(losetup -f --show IMAGE) DIR"}},
		2e9,
	},
	{
		"ntfs-3g", "no NOREPLACE, times of 100 ns",
		[][]string{{"mkntfs", "-q", "-F", "IMAGE"}, {"ntfs-3g", "IMAGE", "DIR"}},
		100,
	},
	{
		"bindfs", "no NOREPLACE",
		[][]string{{"bindfs", "-o", "attr_timeout=0,entry_timeout=0,hard_remove", "BACK", "DIR"}},
		1,
	},
	{"mergerfs", "no NOREPLACE", [][]string{{"mergerfs", "-o", "cache.attr=0,cache.entry=0", "BACK", "DIR"}}, 1},
	{
		"mergerfs with other inodes", "inodes are not stable over a rename",
		[][]string{{"mergerfs", "-o", "inodecalc=path-hash,cache.attr=0,cache.entry=0", "BACK", "DIR"}},
		1,
	},
	{"encfs", "names of 143 bytes, times of 1 µs", [][]string{{
		"sh", "-c",
		"echo x | encfs --standard -S BACK DIR -- -o attr_timeout=0,entry_timeout=0,hard_remove",
	}}, 1000},
	{"gocryptfs", "knows NOREPLACE", [][]string{
		{"gocryptfs", "-q", "-init", "-longnames=false", "-extpass", "echo x", "BACK"}, {
			"gocryptfs", "-q", "-extpass",
			"echo x", "BACK", "DIR",
		},
	}, 1},
	{"fuse2fs", "takes NOREPLACE and replaces", [][]string{{"mkfs.ext4", "-q", "IMAGE"}, {"fuse2fs", "IMAGE", "DIR"}}, 1},
}

// mortal is this machine's file system, on which a process dies before one of its effects.
type mortal struct {
	System
	life *life
}

type life struct {
	effects int // left; below 0: for ever
	open    []io.Closer
}

func (l *life) spend() {
	if l.effects--; l.effects == 0 {
		panic(killed{})
	}
}

// end closes what the dead has left open, as the system does.
func (l *life) end() {
	for _, c := range l.open {
		_ = c.Close() // most are closed
	}
}

func (m mortal) Open(p string) (Dir, error) { return m.life.dir(m.System.Open(p)) }

func (l *life) dir(d Dir, err error) (Dir, error) {
	if err != nil {
		return nil, err
	}
	return mortalDir{d, l}, nil
}

func (l *life) file(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	l.open = append(l.open, f)
	return mortalFile{f, l}, nil
}

type mortalDir struct {
	Dir
	life *life
}

func (d mortalDir) OpenDir(name string) (Dir, error) { return d.life.dir(d.Dir.OpenDir(name)) }
func (d mortalDir) OpenForReading(name string) (File, error) {
	return d.life.file(d.Dir.OpenForReading(name))
}

func (d mortalDir) OpenForWriting(name string) (File, error) {
	return d.life.file(d.Dir.OpenForWriting(name))
}

func (d mortalDir) Create(name string) (File, error) {
	d.life.spend()
	return d.life.file(d.Dir.Create(name))
}

func (d mortalDir) Mkdir(name string) error         { d.life.spend(); return d.Dir.Mkdir(name) }
func (d mortalDir) Rmdir(name string) error         { d.life.spend(); return d.Dir.Rmdir(name) }
func (d mortalDir) Unlink(name string) error        { d.life.spend(); return d.Dir.Unlink(name) }
func (d mortalDir) Symlink(text, name string) error { d.life.spend(); return d.Dir.Symlink(text, name) }
func (d mortalDir) SetMode(mode uint32) error       { d.life.spend(); return d.Dir.SetMode(mode) }
func (d mortalDir) SetMTime(t organize.Stamp) error { d.life.spend(); return d.Dir.SetMTime(t) }

func (d mortalDir) Link(name string, to Dir, as string) error {
	d.life.spend()
	return d.Dir.Link(name, to.(mortalDir).Dir, as)
}

func (d mortalDir) Rename(name string, to Dir, as string) error {
	d.life.spend()
	return d.Dir.Rename(name, to.(mortalDir).Dir, as)
}

type mortalFile struct {
	File
	life *life
}

func (f mortalFile) WriteAt(p []byte, off int64) (int, error) {
	f.life.spend()
	return f.File.WriteAt(p, off)
}

func (f mortalFile) Sync() error { f.life.spend(); return f.File.Sync() }
func (f mortalFile) Clone(from File) error {
	f.life.spend()
	return f.File.Clone(from.(mortalFile).File)
}

func (f mortalFile) CopyMetadata(from File, info Info, owner bool) (bool, error) {
	f.life.spend()
	return f.File.CopyMetadata(from.(mortalFile).File, info, owner)
}

// oddMount mounts one of them, or skips the test.
func oddMount(t *testing.T, name string, commands [][]string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount file systems: nothing was killed on " + name)
	}
	base := t.TempDir()
	dir, back, image := filepath.Join(base, "mount"), filepath.Join(base, "back"), filepath.Join(base, "image")
	for _, d := range []string{dir, back} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // loop devices outlive what was mounted from them
		_ = exec.Command("sh", "-c", "losetup -j "+image+" | cut -d: -f1 | xargs -r losetup -d").Run()
	})
	for _, words := range commands {
		cmd := exec.Command(words[0], words[1:]...)
		for i, word := range cmd.Args {
			cmd.Args[i] = strings.NewReplacer("IMAGE", image, "BACK", back, "DIR", dir).Replace(word)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%s can't be mounted here, and nothing was killed on it: %v %s", name, err, out)
		}
	}
	t.Cleanup(func() { unmount(t, dir) })
	return dir
}

// On file systems with the oddities of the simulated ones a run is killed before its effects, gone on with, and put
// back: nothing is lost, and each ends where it ends undisturbed. With -trees it is killed before every one.
func TestKilledOnOddFileSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	for _, kind := range oddKinds {
		t.Run(kind.name, func(t *testing.T) {
			mount := oddMount(t, kind.name, kind.mount)
			here := t.TempDir()
			for _, row := range []struct {
				name, from, to string
				rows           []string
			}{
				{"a cycle", mount, "src", []string{"1 > 2", "2 > 3", "3 > 1", "d/4 > e/4"}},
				{"a case", mount, "src", []string{"a.mkv > A.mkv"}},
				{"moves, links, copies", mount, "lib", []string{
					"a/1.mkv > S/1.mkv", "a/2.mkv : S/2.mkv", "b/3.mkv = T/3.mkv",
					"b/4.mkv @ T/4.mkv",
				}},
				{"moves", mount, "lib", []string{"a/1.mkv > S/1.mkv", "b/2.mkv > S/2.mkv"}},
				{"onto it", here, mount, []string{"a/1.mkv > S/1.mkv", "a/2.mkv : T/2.mkv"}},
				{"from it", mount, here, []string{"a/1.mkv > S/1.mkv", "a/2.mkv : T/2.mkv"}},
			} {
				o := oddRun{t: t, finest: kind.finest, name: row.name, from: row.from, to: row.to, rows: row.rows}
				o.killAll()
				t.Logf("%s (%s): %d of %d effects before which it was killed; put in place: %d of %d", row.name, kind.oddity,
					o.kills, o.effects, o.done, len(row.rows))
			}
		})
	}
}

type oddRun struct {
	t             *testing.T
	finest        int64
	name          string
	from, to      string
	rows          []string
	kills, done   int
	effects       int
	why           string // what became of the files
	before, after []string
}

// scene makes a fresh tree with its plan, and returns what tells what is there.
func (o *oddRun) scene() (*Engine, *organize.Plan, func() []string) {
	o.t.Helper()
	root, err := os.MkdirTemp(o.from, "from")
	if err != nil {
		o.t.Fatal(err)
	}
	to := o.to
	if filepath.IsAbs(to) {
		if to, err = os.MkdirTemp(to, "to"); err != nil {
			o.t.Fatal(err)
		}
	}
	p := realPlan(o.t, root, to, o.rows...)
	p.ID = "20261122-020431-k3f9"
	return realEngine(o.t), p, func() []string {
		o.t.Helper()
		out := realTree(o.t, p.Sources[0].Path)
		if p.Targets[0].Path != p.Sources[0].Path {
			out = append(out, realTree(o.t, p.Targets[0].Path)...)
		}
		for i, line := range out {
			out[i] = stamps.ReplaceAllStringFunc(line, func(nanoseconds string) string {
				n, _ := strconv.ParseInt(nanoseconds, 10, 64)
				return strconv.FormatInt(n-n%o.finest, 10)
			})
		}
		return out
	}
}

// stamps matches the times in a tree.
var stamps = regexp.MustCompile(`\b\d{19}\b`)

// dying carries something out in a process that dies after so many effects, and reports whether it died.
func dying(e *Engine, effects int, do func(e *Engine)) (dead bool, spent int) {
	l := &life{effects: effects}
	one := *e
	one.System, one.Journals = mortal{life: l}, mortalDir{e.Journals, l}
	dead = dies(func() { do(&one) })
	l.end()
	return dead, effects - l.effects
}

// timeless leaves out the times of folders and links, which a run that was gone on with has of its own.
func timeless(tree []string) []string {
	out := slices.Clone(tree)
	for i, line := range out {
		at := strings.Index(line, " d")
		if at < 0 {
			at = strings.Index(line, " L")
		}
		if f := strings.SplitN(line[max(at, 0):], " ", 4); at >= 0 && len(f) > 2 {
			f[2] = ""
			out[i] = line[:at] + strings.Join(f, " ")
		}
	}
	return out
}

func (o *oddRun) killAll() {
	o.t.Helper()
	ctx := context.Background()
	apply := func(p *organize.Plan) func(*Engine) {
		return func(e *Engine) {
			if out, err := e.Apply(ctx, p, Options{}); err == nil {
				o.done, o.why = out.Count(StatusDone), said(out)
			}
		}
	}
	e, p, look := o.scene()
	o.before = look()
	_, o.effects = dying(e, -1, apply(p))
	o.after = look()
	if o.done == 0 {
		o.t.Log(o.why)
		if diff := cmp.Diff(o.before, o.after); diff != "" {
			o.t.Errorf("%s: it was refused and has changed something: %s", o.name, diff)
		}
		return
	}
	done := o.done
	out, err := e.Undo(ctx, p.ID, UndoOptions{})
	if err != nil || out.Unfinished {
		o.t.Fatalf("%s: %s %v", o.name, said(out), err)
	}
	if diff := cmp.Diff(o.before, look()); diff != "" {
		o.t.Fatalf("%s: undo: %s %s %s", o.name, o.why, said(out), diff)
	}
	step := 1
	if *trees == 0 {
		step = max(1, o.effects/6)
	}
	for at := 1; at <= o.effects; at += step {
		for _, way := range []string{"resume", "undo"} {
			e, p, look := o.scene()
			before := look()
			if dead, _ := dying(e, at, apply(p)); !dead {
				continue
			}
			o.kills++
			when := fmt.Sprintf("%s, killed before effect %d, %s", o.name, at, way)
			o.whole(look(), when)
			if _, err := e.Journals.Lstat(journalName(p.ID)); isMissing(err) {
				if diff := cmp.Diff(before, look()); diff != "" {
					o.t.Fatalf("%s: changed before the journal was there: %s", when, diff)
				}
				continue
			}
			var out *Outcome
			var err error
			want, got := before, look
			if way == "resume" {
				out, err = e.Resume(ctx, p.ID)
				want, got = timeless(o.after), func() []string { return timeless(look()) }
			} else {
				out, err = e.Undo(ctx, p.ID, UndoOptions{})
			}
			if err != nil || out.Unfinished {
				o.t.Fatalf("%s: %s %v", when, said(out), err)
			}
			if diff := cmp.Diff(want, got()); diff != "" {
				o.t.Fatalf("%s (-want +got): %s", when, diff)
			}
		}
	}
	o.done = done
}

// whole checks that every content is there.
func (o *oddRun) whole(tree []string, when string) {
	o.t.Helper()
	for _, row := range o.rows {
		content := " content of " + strings.Fields(row)[0]
		if !slices.ContainsFunc(tree, func(line string) bool { return strings.HasSuffix(line, content) }) {
			o.t.Fatalf("%s:%s is lost:\n%s", when, content, strings.Join(tree, "\n"))
		}
	}
}
