package release

import "strings"

// This file decides in which order a text is read, and what of it a Release shows.

// span is a range of tokens [from, to).
type span struct{ from, to int }

func (s span) empty() bool      { return s.from >= s.to }
func (s span) holds(i int) bool { return s.from <= i && i < s.to }

// dotted says whether dots and underscores separate the words of s.
func dotted(s string) bool {
	spaces := strings.Count(s, " ")
	return strings.Count(s, "_") > spaces || strings.Count(s, ".") > spaces
}

func lookupWide(w string) (kw, bool) {
	if k, ok := words[w]; ok {
		return k, ok
	}
	k, ok := words[strings.ToLower(w)]
	return k, ok
}

// word returns the text of token i.
func (p *lexed) word(i int) string { return p.text[p.tokens[i].s:p.tokens[i].e] }

// tagAt returns the tag of token i, none where there is no such token.
func (p *lexed) tagAt(i int) tag {
	if i < 0 || i >= len(p.tokens) {
		return none
	}
	return p.tokens[i].tag
}

// gap returns what stands between token i and the one behind it.
func (p *lexed) gap(i int) string {
	if i+1 < len(p.tokens) {
		return p.text[p.tokens[i].e:p.tokens[i+1].s]
	}
	return p.text[p.tokens[i].e:]
}

// before returns what stands before token i.
func (p *lexed) before(i int) string {
	if i > 0 {
		return p.text[p.tokens[i-1].e:p.tokens[i].s]
	}
	return p.text[:p.tokens[i].s]
}

func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' || s[i] >= 0x80 {
			return strings.ToLower(s)
		}
	}
	return s
}

// Parse reads path, relative or absolute, with '/' or '\' between its elements.
// It never fails: a name that says nothing gives an empty Release with Path and
// Name set. It uses the folders above the name where the name says too little.
func Parse(path string) Release { return parse(path, false) }

// ParseFile is Parse for the path of a file that is there, where every '/' separates. Parse has to take "Title / Other
// Title" for one name.
func ParseFile(path string) Release { return parse(path, true) }

func parse(path string, exists bool) Release {
	var store [8]string
	name, dirs := splitPath(path, exists, store[:0:8])
	r := Release{Path: path, Name: name}
	base, ext := cutExtension(name)
	r.Extension = ext
	base = narrow(base)
	if mirrored(base) {
		base = mirror(base)
	}
	s := pool.Get().(*stages)
	p := s.read(base, false)
	if p.year == 0 && p.season.empty() && !p.media && jumble(base) {
		p.titles = p.titles[:0] // a hash is no title
	}
	p.fill(&r)
	if len(dirs) > 0 {
		s.fold(&r, dirs)
	}
	settle(&r)
	pool.Put(s)
	return r
}

// fill copies what was read into r.
func (p *titled) fill(r *Release) {
	if n := len(p.titles); n > 0 {
		r.Titles = make([]Title, n)
		copy(r.Titles, p.titles)
		r.Title = r.Titles[0].Text
	}
	r.Seasons, r.Episodes = p.seasons, p.episodes
	r.Absolute = len(p.episodes) > 0 && len(p.seasons) == 0
	r.Year, r.Group, r.Checksum, r.Version = p.year, p.group, p.checksum, p.version
	r.Resolution, r.Source, r.Video, r.Audio = p.resolution, p.source, p.video, p.audio
	r.Part, r.EpisodeTitle, r.Special, r.Extra = p.part, p.epTitle, p.special, p.extra
	r.IDs = p.ids
	r.Left = p.left()
	r.Kind = p.kind()
}

// kind says what sort of file the text describes.
func (p *titled) kind() Kind {
	switch {
	case p.extra:
		return Extra
	case p.special != "" || len(p.seasons) == 1 && p.seasons[0] == 0:
		return Special
	case len(p.episodes) > 5 || p.batch && (p.year == 0 || len(p.seasons)+len(p.episodes) > 0) || len(p.episodes) == 0 && len(p.seasons) > 0:
		return Batch
	case len(p.episodes) > 0 || p.dated.to > 0:
		return Episode
	case p.movie, p.year > 0:
		return Movie
	}
	return Unknown
}
