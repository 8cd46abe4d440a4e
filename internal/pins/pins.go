// Package pins keeps the user's own choices: which entry of TMDB a folder, a file or a title is. They live in a plain
// file, one choice a line, that the user may read and edit; whatever this package does not understand in it, and every
// comment, survives its own edits (docs/architecture.md, "pins").
package pins

import (
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/title"
)

// Pin is one choice, about an absolute path (a file or a folder with all below it) or a title. Season is TMDB's, nil
// for what the name says; Offset is added to the episode numbers. Name is for people alone.
type Pin struct {
	Path   string     `json:"path,omitempty" doc:"the pinned file or folder"`
	Title  string     `json:"title,omitempty" doc:"or the pinned title"`
	Kind   match.Kind `json:"kind" doc:"tv or movie"`
	ID     int        `json:"tmdb_id" doc:"the TMDB entry"`
	Season *int       `json:"season,omitempty" doc:"the season, where one is set"`
	Offset int        `json:"offset,omitempty" doc:"what is added to episode numbers"`
	Name   string     `json:"name,omitempty" doc:"what the entry was called when it was pinned"`
}

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

const maxID = 1 << 31

// ParseEntry reads "tv/26209", "movie/129", "tv:26209" or the address of a page on themoviedb.org, such as
// https://www.themoviedb.org/tv/26209-cowboy-bebop/season/1. The error says what is allowed.
func ParseEntry(s string) (match.Kind, int, error) {
	fail := lang.Error("%q is not an entry: write tv/ID or movie/ID, or the address of its page on themoviedb.org", s)
	text := strings.TrimSpace(s)
	if strings.Contains(text, "://") || strings.HasPrefix(text, "www.") || strings.HasPrefix(text, "themoviedb.org/") {
		if !strings.Contains(text, "://") {
			text = "https://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" {
			return "", 0, fail
		}
		if host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www."); host != "themoviedb.org" {
			return "", 0, fail
		}
		parts := strings.Split(strings.Trim(u.Path, "/"), "/")
		if len(parts) < 2 {
			return "", 0, fail
		}
		id, _, _ := strings.Cut(parts[1], "-")
		text = parts[0] + "/" + id
	}
	kind, digits, ok := strings.Cut(text, "/")
	if !ok {
		kind, digits, ok = strings.Cut(text, ":")
	}
	k := match.Kind(strings.ToLower(kind))
	if !ok || k != match.TV && k != match.Movie || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", 0, fail
	}
	id, err := strconv.Atoi(digits)
	if err != nil || id <= 0 || id > maxID {
		return "", 0, fail
	}
	return k, id, nil
}

// A pin is written as a line:
//
//	tv/26209 season=1 offset=12 path /media/Anime/Title
//	movie/129 title Spirited Away
//
// The path or title goes to the end of the line, spaces and all. One that a line can't carry as it is (a line end,
// bytes that are not UTF-8, spaces around it, a quotation mark in front) stands in quotes, as Go writes strings.

// String is the pin's line, without its end.
func (p Pin) String() string {
	var b strings.Builder
	b.WriteString(p.Entry())
	if p.Season != nil {
		fmt.Fprintf(&b, " season=%d", *p.Season)
	}
	if p.Offset != 0 {
		fmt.Fprintf(&b, " offset=%d", p.Offset)
	}
	word := " title "
	if p.Path != "" {
		word = " path "
	}
	return b.String() + word + quoted(p.What())
}

// comment is the line that may stand above a pin's and says what its entry is called: "# tv/26209: Cowboy Bebop
// (1998)". It is "" for a pin without a Name.
func (p Pin) comment() string {
	if p.Name == "" {
		return ""
	}
	return "# " + p.Entry() + ": " + p.Name
}

func (p *Pin) takeName(comment string) bool {
	name, ok := strings.CutPrefix(comment, "# "+p.Entry()+": ")
	if ok {
		p.Name = strings.TrimSpace(name)
	}
	return p.Name != ""
}

func quoted(s string) string {
	control := !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
	if s == "" || control || strings.TrimSpace(s) != s || s[0] == '"' {
		return strconv.Quote(s)
	}
	return s
}

func parseLine(line string) (Pin, error) {
	entry, rest := word(line)
	var p Pin
	var err error
	if p.Kind, p.ID, err = ParseEntry(entry); err != nil {
		return Pin{}, err
	}
	for {
		var w string
		w, rest = word(rest)
		key, value, setting := strings.Cut(w, "=")
		switch {
		case w == "path" || w == "title":
			what, err := unquoted(rest)
			if err != nil {
				return Pin{}, err
			}
			if w == "path" {
				p.Path = what
			} else {
				p.Title = what
			}
			return p, p.Validate()
		case setting && (key == "season" || key == "offset"):
			n, err := strconv.Atoi(value)
			if err != nil {
				return Pin{}, lang.Error("%s=%s is not a whole number", key, value)
			}
			if key == "season" {
				p.Season = &n
			} else {
				p.Offset = n
			}
		case w == "":
			return Pin{}, lang.Error("there is neither \"path\" nor \"title\" behind the entry")
		default:
			return Pin{}, lang.Error("%q is none of season=N, offset=N, path and title", w)
		}
	}
}

func word(s string) (first, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func unquoted(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	out, err := strconv.Unquote(s)
	if err != nil {
		return "", lang.Error("the quotation marks in %s do not fit", s)
	}
	return out, nil
}
