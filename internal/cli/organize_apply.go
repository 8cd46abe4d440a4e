package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

func (o *organizeRun) apply(ctx context.Context, r *organize.Result) error {
	if o.format != "ndjson" {
		if _, err := printTree(o.f, r, true, 0); err != nil {
			return err
		}
	}
	for _, w := range r.Warnings() {
		o.f.warn("%s", w)
	}
	return o.applyRun(r).carryOut(ctx, o.cfg, &r.Plan)
}

func (o *organizeRun) applyRun(r *organize.Result) *applyRun {
	a := &applyRun{
		f: o.f, partial: o.partial, wait: o.wait, format: o.format, started: o.started, units: r.Units,
		onFileFailed: o.onFileFailed,
	}
	s := summarize(o, r)
	a.skipped, a.planSummary = r.Skipped, &s
	if o.yes {
		a.plannedAt = o.started
	}
	return a
}

func (o *organizeRun) shouldPrompt(r *organize.Result) bool { return o.canPrompt() && len(r.Units) > 0 }

func (o *organizeRun) canPrompt() bool {
	return apply.Supported && o.planFile == "" && !o.yes && o.format == "table" &&
		o.f.streams.InTTY && o.f.streams.OutTTY && o.f.streams.ErrTTY
}

type planPrompt struct {
	f          *factory
	organize   *organizeRun
	result     *organize.Result
	prompter   prompter
	plan       *organize.Plan
	editedText []byte // the text from the editor; nil before the first edit
	parseErr   error  // the error of parsing editedText
}

const planPromptHelp = "a carries the plan out, e opens it in your editor, s saves it to a file, " +
	"p lists the files of the plan, l the skipped ones, q or Enter changes nothing\n"

func (o *organizeRun) promptForPlan(ctx context.Context, r *organize.Result) error {
	a := planPrompt{f: o.f, organize: o, result: r, plan: &r.Plan, prompter: o.f.prompter()}
	for {
		answer, err := a.prompter.read(ctx, lang.Say("[a]pply, [e]dit, [s]ave, [q]uit (Enter), [?] help: "))
		if err != nil {
			return a.readError(ctx, err)
		}
		switch strings.ToLower(answer) {
		case "", "n", "nothing", "q", "quit":
			o.f.say("nothing was changed\n")
			return nil
		case "a", "apply":
			if a.parseErr != nil {
				o.f.say("the plan can't be carried out as it was edited; e opens it again\n")
				continue
			}
			return a.apply(ctx)
		case "e", "edit":
			if err := a.edit(ctx); err != nil {
				return a.readError(ctx, err)
			}
		case "s", "save":
			if saved, err := a.save(ctx); saved || err != nil {
				return a.readError(ctx, err)
			}
		case "p", "plan":
			if _, err := printTree(o.f, r, false, 0); err != nil {
				return err
			}
		case "l", "list":
			list := cutList{out: bufio.NewWriter(o.f.streams.Out), width: o.f.streams.OutWidth()}
			list.saySkipped(r, false)
			if err := list.out.Flush(); err != nil {
				return err
			}
		case "?", "help":
			o.f.say(planPromptHelp)
		default:
			o.f.say("%s is not an answer: %s", ui.Printable(answer), lang.Say(planPromptHelp))
		}
	}
}

// readError turns an error of reading the answer into the result of the command. At the end of the input nothing is
// changed, and that is no error.
func (a *planPrompt) readError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
	case errors.Is(err, io.EOF):
		a.f.say("nothing was changed\n")
		return nil
	}
	return err
}

func (a *planPrompt) apply(ctx context.Context) error {
	how := a.organize.applyRun(a.result)
	if a.editedText != nil {
		o := a.organize
		how = &applyRun{f: o.f, partial: o.partial, wait: o.wait, format: o.format, started: o.started}
	}
	return how.carryOut(ctx, a.organize.cfg, a.plan)
}

// edit opens the plan in the user's editor. It prints the error of an editor that can't be run and returns nil, so that
// the prompt continues.
func (a *planPrompt) edit(ctx context.Context) error {
	text, err := openEditor(ctx, a.f, a.result, a.editedText)
	if exit, ok := errors.AsType[*exitError](err); ok && ctx.Err() == nil {
		printError(a.f.streams, exit)
		return nil
	}
	if err != nil {
		return err
	}
	a.editedText = text
	if a.plan, a.parseErr = organize.Parse(string(text)); a.parseErr != nil {
		printPlanProblems(a.f, "plan", a.parseErr)
		a.f.say("the plan can't be carried out as it was edited; e opens it again\n")
		return nil //nolint:nilerr // it was printed, and the prompt continues
	}
	a.result.Targets, a.result.Units = a.plan.Targets, a.plan.Units // for the list of files
	a.f.say("the plan has %s now; a carries it out\n", lang.Count(len(targetLines(a.result)), "file"))
	return nil
}

func openEditor(ctx context.Context, f *factory, r *organize.Result, text []byte) ([]byte, error) {
	if text == nil {
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			return nil, err
		}
		help := "# " + lang.Say("To leave a file out, delete its lines. To rename it, change the path after \"to\".")
		text = bytes.Replace(b.Bytes(), []byte("\n\n"), []byte("\n"+help+"\n\n"), 1)
	}
	file, err := os.CreateTemp("", "anivault-*.plan")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	words := strings.Fields(cmp.Or(f.getenv("VISUAL"), f.getenv("EDITOR"), "vi"))
	editor := exec.CommandContext(ctx, words[0], append(words[1:], file.Name())...)
	editor.Stdin, editor.Stdout, editor.Stderr = f.streams.In, f.streams.Out, f.streams.Err
	if err := editor.Run(); err != nil {
		return nil, exitErrorf(exitUsage, "set VISUAL or EDITOR to the editor you use; nothing was changed",
			"edit the plan: %w", err)
	}
	edited, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, exitErrorf(exitUsage, "the plan is unchanged; e opens it again", "the editor saved no plan")
	}
	return edited, nil
}

func (a *planPrompt) save(ctx context.Context) (bool, error) {
	const standard = "library.plan"
	name, err := a.prompter.read(ctx, lang.Sprintf("save to [%s], q to go back: ", standard))
	if err != nil || name == "q" {
		return false, err
	}
	name = cmp.Or(name, standard)
	err = savePlan(name, func(w io.Writer) error {
		if a.editedText != nil {
			_, err := w.Write(a.editedText)
			return err
		}
		return a.result.Write(w)
	})
	if err != nil {
		printError(a.f.streams, err)
		return false, nil
	}
	a.f.say("saved: %s\n", ui.ShellWord(name))
	a.f.say("next: anivault apply %s\n", ui.PathWord(name))
	return true, nil
}

// savePlan fails if the file exists: the user may have edited it.
func savePlan(path string, fill func(io.Writer) error) error {
	err := atomicfile.WriteNew(path, 0o600, fill)
	if errors.Is(err, fs.ErrExist) {
		return planExistsError(path)
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok { // its path is that of a temporary file
		return exitErrorf(exitUsage, "name a file in an existing folder that you can write to",
			"write %s: %w", ui.Printable(path), of.Err)
	}
	return err
}

func planExistsError(path string) error {
	return usagef("name another file, or remove that one first", "%q already exists, and is not replaced", path)
}

func summarize(o *organizeRun, r *organize.Result) report.OrganizeSummary {
	s := report.OrganizeSummary{
		Run: r.ID, InPlace: r.FilesInPlace, Unowned: sortUnowned(r.UnownedByExtension),
		ElapsedMS: time.Since(o.started).Milliseconds(),
	}
	for i := range r.Units {
		s.Planned += len(r.Units[i].Ops)
		for k := range r.Units[i].Ops {
			if op := &r.Units[i].Ops[k]; op.Verb == organize.VerbCopy {
				s.Bytes += op.Size
			}
		}
	}
	for _, l := range r.Skipped {
		if l.Code.IsConflict() {
			s.Conflicts++
		} else {
			s.Left++
		}
	}
	return s
}

func sortUnowned(of map[string]int) []report.Unowned {
	var out []report.Unowned
	for ext, n := range of {
		out = append(out, report.Unowned{Extension: ext, Files: n})
	}
	slices.SortFunc(out, func(a, b report.Unowned) int {
		return cmp.Or(b.Files-a.Files, strings.Compare(a.Extension, b.Extension))
	})
	return out
}

// printOps prints the plan as NDJSON, in the records of apply.
func (o *organizeRun) printOps(r *organize.Result) error {
	a, n := o.applyRun(r), 0
	return a.printRecords(r.ID, func(yield func(apply.Result) bool) {
		for i := range r.Units {
			u := &r.Units[i]
			for k := range u.Ops {
				n++
				op := &u.Ops[k]
				yield(apply.Result{
					N: n, Unit: i + 1, Verb: op.Verb, Status: apply.StatusPlanned,
					Source: r.SourcePath(u, op), Target: r.TargetPath(u, op),
				})
			}
		}
	}, a.planSummary)
}

func skippedOp(run string, l *organize.SkippedFile) report.Op {
	source := cmp.Or(l.RealPath, l.Path)
	if abs, err := filepath.Abs(filepath.FromSlash(source)); err == nil {
		source = filepath.ToSlash(abs)
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

// cutList prints a list in at most so many lines (0: all).
type cutList struct {
	out                         *bufio.Writer
	width, most, lines, omitted int
}

func (c *cutList) say(indent int, text string) {
	text = ui.WrapHanging(strings.Repeat(" ", indent)+text, c.width, indent+2)
	if c.lines += 1 + strings.Count(text, "\n"); c.most == 0 || c.lines <= c.most {
		fmt.Fprintln(c.out, text)
		return
	}
	if c.omitted++; c.omitted == 1 {
		fmt.Fprintln(c.out, "  …")
	}
}

// printTree prints where a plan puts the files and which are in conflict, in at most so many lines (0: all), and
// returns how many it omits.
func printTree(f *factory, r *organize.Result, listSkipped bool, most int) (omitted int, err error) {
	out, width := bufio.NewWriter(f.streams.Out), f.streams.OutWidth()
	conflicts := cutList{out: out, width: width}
	if slices.ContainsFunc(r.Skipped, func(l organize.SkippedFile) bool { return l.Code.IsConflict() }) {
		conflicts.most = (most + 1) / 2
	}
	tree := cutList{out: out, width: width, most: most - conflicts.most}
	root, folder := -1, ""
	for _, line := range targetLines(r) {
		if line.root != root {
			root, folder = line.root, ""
			tree.say(0, ui.Printable(r.Targets[root].Path))
		}
		if dir := path.Dir(line.target); dir != folder {
			folder = dir
			tree.say(2, ui.Printable(dir))
		}
		to, from := ui.Printable(path.Base(line.target)), "← "+ui.Printable(line.source)
		if width > 0 && ui.Width(to)+ui.Width(from)+6 > width {
			tree.say(4, to)
			tree.say(6, from)
			continue
		}
		tree.say(4, to+"  "+from)
	}
	conflicts.saySkipped(r, true)
	if listSkipped {
		tree.saySkipped(r, false)
	}
	return tree.omitted + conflicts.omitted, out.Flush()
}

// saySkipped lists the files that are in conflict, or the other skipped ones.
func (c *cutList) saySkipped(r *organize.Result, conflicts bool) {
	heading := map[bool]string{true: "in conflict", false: "skipped"}[conflicts]
	for _, l := range r.Skipped {
		if l.Code.IsConflict() != conflicts {
			continue
		}
		if heading != "" {
			c.say(0, lang.Say(heading))
			heading = ""
		}
		why := lang.Say(l.Code.Meaning())
		if l.Why != "" {
			why += ": " + ui.Escaped(lang.Say(l.Why))
		}
		c.say(2, fmt.Sprintf("%s  (%s)", ui.Printable(l.Path), why))
	}
}

type targetLine struct {
	root           int
	target, source string
}

func targetLines(r *organize.Result) []targetLine {
	var lines []targetLine
	for i := range r.Units {
		u := &r.Units[i]
		for k := range u.Ops {
			source := path.Join(u.Dir, u.Ops[k].Source)
			if note := u.Ops[k].NFO; note != nil {
				source = note.String()
			}
			lines = append(lines, targetLine{u.Target, u.Ops[k].To, source})
		}
	}
	slices.SortStableFunc(lines, func(a, b targetLine) int {
		return cmp.Or(cmp.Compare(a.root, b.root),
			strings.Compare(path.Dir(a.target), path.Dir(b.target)), strings.Compare(a.target, b.target))
	})
	return lines
}
