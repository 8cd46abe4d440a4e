package report

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/title"
)

// Place returns the season and episode of a matched file as people write them: S01E03, S01E03-E05, S01E03,E07, "movie"
// for a film, and "" where nothing is known.
func (r Record) Place() string {
	if r.Kind == "movie" {
		return "movie"
	}
	var b strings.Builder
	if r.Season != nil {
		fmt.Fprintf(&b, "S%02d", *r.Season)
	}
	for i := 0; i < len(r.Episodes); {
		last := i
		for last+1 < len(r.Episodes) && r.Episodes[last+1] == r.Episodes[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "E%02d", r.Episodes[i])
		if last > i {
			fmt.Fprintf(&b, "-E%02d", r.Episodes[last])
		}
		i = last + 1
	}
	return b.String()
}

// Entry names the TMDB entry of a matched file: "Title (1999)", or its id where it has no title.
func (r Record) Entry() string { return entry(r.Kind, r.TMDBID, r.Title, r.Year) }

// OtherTitle is the entry's original title where it says more than its title: "" where both are the same but for case.
func (r Record) OtherTitle() string {
	if strings.EqualFold(r.Title, r.OriginalTitle) {
		return ""
	}
	return r.OriginalTitle
}

// Ref is the short reference of an entry: "tv/26209".
func (r Record) Ref() string { return ref(r.Kind, r.TMDBID) }

func ref(kind string, id int) string { return kind + "/" + strconv.Itoa(id) }

func entry(kind string, id int, name string, year int) string {
	if name == "" {
		return ref(kind, id)
	}
	return title.WithYear(name, year)
}

// Entry names a candidate as Record.Entry does.
func (c Candidate) Entry() string { return entry(c.Kind, c.TMDBID, c.Title, c.Year) }

// Ref is a candidate's short reference: "tv/26209".
func (c Candidate) Ref() string { return ref(c.Kind, c.TMDBID) }

// Text says a reason with its weight, to a person: "title +0.62 (equals the original title)".
func (x Reason) Text() string {
	text := fmt.Sprintf("%s %+.2f", lang.Say(x.Name), x.Weight)
	if x.Detail != "" {
		text += " (" + lang.Say(x.Detail) + ")"
	}
	return text
}

// Percent says a confidence in whole percent, rounded down: 79.9 % is not 80 %.
func Percent(c float64) string { return strconv.Itoa(int(math.Floor(c*100+1e-9))) + "%" }

// LacksEpisode reports whether the file's series is known and its episode is not, though it should be: an opening or
// a trailer has none.
func (r Record) LacksEpisode() bool {
	extra := r.Parsed != nil && r.Parsed.Kind == "extra"
	return r.Status == Matched && r.Kind != "movie" && len(r.Episodes) == 0 && !extra
}

// Why returns the reason why a file is not simply matched: its candidates, reason or error, on one line; else "".
func (r Record) Why() lang.Text {
	switch r.Status {
	case Ambiguous:
		if len(r.Candidates) == 0 {
			return r.Reason
		}
		var list []lang.Text
		for i, c := range r.Candidates {
			if i == 3 || i > 0 && c.Confidence < 0.01 { // what is surely not it is in the JSON
				list = append(list, lang.Textf("%d more", len(r.Candidates)-i))
				break
			}
			list = append(list, lang.Textf("%s %s %s", c.Entry(), c.Ref(), Percent(c.Confidence)))
		}
		return lang.Textf("could be %s", lang.Join(list, ", "))
	case Pending, Failed:
		if r.Error != nil {
			return lang.Textf("%s: %s", r.Error.Code, r.Error.Message)
		}
	case Matched:
		if r.Kind == "movie" || len(r.Episodes) > 0 {
			return ""
		}
		if r.Reason == "" {
			return "its episode is not known"
		}
		return lang.Textf("no episode: %s", r.Reason)
	case Unmatched, Skipped:
	}
	return r.Reason
}

// Age returns where an answer came from, unless that was TMDB or a fresh cache.
func (r Record) Age() lang.Text {
	switch r.Source {
	case "stale":
		if r.CachedAt.IsZero() {
			return "stale"
		}
		return lang.Textf("stale, as of %s", r.CachedAt.Format("2006-01-02"))
	case "index":
		return "by the title index"
	case "pin":
		return "pinned"
	}
	return ""
}

// Split parts the path into its folder, without a trailing separator unless it is the root, and its name.
func (r Record) Split() (dir, name string) {
	path := r.Path
	i := len(path) - 1
	for i >= 0 && !os.IsPathSeparator(path[i]) {
		i--
	}
	dir, name = path[:i+1], path[i+1:]
	if name == "" { // "/" or "dir/"
		return "", path
	}
	if i > 0 && !strings.HasSuffix(path[:i], ":") {
		dir = path[:i]
	}
	return dir, name
}
