// Package pins reads and edits the user's pins: fixed choices of the TMDB entry that a folder, a file or a title is.
// They are in a plain text file, one per line, which the user may also edit. Edits by this package keep all comments
// and all lines that it does not understand (docs/architecture.md, "pins").
package pins

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// Pin is one choice, for an absolute path (a file, or a folder with everything below it) or for a title. Season is
// TMDB's season number, nil to use the one in the file's name; Offset is added to episode numbers. Episodes are those
// of a single file, whatever its name says; they need a Season. Order is for the whole series. Name is only shown.
type Pin struct {
	Path     string     `json:"path,omitempty" doc:"the pinned file or folder"`
	Title    string     `json:"title,omitempty" doc:"or the pinned title"`
	Kind     match.Kind `json:"kind" doc:"tv or movie"`
	ID       int        `json:"tmdb_id" doc:"the TMDB entry"`
	Season   *int       `json:"season,omitempty" doc:"the season, where one is set"`
	Offset   int        `json:"offset,omitempty" doc:"what is added to episode numbers"`
	Episodes []int      `json:"episodes,omitempty" doc:"the episodes of a single file, where they are set"`
	Order    string     `json:"order,omitempty" doc:"the order of the series' numbers, where one is set"`
	Name     string     `json:"name,omitempty" doc:"what the entry was called when it was pinned"`
}

const (
	maxSeason   = 9999
	maxOffset   = 99999
	maxEpisodes = 1000 // of one file
)

// Validate returns an error for the first field that is wrong. The error is a sentence for the user.
func (p Pin) Validate() error {
	switch {
	case p.Kind != match.TV && p.Kind != match.Movie:
		return lang.Error("%q is neither tv nor movie", string(p.Kind))
	case !isBetween(p.ID, 1, maxID):
		return lang.Error("%d is not a TMDB id", p.ID)
	case (p.Path == "") == (p.Title == ""):
		return lang.Error("a pin needs either a path or a title")
	case p.Path != "" && !filepath.IsAbs(p.Path):
		return lang.Error("the path %q is not absolute", p.Path)
	case p.Title != "" && title.Normalize(p.Title) == "":
		return lang.Error("the title %q has no letter or digit", p.Title)
	case p.Order != "" && !orders.Valid(p.Order):
		return lang.Error("%q is not an order: tmdb, absolute, tvdb, anidb or group:NAME", p.Order)
	case p.Kind == match.Movie && (p.Season != nil || p.Offset != 0 || len(p.Episodes) > 0 || p.Order != ""):
		return lang.Error("a film has no season, no offset, no episodes and no order")
	case len(p.Episodes) > 0 && (p.Path == "" || p.Season == nil || p.Offset != 0):
		return lang.Error("an episode is that of one file, in a season, without an offset")
	case slices.ContainsFunc(p.Episodes, func(n int) bool { return !isBetween(n, 0, maxOffset) }):
		return lang.Error("an episode's number is between 0 and %d", maxOffset)
	case p.Season != nil && !isBetween(*p.Season, 0, maxSeason):
		return lang.Error("season %d is not between 0 and %d", *p.Season, maxSeason)
	case !isBetween(p.Offset, -maxOffset, maxOffset):
		return lang.Error("offset %d is not between -%d and %d", p.Offset, maxOffset, maxOffset)
	}
	return nil
}

func isBetween(n, low, high int) bool { return low <= n && n <= high }

// Entry returns the entry as the file and the command line write it: "tv/26209".
func (p Pin) Entry() string { return fmt.Sprintf("%s/%d", p.Kind, p.ID) }

// PathOrTitle returns the path, or else the title.
func (p Pin) PathOrTitle() string { return cmp.Or(p.Path, p.Title) }

// subject is what a pin is for, in a form that can be compared: of two pins with the same subject only one counts.
type subject struct {
	isPath bool
	key    string
}

func (p Pin) subject() subject {
	if p.Path != "" {
		return subject{true, pathKey(p.Path)}
	}
	return subject{false, title.Normalize(p.Title)}
}

// RealPath returns abs without the symbolic links to folders in it, or abs if they can't be resolved.
func RealPath(abs string) string {
	dir, name := abs, ""
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		dir, name = filepath.Split(abs)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return abs
	}
	return filepath.Join(real, name)
}

// pathKey returns a path in a form in which its spellings are equal. It composes letters, because file systems differ
// in that, and on Windows it lowers the case.
func pathKey(path string) string {
	key := norm.NFC.String(filepath.Clean(path))
	if runtime.GOOS == "windows" {
		key = strings.ToLower(key)
	}
	return key
}

// ParseEpisodes reads the episodes of one file: "5", "5-6" or "5,7".
func ParseEpisodes(s string) (list []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(strings.TrimSpace(from), 10, 16)
		last, err2 := strconv.ParseUint(strings.TrimSpace(to), 10, 16)
		if err != nil || err2 != nil || last < first || last-first >= maxEpisodes {
			return nil, lang.Error("%q is not an episode: write 5, 5-6 or 5,7", s)
		}
		for ; first <= last; first++ {
			list = append(list, int(first))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

const maxID = 1 << 31

// ParseEntry reads "tv/26209", "movie/129", "tv:26209" or the URL of a page on themoviedb.org, such as
// https://www.themoviedb.org/tv/26209-cowboy-bebop/season/1. Its error says what is allowed.
func ParseEntry(s string) (match.Kind, int, error) {
	fail := lang.Error("%q is not an entry: write tv/ID or movie/ID, or the address of its page on themoviedb.org", s)
	text := strings.TrimSpace(s)
	if strings.Contains(text, "://") || strings.HasPrefix(text, "www.") || strings.HasPrefix(text, "themoviedb.org/") {
		if !strings.Contains(text, "://") {
			text = "https://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" ||
			strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") != "themoviedb.org" {
			return "", 0, fail
		}
		kind, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
		page, _, _ := strings.Cut(rest, "/")
		id, _, _ := strings.Cut(page, "-")
		text = kind + "/" + id
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
//	tv/26209 season=1 episode=5 path /media/Anime/Title.mkv
//	tv/26209 order="group:Absolute Order" title Title
//	movie/129 title Spirited Away
//
// The path or title extends to the end of the line, spaces included. If a line can't hold it as it is (it contains a
// line end or invalid UTF-8, begins or ends with a space, or begins with a quotation mark), it is quoted as a Go
// string.

// String returns the pin's line, without the line end.
func (p Pin) String() string {
	var b strings.Builder
	b.WriteString(p.Entry())
	if p.Season != nil {
		fmt.Fprintf(&b, " season=%d", *p.Season)
	}
	if p.Offset != 0 {
		fmt.Fprintf(&b, " offset=%d", p.Offset)
	}
	if len(p.Episodes) > 0 {
		b.WriteString(" episode=" + ui.Numbers(p.Episodes, ","))
	}
	switch {
	case strings.HasPrefix(p.Order, orders.GroupPrefix):
		b.WriteString(" order=" + strconv.Quote(p.Order))
	case p.Order != "":
		b.WriteString(" order=" + p.Order)
	}
	word := " title "
	if p.Path != "" {
		word = " path "
	}
	return b.String() + word + quoteIfNeeded(p.PathOrTitle())
}

// comment returns the comment line above the pin's line, which says what the entry is called: "# tv/26209: Cowboy Bebop
// (1998)". It returns "" for a pin without a Name.
func (p Pin) comment() string {
	if p.Name == "" {
		return ""
	}
	return "# " + p.Entry() + ": " + p.Name
}

func (p *Pin) readNameFrom(comment string) bool {
	name, ok := strings.CutPrefix(comment, "# "+p.Entry()+": ")
	if ok {
		p.Name = strings.TrimSpace(name)
	}
	return p.Name != ""
}

func quoteIfNeeded(s string) string {
	control := !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
	if s == "" || control || strings.TrimSpace(s) != s || s[0] == '"' {
		return strconv.Quote(s)
	}
	return s
}

func parseLine(line string) (Pin, error) {
	entry, rest := nextWord(line)
	var p Pin
	var err error
	if p.Kind, p.ID, err = ParseEntry(entry); err != nil {
		return Pin{}, err
	}
	for {
		var w string
		if quoted, ok := strings.CutPrefix(rest, `order="`); ok {
			text, err := strconv.QuotedPrefix(`"` + quoted)
			if err != nil {
				return Pin{}, lang.Error("%s has unbalanced quotation marks", rest)
			}
			p.Order, _ = strconv.Unquote(text) // it is quoted
			rest = strings.TrimSpace(rest[len("order=")+len(text):])
			continue
		}
		w, rest = nextWord(rest)
		key, value, setting := strings.Cut(w, "=")
		switch {
		case w == "path" || w == "title":
			what, err := unquote(rest)
			if err != nil {
				return Pin{}, err
			}
			if w == "path" {
				p.Path = what
			} else {
				p.Title = what
			}
			return p, p.Validate()
		case setting && key == "episode":
			if p.Episodes, err = ParseEpisodes(value); err != nil {
				return Pin{}, err
			}
		case setting && key == "order":
			p.Order = value
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
			return Pin{}, lang.Error("there is neither \"path\" nor \"title\" after the entry")
		default:
			return Pin{}, lang.Error("%q is not season=N, offset=N, episode=N, order=ORDER, path or title", w)
		}
	}
}

func nextWord(s string) (first, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func unquote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	out, err := strconv.Unquote(s)
	if err != nil {
		return "", lang.Error("%s has unbalanced quotation marks", s)
	}
	return out, nil
}
