package cli

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

func newUndo(f *factory) *cobra.Command {
	a := applyRun{f: f}
	var yes bool
	cmd := &cobra.Command{Use: "undo [ID]", Short: "Put back what a run of apply changed"}
	f.setRunWithConfig(cmd, organizeFormats, func(c invocation) error {
		a.format = c.format
		return a.undo(c.Context(), c.cfg, c.args, yes)
	})
	flags := cmd.Flags()
	flags.BoolVar(&a.dryRun, "dry-run", false, "say what would be put back, and change nothing")
	flags.StringVar(&a.onlyGlob, "only", "", "only units with a path, or last part of a path, that matches `GLOB`")
	flags.DurationVar(&a.wait, "wait", 0, "wait up to `TIME` for another run to end")
	addYesFlag(cmd, &yes)
	return cmd
}

func (a *applyRun) undo(ctx context.Context, cfg *config.Config, args []string, yes bool) error {
	a.started, a.undoing = time.Now(), true
	opts := apply.UndoOptions{DryRun: a.dryRun}
	matches := 0
	if a.onlyGlob != "" {
		if _, err := path.Match(a.onlyGlob, ""); err != nil {
			return usagef("* matches anything but a slash; quote the pattern for the shell",
				"flag --only: %q is not a pattern", a.onlyGlob)
		}
		opts.Only = func(source, target string) bool {
			if matchesGlob(a.onlyGlob, source) || matchesGlob(a.onlyGlob, target) {
				matches++
				return true
			}
			return false
		}
	}
	return a.undoRun(ctx, cfg, args, opts, &matches, yes || a.dryRun || len(args) > 0)
}

func (a *applyRun) undoRun(
	ctx context.Context, cfg *config.Config, args []string, opts apply.UndoOptions, matches *int, confirmed bool,
) error {
	return a.withEngine(ctx, cfg, func(e *apply.Engine) (*apply.Outcome, error) {
		run, err := findRun(e, args, anyRun)
		switch {
		case err != nil:
			return nil, err
		case run == nil:
			a.f.say("there is nothing to put back\n")
			return nil, nil
		case run.Err != nil:
			return nil, explainApplyError(ctx, lang.Error("the run %s: %w", run.ID, run.Err), nil)
		case a.onlyGlob != "" && (run.Stage == apply.StagePlanned || run.Stage == apply.StageApplying):
			return nil, usagef(continueOrUndoHint(run.ID),
				"--only needs a run that has ended, but the run %s was interrupted; nothing was done", run.ID)
		case run.Stage == apply.StageUndone:
			a.f.say("the run %s has already been put back\n", run.ID)
			return nil, suggestOlderRun(a.f, e, args)
		case run.Stage == apply.StageAbandoned && len(args) == 0:
			a.f.say("the last run was abandoned; anivault undo %s puts back what it can reach\n", run.ID)
			return nil, suggestOlderRun(a.f, e, args)
		}
		if ok, err := a.f.confirm(ctx, confirmed, undoQuestion(run, a.onlyGlob), "nothing was changed\n"); !ok {
			return nil, err
		}
		out, err := e.Undo(ctx, run.ID, opts)
		if err != nil {
			return nil, explainApplyError(ctx, err, out)
		}
		switch {
		case a.onlyGlob == "" || len(out.Results) > 0:
		case *matches == 0:
			return nil, usagef(lang.Textf("a pattern is compared with whole paths and with each part of them, "+
				"old and new; anivault history %s lists them", run.ID),
				"no file of run %s matches %s; nothing was done", run.ID, ui.Printable(a.onlyGlob))
		default:
			a.f.say("everything that matches %s has already been put back\n", ui.Printable(a.onlyGlob))
			return nil, nil
		}
		return out, nil
	})
}

func undoQuestion(r *apply.Run, only string) lang.Text {
	what := lang.Count(r.Files-r.Undone, "file")
	if only != "" {
		what = lang.Textf("what matches %s in %s", ui.Printable(only), what)
	}
	return lang.Textf("Put back the run %s of %s (%s, %s to %s)?", r.ID, ui.Clock(r.Begun), what, r.Mode,
		ui.Printable(strings.Join(r.Targets, ", ")))
}

// suggestOlderRun prints a hint with the newest run that can still be undone. Undo itself never skips the last run.
func suggestOlderRun(f *factory, e *apply.Engine, args []string) error {
	if len(args) > 0 {
		return nil
	}
	older, err := findRun(e, nil, func(r *apply.Run) bool {
		return r.Err == nil && r.Stage != apply.StageUndone && r.Stage != apply.StageAbandoned
	})
	if err == nil && older != nil {
		printHint(f.streams, lang.Textf("the one before it: anivault undo %s", older.ID))
	}
	return err
}

func matchesGlob(glob, name string) bool {
	if whole, _ := path.Match(glob, name); whole {
		return true
	}
	for part := range strings.SplitSeq(name, "/") {
		if ok, _ := path.Match(glob, part); ok {
			return true
		}
	}
	return false
}

func newVerify(f *factory) *cobra.Command {
	var deep bool
	a := applyRun{f: f}
	cmd := &cobra.Command{Use: "verify [ID]", Short: "Check whether everything is where a run of apply left it"}
	f.setRunWithConfig(cmd, organizeFormats, func(c invocation) error {
		a.format = c.format
		return a.verify(c.Context(), c.cfg, c.args, deep)
	})
	cmd.Flags().BoolVar(&deep, "deep", false, "read the files and compare their content")
	return cmd
}

func (a *applyRun) verify(ctx context.Context, cfg *config.Config, args []string, deep bool) error {
	e, err := openEngine(cfg)
	if err != nil {
		return err
	}
	defer e.Journals.Close()
	var run *apply.Run
	atWork, err := readRuns(ctx, cfg, func() (err error) {
		run, err = findRun(e, args, func(r *apply.Run) bool { return r.Stage != apply.StageUndone })
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case run == nil:
		return nothingToVerify(a.f, e)
	case run.Err != nil:
		return explainApplyError(ctx, lang.Error("the run %s: %w", run.ID, run.Err), nil)
	case run.Stage == apply.StageUndone:
		a.f.say("the run %s has already been put back\n", run.ID)
		return nil
	}
	if run.Stage.IsUnfinished() {
		if atWork {
			a.f.warn("run %s is in progress", run.ID)
		} else {
			a.f.warn("the run %s was interrupted", run.ID)
			printHint(a.f.streams, continueOrUndoHint(run.ID))
		}
	}
	out, err := e.Verify(ctx, run.ID, deep)
	if err != nil {
		return explainApplyError(ctx, err, nil)
	}
	warnDamagedJournal(a.f, out)
	if a.format == "ndjson" {
		err = a.printRecords(out, nil)
	} else {
		err = printResults(a.f, "", out, func(r *apply.Result) string {
			if r.Status == apply.StatusOK {
				return ""
			}
			return ui.Printable(r.Target)
		})
	}
	if err != nil {
		return err
	}
	ok, planned, undone := out.Count(apply.StatusOK), out.Count(apply.StatusPlanned), out.Count(apply.StatusUndone)
	a.f.say("%s unchanged since run %s, %d changed\n", lang.Count(ok, "file"), run.ID,
		len(out.Results)-ok-planned-undone-out.Count(apply.StatusRefused))
	if planned > 0 {
		a.f.say("%s not reached\n", lang.Count(planned, "file"))
	}
	if undone > 0 {
		a.f.say("%s put back\n", lang.Count(undone, "file"))
	}
	if out.Count(apply.StatusFailed) > 0 {
		return &exitError{code: exitIncomplete}
	}
	return nil
}

func nothingToVerify(f *factory, e *apply.Engine) error {
	run, err := findRun(e, nil, anyRun)
	switch {
	case err != nil:
		return err
	case run == nil:
		f.say("no plan has been carried out yet\n")
	default:
		f.say("every run has been put back: there is nothing to verify\n")
	}
	return nil
}
