package apply

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"

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
		runtime.Goexit()
	}
	g.dead = true
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			runtime.Goexit() // a panic of a worker would end the test
		}
	}()
	do()
	g.dead = false
}

// guardedFS is a simulated file system for several workers. What they do only before or after the steps is not guarded.
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

func (d guardedDir) Rmdir(name string) (err error) {
	d.g.in(func() { err = d.Dir.Rmdir(name) })
	return err
}

func (d guardedDir) Unlink(name string) (err error) {
	d.g.in(func() { err = d.Dir.Unlink(name) })
	return err
}

func (d guardedDir) Link(name string, to Dir, newName string) (err error) {
	d.g.in(func() { err = d.Dir.Link(name, to.(guardedDir).Dir, newName) })
	return err
}

func (d guardedDir) Rename(name string, to Dir, newName string) (err error) {
	d.g.in(func() { err = d.Dir.Rename(name, to.(guardedDir).Dir, newName) })
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

func (d guardedDir) SetMTime(t organize.Stamp) (err error) {
	d.g.in(func() { err = d.Dir.SetMTime(t) })
	return err
}

func (d guardedDir) Sync() (err error) {
	d.g.in(func() { err = d.Dir.Sync() })
	return err
}

func (d guardedDir) SyncFS() (err error) {
	d.g.in(func() { err = d.Dir.SyncFS() })
	return err
}

func (d guardedDir) Create(name string) (File, error) {
	var f File
	var err error
	d.g.in(func() { f, err = d.Dir.Create(name) })
	return guardedFile{f, d.g}, err
}

func (d guardedDir) OpenForWriting(name string) (File, error) {
	var f File
	var err error
	d.g.in(func() { f, err = d.Dir.OpenForWriting(name) })
	return guardedFile{f, d.g}, err
}

type guardedFile struct {
	File
	g *guard
}

func (f guardedFile) WriteAt(p []byte, off int64) (n int, err error) {
	f.g.in(func() { n, err = f.File.WriteAt(p, off) })
	return n, err
}

func (f guardedFile) Allocate(size int64) (err error) {
	f.g.in(func() { err = f.File.Allocate(size) })
	return err
}

func (f guardedFile) Sync() (err error) {
	f.g.in(func() { err = f.File.Sync() })
	return err
}

// withWorkers makes an engine use several workers, which come to the file system in any order.
func withWorkers(e *Engine, s *sim) *Engine {
	g := &guard{}
	e.System, e.Journals = guardedFS{s, g}, guardedDir{e.Journals, g}
	e.Workers = s.workers
	return e
}

// Several workers that come in any order end where one ends. Killed at any effect, nothing is lost, and what was begun
// can be resumed and undone, by several workers again.
func TestSeveralWorkersAreKilled(t *testing.T) {
	const files = 60
	for _, verb := range []organize.Verb{organize.VerbLink, organize.VerbMove} {
		t.Run(verb.String(), func(t *testing.T) {
			c, _ := checkManyFiles(t, verb, files)
			apply, _, undo := c.sc.actions()
			for _, workers := range []int{2, 7, files} {
				c.sc.workers = workers
				c.ends(c.sc.sim, apply, "undisturbed")
				several := c.sc.clone()
				if out, err := apply.do(several); err != nil || out.Count(StatusDone) != files {
					t.Fatalf("%+v %v", out, err)
				}
				c.ends(several, undo, "undisturbed")
				for at := 1; at < several.effects; at += 1 + at%7 {
					// another order may need fewer effects, so not each run is killed
					c.killedAt(at, files, fmt.Sprintf("%d workers, killed before effect %d", workers, at))
				}
			}
			t.Logf("%d runs", c.runs)
		})
	}
}

// Only steps that don't need each other are carried out in any order.
func TestWhichStepsAreIndependent(t *testing.T) {
	for _, row := range []struct {
		what, target, files, plan string
		want                      bool
	}{
		{"links", "/lib", "1 2 3 4", "1 = a; 2 = b; 3 = c; 4 = d", true},
		{"moves", "/lib", "1 2 3 4", "1 > a; 2 > b; 3 > c; 4 > d", true},
		{"units of several files", "/lib", "1 2 3 4", "1 > a, 2 > b; 3 > c, 4 > d", true},
		{"links and moves", "/lib", "1 2 3", "1 = a; 2 > b; 3 > c", true},
		{"links in place", "/src", "1 2 3", "1 = a; 2 = b; 3 = c", true},
		{"moves in place", "/src", "1 2 3", "1 > a; 2 > b; 3 > c", false},
		{"a copy", "/lib", "1 2 3", "1 = a; 2 : b; 3 = c", false},
		{"to another file system", "/far", "1 2 3", "1 > a; 2 > b; 3 > c", false},
		{"a symbolic link", "/lib", "1 2 3", "1 @ a; 2 @ b; 3 = c", false},
		{"an NFO", "/lib", "1 2", "1 = a; 2 = b, ! c", false},
	} {
		t.Run(row.what, func(t *testing.T) {
			sc := drawn(traits{}, row.target, row.files, row.plan)
			if out, err := engineOf(sc.sim).Apply(context.Background(), sc.plan, sc.opts); err != nil ||
				out.Count(StatusDone) == 0 {
				t.Fatalf("%+v %v", out, err)
			}
			e := engineOf(sc.sim)
			e.Workers = 2
			x, err := e.openExecution(sc.plan.ID)
			if err != nil {
				t.Fatal(err)
			}
			defer x.close()
			if got := x.stepsAreIndependent(false); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// A file that is in the way is refused with its unit, whichever worker finds it, and all others are put in place.
func TestAWorkerMeetsAFileInTheWay(t *testing.T) {
	for _, workers := range []int{2, 9} {
		sc := drawn(traits{}, "/lib", "1 2 3 4 5 6 7 8 9", "1 = a, 2 = b, 3 = c; 4 = d; 5 = e; 6 = f; 7 = g, 8 = h; 9 = i")
		sc.workers = workers
		made := false
		sc.sim.before = func(_ int, what string) {
			if !made && what == "link" {
				made = true
				sc.add("/lib/b", "theirs")
				sc.add("/lib/g", "theirs")
			}
		}
		out, err := engineOf(sc.sim).Apply(context.Background(), sc.plan, Options{Partial: true})
		if err != nil || out.Count(StatusDone) != 4 || out.Count(StatusRefused) != 5 {
			t.Fatalf("%d workers, made %v: %+v %v", workers, made, out, err)
		}
		for _, name := range []string{"/lib/a", "/lib/c", "/lib/h"} {
			if sc.at(name) != 0 {
				t.Errorf("%s is there", name)
			}
		}
	}
}

// A disk that fails stops all workers, and each file that was not reached is named.
func TestSeveralWorkersStop(t *testing.T) {
	const files = 60
	sc := manyFiles(organize.VerbLink, files)
	sc.workers = 6
	sc.fail = func(name string) error {
		if len(name) > 5 && name[:5] == "link " {
			return syscall.EIO
		}
		return nil
	}
	out, err := engineOf(sc.sim).Apply(context.Background(), sc.plan, Options{})
	if err != nil || !out.Unfinished || out.StopCause == nil {
		t.Fatalf("%+v %v", out, err)
	}
	if failed, planned := out.Count(StatusFailed), out.Count(StatusPlanned); failed != maxDiskFailures ||
		failed+planned != files {
		t.Errorf("%d failed, %d not reached", failed, planned)
	}
}
