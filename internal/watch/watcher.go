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
	// There is nil where the watched folder is there, and the same as when watching began.
	There() error
	// Read returns what a folder holds, by name in byte order.
	Read(dir string) ([]Entry, error)
	// Writing reports whether somebody has a file open for writing; false where that can't be known.
	Writing(dir, name string) bool
}

// Notices tell in which folders something has changed.
type Notices interface {
	// Add asks for notices of a folder, once more does no harm. With an error none come from there.
	Add(dir string) error
	// Ready receives a value when Take has something to return.
	Ready() <-chan struct{}
	// Take returns the folders with notices; all says that some may be missing.
	Take() (dirs []string, all bool)
}

// Event is something that a person should know of.
type Event uint8

// The events.
const (
	Lost       Event = iota // the watched folder is not there, or another one is
	Found                   // it is there again
	NoNotices               // the system gives no notices, or no more of them: folders are looked at in turn
	Unreadable              // a folder can't be read
	Written                 // a video has not changed for long enough, but somebody has it open for writing
)

// Result is what a batch has come to.
type Result struct {
	Again bool            // nothing could be done: all is tried again later
	Later map[string]bool // folders of which something could not be asked, and is tried again
	// files that stay where they are, by their path below the watched folder; true: pins or index may change that
	Left map[string]bool
	Err  error // with which watching ends
}

// Config is what a Watcher works with.
type Config struct {
	Settle, Rescan, Poll time.Duration
	State                *State
	Disk                 Disk
	Notices              Notices // nil: none come, and folders are looked at every Poll
	// Basis says what decisions stand on besides the files. What was left is tried again when it changes.
	Basis func() string
	// Batch puts folders in order.
	Batch func(ctx context.Context, dirs []string) Result
	// Save keeps the state.
	Save func() error
	// OnEvent is called with each event, the folder or file it is about, and the error behind it, if any.
	OnEvent func(e Event, name string, err error)
}

// Watcher waits for what arrives below a folder, and has it put in order.
type Watcher struct {
	Config
	machine    *Machine
	dirty      map[string]time.Time // folders of which notices have come, and when they are looked at
	now        time.Time            // of the look that is taken: what it sees is seen at one time
	rescanAt   time.Time
	polling    bool
	lost       bool
	unreadable map[string]bool
	written    map[string]bool
}

// New returns a Watcher that has seen nothing yet.
func New(c Config) *Watcher {
	return &Watcher{
		Config: c, machine: NewMachine(c.Settle, c.State), dirty: map[string]time.Time{}, polling: c.Notices == nil,
		unreadable: map[string]bool{}, written: map[string]bool{},
	}
}

const retryFirst = time.Minute

// presenceCheck is how soon a missing watched folder is noticed without a notice; searchInterval is how often Run then
// looks for it.
const presenceCheck, searchInterval = time.Minute, 10 * time.Second

const lookAfter = time.Second / 2

// Run watches until ctx ends, whose error it then returns, or a batch says so.
func (w *Watcher) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		w.lookAtDue()
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
			w.dirty[dir] = now.Add(min(lookAfter, w.Settle))
		}
	}
	if all {
		w.rescanAt = now.Add(min(lookAfter, w.Settle))
	}
}

func (w *Watcher) lookAtDue() {
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
			w.look(dir, false)
		}
	}
}

func (w *Watcher) isPresent() bool {
	err := w.Disk.There()
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
		w.rescanAt = w.now // of what happened meanwhile no notice came
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
	w.look(".", true)
}

func (w *Watcher) look(dir string, all bool) {
	if !w.polling {
		if err := w.Notices.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.OnEvent(NoNotices, dir, err)
			w.polling = true
			w.rescanAt = w.now.Add(w.Poll)
		}
	}
	entries, err := w.Disk.Read(dir)
	if err != nil {
		w.machine.Gone(dir)
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
	for _, kid := range next {
		w.look(kid, all)
	}
}

type work struct {
	groups []Group // that have settled and are news
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
			w.look(dir, false)
		}
	}
	due, beside, next = w.machine.Due(w.now, out.basis)
	for _, g := range due {
		if w.isWritten(&g) {
			w.machine.Touch(w.now, g.Dir)
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
				w.look(dir, false)
			}
		}
	}
	hopeful := map[string]bool{} // folders of files that may be put in order another time
	for file, may := range result.Left {
		if may {
			hopeful[path.Dir(file)] = true
		}
	}
	for i := range do.groups {
		g := &do.groups[i]
		if result.Again || anyOf(g.Folders, result.Later) {
			w.machine.RetryLater(w.now, g, retryFirst, max(w.Rescan, retryFirst))
			continue
		}
		w.machine.Dealt(g, before, do.basis, anyOf(g.Folders, hopeful))
	}
	if !w.lost && !result.Again {
		w.State.Forget(w.machine.Known, do.dirs, result.Left)
	}
	return w.Save()
}

func anyOf(folders []string, set map[string]bool) bool {
	return slices.ContainsFunc(folders, func(dir string) bool { return set[dir] })
}
