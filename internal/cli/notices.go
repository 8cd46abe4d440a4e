package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/notify"
	"github.com/anivault/anivault/ratelimit"
)

// beginNotices returns a function that records the start of a run, so that a crash does not lose its notices.
func (a *applyRun) beginNotices(cfg *config.Config) func(run string) {
	return func(run string) {
		if err := notify.Open(cfg.Dirs.Data, cfg.Notify).Begin(run); err != nil {
			a.f.warn("%v", err)
		}
	}
}

// endNotices queues the notices of a run, unless it was interrupted: then it ends later.
func (a *applyRun) endNotices(cfg *config.Config, out *apply.Outcome) error {
	if out.Unfinished {
		return nil
	}
	return notify.Open(cfg.Dirs.Data, cfg.Notify).End(out.Run, a.noticesOf(out)...)
}

func (a *applyRun) noticesOf(out *apply.Outcome) (notices []notify.Notice) {
	summary := summarizeRun(a, out)
	n := notify.Notice{Run: out.Run, At: time.Now(), Summary: &summary}
	if len(out.ChangedFolders) > 0 {
		n.Event, n.Folders = notify.Changed, out.ChangedFolders
		n.Text = lang.Textf("%d folders of the library have changed", len(n.Folders)).String()
		notices = append(notices, n)
	}
	if failed := summary.Refused + summary.Failed; failed > 0 {
		n.Event, n.Folders = notify.Failed, nil
		n.Text = lang.Textf("%d files could not be put in place; see: anivault history %s", failed, out.Run).String()
		notices = append(notices, n)
	}
	return notices
}

// sendNotices tries to deliver what waits. If a target fails, it warns, and the exit status is that of an incomplete
// run unless runErr has another one.
func (f *factory) sendNotices(ctx context.Context, cfg *config.Config, runErr error) error {
	if cfg == nil || len(cfg.Notify) == 0 {
		return runErr
	}
	q := notify.Open(cfg.Dirs.Data, cfg.Notify)
	if err := errors.Join(recoverNotices(ctx, cfg, q), q.Send(ctx)); err != nil {
		f.warn("a notice was not delivered, and waits for the next run: %v", err)
		if runErr == nil {
			return &exitError{code: exitIncomplete}
		}
	}
	return runErr
}

// recoverNotices ends the notices of runs whose process has ended before it could do so.
func recoverNotices(ctx context.Context, cfg *config.Config, q *notify.Queue) error {
	runs := q.OpenRuns()
	if len(runs) == 0 || isRunInProgress(ctx, cfg) {
		return nil
	}
	e, err := openEngine(cfg)
	if err != nil {
		return err
	}
	defer e.Journals.Close()
	var errs []error
	for _, run := range runs {
		_, out, err := e.Show(run)
		if err != nil { // its journal was removed, because it changed nothing or was pruned
			out = &apply.Outcome{Run: run}
		}
		errs = append(errs, (&applyRun{started: time.Now()}).endNotices(cfg, out))
	}
	return errors.Join(errs...)
}

// startNotices delivers notices and reports changes of the limiter until stop is called.
func startNotices(ctx context.Context, cfg *config.Config, warn func(error)) (stop func()) {
	q := notify.Open(cfg.Dirs.Data, cfg.Notify)
	if q == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		store, done, err := app.OpenState(cfg, 0, warn)
		if err = errors.Join(err, recoverNotices(ctx, cfg, q)); err != nil {
			warn(err)
		}
		if store == nil {
			return
		}
		defer func() { _ = done() }()
		q.Run(ctx, func(ctx context.Context) (ratelimit.Status, error) {
			return ratelimit.Operator{Store: store}.Status(ctx, cfg.Tuning, cfg.LimiterAccounts()...)
		}, warn)
	})
	return func() {
		cancel()
		running.Wait()
	}
}
