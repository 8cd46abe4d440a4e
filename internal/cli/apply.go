package cli

import (
	"cmp"
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
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

type applyRun struct {
	f *factory

	partial, dryRun, resume bool
	undoing                 bool
	wait                    time.Duration
	onlyGlob                string
	format                  string

	started      time.Time
	plannedAt    time.Time  // see apply.Options
	lastProgress time.Time  // when progress was last shown or written
	statusLine   *ui.Status // nil except during a run

	onFileFailed func(source string) // called for each file that was refused or rolled back; may be nil

	// These fields describe the plan. They are set only if the plan was made in this process and not read from a file.
	units       []organize.Unit
	skipped     []organize.SkippedFile
	planSummary *report.OrganizeSummary
}

func newApply(f *factory) *cobra.Command {
	a := applyRun{f: f}
	cmd := command("apply")
	cmd.Args = atMostOne("PLAN")
	f.setRun(cmd, organizeFormats, func(c invocation) error {
		a.format = c.format
		return a.run(c.cmd, c.args)
	})
	flags := cmd.Flags()
	flags.BoolVar(&a.dryRun, "dry-run", false, "check everything and change nothing")
	flags.BoolVar(&a.resume, "resume", false, "continue the interrupted run; its ID may follow")
	flags.BoolVar(&a.partial, "partial", false, "skip the units that can't be carried out, and do the rest")
	flags.DurationVar(&a.wait, "wait", 0, "wait up to `TIME` for another run to end")
	addSettingFlags(cmd, flags, "organize.exec")
	return cmd
}

func (a *applyRun) run(cmd *cobra.Command, args []string) error {
	a.started = time.Now()
	switch {
	case a.resume && (a.dryRun || a.partial):
		return usagef("leave them out", "--resume continues a run as it was started: it can't be combined with --dry-run or "+
			"--partial")
	case !a.resume && len(args) == 0:
		return usagef("for example: anivault apply library.plan", "no PLAN given")
	}
	cfg, err := a.f.load(cmd)
	if err != nil {
		return err
	}
	return a.f.sendNotices(cmd.Context(), cfg, a.runWithConfig(cmd.Context(), cfg, args))
}

func (a *applyRun) runWithConfig(ctx context.Context, cfg *config.Config, args []string) error {
	if a.resume {
		return a.resumeRun(ctx, cfg, args)
	}
	plan, err := readPlan(a.f, args[0])
	if err != nil {
		return err
	}
	if !plan.UsesMode() {
		a.f.warn("the plan's mode is %s, but no video's line uses it; the lines decide", plan.Mode)
	}
	if strays := plan.StraySidecars(); len(strays) > 0 {
		a.f.warn("%d of the plan's files are no longer named like their video, so servers won't find them: %s",
			len(strays), ui.Printable(strays[0]))
	}
	return a.carryOut(ctx, cfg, plan)
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
	text, err := io.ReadAll(f.untilSignal(in))
	if err != nil {
		return nil, lang.Error("read the plan: %w", err)
	}
	plan, err := organize.Parse(string(text))
	if err != nil {
		name := path
		if path == "-" {
			name = "stdin"
		}
		printPlanProblems(f, name, err)
		return nil, usagef("anivault organize --plan writes plans; docs/organize.md says what may be changed in one",
			"%s can't be carried out as it is; nothing was done", ui.Printable(name))
	}
	return plan, nil
}

func printPlanProblems(f *factory, name string, err error) {
	const most = 20
	bad, ok := errors.AsType[*organize.PlanError](err)
	if !ok {
		printMessage(f.streams, lang.TextOf(err))
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
	n := nfoBuilder{cfg: cfg, warn: func(err error) { a.f.warn("%v", err) }, apps: map[string]*app.App{}}
	defer n.close()
	var out *apply.Outcome
	err := a.withEngine(ctx, cfg, func(e *apply.Engine) (_ *apply.Outcome, err error) {
		e.OnBegin = a.beginNotices(cfg)
		e.NFOContent = n.build
		out, err = e.Apply(ctx, plan, apply.Options{
			Partial: a.partial, DryRun: a.dryRun, AbsoluteLinks: cfg.Organize.AbsoluteLinks, PlannedAt: a.plannedAt,
		})
		if err != nil {
			return nil, explainApplyError(ctx, err, out)
		}
		out.Run = cmp.Or(out.Run, plan.ID)
		for _, r := range out.Results {
			if a.onFileFailed != nil && (r.Status == apply.StatusRefused || r.Status == apply.StatusFailed) {
				a.onFileFailed(r.Source)
			}
		}
		return out, nil
	})
	return a.afterRun(ctx, cfg, out, err)
}

// afterRun runs the hook and queues the notices. All locks are released by then.
func (a *applyRun) afterRun(ctx context.Context, cfg *config.Config, out *apply.Outcome, err error) error {
	if out == nil {
		return err
	}
	err = runHook(ctx, a.f, cfg, out, err)
	if failure := a.endNotices(cfg, out); failure != nil {
		a.f.warn("%v", failure)
	}
	return err
}

func (a *applyRun) resumeRun(ctx context.Context, cfg *config.Config, args []string) error {
	if err := checkHook(cfg); err != nil {
		return err
	}
	var out *apply.Outcome
	err := a.withEngine(ctx, cfg, func(e *apply.Engine) (*apply.Outcome, error) {
		run, err := findRun(e, args, func(r *apply.Run) bool { return r.Err != nil || r.Stage.IsUnfinished() })
		switch {
		case err != nil:
			return nil, err
		case run == nil:
			a.f.say("no run was interrupted\n")
			return nil, nil
		case run.Err != nil:
			return nil, explainApplyError(ctx, lang.Error("the run %s: %w", run.ID, run.Err), nil)
		case !run.Stage.IsUnfinished() && run.Stage != apply.StageAbandoned:
			a.f.say("the run %s was not interrupted: there is nothing to continue\n", run.ID)
			return nil, nil
		}
		e.OnBegin = a.beginNotices(cfg)
		if out, err = e.Resume(ctx, run.ID); err != nil {
			return nil, explainApplyError(ctx, err, out)
		}
		return out, nil
	})
	return a.afterRun(ctx, cfg, out, err)
}

// showProgress draws the progress on a terminal, at most ten times a second, or writes one JSON object a second.
func (a *applyRun) showProgress(p apply.Progress) {
	now := time.Now()
	period := time.Second
	if a.format != "ndjson" {
		if !a.statusLine.Enabled() {
			return
		}
		period = 100 * time.Millisecond
	}
	if now.Sub(a.lastProgress) < period {
		return
	}
	a.lastProgress = now
	elapsed := now.Sub(a.started)
	if a.format != "ndjson" {
		a.statusLine.Set(applyProgressText(p, elapsed, a.statusLine.Room()))
		return
	}
	line, err := report.AppendJSON(nil, &report.OrganizeProgress{
		Run: p.Run, Bytes: p.Bytes, BytesTotal: p.BytesTotal, Files: p.Files, FilesTotal: p.FilesTotal,
		ETAMS: estimateRemaining(p, elapsed).Milliseconds(),
	})
	if err == nil {
		_, _ = a.f.streams.Out.Write(append(line, '\n')) // writing the results will report the same error
	}
}

// estimateRemaining returns the remaining time, estimated by bytes if the run copies, else by files; 0 if unknown.
func estimateRemaining(p apply.Progress, elapsed time.Duration) time.Duration {
	done, all := float64(p.Files), float64(p.FilesTotal)
	if p.BytesTotal > 0 {
		done, all = float64(p.Bytes), float64(p.BytesTotal)
	}
	if done == 0 {
		return 0
	}
	return time.Duration(float64(elapsed) * (all - done) / done)
}

func applyProgressText(p apply.Progress, elapsed time.Duration, room int) string {
	parts := []statusPart{{text: lang.Textf("%d/%d files", p.Files, p.FilesTotal), weight: 9}}
	if p.BytesTotal > 0 {
		rate := float64(p.Bytes) / max(elapsed.Seconds(), 0.1)
		parts = append(parts,
			statusPart{text: lang.Textf("%s of %s copied", ui.Size(p.Bytes), ui.Size(p.BytesTotal)), weight: 8},
			statusPart{text: lang.Textf("%s/s", ui.Size(int64(rate))), weight: 3})
	}
	parts = append(parts, statusPart{text: elapsedText(elapsed), weight: 2})
	if left := estimateRemaining(p, elapsed); elapsed >= minEstimateTime && left > 0 {
		parts = append(parts, statusPart{text: lang.Textf("about %s left", ui.Countdown(left)), weight: 5})
	}
	return fitParts(parts, room)
}

// nfoBuilder makes NFO files for media servers from cached answers. It sends no requests.
type nfoBuilder struct {
	cfg       *config.Config
	warn      func(error)
	apps      map[string]*app.App // by languages; nil if it could not be opened
	lastEntry *nfo.Entry
	lastSpec  organize.NFOSpec // the spec for which lastEntry was loaded
}

func (n *nfoBuilder) build(ctx context.Context, note *organize.NFOSpec) []byte {
	e := n.loadEntry(ctx, note)
	own := orders.Place{Season: note.Season, Episodes: note.Episodes}
	switch {
	case e == nil:
		return nil
	case len(note.Named.Episodes) > 0:
		return nfo.Episodes(e, own, note.Named)
	case len(note.Episodes) > 0:
		return nfo.Episodes(e, own, own)
	}
	e.Order = note.Order
	if note.Full {
		return nfo.Full(e)
	}
	return nfo.IDs(e)
}

func (n *nfoBuilder) loadEntry(ctx context.Context, note *organize.NFOSpec) *nfo.Entry {
	if n.lastSpec.Entry != note.Entry || n.lastSpec.Languages != note.Languages {
		n.lastEntry, n.lastSpec = nil, *note
		if run := n.appFor(note.Languages); run != nil {
			n.lastEntry, _ = run.NFOEntry(ctx, match.Kind(note.Kind), note.ID) // without one, apply reports not_cached
		}
	}
	return n.lastEntry
}

func (n *nfoBuilder) appFor(languages string) *app.App {
	if run, known := n.apps[languages]; known {
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
	n.apps[languages] = run
	return run
}

func (n *nfoBuilder) close() {
	for _, run := range n.apps {
		if run == nil {
			continue
		}
		if err := run.Close(); err != nil {
			n.warn(err)
		}
	}
}
