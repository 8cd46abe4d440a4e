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
	"strings"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/watch"
)

func (w *watchRun) batch(ctx context.Context, dirs []string) watch.Result {
	if !w.targetsAreThere() || !w.resume(ctx) {
		return watch.Result{Again: true}
	}
	o, err := w.newRun()
	if err != nil {
		return w.failed(ctx, err)
	}
	if o.options.Before, err = w.before(); err != nil {
		return w.failed(ctx, err)
	}
	o.planner = organize.NewPlanner(o.options, &o.disk)
	wanted := map[string]bool{}
	for _, dir := range dirs {
		wanted[dir] = true
	}
	o.match.records, o.match.folders = o, w.seen(wanted, o)
	quiet := *w.f
	quiet.quiet = true
	o.match.f = &quiet
	err = o.match.run(ctx, w.cfg, w.walk(wanted, &o.match))
	if known, ok := errors.AsType[*failure](err); err != nil && (!ok || known.code != exitIncomplete) {
		return w.failed(ctx, err)
	}
	plan := o.planner.Plan()
	result := w.leave(plan)
	if len(plan.Units) > 0 {
		err = o.apply(ctx, plan)
	} else {
		err = w.tellLeft(ctx, o, plan)
	}
	if err != nil {
		done := w.failed(ctx, err)
		result.Again, result.Err = done.Again, done.Err
	}
	return result
}

func (w *watchRun) tellLeft(ctx context.Context, o *organizeRun, plan *organize.Result) error {
	if w.format != "ndjson" {
		if err := printTree(w.f, plan); err != nil {
			return err
		}
	}
	return o.applyRun(plan).tell(ctx, &apply.Outcome{Run: plan.ID})
}

func (w *watchRun) seen(wanted map[string]bool, o *organizeRun) func(real string, entries []library.Entry) {
	return func(real string, entries []library.Entry) {
		dir := w.below(real)
		isVideo := func(e library.Entry) bool { return e.Info != nil }
		if wanted[dir] || wanted[path.Dir(dir)] && !slices.ContainsFunc(entries, isVideo) {
			o.disk.Seen(real, entries)
		}
	}
}

func (w *watchRun) walk(wanted map[string]bool, o *matchOptions) run.Producer {
	walk := run.Walk([]string{w.path}, library.Options{Excludes: o.exclude, Read: o.folders})
	return func(ctx context.Context, yield func(run.Batch) error) error {
		return walk(ctx, func(b run.Batch) error {
			if b.Err == nil && wanted[w.below(b.Abs)] { // what can't be read was told by the watch
				return yield(b)
			}
			return nil
		})
	}
}

// below returns a path as the watch names it, relative to the watched folder; "" for a path elsewhere.
func (w *watchRun) below(file string) string {
	for _, root := range []string{w.path, w.tree.Root().Path} {
		root = strings.TrimSuffix(filepath.ToSlash(root), "/") + "/"
		if rest, ok := strings.CutPrefix(filepath.ToSlash(file)+"/", root); ok {
			if rest == "" {
				return "."
			}
			return strings.TrimSuffix(rest, "/")
		}
	}
	return ""
}

func (w *watchRun) leave(plan *organize.Result) watch.Result {
	result := watch.Result{Later: map[string]bool{}, Left: map[string]bool{}}
	plan.Left = slices.DeleteFunc(plan.Left, func(l organize.LeftFile) bool {
		name := w.below(l.Path)
		version := "gone"
		if info, err := os.Lstat(filepath.FromSlash(l.Path)); err == nil {
			version = fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano())
		}
		if l.Code == organize.Pending {
			result.Later[filepath.ToSlash(filepath.Dir(name))] = true
		}
		result.Left[name] = l.Code != organize.Extra && l.Code != organize.NotRegular && l.Code != organize.SameFile
		return !w.state.Tell(name, string(l.Code)+" "+version)
	})
	return result
}

// failed prints an error. Watching ends after a signal, when TMDB refuses the key, or when results can't be written.
func (w *watchRun) failed(ctx context.Context, err error) watch.Result {
	known, ok := errors.AsType[*failure](err)
	switch {
	case ctx.Err() != nil, ok && (known.code == exitUnauthorized || known.code == exitInternal):
		return watch.Result{Err: err}
	case ok && known.err == nil: // all was said
		runs, err := w.unfinished(ctx)
		return watch.Result{Again: err != nil || len(runs) > 0}
	}
	printError(w.f.streams, err)
	return watch.Result{Again: true}
}

func (w *watchRun) unfinished(ctx context.Context) ([]unfinishedRun, error) {
	runs, err := lookUnfinished(ctx, w.cfg)
	// a damaged one can't be continued
	return slices.DeleteFunc(runs, func(r unfinishedRun) bool { return r.Err != nil }), err
}

// resume continues an interrupted run, and reports whether another one can begin. An interrupted undo is the person's.
func (w *watchRun) resume(ctx context.Context) bool {
	runs, err := w.unfinished(ctx)
	if err != nil {
		printError(w.f.streams, err)
		return false
	}
	if len(runs) == 0 || runs[0].atWork {
		return true // who is at work is waited for
	}
	r := &runs[0]
	if r.Stage == apply.Undoing {
		w.once("undo "+r.ID, func() {
			w.f.warn("the undo of the run %s was interrupted; watching waits until anivault undo %s finishes it", r.ID, r.ID)
		})
		return false
	}
	if !slices.Contains(r.Sources, w.tree.Root().Path) {
		w.once("other "+r.ID, func() {
			w.f.warn("the run %s, for another folder, was interrupted; "+
				"watching waits until you continue it or put it back", r.ID)
			advise(w.f.streams, waysOn(r.ID))
		})
		return false
	}
	w.f.say("continuing the interrupted run %s\n", r.ID)
	err = (&applyRun{f: w.f, format: w.format, wait: time.Hour, began: time.Now()}).resumeRun(ctx, w.cfg, []string{r.ID})
	if err != nil {
		printError(w.f.streams, err)
	}
	runs, err = w.unfinished(ctx)
	return err == nil && len(runs) == 0
}

// targetsAreThere also checks that the libraries are the same folders as at the beginning: if a disk is not mounted,
// its empty mount point is no library.
func (w *watchRun) targetsAreThere() bool {
	for _, root := range w.targets {
		err := watch.Same(root)
		if err != nil {
			w.once(root.Path, func() { w.f.warn("%v; waiting until it is back", err) })
			return false
		}
		delete(w.told, root.Path)
	}
	return true
}

func (w *watchRun) once(what string, tell func()) {
	if !w.told[what] {
		w.told[what] = true
		tell()
	}
}

type placed struct {
	at    time.Time
	files []apply.Placed
}

// before reports the files that stay because, since a pin or the index changed, an undo has put them back or somebody
// has removed them from the library. It reads only journals that have changed.
func (w *watchRun) before() (func(*organize.Item) organize.Code, error) {
	e, err := openEngine(w.cfg)
	if err != nil {
		return nil, err
	}
	defer e.Journals.Close()
	runs, err := e.Runs()
	if err != nil {
		return nil, err
	}
	var changed time.Time
	for _, file := range w.basisFiles() {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(changed) {
			changed = info.ModTime()
		}
	}
	known := map[apply.Identity]apply.Placed{}
	for i := range runs {
		r := &runs[i]
		if r.Err != nil || r.Stage.Unfinished() || r.Stage == apply.Abandoned || r.At.Before(changed) ||
			!slices.Contains(r.Sources, w.tree.Root().Path) {
			continue
		}
		of := w.placed[r.ID]
		if !of.at.Equal(r.At) {
			files, err := e.Placed(r.ID)
			if err != nil {
				continue // it can't be told
			}
			of = placed{r.At, files}
			w.placed[r.ID] = of
		}
		for _, p := range of.files {
			if _, newer := known[p.Source]; !newer {
				known[p.Source] = p
			}
		}
	}
	return func(item *organize.Item) organize.Code {
		p, found := known[apply.Identity{Inode: item.Inode, Size: item.Size, MTime: item.MTime}]
		if !found {
			return ""
		}
		if p.Undone {
			return organize.PutBack
		}
		if _, err := os.Lstat(filepath.FromSlash(p.Target)); errors.Is(err, fs.ErrNotExist) {
			return organize.TakenAway
		}
		return ""
	}, nil
}
