package report

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/ui"
)

// Gap is one line of `missing`: a season of a matched series in which an aired episode is missing or has several files.
type Gap struct {
	_             struct{}         `constant:"type=missing" doc:"always \"missing\""`
	TMDBID        int              `json:"tmdb_id" doc:"the series on TMDB"`
	Title         string           `json:"title,omitempty" doc:"its title in the display language"`
	OriginalTitle string           `json:"original_title,omitempty" doc:"its title in its own language"`
	Year          int              `json:"year,omitempty" doc:"of its first broadcast"`
	Season        *int             `json:"season,omitempty" doc:"TMDB's number; 0 only for duplicate specials"`
	Aired         int              `json:"aired" doc:"its episodes that have aired or have a file"`
	Present       int              `json:"here" doc:"how many of these have a file; 0 if the whole season is missing"`
	Missing       []MissingEpisode `json:"missing,omitempty" doc:"the missing ones"`
	Duplicates    []EpisodeFile    `json:"twice,omitempty" doc:"the files of episodes that have more than one"`
	Unplaced      int              `json:"unplaced,omitempty" doc:"its files (no specials) whose episode is not known"`
	Unknown       bool             `json:"unknown,omitempty" doc:"TMDB's list of episodes or seasons is not available"`

	onlySpecials bool `json:"-"` // no regular episode of the series has a file
}

// MissingEpisode is an aired episode without a file.
type MissingEpisode struct {
	Episode int    `json:"episode" doc:"its number in the requested order"`
	Title   string `json:"title,omitempty" doc:"its title"`
	AirDate string `json:"air_date,omitempty" doc:"when it was first broadcast, YYYY-MM-DD"`
}

// EpisodeFile is one of several files of the same episode.
type EpisodeFile struct {
	Episode int       `json:"episode" doc:"its number in the requested order"`
	Path    string    `json:"path" bytes:"path_base64" doc:"the path as it was given; bytes that are not UTF-8 as U+FFFD"`
	Better  lang.Text `json:"better,omitempty" doc:"with the best of the files: why it is better than each other one"`
}

// GapSummary is the last line of `missing`. Every field is always present.
type GapSummary struct {
	_             struct{} `constant:"type=summary" doc:"always \"summary\""`
	Series        int      `json:"series" doc:"matched series"`
	Complete      int      `json:"complete" doc:"how many of these have all aired episodes of these seasons"`
	Missing       int      `json:"missing" doc:"aired episodes that are missing from seasons with some files"`
	AbsentSeasons int      `json:"absent_seasons" doc:"seasons without any file"`
	Duplicates    int      `json:"twice" doc:"episodes with more than one file"`
	Unplaced      int      `json:"unplaced" doc:"files, without specials, of series with gaps whose episode is not known"`
	Unknown       int      `json:"unknown" doc:"series whose list of episodes is not fully available"`
	Ignored       int      `json:"ignored" doc:"series that --ignore keeps out, counted nowhere else"`
}

// Holdings collects from records which episodes have files. The zero value is ready to use.
type Holdings struct {
	series []*seriesFiles // in the order of their first files
	byID   map[int]*seriesFiles
}

type seriesFiles struct {
	template Gap // the fields that all gaps of this series share
	files    map[episodeKey][]heldFile
}

type episodeKey struct{ season, episode int }

// Add adds the file of a record if it belongs to a matched series. It keeps no reference to r.
func (h *Holdings) Add(r *Record) {
	if r.Status != Matched || r.Kind != string(match.TV) {
		return
	}
	s := h.byID[r.TMDBID]
	if s == nil {
		s = &seriesFiles{files: map[episodeKey][]heldFile{}, template: Gap{
			TMDBID: r.TMDBID, Title: strings.Clone(r.Title), OriginalTitle: strings.Clone(r.OriginalTitle), Year: r.Year,
			onlySpecials: true,
		}}
		if h.byID == nil {
			h.byID = map[int]*seriesFiles{}
		}
		h.byID[r.TMDBID], h.series = s, append(h.series, s)
	}
	if r.LacksEpisode() && (r.Parsed == nil || r.Parsed.Kind != "special") {
		s.template.Unplaced++
	}
	if r.Season == nil {
		return
	}
	file, in := newHeldFile(r), orders.Place{Season: *r.Season, Episodes: r.Episodes}
	if r.Order == orders.AniDB { // which has no seasons
		in = *r.Orders.TMDB
	}
	s.template.onlySpecials = s.template.onlySpecials && in.Season == 0
	for _, n := range in.Episodes {
		at := episodeKey{in.Season, n}
		s.files[at] = append(s.files[at], file)
	}
}

// Remove removes the series for which ignored returns true, and returns their number.
func (h *Holdings) Remove(ignored func(*Gap) bool) int {
	before := len(h.series)
	h.series = slices.DeleteFunc(h.series, func(s *seriesFiles) bool { return ignored(&s.template) })
	return before - len(h.series)
}

// Series returns the ids of the series, in the order of their first files.
func (h *Holdings) Series() []int {
	return slicesx.Map(h.series, func(s *seriesFiles) int { return s.template.TMDBID })
}

// Gaps compares the files of a series with TMDB's seasons. If seasons is nil, it returns one Gap with Unknown set.
// today is YYYY-MM-DD. An episode has aired if its air date is not later than today, or if it has none and a later
// episode has aired.
func (h *Holdings) Gaps(id int, seasons []match.Season, today string) []Gap {
	s := h.byID[id]
	if s == nil {
		return nil
	}
	if seasons == nil {
		g := s.template
		g.Unknown = true
		return []Gap{g}
	}
	var out []Gap
	listed := map[int]bool{}
	for _, season := range seasons {
		listed[season.Number] = true
		if g := s.compare(season, today); g.Unknown || len(g.Missing) > 0 || len(g.Duplicates) > 0 {
			out = append(out, g)
		}
	}
	for at := range s.files { // duplicates in seasons that TMDB no longer lists
		if !listed[at.season] {
			listed[at.season] = true
			g := s.compare(match.Season{Number: at.season, Episodes: []match.Episode{}}, today)
			if len(g.Duplicates) > 0 {
				out = append(out, g)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Gap) int { return cmp.Compare(*a.Season, *b.Season) })
	return out
}

// Upcoming returns a Gap for each regular season of a series. Its Missing has the episodes without a file that air on
// the day from or later.
func (h *Holdings) Upcoming(id int, seasons []match.Season, from string) []Gap {
	var out []Gap
	s := h.byID[id]
	for _, season := range seasons {
		g := s.template
		g.Season = &season.Number
		for _, e := range season.Episodes {
			if s.files[episodeKey{season.Number, e.Number}] == nil && e.AirDate >= from {
				g.Missing = append(g.Missing, MissingEpisode{e.Number, e.Name, e.AirDate})
			}
		}
		if season.Number > 0 && g.Missing != nil {
			out = append(out, g)
		}
	}
	return out
}

func (s *seriesFiles) compare(season match.Season, today string) Gap {
	g := s.template
	g.Season, g.Unknown = &season.Number, season.Episodes == nil && season.Number > 0
	g.Duplicates = s.duplicatesIn(season.Number)
	aired := false
	for i := len(season.Episodes) - 1; i >= 0; i-- {
		e := season.Episodes[i]
		aired = e.AirDate != "" && e.AirDate <= today || e.AirDate == "" && aired
		switch {
		case s.files[episodeKey{season.Number, e.Number}] != nil:
			g.Aired++
			g.Present++
		case aired:
			g.Aired++
			if season.Number > 0 {
				g.Missing = append(g.Missing, MissingEpisode{e.Number, e.Name, e.AirDate})
			}
		}
	}
	slices.Reverse(g.Missing)
	return g
}

func (s *seriesFiles) duplicatesIn(season int) (out []EpisodeFile) {
	byNumber := func(a, b episodeKey) int { return cmp.Compare(a.episode, b.episode) }
	for _, at := range slices.SortedFunc(maps.Keys(s.files), byNumber) {
		if at.season != season || len(s.files[at]) == 1 {
			continue
		}
		same := distinctFiles(s.files[at])
		if len(same) == 1 {
			continue
		}
		best, why := bestFile(same)
		for i, f := range same {
			out = append(out, EpisodeFile{Episode: at.episode, Path: f.path})
			if i == best {
				out[len(out)-1].Better = why
			}
		}
	}
	return out
}

// Add counts the gaps of one series.
func (s *GapSummary) Add(gaps []Gap) {
	s.Series++
	lacks, unknown := false, false
	for i, g := range gaps {
		if i == 0 {
			s.Unplaced += g.Unplaced
		}
		unknown = unknown || g.Unknown
		if g.IsAbsent() {
			s.AbsentSeasons++
			lacks = lacks || g.onlySpecials || g.Unplaced > 0 // which may be of this season
			continue
		}
		lacks = lacks || g.Unknown || len(g.Missing) > 0
		s.Missing += len(g.Missing)
		sameEpisode := func(a, b EpisodeFile) bool { return a.Episode == b.Episode }
		s.Duplicates += len(slices.CompactFunc(slices.Clone(g.Duplicates), sameEpisode))
	}
	if !lacks {
		s.Complete++
	}
	if unknown {
		s.Unknown++
	}
}

// IsAbsent reports whether an aired season has no files.
func (g *Gap) IsAbsent() bool { return g.Present == 0 && len(g.Missing) > 0 }

// SortGaps sorts gaps in two parts: first the seasons that have some files, then those without any. In each part the
// gaps of a series stay together. In the first part, the series with the newest missing episode comes first.
func SortGaps(series [][]Gap) [][]Gap {
	var begun, absent [][]Gap
	newest := func(gaps []Gap) (date string) {
		for _, g := range gaps {
			for _, e := range g.Missing {
				date = max(date, e.AirDate)
			}
		}
		return date
	}
	for _, gaps := range series {
		some := slices.DeleteFunc(slices.Clone(gaps), func(g Gap) bool { return g.IsAbsent() })
		none := slices.DeleteFunc(slices.Clone(gaps), func(g Gap) bool { return !g.IsAbsent() })
		slices.SortStableFunc(some, func(a, b Gap) int { return strings.Compare(newest([]Gap{b}), newest([]Gap{a})) })
		if len(some) > 0 {
			begun = append(begun, some)
		}
		if len(none) > 0 {
			absent = append(absent, none)
		}
	}
	slices.SortStableFunc(begun, func(a, b []Gap) int { return strings.Compare(newest(b), newest(a)) })
	return append(begun, absent...)
}

// Entry returns the series as "Title (1999)", or its reference if it has no title.
func (g *Gap) Entry() string { return entryText(string(match.TV), g.TMDBID, g.Title, g.Year) }

// Ref returns the short reference of the series: "tv/26209".
func (g *Gap) Ref() string { return entryRef(string(match.TV), g.TMDBID) }

// Label returns the season as "S02".
func (g *Gap) Label() string { return fmt.Sprintf("S%02d", *g.Season) }

// MissingRanges returns the numbers of the missing episodes: "3,17-24".
func (g *Gap) MissingRanges() string {
	numbers := slicesx.Map(g.Missing, func(e MissingEpisode) int { return e.Episode })
	slices.Sort(numbers)
	return FormatRanges("%d", numbers)
}

// heldFile is the file of an episode, with what its name says about its quality.
type heldFile struct {
	path       string
	source     int   // a place in sources, 0 if its name says none
	resolution int   // lines, 0 if its name says none
	size       int64 // 0 if it is not known, or of several episodes
	info       os.FileInfo

	version, part, episodes int
}

// sources are the sources of releases, the worst first.
var sources = []string{
	"", "CAM", "VHS", "LaserDisc", "TV", "DVD", "HDTV", "HDRip", "WEBRip", "WEB", "WEB-DL", "BluRay",
}

func newHeldFile(r *Record) heldFile {
	f := heldFile{path: strings.Clone(r.Path), version: 1, episodes: len(r.Episodes)}
	if p := r.Parsed; p != nil {
		f.source = max(0, slices.Index(sources, p.Source))
		f.resolution, _ = strconv.Atoi(strings.TrimRight(p.Resolution, "pi"))
		f.version, f.part = max(1, p.Version), p.Part
	}
	return f
}

// distinctFiles leaves out other names of a file and other parts of an episode, and learns the sizes.
func distinctFiles(files []heldFile) (out []heldFile) {
	for _, f := range files {
		f.part = cmp.Or(f.part, release.DiscInName(filepath.Base(f.path)))
		if f.info, _ = os.Stat(f.path); f.info != nil && f.episodes == 1 {
			f.size = f.info.Size()
		}
		if !slices.ContainsFunc(out, func(o heldFile) bool {
			return os.SameFile(f.info, o.info) || f.part > 0 && o.part > 0 && f.part != o.part
		}) {
			out = append(out, f)
		}
	}
	return out
}

// bestFile returns the file that is better than each of the others, and why; why is "" if there is none.
func bestFile(files []heldFile) (best int, why lang.Text) {
	for i := range files {
		if files[i].whyBetter(&files[best]) != "" {
			best = i
		}
	}
	var reasons []lang.Text
	for i := range files {
		switch reason := files[best].whyBetter(&files[i]); {
		case i == best:
		case reason == "":
			return best, ""
		case !slices.Contains(reasons, reason):
			reasons = append(reasons, reason)
		}
	}
	return best, lang.Join(reasons, ", ")
}

// whyBetter says why f is better than g; "" if it is not. What only one name says is not compared.
func (f *heldFile) whyBetter(g *heldFile) lang.Text {
	for _, c := range []struct {
		ours, theirs int64
		text         func(*heldFile) string
	}{
		{int64(f.source), int64(g.source), func(f *heldFile) string { return sources[f.source] }},
		{int64(f.resolution), int64(g.resolution), func(f *heldFile) string { return strconv.Itoa(f.resolution) + "p" }},
		{int64(f.version), int64(g.version), func(f *heldFile) string { return "v" + strconv.Itoa(f.version) }},
		{f.size, g.size, func(f *heldFile) string { return ui.Size(f.size) }},
	} {
		if c.ours != c.theirs && c.ours > 0 && c.theirs > 0 {
			if c.ours < c.theirs {
				return ""
			}
			return lang.Textf("%s instead of %s", c.text(f), c.text(g))
		}
	}
	return ""
}
