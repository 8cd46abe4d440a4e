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
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize/disk"
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
	e, err := openEngine(cfg)
	if err != nil {
		return err
	}
	defer e.Journals.Close()
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

// openEngine makes the folder of the journals, and opens it.
func openEngine(cfg *config.Config) (*apply.Engine, error) {
	if !apply.Supported {
		return nil, errUnsupported
	}
	dir := historyDir(cfg)
	if err := os.MkdirAll(dir, 0o700); err != nil {
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
		System: apply.System{}, Journals: journals, Now: time.Now, AsRoot: os.Geteuid() == 0,
		Workers: min(runtime.GOMAXPROCS(0), 4),
	}, nil
}

func explainRun(ctx context.Context, err error, out *apply.Outcome) error {
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

type unfinishedRun struct {
	apply.Run
	atWork bool
}

// lookUnfinished returns the unfinished runs, the newest first, then the damaged ones. It makes no folder.
func lookUnfinished(ctx context.Context, cfg *config.Config) ([]unfinishedRun, error) {
	if _, err := os.Stat(historyDir(cfg)); errors.Is(err, fs.ErrNotExist) || !apply.Supported {
		return nil, nil
	}
	e, err := openEngine(cfg)
	if err != nil {
		return nil, err
	}
	defer e.Journals.Close()
	var damaged []apply.Run
	runs, atWork, err := standing(func() (runs []apply.Run, err error) {
		runs, damaged, err = e.Unfinished()
		return runs, err
	}, func() bool { return isAtWork(ctx, cfg) })
	if err != nil {
		return nil, err
	}
	var out []unfinishedRun
	for _, r := range runs {
		out = append(out, unfinishedRun{r, atWork})
	}
	for _, r := range damaged {
		out = append(out, unfinishedRun{r, false})
	}
	return out, nil
}

// standing reads runs, and reports whether a process works on the unfinished ones. A run that ends between the two
// looks was not interrupted: nobody is at work only if the runs are the same before and after a moment without a holder
// of the lock.
func standing(read func() ([]apply.Run, error), atWork func() bool) (runs []apply.Run, busy bool, err error) {
	type stage struct {
		id    string
		stage apply.Stage
		at    time.Time
	}
	var before []stage
	for {
		if runs, err = read(); err != nil {
			return nil, false, err
		}
		var now []stage
		for i := range runs {
			if r := &runs[i]; r.Err == nil && r.Stage.Unfinished() {
				now = append(now, stage{r.ID, r.Stage, r.At})
			}
		}
		switch {
		case len(now) == 0, before != nil && slices.Equal(before, now):
			return runs, false, nil
		case atWork():
			return runs, true, nil
		}
		before = now
	}
}

func isAtWork(ctx context.Context, cfg *config.Config) bool {
	release, err := lockfile.Acquire(ctx, filepath.Join(historyDir(cfg), "lock"), lockfile.Shared, 0)
	if err == nil {
		release()
	}
	return errors.Is(err, lockfile.ErrBusy)
}

func (r *unfinishedRun) text() lang.Text {
	if r.Err != nil {
		return lang.Textf("can't tell whether %s was interrupted: %v", r.ID, r.Err)
	}
	if r.atWork {
		return lang.Textf("%s is at work, since %s", r.ID, ui.Clock(r.Begun))
	}
	return lang.Textf("%s of %s was interrupted", r.ID, ui.Clock(r.Begun))
}

func checkRuns(ctx context.Context, cfg *config.Config) finding {
	runs, err := lookUnfinished(ctx, cfg)
	switch {
	case err != nil:
		return fault("runs", lang.TextOf(err), "the journals are in the folder history of the data folder")
	case len(runs) == 0:
		return finding{what: "runs", state: "no run of organize was interrupted"}
	case runs[0].atWork:
		return finding{what: "runs", state: runs[0].text()}
	case runs[0].Err != nil:
		return fault("runs", runs[0].text(), "look at its folders; "+
			"anivault history lists it until its journal is taken out of the folder history of the data folder")
	}
	return fault("runs", lang.Textf("%s; no other run can begin until you continue it or put it back", runs[0].text()),
		waysOn(runs[0].ID))
}

func checkRoot(dir string) finding {
	const what = "library"
	place, err := disk.Root(dir)
	if err != nil {
		return fault(what, lang.Textf("%s: %s", dir, err),
			"make the folder, or correct organize.to: a disk may not be mounted")
	}
	if !apply.Supported {
		return finding{what: what, state: lang.Textf("%s", place.Path)}
	}
	can, err := apply.Examine(apply.System{}, place.Path, apply.NewID(time.Now()))
	if err != nil {
		return fault(what, lang.Textf("%s: %s", dir, err), unlessFull(err, "make it writable for you"))
	}
	parts := []lang.Text{lang.Text(place.Type)}
	for _, p := range []struct {
		has     bool
		yes, no lang.Text
	}{
		{can.HardLinks, "hard links", "no hard links"},
		{can.Reflinks, "reflinks", "no reflinks"},
		{can.Rename == "rename", "renames without replacing", "can't rename without replacing"},
		{can.FoldsCase, "a and A are one name", "a and A are two names"},
	} {
		text := p.no
		if p.has {
			text = p.yes
		}
		parts = append(parts, text)
	}
	parts = append(parts, lang.Textf("names of %d bytes", place.NameMax))
	state := lang.Textf("%s: %s", dir, lang.Join(parts, ", "))
	if can.Rename == "none" {
		return fault(what, state,
			"name a folder on another file system: plans for this one are refused (no_exclusive_rename)")
	}
	return finding{what: what, state: state}
}
