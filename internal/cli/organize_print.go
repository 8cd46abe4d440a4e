package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

// printPlan writes a plan to stdout as --format says.
func (o *organizeRun) printPlan(r *organize.Result) error {
	if o.format == "ndjson" {
		return o.printOps(r)
	}
	return printTree(o.f, r)
}

// summarize counts what a plan holds.
func summarize(o *organizeRun, r *organize.Result) report.OrganizeSummary {
	s := report.OrganizeSummary{Run: r.ID, InPlace: r.InPlace, Unowned: unowned(r.Unowned), ElapsedMS: time.Since(o.began).Milliseconds()}
	for i := range r.Units {
		s.Planned += len(r.Units[i].Ops)
		for k := range r.Units[i].Ops {
			if op := &r.Units[i].Ops[k]; op.Verb == organize.Copy {
				s.Bytes += op.Size
			}
		}
	}
	for _, l := range r.Left {
		if l.Code.IsConflict() {
			s.Conflicts++
		} else {
			s.Left++
		}
	}
	return s
}

// unowned lists the extensions of files that are in no unit, the most first.
func unowned(of map[string]int) []report.Unowned {
	var out []report.Unowned
	for ext, n := range of {
		out = append(out, report.Unowned{Extension: ext, Files: n})
	}
	slices.SortFunc(out, func(a, b report.Unowned) int {
		return cmp.Or(b.Files-a.Files, strings.Compare(a.Extension, b.Extension))
	})
	return out
}

// printOps writes an object a file, and the summary.
func (o *organizeRun) printOps(r *organize.Result) error {
	out := newJSONLines(o.f.streams.Out)
	n := 0
	for i := range r.Units {
		u := &r.Units[i]
		for k := range u.Ops {
			op := &u.Ops[k]
			n++
			e := report.Op{
				Run: r.ID, N: n, Unit: i + 1, Action: op.Verb.String(), Role: string(u.RoleIn(op)), Status: "planned",
				Source: r.SourcePath(u, op), Target: r.TargetPath(u, op),
			}
			describeUnit(&e, u)
			out.put(&e)
		}
	}
	for _, l := range r.Left {
		e := leftOp(r.ID, &l)
		out.put(&e)
	}
	s := summarize(o, r)
	out.put(&s)
	return out.end()
}

// leftOp is the object of a file that stays where it is.
func leftOp(run string, l *organize.LeftFile) report.Op {
	source := l.Real
	if source == "" {
		source = absoluteSlashes(l.Path)
	}
	e := report.Op{
		Run: run, Role: string(organize.RoleOf(l.Path)), Source: source, Status: "left", Reason: l.Why,
		Error: &report.OpError{Code: string(l.Code), Message: lang.Text(l.Code.Meaning())},
	}
	if l.Code.IsConflict() {
		e.Status = "conflict"
	}
	return e
}

// absoluteSlashes returns a path's absolute form, as far as there is one.
func absoluteSlashes(name string) string {
	if abs, err := filepath.Abs(filepath.FromSlash(name)); err == nil {
		return filepath.ToSlash(abs)
	}
	return name
}

// printTree writes the targets as a tree by entry, with the sources behind them, and below it what is left.
func printTree(f *factory, r *organize.Result) error {
	out := bufio.NewWriter(f.streams.Out)
	width := f.streams.OutWidth()
	say := func(indent int, text string) {
		fmt.Fprintln(out, ui.Hanging(strings.Repeat(" ", indent)+text, width, indent+2))
	}
	root, folder := -1, ""
	for _, line := range targets(r) {
		if line.root != root {
			root, folder = line.root, ""
			say(0, ui.Printable(r.Targets[root].Path))
		}
		if dir := path.Dir(line.to); dir != folder {
			folder = dir
			say(2, ui.Printable(dir))
		}
		to, from := ui.Printable(path.Base(line.to)), "← "+ui.Printable(line.source)
		if width > 0 && ui.Width(to)+ui.Width(from)+6 > width {
			say(4, to)
			say(6, from)
			continue
		}
		say(4, to+"  "+from)
	}
	for _, conflicts := range []bool{true, false} {
		heading := map[bool]string{true: "in conflict", false: "left"}[conflicts]
		for _, l := range r.Left {
			if l.Code.IsConflict() != conflicts {
				continue
			}
			if heading != "" {
				fmt.Fprintln(out, lang.Say(heading))
				heading = ""
			}
			why := lang.Say(l.Code.Meaning())
			if l.Why != "" {
				why += ": " + ui.Escaped(lang.Say(l.Why))
			}
			say(2, fmt.Sprintf("%s  (%s)", ui.Printable(l.Path), why))
		}
	}
	return out.Flush()
}

// targetLine is a file of the tree.
type targetLine struct {
	root       int
	to, source string
}

// targets returns the files of a plan, those of one folder together.
func targets(r *organize.Result) []targetLine {
	var lines []targetLine
	for i := range r.Units {
		u := &r.Units[i]
		for k := range u.Ops {
			source := path.Join(u.Dir, u.Ops[k].Source)
			if note := u.Ops[k].Note; note != nil {
				source = note.String()
			}
			lines = append(lines, targetLine{u.Target, u.Ops[k].To, source})
		}
	}
	slices.SortStableFunc(lines, func(a, b targetLine) int {
		return cmp.Or(cmp.Compare(a.root, b.root), strings.Compare(path.Dir(a.to), path.Dir(b.to)), strings.Compare(a.to, b.to))
	})
	return lines
}
