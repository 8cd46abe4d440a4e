package cli

import (
	"bufio"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

func newHistory(f *factory) *cobra.Command {
	cmd := f.setRunWithConfig(command("history"), organizeFormats, func(c invocation) error {
		e, err := openEngine(c.cfg)
		if err != nil {
			return err
		}
		defer e.Journals.Close()
		if len(c.args) > 0 {
			return showRun(c, f, e)
		}
		runs, atWork, err := readRuns(c.cmd.Context(), c.cfg, e.History)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			f.say("no plan has been carried out yet\n")
		}
		if c.format == "ndjson" {
			return printRuns(f, runs, atWork)
		}
		w := bufio.NewWriter(f.streams.Out)
		for i := range runs {
			fmt.Fprintln(w, runLine(&runs[i], atWork))
		}
		return w.Flush()
	})
	cmd.AddCommand(newHistoryPrune(f), newHistoryAbandon(f))
	return cmd
}

func newHistoryPrune(f *factory) *cobra.Command {
	var older string
	cmd := f.setRunWithConfig(command("history_prune"), nil, func(c invocation) error {
		const example = "for example: anivault history prune --older 1y"
		age, ok := parseAge(older)
		switch {
		case older == "":
			return usagef(example, "no --older given: how long ago must a run have ended?")
		case !ok:
			return usagef(example, "--older: %q is not an age, such as 30d, 12w or 1y", older)
		}
		return (&applyRun{f: f}).withEngine(c.cmd.Context(), c.cfg, func(e *apply.Engine) (*apply.Outcome, error) {
			gone, err := e.Prune(time.Now().Add(-age))
			f.say("removed the journals of %s\n", lang.Count(len(gone), "run"))
			return nil, err
		})
	})
	cmd.Flags().StringVar(&older, "older", "",
		"how long ago they must have ended: an `AGE` in days, weeks or years, as 30d, 12w or 1y")
	return cmd
}

func newHistoryAbandon(f *factory) *cobra.Command {
	var yes bool
	cmd := f.setRunWithConfig(command("history_abandon"), nil, func(c invocation) error {
		return (&applyRun{f: f}).withEngine(c.cmd.Context(), c.cfg, func(e *apply.Engine) (*apply.Outcome, error) {
			run, err := findRun(e, c.args, nil)
			switch {
			case err != nil:
				return nil, err
			case run.Err != nil:
				return nil, explainApplyError(c.cmd.Context(), run.Err, nil)
			case !run.Stage.IsUnfinished():
				if _, _, err := e.Show(run.ID); err != nil { // a damaged journal may hide an interruption
					return nil, explainApplyError(c.cmd.Context(), err, nil)
				}
				return nil, usagef("anivault history lists them", "the run %s was not interrupted, and blocks no other run", run.ID)
			}
			question := lang.Textf("Leave the run %s (%s, to %s) as it is?", run.ID, lang.Count(run.Files, "file"),
				ui.Printable(strings.Join(run.Targets, ", ")))
			if ok, err := f.confirm(c.cmd.Context(), yes, question, "nothing was changed\n"); !ok {
				return nil, err
			}
			if err := e.Abandon(run.ID); err != nil {
				return nil, err
			}
			f.say("abandoned; no file was touched. Should its disk come back: anivault undo %s\n", run.ID)
			return nil, nil
		})
	})
	addYesFlag(cmd, &yes)
	return cmd
}

// parseAge reads "30d", "12w" or "1y".
func parseAge(text string) (time.Duration, bool) {
	days := map[byte]int{'d': 1, 'w': 7, 'y': 365}
	if len(text) < 2 || days[text[len(text)-1]] == 0 {
		return 0, false
	}
	n, err := strconv.Atoi(text[:len(text)-1])
	if err != nil || n < 0 || n > 1000 {
		return 0, false
	}
	return time.Duration(n*days[text[len(text)-1]]) * 24 * time.Hour, true
}

const stageDamaged = "damaged"

type jsonRun struct {
	_ struct{} `constant:"type=run" doc:"always \"run\""`
	apply.Run
	AtWork bool   `json:"at_work,omitempty" doc:"with planned, apply, undo: it is running; else it was interrupted"`
	Error  string `json:"error,omitempty" doc:"why its journal can't be trusted; it is never acted on"`
}

var stageTexts = map[apply.Stage]string{
	apply.StagePlanned: "interrupted before it began", apply.StageApplying: "interrupted", apply.StageDone: "done",
	apply.StageUndoing: "interrupted while being put back", apply.StageUndone: "put back",
	apply.StagePartlyUndone: "put back, with exceptions",
	apply.StageAbandoned:    "interrupted, and abandoned",
}

func stageText(s apply.Stage, atWork bool) string {
	switch {
	case atWork && s == apply.StageUndoing:
		return lang.Say("being put back")
	case atWork && s.IsUnfinished():
		return lang.Say("in progress")
	}
	return lang.Say(stageTexts[s])
}

func runLine(r *apply.Run, atWork bool) string {
	if r.Err != nil {
		line := r.ID + "  "
		if r.Mode != "" { // the readable part of a damaged journal
			line += fmt.Sprintf("%s  %s  %s  ", ui.Clock(r.Begun), ui.Printable(string(r.Mode)),
				lang.Say(lang.Count(r.Files, "file")))
		}
		return line + ui.Escaped(lang.Say(lang.TextOf(r.Err)))
	}
	line := fmt.Sprintf("%s  %s  %s  %s  %s", r.ID, ui.Clock(r.Begun), r.Mode, lang.Say(lang.Count(r.Files, "file")),
		stageText(r.Stage, atWork))
	if r.Refused > 0 {
		line += ", " + lang.Sprintf("%d refused", r.Refused)
	}
	switch {
	case r.Undone > 0 && r.Stage != apply.StageUndone:
		line += ", " + lang.Sprintf("%d put back", r.Undone)
	case r.Stage == apply.StageUndone && r.Undone+r.Refused < r.Files:
		line += ", " + lang.Sprintf("%d of them had been moved", r.Undone)
	}
	if r.NotRestored > 0 {
		line += ", " + lang.Sprintf("%d kept", r.NotRestored)
	}
	return line + "  " + ui.Printable(strings.Join(r.Targets, ", "))
}

func printRuns(f *factory, runs []apply.Run, atWork bool) error {
	w := newJSONLines(f.streams.Out)
	for i := range runs {
		r := &runs[i]
		line := jsonRun{Run: *r, AtWork: atWork && r.Err == nil && r.Stage.IsUnfinished()}
		if r.Err != nil {
			line.Stage, line.Error = stageDamaged, r.Err.Error()
		}
		w.put(&line)
	}
	return w.flush()
}

func showRun(c invocation, f *factory, e *apply.Engine) error {
	picked, err := findRun(e, c.args, nil)
	if err != nil {
		return err
	}
	var run apply.Run
	out, atWork, err := readRuns(c.cmd.Context(), c.cfg, func() (out *apply.Outcome, err error) {
		run, out, err = e.Show(picked.ID)
		return out, err
	})
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	warnDamagedJournal(f, out)
	if c.format == "ndjson" {
		return (&applyRun{f: f}).printRecords(out.Run, slices.Values(out.Results), nil)
	}
	fmt.Fprintln(f.streams.Out, runLine(&run, atWork))
	return printResults(f, "  ", out, func(r *apply.Result) string {
		return strings.TrimSuffix(ui.Printable(r.Target)+"  ← "+ui.Printable(r.Source), "  ← ") // an NFO file has no source
	})
}

func newUndo(f *factory) *cobra.Command {
	a := applyRun{f: f}
	var yes bool
	cmd := f.setRunWithConfig(command("undo"), organizeFormats, func(c invocation) error {
		a.format = c.format
		return a.undo(c.cmd.Context(), c.cfg, c.args, yes)
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
	confirmed, matches, opts := yes || a.dryRun || len(args) > 0, 0, apply.UndoOptions{DryRun: a.dryRun}
	if a.onlyGlob != "" {
		if _, err := path.Match(a.onlyGlob, ""); err != nil {
			return usagef("* matches anything but a slash; quote the pattern for the shell",
				"--only: %q is not a pattern", a.onlyGlob)
		}
		opts.Only = func(source, target string) bool {
			if matchesGlob(a.onlyGlob, source) || matchesGlob(a.onlyGlob, target) {
				matches++
				return true
			}
			return false
		}
	}
	return a.withEngine(ctx, cfg, func(e *apply.Engine) (*apply.Outcome, error) {
		run, err := findRun(e, args, nil)
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
		what := lang.Count(run.Files-run.Undone, "file")
		if a.onlyGlob != "" {
			what = lang.Textf("what matches %s in %s", ui.Printable(a.onlyGlob), what)
		}
		question := lang.Textf("Put back the run %s of %s (%s, %s to %s)?", run.ID, ui.Clock(run.Begun), what, run.Mode,
			ui.Printable(strings.Join(run.Targets, ", ")))
		if ok, err := a.f.confirm(ctx, confirmed, question, "nothing was changed\n"); !ok {
			return nil, err
		}
		out, err := e.Undo(ctx, run.ID, opts)
		if err != nil {
			return nil, explainApplyError(ctx, err, out)
		}
		switch {
		case a.onlyGlob == "" || len(out.Results) > 0:
		case matches == 0:
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
	glob, name = norm.NFC.String(glob), norm.NFC.String(name) // a Mac writes names in another normal form
	return slices.ContainsFunc(append(strings.Split(name, "/"), name), func(part string) bool {
		ok, _ := path.Match(glob, part)
		return ok || part == glob // a whole name may have brackets
	})
}

func newVerify(f *factory) *cobra.Command {
	var deep bool
	a := applyRun{f: f}
	cmd := f.setRunWithConfig(command("verify"), organizeFormats, func(c invocation) error {
		a.format = c.format
		return a.verify(c.cmd.Context(), c.cfg, c.args, deep)
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
	run, atWork, err := readRuns(ctx, cfg, func() (*apply.Run, error) {
		return findRun(e, args, func(r *apply.Run) bool { return r.Stage != apply.StageUndone })
	})
	if err != nil {
		return err
	}
	switch {
	case run == nil:
		a.f.say("there is nothing to verify: no run has moved files, or each has been put back\n")
		return nil
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
		err = a.printRecords(out.Run, slices.Values(out.Results), nil)
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
