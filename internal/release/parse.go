package release

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/title"
)

// Parse reads a relative or absolute path with '/' or '\\' between its elements.
// It never fails: for a name that says nothing, it returns a Release with only
// Path and Name set. If the name says too little, it uses the folders above it.
func Parse(path string) Release { return parse(path, false) }

// ParseFile is Parse for a file that exists: every '/' is a path separator. Parse reads "Title / Other Title" as one
// name.
func ParseFile(path string) Release { return parse(path, true) }

func parse(path string, exists bool) Release {
	name, dirs := splitPath(path, exists)
	base, ext := cutExtension(name)
	r := Release{Path: path, Name: name, Extension: ext}
	s := stagesPool.Get().(*stages)
	defer stagesPool.Put(s)
	if len(dirs) > 0 && s.readFilmFolder(&r, base, dirs[0]) {
		return r
	}
	base = normalizeName(base)
	if isReversed(base) {
		runes := []rune(base)
		slices.Reverse(runes)
		base = string(runes)
	}
	p := s.read(base, false)
	if p.layout.year == 0 && p.marks.seasonSpan.empty() && !p.tags.hasMediaTag && looksRandom(normalizeWidth(name)) {
		p.titles = p.titles[:0] // a hash is not a title
	}
	p.fillRelease(&r)
	if len(dirs) > 0 {
		s.readFolders(&r, dirs)
	}
	r.finish()
	return r
}

func (p *titleStage) fillRelease(r *Release) {
	if len(p.titles) > 0 {
		r.Titles = slices.Clone(p.titles)
		r.Title = r.Titles[0].Text
	}
	r.Seasons, r.Episodes = p.marks.seasons, p.marks.episodes
	r.Absolute = len(p.marks.episodes) > 0 && len(p.marks.seasons) == 0
	r.Overall = p.numbers.overall
	r.Year, r.Group, r.Checksum, r.Version = p.layout.year, p.layout.group, p.tags.checksum, p.tags.version
	r.Date = p.tags.date
	r.Resolution, r.Source, r.Video, r.Audio = p.resolution, p.source, p.video, p.audio
	r.Edition = p.edition
	r.Part, r.EpisodeTitle, r.Special, r.Extra = p.marks.part, p.episodeTitle, p.marks.special, p.numbers.isExtra
	r.PartOfEpisode = p.marks.isPartOfEpisode()
	r.IDs = p.tags.ids
	r.Kind = p.kind()
}

func (p *titleStage) kind() Kind {
	seasons, episodes := len(p.marks.seasons), len(p.marks.episodes)
	switch {
	case p.numbers.isExtra:
		return Extra
	case p.marks.special != "", seasons == 1 && p.marks.seasons[0] == 0:
		return Special
	case episodes > 5, episodes == 0 && seasons > 0, p.marks.isBatch && (p.layout.year == 0 || seasons+episodes > 0):
		return Batch
	case episodes > 0, !p.tags.dateSpan.empty():
		return Episode
	case p.isMovie, p.layout.year > 0:
		return Movie
	}
	return Unknown
}

func (r *Release) finish() {
	slices.Sort(r.Seasons)
	r.Seasons = slices.Compact(r.Seasons)
	slices.Sort(r.Episodes)
	r.Episodes = slices.Compact(r.Episodes)
	if r.Extra {
		r.Kind = Extra
	}
	if s, one := r.Season(); one && s >= firstYear && r.Year == 0 {
		r.Year = s // the season is named after its year
	}
	if s, one := r.Season(); one && s == 0 && r.Kind == Episode {
		r.Kind = Special
	}
	if r.Kind == Unknown && r.Year > 0 && len(r.Seasons) == 0 {
		r.Kind = Movie
	}
}

// isReversed reports whether an uploader wrote the name backwards: it has "S01E02" or "1080p" from right to left.
func isReversed(s string) bool {
	for i := range len(s) {
		if s[i] != 'p' && !isDigit(s[i]) || i > 0 && isWordByte(s[i-1]) {
			continue
		}
		rest := s[i:]
		if strings.HasPrefix(rest, "p0801") || strings.HasPrefix(rest, "p027") ||
			len(rest) > 5 && rest[2] == 'E' && rest[5] == 'S' && allDigits(rest[:2]) && allDigits(rest[3:5]) &&
				(len(rest) == 6 || !isWordByte(rest[6])) {
			return true
		}
	}
	return false
}

// filmFolderName matches the name of a film's folder in a media server's library: the title, then the year, ids or
// both.
var filmFolderName = regexp.MustCompile(`^([^\[({].*?)(?: \((?:19|20)\d\d\))?` +
	`(?: [\[{](?:tmdb|imdb|tvdb|tmdbid|imdbid|tvdbid|edition)[-=][^\]}]+[\]}])*$`)

// readFilmFolder reads "Film 2 - Part 3 (2001) {tmdb-7}/Film 2 - Part 3 (2001) Bluray-1080p". Media servers expect a
// film in a folder of the same name, so a number in both is part of the title. It returns false for other names.
func (s *stages) readFilmFolder(r *Release, base, folder string) bool {
	own := folder
	if i := strings.LastIndex(own, ") "); i > 0 && !strings.HasPrefix(base, own) {
		own = own[:i+1] // the ids are in the folder's name alone
	}
	if base != own && !strings.HasPrefix(base, own+" ") {
		return false
	}
	m := filmFolderName.FindStringSubmatch(folder)
	if m == nil || len(m[1]) == len(folder) || !strings.HasPrefix(base, m[1]) {
		return false
	}
	p := s.read(normalizeName("Title"+base[len(m[1]):]+folder[len(own):]), false)
	if len(p.titles) != 1 || p.titles[0].Text != "Title" || len(p.marks.seasons)+len(p.marks.episodes) > 0 ||
		p.numbers.isExtra || p.marks.special != "" {
		return false
	}
	p.fillRelease(r)
	r.Title = strings.TrimSpace(normalizeName(m[1]))
	r.Titles = []Title{{Text: r.Title, Lang: title.Script(r.Title)}}
	r.Folder = FolderInfo{Title: r.Title, Year: r.Year}
	r.Kind = Movie
	return true
}

func (p *titleStage) findDetails() {
	for i := range p.w.tokens {
		t, inTitle := &p.w.tokens[i], p.isInTitle(i)
		switch t.tag {
		case tagResolution:
			p.resolution = cmp.Or(p.resolution, t.word.value)
		case tagSource:
			if !t.weak || !inTitle && t.word.value != "TV" {
				p.source = cmp.Or(p.source, t.word.value)
			}
		case tagVideo:
			p.video = cmp.Or(p.video, t.word.value)
		case tagAudio:
			p.audio = cmp.Or(p.audio, t.word.value)
		case tagBatch:
			p.marks.isBatch = p.marks.isBatch || !inTitle && (!t.weak || p.marks.episodeSpan.empty())
		case tagMovie:
			p.isMovie = p.isMovie || p.marks.episodeSpan.empty() || !t.weak
		default:
		}
	}
	at := p.marks.episodeSpan
	if at.empty() && p.marks.special != "" && p.w.tagAt(p.end) == tagSpecial {
		at = span{p.end, p.end + 1} // "Title OVA Its Own Title"
	}
	if p.episodeTitle == "" && !at.empty() && !p.layout.startsWithNumber {
		p.episodeTitle = p.readEpisodeTitle(at)
	}
	p.findEdition()
}

func (p *titleStage) findEdition() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		v := t.word.value
		if t.tag != tagEdition || v == "" || p.isInTitle(i) || p.episodeTitle != "" && t.weak && t.bracket < 0 ||
			strings.Contains(p.edition, v) {
			continue
		}
		if p.edition != "" {
			p.edition += " "
		}
		p.edition += v
	}
}

func (p *titleStage) isInTitle(i int) bool {
	return p.layout.titleStart >= 0 && i >= p.layout.titleStart && i < p.end
}

func (p *titleStage) readEpisodeTitle(after span) string {
	from := max(after.to, p.numbers.overallSpan.to)
	if from >= len(p.w.tokens) || p.w.tokens[from].bracket >= 0 || p.w.tokens[after.from].bracket >= 0 {
		return ""
	}
	to := from
	for to < len(p.w.tokens) && p.w.tokens[to].bracket < 0 && !p.w.isStrongAt(to) {
		to++
	}
	for to > from && p.w.tagAt(to-1) != noTag && p.w.tagAt(to) != noTag && p.w.tagAt(to-1) != tagPart {
		to--
	}
	if !p.layout.groupSpan.empty() && p.layout.groupSpan.from >= from && p.layout.groupSpan.from < to {
		to = p.layout.groupSpan.from
	}
	if to == from || to == from+1 && p.w.tokens[from].tag != noTag {
		return ""
	}
	return p.w.cleanTitle(p.w.sourceText(from, to))
}

func cutExtension(name string) (base, ext string) {
	base = strings.TrimRight(name, " '\"")
	for {
		dot := strings.LastIndexByte(base, '.')
		if dot <= 0 || len(base)-dot > 8 {
			return base, ext
		}
		e := strings.ToLower(base[dot+1:])
		if !wordSets()["extension"][e] || e == "ts" && ext != "" {
			return base, ext
		}
		ext = cmp.Or(ext, e)
		base = base[:dot]
		if ext != "7z" && ext != "torrent" && ext != "disc" && ext != "nzb" {
			return base, ext
		}
	}
}

const maxDirs = 8

// splitPath splits a path into the name and the folders above it, nearest first. Unless the file exists, a slash
// between spaces, in brackets or between two titles of one name is not a separator.
func splitPath(path string, exists bool) (name string, dirs []string) {
	if strings.IndexByte(path, '/') < 0 && strings.IndexByte(path, '\\') < 0 ||
		!exists && !isAbsolute(path) && isOneName(path) {
		return path, dirs
	}
	found := false
	for end := len(path); end >= 0 && len(dirs) < maxDirs; {
		start := lastElement(path[:end], path, exists, found)
		part := strings.TrimSpace(path[start:end])
		end = start - 1
		switch {
		case part == "":
		case !found:
			name, found = part, true
		default:
			dirs = append(dirs, part)
		}
	}
	return name, dirs
}

func isAbsolute(path string) bool {
	switch path[0] {
	case '/', '\\', '~':
		return true
	}
	return strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") ||
		len(path) > 2 && path[1] == ':' && (path[2] == '/' || path[2] == '\\')
}

// lastElement returns the byte at which the last element of s starts. s is a prefix of path. found says that the file's
// name was already read from the rest of path.
func lastElement(s, path string, exists, found bool) int {
	depth := 0 // how many brackets are open at i and close after it
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ']', ')', '}':
			depth++
		case '[', '(', '{':
			depth = max(depth-1, 0)
		case '\\':
			return i + 1
		case '/':
			inName := depth > 0 && bracketOpensBefore(path, i) || isSpacedSlash(path, i) || !found && isFractionSlash(path, i)
			if exists || !inName {
				return i + 1
			}
		}
	}
	return 0
}

func bracketOpensBefore(s string, i int) bool {
	for k := i - 1; k >= 0 && k > i-512 && s[k] != '\\'; k-- {
		switch s[k] {
		case '[', '(', '{':
			return true
		case ']', ')', '}':
			return false
		}
	}
	return false
}

// isSpacedSlash reports whether the slash at i stands between two spaces: "Title / Other Title".
func isSpacedSlash(s string, i int) bool {
	return i > 0 && i+1 < len(s) && (s[i-1] == ' ' && s[i+1] == ' ' ||
		strings.HasSuffix(s[:i], "　") && strings.HasPrefix(s[i+1:], "　"))
}

// isFractionSlash reports whether the slash at i is one of a fraction: "Ranma 1/2", but not "Season 1/2. Title".
func isFractionSlash(s string, i int) bool {
	return i > 1 && i+1 < len(s) && isDigit(s[i-1]) && isDigit(s[i+1]) && s[i-2] == ' ' &&
		(i+2 == len(s) || s[i+2] == ' ' || s[i+2] == '.') && !strings.HasSuffix(strings.ToLower(s[:i-2]), "season")
}

// isOneName reports whether the slashes in a path separate only titles, languages or tags of one name.
func isOneName(s string) bool {
	if strings.Contains(s, `\`) {
		return false
	}
	if strings.Contains(s, " / ") || strings.Contains(s, "　/　") {
		return true
	}
	opens := func(s string) bool {
		r, _ := utf8.DecodeRuneInString(s)
		return slices.Index(bracketSigns, r)%2 == 0
	}
	last := s[strings.LastIndexByte(s, '/')+1:]
	if !opens(s) || opens(last) {
		return false
	}
	if _, ext := cutExtension(last); ext == "" {
		return true
	}
	// "[组][中文/Romaji][01].mkv": the slash is in brackets.
	return strings.Count(s, "/") == 1 && strings.ContainsAny(last, "]】］") && !strings.ContainsAny(last, "[［")
}

var discPattern = lazyregexp.New(`(?i)(?:^|[ ._(\[-])(?:cd|dis[ck]|dvd|part|pt)[ ._-]?(\d{1,2})(?:$|[ ._)\]-])`)

// DiscInName returns the number of the disc or part in a file's name, such as 2 for "Title S01E02.cd2.avi", or 0.
func DiscInName(name string) int {
	if m := discPattern().FindStringSubmatch(name); m != nil {
		return atoi(m[1])
	}
	return 0
}
