package results

// This file decides how much of a folder is still known: all of it when nothing at all has changed, else the groups of which
// every file is as it was and none has come or gone. A group's files are evidence for each other (how many episodes
// there are tells a film from a series, and one season from the next), so it is decided whole or not at all.

import (
	"time"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
)

// The sources of a record that was just decided, as report spells them.
var (
	networkSource = match.FromNetwork.String()
	cacheSource   = match.FromCache.String()
	staleSource   = match.FromStale.String()
)

// Known is what is remembered of a folder. It is for one goroutine.
type Known struct {
	raw   []byte
	basis [basisSize]byte
	terms []Term
	sizes []int  // of the groups, in files
	holds []bool // by group
	texts []string
	files []knownFile

	byName map[string]int // made when it is first needed
}

// knownFile is one file as it was, with its record still in bytes.
type knownFile struct {
	name    string
	size    int64
	modTime int64  // Unix nanoseconds
	skip    string // why the walk left it out, "" for media
	group   int    // from 1; 0: none
	record  []byte
}

func (k *Known) judge(now time.Time) {
	k.holds = make([]bool, len(k.terms))
	for i := range k.terms {
		k.holds[i] = k.terms[i].holds(now)
	}
}

// is reports whether a file is as it was.
func (f *knownFile) is(now *library.File) bool {
	return f.name == now.Name && f.skip == now.Skip && (f.skip != "" || f.size == now.Size && f.modTime == now.ModTime.UnixNano())
}

// Groups is how many groups there were.
func (k *Known) Groups() int { return len(k.terms) }

// All reads the record of every file into r, if all of them are as they were and still hold. Paths are the files' own.
func (k *Known) All(files []library.File, r *Records) bool {
	if len(files) != len(k.files) {
		return false
	}
	for i := range files {
		f := &k.files[i]
		if !f.is(&files[i]) || f.group == 0 && f.skip == "" || f.group > 0 && !k.holds[f.group-1] {
			return false
		}
	}
	r.room(k, len(files))
	for i := range files {
		if !r.record(k.files[i].record, &r.List[i]) {
			return false
		}
		r.List[i].Path = files[i].Path
	}
	return true
}

// Group returns the records of some files and their term, if they are exactly a group that still holds.
func (k *Known) Group(files []library.File, group []int) ([]report.Record, *Term, bool) {
	if k == nil || len(group) == 0 {
		return nil, nil, false
	}
	if k.byName == nil {
		k.byName = make(map[string]int, len(k.files))
		for i := range k.files {
			k.byName[k.files[i].name] = i
		}
	}
	var records Records
	records.room(k, len(group))
	number := 0
	for n, i := range group {
		at, ok := k.byName[files[i].Name]
		if !ok || !k.files[at].is(&files[i]) {
			return nil, nil, false
		}
		f := &k.files[at]
		if n == 0 {
			number = f.group
		}
		if f.group == 0 || f.group != number || !records.record(f.record, &records.List[n]) {
			return nil, nil, false
		}
		records.List[n].Path = files[i].Path
	}
	if k.sizes[number-1] != len(group) || !k.holds[number-1] {
		return nil, nil, false
	}
	return records.List, &k.terms[number-1], true
}
