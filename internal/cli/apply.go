package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

// applying is one run of apply or undo.
type applying struct {
	partial, dryRun, resume bool
	wait                    time.Duration
	only                    string
	format                  string

	began time.Time
	told  time.Time // when progress was last told

	// Of a plan that was just made.
	units   []organize.Unit
	left    []organize.LeftFile
	planned *report.OrganizeSummary
}

func (c *command) applyCommand() *cobra.Command {
	var a applying
	cmd := leaf(&cobra.Command{
		Use:   "apply PLAN|-",
		Short: "Carry a plan of organize out; anivault undo puts it back",
		Long: `Check a plan of anivault organize and carry it out. Nothing is ever put over something that is there, and nothing is
removed but the source of a move whose target is proven. Where anything of the plan can't be carried out, nothing is
done and all of it is listed, unless --partial goes on with the other units.

Every run is written down before its first change. One that was cut off, by Ctrl-C or by a power loss, is gone on with by
--resume or put back by anivault undo. No key is needed, and nothing is sent anywhere.`,
		Example: `  anivault organize ~/Downloads --to /srv/library --plan library.plan
  anivault apply library.plan --dry-run
  anivault apply library.plan
  anivault apply --resume`,
		Args: atMostOne("PLAN"),
	}, nil, func(cmd *cobra.Command, args []string, _ string) error {
		return c.apply(cmd, &a, args)
	})
	flags := cmd.Flags()
	flags.BoolVar(&a.dryRun, "dry-run", false, "check everything and change nothing")
	flags.BoolVar(&a.resume, "resume", false, "go on with the run that was cut off; its ID may follow")
	flags.BoolVar(&a.partial, "partial", false, "leave the units that can't be carried out, and do the others")
	flags.DurationVar(&a.wait, "wait", 0, "wait up to `TIME` for another run to end")
	streamFormat(cmd, &a.format, organizeFormats...)
	return cmd
}

func (c *command) apply(cmd *cobra.Command, a *applying, args []string) error {
	a.began = time.Now()
	switch {
	case a.resume && (a.dryRun || a.partial):
		return usagef("leave them out", "--resume goes on as the run was begun: --dry-run and --partial don't go with it")
	case !a.resume && len(args) == 0:
		return usagef("for example: anivault apply library.plan", "no PLAN given")
	}
	if err := c.tableOr(&a.format, organizeFormats...); err != nil {
		return err
	}
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	if a.resume {
		return c.resume(cmd.Context(), cfg, a, args)
	}
	plan, err := c.readPlan(args[0])
	if err != nil {
		return err
	}
	return c.carryOut(cmd.Context(), cfg, a, plan)
}

// readPlan reads a plan's text.
func (c *command) readPlan(path string) (*organize.Plan, error) {
	in := io.NopCloser(c.streams.In)
	if path != "-" {
		file, err := lockfile.Open(path, os.O_RDONLY, 0)
		if err != nil {
			return nil, usagef("anivault organize PATH --to DIR --plan FILE makes a plan", "%v", err)
		}
		in = file
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	plan, err := organize.Parse(string(text))
	if err != nil {
		return nil, usagef("anivault organize --plan writes plans; docs/organize.md says what may be changed in one", "%v", err)
	}
	return plan, nil
}

// carryOut applies a plan and tells what became of it.
func (c *command) carryOut(ctx context.Context, cfg *config.Config, a *applying, plan *organize.Plan) error {
	return c.withEngine(ctx, cfg, a, func(e *apply.Engine) error {
		out, err := e.Apply(ctx, plan, apply.Options{Partial: a.partial, DryRun: a.dryRun})
		if err != nil {
			return c.explainRun(ctx, err, out)
		}
		if out.Run == "" {
			out.Run = plan.ID
		}
		return c.tellRun(ctx, a, out)
	})
}

func (c *command) resume(ctx context.Context, cfg *config.Config, a *applying, args []string) error {
	return c.withEngine(ctx, cfg, a, func(e *apply.Engine) error {
		id, err := pickRun(e, args, func(r *apply.Run) bool { return r.Stage.Unfinished() })
		if err != nil {
			return err
		}
		if id == "" {
			c.say("no run was cut off\n")
			return nil
		}
		out, err := e.Resume(ctx, id)
		if err != nil {
			return c.explainRun(ctx, err, out)
		}
		return c.tellRun(ctx, a, out)
	})
}

// pickRun returns the run that is named, or the newest that fits; "" where there is none.
func pickRun(e *apply.Engine, args []string, fits func(*apply.Run) bool) (string, error) {
	runs, err := e.History()
	if err != nil {
		return "", err
	}
	for i := range runs {
		if len(args) > 0 && runs[i].ID == args[0] || len(args) == 0 && runs[i].Err == nil && fits(&runs[i]) {
			return runs[i].ID, nil
		}
	}
	if len(args) > 0 {
		return "", usagef("anivault history lists them", "no run is called %s", ui.Printable(args[0]))
	}
	return "", nil
}

// errUnsupported is what carrying out a plan is refused with where its tests have never run.
var errUnsupported = usagef("organize --plan saves the plan; plans are carried out on Linux", "plans can't be carried out on this system")

// historyDir is the folder of the journals.
func historyDir(cfg *config.Config) string { return filepath.Join(cfg.Dirs.Data, "history") }

// withEngine does something with the engine while no other run of this user does.
func (c *command) withEngine(ctx context.Context, cfg *config.Config, a *applying, do func(*apply.Engine) error) error {
	e, closeEngine, err := openEngine(cfg)
	if err != nil {
		return err
	}
	defer closeEngine()
	path := filepath.Join(historyDir(cfg), "lock")
	release, err := lockfile.Acquire(ctx, path, lockfile.Exclusive, a.wait)
	if errors.Is(err, lockfile.ErrBusy) {
		who, _ := os.ReadFile(path)
		return &failure{exitIncomplete, fmt.Errorf("another run is at work: %s", ui.OneLine(ui.Printable(strings.TrimSpace(string(who))))), "--wait 10m waits for it"}
	}
	if err != nil {
		return err
	}
	defer release()
	who := fmt.Sprintf("process %d, since %s\n", os.Getpid(), ui.Stamp(time.Now()))
	if err := os.WriteFile(path, []byte(who), 0o600); err != nil {
		return err
	}
	e.Progress = func(p apply.Progress) { c.tellProgress(a, p) }
	return do(e)
}

// openEngine opens the folder of the journals, which is made, where plans can be carried out.
func openEngine(cfg *config.Config) (*apply.Engine, func(), error) {
	if !apply.Supported {
		return nil, nil, errUnsupported
	}
	dir := historyDir(cfg)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the folder of the history: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil, err
	}
	journals, err := apply.System{}.Open(real)
	if err != nil {
		return nil, nil, err
	}
	e := &apply.Engine{System: apply.System{}, Journals: journals, Now: time.Now, AsRoot: os.Geteuid() == 0}
	return e, func() { journals.Close() }, nil
}

// explainRun says why nothing was done.
func (c *command) explainRun(ctx context.Context, err error, out *apply.Outcome) error {
	if cut, ok := errors.AsType[*apply.UnfinishedError](err); ok {
		return usagef(waysOn(cut.Run), "the run %s was cut off; nothing was done", cut.Run)
	}
	if _, ok := errors.AsType[*apply.MountError](err); ok {
		return &failure{exitIncomplete, err, "mount the disk, or make the plan again; nothing was done"}
	}
	if _, ok := errors.AsType[*apply.JournalError](err); ok {
		return &failure{exitUsage, err, "nothing is done by such a journal; it is in the folder history of the data folder"}
	}
	if ctx.Err() != nil && out == nil {
		return &failure{code: max(signalStatus(ctx), exitInterrupted)}
	}
	hint := ""
	if out != nil && out.Run != "" {
		hint = waysOn(out.Run)
	}
	return &failure{exitIncomplete, err, hint}
}

func waysOn(id string) string {
	return fmt.Sprintf("go on: anivault apply --resume %s   or put it back: anivault undo %s", id, id)
}

// shown are the statuses that people are told of file by file.
var shown = map[apply.Status]bool{apply.StatusRefused: true, apply.StatusFailed: true, apply.StatusKept: true}

// tellRun prints what became of the files and returns the exit status.
func (c *command) tellRun(ctx context.Context, a *applying, out *apply.Outcome) error {
	s := summarizeRun(a, out)
	var err error
	if a.format == "ndjson" {
		err = c.printRun(a, out, &s)
	} else {
		err = c.printProblems(out)
	}
	if err != nil {
		return &failure{code: exitInternal, err: fmt.Errorf("write what was done: %w", err)}
	}
	c.sayRun(a, out, &s)
	switch {
	case ctx.Err() != nil && out.Unfinished:
		return &failure{code: max(signalStatus(ctx), exitInterrupted)}
	case out.Unfinished || s.Refused+s.Failed+s.Kept > 0:
		return &failure{code: exitIncomplete}
	}
	return nil
}

// sayRun tells on stderr how a run ended, and what can be done next.
func (c *command) sayRun(a *applying, out *apply.Outcome, s *report.OrganizeSummary) {
	if out.Unfinished {
		why := ""
		if out.Why != nil {
			why = ": " + out.Why.Error()
		}
		c.warn("the run %s was cut off%s", out.Run, why)
		advise(c.streams, waysOn(out.Run))
		return
	}
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{
		{s.Planned, "%d can be carried out"},
		{s.Done, "%d done"},
		{s.Undone, "%d put back"},
		{s.InPlace, "%d in place"},
		{s.Left, "%d left"},
		{s.Conflicts, "%d in conflict"},
		{s.Refused, "%d refused"},
		{s.Failed, "%d failed"},
		{s.Kept, "%d kept"},
	} {
		if p.n > 0 {
			parts = append(parts, lang.Sprintf(p.word, p.n))
		}
	}
	if len(parts) == 0 {
		parts = []string{lang.Say("nothing to do")}
	}
	c.say("%s\n", strings.Join(parts, ", "))
	switch {
	case a.dryRun:
		c.say("nothing was changed\n")
	case s.Done > 0:
		c.say("undo: anivault undo %s\n", out.Run)
	case s.Undone > 0 || s.Kept > 0:
		c.say("this was the run %s\n", out.Run)
	case s.Refused > 0:
		c.say("nothing was changed; --partial does what can be done\n")
	}
}

// summarizeRun counts what became of the files.
func summarizeRun(a *applying, out *apply.Outcome) report.OrganizeSummary {
	s := report.OrganizeSummary{
		Run: out.Run, Planned: out.Count(apply.StatusPlanned), InPlace: out.Count(apply.StatusInPlace), Done: out.Count(apply.StatusDone),
		Refused: out.Count(apply.StatusRefused), Failed: out.Count(apply.StatusFailed), Undone: out.Count(apply.StatusUndone),
		Kept: out.Count(apply.StatusKept), ElapsedMS: time.Since(a.began).Milliseconds(),
	}
	for i := range out.Results {
		if r := &out.Results[i]; r.Copied {
			s.Bytes += r.Size
		}
	}
	if p := a.planned; p != nil {
		s.InPlace, s.Left, s.Conflicts = s.InPlace+p.InPlace, p.Left, p.Conflicts
	}
	return s
}

// printProblems lists the files that were not put where they belong, with the reason.
func (c *command) printProblems(out *apply.Outcome) error {
	w := bufio.NewWriter(c.streams.Out)
	for i := range out.Results {
		if r := &out.Results[i]; shown[r.Status] {
			fmt.Fprintf(w, "%s  %s\n  → %s\n  (%s)\n", lang.Say(string(r.Status)), ui.Printable(r.Source), ui.Printable(r.Target), problemText(r.Problem))
		}
	}
	return w.Flush()
}

// problemText says a problem in the person's language.
func problemText(p *apply.Problem) string {
	text := lang.Say(apply.Meaning(p.Code))
	switch {
	case p.Run != "":
		text = lang.Sprintf("the run %s has moved it on: undo that first", p.Run)
	case p.Err != nil:
		text += ": " + ui.Escaped(ui.OneLine(p.Err.Error()))
	}
	return text
}

// printRun writes an object a file, and the summary.
func (c *command) printRun(a *applying, out *apply.Outcome, s *report.OrganizeSummary) error {
	w := newJSONLines(c.streams.Out)
	for i := range out.Results {
		r := &out.Results[i]
		op := report.Op{
			Run: out.Run, N: r.N, Unit: r.Unit, Action: r.Verb.String(), Role: string(organize.RoleOf(r.Target)),
			Source: r.Source, Target: r.Target, Status: string(r.Status),
		}
		if 0 < r.Unit && r.Unit <= len(a.units) {
			u := &a.units[r.Unit-1]
			describeUnit(&op, u)
			op.Role = string(u.RoleIn(&organize.Op{Verb: r.Verb, To: r.Target}))
		}
		if r.Problem != nil {
			op.Error = &report.OpError{Code: string(r.Problem.Code), Message: r.Problem.Error()}
		}
		w.put(&op)
	}
	for i := range a.left {
		op := leftOp(out.Run, &a.left[i])
		w.put(&op)
	}
	if s != nil {
		w.put(s)
	}
	return w.end()
}

// describeUnit says which entry a file is of.
func describeUnit(op *report.Op, u *organize.Unit) {
	w := &u.Work
	op.Kind, op.TMDBID, op.Episodes = w.Kind, w.ID, w.Episodes
	if !u.Follows {
		op.Confidence = &w.Confidence
	}
	if len(w.Episodes) > 0 {
		op.Season = &w.Season
	}
}

// tellProgress writes an object a second to a program that reads along.
func (c *command) tellProgress(a *applying, p apply.Progress) {
	now := time.Now()
	if a.told.IsZero() {
		a.told = now
	}
	if a.format != "ndjson" || now.Sub(a.told) < time.Second {
		return
	}
	a.told = now
	left := now.Sub(a.began) * time.Duration(p.FilesTotal-p.Files) / time.Duration(max(p.Files, 1))
	line, err := report.AppendLine(nil, &report.OrganizeProgress{
		Run: p.Run, Bytes: p.Bytes, BytesTotal: p.BytesTotal, Files: p.Files, FilesTotal: p.FilesTotal, ETAMS: left.Milliseconds(),
	})
	if err == nil {
		_, _ = c.streams.Out.Write(line) // that nobody reads it is told by the results
	}
}
