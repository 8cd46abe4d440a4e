package release

import (
	"regexp"
	"strings"

	"github.com/anivault/anivault/internal/title"
)

// filmFolder matches the folder of a film in a media server's library: its title, then the year or an id, or both.
var filmFolder = regexp.MustCompile(`^([^\[({].*?)(?: \((?:19|20)\d\d\))?(?: [\[{](?:tmdb|imdb|tvdb|tmdbid|imdbid|tvdbid|edition)[-=][^\]}]+[\]}])*$`)

// readFilm reads the name of a film that lies in a folder of the same name, as media servers want it: "Film 2 - Part 3 (2001)/Film 2 -
// Part 3 (2001) - [1080p]". What looks like a number there is part of the title. It returns false for any other name.
func (s *stages) readFilm(r *Release, base string, dirs []string) bool {
	if len(dirs) == 0 || base != dirs[0] && !strings.HasPrefix(base, dirs[0]+" - ") {
		return false
	}
	m := filmFolder.FindStringSubmatch(dirs[0])
	if m == nil || len(m[1]) == len(dirs[0]) {
		return false
	}
	p := s.read(unify("Title"+base[len(m[1]):]), false)
	if len(p.titles) != 1 || p.titles[0].Text != "Title" || len(p.marks.seasons)+len(p.marks.episodes) > 0 || p.numbers.extra || p.marks.special != "" {
		return false
	}
	p.fill(r)
	r.Title = strings.TrimSpace(unify(m[1]))
	r.Titles = []Title{{Text: r.Title, Lang: title.Script(r.Title)}}
	r.Folder = FolderInfo{Title: r.Title, Year: r.Year}
	r.Kind = Movie
	return true
}
