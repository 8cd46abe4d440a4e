package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

type applyRun struct {
	f *factory

	partial, dryRun, resume bool
	back                    bool // what was done is put back
	wait                    time.Duration
	only                    string
	format                  string

	began time.Time
	told  time.Time  // when progress was last told
	line  *ui.Status // that shows it on a terminal; nil where none is at work

	// Of a plan that was just made.
	units   []organize.Unit
	left    []organize.LeftFile
	planned *report.OrganizeSummary
}

func newApply(f *factory) *cobra.Command {
	a := applyRun{f: f}
	cmd := &cobra.Command{
		Use:   "apply PLAN|-",
		Short: "Carry out a plan made by organize; anivault undo puts everything back",
		Args:  atMostOne("PLAN"),
	}
	f.leaf(cmd, organizeFormats, func(c call) error {
		a.format = c.format
		return a.run(c.Command, c.args)
	})
	flags := cmd.Flags()
	flags.BoolVar(&a.dryRun, "dry-run", false, "check everything and change nothing")
	flags.BoolVar(&a.resume, "resume", false, "continue the interrupted run; its ID may follow")
	flags.BoolVar(&a.partial, "partial", false, "skip the units that can't be carried out, and do the others")
	flags.DurationVar(&a.wait, "wait", 0, "wait up to `TIME` for another run to end")
	addSettings(cmd, flags, "organize.exec")
	return cmd
}

func (a *applyRun) run(cmd *cobra.Command, args []string) error {
	a.began = time.Now()
	switch {
	case a.resume && (a.dryRun || a.partial):
		return usagef("leave them out", "--resume continues a run as it began: it can't be combined with --dry-run or "+
			"--partial")
	case !a.resume && len(args) == 0:
		return usagef("for example: anivault apply library.plan", "no PLAN given")
	}
	cfg, err := a.f.load(cmd)
	if err != nil {
		return err
	}
	if a.resume {
		return a.resumeRun(cmd.Context(), cfg, args)
	}
	plan, err := readPlan(a.f, args[0])
	if err != nil {
		return err
	}
	if !plan.KeepsMode() {
		a.f.warn("the plan's mode is %s, and no line of a video says so; what the lines say counts", plan.Mode)
	}
	if strays := plan.Strays(); len(strays) > 0 {
		a.f.warn("%d of the plan's files are no longer named like their video, so servers won't find them: %s",
			len(strays), ui.Printable(strays[0]))
	}
	return a.carryOut(cmd.Context(), cfg, plan)
}

func readPlan(f *factory, path string) (*organize.Plan, error) {
	in := io.NopCloser(f.streams.In)
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
		return nil, lang.Error("read the plan: %w", err)
	}
	plan, err := organize.Parse(string(text))
	if err != nil {
		name := path
		if path == "-" {
			name = "stdin"
		}
		listProblems(f, name, err)
		return nil, usagef("anivault organize --plan writes plans; docs/organize.md says what may be changed in one",
			"%s can't be carried out as it is; nothing was done", ui.Printable(name))
	}
	return plan, nil
}

func listProblems(f *factory, name string, err error) {
	const most = 20
	bad, ok := errors.AsType[*organize.PlanError](err)
	if !ok {
		complain(f.streams, lang.TextOf(err))
		return
	}
	for i, p := range bad.Problems {
		if i == most {
			fmt.Fprintln(f.streams.Err, lang.Sprintf("%s: and %d more", ui.Printable(name), len(bad.Problems)-most))
			break
		}
		fmt.Fprintf(f.streams.Err, "%s:%d: %s\n", ui.Printable(name), p.Line, ui.Escaped(lang.Say(p.Text)))
	}
}

func (a *applyRun) carryOut(ctx context.Context, cfg *config.Config, plan *organize.Plan) error {
	if err := checkHook(cfg); err != nil {
		return err
	}
	n := notes{cfg: cfg, warn: func(err error) { a.f.warn("%v", err) }}
	defer n.close()
	var out *apply.Outcome
	err := a.withEngine(ctx, cfg, func(e *apply.Engine) (_ *apply.Outcome, err error) {
		e.Note = n.read
		out, err = e.Apply(ctx, plan, apply.Options{
			Partial: a.partial, DryRun: a.dryRun, Absolute: cfg.Organize.AbsoluteLinks,
		})
		if err != nil {
			return nil, explainRun(ctx, err, out)
		}
		if out.Run == "" {
			out.Run = plan.ID
		}
		return out, nil
	})
	return runHook(ctx, a.f, cfg, out, err)
}

func (a *applyRun) resumeRun(ctx context.Context, cfg *config.Config, args []string) error {
	if err := checkHook(cfg); err != nil {
		return err
	}
	var out *apply.Outcome
	err := a.withEngine(ctx, cfg, func(e *apply.Engine) (*apply.Outcome, error) {
		run, err := pickRun(e, args, func(r *apply.Run) bool { return r.Err != nil || r.Stage.Unfinished() })
		switch {
		case err != nil:
			return nil, err
		case run == nil:
			a.f.say("no run was interrupted\n")
			return nil, nil
		case run.Err != nil:
			return nil, explainRun(ctx, lang.Error("the run %s: %w", run.ID, run.Err), nil)
		case !run.Stage.Unfinished() && run.Stage != apply.Abandoned:
			a.f.say("the run %s was not interrupted: there is nothing to continue\n", run.ID)
			return nil, nil
		}
		if out, err = e.Resume(ctx, run.ID); err != nil {
			return nil, explainRun(ctx, err, out)
		}
		return out, nil
	})
	return runHook(ctx, a.f, cfg, out, err)
}

// tellProgress draws the progress on a terminal, ten times a second at most, or writes an object a second for programs.
func (a *applyRun) tellProgress(p apply.Progress) {
	now := time.Now()
	period := time.Second
	if a.format != "ndjson" {
		if !a.line.Enabled() {
			return
		}
		period = 100 * time.Millisecond
	}
	if a.told.IsZero() {
		a.told = now
	}
	if now.Sub(a.told) < period {
		return
	}
	a.told = now
	elapsed := now.Sub(a.began)
	if a.format != "ndjson" {
		a.line.Set(runLineOf(p, elapsed, a.line.Room()))
		return
	}
	line, err := report.AppendLine(nil, &report.OrganizeProgress{
		Run: p.Run, Bytes: p.Bytes, BytesTotal: p.BytesTotal, Files: p.Files, FilesTotal: p.FilesTotal,
		ETAMS: timeLeft(p, elapsed).Milliseconds(),
	})
	if err == nil {
		_, _ = a.f.streams.Out.Write(line) // that nobody reads it is told by the results
	}
}

func (a *applyRun) endLine() {
	if a.line != nil {
		a.line.Clear()
	}
}

// timeLeft estimates by bytes if the run copies, else by files.
func timeLeft(p apply.Progress, elapsed time.Duration) time.Duration {
	done, all := float64(p.Files), float64(p.FilesTotal)
	if p.BytesTotal > 0 {
		done, all = float64(p.Bytes), float64(p.BytesTotal)
	}
	if done == 0 {
		return 0 // nobody knows
	}
	return time.Duration(float64(elapsed) * (all - done) / done)
}

func runLineOf(p apply.Progress, elapsed time.Duration, room int) string {
	parts := []part{{text: lang.Textf("%d/%d files", p.Files, p.FilesTotal), weight: 9}}
	if p.BytesTotal > 0 {
		rate := float64(p.Bytes) / max(elapsed.Seconds(), 0.1)
		parts = append(
			parts,
			part{text: lang.Textf("%s of %s copied", ui.Size(p.Bytes), ui.Size(p.BytesTotal)), weight: 8},
			part{text: lang.Textf("%s/s", ui.Size(int64(rate))), weight: 3},
		)
	}
	parts = append(parts, part{text: elapsedText(elapsed), weight: 2})
	if left := timeLeft(p, elapsed); elapsed >= estimateAfter && left > 0 {
		parts = append(parts, part{text: lang.Textf("about %s left", ui.Countdown(left)), weight: 5})
	}
	return fitting(parts, room)
}

// notes makes files for media servers from the cache alone. It sends nothing.
type notes struct {
	cfg   *config.Config
	warn  func(error)
	runs  map[string]*app.App // by languages; nil: it could not be opened
	last  *nfo.Entry
	lasts organize.Note // what that was made for
}

func (n *notes) read(ctx context.Context, note *organize.Note) []byte {
	if n.last == nil || n.lasts.Entry != note.Entry || n.lasts.Languages != note.Languages {
		n.last, n.lasts = n.entry(ctx, note), *note
	}
	switch {
	case n.last == nil:
		return nil
	case len(note.Episodes) > 0:
		return nfo.Episodes(n.last, note.Season, note.Episodes)
	case note.Full:
		return nfo.Full(n.last)
	}
	return nfo.IDs(n.last)
}

func (n *notes) entry(ctx context.Context, note *organize.Note) *nfo.Entry {
	run := n.open(note.Languages)
	if run == nil {
		return nil
	}
	e, err := run.Note(ctx, match.Kind(note.Kind), note.ID)
	if err != nil {
		return nil // not_cached says so
	}
	return e
}

func (n *notes) open(languages string) *app.App {
	if run, known := n.runs[languages]; known {
		return run
	}
	cfg := *n.cfg
	if languages != "" {
		cfg.TMDB.Languages = slices.Collect(strings.SplitSeq(languages, ","))
	}
	run, err := app.Open(&cfg, app.Options{Offline: true, Warn: n.warn})
	if err != nil {
		n.warn(err)
	}
	if n.runs == nil {
		n.runs = map[string]*app.App{}
	}
	n.runs[languages] = run
	return run
}

func (n *notes) close() {
	for _, run := range n.runs {
		if run == nil {
			continue
		}
		if err := run.Close(); err != nil {
			n.warn(err)
		}
	}
}
