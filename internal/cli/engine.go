package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/ui"
)

func pickRun(e *apply.Engine, args []string, fits func(*apply.Run) bool) (*apply.Run, error) {
	runs, err := e.Runs()
	if err != nil {
		return nil, err
	}
	for i := range runs {
		if len(args) > 0 && runs[i].ID == args[0] || len(args) == 0 && fits(&runs[i]) {
			return &runs[i], nil
		}
	}
	if len(args) > 0 {
		return nil, usagef("anivault history lists them", "there is no run %s", ui.Printable(args[0]))
	}
	return nil, nil
}

func anyRun(*apply.Run) bool { return true }

// errUnsupported refuses to carry out plans on systems where the tests have never run.
var errUnsupported = usagef("organize --plan saves the plan; plans are carried out on Linux",
	"plans can't be carried out on this system")

func historyDir(cfg *config.Config) string { return filepath.Join(cfg.Dirs.Data, "history") }

// withEngine runs do while no other run of this user does anything. It prints the outcome after it has released the
// lock: a person who reads it may take their time.
func (a *applyRun) withEngine(
	ctx context.Context, cfg *config.Config, do func(*apply.Engine) (*apply.Outcome, error),
) error {
	e, closeEngine, err := openEngine(cfg)
	if err != nil {
		return err
	}
	defer closeEngine()
	path := filepath.Join(historyDir(cfg), "lock")
	const glance = 100 * time.Millisecond // status holds the lock for less, to see whether somebody is at work
	release, err := lockfile.Acquire(ctx, path, lockfile.Exclusive, max(a.wait, glance))
	if errors.Is(err, lockfile.ErrBusy) {
		return failf(exitIncomplete, "--wait 10m waits for it", "another run is at work: %s", holderOf(path))
	}
	if err != nil {
		return err
	}
	a.line = ui.NewStatus(a.f.streams, !a.f.quiet && !a.f.noProgress && a.format != "ndjson")
	defer a.endLine()
	e.Progress = func(p apply.Progress) { a.tellProgress(p) }
	out, err := func() (*apply.Outcome, error) {
		defer release()
		if err := nameHolder(path); err != nil {
			return nil, err
		}
		return do(e)
	}()
	if err != nil || out == nil {
		return err
	}
	return a.tell(ctx, out)
}

func nameHolder(lock string) error {
	who := fmt.Sprintf("process %d, since %s\n", os.Getpid(), ui.Stamp(time.Now()))
	return os.WriteFile(lock, []byte(who), 0o600)
}

func holderOf(lock string) string {
	who, _ := os.ReadFile(lock)
	return ui.OneLine(ui.Printable(strings.TrimSpace(string(who))))
}

func openEngine(cfg *config.Config) (*apply.Engine, func(), error) {
	if !apply.Supported {
		return nil, nil, errUnsupported
	}
	dir := historyDir(cfg)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, lang.Error("make the folder of the history: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil, err
	}
	journals, err := apply.System{}.Open(real)
	if err != nil {
		return nil, nil, err
	}
	e := &apply.Engine{
		System: apply.System{}, Journals: journals, Now: time.Now, AsRoot: os.Geteuid() == 0,
		Workers: min(runtime.GOMAXPROCS(0), 4),
	}
	return e, func() { journals.Close() }, nil
}

func explainRun(ctx context.Context, f *factory, err error, out *apply.Outcome) error {
	if cut, ok := errors.AsType[*apply.UnfinishedError](err); ok {
		if cut.Gone != nil {
			return usagef(wayOut(cut.Run), "the run %s was interrupted, and %v; nothing was done", cut.Run, cut.Gone)
		}
		return usagef(waysOn(cut.Run), "the run %s was interrupted; nothing was done", cut.Run)
	}
	if gone, ok := errors.AsType[*apply.MountError](err); ok {
		hint := lang.Text("mount the disk, or make the plan again; nothing was done")
		switch {
		case gone.Cut:
			hint = wayOut(gone.Run)
		case gone.Run != "":
			hint = "mount the disk; nothing was done"
		}
		return &failure{exitIncomplete, err, hint}
	}
	if errors.Is(err, apply.ErrAtWork) {
		return &failure{exitIncomplete, err, "wait until it has ended; nothing was done"}
	}
	if hint := journalHint(err); hint != "" {
		return &failure{exitUsage, err, hint}
	}
	if ctx.Err() != nil && out == nil {
		return &failure{code: max(signalStatus(ctx), exitInterrupted)}
	}
	var hint lang.Text
	if out != nil && out.Run != "" {
		hint = waysOn(out.Run)
	}
	return &failure{exitIncomplete, err, hint}
}

func journalHint(err error) lang.Text {
	bad, ok := errors.AsType[*apply.JournalError](err)
	switch {
	case !ok:
		return ""
	case bad.Newer:
		return "update anivault: it does not act on a journal from a later version"
	}
	return "anivault does not act on such a journal; it is in the folder history of the data folder"
}

func waysOn(id string) lang.Text {
	return lang.Textf("continue: anivault apply --resume %s   or put it back: anivault undo %s", id, id)
}

func wayOut(id string) lang.Text {
	return lang.Textf("mount the disk, then go on or put it back; if it is gone for good, anivault history abandon %s "+
		"lets other runs begin", id)
}
