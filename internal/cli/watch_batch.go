package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/notify"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/watch"
)

func (w *watchRun) organizeBatch(ctx context.Context, settled map[string][]watch.Entry) watch.Result {
	if !w.targetsAvailable() || !w.resume(ctx) {
		return watch.Result{RetryAll: true}
	}
	o, err := w.newOrganizeRun()
	if err != nil {
		return w.handleError(ctx, err)
	}
	if o.options.SkipCode, err = w.skipRule(); err != nil {
		return w.handleError(ctx, err)
	}
	o.planner = organize.NewPlanner(o.options, &o.disk)
	o.match.recordWriter = o
	o.match.onFolder = func(real string, entries []library.Entry) { w.recordFolder(settled, o, real, entries) }
	quiet := *w.f
	quiet.quiet = true
	o.match.f = &quiet
	err = o.match.run(ctx, w.cfg, w.walkFolders(settled, &o.match))
	if known, ok := errors.AsType[*exitError](err); err != nil && (!ok || known.code != exitIncomplete) {
		return w.handleError(ctx, err)
	}
	plan := o.plan(ctx)
	result := w.recordSkipped(plan)
	w.reportSkipped(plan)
	o.onFileFailed = func(source string) { // a retry helps if the disk has space by then, or the permissions are different
		if name := w.relativePath(source); name != "" {
			result.RetryFolders[path.Dir(name)] = true
		}
	}
	if len(result.RetryFolders) > 0 && len(plan.Units)+len(plan.Skipped) == 0 {
		w.f.say("still no answer from TMDB; watch tries again later\n")
		o.f = &quiet
	}
	if len(plan.Units) > 0 {
		if err = o.apply(ctx, plan); errors.Is(err, apply.ErrOutdated) {
			w.f.say("another run has changed the library meanwhile; the plan is made again\n")
			return w.organizeBatch(ctx, settled)
		}
	} else {
		if err = nil; w.format != "ndjson" {
			_, err = printTree(w.f, plan, true, 0)
		}
		if err == nil {
			err = o.applyRun(plan).reportOutcome(ctx, &apply.Outcome{Run: plan.ID})
		}
	}
	if err != nil {
		done := w.handleError(ctx, err)
		result.RetryAll, result.Err = done.RetryAll, done.Err
	}
	return result
}

// recordFolder removes a folder that has changed since it settled: a download may have begun meanwhile.
func (w *watchRun) recordFolder(settled map[string][]watch.Entry, o *organizeRun, real string, list []library.Entry) {
	dir := w.relativePath(real)
	if !slices.EqualFunc(settled[dir], list, func(before watch.Entry, now library.Entry) bool {
		return before.Name == now.Name && (now.Info == nil || // no video
			before.Size == now.Info.Size && before.MTime == now.Info.MTime.UnixNano())
	}) {
		delete(settled, dir)
	}
	isVideo := func(e library.Entry) bool { return e.Info != nil }
	if settled[dir] != nil || settled[path.Dir(dir)] != nil && !slices.ContainsFunc(list, isVideo) {
		o.disk.AddWalked(real, list)
	}
}

func (w *watchRun) walkFolders(settled map[string][]watch.Entry, o *matchOptions) run.Producer {
	walk := run.Walk([]string{w.path}, o.walkOptions(w.cfg))
	return func(ctx context.Context, yield func(run.Batch) error) error {
		return walk(ctx, func(b run.Batch) error {
			if b.Err == nil && settled[w.relativePath(b.AbsDir)] != nil { // package watch reports unreadable folders itself
				return yield(b)
			}
			return nil
		})
	}
}

// relativePath returns a path relative to the watched folder, with slashes; "" for a path outside of it.
func (w *watchRun) relativePath(file string) string {
	for _, root := range []string{w.path, w.tree.Root.Path} {
		rest, err := filepath.Rel(filepath.FromSlash(root), filepath.FromSlash(file))
		if err == nil && filepath.IsLocal(rest) {
			return filepath.ToSlash(rest)
		}
	}
	return ""
}

func (w *watchRun) recordSkipped(plan *organize.Result) watch.Result {
	result := watch.Result{RetryFolders: map[string]bool{}, Skipped: map[string]bool{}}
	plan.Skipped = slices.DeleteFunc(plan.Skipped, func(l organize.SkippedFile) bool {
		name := w.relativePath(l.Path)
		version := "gone"
		if info, err := os.Lstat(filepath.FromSlash(l.Path)); err == nil {
			version = fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano())
		}
		if l.Code == organize.CodePending {
			result.RetryFolders[filepath.ToSlash(filepath.Dir(name))] = true
		}
		result.Skipped[name] = l.Code != organize.CodeExtra && l.Code != organize.CodeNotRegular &&
			l.Code != organize.CodeSameFile
		return !w.state.ShouldReport(name, string(l.Code)+" "+version)
	})
	return result
}

// reportSkipped queues a notice about files that are skipped for the first time; recordSkipped has removed the others.
// Extras are skipped as asked, and files without an answer are tried again.
func (w *watchRun) reportSkipped(plan *organize.Result) {
	files := slices.DeleteFunc(slices.Clone(plan.Skipped), func(l organize.SkippedFile) bool {
		return l.Code == organize.CodeExtra || l.Code == organize.CodePending
	})
	if len(files) == 0 {
		return
	}
	text := lang.Textf("%s skipped; the first is %s: %s",
		lang.Count(len(files), "new file"), files[0].Path, files[0].Code.Meaning())
	n := notify.Notice{Event: notify.Skipped, At: time.Now(), Text: text.String()}
	if err := notify.Open(w.cfg.Dirs.Data, w.cfg.Notify).Add(n); err != nil {
		w.f.warn("%v", err)
	}
}

// handleError prints an error. Its result ends the watch after a signal, if TMDB refuses the key, or if results can't
// be written.
func (w *watchRun) handleError(ctx context.Context, err error) watch.Result {
	known, ok := errors.AsType[*exitError](err)
	switch {
	case ctx.Err() != nil, ok && (known.code == exitUnauthorized || known.code == exitInternal):
		return watch.Result{Err: err}
	case ok && known.err == nil: // the error is printed already
		runs, err := w.unfinishedRuns(ctx)
		return watch.Result{RetryAll: err != nil || len(runs) > 0}
	}
	printError(w.f.streams, err)
	return watch.Result{RetryAll: true}
}

func (w *watchRun) unfinishedRuns(ctx context.Context) ([]unfinishedRun, error) {
	runs, err := findUnfinishedRuns(ctx, w.cfg)
	// Damaged runs can't be continued.
	return slices.DeleteFunc(runs, func(r unfinishedRun) bool { return r.Err != nil }), err
}

// resume continues an interrupted run, and reports whether another one can begin. It leaves an interrupted undo to the
// user.
func (w *watchRun) resume(ctx context.Context) bool {
	runs, err := w.unfinishedRuns(ctx)
	if err != nil {
		printError(w.f.streams, err)
		return false
	}
	if len(runs) == 0 || runs[0].running {
		return true // the next run waits for the lock
	}
	r := &runs[0]
	if r.Stage == apply.StageUndoing {
		w.warnOnce("undo "+r.ID, func() {
			w.f.warn("the undo of the run %s was interrupted; watching waits until anivault undo %s finishes it", r.ID, r.ID)
		})
		return false
	}
	if !slices.Contains(r.Sources, w.tree.Root.Path) {
		w.warnOnce("other "+r.ID, func() {
			w.f.warn("the run %s, for another folder, was interrupted; "+
				"watching waits until you continue it or put it back", r.ID)
			printHint(w.f.streams, continueOrUndoHint(r.ID))
		})
		return false
	}
	w.f.say("continuing the interrupted run %s\n", r.ID)
	err = (&applyRun{f: w.f, format: w.format, wait: time.Hour, started: time.Now()}).resumeRun(ctx, w.cfg, []string{r.ID})
	if err != nil {
		printError(w.f.streams, err)
	}
	runs, err = w.unfinishedRuns(ctx)
	return err == nil && len(runs) == 0
}

// targetsAvailable reports whether all libraries are the same folders as at the start: if a disk is not mounted, its
// empty mount point must not become the library.
func (w *watchRun) targetsAvailable() bool {
	for _, root := range w.targets {
		if err := watch.CheckSame(root); err != nil {
			w.warnOnce(root.Path, func() { w.f.warn("%v; waiting until it is back", err) })
			return false
		}
		delete(w.warned, root.Path)
	}
	return true
}

func (w *watchRun) warnOnce(key string, warn func()) {
	if !w.warned[key] {
		w.warned[key] = true
		warn()
	}
}

// skipRule returns a function that decides whether to skip a file because an undo has put it back, or because somebody
// has removed it from the library. A later change of the pins or the index overrides this. skipRule reads only journals
// that have changed since the last call.
func (w *watchRun) skipRule() (func(*organize.Item) organize.Code, error) {
	e, err := openEngine(w.cfg)
	if err != nil {
		return nil, err
	}
	defer e.Journals.Close()
	runs, err := e.Runs()
	if err != nil {
		return nil, err
	}
	_, changed := w.pinsAndIndex()
	known := map[apply.FileIdentity]apply.PlacedFile{}
	for i := range runs {
		r := &runs[i]
		if r.Err != nil || r.Stage.IsUnfinished() || r.Stage == apply.StageAbandoned ||
			!slices.Contains(r.Sources, w.tree.Root.Path) ||
			!slices.ContainsFunc(w.targets, func(t organize.Root) bool { return slices.Contains(r.Targets, t.Path) }) {
			continue
		}
		key := fmt.Sprint(r.ID, r.StageBegun) // an undo begins another stage
		files, isRead := w.placed[key]
		if !isRead {
			if files, err = e.PlacedFiles(r.ID); err != nil {
				continue // a run whose journal can't be read causes no skips
			}
			w.placed[key] = files
		}
		for _, p := range files {
			if _, newer := known[p.Source]; !newer {
				known[p.Source] = p
			}
		}
	}
	return func(item *organize.Item) organize.Code {
		p, found := known[apply.FileIdentity{Inode: item.Inode, Size: item.Size, MTime: item.MTime}]
		target := filepath.FromSlash(p.Target)
		if !found || p.Since.Before(changed) && (p.Undone || changedBefore(filepath.Dir(target), changed)) {
			return ""
		}
		if p.Undone {
			return organize.CodePutBack
		}
		if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
			return organize.CodeTakenAway
		}
		return ""
	}, nil
}

// changedBefore reports whether a folder, or the first one above it that is left, last changed before t: the removal of
// a file changes it.
func changedBefore(dir string, t time.Time) bool {
	info, err := os.Stat(dir)
	if parent := filepath.Dir(dir); err != nil && parent != dir {
		return changedBefore(parent, t)
	}
	return err == nil && info.ModTime().Before(t)
}
