package apply

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

// onlyOf chooses files by the last parts of their sources.
func onlyOf(names string) func(source, target string) bool {
	return func(source, _ string) bool {
		return slices.ContainsFunc(strings.Fields(names), func(n string) bool { return strings.HasSuffix(source, "/"+n) })
	}
}

func undoOnly(s *sim, id, names string, dry bool) (*Outcome, error) {
	if dry {
		return foresee(s, id, onlyOf(names))
	}
	return engineOf(s).Undo(context.Background(), id, UndoOptions{Only: onlyOf(names)})
}

// foresee tries an undo, and returns what it says in the words of one that was done.
func foresee(s *sim, id string, only func(source, target string) bool) (*Outcome, error) {
	out, err := engineOf(s).Undo(context.Background(), id, UndoOptions{Only: only, DryRun: true})
	if err != nil {
		return nil, err
	}
	for i := range out.Results {
		r := &out.Results[i]
		if r.Status == StatusUndone {
			return nil, fmt.Errorf("%s is reported as put back, but nothing was done", r.Target)
		}
		if r.Status == StatusPlanned {
			r.Status = StatusUndone
		}
	}
	return out, nil
}

// told is what history and verify say of a run.
func told(t *testing.T, s *sim, id string) string {
	t.Helper()
	run, shown, err := engineOf(s).Show(id)
	if err != nil {
		t.Fatal(err)
	}
	verified, err := engineOf(s).Verify(context.Background(), id, false)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %d undone %d kept: %s; %s", run.Stage, run.Undone, run.NotRestored, said(shown), said(verified))
}

// After the clock was set back, the last run is still the one that an undo without an ID means.
func TestTheLastRunIsTheLastAlsoIfTheClockWasSetBack(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a", "a > x")
	s := sc.clone()
	for hours := range int64(3) {
		e := engineOf(s)
		e.Now = func() time.Time { return time.Unix(1_800_000_000-hours*3600, 0) }
		out, err := e.Apply(context.Background(), sc.plan, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if runs, err := e.History(); err != nil || runs[0].ID != out.Run {
			t.Errorf("not %s: %+v %v", out.Run, runs, err)
		}
		if _, err := e.Undo(context.Background(), out.Run, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// What was put back stays put back: history and verify say so, and neither the rest of the undo nor another run's files
// are mistaken for it.
func TestAPartIsPutBack(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b c d", "a > x, b > y; c = z; d : w")
	s, id := sc.clone(), sc.plan.ID
	apply, _, undo := sc.actions()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	const (
		moved  = "a /lib/x true, b /lib/y true, "
		linked = moved + "c /lib/z false, d /lib/w false"
		back   = moved + "c /lib/z true, d /lib/w false"
	)
	for _, row := range []struct{ only, undone, told, placed string }{
		{"a", "a undone, b undone", "done 2 undone 0 kept: a undone, b undone, c done, d done; c ok, d ok", linked},
		{"a", "", "done 2 undone 0 kept: a undone, b undone, c done, d done; c ok, d ok", linked},
		{"c", "c undone", "done 3 undone 0 kept: a undone, b undone, c undone, d done; d ok", back},
	} {
		for _, dry := range []bool{true, false} {
			if out, err := undoOnly(s, id, row.only, dry); err != nil || said(out) != row.undone {
				t.Fatalf("undo of %s: %+v %v", row.only, out, err)
			}
		}
		if diff := cmp.Diff(row.told, told(t, s, id)); diff != "" {
			t.Errorf("%s: %s", row.only, diff)
		}
		placed, err := engineOf(s).PlacedFiles(id)
		var got []string
		for _, p := range placed {
			for _, name := range []string{"a", "b", "c", "d"} {
				if i := s.info(s.at("/src/" + name)); p.Source == (FileIdentity{i.Inode, i.Size, i.MTime}) {
					got = append(got, fmt.Sprint(name, " ", p.Target, " ", p.Undone))
				}
			}
		}
		if diff := cmp.Diff(row.placed, strings.Join(got, ", ")); diff != "" || err != nil {
			t.Errorf("%s: %v %s", row.only, err, diff)
		}
	}
	s.also("/src/c", "/lib/z") // as a later run would
	if out, err := undo.do(s); err != nil || said(out) != "d undone" {
		t.Errorf("%+v %v", out, err)
	}
	if diff := cmp.Diff("undone 4 undone 0 kept: a undone, b undone, c undone, d undone; ", told(t, s, id)); diff != "" {
		t.Error(diff)
	}
	if s.at("/lib/z") == 0 {
		t.Error("the link of a later run is gone")
	}
}

// What was kept is tried again, and nothing else.
func TestKeptFilesAreTriedAgain(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a = x; b = y")
	s, id := sc.clone(), sc.plan.ID
	apply, _, undo := sc.actions()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	s.remove("/src/a")
	if out, err := undo.do(s); err != nil || said(out) != "a kept original_gone, b undone" {
		t.Fatalf("%+v %v", out, err)
	}
	if diff := cmp.Diff("kept 1 undone 1 kept: a kept original_gone, b undone; a ok", told(t, s, id)); diff != "" {
		t.Error(diff)
	}
	s.also("/src/b", "/lib/y") // as a later run would
	if out, err := undo.do(s); err != nil || said(out) != "a kept original_gone" || s.at("/lib/y") == 0 {
		t.Errorf("%+v %v", out, err)
	}
	s.also("/lib/x", "/src/a")
	if out, err := undo.do(s); err != nil || said(out) != "a undone" {
		t.Errorf("%+v %v", out, err)
	}
	if diff := cmp.Diff("undone 2 undone 0 kept: a undone, b undone; ", told(t, s, id)); diff != "" {
		t.Error(diff)
	}
}

// An undo that was interrupted behind a file that it keeps is unfinished, and says so.
func TestKilledBehindAFileThatIsKept(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a > x; b > y")
	apply, _, undo := sc.actions()
	s := sc.clone()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	s.add("/src/b", "theirs")
	c := &checker{t: t, sc: sc}
	kept := 0
	c.kills(s, undo, "b kept", func(s *sim, when string) {
		run, out, err := engineOf(s).Show(sc.plan.ID)
		if err != nil || out.Unfinished != run.Stage.IsUnfinished() || run.Stage != StageUndoing && run.Stage != StageDone &&
			run.Undone == 0 {
			t.Errorf("%s: %+v %v", when, run, err)
		}
		kept += run.NotRestored
	})
	if kept == 0 {
		t.Error("never killed behind it")
	}
}

// Putting a part back can be interrupted anywhere: then all can be put back, or gone on with.
func TestKilledWhileAPartIsPutBack(t *testing.T) {
	for _, plan := range []string{"a > x; b = y; c : z", "a > b, b > a; c > d"} {
		sc := drawn(traits{}, "/lib", "a b c", plan)
		if strings.Contains(plan, ",") {
			sc = drawn(traits{}, "/src", "a b c", plan)
		}
		apply, resume, undo := sc.actions()
		whole := sc.clone()
		if out, err := apply.do(whole); err != nil || out.Unfinished {
			t.Fatalf("%+v %v", out, err)
		}
		c := &checker{t: t, sc: sc, before: all(sc.sim, true), after: all(whole, false), contents: contentsOf(sc.sim)}
		part := action{"undo of a part", func(s *sim) (*Outcome, error) { return undoOnly(s, sc.plan.ID, "a", false) }}
		c.kills(whole, part, plan, func(s *sim, when string) {
			c.ends(s, undo, when)
			if j, err := openJournal(engineOf(s).Journals, sc.plan.ID, false); err == nil && j.progress.stage == StageUndoing {
				if !slices.ContainsFunc(j.progress.files, func(f fileProgress) bool { return f.undone }) {
					c.ends(s, resume, when)
				}
			}
		})
		if c.runs < 5 {
			t.Errorf("killed %d times", c.runs)
		}
	}
}

// An undo that is only tried says of every file what an undo then does, whatever others have done since.
func TestUndoDryRunPredictsTheUndo(t *testing.T) {
	tried := 0
	for name, world := range worlds {
		for seed := range uint64(max(*trees, 12)) {
			sc := newScene(seed, world)
			if sc.plan = parsed(sc.plan); sc.plan == nil {
				continue
			}
			done := sc.clone()
			apply, _, undo := sc.actions()
			if out, err := apply.do(done); err != nil || out.Unfinished || !done.has(sc.plan.ID) {
				continue
			}
			for k := range 24 {
				s := done.clone()
				c := &checker{t: t, sc: sc}
				meddleAfter(c, s, k)
				was := all(s, true)
				foreseen, err := foresee(s, sc.plan.ID, nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(was, all(s, true)); diff != "" {
					t.Fatalf("looking has changed something: %s", diff)
				}
				out, err := undo.do(s)
				if err != nil {
					t.Fatal(err)
				}
				if out.Unfinished {
					continue // the disk failed three times in a row
				}
				tried++
				if diff := cmp.Diff(said(out), said(foreseen)); diff != "" {
					t.Errorf("%s, seed %d, %d (-done +foreseen): %s\n%s", name, seed, k, diff, strings.Join(was, "\n"))
				}
			}
		}
	}
	t.Logf("%d undos", tried)
}

// meddleAfter changes what a run has left, as others could.
func meddleAfter(c *checker, s *sim, k int) {
	unit := &c.sc.plan.Units[k%len(c.sc.plan.Units)]
	op := &unit.Ops[k/3%len(unit.Ops)]
	source, target := s.stored(c.sc.plan.SourcePath(unit, op)), s.stored(c.sc.plan.TargetPath(unit, op))
	isFile := func(p string) bool { n := s.nodes[s.at(p)]; return n != nil && n.kids == nil }
	folder := func(p string) *node { return s.nodes[s.at(p[:strings.LastIndexByte(p, '/')])] }
	switch k % 7 {
	case 0:
		if isFile(target) {
			s.remove(target)
		}
	case 1:
		if s.at(source) == 0 && folder(source) != nil && folder(source).kids != nil {
			s.add(source, "theirs")
		}
	case 2:
		if isFile(target) {
			s.nodes[s.at(target)].data, s.nodes[s.at(target)].mtime = "edited", s.clock+4
		}
	case 3:
		if isFile(target) {
			s.remove(target)
			s.add(target, "theirs")
		}
	case 4:
		if isFile(source) {
			s.remove(source)
		}
	case 5:
		if n := folder(target); n != nil {
			n.sealed = true
		}
	case 6:
		if n := folder(source); n != nil {
			n.sealed = true
		}
	}
}

// A file is brought back to another file system only if all that has to be has room there.
func TestRoomToBringFilesBack(t *testing.T) {
	sc := drawn(traits{}, "/far", "a b c", "a > x; b > y; c : z")
	s := sc.clone()
	apply, _, undo := sc.actions()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	s.room = int64(len("content of a")) + 3
	out, err := undo.do(s)
	if want := "a kept no_space, b kept no_space, c undone"; err != nil || said(out) != want {
		t.Fatalf("%s, not %s: %v", said(out), want, err)
	}
	s.room = 0
	if out, err := undo.do(s); err != nil || said(out) != "a undone, b undone" {
		t.Errorf("%s %v", said(out), err)
	}
	if diff := cmp.Diff(all(sc.sim, true), all(s, true)); diff != "" {
		t.Error(diff)
	}
}

// A run that was interrupted stands in the way of all others until it is gone on with, put back or given up; where its
// disk is gone, the error says so. One that was given up can still be put back when the disk has come again.
func TestARunIsGivenUp(t *testing.T) {
	sc := drawn(traits{}, "/far", "a b", "a > x; b > y")
	_, _, undo := sc.actions()
	s := sc.clone()
	s.fail = func(name string) error {
		if strings.HasPrefix(name, "rename") && s.at("/far/x") != 0 {
			return syscall.EIO
		}
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.before = func(int, string) {
		if s.at("/far/x") != 0 {
			cancel()
		}
	}
	if out, err := engineOf(s).Apply(ctx, sc.plan, Options{}); err != nil || !out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	cancel()
	s.fail, s.before = nil, nil

	next := drawn(traits{}, "/lib", "a b", "b > n").plan
	next.ID = "20261123-020431-next"
	far := s.nodes[1].kids["far"]
	delete(s.nodes[1].kids, "far")
	_, err := engineOf(s).Apply(context.Background(), next, Options{})
	cut, ok := errors.AsType[*UnfinishedError](err)
	if !ok || cut.Run != sc.plan.ID || cut.MountErr == nil {
		t.Fatalf("%v", err)
	}
	_, err = undo.do(s)
	if gone, ok := errors.AsType[*MountError](err); !ok || gone.Run != sc.plan.ID || !gone.Interrupted {
		t.Fatalf("%v", err)
	}
	if err := engineOf(s).Abandon(sc.plan.ID); err != nil {
		t.Fatal(err)
	}
	out, err := engineOf(s).Apply(context.Background(), next, Options{})
	if err != nil || said(out) != "b done" {
		t.Fatalf("%+v %v", out, err)
	}
	if out, err := engineOf(s).Undo(context.Background(), next.ID, UndoOptions{}); err != nil || said(out) != "b undone" {
		t.Fatalf("%+v %v", out, err)
	}
	s.nodes[1].kids["far"] = far
	if out, err := undo.do(s); err != nil || out.Count(StatusNotRestored) > 0 {
		t.Fatalf("%+v %v", out, err)
	}
	if diff := cmp.Diff(sc.contents("/src"), s.contents("/src")); diff != "" {
		t.Error(diff)
	}
	if runs, err := engineOf(s).Prune(engineOf(s).Now().AddDate(1, 0, 0)); err != nil || len(runs) != 2 {
		t.Errorf("%v %v", runs, err)
	}
}

// A copy is compared with the CRC-32 in its name while it is written, and what it can't keep is reported; it is made
// all the same.
func TestWarningsWhileCopying(t *testing.T) {
	const content = "the content of this file!" // as long as drawn makes it
	right := fmt.Sprintf("[%08X].mkv", crc32.ChecksumIEEE([]byte(content)))
	for _, row := range []struct {
		target, how string
		bad, bare   int
	}{
		{"/far", ":", 1, 2},
		{"/far", ">", 1, 2},
		{"/lib", "=", 0, 0},
		{"/far", "@", 0, 0},
	} {
		sc := drawn(traits{bare: true}, row.target, "n[8D7F2A11].mkv "+right,
			fmt.Sprintf("n[8D7F2A11].mkv %s x; %s %[1]s y", row.how, right))
		if n := sc.nodes[sc.at("/src/"+right)]; len(n.data) != len(content) {
			t.Fatalf("%q is not as long", n.data)
		} else {
			n.data = content
		}
		out, err := engineOf(sc.sim).Apply(context.Background(), sc.plan, Options{})
		if err != nil || out.Count(StatusDone) != 2 || len(out.BadCRC) != row.bad || len(out.LostAttributes) != row.bare {
			t.Errorf("%s: %+v %v", row.how, out, err)
		}
	}
}

// What an interrupted run has not come to is not told as put back, neither by its undo nor by the history.
func TestFilesThatNeverMovedAreNotPutBack(t *testing.T) {
	for _, row := range []struct{ name, target, files, plan string }{
		{"moves, links, copies", "/lib", "a b c d", "a > 1; b = 2; c : 3; d @ 4"},
		{"what is written", "/lib", "a b", "a = x/1, ! x/tvshow.nfo; b = x/2"},
		{"a cycle", "/src", "1 2 3", "1 > 2; 2 > 3; 3 > 1"},
		{"to another file system", "/far", "a b", "a > 1; b > 2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			sc := drawn(traits{}, row.target, row.files, row.plan)
			id, seen := sc.plan.ID, map[int]bool{}
			apply, _, undo := sc.actions()
			c := &checker{t: t, sc: sc, contents: contentsOf(sc.sim)}
			c.kills(sc.sim, apply, row.name, func(s *sim, when string) {
				if !s.has(id) {
					return
				}
				_, shown, err := engineOf(s).Show(id)
				if err != nil {
					t.Fatal(err)
				}
				done := shown.Count(StatusDone)
				half := 0 // under a temporary name, or with a copy that has no name yet
				for _, line := range all(s, false) {
					if strings.Contains(line, "/.anivault-") {
						half = 1
					}
				}
				seen[done] = true
				foreseen, err := foresee(s, id, nil)
				if err != nil {
					t.Fatal(err)
				}
				out, err := undo.do(s)
				if err != nil {
					t.Fatal(err)
				}
				run, after, err := engineOf(s).Show(id)
				if err != nil {
					t.Fatal(err)
				}
				for what, n := range map[string]int{
					"undo": out.Count(StatusUndone), "foreseen": foreseen.Count(StatusUndone), "history": run.Undone,
					"files": after.Count(StatusUndone),
				} {
					if n < done || n > done+half {
						t.Errorf("%s: %s says that %d are back, %d were done", when, what, n, done)
					}
				}
				if run.Stage != StageUndone || run.Refused > 0 {
					t.Errorf("%s: %+v", when, run)
				}
			})
			if len(seen) < 2 {
				t.Errorf("only %d ways to be interrupted", len(seen))
			}
		})
	}
}

// If one file of a cycle of renames can't go back, the whole cycle stays: no file is left under a temporary name, and
// the dry run says the same.
func TestABrokenCycleStays(t *testing.T) {
	plans := map[string]string{"1 2 3": "1 > 2; 2 > 3; 3 > 1", "1 2 3 4": "1 > 2; 2 > 3; 3 > 4; 4 > 1"}
	for files, plan := range plans {
		for _, replaced := range strings.Fields(files) {
			for _, what := range []string{"replaced", "removed", "not selected"} {
				t.Run(plan+", "+replaced+" "+what, func(t *testing.T) {
					sc := drawn(traits{}, "/src", files, plan)
					apply, _, _ := sc.actions()
					s := sc.clone()
					if out, err := apply.do(s); err != nil || out.Unfinished {
						t.Fatalf("%+v %v", out, err)
					}
					var only func(source, target string) bool
					switch target := "/src/" + replaced; what {
					case "replaced":
						s.remove(target)
						s.add(target, "another's")
					case "removed":
						s.remove(target)
					default:
						only = func(_, to string) bool { return to != target }
					}
					foreseen, err := foresee(s, sc.plan.ID, only)
					if err != nil {
						t.Fatal(err)
					}
					out, err := engineOf(s).Undo(context.Background(), sc.plan.ID, UndoOptions{Only: only})
					if err != nil {
						t.Fatal(err)
					}
					if said(foreseen) != said(out) {
						t.Errorf("foreseen %s, was %s", said(foreseen), said(out))
					}
					for _, line := range all(s, false) {
						if strings.Contains(line, "/.anivault-") {
							t.Errorf("%s, after %s", line, said(out))
						}
					}
				})
			}
		}
	}
}

// If a copy stays because it or its original was changed, the result says which.
func TestWhichOfTwoWasChanged(t *testing.T) {
	for changed, want := range map[string]string{
		"/lib/x": "it has changed since",
		"/src/a": "it has changed since: the original, not the copy",
	} {
		t.Run(changed, func(t *testing.T) {
			sc := drawn(traits{}, "/lib", "a", "a : x")
			apply, _, undo := sc.actions()
			s := sc.clone()
			if out, err := apply.do(s); err != nil || out.Unfinished {
				t.Fatalf("%+v %v", out, err)
			}
			s.nodes[s.at(changed)].data = "edited"
			out, err := undo.do(s)
			if err != nil || said(out) != "a kept edited" || out.Results[0].Problem.Error() != want {
				t.Errorf("%+v %v", out, err)
			}
		})
	}
}

// A run that is put back in two parts leaves the times of before, and those of folders that somebody else has changed
// since stay.
func TestFoldersGetTheirTimesBack(t *testing.T) {
	for name, theirs := range map[string]bool{"nobody else was there": false, "somebody has added a file": true} {
		t.Run(name, func(t *testing.T) {
			sc := drawn(traits{}, "/lib", "a b", "a > Show/a; b > Show/b")
			apply, _, undo := sc.actions()
			s := sc.clone()
			if out, err := apply.do(s); err != nil || out.Unfinished {
				t.Fatalf("%+v %v", out, err)
			}
			changed := int64(0)
			if theirs {
				s.add("/lib/theirs", "theirs")
				changed = s.nodes[s.at("/lib")].mtime
			}
			if out, err := undoOnly(s, sc.plan.ID, "a", false); err != nil || said(out) != "a undone" {
				t.Fatalf("%+v %v", out, err)
			}
			if out, err := undo.do(s); err != nil || said(out) != "b undone" {
				t.Fatalf("%+v %v", out, err)
			}
			if !theirs {
				if diff := cmp.Diff(all(sc.sim, true), all(s, true)); diff != "" {
					t.Error(diff)
				}
			} else if s.nodes[s.at("/lib")].mtime < changed {
				t.Error("the folder has the time that it had before somebody changed it")
			}
		})
	}
}

// Only the owner of a folder may set its time, mode and owner. A run in folders of others, such as those of a group, is
// put back all the same, and its folders keep the times of the undo.
func TestFoldersOfOthersKeepTheirTimes(t *testing.T) {
	for _, errno := range []error{syscall.EPERM, syscall.EINVAL} {
		sc := drawn(traits{}, "/lib", "a", "a > Show/a")
		apply, _, undo := sc.actions()
		s := sc.clone()
		s.fail = func(effect string) error {
			if effect == "mtime" || effect == "owner" {
				return errno
			}
			return nil
		}
		if out, err := apply.do(s); err != nil || out.Unfinished {
			t.Fatalf("%v: %+v %v", errno, out, err)
		}
		if out, err := undo.do(s); err != nil || out.Unfinished || said(out) != "a undone" {
			t.Errorf("%v: %+v %v", errno, out, err)
		}
		if diff := cmp.Diff(all(sc.sim, false), all(s, false)); diff != "" {
			t.Errorf("%v: %s", errno, diff)
		}
	}
}

// Runs can be put back in any order: all files are where they were, though folders may keep a later time.
func TestAnOlderRunIsPutBackFirst(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a > Show/a; b > Show/b")
	s := sc.clone()
	first, second := *sc.plan, *sc.plan
	first.Units, second.Units = sc.plan.Units[:1], sc.plan.Units[1:]
	second.ID = "20261122-020432-k3f9"
	for _, p := range []*organize.Plan{&first, &second} {
		if out, err := engineOf(s).Apply(context.Background(), p, Options{}); err != nil || out.Count(StatusDone) != 1 {
			t.Fatalf("%+v %v", out, err)
		}
	}
	for _, p := range []*organize.Plan{&first, &second} {
		if out, err := engineOf(s).Undo(context.Background(), p.ID, UndoOptions{}); err != nil ||
			out.Count(StatusUndone) != 1 {
			t.Fatalf("%+v %v", out, err)
		}
	}
	if diff := cmp.Diff(sc.contents("/src"), s.contents("/src")); diff != "" {
		t.Error(diff)
	}
}

// A later run may have moved a file back to its old name. That run has to be undone first: otherwise its undo would
// bring back the name that a run gave which counts as put back.
func TestAFileThatALaterRunMovedBackIsKept(t *testing.T) {
	sc := drawn(traits{}, "/src", "a b", "a > x; b > y")
	s, back := sc.clone(), *sc.plan
	back.ID, back.Units = "20261122-020432-k3f9", slices.Clone(sc.plan.Units)
	for i := range back.Units {
		ops := slices.Clone(back.Units[i].Ops)
		ops[0].Source, ops[0].To = ops[0].To, ops[0].Source
		back.Units[i].Ops = ops
	}
	for _, p := range []*organize.Plan{sc.plan, &back} {
		if out, err := engineOf(s).Apply(context.Background(), p, Options{}); err != nil || out.Count(StatusDone) != 2 {
			t.Fatalf("%+v %v", out, err)
		}
	}
	for _, step := range []struct{ id, want string }{
		{sc.plan.ID, "a kept moved_on, b kept moved_on"},
		{back.ID, "x undone, y undone"},
		{sc.plan.ID, "a undone, b undone"},
	} {
		foreseen, err := foresee(s, step.id, nil)
		if err != nil || said(foreseen) != step.want {
			t.Errorf("foreseen: %s %v", said(foreseen), err)
		}
		out, err := engineOf(s).Undo(context.Background(), step.id, UndoOptions{})
		if err != nil || said(out) != step.want {
			t.Errorf("%s, want %s; %v", said(out), step.want, err)
		}
		if p := out.Results[0].Problem; p != nil && p.Run != back.ID {
			t.Errorf("%+v", p)
		}
	}
	if diff := cmp.Diff(sc.contents("/src"), s.contents("/src")); diff != "" {
		t.Error(diff)
	}
}

// A copy whose mark is damaged is no longer known to be the run's: its undo says so and leaves it, and puts back all
// others.
func TestACopyWithADamagedMarkIsKept(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a : x; b : y")
	apply, _, undo := sc.actions()
	s := sc.clone()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	node := s.nodes[s.at("/data/history/"+journalName(sc.plan.ID))]
	node.data = strings.Replace(node.data, `{"mark":"copied"`, `{"mark":"copies"`, 1)
	for _, undoes := range []func(*sim) (*Outcome, error){
		func(s *sim) (*Outcome, error) { return foresee(s, sc.plan.ID, nil) }, undo.do,
	} {
		if out, err := undoes(s); err != nil || said(out) != "a kept unproven, b undone" || out.DamagedMarks != 1 {
			t.Errorf("%+v %v", out, err)
		}
	}
	if s.at("/lib/x") == 0 || s.at("/lib/y") != 0 {
		t.Error(all(s, false))
	}
}

// The same where all marks are gone, so that the run seems to be interrupted before them.
func TestACopyWithoutItsMarksIsKept(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a : x; b : y")
	apply, _, undo := sc.actions()
	s := sc.clone()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	node := s.nodes[s.at("/data/history/"+journalName(sc.plan.ID))]
	node.data = node.data[:strings.Index(node.data, `{"mark"`)]
	out, err := undo.do(s)
	if err != nil || said(out) != "a kept unproven, b kept unproven" || s.at("/lib/x") == 0 {
		t.Errorf("%+v %v", out, err)
	}
}

// A run that is gone on with and whose marks are damaged does not take its copies for somebody else's: what it can't
// prove stays; the rollback reports it, and so does its undo.
func TestACopyWithADamagedMarkIsNotTakenForAnothers(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a : x; b : y")
	apply, resume, undo := sc.actions()
	for name, damage := range map[string]func(string) string{
		"a damaged mark": func(text string) string {
			text = strings.Replace(text, `{"mark":"copied"`, `{"mark":"copies"`, 1)
			return strings.Replace(text, `{"mark":"done"`, `{"mark":"dona"`, 1)
		},
		"a journal that was cut": func(text string) string { return text[:strings.Index(text, `{"mark":"copied"`)] },
	} {
		t.Run(name, func(t *testing.T) {
			s := sc.clone()
			if out, err := apply.do(s); err != nil || out.Unfinished {
				t.Fatalf("%+v %v", out, err)
			}
			node := s.nodes[s.at("/data/history/"+journalName(sc.plan.ID))]
			node.data = damage(node.data)
			out, err := resume.do(s)
			if err != nil || !strings.Contains(said(out), "a refused unproven") || out.DamagedMarks == 0 {
				t.Errorf("%+v %v", out, err)
			}
			if out, err = undo.do(s); err != nil || !strings.Contains(said(out), "a kept unproven") || s.at("/lib/x") == 0 {
				t.Errorf("%+v %v", out, err)
			}
		})
	}
}

// An empty folder of the run that can't be removed is reported, and the next undo removes it.
func TestAnUndoThatCannotRemoveAFolderIsUnfinished(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a", "a = New/x")
	apply, _, undo := sc.actions()
	s := sc.clone()
	if out, err := apply.do(s); err != nil || out.Unfinished {
		t.Fatalf("%+v %v", out, err)
	}
	s.fail = func(effect string) error {
		if effect == "rmdir New" {
			return syscall.EIO
		}
		return nil
	}
	if out, err := undo.do(s); err != nil || !out.Unfinished || !errors.Is(out.StopCause, syscall.EIO) {
		t.Errorf("%+v %v", out, err)
	}
	s.fail = nil
	if out, err := undo.do(s); err != nil || out.Unfinished || s.at("/lib/New") != 0 {
		t.Errorf("%+v %v", out, err)
	}
}

// Another program has replaced one file of a cycle of renames: no file keeps its temporary name.
func TestACycleWithAReplacedFileKeepsNoTemporaryName(t *testing.T) {
	for name, want := range map[string]string{
		"1": "1 kept occupied, 2 kept occupied, 3 kept moved_on",
		"2": "1 kept moved_on, 2 kept occupied, 3 kept occupied",
		"3": "1 kept occupied, 2 kept moved_on, 3 kept occupied",
	} {
		sc := drawn(traits{}, "/src", "1 2 3", "1 > 2; 2 > 3; 3 > 1")
		apply, _, undo := sc.actions()
		s := sc.clone()
		if out, err := apply.do(s); err != nil || out.Unfinished {
			t.Fatalf("%+v %v", out, err)
		}
		s.remove("/src/" + name)
		s.add("/src/"+name, "theirs")
		before := all(s, false)
		foreseen, err := foresee(s.clone(), sc.plan.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &checker{t: t, sc: sc}
		c.kills(s, undo, name+" is replaced", func(s *sim, when string) {
			for range 2 {
				if _, err := undo.do(s); err != nil {
					t.Errorf("%s: %v", when, err)
				}
				if diff := cmp.Diff(before, all(s, false)); diff != "" {
					t.Errorf("%s: %s", when, diff)
				}
			}
		})
		out, err := undo.do(s)
		if err != nil || said(out) != want || said(foreseen) != want {
			t.Errorf("%s: %v\n%s\n%s\n%s", name, err, want, said(out), said(foreseen))
		}
		if diff := cmp.Diff(before, all(s, false)); diff != "" {
			t.Error(diff)
		}
	}
}

// The folders of a run are two mounts by the time of its undo, as in a container: what was renamed is copied back, and
// kept where there is no room for it. A dry run says the same.
func TestMovesAreCopiedBackWhereAFolderHasBecomeAnotherMount(t *testing.T) {
	for _, row := range []struct {
		target, plan string
		room         int64
		want         string
	}{
		{"/lib", "a > n/x, b > n/y; c : z", 0, "a undone, b undone, c undone"},
		{"/lib", "a > n/x, b > n/y; c : z", 13, "a kept no_space, b kept no_space, c undone"},
		{"/src", "a > n/b; b > a; c > n/c", 0, "a undone, b undone, c undone"},
	} {
		sc := drawn(traits{}, row.target, "a b c n/other", row.plan)
		apply, resume, undo := sc.actions()
		before := all(sc.sim, true)
		s := sc.clone()
		if out, err := apply.do(s); err != nil || out.Unfinished {
			t.Fatalf("%+v %v", out, err)
		}
		for _, p := range []string{"", "/x", "/y", "/b", "/c", "/other"} {
			if at := s.at(row.target + "/n" + p); at != 0 {
				s.nodes[at].dev = 5
			}
		}
		s.room = row.room
		for _, dry := range []bool{true, false} {
			now := s.clone()
			out, err := undoOnly(now, sc.plan.ID, "a b c", dry)
			if err != nil || out.Unfinished || said(out) != row.want {
				t.Errorf("dry %t: %v %s, want %s", dry, err, said(out), row.want)
			}
			if diff := cmp.Diff(before, all(now, true)); !dry && row.room == 0 && diff != "" {
				t.Error(diff)
			}
		}
		if row.room > 0 {
			continue
		}
		c := &checker{t: t, sc: sc}
		c.kills(s, undo, row.plan, func(s *sim, when string) {
			resumed := s.clone()
			if out, err := resume.do(resumed); err != nil || out.Unfinished {
				t.Errorf("%s: %+v %v", when, out, err)
			}
			c.lost(resumed, when+", then resumed")
			if tree := strings.Join(all(resumed, false), "\n"); strings.Contains(tree, ".part") {
				t.Errorf("%s: %s", when, tree)
			}
			c.kills(s, undo, when, func(s *sim, when string) {
				if out, err := undo.do(s); err != nil || out.Unfinished {
					t.Errorf("%s: %+v %v", when, out, err)
				}
				if diff := cmp.Diff(before, all(s, true)); diff != "" {
					t.Errorf("%s: %s", when, diff)
				}
			})
		})
	}
}
