package apply

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

// contentsOf returns what a scene holds.
func contentsOf(s *sim) map[string]int {
	out := map[string]int{}
	for _, below := range []string{"/src", "/lib", "/elsewhere", "/far"} {
		for content, n := range s.contents(below) {
			out[content] += n
		}
	}
	return out
}

// Every error at every effect, whether the effect happened or not: nothing is lost, the result of each file is so, and
// afterwards undo gives the tree before, byte for byte.
func TestEveryEffectFails(t *testing.T) {
	errnos := []syscall.Errno{
		syscall.ENOSPC, syscall.EIO, syscall.EDQUOT, syscall.EACCES, syscall.EROFS, syscall.ESTALE, syscall.EINTR,
		syscall.EXDEV, syscall.EMLINK,
	}
	for name, world := range map[string]traits{"plain": {}, "without NOREPLACE": {noRename: true}} {
		for seed := range uint64(max(*trees, 4)) {
			sc := newScene(seed, world)
			if sc.plan = parsed(sc.plan); sc.plan == nil {
				continue
			}
			apply, _, undo := sc.actions()
			c := &checker{t: t, sc: sc, before: all(sc.sim, true), contents: contentsOf(sc.sim)}
			for k := 1; ; k++ {
				reached := false
				for i, errno := range errnos {
					s := sc.clone()
					s.faults[k] = errno
					s.lie = (k+i)%2 == 0
					out, err := apply.do(s)
					reached = reached || s.effects >= k
					when := fmt.Sprintf("%s, seed %d: effect %d fails with %v (done anyway: %v)", name, seed, k, errno, s.lie)
					c.lost(s, when)
					if err == nil {
						c.told(s, out, when)
					}
					if s.has(sc.plan.ID) {
						c.ends(s, undo, when)
					} else if diff := cmp.Diff(c.before, all(s, true)); diff != "" {
						t.Fatalf("%s: there is no run, and (-before +after):\n%s", when, diff)
					}
				}
				if !reached {
					break
				}
			}
		}
	}
}

// A run whose target can't be tried out has not begun: it stands in nobody's way.
func TestARunThatCantBeginIsNotRecorded(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a > x;b > y")
	apply, _, _ := sc.actions()
	trials := 0
	for k := 1; ; k++ {
		s := sc.clone()
		s.faults[k] = syscall.EPERM
		out, err := apply.do(s)
		if s.effects < k {
			break
		}
		if out != nil || err == nil || strings.HasPrefix(err.Error(), "write the journal") {
			continue
		}
		trials++
		if !strings.Contains(err.Error(), "/lib: ") || s.has(sc.plan.ID) {
			t.Errorf("effect %d fails: %v; a run stays: %v", k, err, s.has(sc.plan.ID))
		}
	}
	if trials < 3 {
		t.Error(trials, "trials have failed")
	}
}

// told checks that files are where the outcome says they are.
func (c *checker) told(s *sim, out *Outcome, when string) {
	c.t.Helper()
	for _, r := range out.Results {
		there := s.find(r.Target)
		switch {
		case r.Status == StatusDone && there == 0:
			c.t.Fatalf("%s: %s is reported as done, but does not exist", when, r.Target)
		case (r.Status == StatusRefused || r.Status == StatusFailed) && !out.Unfinished && s.find(r.Source) == 0:
			c.t.Fatalf("%s: %s is reported as %s, but does not exist", when, r.Source, r.Status)
		}
	}
}

func (s *sim) find(p string) int { return s.at(s.stored(p)) }

// The same while it is put back.
func TestEveryEffectOfUndoFails(t *testing.T) {
	for seed := range uint64(max(*trees, 4)) {
		sc := newScene(seed, traits{})
		if sc.plan = parsed(sc.plan); sc.plan == nil {
			continue
		}
		apply, _, undo := sc.actions()
		c := &checker{t: t, sc: sc, before: all(sc.sim, true), contents: contentsOf(sc.sim)}
		done := sc.clone()
		if _, err := apply.do(done); err != nil || !done.has(sc.plan.ID) {
			continue
		}
		for k := 1; ; k++ {
			s := done.clone()
			s.faults[k] = []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES}[k%3]
			s.lie = k%2 == 0
			_, _ = undo.do(s)
			when := fmt.Sprintf("seed %d: effect %d of undo fails", seed, k)
			c.lost(s, when)
			c.ends(s, undo, when)
			if s.effects < k {
				break
			}
		}
	}
}

// After a power loss there is what was synced and any part of the rest: the same claims hold.
func TestPowerLoss(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for name, world := range map[string]traits{
		"plain": {}, "without NOREPLACE": {noRename: true},
		"NOREPLACE ignored": {replaces: true},
	} {
		for seed := range uint64(max(*trees, 6)) {
			sc := newScene(seed, world)
			if sc.plan = parsed(sc.plan); sc.plan == nil {
				continue
			}
			apply, resume, undo := sc.actions()
			c := &checker{t: t, sc: sc, before: all(sc.sim, true), contents: contentsOf(sc.sim)}
			whole := sc.clone()
			out, err := apply.do(whole)
			if err != nil || out.Unfinished {
				t.Fatalf("%s, seed %d: %+v %v", name, seed, out, err)
			}
			if !whole.has(sc.plan.ID) {
				continue
			}
			c.after = all(whole, false)
			for _, part := range []struct {
				from *sim
				a    action
			}{{sc.sim, apply}, {whole, undo}} {
				for k := 1; ; k++ {
					s := part.from.clone()
					s.protect()
					s.killAt = k
					dead := dies(func() { _, _ = part.a.do(s) })
					for range 3 {
						now := s.powerLoss(r)
						when := fmt.Sprintf("%s, seed %d: %s, power lost before effect %d", name, seed, part.a.name, k)
						c.lost(now, when)
						if now.has(sc.plan.ID) {
							c.ends(now, undo, when)
							if dead {
								c.ends(now, resume, when)
							}
						}
					}
					if !dead {
						break
					}
				}
			}
		}
	}
}

// Somebody else changes something at every moment between two effects: whatever it is, no file of theirs or ours is
// lost.
func TestOthersAtWork(t *testing.T) {
	for seed := range uint64(max(*trees, 10)) {
		for _, what := range []string{
			"a target appears", "a source is replaced", "a source is edited", "a source is gone",
			"a folder becomes a link",
		} {
			for _, world := range []traits{{}, {noRename: true}} {
				sc := newScene(seed, world)
				if sc.plan = parsed(sc.plan); sc.plan == nil {
					continue
				}
				c := &checker{t: t, sc: sc}
				apply, _, undo := sc.actions()
				for k := 1; ; k++ {
					s := sc.clone()
					c.contents = nil
					s.before = func(effect int, next string) {
						// One gap no call closes: a name that is swapped between our last look and its unlink.
						if effect == k && next != "unlink" {
							c.meddle(s, what, k)
						}
					}
					_, _ = apply.do(s)
					when := fmt.Sprintf("seed %d: %s before effect %d", seed, what, k)
					c.lost(s, when)
					reached := s.effects >= k
					if s.before = nil; s.has(sc.plan.ID) {
						_, _ = undo.do(s)
						c.lost(s, when+", then undone")
					}
					if !reached {
						break
					}
				}
			}
		}
	}
}

// meddle changes something of the scene as another program could, and notes which contents there are now.
func (c *checker) meddle(s *sim, what string, k int) {
	unit := &c.sc.plan.Units[k%len(c.sc.plan.Units)]
	op := &unit.Ops[0]
	source, target := s.stored(c.sc.plan.SourcePath(unit, op)), s.stored(c.sc.plan.TargetPath(unit, op))
	dir := s.at(path.Dir(source))
	switch what {
	case "a target appears":
		if at := s.at(path.Dir(target)); at != 0 && s.nodes[at].kids != nil && s.at(target) == 0 {
			s.add(target, "theirs")
		}
	case "a source is replaced":
		if s.at(source) != 0 && s.nodes[s.at(source)].typ == organize.TypeRegular {
			old := s.nodes[s.at(source)]
			old.links--
			delete(s.nodes[dir].kids, path.Base(source))
			s.add(source, "theirs")
		}
	case "a source is edited":
		if n := s.nodes[s.at(source)]; n != nil && n.typ == organize.TypeRegular {
			n.data, n.mtime = "edited", s.clock+1
		}
	case "a source is gone":
		if n := s.nodes[s.at(source)]; n != nil && n.typ == organize.TypeRegular {
			n.links--
			delete(s.nodes[dir].kids, path.Base(source))
		}
	case "a folder becomes a link":
		if at := s.at(path.Dir(target)); at != 0 && path.Dir(target) != "/lib" && path.Dir(target) != "/src" {
			above := s.nodes[s.at(path.Dir(path.Dir(target)))]
			s.last++
			s.nodes[s.last] = &node{typ: organize.TypeLink, links: 1}
			above.kids[path.Base(path.Dir(target))] = s.last
			s.nodes[s.at("/elsewhere")].kids["moved"] = at
		}
	}
	c.contents = contentsOf(s)
	for content := range c.contents {
		c.contents[content] = 1 // the names that a run has given go away again
		if strings.HasPrefix(content, written) {
			delete(c.contents, content) // and so does what it has written
		}
	}
	delete(c.contents, "") // nothing distinguishes empty files
}

// Each run of a plan has names of its own for unfinished copies, and what another program puts into the place of one
// never gets the final name.
func TestUnfinishedCopiesAreNotMistaken(t *testing.T) {
	for _, world := range []traits{{}, {noRename: true}} {
		for _, plan := range []string{"a : x", "a > x"} {
			sc := drawn(world, "/far", "a", plan)
			apply, _, _ := sc.actions()
			names, published := map[string]bool{}, 0
			for k := 1; ; k++ {
				s, unfinished := sc.clone(), ""
				s.before = func(effect int, _ string) {
					for name := range s.nodes[s.at("/far")].kids {
						if unfinished == "" && effect == k && strings.HasSuffix(name, ".part") {
							if unfinished = name; names[name] {
								t.Fatalf("%s: a second run has %s too", plan, name)
							}
							names[name] = true
							s.remove("/far/" + name)
							s.add("/far/"+name, "torn")
						}
					}
				}
				out, err := apply.do(s)
				if s.effects < k {
					break
				}
				at := s.at("/far/x")
				if err != nil || (at != 0) != (out.Count(StatusDone) == 1) || at != 0 && s.nodes[at].data != "content of a" {
					t.Errorf("%s, before effect %d: %s, %v, %v", plan, k, said(out), err, all(s, false))
				}
				if at != 0 && unfinished != "" {
					published++
				}
			}
			if len(names) < 3 || published > 1 {
				t.Errorf("%s: %d unfinished copies, %d of them published", plan, len(names), published)
			}
		}
	}
}

// A source that another program replaces or edits while it is copied costs its own unit, and nothing else. A finished
// copy stays, because it may be the last with the planned content, and undo says so.
func TestASourceChangesWhileItIsCopied(t *testing.T) {
	for _, what := range []string{"a source is replaced", "a source is edited"} {
		for _, plan := range []string{"a > x, s > y; b > z", "a : x, s > y; b > z"} {
			sc := drawn(traits{}, "/far", "a s b", plan)
			apply, resume, undo := sc.actions()
			refused, stayed, copies := 0, 0, strings.Contains(plan, ":")
			for k := 1; ; k++ {
				s, c := sc.clone(), &checker{t: t, sc: sc}
				s.before = func(effect int, _ string) {
					if effect == k && s.at("/far/z") == 0 {
						c.meddle(s, what, 0)
					}
				}
				s.fail = func(name string) error {
					if copies && strings.HasPrefix(name, "create ") && strings.HasSuffix(name, "-2.part") {
						return syscall.EACCES // so that the unit of a finished copy is rolled back
					}
					return nil
				}
				out, err := apply.do(s)
				if s.effects < k {
					break
				}
				when := fmt.Sprintf("%s: %s before effect %d", plan, what, k)
				if err != nil || out.Unfinished || out.Run != "" && s.at("/far/z") == 0 {
					t.Fatalf("%s: %+v %v", when, out, err)
				}
				if out.Results[0].Status == StatusDone || out.Run == "" {
					continue
				}
				refused++
				stays := s.at("/far/x") != 0
				if want := map[bool]Status{true: StatusNotRestored, false: StatusRefused}[stays]; out.Results[0].Status != want {
					t.Errorf("%s: %s, not %s", when, said(out), want)
				}
				_, shown, err := engineOf(s).Show(sc.plan.ID)
				if err != nil || said(shown) != said(out) {
					t.Errorf("%s: history says %s, not %s (%v)", when, said(shown), said(out), err)
				}
				out, err = undo.do(s)
				if err != nil || out.Unfinished || (s.at("/far/x") != 0) != stays || stays != (out.Count(StatusNotRestored) == 1) {
					t.Errorf("%s: %+v %v", when, out, err)
				}
				if stays {
					stayed++
				}
			}
			if stayed == 0 || refused == stayed {
				t.Errorf("%s: %s: %d refused, of %d the copy stays", plan, what, refused, stayed)
			}
			s := sc.clone() // killed before the source of a finished copy is removed, and edited before the run is resumed
			s.before = func(_ int, next string) {
				if next == "unlink" && s.at("/far/x") != 0 {
					panic(killed{})
				}
			}
			if what == "a source is edited" && !copies && dies(func() { _, _ = apply.do(s) }) {
				s.before = nil
				(&checker{t: t, sc: sc}).meddle(s, what, 0)
				out, err := resume.do(s)
				if err != nil || said(out) != "a kept edited, b done, s refused with_another" {
					t.Errorf("resumed: %s %v", said(out), err)
				}
			}
		}
	}
}

// Somebody else makes the same links at every moment between two effects, as a run from another data folder does:
// neither the rollback of the unit nor the undo removes them.
func TestLinksThatSomebodyElseMadeStay(t *testing.T) {
	for _, plan := range []string{"a = x/1, b = x/2", "a @ x/1, b @ x/2"} {
		theirs := 0
		for k := 1; ; k++ {
			apply, _, undo := drawn(traits{}, "/lib", "a b", plan).actions()
			sc := drawn(traits{}, "/lib", "a b", plan)
			s, made := sc.clone(), false
			s.before = func(effect int, _ string) {
				if effect < k || made || s.at("/lib/x/2") != 0 || s.at("/lib/x") == 0 {
					return
				}
				made = true
				if plan[2] == '=' {
					s.also("/src/b", "/lib/x/2")
				} else if d, err := s.Open("/lib/x"); err != nil || d.Symlink("../../src/b", "2") != nil {
					t.Fatal("the link can't be made")
				}
			}
			out, err := apply.do(s)
			if err != nil || out.Unfinished {
				t.Fatalf("before effect %d: %+v %v", k, out, err)
			}
			s.before = nil
			if made {
				theirs++
			}
			if done := out.Count(StatusDone); made && done != 0 || !made && done != 2 {
				t.Fatalf("%s, before effect %d: %s", plan, k, said(out))
			}
			if s.has(sc.plan.ID) == made {
				t.Fatalf("before effect %d: a run that changed nothing is in the history, or another is not", k)
			}
			if _, err := undo.do(s); err != nil && !made {
				t.Fatalf("before effect %d: %v", k, err)
			}
			if stays := s.at("/lib/x/2") != 0; stays != made || s.at("/lib/x/1") != 0 || s.at("/src/b") == 0 {
				t.Fatalf("%s, before effect %d: made %t: %v", plan, k, made, all(s, false))
			}
			if s.effects < k {
				break
			}
		}
		if theirs == 0 {
			t.Errorf("%s: theirs was never there first", plan)
		}
	}
}

// Somebody else writes the same file at every moment between two effects: whichever is first stays as it is, the unit
// goes on, and undoing removes only what is ours.
func TestFilesWrittenByOthersStay(t *testing.T) {
	for _, world := range []traits{{}, {noRename: true}, {loose: true}} {
		left := 0
		for k := 1; ; k++ {
			sc := drawn(world, "/lib", "a", "a = x/1, ! x/n.nfo; ! n.nfo")
			if world.loose {
				sc.plan.Units[0].Ops[0].Verb, sc.plan.Units[0].Ops[0].Inode = organize.VerbMove, 0
			}
			apply, _, undo := sc.actions()
			s := sc.clone()
			s.before = func(effect int, _ string) {
				if effect == k && s.at("/lib/n.nfo") == 0 {
					s.add("/lib/n.nfo", "theirs")
				}
			}
			out, err := apply.do(s)
			if err != nil || out.Unfinished {
				t.Fatalf("before effect %d: %+v %v", k, out, err)
			}
			s.before = nil
			theirs := s.nodes[s.at("/lib/n.nfo")].data == "theirs"
			want := "a done, n.nfo done, n.nfo done"
			if theirs {
				left++
				want = "a done, n.nfo done, n.nfo left foreign_nfo"
			}
			if diff := cmp.Diff(want, said(out)); diff != "" {
				t.Fatalf("before effect %d: %s", k, diff)
			}
			if out, err := undo.do(s); err != nil || out.Count(StatusNotRestored) > 0 {
				t.Fatalf("before effect %d: %+v %v", k, out, err)
			}
			if stays := s.at("/lib/n.nfo") != 0; stays != theirs || s.at("/src/a") == 0 {
				t.Fatalf("before effect %d: %v", k, all(s, false))
			}
			if s.effects < k {
				break
			}
		}
		if left < 5 {
			t.Errorf("theirs was there first %d times", left)
		}
	}
}

// A disk that is full stops a run after the third file in a row, and each of them is where it was.
func TestAFullDiskStopsTheRun(t *testing.T) {
	sc := drawn(traits{}, "/lib", "1 2 3 4 5 6", "1 > a; 2 > b; 3 > c; 4 > d; 5 > e; 6 > f")
	s := sc.clone()
	apply, resume, undo := sc.actions()
	s.fail = func(name string) error {
		if s.at("/lib/b") != 0 && strings.HasPrefix(name, "rename") {
			return syscall.ENOSPC
		}
		return nil
	}
	out, err := apply.do(s)
	if err != nil || !out.Unfinished || asProblem(out.StopCause).Code != CodeNoSpace {
		t.Fatalf("%+v %v", out, err)
	}
	want := "1 done, 2 done, 3 failed no_space, 4 failed no_space, 5 failed no_space, 6 planned"
	if diff := cmp.Diff(want, said(out)); diff != "" {
		t.Error(diff)
	}
	c := &checker{t: t, sc: sc, before: all(sc.sim, true)}
	whole := sc.clone()
	_, _ = apply.do(whole)
	c.after = all(whole, false)
	c.ends(s, resume, "there is room again")
	c.ends(s, undo, "given up")
}

// A small file that still fits is rolled back with its unit, so it does not reset the count.
func TestAFullDiskCountsUnits(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a 1 b 2 c 3 d 4", "a > a, 1 > 1; b > b, 2 > 2; c > c, 3 > 3; d > d, 4 > 4")
	s := sc.clone()
	s.fail = func(name string) error {
		if large := strings.Fields(name + " 0")[1]; large >= "1" && large <= "9" && strings.HasPrefix(name, "rename") {
			return syscall.ENOSPC
		}
		return nil
	}
	apply, _, _ := sc.actions()
	out, err := apply.do(s)
	if err != nil || !out.Unfinished || out.Count(StatusFailed) != 3 || out.Count(StatusPlanned) != 2 {
		t.Fatalf("%s %v", said(out), err)
	}
	if diff := cmp.Diff(all(sc.sim, false), all(s, false)); diff != "" {
		t.Error(diff)
	}
}

// A file system without symbolic links refuses each of them, and the run ends.
func TestAFileSystemHasNoSymbolicLinks(t *testing.T) {
	s := drawn(traits{}, "/lib", "1 2 3 4", "1 @ a; 2 @ b; 3 @ c; 4 @ d")
	s.sim.fail = func(effect string) error {
		if strings.HasPrefix(effect, "symlink") {
			return syscall.ENOSYS
		}
		return nil
	}
	apply, _, _ := s.actions()
	out, err := apply.do(s.sim)
	if err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	want := "1 refused no_symlink, 2 refused no_symlink, 3 refused no_symlink, 4 refused no_symlink"
	if diff := cmp.Diff(want, said(out)); diff != "" {
		t.Error(diff)
	}
}

type othersFiles struct{ *sim }

func (othersFiles) MayLink(Info) bool { return false }

// Where the system allows no hard links to a file, its owner is what the user has to know of.
func TestFilesOfOthersCantBeLinked(t *testing.T) {
	s := drawn(traits{}, "/lib", "1", "1 = a")
	engine := engineOf(s.sim)
	engine.System = othersFiles{s.sim}
	out, err := engine.Apply(context.Background(), s.plan, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := out.Results[0].Problem; p == nil || !strings.Contains(p.Error(), "run anivault as the file's owner") {
		t.Errorf("%v", p)
	}
}

// A move to a disk that is full leaves the source: where it is seen before, and where it is found out while copying.
func TestTheSourceStaysWhereTheTargetIsFull(t *testing.T) {
	for name, full := range map[string]func(s *sim){
		"seen before": func(s *sim) { s.room = 5 },
		"found out": func(s *sim) {
			s.fail = func(effect string) error {
				if effect == "write" && len(s.nodes[s.at("/far")].kids) > 0 { // its part
					return syscall.ENOSPC
				}
				return nil
			}
		},
	} {
		sc := drawn(traits{}, "/far", "a", "a > x")
		s := sc.clone()
		full(s)
		out, err := engineOf(s).Apply(context.Background(), sc.plan, Options{})
		if err != nil || len(out.Results) != 1 || out.Results[0].Problem == nil ||
			out.Results[0].Problem.Code != CodeNoSpace {
			t.Errorf("%s: %+v %v", name, out, err)
		}
		if diff := cmp.Diff(all(sc.sim, false), all(s, false)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Where there is room for some of the copies, --partial makes those.
func TestPartialCopiesFilesThatFit(t *testing.T) {
	sc := drawn(traits{room: 30}, "/far", "a b c", "a > x; b > y; c : z")
	for partial, want := range map[bool]string{
		false: "a planned, b planned, c refused no_space",
		true:  "a done, b done, c refused no_space",
	} {
		out, err := engineOf(sc.clone()).Apply(context.Background(), sc.plan, Options{Partial: partial})
		if err != nil || said(out) != want {
			t.Errorf("%s, not %s: %v", said(out), want, err)
		}
	}
}

// A copy of a file that can't be read is refused before anything is changed, and so is its move to another disk.
func TestUnreadableSourcesAreRefusedInAdvance(t *testing.T) {
	for _, row := range []struct{ target, sign, want string }{
		{"/lib", ":", "a planned, b refused not_permitted"},
		{"/far", ">", "a planned, b refused not_permitted"},
		{"/lib", ">", "a done, b done"}, // nothing is read
	} {
		sc := drawn(traits{}, row.target, "a b", "a "+row.sign+" x; b "+row.sign+" y")
		sc.sim.nodes[sc.sim.at("/src/b")].sealed = true
		apply, _, _ := sc.actions()
		out, err := apply.do(sc.sim)
		if err != nil || said(out) != row.want || sc.sim.has(sc.plan.ID) != (out.Count(StatusDone) > 0) {
			t.Errorf("%s %s: %+v %v", row.target, row.sign, out, err)
		}
	}
}

// A run that is asked to end at any moment ends between two files, a copy under way is given up, and both ways on work.
func TestInterrupted(t *testing.T) {
	sc := drawn(traits{}, "/far", "a b c", "a > 1; b : 2; c @ 3")
	_, resume, undo := sc.actions()
	c := &checker{t: t, sc: sc, before: all(sc.sim, true), contents: contentsOf(sc.sim)}
	whole := sc.clone()
	if out, err := engineOf(whole).Apply(context.Background(), sc.plan, Options{}); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	c.after = all(whole, false)
	cut := 0
	for k := 1; ; k++ {
		ctx, cancel := context.WithCancel(context.Background())
		s := sc.clone()
		s.before = func(effect int, _ string) {
			if effect == k {
				cancel()
			}
		}
		out, err := engineOf(s).Apply(ctx, sc.plan, Options{})
		cancel()
		s.before = nil
		when := fmt.Sprintf("interrupted at effect %d", k)
		if err != nil || out.Count(StatusFailed)+out.Count(StatusRefused) > 0 {
			t.Fatalf("%s: %+v %v", when, out, err)
		}
		if strings.Contains(strings.Join(all(s, false), "\n"), ".part ") {
			t.Fatalf("%s: a part is left:\n%s", when, strings.Join(all(s, false), "\n"))
		}
		if out.Unfinished {
			cut++
			c.told(s, out, when)
			c.ends(s, resume, when)
			c.ends(s, undo, when)
		}
		if s.effects < k {
			break
		}
	}
	if cut < 10 {
		t.Errorf("only %d were interrupted", cut)
	}
}

// What can't be put back safely is kept, with its reason, and all else is put back.
func TestFilesThatUndoKeeps(t *testing.T) {
	for _, row := range []struct {
		name, files, plan string
		then              func(s *sim)
		want              string
		left              string // what is there then
	}{
		{
			"the source's name is taken", "a b", "a > x; b > y",
			func(s *sim) { s.add("/src/a", "theirs") }, "a kept occupied, b undone", "/lib/x /src/a /src/b",
		},
		{
			"the target is gone", "a b", "a > x; b > y",
			func(s *sim) { s.remove("/lib/x") }, "a kept moved_on, b undone", "/src/b",
		},
		{
			"the target is another file", "a b", "a > x; b > y",
			func(s *sim) { s.remove("/lib/x"); s.add("/lib/x", "theirs") }, "a kept moved_on, b undone", "/lib/x /src/b",
		},
		{
			"the target was edited: it goes back as it is", "a", "a > x",
			func(s *sim) { s.nodes[s.at("/lib/x")].data = "edited" }, "a undone", "/src/a",
		},
		{
			"the original of a hard link is gone: it is the last name", "a b", "a = x; b = y",
			func(s *sim) { s.remove("/src/a") }, "a kept original_gone, b undone", "/lib/x /src/b",
		},
		{
			"the original was replaced", "a", "a = x",
			func(s *sim) { s.remove("/src/a"); s.add("/src/a", "theirs") }, "a kept original_gone", "/lib/x /src/a",
		},
		{
			"the link was removed", "a", "a = x", func(s *sim) { s.remove("/lib/x") }, "a kept gone", "/src/a",
		},
		{
			"the link was replaced", "a", "a = x",
			func(s *sim) { s.remove("/lib/x"); s.add("/lib/x", "theirs") }, "a kept replaced", "/lib/x /src/a",
		},
		{
			"a symbolic link was removed", "a b", "a @ x; b @ y",
			func(s *sim) { s.remove("/lib/x") }, "a kept gone, b undone", "/src/a /src/b",
		},
		{
			"a symbolic link was replaced", "a", "a @ x",
			func(s *sim) { s.remove("/lib/x"); s.add("/lib/x", "theirs") }, "a kept replaced", "/lib/x /src/a",
		},
		{
			"a copy was removed", "a", "a : x", func(s *sim) { s.remove("/lib/x") }, "a kept gone", "/src/a",
		},
		{
			"somebody put a file into a folder of ours", "a", "a > New/x",
			func(s *sim) { s.add("/lib/New/theirs", "theirs") }, "a undone", "/lib/New/theirs /src/a",
		},
		{
			"a copy was edited", "a b", "a : x; b : y",
			func(s *sim) { s.nodes[s.at("/lib/x")].data = "edited" }, "a kept edited, b undone", "/lib/x /src/a /src/b",
		},
		{
			"the original of a copy is gone", "a", "a : x",
			func(s *sim) { s.remove("/src/a") }, "a kept original_gone", "/lib/x",
		},
		{
			"the original of a copy was edited", "a", "a : x",
			func(s *sim) { s.nodes[s.at("/src/a")].data = "edited" }, "a kept edited", "/lib/x /src/a",
		},
		{
			"a copy was replaced", "a", "a : x",
			func(s *sim) { s.remove("/lib/x"); s.add("/lib/x", "theirs") }, "a kept replaced", "/lib/x /src/a",
		},
		{
			"what was written was edited, as a scraper does", "a", "a = x, ! n.nfo",
			func(s *sim) { s.nodes[s.at("/lib/n.nfo")].data += " " }, "a undone, n.nfo kept edited", "/lib/n.nfo /src/a",
		},
		{
			"what was written is gone", "a", "a = x, ! n.nfo",
			func(s *sim) { s.remove("/lib/n.nfo") }, "a undone, n.nfo kept gone", "/src/a",
		},
		{
			"something else is where it was written", "a", "a = x, ! n.nfo",
			func(s *sim) {
				s.remove("/lib/n.nfo")
				s.add("/lib/n.nfo/theirs",
					"theirs")
			}, "a undone, n.nfo kept moved_on", "/lib/n.nfo/theirs /src/a",
		},
		{
			"it was not written", "a", "a = x, !404 n.nfo", func(*sim) {}, "a undone", "/src/a",
		},
		{
			"one of three is gone", "1 2 3", "1 > 2; 2 > 3; 3 > 1",
			func(s *sim) { s.remove("/lib/2") }, "1 kept moved_on, 2 undone, 3 undone", "/src/2 /src/3",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			sc := drawn(traits{}, "/lib", row.files, row.plan)
			apply, _, undo := sc.actions()
			s := sc.clone()
			if out, err := apply.do(s); err != nil || out.Unfinished {
				t.Fatalf("%+v %v", out, err)
			}
			row.then(s)
			foreseen, err := foresee(s.clone(), sc.plan.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			out, err := undo.do(s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, said(out)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(row.want, said(foreseen)); diff != "" {
				t.Error("foreseen: " + diff)
			}
			var left []string
			for _, line := range all(s, false) {
				if name, rest, _ := strings.Cut(line, " "); strings.Contains(rest, `"`) {
					left = append(left, name)
				}
			}
			slices.Sort(left)
			if diff := cmp.Diff(row.left, strings.Join(left, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// said has the reported result of each file.
func said(out *Outcome) string {
	var lines []string
	for _, r := range out.Results {
		line := path.Base(r.Source)
		if r.Source == "" {
			line = path.Base(r.Target)
		}
		line += " " + string(r.Status)
		if r.Problem != nil {
			line += " " + string(r.Problem.Code)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// remove takes a name away as another program could.
func (s *sim) remove(p string) {
	s.nodes[s.at(p)].links--
	delete(s.nodes[s.at(path.Dir(p))].kids, path.Base(p))
}

// What verifying says of what others have done, and of content that is not what a name or the copying said.
func TestVerify(t *testing.T) {
	const named = "n[8D7F2A11].mkv"
	for _, row := range []struct {
		name, files, plan string
		then              func(s *sim)
		want, deep        string
	}{
		{"nothing", "a b c", "a > x; b = y; c : z", func(*sim) {}, "a ok, b ok, c ok", "a ok, b ok, c ok"},
		{"links", "a b", "a @ x; b @ y", func(s *sim) { s.remove("/lib/x") }, "a gone, b ok", "a gone, b ok"},
		{"gone and replaced", "a b", "a > x; b : y", func(s *sim) {
			s.remove("/lib/x")
			s.remove("/lib/y")
			s.add("/lib/y", "theirs")
		}, "a gone, b replaced", "a gone, b replaced"},
		{"edited", "a b", "a > x; b : y", func(s *sim) {
			s.nodes[s.at("/lib/x")].mtime++
			s.nodes[s.at("/lib/y")].data = "longer than it was"
		}, "a edited, b edited", "a edited, b edited"},
		{"what was written", "a", "a = x, ! n.nfo, ! m.nfo, ! o.nfo, !404 p.nfo", func(s *sim) {
			s.nodes[s.at("/lib/n.nfo")].data = "<tvshow/>"
			s.remove("/lib/o.nfo")
			s.add("/lib/o.nfo/", "")
		}, "a ok, m.nfo ok, n.nfo edited, o.nfo replaced", "a ok, m.nfo ok, n.nfo edited, o.nfo replaced"},
		{
			"a bit has flipped in a copy", "a", "a : x", func(s *sim) { s.nodes[s.at("/lib/x")].data = "content of b" }, "a ok",
			"a edited",
		},
		{"a CRC-32 in the name that is another's", named, named + " > x", func(*sim) {}, named + " ok", named + " bad_crc"},
		{
			"a CRC-32 in the name that is the video's", "n[8D7F2A11].ko.ass", "n[8D7F2A11].ko.ass > x", func(*sim) {},
			"n[8D7F2A11].ko.ass ok", "n[8D7F2A11].ko.ass ok",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			sc := drawn(traits{}, "/lib", row.files, row.plan)
			apply, _, _ := sc.actions()
			s := sc.clone()
			if out, err := apply.do(s); err != nil || out.Unfinished {
				t.Fatalf("%+v %v", out, err)
			}
			row.then(s)
			for _, deep := range []bool{false, true} {
				out, err := engineOf(s).Verify(context.Background(), sc.plan.ID, deep)
				if err != nil {
					t.Fatal(err)
				}
				want := row.want
				if deep {
					want = row.deep
				}
				if diff := cmp.Diff(want, said(out)); diff != "" {
					t.Errorf("deep %v: %s", deep, diff)
				}
			}
		})
	}
}

// A file that a later run has moved is kept, and that run is named; it is put back first.
func TestALaterRunIsNamed(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a", "a > x")
	s := sc.clone()
	apply, _, undo := sc.actions()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	root, _ := s.Root("/lib")
	info := s.info(s.at("/lib/x"))
	second := &organize.Plan{
		ID: "20261123-020431-zzzz", Mode: organize.ModeMove, Layout: "plex",
		Sources: []organize.Root{root}, Targets: []organize.Root{root},
	}
	second.Units = []organize.Unit{{Dir: ".", Ops: []organize.Op{{
		Verb: organize.VerbMove, Size: info.Size, MTime: info.MTime, Inode: info.Inode, Source: "x", To: "y",
	}}}}
	e := engineOf(s)
	e.Now = func() time.Time { return time.Unix(1_800_000_100, 0) }
	if out, err := e.Apply(context.Background(), second, Options{}); err != nil || out.Count(StatusDone) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	verified, err := e.Verify(context.Background(), sc.plan.ID, false)
	if err != nil || verified.Results[0].Status != StatusMovedAway || verified.Results[0].Problem.Run != second.ID {
		t.Errorf("%+v %v", verified, err)
	}
	out, err := undo.do(s)
	if err != nil || said(out) != "a kept moved_on" || out.Results[0].Problem.Run != second.ID {
		t.Errorf("%+v %v", out, err)
	}
	if _, err := e.Undo(context.Background(), second.ID, UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if out, err := undo.do(s); err != nil || said(out) != "a undone" {
		t.Errorf("%+v %v", out, err)
	}
}

// Reading a film takes minutes: who ends verifying does not wait for it.
func TestVerifyEndsWhileAFileIsRead(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a : x; b : y")
	s := sc.clone()
	if out, err := engineOf(s).Apply(context.Background(), sc.plan, Options{}); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	reads := 0
	s.onRead = func() { reads++ }
	if out, err := engineOf(s).Verify(context.Background(), sc.plan.ID, true); err != nil || said(out) != "a ok, b ok" {
		t.Fatalf("%+v %v", out, err)
	}
	for left := range 2 { // of the files to be read
		ctx, cancel := context.WithCancel(context.Background())
		at := reads - left
		s.onRead = func() {
			if at--; at == 0 {
				cancel()
			}
		}
		if out, err := engineOf(s).Verify(ctx, sc.plan.ID, true); out != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%d left: %+v %v", left, out, err)
		}
		cancel()
	}
}

// Of an interrupted run verifying tells what it has not done, and of an undo that was interrupted what is back; nothing
// of it is gone.
func TestVerifyOfInterruptedRuns(t *testing.T) {
	sc := drawn(traits{}, "/src", "a b c d e f", "a > b, b > a; c > x; d = y; e : z; f @ w, ! n.nfo")
	apply, _, undo := sc.actions()
	s := sc.clone()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	c := &checker{t: t, sc: sc}
	seen := map[Status]int{}
	look := func(s *sim, when string) {
		e := engineOf(s)
		if !s.has(sc.plan.ID) {
			return
		}
		j, err := openJournal(e.Journals, sc.plan.ID, false)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			out, err := e.Verify(context.Background(), sc.plan.ID, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range out.Results {
				want := StatusPlanned
				if strings.Contains(when, "undo") {
					want = StatusUndone
				}
				if r.Status != StatusOK && r.Status != want {
					t.Errorf("%s: %s", when, said(out))
				}
				seen[r.Status]++
			}
			if !j.progress.stage.IsUnfinished() {
				return
			}
			if err := e.Abandon(sc.plan.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.kills(sc.sim, apply, "before", look)
	c.kills(s, undo, "done", look)
	if seen[StatusOK] == 0 || seen[StatusPlanned] == 0 || seen[StatusUndone] == 0 {
		t.Error(seen)
	}
}
