package match

// A small invented world behind a Source, for the tests of every arrow.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// world answers searches the way TMDB does: every word of the query begins a word of one title. It counts what it is
// asked.
type world struct {
	entries []*Entry
	groups  map[string]*EpisodeGroup
	ids     map[string][]int // by another site's id: "imdb tt1"
	order   func([]Hit)
	fail    func(what string) error

	mu    sync.Mutex
	asked []string
}

func (w *world) note(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, what)
	if w.fail != nil {
		return w.fail(what)
	}
	return nil
}

func (w *world) Search(_ context.Context, q Query) ([]Hit, Origin, error) {
	if err := w.note(fmt.Sprintf("search %s %q %d", q.Kind, q.Text, q.Year)); err != nil {
		return nil, Origin{}, err
	}
	var out []Hit
	for _, e := range w.entries {
		if e.Kind == q.Kind && (q.Year == 0 || hasYear(e, q.Year)) && finds(q.Text, e) {
			out = append(out, e.Hit())
		}
	}
	if w.order != nil {
		w.order(out)
	}
	return out, Origin{}, nil
}

func (w *world) Entry(_ context.Context, kind Kind, id int) (*Entry, Origin, error) {
	if err := w.note(fmt.Sprintf("entry %s %d", kind, id)); err != nil {
		return nil, Origin{}, err
	}
	for _, e := range w.entries {
		if e.Kind == kind && e.ID == id {
			return e, Origin{Freshness: FromCache, FetchedAt: time.Unix(1000, 0)}, nil
		}
	}
	return nil, Origin{}, fmt.Errorf("%s %d: %w", kind, id, ErrNoEntry)
}

func (w *world) Group(_ context.Context, id string) (*EpisodeGroup, Origin, error) {
	if err := w.note("group " + id); err != nil {
		return nil, Origin{}, err
	}
	if g := w.groups[id]; g != nil {
		return g, Origin{}, nil
	}
	return nil, Origin{}, fmt.Errorf("group %s: %w", id, ErrNoEntry)
}

func (w *world) SeasonNames(context.Context, int, string) (map[int]string, Origin, error) {
	return nil, Origin{}, ErrNoEntry
}

func (w *world) Find(_ context.Context, site, id string) ([]Hit, Origin, error) {
	if err := w.note("find " + site + " " + id); err != nil {
		return nil, Origin{}, err
	}
	var out []Hit
	for _, n := range w.ids[site+" "+id] {
		for _, e := range w.entries {
			if e.ID == n {
				out = append(out, e.Hit())
			}
		}
	}
	return out, Origin{}, nil
}

func finds(query string, e *Entry) bool {
	for _, t := range entryTitles(e) {
		words := strings.Fields(t.norm)
		ok := true
		for _, q := range strings.Fields(title.Normalize(query)) {
			ok = ok && slices.ContainsFunc(words, func(x string) bool { return strings.HasPrefix(x, q) })
		}
		if ok {
			return true
		}
	}
	return false
}

func hasYear(e *Entry, year int) bool {
	if e.Year == year {
		return true
	}
	for _, s := range e.Seasons {
		for _, ep := range s.Episodes {
			if YearOf(ep.AirDate) == year {
				return true
			}
		}
	}
	return false
}

// series makes a series whose seasons are given from season 1 on.
func series(id int, name, original string, year int, seasons ...Season) *Entry {
	e := &Entry{
		Kind: TV, ID: id, Title: name, OriginalTitle: original, OriginalLanguage: "ja", Year: year,
		Genres: []int{genreAnimation}, Popularity: 20, Seasons: seasons,
	}
	for _, s := range seasons {
		if s.Number > 0 {
			e.EpisodeCount += len(s.Episodes)
		}
	}
	return e
}

func film(id int, name, original string, year int) *Entry {
	return &Entry{
		Kind: Movie, ID: id, Title: name, OriginalTitle: original, OriginalLanguage: "ja", Year: year,
		Genres: []int{genreAnimation}, Popularity: 20,
	}
}

func (e *Entry) alt(titles ...string) *Entry {
	for _, t := range titles {
		e.Titles = append(e.Titles, AltTitle{Title: t})
	}
	return e
}

// season makes a season of weekly runs, each "first-last@date" or "first-last" without dates.
func season(n int, runs ...string) Season {
	s := Season{Number: n, Name: fmt.Sprintf("Season %d", n)}
	for _, r := range runs {
		span, date, _ := strings.Cut(r, "@")
		var first, last int
		if _, err := fmt.Sscanf(span, "%d-%d", &first, &last); err != nil {
			panic(r)
		}
		at, _ := time.Parse(time.DateOnly, date)
		for i := first; i <= last; i++ {
			ep := Episode{Number: i, Name: fmt.Sprintf("Episode %d", i)}
			if !at.IsZero() {
				ep.AirDate = at.AddDate(0, 0, 7*(i-first)).Format(time.DateOnly)
			}
			s.Episodes = append(s.Episodes, ep)
		}
		if s.AirDate == "" {
			s.AirDate = date
		}
	}
	return s
}

func (s Season) named(name string) Season { s.Name = name; return s }

// titled names the episodes of a season from its first on.
func (s Season) titled(names ...string) Season {
	s.Episodes = slices.Clone(s.Episodes)
	for i, n := range names {
		s.Episodes[i].Name = n
	}
	return s
}

// rel makes a release by hand, so that these tests do not depend on how names are read.
func rel(t string, opts ...func(*release.Release)) release.Release {
	r := release.Release{
		Path: t, Name: "[Group] " + t, Title: t, Titles: []release.Title{{Text: t}},
		Kind: release.Episode,
	}
	for _, o := range opts {
		o(&r)
	}
	return r
}

func eps(n ...float64) func(*release.Release) {
	return func(r *release.Release) { r.Episodes = n }
}

func inSeason(n int) func(*release.Release) {
	return func(r *release.Release) { r.Seasons = []int{n} }
}

func inFolderOf(season int) func(*release.Release) {
	return func(r *release.Release) { r.Seasons, r.Folder.Seasons = []int{season}, []int{season} }
}

func overall(n ...float64) func(*release.Release) {
	return func(r *release.Release) { r.Overall = n }
}

func inPart(n int) func(*release.Release) { return func(r *release.Release) { r.Part = n } }

func ofEpisode(r *release.Release)          { r.PartOfEpisode = true }
func of(year int) func(*release.Release)    { return func(r *release.Release) { r.Year = year } }
func on(date string) func(*release.Release) { return func(r *release.Release) { r.Date = date } }
func also(t string) func(*release.Release) {
	return func(r *release.Release) { r.Titles = append(r.Titles, release.Title{Text: t}) }
}

func as(k release.Kind) func(*release.Release) { return func(r *release.Release) { r.Kind = k } }

func special(s string) func(*release.Release) {
	return func(r *release.Release) { r.Kind, r.Special = release.Special, s }
}

func about(s string) func(*release.Release) {
	return func(r *release.Release) { r.EpisodeTitle = s }
}

// decideOne runs the whole chain for one release.
func decideOne(w *world, r release.Release) Decision {
	res := &Resolver{Source: w, Options: DefaultOptions()}
	s := Group([]File{{Release: r}})[0]
	return res.Place(context.Background(), s.Files[:1], res.Resolve(context.Background(), s))[0]
}

// outcome says a decision in a few words: "tv 7 S01E02" or "tv 7 -" or "ambiguous".
func outcome(d Decision) string {
	if d.Status != Matched {
		return string(d.Status)
	}
	out := fmt.Sprintf("%s %d", d.Kind, d.ID)
	switch {
	case d.Season == nil && d.Kind == TV:
		out += " -"
	case d.Season != nil:
		out += fmt.Sprintf(" S%02d", *d.Season)
		for _, e := range d.Episodes {
			out += fmt.Sprintf("E%02d", e)
		}
	}
	return out
}
