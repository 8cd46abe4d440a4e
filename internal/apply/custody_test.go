package apply

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

// runsOf makes a plan of each unit.
func runsOf(p *organize.Plan) []*organize.Plan {
	var out []*organize.Plan
	for i := range p.Units {
		one := *p
		one.ID = fmt.Sprintf("20261122-02043%d-k3f9", i)
		one.Units = p.Units[i : i+1]
		out = append(out, &one)
	}
	return out
}

// orders are all orders of n things.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, rest := range orders(n - 1) {
		for at := 0; at <= len(rest); at++ {
			order := append(append(append([]int{}, rest[:at]...), n-1), rest[at:]...)
			out = append(out, order)
		}
	}
	return out
}

// Runs that are put back in whatever order leave the tree that was there before the first, folders and their times too; also where one
// of the undos is killed before any of its effects.
func TestRunsArePutBackInAnyOrder(t *testing.T) {
	for _, row := range []struct{ name, target, files, plan string }{
		{"into one new folder", "/lib", "a b c", "a > Show/1/a; b > Show/1/b; c > Show/2/c"},
		{"into a new folder of one that was there", "/lib", "a b c", "a > TV/Show/a; b > TV/Show/b; c > TV/c"},
		{"out of one folder, which the last empties", "/lib", "d/a d/b d/c", "d/a > a; d/b > b; d/c > c"},
		{"by links and copies", "/lib", "a b c", "a = Show/a; b : Show/b; c @ Show/c"},
		{"to another file system", "/far", "d/a d/b", "d/a > Show/a; d/b > Show/b"},
		{"within one folder", "/src", "d/a d/b d/c", "d/a > e/a; d/b > e/b; d/c > e/f/c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			sc := drawn(traits{}, row.target, row.files, row.plan)
			sc.add("/lib/TV/there", "theirs")
			before := all(sc.sim, true)
			s := sc.clone()
			plans := runsOf(sc.plan)
			for _, p := range plans {
				if out, err := engineOf(s).Apply(context.Background(), p, Options{}); err != nil || out.Unfinished || out.Count(StatusDone) == 0 {
					t.Fatalf("%+v %v", out, err)
				}
			}
			for _, order := range orders(len(plans)) {
				now := s.clone()
				for _, i := range order {
					if out, err := engineOf(now).Undo(context.Background(), plans[i].ID, UndoOptions{}); err != nil || out.Unfinished || out.Count(StatusKept) > 0 {
						t.Fatalf("%v: %+v %v", order, out, err)
					}
				}
				if diff := cmp.Diff(before, all(now, true)); diff != "" {
					t.Errorf("%v: %s", order, diff)
				}
			}
			last := s.clone()
			for _, p := range plans[:len(plans)-1] {
				if out, err := engineOf(last).Undo(context.Background(), p.ID, UndoOptions{}); err != nil || out.Unfinished {
					t.Fatalf("%+v %v", out, err)
				}
			}
			c := &checker{t: t, sc: sc, before: before, contents: contentsOf(sc.sim)}
			undo := action{"undo", func(s *sim) (*Outcome, error) {
				return engineOf(s).Undo(context.Background(), plans[len(plans)-1].ID, UndoOptions{})
			}}
			c.kills(last, undo, "the first run last", func(s *sim, when string) {
				if out, err := undo.do(s); err != nil || out.Unfinished {
					t.Fatalf("%s: %+v %v", when, out, err)
				}
				if diff := cmp.Diff(before, all(s, true)); diff != "" {
					t.Errorf("%s: %s", when, diff)
				}
			})
		})
	}
}

// What somebody else has changed between the runs stays changed.
func TestFoldersThatOthersChangedKeepTheirTimes(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a > Show/a; b > Show/b")
	s := sc.clone()
	plans := runsOf(sc.plan)
	do := func(out *Outcome, err error) {
		t.Helper()
		if err != nil || out.Unfinished {
			t.Fatalf("%+v %v", out, err)
		}
	}
	for _, p := range plans {
		do(engineOf(s).Apply(context.Background(), p, Options{}))
	}
	do(engineOf(s).Undo(context.Background(), plans[0].ID, UndoOptions{}))
	s.add("/lib/theirs", "theirs")
	first := s.nodes[s.at("/lib")].mtime
	do(engineOf(s).Undo(context.Background(), plans[1].ID, UndoOptions{}))
	if s.nodes[s.at("/lib")].mtime <= first {
		t.Error("the folder has the time that it had before somebody changed it")
	}
	if s.at("/lib/Show") != 0 || s.at("/src/a") == 0 || s.at("/lib/theirs") == 0 {
		t.Error(all(s, false))
	}
}

// A folder has the time that it had before all runs again, also where runs came between undos, and where one was put back in parts; and
// an undo of the last run alone leaves what undos before it had made.
func TestRunsAndUndosTakeTurns(t *testing.T) {
	for _, row := range []struct {
		name, turns string // "1": the first run; "-1": its undo; "-1a": that of its file a
		half        int    // after so many turns the tree is as it was two turns before
	}{
		{name: "a run between undos", turns: "1 2 -1 3 -2 -3"},
		{name: "another order of that", turns: "1 2 -1 3 -3 -2"},
		{name: "put back in parts", turns: "1 2 -1a -1 -2"},
		{name: "in parts, with a run between", turns: "1 -1a 2 -1 -2"},
		{name: "in parts, the last run first", turns: "1 -1a 2 -2 -1", half: 4},
		{name: "in parts, twice", turns: "1 2 -2c -1a -2 3 -1 -3"},
		{name: "the same run again", turns: "1 -1 2 -2 3 -3", half: 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			sc := drawn(traits{}, "/lib", "a b c d e f", "a : Show/a; b : Show/b; c : Show/c; d : Show/d; e : Show/e")
			sc.add("/lib/Show/there", "theirs")
			s := sc.clone()
			before := all(s, true)
			one := runsOf(sc.plan)
			one[0].Units = sc.plan.Units[:2]  // a, b
			one[1].Units = sc.plan.Units[2:4] // c, d
			plans := map[string]*organize.Plan{"1": one[0], "2": one[1], "3": one[4]}
			trees := [][]string{before}
			for turn := range strings.FieldsSeq(row.turns) {
				var out *Outcome
				var err error
				if name, undo := strings.CutPrefix(turn, "-"); undo {
					opts := UndoOptions{}
					if file := name[1:]; file != "" {
						opts.Only = func(source, _ string) bool { return path.Base(source) == file }
					}
					out, err = engineOf(s).Undo(context.Background(), plans[name[:1]].ID, opts)
				} else {
					out, err = engineOf(s).Apply(context.Background(), plans[name], Options{})
				}
				if err != nil || out.Unfinished || out.Count(StatusKept) > 0 {
					t.Fatalf("%s: %+v %v", turn, out, err)
				}
				trees = append(trees, all(s, true))
			}
			if diff := cmp.Diff(before, all(s, true)); diff != "" {
				t.Error(diff)
			}
			if row.half > 0 {
				if diff := cmp.Diff(trees[row.half-2], trees[row.half]); diff != "" {
					t.Error("in the middle", diff)
				}
			}
		})
	}
}
