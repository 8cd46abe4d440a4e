package watch

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/library"
)

// Disk is the watched folder. Folders are named as in a [Machine].
type Disk interface {
	// Check returns an error unless the watched folder exists and is the one that watching began with.
	Check() error
	// Read returns a folder's entries, by name in byte order.
	Read(dir string) ([]Entry, error)
	// Writing reports whether a process has a file open for writing; false if the system can't say.
	Writing(dir, name string) bool
}

// Notices name the folders in which something has changed.
type Notices interface {
	// Add asks for notices of a folder. Repeating it does no harm. After an error the folder sends none.
	Add(dir string) error
	// Ready receives a value when Take has something to return.
	Ready() <-chan struct{}
	// Take returns the folders with notices. all means that notices were lost, so any folder may have changed.
	Take() (dirs []string, all bool)
}

// Event is something to report to the user.
type Event uint8

// The events.
const (
	Lost       Event = iota // the watched folder is missing or is another one
	Found                   // the watched folder is back
	NoNotices               // the system sends no notices, or no more: folders are polled
	Unreadable              // a folder can't be read
	Written                 // a video has settled, but a process has it open for writing
)

// Result is the outcome of a batch.
type Result struct {
	Again bool            // the batch failed: retry all of it later
	Later map[string]bool // folders to retry later: TMDB could not be asked, or apply refused a file
	// skipped files, by their path below the watched folder; true: new pins or a new index may change that
	Left map[string]bool
	Err  error // ends the watch
}

// Config holds the settings of a Watcher and what it works with.
type Config struct {
	Settle, Rescan, Poll time.Duration
	State                *State
	Disk                 Disk
	Notices              Notices // nil: poll the folders instead, every Poll
	// Basis identifies the pins and the index. Skipped files are tried again when it changes.
	Basis func() string
	// Batch organizes folders.
	Batch func(ctx context.Context, dirs []string) Result
	// Save writes the state to disk.
	Save func() error
	// OnEvent gets each event, the folder or file concerned, and the cause, if any.
	OnEvent func(e Event, name string, err error)
}

// Watcher watches a folder and runs a batch for each group that has settled.
type Watcher struct {
	Config
	machine    *Machine
	dirty      map[string]time.Time // folders with notices, and when to scan them
	now        time.Time            // the time of the current scan
	rescanAt   time.Time
	polling    bool
	lost       bool
	unreadable map[string]bool
	written    map[string]bool
}

// New returns a Watcher before its first scan.
func New(c Config) *Watcher {
	return &Watcher{
		Config: c, machine: NewMachine(c.Settle, c.State), dirty: map[string]time.Time{}, polling: c.Notices == nil,
		unreadable: map[string]bool{}, written: map[string]bool{},
	}
}

const retryFirst = time.Minute

// presenceCheck is how often Run checks that the watched folder exists; searchInterval is how often it looks for it
// while it is missing.
const presenceCheck, searchInterval = time.Minute, 10 * time.Second

const scanDelay = time.Second / 2

// Run watches until ctx ends, and returns its error, or until a batch returns an error.
func (w *Watcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		w.scanDue()
		due, next := w.settled()
		if len(due.groups) > 0 {
			if err := w.batch(ctx, due); err != nil {
				return err
			}
			continue
		}
		if next.IsZero() || w.rescanAt.Before(next) {
			next = w.rescanAt
		}
		if pulse := w.now.Add(presenceCheck); pulse.Before(next) {
			next = pulse
		}
		for _, at := range w.dirty {
			if at.Before(next) {
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
	dirs, all := w.Notices.Take()
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
		if !w.lost {
			w.OnEvent(Lost, ".", err)
		}
		w.lost = true
		w.rescanAt = w.now.Add(min(w.Poll, searchInterval))
		return false
	case w.lost:
		w.lost = false
		w.OnEvent(Found, ".", nil)
		w.rescanAt = w.now // there were no notices meanwhile
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

func (w *Watcher) scan(dir string, all bool) {
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
			w.OnEvent(Unreadable, dir, err)
		}
		return
	}
	delete(w.unreadable, dir)
	next := w.machine.Observe(w.now, dir, entries)
	if all {
		next = next[:0]
		for _, e := range entries {
			if e.Dir {
				next = append(next, below(dir, e.Name))
			}
		}
	}
	for _, child := range next {
		w.scan(child, all)
	}
}

type work struct {
	groups []Group // settled and not processed yet
	dirs   []string
	basis  string
}

func (w *Watcher) settled() (work, time.Time) {
	out := work{basis: w.Basis()}
	due, beside, next := w.machine.Due(w.now, out.basis)
	if len(due) == 0 || !w.isPresent() {
		return out, next
	}
	for _, g := range slices.Concat(due, beside) {
		for _, dir := range g.Folders {
			w.scan(dir, false)
		}
	}
	due, beside, next = w.machine.Due(w.now, out.basis)
	for _, g := range due {
		if w.isWritten(&g) {
			w.machine.Postpone(w.now, g.Dir)
			if again := w.now.Add(w.Settle); next.IsZero() || again.Before(next) {
				next = again
			}
			continue
		}
		out.groups = append(out.groups, g)
		out.dirs = append(out.dirs, g.Folders...)
	}
	if len(out.groups) > 0 {
		for _, g := range beside {
			out.dirs = append(out.dirs, g.Folders...)
		}
	}
	return out, next
}

func (w *Watcher) isWritten(g *Group) bool {
	for _, dir := range g.Folders {
		for _, e := range w.machine.Entries(dir) {
			if e.Dir || !library.IsVideo(e.Name) || !w.Disk.Writing(dir, e.Name) {
				continue
			}
			name := below(dir, e.Name)
			if !w.written[name] {
				w.written[name] = true
				w.OnEvent(Written, name, nil)
			}
			return true
		}
	}
	return false
}

func (w *Watcher) batch(ctx context.Context, do work) error {
	before := map[string][]Entry{}
	for _, dir := range do.dirs {
		before[dir] = w.machine.Entries(dir)
	}
	result := w.Batch(ctx, do.dirs)
	switch {
	case result.Err != nil:
		return result.Err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	w.now = time.Now()
	if w.isPresent() {
		for _, dir := range do.dirs {
			if w.machine.Known(dir) {
				w.scan(dir, false)
			}
		}
	}
	retryable := map[string]bool{} // folders with files to try again when the basis changes
	for file, may := range result.Left {
		if may {
			retryable[path.Dir(file)] = true
		}
	}
	for i := range do.groups {
		g := &do.groups[i]
		if result.Again || anyOf(g.Folders, result.Later) {
			w.machine.RetryLater(w.now, g, retryFirst, max(w.Rescan, retryFirst))
			continue
		}
		w.machine.Processed(g, before, do.basis, anyOf(g.Folders, retryable))
	}
	if !w.lost && !result.Again {
		w.State.Forget(w.machine.Known, do.dirs, result.Left)
	}
	return w.Save()
}

func anyOf(folders []string, set map[string]bool) bool {
	return slices.ContainsFunc(folders, func(dir string) bool { return set[dir] })
}
