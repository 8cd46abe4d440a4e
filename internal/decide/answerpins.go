package decide

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// Scope is the set of files that a choice applies to.
type Scope string

// The scopes, widest first.
const (
	ByTitle  Scope = "title"  // every file whose name has the title, wherever it is
	ByFolder Scope = "folder" // every file in the folder
	ByFiles  Scope = "file"   // the files of the question, each by its path
)

// availableScopes returns the scopes that suit the files. If the first file has no number, its place says nothing about
// other files, so only ByFiles remains. The pin of a title has no order, and does not apply to a path with an id.
func availableScopes(s match.Series, at *Place, order string) (list []Scope) {
	if at != nil && pinOffset(s, at) == nil {
		return []Scope{ByFiles}
	}
	if title.Normalize(s.Title()) != "" && order == "" && len(s.IDs) == 0 {
		list = append(list, ByTitle)
	}
	if _, ok := commonFolder(s.Files); ok {
		list = append(list, ByFolder)
	}
	return append(list, ByFiles)
}

// pinOffset returns the difference between the episode that a person chose for the first file and the number in its
// name. It returns nil without a place, or if the difference does not apply to the other files.
func pinOffset(s match.Series, at *Place) *int {
	number, ok := firstNumber(s.Files[0].Release)
	if at == nil || !ok || len(at.Episodes) != len(s.Files[0].Release.Episodes) || len(s.Files) < 2 {
		return nil
	}
	return new(at.Episodes[0] - number)
}

// defaultScope returns the scope that is suggested first. It is not ByTitle if only a folder's name has the title,
// or a namesake has the same title, or for one file without a number, which no other file will follow.
func defaultScope(s match.Series, a Answer, namesakes bool) Scope {
	_, numbered := firstNumber(s.Files[0].Release)
	switch several := len(s.Files) > 1; {
	case a.Order == "" && title.Normalize(s.Title()) != "" && s.Titles[0].From == release.FromName &&
		(numbered || several) && len(s.IDs) == 0 && !namesakes:
		return ByTitle
	case a.Kind == match.TV && (several || a.Order != "") && itemsInFolder(s.Files) == len(s.Files):
		return ByFolder
	}
	return ByFiles
}

func pinsFor(s match.Series, a Answer, o ChoiceOptions, name string) (out []pins.Pin) {
	p := pins.Pin{Kind: a.Kind, ID: a.ID, Order: a.Order, Name: name}
	offset := pinOffset(s, o.Place)
	if o.Scope != ByFiles {
		if offset != nil {
			p.Season, p.Offset = &o.Place.Season, *offset
		}
		if o.Scope == ByFolder {
			p.Path, _ = commonFolder(s.Files)
		} else {
			p.Title = title.WithYear(s.Title(), s.Year)
		}
		return []pins.Pin{p}
	}
	for i, f := range s.Files {
		one := p
		one.Path = absolutePath(f.Release.Path)
		if _, whole := firstNumber(f.Release); o.Place != nil && i == 0 {
			one.Season, one.Episodes = &o.Place.Season, o.Place.Episodes
		} else if offset != nil && whole {
			one.Season = &o.Place.Season
			for _, n := range f.Release.Episodes {
				one.Episodes = append(one.Episodes, int(n)+*offset)
			}
		}
		out = append(out, one)
	}
	return out
}

func commonFolder(files []match.File) (dir string, ok bool) {
	for i, f := range files {
		in := filepath.Dir(absolutePath(f.Release.Path))
		if i > 0 && in != dir {
			return "", false
		}
		dir = in
	}
	return dir, true
}

// itemsInFolder counts the videos and folders in the files' folder; 0 if they have none in common.
func itemsInFolder(files []match.File) int {
	dir, _ := commonFolder(files)
	entries, _ := os.ReadDir(dir)
	other := func(e os.DirEntry) bool { return !e.IsDir() && !library.IsVideo(e.Name()) }
	return len(slices.DeleteFunc(entries, other))
}
