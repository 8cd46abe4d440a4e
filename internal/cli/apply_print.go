package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

func (a *applyRun) reportOutcome(ctx context.Context, out *apply.Outcome) error {
	a.statusLine.Clear()
	s := summarizeRun(a, out)
	var err error
	if a.format == "ndjson" {
		err = a.printRecords(out.Run, slices.Values(out.Results), &s)
	} else {
		err = printResults(a.f, "", out, a.problemLine)
	}
	if err != nil {
		return &exitError{code: exitInternal, err: lang.Error("write what was done: %w", err)}
	}
	warnDamagedJournal(a.f, out)
	for _, name := range out.BadCRC {
		a.f.warn("bad_crc: the content of %s does not have the checksum in its name; it was copied unchanged",
			ui.Printable(name))
	}
	if n := len(out.LostAttributes); n > 0 {
		a.f.warn("%d of the copies could not keep their owner, all extended attributes or the access control list; "+
			"the first is %s", n, ui.Printable(out.LostAttributes[0]))
	}
	a.printSummary(out, &s)
	switch {
	case ctx.Err() != nil && out.Unfinished:
		return &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
	case out.Unfinished || s.Refused+s.Failed+s.Kept > 0:
		return &exitError{code: exitIncomplete}
	}
	return nil
}

func (a *applyRun) printSummary(out *apply.Outcome, s *report.OrganizeSummary) {
	if out.Unfinished {
		if out.StopCause != nil {
			a.f.warn("the run %s was interrupted: %v", out.Run, out.StopCause)
		} else {
			a.f.warn("the run %s was interrupted", out.Run)
		}
		printHint(a.f.streams, continueOrUndoHint(out.Run))
		return
	}
	planned, kept := "%d can be carried out", "%d kept"
	if a.undoing {
		planned = "%d can be put back"
	}
	if a.dryRun {
		kept = "%d would be kept"
	}
	ready := out.Count(apply.StatusPlanned)
	var parts []string
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, lang.Sprintf(format, lang.Number(n)))
		}
	}
	add(ready, planned)
	add(s.Done, "%d done")
	add(s.Undone, "%d put back")
	add(s.InPlace, "%d in place")
	add(s.Left, "%d skipped")
	add(s.Conflicts, "%d in conflict")
	add(s.Refused, "%d refused")
	add(s.Failed, "%d failed")
	add(s.Kept, kept)
	switch {
	case len(parts) > 0:
	case a.undoing:
		parts = []string{lang.Sprintf("run %s has not moved any file", out.Run)}
	default:
		parts = []string{lang.Say("nothing to do")}
	}
	a.f.say("%s\n", strings.Join(parts, ", "))
	printUnowned(a.f, s.Unowned)
	switch {
	case a.dryRun:
		a.f.say("nothing was changed\n")
	case a.f.isDemo:
	case s.Done > 0:
		a.f.say("undo: anivault undo %s\n", out.Run)
	case s.Undone > 0 || s.Kept > 0:
		a.f.say("this was run %s\n", out.Run)
	case s.Refused > 0 && ready == 0:
		a.f.say("nothing was changed\n")
	case s.Refused > 0:
		a.f.say("nothing was changed; --partial does what can be done\n")
	}
}

func summarizeRun(a *applyRun, out *apply.Outcome) report.OrganizeSummary {
	s := report.OrganizeSummary{
		Run: out.Run, Planned: len(out.Results), InPlace: out.Count(apply.StatusInPlace),
		Left: out.Count(apply.StatusSkipped), Done: out.Count(apply.StatusDone),
		Refused: out.Count(apply.StatusRefused), Failed: out.Count(apply.StatusFailed), Undone: out.Count(apply.StatusUndone),
		Kept: out.Count(apply.StatusNotRestored), ElapsedMS: time.Since(a.started).Milliseconds(),
	}
	for i := range out.Results {
		if r := &out.Results[i]; r.Copied {
			s.Bytes += r.Size
		}
	}
	if p := a.planSummary; p != nil {
		s.InPlace, s.Left, s.Conflicts, s.Unowned = s.InPlace+p.InPlace, s.Left+p.Left, p.Conflicts, p.Unowned
	}
	return s
}

// printResults prints each result with the line from text, and its problem below. It skips results whose line is "".
func printResults(f *factory, indent string, out *apply.Outcome, text func(*apply.Result) string) error {
	w := bufio.NewWriter(f.streams.Out)
	for i := range out.Results {
		r := &out.Results[i]
		line := text(r)
		if line == "" {
			continue
		}
		line = indent + lang.Say(string(r.Status)) + "  " + line
		fmt.Fprintln(w, ui.WrapHanging(line, f.streams.OutWidth(), len(indent)+4))
		if r.Problem != nil {
			fmt.Fprintf(w, "%s  (%s)\n", indent, problemText(r.Problem))
		}
	}
	return w.Flush()
}

var problemStatuses = []apply.Status{
	apply.StatusSkipped, apply.StatusRefused, apply.StatusFailed, apply.StatusNotRestored,
}

// problemLine returns the paths of a file that was not moved to its target or not put back, else "". For undo --dry-run
// it also returns the paths of files that would be put back. For apply --dry-run, the plan lists the files.
func (a *applyRun) problemLine(r *apply.Result) string {
	target := ui.Printable(r.Target)
	switch {
	case a.undoing && r.Status == apply.StatusPlanned:
		return target + "\n  → " + ui.Printable(r.Source)
	case !slices.Contains(problemStatuses, r.Status):
		return ""
	case r.Source == "":
		return target
	}
	return ui.Printable(r.Source) + "\n  → " + target
}

func problemText(p *apply.Problem) string {
	text := lang.Say(apply.Meaning(p.Code))
	switch {
	case p.Run != "":
		text = lang.Sprintf("the run %s has moved it since: undo that run first", p.Run)
	case p.Err != nil:
		text += ": " + ui.Escaped(ui.OneLine(lang.Say(lang.TextOf(p.Err))))
	}
	return text
}

func (a *applyRun) printRecords(run string, results iter.Seq[apply.Result], s *report.OrganizeSummary) error {
	w, op := newJSONLines(a.f.streams.Out), &report.Op{}
	for r := range results {
		*op = report.Op{
			Run: run, N: r.N, Unit: r.Unit, Action: r.Verb.String(), Role: string(organize.RoleOf(r.Target)),
			Source: r.Source, Target: r.Target, Status: string(r.Status),
		}
		if 0 < r.Unit && r.Unit <= len(a.units) {
			u := &a.units[r.Unit-1]
			describeUnit(op, u)
			op.Role = string(u.RoleIn(&organize.Op{Verb: r.Verb, To: r.Target}))
		}
		if r.Problem != nil {
			op.Error = &report.OpError{Code: string(r.Problem.Code), Message: lang.TextOf(r.Problem)}
		}
		w.put(op)
	}
	for i := range a.skipped {
		op := skippedOp(run, &a.skipped[i])
		w.put(&op)
	}
	if s != nil {
		w.put(s)
	}
	return w.flush()
}

func describeUnit(op *report.Op, u *organize.Unit) {
	w := &u.Work
	op.Kind, op.TMDBID, op.Episodes = w.Kind, w.ID, w.Episodes
	if !u.FollowsNeighbours {
		op.Confidence = &w.Confidence
	}
	if len(w.Episodes) > 0 {
		op.Season = &w.Season
	}
}

func warnDamagedJournal(f *factory, out *apply.Outcome) {
	if out.DamagedMarks > 0 {
		f.warn("%d lines of the journal are damaged: their content is unknown, and they are kept", out.DamagedMarks)
	}
}

const hookTimeout = time.Minute

func checkHook(cfg *config.Config) error {
	if len(cfg.Organize.Exec) == 0 {
		return nil
	}
	if _, err := exec.LookPath(cfg.Organize.Exec[0]); err != nil {
		return usagef("name a program that can be run, or leave it out; "+
			"arguments go in the list organize.exec of the config file",
			"%s: %v", ui.Printable(cfg.Organize.Exec[0]), err)
	}
	return nil
}

// runHook runs the program of organize.exec if a run has changed something. If both have failed, it returns runErr, the
// error of the run.
func runHook(ctx context.Context, f *factory, cfg *config.Config, out *apply.Outcome, runErr error) error {
	if len(cfg.Organize.Exec) == 0 || out == nil || len(out.ChangedFolders) == 0 {
		return runErr
	}
	h := hook{
		argv: cfg.Organize.Exec, env: hookEnv(f.environ, out), timeout: hookTimeout,
		streams: f.streams, changedDirs: out.ChangedFolders,
	}
	if err := h.run(ctx); err != nil {
		f.warn("%v; what run %s did is kept", err, out.Run)
		return cmp.Or(runErr, error(&exitError{code: exitIncomplete}))
	}
	return runErr
}

func hookEnv(environ []string, out *apply.Outcome) []string {
	return append(withoutSecrets(environ), "ANIVAULT_RUN_ID="+out.Run,
		"ANIVAULT_CHANGED="+strconv.Itoa(out.Count(apply.StatusDone)))
}

func withoutSecrets(environ []string) []string {
	secret := map[string]bool{}
	for _, s := range config.Settings() {
		secret[s.Env] = s.Secret
	}
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return secret[name]
	})
}

type hook struct {
	argv, env, changedDirs []string
	timeout                time.Duration
	streams                ui.Streams
}

// run runs the program without a shell. After the timeout it kills the program and everything that it started. The
// program's output goes to stderr, because stdout carries results.
func (h *hook) run(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	cmd := exec.CommandContext(bounded, h.argv[0], h.argv[1:]...)
	var stdin strings.Builder
	for _, folder := range h.changedDirs {
		stdin.WriteString(folder + "\x00")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader(stdin.String()), h.streams.Err, h.streams.Err, h.env
	cmd.WaitDelay = time.Second // a background process may keep the output open
	setProcessGroup(cmd)
	err := cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() == nil && bounded.Err() != nil:
		return lang.Error("%s was stopped: it took more than %s", ui.Printable(h.argv[0]), ui.Duration(h.timeout))
	}
	return lang.Error("%s failed: %w", ui.Printable(h.argv[0]), err)
}
