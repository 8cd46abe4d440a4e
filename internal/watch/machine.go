// Package watch waits until what arrives below a folder has settled, and then says which folders are to be put in
// order.
//
// [Machine] decides, from what scans have seen and when: it reads no clock and no file. [Watcher] is its hands: it
// reads folders, hears the system's notices, and carries batches out. Notices only wake it; what a scan sees decides.
package watch

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
)

// Entry is a name in a folder as a scan has seen it. Of folders and links only the name counts.
type Entry struct {
	Name  string
	Dir   bool
	Size  int64
	MTime int64 // nanoseconds
}

// Machine knows what was seen below a folder, and which folders have settled. Folders are named by their path below the
// watched one, "." for itself.
type Machine struct {
	settle  time.Duration
	state   *State
	folders map[string]*folder
	retries map[string]retry // groups that a batch could not deal with
}

type folder struct {
	entries []Entry
	sum     uint64    // of entries
	since   time.Time // when it was first seen as it is
	videos  bool      // it has a video, perhaps one that is not complete
	busy    bool      // it has a file that is not complete
}

type retry struct {
	until time.Time
	times int
}

// NewMachine returns a machine that has seen nothing. It skips what the state says was dealt with until it changes.
func NewMachine(settle time.Duration, state *State) *Machine {
	return &Machine{settle: settle, state: state, folders: map[string]*folder{}, retries: map[string]retry{}}
}

// Observe takes note of what a folder holds, by name in byte order, and returns the folders in it that were not seen
// yet.
func (m *Machine) Observe(now time.Time, dir string, entries []Entry) (unseen []string) {
	f := &folder{entries: entries, sum: sumOf(entries), since: now}
	for _, e := range entries {
		switch {
		case e.Dir:
			if _, known := m.folders[below(dir, e.Name)]; !known {
				unseen = append(unseen, below(dir, e.Name))
			}
		case organize.IsUnfinished(e.Name):
			f.busy = true
			f.videos = f.videos || library.IsVideo(library.Stem(e.Name))
		default:
			f.videos = f.videos || library.IsVideo(e.Name)
		}
	}
	before := m.folders[dir]
	if before != nil && before.sum == f.sum {
		f.since = before.since
	}
	m.folders[dir] = f
	if before != nil && before.sum != f.sum {
		for _, e := range before.entries {
			_, found := slices.BinarySearchFunc(entries, e.Name,
				func(e Entry, name string) int { return strings.Compare(e.Name, name) })
			if e.Dir && !found {
				m.Gone(below(dir, e.Name))
			}
		}
	}
	return unseen
}

// Gone forgets a folder and all below it.
func (m *Machine) Gone(dir string) {
	maps.DeleteFunc(m.folders, func(name string, _ *folder) bool {
		return name == dir ||
			strings.HasPrefix(name, dir+"/")
	})
}

// Touch takes note that a folder is being worked on: it has not settled before settle has passed from now.
func (m *Machine) Touch(now time.Time, dir string) {
	if f := m.folders[dir]; f != nil {
		f.since = now
	}
}

// Known reports whether a folder was seen.
func (m *Machine) Known(dir string) bool { return m.folders[dir] != nil }

// Folders returns all folders that were seen.
func (m *Machine) Folders() []string { return slices.Sorted(maps.Keys(m.folders)) }

// Group is folders that settle and are dealt with together: one with videos, and what belongs to it below.
type Group struct {
	Dir     string // that has the videos
	Folders []string
	Print   string // of all that is in them
	Since   time.Time
	busy    bool
}

// Due returns the groups that have settled and are new, and when the next one may have; zero if none is waited for.
// Settled groups below the same first folder are in beside: a season's poster is about the others, too.
func (m *Machine) Due(now time.Time, basis string) (due, beside []Group, next time.Time) {
	settled := map[string][]Group{} // by the first folder, those that are no news
	news := map[string]bool{}
	for _, g := range m.groups() {
		ready := g.Since.Add(m.settle)
		top, _, _ := strings.Cut(g.Dir, "/")
		switch {
		case g.busy:
			continue // it will be renamed, which is a notice
		case m.state.dealtWith(&g, basis):
			if !now.Before(ready) {
				settled[top] = append(settled[top], g)
			}
			continue
		}
		if h := m.retries[g.Dir]; h.until.After(ready) {
			ready = h.until
		}
		if now.Before(ready) {
			if next.IsZero() || ready.Before(next) {
				next = ready
			}
			continue
		}
		due = append(due, g)
		news[top] = true
	}
	for _, top := range slices.Sorted(maps.Keys(news)) {
		if top != "." {
			beside = append(beside, settled[top]...)
		}
	}
	return due, beside, next
}

func (m *Machine) groups() []Group {
	names := m.Folders()
	holds := map[string]bool{} // folders with a video in them or below
	for i := len(names) - 1; i >= 0; i-- {
		dir := names[i]
		if m.folders[dir].videos {
			holds[dir] = true
		}
		if holds[dir] && dir != "." {
			holds[path.Dir(dir)] = true
		}
	}
	at := map[string]int{}
	var out []Group
	for _, dir := range names {
		f, owner := m.folders[dir], dir
		for owner != "." && !holds[owner] {
			above := path.Dir(owner)
			if above == "." && !library.IsSubtitleFolder(path.Base(owner)) {
				break // a folder of its own, which is about no file beside it
			}
			owner = above
		}
		if top := m.folders[owner]; top == nil || !top.videos {
			continue
		}
		i, known := at[owner]
		if !known {
			i = len(out)
			at[owner] = i
			out = append(out, Group{Dir: owner})
		}
		g := &out[i]
		g.Folders = append(g.Folders, dir)
		g.busy = g.busy || f.busy
		if f.since.After(g.Since) {
			g.Since = f.since
		}
	}
	for i := range out {
		out[i].Print = m.print(out[i].Folders)
	}
	return out
}

func (m *Machine) print(folders []string) string {
	h := fnv.New128a()
	for _, dir := range folders {
		if f := m.folders[dir]; f != nil {
			_, _ = h.Write([]byte(dir + "\x00" + strconv.FormatUint(f.sum, 16) + "\x00"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Entries returns what was seen in a folder.
func (m *Machine) Entries(dir string) []Entry {
	if f := m.folders[dir]; f != nil {
		return f.entries
	}
	return nil
}

// Dealt notes that a batch has dealt with a group; left: a part of it is tried again when the basis changes. The batch
// has moved what has gone from the folders since the scan; what has come is news.
func (m *Machine) Dealt(g *Group, before map[string][]Entry, basis string, left bool) {
	delete(m.retries, g.Dir)
	for _, dir := range g.Folders {
		if !isSubset(m.Entries(dir), before[dir]) {
			return // it settles anew
		}
	}
	for _, now := range m.groups() {
		if now.Dir == g.Dir {
			m.state.Folders[g.Dir] = Dealt{Print: now.Print, Basis: basis, Left: left}
		}
	}
}

// RetryLater notes that a batch failed for a group, which is tried again, later each time, at most limit from now.
func (m *Machine) RetryLater(now time.Time, g *Group, first, limit time.Duration) {
	h := m.retries[g.Dir]
	wait := first << min(h.times, 16)
	m.retries[g.Dir] = retry{now.Add(min(wait, limit)), h.times + 1}
}

func isSubset(now, before []Entry) bool {
	i := 0
	for _, e := range now {
		for i < len(before) && before[i].Name < e.Name {
			i++
		}
		if i == len(before) || before[i] != e {
			return false
		}
	}
	return true
}

func sumOf(entries []Entry) uint64 {
	h := fnv.New64a()
	var b []byte
	for _, e := range entries {
		b = append(b[:0], e.Name...)
		b = append(b, 0)
		if !e.Dir {
			b = strconv.AppendInt(b, e.Size, 16)
			b = append(b, ' ')
			b = strconv.AppendInt(b, e.MTime, 16)
		}
		b = append(b, 0)
		_, _ = h.Write(b)
	}
	return h.Sum64()
}

func below(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// State is what a watch remembers from one run of the program to the next.
type State struct {
	Version int               `json:"version"`
	Asked   string            `json:"asked"`   // what was watched, and how it was put in order
	Folders map[string]Dealt  `json:"folders"` // groups that were dealt with, by their folder
	Told    map[string]string `json:"told"`    // of files that stay where they are: what was told of them
}

// Dealt is a group that was dealt with.
type Dealt struct {
	Print string `json:"print"`           // as it was
	Basis string `json:"basis,omitempty"` // what decisions stood on: pins and index
	Left  bool   `json:"left,omitempty"`  // something of it stays where it is
}

const stateVersion = 1

// NewState returns the state of a watch that has done nothing.
func NewState(asked string) *State {
	return &State{Version: stateVersion, Asked: asked, Folders: map[string]Dealt{}, Told: map[string]string{}}
}

// ReadState returns the state that a file holds, a new one if that is missing, damaged or about another question.
func ReadState(file, asked string) (*State, error) {
	in, err := lockfile.Open(file, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return NewState(asked), nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	s := NewState(asked)
	if json.Unmarshal(text, s) != nil || s.Version != stateVersion || s.Asked != asked || s.Folders == nil ||
		s.Told == nil {
		return NewState(asked), nil
	}
	return s, nil
}

// Write keeps the state in a file.
func (s *State) Write(file string) error {
	return atomicfile.Write(file, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
}

func (s *State) dealtWith(g *Group, basis string) bool {
	d, known := s.Folders[g.Dir]
	return known && d.Print == g.Print && (!d.Left || d.Basis == basis)
}

// Tell reports whether to report something about a file: once for each reason.
func (s *State) Tell(file, what string) bool {
	if s.Told[file] == what {
		return false
	}
	s.Told[file] = what
	return true
}

// Forget drops groups that are gone, and files in the folders dealt with unless they are still left.
func (s *State) Forget(seen func(dir string) bool, dealt []string, left map[string]bool) {
	looked := map[string]bool{}
	for _, dir := range dealt {
		looked[dir] = true
	}
	for dir := range s.Folders {
		if !seen(dir) {
			delete(s.Folders, dir)
		}
	}
	for file := range s.Told {
		dir := path.Dir(file)
		if _, stays := left[file]; !seen(dir) || looked[dir] && !stays {
			delete(s.Told, file)
		}
	}
}
