package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/notify"
	"github.com/anivault/anivault/internal/organize/disk"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// findRun returns the run that args name, or the newest one that fits (nil: any does), or nil.
func findRun(e *apply.Engine, args []string, fits func(*apply.Run) bool) (*apply.Run, error) {
	runs, err := e.Runs()
	if err != nil {
		return nil, err
	}
	for i := range runs {
		if len(args) > 0 && runs[i].ID == args[0] || len(args) == 0 && (fits == nil || fits(&runs[i])) {
			return &runs[i], nil
		}
	}
	if len(args) > 0 {
		return nil, usagef("anivault history lists them", "there is no run %s", ui.Printable(args[0]))
	}
	return nil, nil
}

// errUnsupported is the error for carrying out a plan on a system on which this has never been tested.
var errUnsupported = usagef("organize --plan saves the plan; plans are carried out on Linux",
	"plans can't be carried out on this system")

func historyDir(cfg *config.Config) string { return filepath.Join(cfg.Dirs.Data, "history") }

// withEngine runs do while it holds the lock that keeps a user's runs from overlapping. It prints the outcome after
// releasing the lock, because output to a pager can block.
func (a *applyRun) withEngine(
	ctx context.Context, cfg *config.Config, do func(*apply.Engine) (*apply.Outcome, error),
) error {
	e, err := openEngine(cfg)
	if err != nil {
		return err
	}
	defer e.Journals.Close()
	path := filepath.Join(historyDir(cfg), "lock")
	const minWait = 2 * time.Second // readRuns may hold the lock, but hardly this long
	release, err := lockfile.Acquire(ctx, path, lockfile.Exclusive, max(a.wait, minWait))
	if errors.Is(err, lockfile.ErrBusy) {
		return exitErrorf(exitIncomplete, "--wait 10m waits for it", "another run is in progress: %s", readLockHolder(path))
	}
	if err != nil {
		return err
	}
	a.statusLine = ui.NewStatus(a.f.streams, !a.f.quiet && !a.f.noProgress && a.format != "ndjson")
	defer a.statusLine.Clear()
	a.lastProgress, e.Progress = time.Now(), a.showProgress
	out, err := func() (*apply.Outcome, error) {
		defer release()
		if err := writeLockHolder(path); err != nil {
			return nil, err
		}
		return do(e)
	}()
	if err != nil || out == nil {
		return err
	}
	return a.reportOutcome(ctx, out)
}

func writeLockHolder(lock string) error {
	who := fmt.Sprintf("process %d, since %s\n", os.Getpid(), ui.Timestamp(time.Now()))
	return os.WriteFile(lock, []byte(who), 0o600)
}

func readLockHolder(lock string) string {
	who, _ := os.ReadFile(lock)
	return ui.OneLine(ui.Printable(strings.TrimSpace(string(who))))
}

// openEngine returns an engine for the folder of the journals. It creates the folder if necessary.
func openEngine(cfg *config.Config) (*apply.Engine, error) {
	if !apply.Supported {
		return nil, errUnsupported
	}
	dir := historyDir(cfg)
	if err := lockfile.MkdirAll(dir); err != nil {
		return nil, lang.Error("make the folder of the history: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	journals, err := apply.System{}.Open(real)
	if err != nil {
		return nil, err
	}
	return &apply.Engine{
		System: apply.System{}, Journals: journals, Now: time.Now, InheritOwner: os.Geteuid() == 0,
		Workers: min(runtime.GOMAXPROCS(0), 4),
	}, nil
}

func explainApplyError(ctx context.Context, err error, out *apply.Outcome) error {
	if unfinished, ok := errors.AsType[*apply.UnfinishedError](err); ok {
		if unfinished.MountErr != nil {
			return usagef(missingDiskHint(unfinished.Run), "the run %s was interrupted, and %v; this one did not begin",
				unfinished.Run, unfinished.MountErr)
		}
		return usagef(continueOrUndoHint(unfinished.Run), "the run %s was interrupted; this one did not begin",
			unfinished.Run)
	}
	if gone, ok := errors.AsType[*apply.MountError](err); ok {
		hint := lang.Text("mount the disk, or make the plan again; nothing was done")
		switch {
		case gone.Interrupted:
			hint = missingDiskHint(gone.Run)
		case gone.Run != "":
			hint = "mount the disk; a new folder of the same name can't replace a deleted one; nothing was done"
		}
		return &exitError{exitIncomplete, err, hint}
	}
	if errors.Is(err, apply.ErrAtWork) {
		return &exitError{exitIncomplete, err, "wait until it has ended; nothing was done"}
	}
	if hint := journalHint(err); hint != "" {
		return &exitError{exitUsage, err, hint}
	}
	if errors.Is(err, apply.ErrOutdated) {
		return &exitError{exitIncomplete, err, "run the command again; nothing was done"}
	}
	if ctx.Err() != nil && out == nil {
		return &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
	}
	if out != nil && out.Run != "" {
		return &exitError{exitIncomplete, err, continueOrUndoHint(out.Run)}
	}
	return &exitError{code: exitIncomplete, err: err}
}

func journalHint(err error) lang.Text {
	bad, ok := errors.AsType[*apply.JournalError](err)
	switch {
	case !ok:
		return ""
	case bad.Newer:
		return "update anivault: it does not act on a journal from a later version"
	}
	return "anivault does not act on such a journal, which is in the history folder in the data folder; " +
		"for another run, give an ID that anivault history lists"
}

func continueOrUndoHint(id string) lang.Text {
	return lang.Textf("continue: anivault apply --resume %s   or put it back: anivault undo %s", id, id)
}

func missingDiskHint(id string) lang.Text {
	return lang.Textf("mount the disk, then continue it or put it back; if it is gone for good, anivault history "+
		"abandon %s lets other runs begin", id)
}

type unfinishedRun struct {
	apply.Run
	running bool
}

// findUnfinishedRuns returns the unfinished runs, the newest first, then the damaged ones. It creates no folder.
func findUnfinishedRuns(ctx context.Context, cfg *config.Config) ([]unfinishedRun, error) {
	if _, err := os.Stat(historyDir(cfg)); errors.Is(err, fs.ErrNotExist) || !apply.Supported {
		return nil, nil
	}
	e, err := openEngine(cfg)
	if err != nil {
		return nil, err
	}
	defer e.Journals.Close()
	runs, inProgress, err := readRuns(ctx, cfg, func() ([]apply.Run, error) {
		runs, damaged, err := e.Unfinished()
		return slices.Concat(runs, damaged), err
	})
	return mapped(runs, func(r apply.Run) unfinishedRun {
		return unfinishedRun{r, inProgress && r.Err == nil}
	}), err
}

// readRuns calls read and reports whether a process is carrying out a run meanwhile. If none is, none can begin before
// read has returned.
func readRuns[T any](
	ctx context.Context, cfg *config.Config, read func() (T, error),
) (found T, inProgress bool, err error) {
	release, err := lockfile.Acquire(ctx, filepath.Join(historyDir(cfg), "lock"), lockfile.Shared, 0)
	if err == nil {
		defer release()
	}
	inProgress = errors.Is(err, lockfile.ErrBusy)
	found, err = read()
	return found, inProgress, err
}

func (r *unfinishedRun) text() lang.Text {
	if r.Err != nil {
		return lang.Textf("can't tell whether %s was interrupted: %v", r.ID, r.Err)
	}
	if r.running {
		return lang.Textf("%s in progress since %s", r.ID, ui.Clock(r.Begun))
	}
	return lang.Textf("%s of %s was interrupted", r.ID, ui.Clock(r.Begun))
}

func checkUnfinishedRuns(ctx context.Context, cfg *config.Config) finding {
	runs, err := findUnfinishedRuns(ctx, cfg)
	switch {
	case err != nil:
		return failedFinding(lang.TextOf(err), "the journals are in the history folder in the data folder")
	case len(runs) == 0:
		return finding{state: "no run of organize was interrupted"}
	case runs[0].running:
		return finding{state: runs[0].text()}
	case runs[0].Err != nil:
		return failedFinding(runs[0].text(), "look at its folders; "+
			"anivault history lists it until its journal is removed from the history folder in the data folder")
	}
	return failedFinding(
		lang.Textf("%s; no other run can begin until you continue it or put it back", runs[0].text()),
		continueOrUndoHint(runs[0].ID))
}

func checkLibraryFolder(dir string) finding {
	place, err := disk.RootOf(dir)
	if err != nil {
		return failedFinding(lang.Textf("%s: %s", dir, err),
			"make the folder, or correct organize.to: a disk may not be mounted")
	}
	if !apply.Supported {
		return finding{state: lang.Textf("%s", place.Path)}
	}
	can, err := apply.ProbeCapabilities(apply.System{}, place.Path, apply.NewID(time.Now()))
	if err != nil {
		return failedFinding(lang.Textf("%s: %s", dir, err), fixUnlessDiskFull(err, "make it writable for you"))
	}
	parts := []lang.Text{
		lang.Text(place.Type),
		map[bool]lang.Text{true: "hard links", false: "no hard links"}[can.HardLinks],
		map[bool]lang.Text{true: "reflinks", false: "no reflinks"}[can.Reflinks],
		map[bool]lang.Text{
			true: "renames without replacing", false: "can't rename without replacing",
		}[can.RenameMethod == "rename"],
		map[bool]lang.Text{true: "a and A are one name", false: "a and A are two names"}[can.FoldsCase],
		lang.Textf("names of %d bytes", place.NameMax),
	}
	state := lang.Textf("%s: %s", dir, lang.Join(parts, ", "))
	if can.RenameMethod == "none" {
		return failedFinding(state,
			"name a folder on another file system: plans for this one are refused (no_exclusive_rename)")
	}
	return finding{state: state}
}

// beginNotices returns a function that records the start of a run, so that a crash does not lose its notices.
func (a *applyRun) beginNotices(cfg *config.Config) func(run string) {
	return func(run string) {
		if err := notify.Open(cfg.Dirs.Data, cfg.Notify).Begin(run); err != nil {
			a.f.warn("%v", err)
		}
	}
}

// endNotices queues the notices of a run. It queues none if the run changed nothing, or was interrupted and so ends
// later.
func (a *applyRun) endNotices(cfg *config.Config, out *apply.Outcome) error {
	if out.Unfinished || a.dryRun {
		return nil
	}
	return notify.Open(cfg.Dirs.Data, cfg.Notify).End(out.Run, a.noticesOf(out)...)
}

func (a *applyRun) noticesOf(out *apply.Outcome) (notices []notify.Notice) {
	summary := summarizeRun(a, out)
	n := notify.Notice{Run: out.Run, At: time.Now(), Summary: &summary}
	if len(out.ChangedFolders) > 0 {
		n.Event, n.Folders = notify.Changed, out.ChangedFolders
		n.Text = lang.Textf("%s of the library changed", lang.Count(len(n.Folders), "folder")).String()
		notices = append(notices, n)
	}
	if failed := summary.Refused + summary.Failed; failed > 0 {
		n.Event, n.Folders = notify.Failed, nil
		first := out.Results[slices.IndexFunc(out.Results, func(r apply.Result) bool {
			return r.Status == apply.StatusRefused || r.Status == apply.StatusFailed
		})]
		n.Text = lang.Textf("%s not put in place; the first is %s: %s",
			lang.Count(failed, "file"), first.Source, first.Problem).String()
		notices = append(notices, n)
	}
	return notices
}

// sendNotices tries to deliver the waiting notices. If a target fails, it warns, and the exit status says that the run
// is incomplete, unless runErr has another one.
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
	if len(runs) == 0 {
		return nil
	}
	if _, inProgress, _ := readRuns(ctx, cfg, func() (any, error) { return nil, nil }); inProgress {
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

// startNotices delivers notices and reports changes of the limiter until stop is called. current returns the
// configuration, which a gateway may reload.
func startNotices(ctx context.Context, current func() *config.Config, warn func(error)) (stop func()) {
	cfg := current()
	q := notify.Open(cfg.Dirs.Data, cfg.Notify)
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
			cfg := current()
			q.SetTargets(cfg.Notify)
			return ratelimit.Operator{Store: store}.Status(ctx, cfg.Tuning, cfg.LimiterAccounts()...)
		}, warn)
	})
	return func() {
		cancel()
		running.Wait()
	}
}
