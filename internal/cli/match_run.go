package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/report/html"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
)

func (o *matchOptions) run(ctx context.Context, cfg *config.Config, produce run.Producer) (err error) {
	if cfg.Metrics.File == "-" {
		return usagef("name a file", "metrics can't go to stdout: it carries the results")
	}
	color, err := o.f.colorPolicy()
	if err != nil {
		return err
	}
	status := ui.NewStatus(o.f.streams, !o.f.quiet && !o.f.noProgress)
	logs, err := o.f.openLogs(cfg, status.Err(), false)
	if err != nil {
		return err
	}
	var summary report.Summary
	defer logs.end(&summary, &err)
	options := app.Options{
		Offline: o.offline, Refresh: o.refresh, SkipDecisionCache: o.explain,
		Warn: logs.warn, Warned: o.warned, Log: logs.handler,
	}
	if o.interactive {
		p := o.f.prompter()
		p.out = status.Err()
		options.Ask = &p
	}
	run, err := app.Open(cfg, options)
	if err != nil {
		return err
	}
	here := "."
	if o.namesFrom != "" {
		here = ""
	}
	writer, err := o.writer(ctx, run, status.Out(), report.Options{
		Resized: o.f.streams.OutWidth, Terminal: o.f.streams.OutTTY, Color: color, DefaultFolder: here, Explain: o.explain,
		ByteOrderMark: o.csvBOM, Seasons: o.view == "seasons", Filter: o.onlyFilter,
	})
	if err != nil {
		return errors.Join(err, run.Close())
	}
	stopMetrics, err := o.f.startMetrics(cfg, run.Metrics())
	if err != nil {
		return errors.Join(err, run.Close())
	}
	progress := startProgress(o.f, run, status, cfg.Tuning.AutoRecover != 0)
	progress.countFilesAhead(ctx, o.secondWalk)
	var tally report.Tally
	page := html.Page{NamesOnly: o.namesFrom != ""}
	gaps := missingWriter{ctx: ctx, run: run}
	if m := cmp.Or(o.missingWriter, &gaps); o.report != "" || m != &gaps {
		m.ignored, err = loadIgnored(ignoredPath(cfg.Dirs.Data), o.f.warn)
		if err != nil {
			return errors.Join(err, run.Close())
		}
	}
	emit := func(r report.Record) error {
		tally.Add(r)
		progress.setCounts(tally.Counts())
		if o.report != "" {
			if !o.explain { // a remembered decision has none
				r.HideExplanation()
			}
			page.Records = append(page.Records, r)
			gaps.holdings.Add(&r)
		}
		if !o.onlyFilter.Selects(&r) {
			return nil
		}
		return writer.Match(r)
	}
	var matched error
	if o.interactive {
		matched = matchAsking(ctx, run, produce, progress, emit)
	} else {
		matched = run.Match(ctx, produce, emit, writer.Flush)
	}
	summary = run.Summary(tally.Counts())
	progress.stop()
	output := writer.Close(summary)
	output = errors.Join(output, o.writeSummary(ctx, cfg, run, &tally, summary, report.Options{
		Color: color && o.f.streams.ErrTTY, DefaultFolder: here,
	}))
	if o.report != "" {
		if ctx.Err() == nil { // an interrupted run has not seen all files
			page.Gaps = gaps.gaps(time.Now().Format(time.DateOnly))
		}
		page.Summary = summary
		page.Arguments, page.Started, page.Version = o.roots, run.Started(), version.Get().Version
		page.Timeline = run.Samples()
		if err := html.WriteFile(o.report, page); err != nil {
			output = errors.Join(output, lang.Error("write the report: %w", err))
		}
	}
	if o.afterSummary != nil {
		o.afterSummary(run)
	}
	output = errors.Join(output, stopMetrics(), run.Close())
	return o.status(ctx, cfg, run, output, matched, summary)
}

// status returns an error with the exit status of a run. If several apply, the order of the cases decides.
func (o *matchOptions) status(
	ctx context.Context, cfg *config.Config, a *app.App, output, matched error, s report.Summary,
) error {
	refusal := a.Unauthorized()
	switch {
	case ctx.Err() != nil:
		return &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
	case refusal != nil:
		return keyRefusedError(cfg, refusal)
	case output != nil:
		return &exitError{code: exitInternal, err: output}
	case errors.As(matched, new(*library.PatternError)):
		return &exitError{code: exitUsage, err: matched}
	case matched != nil:
		return &exitError{code: exitInternal, err: matched}
	case s.Pending+s.Errors > 0, o.missingWriter != nil && o.missingWriter.summary.Unknown > 0:
		return &exitError{code: exitIncomplete}
	case o.strict && s.Unmatched+s.Ambiguous > 0:
		return &exitError{code: exitStrict}
	}
	return nil
}

func (o *matchOptions) writeSummary(
	ctx context.Context, cfg *config.Config, a *app.App, tally *report.Tally, s report.Summary, opts report.Options,
) error {
	if o.f.quiet {
		return nil
	}
	var err error
	streams := o.f.streams
	terminal := streams.OutTTY && streams.ErrTTY
	if !o.noSummary {
		opts.Ending = newEnding(ctx, cfg, a, o)
		opts.Width, opts.Filter = max(streams.ErrWidth(), streams.OutWidth()), o.onlyFilter
		opts.Terminal = terminal && (o.format == "table" || o.recordWriter != nil)
		err = tally.Write(streams.Err, s, opts)
	}
	if o.suggestIndex && terminal && ctx.Err() == nil {
		suggestIndex(o.f, cfg, s)
	}
	return err
}

func (o *matchOptions) writer(
	ctx context.Context, run *app.App, out io.Writer, opts report.Options,
) (report.Writer, error) {
	if m := o.missingWriter; m != nil {
		m.ctx, m.run, m.out, m.format, m.opts, m.say = ctx, run, out, o.format, opts, o.f.say
		return m, nil
	}
	if o.recordWriter != nil {
		return o.recordWriter, nil
	}
	return report.NewWriter(report.Format(o.format), out, opts)
}

func newEnding(ctx context.Context, cfg *config.Config, run *app.App, o *matchOptions) report.Ending {
	at := run.Progress()
	e := report.Ending{
		Interrupted: ctx.Err() != nil, FilesFound: int(at.Files), StillSearching: !at.Walked, Prompted: o.interactive,
		Interactive: o.interactiveCommand, Arguments: o.inputArgs(),
	}
	if o.f.isDemo || o.asksNext {
		e.Arguments = ""
	}
	if from := cfg.KeyOrigin(); strings.HasPrefix(from, "ANIVAULT_") {
		e.KeyVariable = from
	}
	if o.refresh {
		e.NotRevalidated = int(at.Stale)
	}
	if o.offline {
		return e
	}
	if run.GatewayStopped.Load() {
		e.StoppedGateway = cfg.TMDB.BaseURL.Host
	}
	if st, err := run.Limiter(); err == nil {
		e.CacheOnlyReason, e.CacheOnlyEnd = stoppedText(st), restartText(st)
	}
	return e
}

func stoppedText(st ratelimit.Status) lang.Text {
	if st.State != ratelimit.CacheOnly {
		return ""
	}
	text := app.BlockText(st.Block)
	if !st.Since.IsZero() {
		text = lang.Textf("%s at %s", text, ui.Clock(st.Since))
	}
	if st.Until.After(st.At) {
		text = lang.Textf("%s until %s", text, ui.Clock(st.Until))
	}
	return text
}

// restartText says how requests start again while only the cache answers. Nobody can end a pause of TMDB's own.
func restartText(st ratelimit.Status) lang.Text {
	if st.PauseUntil.After(st.At) {
		return lang.Textf("TMDB's pause ends by itself at %s", ui.Clock(st.PauseUntil))
	}
	return "anivault limiter resume lets requests through again"
}
