package organize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// renames returns a plan of one root whose units are "a > b" (a move) or "a = b" (a link).
func renames(rows ...string) *Plan {
	p := &Plan{ID: "20261122-020431-k3f9", Sources: []Root{{Path: "/l"}}, Targets: []Root{{Path: "/l"}}}
	for _, row := range rows {
		unit := Unit{Dir: "."}
		for part := range strings.SplitSeq(row, ", ") {
			f := strings.Fields(part)
			unit.Ops = append(unit.Ops, Op{Verb: map[string]Verb{">": VerbMove, "=": VerbLink}[f[1]], Source: f[0], To: f[2]})
		}
		p.Units = append(p.Units, unit)
	}
	return p
}

func script(p *Plan) []string {
	var out []string
	for _, s := range OrderSteps(p) {
		op := p.Units[s.Unit].Ops[s.Op]
		from, to := op.Source, op.To
		switch s.Kind {
		case StepToTemp:
			to = fmt.Sprintf("~%d", s.TempNumber)
		case StepFromTemp:
			from = fmt.Sprintf("~%d", s.TempNumber)
		case StepDirect:
		}
		out = append(out, from+">"+to)
	}
	return out
}

func TestRenamesAreOrdered(t *testing.T) {
	for _, row := range []struct {
		name string
		plan *Plan
		want string
	}{
		{"nothing in the way", renames("b > x", "a > y"), "b>x a>y"},
		{"a chain", renames("1 > 2", "2 > 3", "3 > 4"), "3>4 2>3 1>2"},
		{"a cycle of three, which a loop of mv makes one file", renames("1 > 2", "2 > 3", "3 > 1"), "1>~1 3>1 2>3 ~1>2"},
		{"a swap", renames("a > b", "b > a"), "a>~1 b>a ~1>b"},
		{"two cycles", renames("a > b", "b > a", "c > d", "d > c"), "a>~1 b>a ~1>b c>~2 d>c ~2>d"},
		{"a chain into a cycle", renames("0 > x", "a > b", "b > a", "x > y"), "x>y 0>x a>~1 b>a ~1>b"},
		{"only its case changes", renames("a.mkv > A.mkv"), "a.mkv>A.mkv"},
		{"a cycle in another case", renames("a > B", "b > A"), "a>~1 b>A ~1>B"},
		{"a file whose name is to be a folder", renames("x > a/1", "a > b"), "a>b x>a/1"},
		{
			"what a unit brings along", renames("1.m > 2.m, 1.s > 2.s", "2.m > 1.m, 2.s > 1.s"),
			"1.m>~1 2.m>1.m ~1>2.m 1.s>~2 2.s>1.s ~2>2.s",
		},
		{"a link takes a name that a move frees", renames("x = a", "a > b"), "a>b x>a"},
		{"a link frees nothing", renames("x > a", "a = b"), "x>a a>b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, strings.Join(script(row.plan), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Any permutation and any tree of moves can be carried out step by step without a name that is taken.
func TestEveryOrderCanBeCarriedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		names := make([]string, n+4)
		for i := range names {
			names[i] = fmt.Sprint("f", i)
		}
		targets := rapid.Permutation(names).Draw(t, "targets")[:n]
		var rows []string
		files, want := map[string]string{}, map[string]string{}
		for i := range n {
			rows = append(rows, names[i]+" > "+targets[i])
			files[names[i]], want[targets[i]] = names[i], names[i]
		}
		for _, step := range script(renames(rows...)) {
			from, to, _ := strings.Cut(step, ">")
			if _, taken := files[to]; taken && from != to {
				t.Fatalf("%v: %s is taken at %s", rows, to, step)
			}
			content, there := files[from]
			if !there {
				t.Fatalf("%v: nothing is called %s at %s", rows, from, step)
			}
			delete(files, from)
			files[to] = content
		}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Fatal(diff)
		}
	})
}
