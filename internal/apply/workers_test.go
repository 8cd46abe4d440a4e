package apply

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

// guard lets one worker at a time into a simulated file system, and after its death none.
type guard struct {
	mu   sync.Mutex
	dead bool
}

func (g *guard) in(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		panic(killed{})
	}
	g.dead = true // if do panics
	do()
	g.dead = false
}

// guardedFS and guardedDir are a simulated file system for several workers: what only one worker at a time does goes
// straight through.
type guardedFS struct {
	*sim
	g *guard
}

func (f guardedFS) Open(p string) (d Dir, err error) {
	f.g.in(func() { d, err = f.sim.Open(p) })
	return guardedDir{d, f.g}, err
}

type guardedDir struct {
	Dir
	g *guard
}

func (d guardedDir) Close() error {
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	return d.Dir.Close()
}

func (d guardedDir) Stat() (i Info, err error) {
	d.g.in(func() { i, err = d.Dir.Stat() })
	return i, err
}

func (d guardedDir) Lstat(name string) (i Info, err error) {
	d.g.in(func() { i, err = d.Dir.Lstat(name) })
	return i, err
}

func (d guardedDir) Names() (names []string, err error) {
	d.g.in(func() { names, err = d.Dir.Names() })
	return names, err
}

func (d guardedDir) OpenDir(name string) (below Dir, err error) {
	d.g.in(func() { below, err = d.Dir.OpenDir(name) })
	return guardedDir{below, d.g}, err
}

func (d guardedDir) Mkdir(name string) (err error) {
	d.g.in(func() { err = d.Dir.Mkdir(name) })
	return err
}

func (d guardedDir) Unlink(name string) (err error) {
	d.g.in(func() { err = d.Dir.Unlink(name) })
	return err
}

func (d guardedDir) Link(name string, to Dir, as string) (err error) {
	d.g.in(func() { err = d.Dir.Link(name, to.(guardedDir).Dir, as) })
	return err
}

func (d guardedDir) Rename(name string, to Dir, as string) (err error) {
	d.g.in(func() { err = d.Dir.Rename(name, to.(guardedDir).Dir, as) })
	return err
}

func (d guardedDir) SetMode(mode uint32) (err error) {
	d.g.in(func() { err = d.Dir.SetMode(mode) })
	return err
}

func (d guardedDir) SetOwner(uid, gid uint32) (err error) {
	d.g.in(func() { err = d.Dir.SetOwner(uid, gid) })
	return err
}

func (d guardedDir) Create(name string) (File, error) { return d.file(d.Dir.Create(name)) }
func (d guardedDir) OpenForWriting(name string) (File, error) {
	return d.file(d.Dir.OpenForWriting(name))
}

func (d guardedDir) file(f File, err error) (File, error) { return guardedFile{f, d.g}, err }

type guardedFile struct {
	File
	g *guard
}

func (f guardedFile) WriteAt(p []byte, off int64) (n int, err error) {
	f.g.in(func() { n, err = f.File.WriteAt(p, off) })
	return n, err
}

// inLanes is an engine whose workers come to the file system in any order.
func inWorkers(s *sim) *Engine {
	e := engineOf(s)
	g := &guard{}
	e.System, e.Journals, e.Workers = guardedFS{s, g}, guardedDir{e.Journals, g}, 3
	return e
}

// manyFiles is a scene of so many files in folders of ten, of which two workers make the same ones.
func manyFiles(verb organize.Verb, files int) scene {
	sc := drawn(traits{}, "/lib", "x", "x > y")
	sc.plan.Units = nil
	for i := range files {
		dir := fmt.Sprintf("d%d", i/10)
		name := fmt.Sprintf("%d.mkv", i)
		info := sc.info(sc.add("/src/"+dir+"/"+name, fmt.Sprint("content of ", i)))
		sc.plan.Units = append(sc.plan.Units, organize.Unit{Dir: dir, Ops: []organize.Op{{
			Verb: verb, Size: info.Size, MTime: info.MTime, Inode: info.Inode, Source: name,
			To: fmt.Sprintf("Show %d/Season 01/%d.mkv", i/10%4, i),
		}}})
	}
	for i, root := range []string{"/src", "/lib"} {
		now, _ := sc.Root(root)
		[]*organize.Root{&sc.plan.Sources[0], &sc.plan.Targets[0]}[i].Inode = now.Inode
	}
	n := sc.nodes[sc.at("/lib")]
	n.mode, n.uid = 0o2775, 7
	return sc
}

// Lanes that come in any order end where one worker ends. Killed at any effect, nothing is lost, and what was begun can
// be gone on with and put back, by several workers again.
func TestWorkers(t *testing.T) {
	for _, verb := range []organize.Verb{organize.VerbLink, organize.VerbMove} {
		t.Run(verb.String(), func(t *testing.T) {
			sc := manyFiles(verb, 3*minStepsPerWorker)
			if n := len(mustParts(t, sc)); n != 3 {
				t.Fatalf("%d lanes", n)
			}
			c := &checker{t: t, sc: sc, before: all(sc.sim, true), contents: contentsOf(sc.sim)}
			id := sc.plan.ID
			apply := action{"apply", func(s *sim) (*Outcome,
				error,
			) {
				return inWorkers(s).Apply(context.Background(), sc.plan, sc.opts)
			}}
			resume := action{"resume", func(s *sim) (*Outcome, error) { return inWorkers(s).Resume(context.Background(), id) }}
			undo := action{"undo", func(s *sim) (*Outcome, error) {
				return inWorkers(s).Undo(context.Background(), id,
					UndoOptions{})
			}}
			one, three := sc.clone(), sc.clone()
			inOne, _, _ := sc.actions()
			if out, err := inOne.do(one); err != nil || out.Count(StatusDone) != 3*minStepsPerWorker {
				t.Fatalf("%+v %v", out, err)
			}
			c.after = all(one, false)
			c.ends(three, apply, "undisturbed")
			if out, err := apply.do(three); err != nil || out.Count(StatusDone) != 3*minStepsPerWorker {
				t.Fatalf("%+v %v", out, err)
			}
			c.ends(three, undo, "undisturbed")
			last := three.effects
			for at := 1; at < last; at += 1 + at%13 {
				s := sc.clone()
				s.killAt = at
				if !dies(func() { _, _ = apply.do(s) }) {
					continue // another order needs less
				}
				when := fmt.Sprint("killed before effect ", at)
				c.lost(s, when)
				if !s.has(id) {
					continue
				}
				c.ends(s, resume, when)
				c.ends(s, undo, when)
				again := s.clone()
				again.killAt = 1 + at%(2*minStepsPerWorker)
				dies(func() { _, _ = undo.do(again) })
				c.lost(again, when+", and then undo")
				c.ends(again, resume, when+", and then undo")
				c.ends(again, undo, when+", and then undo")
			}
			t.Logf("%d runs, %d effects", c.runs, last)
		})
	}
}

// mustParts returns the workers of the scene's run.
func mustParts(t *testing.T, sc scene) [][2]int {
	t.Helper()
	s := sc.clone()
	if _, err := engineOf(s).Apply(context.Background(), sc.plan, sc.opts); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(engineOf(s).Journals, sc.plan.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	return j.run.independentParts(len(j.run.Steps) / minStepsPerWorker)
}

// What has to be in order is not done by several workers; bundles are never divided.
func TestWhatIsDoneInParallel(t *testing.T) {
	for _, row := range []struct {
		what, target, files, plan string
		want                      [][2]int
	}{
		{"links", "/lib", "1 2 3 4", "1 = a; 2 = b; 3 = c; 4 = d", [][2]int{{0, 2}, {2, 4}}},
		{"moves", "/lib", "1 2 3 4", "1 > a; 2 > b; 3 > c; 4 > d", [][2]int{{0, 2}, {2, 4}}},
		{"a big unit", "/lib", "1 2 3 4", "1 > a, 2 > b, 3 > c; 4 > d", [][2]int{{0, 3}, {3, 4}}},
		{"one unit", "/lib", "1 2 3 4", "1 > a, 2 > b, 3 > c, 4 > d", [][2]int{{0, 4}}},
		{"links and moves", "/lib", "1 2", "1 = a; 2 > b", [][2]int{{0, 1}, {1, 2}}},
		{"links in place", "/src", "1 2", "1 = a; 2 = b", [][2]int{{0, 1}, {1, 2}}},
		{"moves in place", "/src", "1 2", "1 > a; 2 > b", nil},
		{"a copy", "/lib", "1 2", "1 = a; 2 : b", nil},
		{"to another file system", "/far", "1 2", "1 > a; 2 > b", nil},
		{"a symbolic link", "/lib", "1 2", "1 @ a; 2 @ b", nil},
		{"something is written", "/lib", "1 2", "1 = a; 2 = b, ! c", nil},
	} {
		sc := drawn(traits{}, row.target, row.files, row.plan)
		if out, err := engineOf(sc.sim).Apply(context.Background(), sc.plan, sc.opts); err != nil ||
			out.Count(StatusDone) == 0 {
			t.Fatalf("%s: %+v %v", row.what, out, err)
		}
		j, err := openJournal(engineOf(sc.sim).Journals, sc.plan.ID, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, j.run.independentParts(2)); diff != "" {
			t.Errorf("%s (-want +got): %s", row.what, diff)
		}
	}
}

// A disk that fails stops all workers, and what was not reached is said of each.
func TestWorkersStopTogether(t *testing.T) {
	sc := manyFiles(organize.VerbLink, 3*minStepsPerWorker)
	sc.fail = func(name string) error {
		if len(name) > 5 && name[:5] == "link " {
			return syscall.EIO
		}
		return nil
	}
	out, err := inWorkers(sc.sim).Apply(context.Background(), sc.plan, Options{})
	if err != nil || !out.Unfinished || out.StopCause == nil {
		t.Fatalf("%+v %v", out, err)
	}
	if failed, left := out.Count(StatusFailed), out.Count(StatusPlanned); failed == 0 || failed > 3*maxDiskFailures ||
		failed+left != 3*minStepsPerWorker {
		t.Errorf("%d failed, %d not reached", failed, left)
	}
}

// However many folders a run is about, few of them are open at a time.
func TestFewFoldersAreOpen(t *testing.T) {
	for _, verb := range []organize.Verb{organize.VerbLink, organize.VerbMove, organize.VerbCopy} {
		sc := manyFiles(verb, 10)
		for i := range 3 * maxOpenFolders {
			dir, name := fmt.Sprintf("e%d", i), fmt.Sprintf("%d.mkv", i)
			info := sc.info(sc.add("/src/"+dir+"/"+name, fmt.Sprint("content ", i)))
			sc.add(fmt.Sprintf("/lib/There %d/theirs", i), "theirs")
			sc.plan.Units = append(sc.plan.Units, organize.Unit{Dir: dir, Ops: []organize.Op{{
				Verb: verb, Size: info.Size, MTime: info.MTime, Inode: info.Inode, Source: name,
				To: fmt.Sprintf("There %d/Season %d/%d.mkv", i, i%2, i),
			}}})
		}
		e := engineOf(sc.sim)
		sc.opened = [2]int{}
		out, err := e.Apply(context.Background(), sc.plan, Options{})
		if err != nil || out.Count(StatusDone) != len(sc.plan.Units) {
			t.Fatalf("%+v %v", out, err)
		}
		for _, dry := range []bool{true, false} {
			if _, err := e.Undo(context.Background(), out.Run, UndoOptions{DryRun: dry}); err != nil {
				t.Fatal(err)
			}
		}
		if most := sc.opened[1]; most > 2*maxOpenFolders+20 {
			t.Errorf("%s: %d folders were open at a time", verb, most)
		}
	}
}
