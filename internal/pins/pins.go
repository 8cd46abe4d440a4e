// Package pins keeps the user's own choices: which entry of TMDB a folder, a file or a title is. They live in a plain
// file, one choice a line, that the user may read and edit; whatever this package does not understand in it, and every
// comment, survives its own edits (docs/architecture.md, "pins").
package pins

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/title"
)

// Pin is one choice. It is about a path (absolute, a file or a folder with all below it) or about a title as names are
// read; exactly one of the two is set. Season and Offset say what the names say wrongly: Season is TMDB's number, nil
// for what the name says, and Offset is added to the episode numbers of the names. Name is for people alone.
type Pin struct {
	Path   string     `json:"path,omitempty" doc:"the pinned file or folder"`
	Title  string     `json:"title,omitempty" doc:"or the pinned title"`
	Kind   match.Kind `json:"kind" doc:"tv or movie"`
	ID     int        `json:"tmdb_id" doc:"the TMDB entry"`
	Season *int       `json:"season,omitempty" doc:"the season, where one is set"`
	Offset int        `json:"offset,omitempty" doc:"what is added to episode numbers"`
	Name   string     `json:"name,omitempty" doc:"what the entry was called when it was pinned"`
}

// Bounds of what a pin may say; TMDB stays far below them.
const (
	maxSeason = 9999
	maxOffset = 99999
)

// Validate reports the first thing that makes no sense. The error is a sentence for the user.
func (p Pin) Validate() error {
	switch {
	case p.Kind != match.TV && p.Kind != match.Movie:
		return lang.Error("%q is neither tv nor movie", string(p.Kind))
	case p.ID <= 0 || p.ID > maxID:
		return lang.Error("%d is not an id of TMDB's", p.ID)
	case (p.Path == "") == (p.Title == ""):
		return lang.Error("a pin needs either a path or a title")
	case p.Path != "" && !filepath.IsAbs(p.Path):
		return lang.Error("the path %q is not absolute", p.Path)
	case p.Title != "" && title.Normalize(p.Title) == "":
		return lang.Error("the title %q holds no letter or digit", p.Title)
	case p.Kind == match.Movie && (p.Season != nil || p.Offset != 0):
		return lang.Error("a film has no season and no offset")
	case p.Season != nil && (*p.Season < 0 || *p.Season > maxSeason):
		return lang.Error("season %d is not between 0 and %d", *p.Season, maxSeason)
	case p.Offset < -maxOffset || p.Offset > maxOffset:
		return lang.Error("offset %d is not between -%d and %d", p.Offset, maxOffset, maxOffset)
	}
	return nil
}

// Entry is the entry in the spelling of the file and the command line: "tv/26209".
func (p Pin) Entry() string { return fmt.Sprintf("%s/%d", p.Kind, p.ID) }

// What is the path or the title.
func (p Pin) What() string {
	if p.Path != "" {
		return p.Path
	}
	return p.Title
}

// subject is what a pin is about, as it is looked up: two pins with the same subject exclude each other.
type subject struct {
	path bool
	key  string
}

func (p Pin) subject() subject {
	if p.Path != "" {
		return subject{true, pathKey(p.Path)}
	}
	return subject{false, title.Normalize(p.Title)}
}

// pathKey makes two spellings of one path equal: composed letters, because file systems disagree on them, and on
// Windows any case.
func pathKey(path string) string {
	key := norm.NFC.String(filepath.Clean(path))
	if runtime.GOOS == "windows" {
		key = strings.ToLower(key)
	}
	return key
}
