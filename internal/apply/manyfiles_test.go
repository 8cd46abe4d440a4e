package apply

import (
	"context"
	"fmt"
	"testing"

	"github.com/anivault/anivault/internal/organize"
)

// manyFiles is a scene with n files, ten in each folder.
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

// checkManyFiles returns a checker of a run with many files, and the file system after the undisturbed run.
func checkManyFiles(t *testing.T, verb organize.Verb, files int) (*checker, *sim) {
	t.Helper()
	sc := manyFiles(verb, files)
	c := &checker{t: t, sc: sc, before: all(sc.sim, true), contents: contentsOf(sc.sim)}
	apply, _, _ := sc.actions()
	whole := sc.clone()
	if out, err := apply.do(whole); err != nil || out.Count(StatusDone) != files {
		t.Fatalf("%+v %v", out, err)
	}
	c.after = all(whole, false)
	return c, whole
}

// killedAt kills the run at an effect, and its undo at another. Nothing may be lost, and what was begun can be resumed
// and undone. It returns false if the run ended before that effect.
func (c *checker) killedAt(at, files int, when string) bool {
	c.t.Helper()
	apply, resume, undo := c.sc.actions()
	s := c.sc.clone()
	s.killAt = at
	if !dies(func() { _, _ = apply.do(s) }) {
		return false
	}
	c.lost(s, when)
	if !s.has(c.sc.plan.ID) {
		return true
	}
	c.ends(s, resume, when)
	c.ends(s, undo, when)
	again := s.clone()
	again.killAt = 1 + at%files
	dies(func() { _, _ = undo.do(again) })
	c.lost(again, when+", and then undo")
	c.ends(again, resume, when+", and then undo")
	c.ends(again, undo, when+", and then undo")
	return true
}

// Killed at any effect of a run with many files, nothing is lost, and what was begun can be resumed and undone.
func TestARunOfManyFilesIsKilled(t *testing.T) {
	const files = 100
	for _, verb := range []organize.Verb{organize.VerbLink, organize.VerbMove} {
		t.Run(verb.String(), func(t *testing.T) {
			c, whole := checkManyFiles(t, verb, files)
			_, _, undo := c.sc.actions()
			c.ends(whole, undo, "undisturbed")
			for at := 1; at < whole.effects; at += 1 + at%13 {
				when := fmt.Sprint("killed before effect ", at)
				if !c.killedAt(at, files, when) {
					t.Fatal("not " + when)
				}
			}
		})
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
