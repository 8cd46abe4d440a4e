package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize/disk"
	"github.com/anivault/anivault/internal/ui"
)

type unfinishedRun struct {
	apply.Run
	atWork bool
}

type unfinishedRuns struct {
	dir    string
	engine *apply.Engine // nil until there is a folder of journals
	close  func()
}

// look returns the runs, the newest first, then the damaged ones. It makes no folder.
func (u *unfinishedRuns) look(ctx context.Context, cfg *config.Config) ([]unfinishedRun, error) {
	u.dir = historyDir(cfg)
	if _, err := os.Stat(u.dir); errors.Is(err, fs.ErrNotExist) || !apply.Supported {
		return nil, nil
	}
	if u.engine == nil {
		var err error
		if u.engine, u.close, err = openEngine(cfg); err != nil {
			return nil, err
		}
	}
	var damaged []apply.Run
	runs, atWork, err := standing(func() (runs []apply.Run, err error) {
		runs, damaged, err = u.engine.Unfinished()
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

func (u *unfinishedRuns) end() {
	if u.close != nil {
		u.close()
	}
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
	var u unfinishedRuns
	defer u.end()
	runs, err := u.look(ctx, cfg)
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
	return fault("runs", lang.Textf("%s; no other run begins before it is gone on with or put back", runs[0].text()),
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
