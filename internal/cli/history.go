package cli

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

func newHistory(f *factory) *cobra.Command {
	cmd := &cobra.Command{Use: "history [ID]", Short: "List the runs of apply, or what happened to each file in one"}
	f.setRunWithConfig(cmd, organizeFormats, func(c invocation) error {
		e, err := openEngine(c.cfg)
		if err != nil {
			return err
		}
		defer e.Journals.Close()
		if len(c.args) > 0 {
			return showRun(c, f, e)
		}
		var runs []apply.Run
		atWork, err := readRuns(c.Context(), c.cfg, func() (err error) {
			runs, err = e.History()
			return err
		})
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
	cmd := &cobra.Command{Use: "prune", Short: "Remove the journals of old runs, which then can't be put back"}
	f.setRunWithConfig(cmd, nil, func(c invocation) error {
		age, ok := parseAge(older)
		switch {
		case older == "":
			return usagef("for example: anivault history prune --older 1y",
				"no --older given: how long ago must a run have ended?")
		case !ok:
			return usagef("for example: anivault history prune --older 1y",
				"flag --older: %q is not an age, such as 30d, 12w or 1y", older)
		}
		return (&applyRun{f: f}).withEngine(c.Context(), c.cfg, func(e *apply.Engine) (*apply.Outcome, error) {
			gone, err := e.Prune(time.Now().Add(-age))
			f.say("%s can no longer be put back\n", lang.Count(len(gone), "run"))
			return nil, err
		})
	})
	cmd.Flags().StringVar(&older, "older", "",
		"how long ago they must have ended: an `AGE` in days, weeks or years, as 30d, 12w or 1y")
	return cmd
}

func newHistoryAbandon(f *factory) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{Use: "abandon ID", Short: "Allow other runs although this one was interrupted"}
	f.setRunWithConfig(cmd, nil, func(c invocation) error {
		return (&applyRun{f: f}).withEngine(c.Context(), c.cfg, func(e *apply.Engine) (*apply.Outcome, error) {
			run, err := findRun(e, c.args, anyRun)
			switch {
			case err != nil:
				return nil, err
			case run.Err != nil:
				return nil, explainApplyError(c.Context(), run.Err, nil)
			case !run.Stage.IsUnfinished():
				if _, _, err := e.Show(run.ID); err != nil { // a damaged journal may hide an interruption
					return nil, explainApplyError(c.Context(), err, nil)
				}
				return nil, usagef("anivault history lists them", "the run %s was not interrupted, and blocks no other run", run.ID)
			}
			question := lang.Textf("Leave the run %s (%s, to %s) as it is?", run.ID, lang.Count(run.Files, "file"),
				ui.Printable(strings.Join(run.Targets, ", ")))
			if ok, err := f.confirm(c.Context(), yes, question, "nothing was changed\n"); !ok {
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
	_       struct{} `constant:"type=run" doc:"always \"run\""`
	Run     string   `json:"run" doc:"its id"`
	Begun   string   `json:"begun,omitempty" doc:"when it began, RFC 3339 in UTC"`
	Mode    string   `json:"mode,omitempty" doc:"hardlink, move, symlink, copy or reflink"`
	AtWork  bool     `json:"at_work,omitempty" doc:"with planned, apply and undo: whether a process is working on"`
	_       struct{} `doc:"it; if not, it was interrupted"`
	Stage   string   `json:"stage,omitempty" doc:"planned, apply or undo (at work, or interrupted), done, undone,"`
	_       struct{} `doc:"kept (put back but for some), abandoned, or damaged: see error"`
	Files   int      `json:"files" doc:"files of the run"`
	Refused int      `json:"refused" doc:"files that were not put where they belong"`
	Kept    int      `json:"kept" doc:"files that could not be put back"`
	Undone  int      `json:"undone" doc:"files that were put back"`
	Targets []string `json:"targets,omitempty" doc:"the folders it put files in"`
	Error   string   `json:"error,omitempty" doc:"why its journal can't be trusted; it is never acted on"`
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
		line := jsonRun{
			Run: r.ID, Begun: ui.Timestamp(r.Begun), Mode: string(r.Mode), Stage: string(r.Stage),
			Files: r.Files, Refused: r.Refused, Kept: r.NotRestored, Undone: r.Undone, Targets: r.Targets,
			AtWork: atWork && r.Err == nil && r.Stage.IsUnfinished(),
		}
		if r.Err != nil {
			line.Stage, line.Error = stageDamaged, r.Err.Error()
		}
		w.put(&line)
	}
	return w.flush()
}

func showRun(c invocation, f *factory, e *apply.Engine) error {
	picked, err := findRun(e, c.args, anyRun)
	if err != nil {
		return err
	}
	var run apply.Run
	var out *apply.Outcome
	atWork, err := readRuns(c.Context(), c.cfg, func() (err error) {
		run, out, err = e.Show(picked.ID)
		return err
	})
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	warnDamagedJournal(f, out)
	if c.format == "ndjson" {
		return (&applyRun{f: f}).printRecords(out, nil)
	}
	fmt.Fprintln(f.streams.Out, runLine(&run, atWork))
	return printResults(f, "  ", out, func(r *apply.Result) string {
		return ui.Printable(r.Target) + "  ← " + ui.Printable(r.Source)
	})
}
