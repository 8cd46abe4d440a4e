package match

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// Want is what the names of a series say they are.
type Want uint8

const (
	// WantAny means that the names do not tell a film from a series.
	WantAny Want = iota
	// WantTV means numbered episodes or a batch of them.
	WantTV
	// WantMovie means a film.
	WantMovie
	// WantSpecial means a special or an OVA: usually season 0 of a series, sometimes a film.
	WantSpecial
	// WantNothing means extras, which are skipped.
	WantNothing
	// WantWork means extras whose work is asked for, of either kind.
	WantWork
)

var wantNames = [...]string{"any", "tv", "movie", "special", "nothing", "the work of an extra"}

// String is the word used in explanations.
func (w Want) String() string { return wantNames[w] }

// Series is what the names of some files of one folder say they belong to: one question for all of them. Titles are the
// readings of the name, the likeliest first; Season is the season hint, 0 with HasSeason false when there is none, Part
// the part or cour, 0 for none; LastEpisode is the greatest episode number seen and Episodes how many different ones.
type Series struct {
	Titles      []release.Title
	Season      int
	HasSeason   bool
	Part        int
	Year        int
	Want        Want
	Special     string
	IDs         []release.ID
	Folder      string
	Fansub      bool
	Modern      bool // released as nothing was before about 2010
	Unlisted    bool // the title index has none of the titles
	LastEpisode float64
	Episodes    int
	Files       []File
}

// Title is the likeliest reading of the name, for people.
func (s Series) Title() string {
	if len(s.Titles) == 0 {
		return ""
	}
	return s.Titles[0].Text
}

// Group sorts files into series, in the order in which each series is first seen, in time linear in the number of
// files. Files keep their order inside a series.
func Group(files []File) []Series {
	var out []Series
	at := make(map[string]int, len(files))
	for _, f := range files {
		key := groupKey(f)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, newSeries(f))
		}
		s := &out[i]
		s.Files = append(s.Files, f)
	}
	shelves(out)
	for i := range out {
		out[i].count()
	}
	return out
}

// shelfTitles is how many titles stand in a folder that is no work's own.
const shelfTitles = 4

// shelves drops the titles of folders that hold files of many works, where the files have titles of their own: "lib"
// would be searched before the rest of what a name may mean.
func shelves(all []Series) {
	own := map[string]map[string]bool{}
	named := func(s *Series) bool { return len(s.Titles) > 0 && s.Titles[0].From == release.FromName }
	for i := range all {
		if s := &all[i]; named(s) {
			if own[s.Folder] == nil {
				own[s.Folder] = map[string]bool{}
			}
			own[s.Folder][BaseTitle(title.Normalize(s.Title()))] = true
		}
	}
	for i := range all {
		if s := &all[i]; named(s) && len(own[s.Folder]) >= shelfTitles {
			s.Titles = slices.DeleteFunc(slices.Clone(s.Titles), func(t release.Title) bool {
				return t.From == release.FromFolder
			})
		}
	}
}

// groupKey is equal for two files exactly when they ask the same question from the same folder.
func groupKey(f File) string {
	r := f.Release
	var b strings.Builder
	b.WriteString(folderOf(r))
	b.WriteByte(0)
	b.WriteString(title.Normalize(r.Title))
	b.WriteByte(0)
	if n, ok := r.Season(); ok {
		b.WriteString(strconv.Itoa(n))
	}
	b.WriteByte(0)
	b.WriteString(strconv.Itoa(r.SeasonPart()))
	b.WriteByte(0)
	b.WriteString(strconv.Itoa(r.Year))
	b.WriteByte(0)
	b.WriteString(strconv.Itoa(int(wantOf(f))))
	if wantOf(f) == WantSpecial { // two OVAs may be two films
		b.WriteByte(0)
		b.WriteString(r.Special)
		for _, e := range r.Episodes {
			b.WriteString(strconv.FormatFloat(e, 'f', -1, 64))
			b.WriteByte(',')
		}
	}
	for _, id := range r.IDs {
		b.WriteByte(0)
		b.WriteString(id.Source + id.Kind + id.Value)
	}
	return b.String()
}

func newSeries(f File) Series {
	r := f.Release
	s := Series{
		Titles: distinctTitles(r), Year: r.Year, Part: r.SeasonPart(), Want: wantOf(f), Special: r.Special,
		IDs: r.IDs, Folder: folderOf(r), Fansub: fansubStyled(r), Modern: modern(r),
	}
	s.Season, s.HasSeason = r.Season()
	return s
}

// distinctTitles lists the readings of a name without repetitions, the chosen one first.
func distinctTitles(r release.Release) []release.Title {
	all := r.Titles
	if i := slices.IndexFunc(all, func(t release.Title) bool { return t.Text == r.Title }); i > 0 {
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	} else if i < 0 && r.Title != "" {
		all = slices.Concat([]release.Title{{Text: r.Title}}, all)
	}
	if wantOf(File{Release: r}) == WantSpecial {
		all = withoutSpecialWords(all)
	}
	var out []release.Title
	var seen []string
	for _, t := range all {
		n := title.Normalize(t.Text)
		if n == "" || slices.Contains(seen, n) {
			continue
		}
		seen = append(seen, n)
		out = append(out, t)
		if len(out) == maxTitles {
			break
		}
	}
	return out
}

// withoutSpecialWords adds the titles without a word at their end that only says what the name says elsewhere: "Title
// Special" of a special.
func withoutSpecialWords(titles []release.Title) []release.Title {
	out := slices.Clip(titles)
	for _, t := range titles {
		w := strings.Fields(t.Text)
		if len(w) < 2 {
			continue
		}
		if words().specials[strings.ToLower(w[len(w)-1])] {
			t.Text = strings.Join(w[:len(w)-1], " ")
			out = append(out, t)
		}
	}
	return out
}

// maxTitles bounds the readings of one name that are compared; a name with more is noise.
const maxTitles = 8

// extra reports whether the name says that the file is not a part of the work itself.
func (f File) extra() bool { return f.Release.Extra || f.Release.Kind == release.Extra }

// wantOf translates the reading of a name into the kind of entry to ask for.
func wantOf(f File) Want {
	if f.extra() {
		if f.Media {
			return WantWork
		}
		return WantNothing
	}
	switch f.Release.Kind {
	case release.Extra: // above
	case release.Movie:
		return WantMovie
	case release.Special:
		return WantSpecial
	case release.Episode, release.Batch:
		return WantTV
	case release.Unknown:
	}
	return WantAny
}

// fansubStyled reports whether a name has a style that only anime has: a group in front, or a checksum.
func fansubStyled(r release.Release) bool {
	return r.Checksum != "" || strings.HasPrefix(r.Name, "[") || strings.HasPrefix(r.Name, "【")
}

// modern reports whether a release has a source or a codec that did not exist before about 2010.
func modern(r release.Release) bool {
	return strings.HasPrefix(r.Source, "WEB") || r.Video == "H.265" || r.Video == "AV1"
}

// folderOf is the path before the name. A slash between two titles of a name ends no folder.
func folderOf(r release.Release) string {
	return strings.TrimRight(r.Path[:max(strings.LastIndex(r.Path, r.Name), 0)], `/\`)
}

func (s *Series) count() {
	seen := make(map[float64]bool, len(s.Files))
	for _, f := range s.Files {
		for _, e := range f.Release.Episodes {
			if e == math.Trunc(e) {
				seen[e] = true
				s.LastEpisode = max(s.LastEpisode, e)
			}
		}
	}
	s.Episodes = len(seen)
}
