package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
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
	"github.com/anivault/anivault/tmdb"
)

// match runs the job and reports it; the returned error carries the exit status.
func (c *command) match(ctx context.Context, cfg *config.Config, f matchFlags, produce run.Producer) (err error) {
	if cfg.Metrics.File == "-" {
		return usagef("name a file", "metrics can't go to stdout: it carries the results")
	}
	color, err := c.colorPolicy()
	if err != nil {
		return err
	}
	status := ui.NewStatus(c.streams, !c.quiet && !c.noProgress)
	logs, err := c.openLogs(cfg, status.Writer(c.streams.Err), false)
	if err != nil {
		return err
	}
	var summary report.Summary
	defer func() {
		logs.end(summary, err)
		err = errors.Join(err, logs.Close())
	}()
	options := app.Options{
		Offline: f.offline, Refresh: f.refresh, Anew: f.explain || f.report != "", Warn: logs.warn, Log: logs.handler,
	}
	if f.interactive {
		lines := bufio.NewReader(c.streams.In)
		options.Ask = &person{out: status.Writer(c.streams.Err), lines: lines, width: c.streams.Width}
	}
	run, err := app.Open(cfg, options)
	if err != nil {
		return err
	}
	here := "."
	if f.namesFrom != "" {
		here = ""
	}
	writer, err := c.matchWriter(ctx, f, run, status.Writer(c.streams.Out), report.Options{
		Resized: c.streams.OutWidth, Terminal: c.streams.OutTTY, Color: color, Here: here, Explain: f.explain,
		Mark: f.csvBOM, Seasons: f.view == "seasons", Only: f.shown,
	})
	if err != nil {
		return errors.Join(err, run.Close())
	}
	measuring, err := c.startMetrics(cfg, run.Metrics())
	if err != nil {
		return errors.Join(err, run.Close())
	}
	progress := c.startProgress(run, status)
	progress.countAhead(ctx, f.again)
	var tally report.Tally
	page := html.Page{Names: f.namesFrom != ""}
	gaps := missing{ctx: ctx, run: run}
	matched := run.Match(ctx, produce, func(r report.Record) error {
		tally.Add(r)
		progress.counted(tally.Counts())
		if f.report != "" {
			page.Records = append(page.Records, r)
			gaps.holdings.Add(&r)
		}
		if !f.shown.Has(&r) {
			return nil
		}
		return writer.Match(r)
	}, writer.Flush)
	summary = run.Summary(tally.Counts())
	progress.stop()
	output := writer.Close(summary)
	if !c.quiet && !f.told {
		output = errors.Join(output, tally.Write(c.streams.Err, summary, report.Options{
			Width: max(c.streams.ErrWidth(), c.streams.OutWidth()), Color: color && c.streams.ErrTTY, Here: here, Ending: ending(ctx, cfg, run, f),
			Only: f.shown,
		}))
	}
	if f.report != "" {
		if ctx.Err() == nil { // else not all files have been seen
			page.Gaps = slices.Concat(gaps.gaps(time.Now().Format(time.DateOnly))...)
		}
		output = errors.Join(output, writePage(f.report, page, f.roots, run, summary))
	}
	if f.after != nil {
		f.after(run)
	}
	output = errors.Join(output, measuring.stop(), run.Close())
	var unauthorized error
	if refusal, ok := errors.AsType[*tmdb.UnauthorizedError](run.Unauthorized()); ok {
		unauthorized = refused(cfg, refusal)
	}
	err = matchStatus(ctx, output, matched, unauthorized, summary, f.strict)
	if err == nil && f.missing != nil && f.missing.sum.Unknown > 0 {
		return &failure{code: exitIncomplete}
	}
	return err
}

// matchWriter returns what the run's records go to.
func (c *command) matchWriter(
	ctx context.Context, f matchFlags, run *app.App, out io.Writer, opts report.Options,
) (report.Writer, error) {
	if m := f.missing; m != nil {
		m.ctx, m.run, m.out, m.format, m.opts, m.say = ctx, run, out, f.format, opts, c.say
		return m, nil
	}
	if f.records != nil {
		return f.records, nil
	}
	return report.NewWriter(report.Format(f.format), out, opts)
}

// writePage writes the HTML report of a run.
func writePage(path string, page html.Page, roots []string, run *app.App, s report.Summary) error {
	page.Roots, page.Started, page.Version, page.Summary = roots, run.Started(), version.Get().Version, s
	page.Timeline = run.Samples()
	if err := html.WriteFile(path, page); err != nil {
		return lang.Error("write the report: %w", err)
	}
	return nil
}

// matchStatus turns how a run ended into an exit status, the most pressing first.
func matchStatus(ctx context.Context, output, matched, refused error, s report.Summary, strict bool) error {
	switch {
	case ctx.Err() != nil:
		return &failure{code: max(signalStatus(ctx), exitInterrupted)}
	case refused != nil:
		return refused
	case output != nil:
		return &failure{code: exitInternal, err: output}
	case errors.As(matched, new(*library.PatternError)):
		return &failure{code: exitUsage, err: matched}
	case matched != nil:
		return &failure{code: exitInternal, err: matched}
	case s.Pending+s.Errors > 0:
		return &failure{code: exitIncomplete}
	case strict && s.Unmatched+s.Ambiguous > 0:
		return &failure{code: exitStrict}
	}
	return nil
}

// ending returns how a run ended.
func ending(ctx context.Context, cfg *config.Config, run *app.App, f matchFlags) report.Ending {
	at := run.Progress()
	e := report.Ending{
		Interrupted: ctx.Err() != nil, Found: int(at.Files), Searching: !at.Walked, Asked: f.interactive,
		Names: f.namesFrom != "", Given: f.given(),
	}
	if from := cfg.KeyOrigin(); strings.HasPrefix(from, "ANIVAULT_") {
		e.KeyVariable = from
	}
	if f.refresh {
		e.Unrefreshed = int(at.Stale)
	}
	if f.offline {
		return e
	}
	if st, err := run.Limiter(); err == nil {
		e.Stopped = stopped(st)
	}
	return e
}

// stopped returns since when and why only the cache answers; "" in any other state.
func stopped(st ratelimit.Status) lang.Text {
	if st.State != ratelimit.CacheOnly {
		return ""
	}
	text := cmp.Or(map[ratelimit.Reason]lang.Text{
		ratelimit.ReasonOperator:       "you (an operator) stopped all requests",
		ratelimit.ReasonRetryAfterLong: "TMDB asked for a long pause, so requests were stopped",
		ratelimit.ReasonPolicy:         "TMDB kept failing, so requests were stopped",
	}[st.Cause], lang.Textf("requests were stopped (%s)", st.Cause))
	if !st.Since.IsZero() {
		text = lang.Textf("%s at %s", text, ui.Clock(st.Since))
	}
	if st.Until.After(st.At) {
		text = lang.Textf("%s until %s", text, ui.Clock(st.Until))
	}
	return text
}
