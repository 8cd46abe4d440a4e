package watch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

// attic is a folder in memory with notices, and a program that puts it in order.
type attic struct {
	t       *testing.T
	mu      sync.Mutex       // of all below; the test has it but in free
	files   map[string]int64 // by path: when it was written last
	writing map[string]bool
	gone    error
	basis   string
	began   time.Time

	watched        map[string]bool
	limit          int // of notices; 0: none
	withoutNotices bool
	woken          chan struct{}
	dirs           map[string]bool

	result Result              // of each batch
	during func(dirs []string) // what a batch does with the files
	log    []string            // batches and events, with their times
	state  *State
	saved  int
	cancel context.CancelFunc
	done   chan error
}

func newAttic(t *testing.T, files ...string) *attic {
	a := &attic{
		t: t, files: map[string]int64{}, writing: map[string]bool{}, watched: map[string]bool{},
		woken: make(chan struct{}, 1),
		dirs:  map[string]bool{}, state: NewState("test"), began: time.Now(), basis: "none",
	}
	for _, f := range files {
		a.files[f] = 1
	}
	a.mu.Lock()
	return a
}

// free lets the watcher work until it waits, after what is to be done.
func (a *attic) free(do func()) {
	a.mu.Unlock()
	defer a.mu.Lock()
	do()
	synctest.Wait()
}

// locked is f for the watcher.
func locked[T any](a *attic, f func() T) T {
	a.mu.Lock()
	defer a.mu.Unlock()
	return f()
}

// watch begins to watch.
func (a *attic) watch() {
	ctx, cancel := context.WithCancel(a.t.Context())
	a.cancel, a.done = cancel, make(chan error, 1)
	c := Config{
		Settle: time.Minute, Rescan: 10 * time.Minute, Poll: time.Minute, State: a.state, Disk: a,
		InputsDigest: func() string { return locked(a, func() string { return a.basis }) }, Batch: a.batch,
		Save: func() { locked(a, func() int { a.saved++; return a.saved }) }, OnEvent: a.say,
	}
	if !a.withoutNotices {
		c.Notices = a
	}
	w := New(c)
	a.free(func() { go func() { a.done <- w.Run(ctx) }() })
}

func (a *attic) end() {
	a.free(a.cancel)
	if err := <-a.done; !errors.Is(err, context.Canceled) {
		a.t.Error("it ended with", err)
	}
}

// pass lets time pass.
func (a *attic) pass(d time.Duration) {
	a.free(func() { time.Sleep(d) })
}

func (a *attic) record(what string) {
	a.log = append(a.log, strings.TrimSpace(time.Since(a.began).Truncate(time.Second).String()+" "+what))
}

// is compares what has happened since it was last asked.
func (a *attic) is(want ...string) {
	a.t.Helper()
	if diff := cmp.Diff(want, a.log, cmp.Transformer("nil",
		func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		a.t.Errorf("(-want +got):\n%s", diff)
	}
	a.log = nil
}

// write writes or makes a file, and remove removes one or a folder; both with a notice.
func (a *attic) write(name string) {
	a.files[name] = time.Now().UnixNano()
	a.notice(path.Dir(name))
}

func (a *attic) remove(name string) {
	maps.DeleteFunc(a.files, func(f string, _ int64) bool { return f == name || strings.HasPrefix(f, name+"/") })
	a.notice(path.Dir(name))
}

func (a *attic) rename(from, to string) {
	a.files[to] = a.files[from]
	delete(a.files, from)
	a.notice(path.Dir(from))
	a.notice(path.Dir(to))
}

// notice reports a change in a folder: to those who asked for it, or for the one above where it is new.
func (a *attic) notice(dir string) {
	for !a.watched[dir] && dir != "." {
		dir = path.Dir(dir)
	}
	if !a.watched[dir] {
		return
	}
	a.dirs[dir] = true
	select {
	case a.woken <- struct{}{}:
	default:
	}
}

// Add, Ready and Take are Notices.
func (a *attic) Add(dir string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit > 0 && len(a.watched) >= a.limit && !a.watched[dir] {
		return errors.New("no more")
	}
	a.watched[dir] = true
	return nil
}

func (a *attic) Ready() <-chan struct{} { return a.woken }

func (a *attic) TakeChanges() ([]string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	dirs := slices.Sorted(maps.Keys(a.dirs))
	clear(a.dirs)
	return dirs, false
}

// There, Read and Writing are Disk.
func (a *attic) Check() error { return locked(a, func() error { return a.gone }) }

func (a *attic) Read(dir string) ([]Entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone != nil {
		return nil, fs.ErrNotExist
	}
	found := map[string]Entry{}
	for f, at := range a.files {
		if rest, within := strings.CutPrefix(f, dir+"/"); within || dir == "." {
			if dir == "." {
				rest = f
			}
			name, _, isDir := strings.Cut(rest, "/")
			found[name] = Entry{Name: name, Dir: isDir, MTime: at}
			if isDir {
				found[name] = Entry{Name: name, Dir: true}
			}
		}
	}
	if len(found) == 0 && dir != "." {
		return nil, fs.ErrNotExist
	}
	out := slices.Collect(maps.Values(found))
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (a *attic) IsBeingWritten(dir, name string) bool {
	return locked(a, func() bool { return a.writing[path.Join(dir, name)] })
}

func (a *attic) batch(_ context.Context, settled map[string][]Entry) Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	dirs := slices.Sorted(maps.Keys(settled))
	a.record("batch " + strings.Join(dirs, ", "))
	if a.during != nil {
		a.during(dirs)
	}
	return a.result
}

func (a *attic) say(e Event, name string, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.record(map[Event]string{
		FolderLost: "lost", FolderFound: "found", NoNotices: "no notices", FolderUnreadable: "unreadable",
		VideoBeingWritten: "written",
	}[e] + " " + name)
}

func TestWatching(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(a *attic)
	}{
		{"what is there is put in order once it has settled, and then left in peace", func(a *attic) {
			a.files["Show/1.mkv"], a.files["Film.mkv"], a.files["notes/x.txt"] = 1, 1, 1
			a.watch()
			a.pass(59 * time.Second)
			a.is()
			a.pass(time.Second)
			a.is("1m0s batch ., Show")
			a.pass(24 * time.Hour)
			a.is()
		}},
		{"what arrives waits for the last change in its folder, and for no other folder", func(a *attic) {
			a.watch()
			a.write("Show/1.mkv")
			for range 10 { // a download elsewhere goes on and on
				a.pass(15 * time.Second)
				a.write("Other/2.mkv")
			}
			a.is("1m0s batch Show")
			a.pass(time.Hour)
			a.is("3m30s batch Other")
		}},
		{"a season is taken whole, with its subtitles, and not before the last of it is complete", func(a *attic) {
			a.files["Show/1.mkv"], a.files["Show/2.mkv.part"] = 1, 1
			a.watch()
			a.pass(3 * time.Minute)
			a.write("Show/Subs/1.srt")
			a.is()
			a.rename("Show/2.mkv.part", "Show/2.mkv")
			a.pass(30 * time.Second)
			a.write("Show/Subs/2.srt")
			a.pass(time.Minute + time.Second)
			a.is("4m30s batch Show, Show/Subs")
		}},
		{"an unfinished download beside loose files keeps these, and no folder", func(a *attic) {
			a.files["Film.mkv"], a.files["x.crdownload"], a.files["Show/1.mkv"] = 1, 1, 1
			a.watch()
			a.pass(time.Hour)
			a.is("1m0s batch Show")
			a.remove("x.crdownload")
			a.pass(time.Hour)
			a.is("1h1m0s batch .")
		}},
		{"of what no notice comes, a rescan sees", func(a *attic) {
			a.watch()
			a.pass(time.Minute)
			a.files["Show/1.mkv"] = 5
			a.pass(10 * time.Minute)
			a.is("11m0s batch Show")
		}},
		{"without notices folders are looked at in turn", func(a *attic) {
			a.withoutNotices = true
			a.watch()
			a.pass(90 * time.Second)
			a.files["Show/1.mkv"] = 5
			a.pass(90 * time.Second)
			a.is("3m0s batch Show")
		}},
		{"if the system gives no more notices, watch says so once and polls the folders", func(a *attic) {
			a.limit = 2
			a.files["A/1.mkv"], a.files["B/1.mkv"], a.files["C/1.mkv"] = 1, 1, 1
			a.watch()
			a.pass(90 * time.Second)
			a.is("0s no notices B", "1m0s batch A, B, C")
			a.files["C/2.mkv"] = 7
			a.pass(2 * time.Minute)
			a.is("3m0s batch C")
		}},
		{"what stays is tried again when the pins or the index change, and what was dealt with is not", func(a *attic) {
			a.files["A/1.mkv"], a.files["B/1.mkv"] = 1, 1
			a.result.Skipped = map[string]bool{"B/1.mkv": true}
			a.watch()
			a.pass(time.Hour)
			a.is("1m0s batch A, B")
			a.basis = "pinned"
			a.result.Skipped = nil
			a.pass(10 * time.Minute)
			a.is("1h1m0s batch B") // or at once, by a notice
			a.basis = "again"
			a.pass(time.Hour)
			a.is()
			a.result.Skipped = map[string]bool{"A/sample.mkv": false}
			a.write("A/sample.mkv")
			a.pass(time.Hour)
			a.is("2h11m0s batch A")
			a.basis = "once more"
			a.pass(time.Hour)
			a.is()
		}},
		{"what could not be asked is tried again, later each time", func(a *attic) {
			a.files["A/1.mkv"], a.files["B/1.mkv"] = 1, 1
			a.result.RetryFolders = map[string]bool{"A": true}
			a.watch()
			a.pass(30 * time.Minute)
			a.is("1m0s batch A, B", "2m0s batch A", "4m0s batch A", "8m0s batch A", "16m0s batch A", "26m0s batch A")
			a.result.RetryFolders = nil
			a.pass(time.Hour)
			a.is("36m0s batch A")
		}},
		{"a batch for which nothing can be done yet is tried again whole", func(a *attic) {
			a.files["A/1.mkv"] = 1
			a.result.RetryAll = true
			a.watch()
			a.pass(2 * time.Minute)
			a.result.RetryAll = false
			a.pass(time.Hour)
			a.is("1m0s batch A", "2m0s batch A", "4m0s batch A")
		}},
		{"files that a batch has moved are no news, but files that arrived meanwhile are", func(a *attic) {
			a.files["Show/1.mkv"], a.files["Show/1.srt"] = 1, 1
			a.files["Show/keep.mkv"] = 1
			a.during = func([]string) { a.remove("Show/1.mkv") }
			a.watch()
			a.pass(time.Hour)
			a.is("1m0s batch Show")
			a.during = func([]string) {
				if _, there := a.files["Show/3.mkv"]; !there {
					a.write("Show/3.mkv")
				}
			}
			a.write("Show/2.mkv")
			a.pass(time.Hour)
			a.is("1h1m0s batch Show", "1h2m0s batch Show")
		}},
		{"a folder that vanishes loses nothing: it is waited for, and what is as before is no news", func(a *attic) {
			a.files["Show/1.mkv"] = 1
			a.watch()
			a.pass(time.Hour)
			a.is("1m0s batch Show")
			a.gone = errors.New("no disk")
			a.pass(time.Hour)
			a.is("1h1m0s lost .")
			a.gone = errors.New("another folder")
			a.pass(time.Hour)
			a.is("2h0m10s lost .")
			a.gone = nil
			a.files["Show/2.mkv"] = 2
			a.pass(time.Hour)
			a.is("3h0m10s found .", "3h1m10s batch Show")
		}},
		{"a video that somebody writes to is waited for, though its time stands still", func(a *attic) {
			a.files["Show/1.mkv"] = 1
			a.writing["Show/1.mkv"] = true
			a.watch()
			a.pass(150 * time.Second)
			a.is("1m0s written Show/1.mkv")
			a.writing["Show/1.mkv"] = false
			a.pass(time.Hour)
			a.is("3m0s batch Show")
		}},
		{"after a restart processed files are ignored, and skipped ones are reported only once", func(a *attic) {
			a.files["A/1.mkv"], a.files["B/1.mkv"] = 1, 1
			a.result.Skipped = map[string]bool{"B/1.mkv": true, "A/sample.mkv": false}
			if !a.state.ShouldReport("B/1.mkv", "ambiguous") || !a.state.ShouldReport("A/sample.mkv", "extra") ||
				!a.state.ShouldReport("B/gone.mkv", "ambiguous") {
				a.t.Error("it was not told")
			}
			a.watch()
			a.pass(2 * time.Minute)
			a.end()
			file := filepath.Join(a.t.TempDir(), "state")
			if err := a.state.Write(file); err != nil {
				a.t.Fatal(err)
			}
			state, err := ReadState(file, nil, func([]organize.Root) string { return "test" })
			if err != nil || cmp.Diff(a.state, state) != "" {
				a.t.Fatal(err, cmp.Diff(a.state, state))
			}
			a.state = state
			a.is("1m0s batch A, B")
			a.watch()
			a.write("A/2.mkv")
			a.pass(time.Hour)
			a.is("3m0s batch A")
			if a.state.ShouldReport("B/1.mkv", "ambiguous") || !a.state.ShouldReport("B/1.mkv", "low_confidence") ||
				len(a.state.Reported) != 2 || a.state.ShouldReport("A/sample.mkv", "extra") {
				a.t.Error(a.state.Reported)
			}
			other, _ := ReadState(file, nil, func([]organize.Root) string { return "another library" })
			if len(other.Folders) > 0 {
				a.t.Error("what was done for another library is believed")
			}
		}},
		{"seasons of one series settle by themselves, and what is beside a new one is planned with it", func(a *attic) {
			a.files["Show/poster.jpg"], a.files["Show/Season 1/1.mkv"], a.files["Else/1.mkv"] = 1, 1, 1
			a.watch()
			a.pass(time.Hour)
			a.is("1m0s batch Else, Show/Season 1")
			a.write("Show/Season 2/1.mkv")
			a.pass(time.Hour)
			a.is("1h1m0s batch Show/Season 1, Show/Season 2")
		}},
		{"folders that are renamed are looked at under their new name", func(a *attic) {
			a.files["tmp/1.mkv"] = 1
			a.watch()
			a.pass(30 * time.Second)
			a.rename("tmp/1.mkv", "Show/1.mkv")
			a.pass(time.Hour)
			a.is("1m30s batch Show")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAttic(t)
				row.do(a)
				a.end()
			})
		})
	}
}

// Watch reports what ends it, and a batch's error ends it.
func TestABatchEndsWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttic(t, "A/1.mkv")
		a.result.Err = errors.New("refused")
		a.watch()
		a.pass(time.Hour)
		if err := <-a.done; !errors.Is(err, a.result.Err) {
			t.Error(err)
		}
		a.cancel()
	})
}

// A signal at the end of a batch loses nothing of what the batch has reported: the next start would report it again.
func TestASignalAtTheEndOfABatchKeepsTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttic(t, "A/1.mkv")
		a.during = func([]string) { a.cancel() }
		a.watch()
		a.pass(time.Hour)
		if err := <-a.done; !errors.Is(err, context.Canceled) || a.saved != 1 {
			t.Errorf("%v, saved %d times", err, a.saved)
		}
	})
}
