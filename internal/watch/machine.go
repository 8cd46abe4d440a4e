// Package watch finds new files below a folder and has them organized once they stop changing.
//
// [Machine] decides which folders are ready. It knows only what scans saw and when, and reads no clock and no file.
// [Watcher] scans folders, receives the system's notices of changes, and runs batches. A notice only starts a scan.
package watch

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
)

// Entry is an entry of a folder as a scan saw it. Folders and links have only a name.
type Entry struct {
	Name  string
	Dir   bool
	Size  int64
	MTime int64 // nanoseconds
}

// Machine holds what scans saw below the watched folder, and decides which folders have settled. A folder's name is its
// path below the watched one, which is ".".
type Machine struct {
	settle  time.Duration
	state   *State
	folders map[string]*folder
	retries map[string]retry // by group folder: groups whose batch failed
}

type folder struct {
	entries     []Entry
	checksum    uint64    // checksum of entries
	stableSince time.Time // time of the first scan that saw these entries
	hasVideo    bool      // whether the folder has a video, complete or not
	incomplete  bool      // whether the folder has an incomplete download
}

type retry struct {
	nextTry  time.Time
	failures int
}

// Observe records a folder's entries, sorted by name.
func (m *Machine) Observe(now time.Time, dir string, entries []Entry) {
	f, h := &folder{entries: entries, stableSince: now}, fnv.New64a()
	for _, e := range entries {
		fmt.Fprintf(h, "%s\x00%t %x %x\x00", e.Name, e.Dir, e.Size, e.MTime)
		switch {
		case e.Dir:
		case organize.IsUnfinishedDownload(e.Name):
			f.incomplete = true
			f.hasVideo = f.hasVideo || library.IsVideo(library.Stem(e.Name))
		default:
			f.hasVideo = f.hasVideo || library.IsVideo(e.Name)
		}
	}
	f.checksum = h.Sum64()
	before := m.folders[dir]
	m.folders[dir] = f
	switch {
	case before == nil:
	case before.checksum == f.checksum:
		f.stableSince = before.stableSince
	default:
		for _, e := range before.entries {
			if _, found := find(entries, e.Name); e.Dir && !found {
				m.Remove(path.Join(dir, e.Name))
			}
		}
	}
}

// Remove forgets a folder and all below it.
func (m *Machine) Remove(dir string) {
	maps.DeleteFunc(m.folders, func(name string, _ *folder) bool {
		return name == dir || strings.HasPrefix(name, dir+"/")
	})
}

// HasSeen reports whether a scan saw a folder.
func (m *Machine) HasSeen(dir string) bool { return m.folders[dir] != nil }

// Group is a set of folders that are organized together: one with videos, and those below it without any.
type Group struct {
	Dir         string // the folder with the videos
	Folders     []string
	Fingerprint string // fingerprint of all entries
	StableSince time.Time
	incomplete  bool
}

// Due returns the groups that have settled and are not processed yet, and when the next one may settle; zero if there
// is none. related has the processed groups below the same top folders: a season's poster may concern them too.
func (m *Machine) Due(now time.Time, inputsDigest string) (due, related []Group, next time.Time) {
	settled := map[string][]Group{} // processed groups that have settled, by top folder
	news := map[string]bool{}
	for _, g := range m.groups() {
		ready := g.StableSince.Add(m.settle)
		top, _, _ := strings.Cut(g.Dir, "/")
		switch {
		case g.incomplete:
			continue // renaming the incomplete file will cause a scan
		case m.state.isProcessed(&g, inputsDigest):
			if !now.Before(ready) {
				settled[top] = append(settled[top], g)
			}
			continue
		}
		if h := m.retries[g.Dir]; h.nextTry.After(ready) {
			ready = h.nextTry
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
			related = append(related, settled[top]...)
		}
	}
	return due, related, next
}

func (m *Machine) groups() []Group {
	names := slices.Sorted(maps.Keys(m.folders))
	hasVideos := map[string]bool{} // folders with a video in them or below
	for _, dir := range slices.Backward(names) {
		if m.folders[dir].hasVideo {
			hasVideos[dir] = true
		}
		if hasVideos[dir] && dir != "." {
			hasVideos[path.Dir(dir)] = true
		}
	}
	at := map[string]int{}
	var out []Group
	for _, dir := range names {
		f, owner := m.folders[dir], dir
		for owner != "." && !hasVideos[owner] {
			above := path.Dir(owner)
			if above == "." && !library.IsSubtitleFolder(path.Base(owner)) {
				break // the folder does not belong to the videos next to it
			}
			owner = above
		}
		if top := m.folders[owner]; top == nil || !top.hasVideo {
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
		g.incomplete = g.incomplete || f.incomplete
		if f.stableSince.After(g.StableSince) {
			g.StableSince = f.stableSince
		}
	}
	for i := range out {
		h := fnv.New128a()
		for _, dir := range out[i].Folders {
			fmt.Fprintf(h, "%s\x00%x\x00", dir, m.folders[dir].checksum)
		}
		out[i].Fingerprint = hex.EncodeToString(h.Sum(nil))
	}
	return out
}

// Entries returns a folder's entries as of the last scan.
func (m *Machine) Entries(dir string) []Entry {
	if f := m.folders[dir]; f != nil {
		return f.entries
	}
	return nil
}

// MarkProcessed records that a batch has processed a group. hasSkipped means that some files were skipped and are tried
// again when the inputs change. Files that are missing since the scan were moved by the batch; if there are new ones,
// the group must settle again.
func (m *Machine) MarkProcessed(g *Group, before map[string][]Entry, inputsDigest string, hasSkipped bool) {
	delete(m.retries, g.Dir)
	for _, dir := range g.Folders {
		if !isSubset(m.Entries(dir), before[dir]) {
			return // the group must settle again
		}
	}
	for _, now := range m.groups() {
		if now.Dir == g.Dir {
			m.state.Folders[g.Dir] = Processed{Fingerprint: now.Fingerprint, InputsDigest: inputsDigest, HasSkipped: hasSkipped}
		}
	}
}

// RetryLater records that a batch failed for a group. The delay before the next try doubles each time, up to limit.
func (m *Machine) RetryLater(now time.Time, g *Group, first, limit time.Duration) {
	h := m.retries[g.Dir]
	wait := first << min(h.failures, 16)
	m.retries[g.Dir] = retry{now.Add(min(wait, limit)), h.failures + 1}
}

func find(entries []Entry, name string) (i int, found bool) {
	return slices.BinarySearchFunc(entries, name, func(e Entry, n string) int { return strings.Compare(e.Name, n) })
}

func isSubset(now, before []Entry) bool {
	return !slices.ContainsFunc(now, func(e Entry) bool {
		i, found := find(before, e.Name)
		return !found || before[i] != e
	})
}

// State is what a watch keeps on disk between runs of the program.
type State struct {
	Version  int                  `json:"version"`
	Options  string               `json:"asked"`   // the watched folder and the options of organize
	Folders  map[string]Processed `json:"folders"` // by a group's folder
	Reported map[string]string    `json:"told"`    // by skipped file: the reason that was reported
	Mounts   []organize.Root      `json:"mounts"`  // those of the watched folder and the libraries that are mount points
}

// Processed is a group that a batch has processed.
type Processed struct {
	Fingerprint  string `json:"print"`           // fingerprint of the group
	InputsDigest string `json:"basis,omitempty"` // digest of the pins and the index at that time
	HasSkipped   bool   `json:"left,omitempty"`  // a file was skipped
}

const stateVersion = 1

// NewState returns the state of a watch that has done nothing.
func NewState(options string) *State {
	return &State{Version: stateVersion, Options: options, Folders: map[string]Processed{}, Reported: map[string]string{}}
}

// ReadState reads a state file. If it is missing, damaged or for other options, the state is new. A root that was a
// mount point and is an empty folder now becomes what it was: its disk is not mounted. options is called after that.
func ReadState(file string, roots []organize.Root, options func([]organize.Root) string) (*State, error) {
	text, err := lockfile.ReadFile(file, math.MaxInt64)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s := NewState("")
	err = json.Unmarshal(text, s) // a missing file has no text, which is no state
	mounts := roots[:0:0]
	for i, r := range roots {
		was := slices.IndexFunc(s.Mounts, func(m organize.Root) bool { return m.Path == r.Path })
		if !isMountPoint(r.Path) {
			if list, err := os.ReadDir(r.Path); was < 0 || err != nil || len(list) > 0 {
				continue
			}
			roots[i] = s.Mounts[was]
		}
		mounts = append(mounts, roots[i])
	}
	if asked := options(roots); err != nil || s.Version != stateVersion || s.Options != asked || s.Folders == nil ||
		s.Reported == nil {
		s = NewState(asked)
	}
	s.Mounts = mounts
	return s, nil
}

func (s *State) Write(file string) error {
	return atomicfile.Write(file, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
}

func (s *State) isProcessed(g *Group, inputsDigest string) bool {
	d, known := s.Folders[g.Dir]
	return known && d.Fingerprint == g.Fingerprint && (!d.HasSkipped || d.InputsDigest == inputsDigest)
}

// ShouldReport reports whether a skipped file's reason is new, and remembers it.
func (s *State) ShouldReport(file, reason string) bool {
	if s.Reported[file] == reason {
		return false
	}
	s.Reported[file] = reason
	return true
}

// Prune removes groups whose folder no longer exists, and files in processed folders that are no longer skipped.
func (s *State) Prune(exists func(dir string) bool, processed []string, skipped map[string]bool) {
	maps.DeleteFunc(s.Folders, func(dir string, _ Processed) bool { return !exists(dir) })
	maps.DeleteFunc(s.Reported, func(file, _ string) bool {
		dir := path.Dir(file)
		_, stays := skipped[file]
		return !exists(dir) || slices.Contains(processed, dir) && !stays
	})
}
