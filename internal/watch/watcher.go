package watch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/library"
)

// Disk is the watched folder. Names of folders are as in a [Machine].
type Disk interface {
	// Check returns an error unless the watched folder exists and is the one that watching began with.
	Check() error
	// Read returns a folder's entries, by name in byte order.
	Read(dir string) ([]Entry, error)
	// IsBeingWritten reports whether a process has a file open for writing; false if the system can't say.
	IsBeingWritten(dir, name string) bool
}

// Notices tell in which folders something has changed.
type Notices interface {
	// Add asks for notices about a folder. Repeated calls do no harm. If it fails, there are none for this folder.
	Add(dir string) error
	// Ready receives a value when TakeChanges has something to return.
	Ready() <-chan struct{}
	// TakeChanges returns the folders with notices. all means that notices were lost, so any folder may have changed.
	TakeChanges() (dirs []string, all bool)
}

// Event is something to report to the user.
type Event uint8

// The events.
const (
	FolderLost        Event = iota // the watched folder is missing, or another folder is in its place
	FolderFound                    // the watched folder is back
	NoNotices                      // the system sends no notices any more: folders are polled
	FolderUnreadable               // a folder can't be read
	VideoBeingWritten              // a video has not changed for long enough, but a process has it open for writing
)

// Result is the outcome of a batch.
type Result struct {
	RetryAll     bool            // the batch failed: retry all of it later
	RetryFolders map[string]bool // folders to retry later: TMDB could not be asked, or apply refused a file
	// Skipped has the skipped files, by path below the watched folder; true if new pins or a new index may change that.
	Skipped map[string]bool
	Err     error // an error that ends the watch
}

// Config has the settings of a Watcher, and what it works with.
type Config struct {
	Settle, Rescan, Poll time.Duration
	State                *State
	Disk                 Disk
	Notices              Notices // nil: poll the folders instead, every Poll
	// InputsDigest identifies the pins and the index. Skipped files are tried again when it changes.
	InputsDigest func() string
	// Batch organizes folders, which had these entries when they settled. It removes those that have changed since.
	Batch func(ctx context.Context, settled map[string][]Entry) Result
	// Save writes the state to disk. If that fails, watching continues: only the next process needs the state.
	Save func()
	// OnEvent is called with each event, the folder or file that it concerns, and the cause, if any.
	OnEvent func(e Event, name string, err error)
}

// Watcher watches a folder and runs a batch for the groups that have settled.
type Watcher struct {
	Config
	machine            *Machine
	dirty              map[string]time.Time // folders with notices, and when to scan them
	now                time.Time            // the time of the current scan
	rescanAt           time.Time
	polling            bool
	lostBecause        string // the reported reason why the folder is missing; "" if it exists
	unreadable         map[string]bool
	reportedBusyVideos map[string]bool
}

// New returns a Watcher before its first scan.
func New(c Config) *Watcher {
	return &Watcher{
		Config: c, dirty: map[string]time.Time{}, polling: c.Notices == nil,
		machine:    &Machine{settle: c.Settle, state: c.State, folders: map[string]*folder{}, retries: map[string]retry{}},
		unreadable: map[string]bool{}, reportedBusyVideos: map[string]bool{},
	}
}

const firstRetryDelay = time.Minute

// presenceInterval is how often Run checks that the watched folder exists; searchInterval applies while it doesn't.
const presenceInterval, searchInterval = time.Minute, 10 * time.Second

const scanDelay = time.Second / 2

// Run watches until ctx ends, or until a batch returns an error that ends the watch. It returns that error.
func (w *Watcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		w.scanDue()
		due, next := w.settledWork()
		if len(due.groups) > 0 {
			if err := w.runBatch(ctx, due); err != nil {
				return err
			}
			continue
		}
		for _, at := range slices.AppendSeq([]time.Time{w.rescanAt, w.now.Add(presenceInterval)}, maps.Values(w.dirty)) {
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
		w.wait(ctx, next)
	}
	return ctx.Err()
}

func (w *Watcher) wait(ctx context.Context, until time.Time) {
	var woken <-chan struct{}
	if w.Notices != nil {
		woken = w.Notices.Ready()
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
		return
	case <-woken:
	}
	now := time.Now()
	dirs, all := w.Notices.TakeChanges()
	for _, dir := range dirs {
		if _, waits := w.dirty[dir]; !waits {
			w.dirty[dir] = now.Add(min(scanDelay, w.Settle))
		}
	}
	if all {
		w.rescanAt = now.Add(min(scanDelay, w.Settle))
	}
}

func (w *Watcher) scanDue() {
	w.now = time.Now()
	if !w.now.Before(w.rescanAt) {
		w.rescan()
		return
	}
	var dirs []string
	for dir, at := range w.dirty {
		if !w.now.Before(at) {
			dirs = append(dirs, dir)
			delete(w.dirty, dir)
		}
	}
	slices.Sort(dirs)
	if w.isPresent() {
		for _, dir := range dirs {
			w.scan(dir, false)
		}
	}
}

func (w *Watcher) isPresent() bool {
	err := w.Disk.Check()
	switch {
	case err != nil:
		if err.Error() != w.lostBecause {
			w.OnEvent(FolderLost, ".", err)
		}
		w.lostBecause = err.Error()
		w.rescanAt = w.now.Add(min(w.Poll, searchInterval))
		return false
	case w.lostBecause != "":
		w.lostBecause = ""
		w.OnEvent(FolderFound, ".", nil)
		w.rescanAt = w.now // the missing folder sent no notices
	}
	return true
}

func (w *Watcher) rescan() {
	if !w.isPresent() {
		return
	}
	w.rescanAt = w.now.Add(w.Rescan)
	if w.polling {
		w.rescanAt = w.now.Add(w.Poll)
	}
	clear(w.dirty)
	w.scan(".", true)
}

func (w *Watcher) scan(dir string, everything bool) {
	if !w.polling {
		if err := w.Notices.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.OnEvent(NoNotices, dir, err)
			w.polling = true
			w.rescanAt = w.now.Add(w.Poll)
		}
	}
	entries, err := w.Disk.Read(dir)
	if err != nil {
		w.machine.Remove(dir)
		if !errors.Is(err, fs.ErrNotExist) && !w.unreadable[dir] {
			w.unreadable[dir] = true
			w.OnEvent(FolderUnreadable, dir, err)
		}
		return
	}
	delete(w.unreadable, dir)
	w.machine.Observe(w.now, dir, entries)
	for _, e := range entries {
		if child := path.Join(dir, e.Name); e.Dir && (everything || !w.machine.HasSeen(child)) {
			w.scan(child, everything)
		}
	}
}

type batchWork struct {
	groups       []Group // settled and not processed yet
	folders      []string
	inputsDigest string
}

func (w *Watcher) settledWork() (batchWork, time.Time) {
	out := batchWork{inputsDigest: w.InputsDigest()}
	due, beside, next := w.machine.Due(w.now, out.inputsDigest)
	if len(due) == 0 || !w.isPresent() {
		return out, next
	}
	for _, g := range slices.Concat(due, beside) {
		for _, dir := range g.Folders {
			w.scan(dir, false)
		}
	}
	due, beside, next = w.machine.Due(w.now, out.inputsDigest)
	for _, g := range due {
		if w.hasOpenVideo(&g) {
			w.machine.folders[g.Dir].stableSince = w.now // it settles no earlier than Settle after now
			if again := w.now.Add(w.Settle); next.IsZero() || again.Before(next) {
				next = again
			}
			continue
		}
		out.groups = append(out.groups, g)
		out.folders = append(out.folders, g.Folders...)
	}
	if len(out.groups) > 0 {
		for _, g := range beside {
			out.folders = append(out.folders, g.Folders...)
		}
	}
	return out, next
}

func (w *Watcher) hasOpenVideo(g *Group) bool {
	for _, dir := range g.Folders {
		for _, e := range w.machine.Entries(dir) {
			if e.Dir || !library.IsVideo(e.Name) || !w.Disk.IsBeingWritten(dir, e.Name) {
				continue
			}
			name := path.Join(dir, e.Name)
			if !w.reportedBusyVideos[name] {
				w.reportedBusyVideos[name] = true
				w.OnEvent(VideoBeingWritten, name, nil)
			}
			return true
		}
	}
	return false
}

func (w *Watcher) runBatch(ctx context.Context, work batchWork) error {
	before := map[string][]Entry{}
	for _, dir := range work.folders {
		before[dir] = w.machine.Entries(dir)
	}
	result := w.Batch(ctx, before)
	switch {
	case result.Err != nil:
		return result.Err
	case ctx.Err() != nil:
		w.Save() // what the batch has reported is not reported again
		return ctx.Err()
	}
	w.now = time.Now()
	if w.isPresent() {
		for _, dir := range work.folders {
			if w.machine.HasSeen(dir) {
				w.scan(dir, false)
			}
		}
	}
	retryable := map[string]bool{} // folders with files to try again when InputsDigest changes
	for file, may := range result.Skipped {
		if may {
			retryable[path.Dir(file)] = true
		}
	}
	for i := range work.groups {
		g := &work.groups[i]
		if result.RetryAll || anyOf(g.Folders, result.RetryFolders) {
			w.machine.RetryLater(w.now, g, firstRetryDelay, max(w.Rescan, firstRetryDelay))
			continue
		}
		w.machine.MarkProcessed(g, before, work.inputsDigest, anyOf(g.Folders, retryable))
	}
	if w.lostBecause == "" && !result.RetryAll {
		w.State.Prune(w.machine.HasSeen, work.folders, result.Skipped)
	}
	w.Save()
	return nil
}

func anyOf(folders []string, set map[string]bool) bool {
	return slices.ContainsFunc(folders, func(dir string) bool { return set[dir] })
}
