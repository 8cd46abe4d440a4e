package tmdbfake

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Kind says whether a work is a series or a film.
type Kind string

// The kinds of work.
const (
	TV    Kind = "tv"
	Movie Kind = "movie"
)

// Day is a calendar day, counted from 1970-01-01; NoDay means unknown.
type Day int32

// NoDay is the unknown day.
const NoDay Day = -1 << 31

// MakeDay returns the Day of a calendar date.
func MakeDay(year int, month time.Month, day int) Day {
	return Day(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// String returns the day as TMDB writes it, 2006-01-02, and "" for NoDay.
func (d Day) String() string {
	if d == NoDay {
		return ""
	}
	return time.Unix(int64(d)*86400, 0).UTC().Format(time.DateOnly)
}

// Year returns the calendar year, 0 for NoDay.
func (d Day) Year() int {
	if d == NoDay {
		return 0
	}
	return time.Unix(int64(d)*86400, 0).UTC().Year()
}

// Work is one series or film of the catalogue.
type Work struct {
	Kind       Kind
	ID         int
	Name       string // the English name; "" when there is none
	Original   string // in its own script
	Language   string // ISO 639-1 of the original
	Country    string // ISO 3166-1 of the origin
	Overview   string // English
	Date       Day    // first air date or release
	Popularity float64
	Votes      int
	Genres     []int
	Adult      bool
	Status     string
	Type       string // Scripted, Miniseries, Video ... (series only)
	Runtime    int    // minutes
	Alt        []AltTitle
	Trans      []Translation
	Seasons    []Season
	Groups     []Group
	External   External
	Odd        []Oddity

	later []Season // the season map after the renumbering
	years []int    // years with an episode or a release, ascending
}

// AltTitle is one alternative title.
type AltTitle struct {
	Country string // ISO 3166-1
	Title   string
	Type    string // free text; "" in three of four
}

// Translation is the text of a work in one language.
type Translation struct {
	Language string // ISO 639-1
	Country  string // ISO 3166-1
	Name     string // "" when it does not differ from the original
	Overview string
}

// External holds the ids of a work elsewhere. Zero values become null.
type External struct {
	IMDb     string
	TVDB     int
	Wikidata string
}

// Season is one season. Episodes makes its episodes from the runs.
type Season struct {
	Number int
	Name   string            // English; "": "Season N" or "Specials"
	Names  map[string]string // by ISO 639-1
	Runs   []Run
	Titles map[int]string // episode titles by number; the others have a placeholder
	Undate bool           // the season has no air date of its own
}

// Run is a sequence of episodes with consecutive numbers, aired at equal intervals.
type Run struct {
	First, Last int
	Start       Day // of First; NoDay: none of them has a date
	Step        int // days between two; 0 is read as 7
}

// Episode is one episode of a season.
type Episode struct {
	Season, Number int
	Title          string // "" when only a placeholder exists
	Date           Day
	Kind           string // standard, mid_season, finale
}

// Group is an order of episodes other than the seasons.
type Group struct {
	ID          string // 24 hexadecimal digits
	Name        string
	Description string
	Type        int // 1 original air date, 2 absolute, 3 DVD, 4 digital, 5 story arc, 6 production, 7 TV
	Network     bool
	Parts       []GroupPart
}

// GroupPart is one division of a group.
type GroupPart struct {
	Name     string
	Order    int
	Episodes []EpisodeRef
}

// EpisodeRef is an episode's place in the seasons.
type EpisodeRef struct{ Season, Number int }

// step returns the days between two episodes.
func (r Run) step() int {
	if r.Step == 0 {
		return 7
	}
	return r.Step
}

// Date returns the day of episode n of the run, NoDay when the run has none.
func (r Run) Date(n int) Day {
	if r.Start == NoDay {
		return NoDay
	}
	return r.Start + Day((n-r.First)*r.step())
}

// Episodes returns the season's episodes in the order of their numbers.
func (s *Season) Episodes() []Episode {
	var out []Episode
	for _, r := range s.Runs {
		for n := r.First; n <= r.Last; n++ {
			out = append(out, Episode{Season: s.Number, Number: n, Title: s.Titles[n], Date: r.Date(n), Kind: "standard"})
		}
	}
	slices.SortStableFunc(out, func(a, b Episode) int { return cmp.Compare(a.Number, b.Number) })
	out = slices.CompactFunc(out, func(a, b Episode) bool { return a.Number == b.Number })
	if s.Number > 0 && len(out) > 1 {
		out[len(out)-1].Kind = "finale"
	}
	return out
}

// Count returns the number of episodes without making them.
func (s *Season) Count() int {
	if len(s.Runs) == 1 {
		return max(0, s.Runs[0].Last-s.Runs[0].First+1)
	}
	return len(s.Episodes())
}

// Date returns the day on which the season began, NoDay when no episode has one.
func (s *Season) Date() Day {
	best := NoDay
	for _, r := range s.Runs {
		if r.Start != NoDay && (best == NoDay || r.Start < best) {
			best = r.Start
		}
	}
	return best
}

// seasonMap returns the seasons in force.
func (w *Work) seasonMap(renumbered bool) []Season {
	if renumbered && w.later != nil {
		return w.later
	}
	return w.Seasons
}

// season finds a season by number.
func season(ss []Season, number int) *Season {
	for i := range ss {
		if ss[i].Number == number {
			return &ss[i]
		}
	}
	return nil
}

// finish sorts the seasons and computes the years.
func (w *Work) finish() {
	slices.SortStableFunc(w.Seasons, func(a, b Season) int { return cmp.Compare(a.Number, b.Number) })
	add := func(y int) {
		if y != 0 && !slices.Contains(w.years, y) {
			w.years = append(w.years, y)
		}
	}
	w.years = nil
	add(w.Date.Year())
	for i := range w.Seasons {
		for _, r := range w.Seasons[i].Runs {
			if r.Start == NoDay || r.Last < r.First {
				continue
			}
			for y := r.Start.Year(); y <= r.Date(r.Last).Year(); y++ {
				add(y)
			}
		}
	}
	slices.Sort(w.years)
}

// AbsoluteGroup returns the group that numbers all regular episodes from 1 on.
func AbsoluteGroup(w *Work) Group {
	part := GroupPart{Name: "Absolute", Order: 1}
	for i := range w.Seasons {
		s := &w.Seasons[i]
		if s.Number == 0 {
			continue
		}
		for _, e := range s.Episodes() {
			part.Episodes = append(part.Episodes, EpisodeRef{Season: s.Number, Number: e.Number})
		}
	}
	return Group{ID: hexID(24, "absolute", w.ID), Name: "Absolute Order", Type: 2, Parts: []GroupPart{part}}
}

// Catalogue is an ordered, indexed collection of works. It does not change
// after NewCatalogue, so any number of goroutines may read it.
type Catalogue struct {
	works  []*Work // by kind, then id
	byID   map[Kind]map[int]*Work
	groups map[string]groupAt
	index  map[Kind]*index
}

type groupAt struct {
	work  *Work
	group *Group
}

// NewCatalogue checks and indexes works. It refuses an id that is not positive,
// a kind other than TV and Movie, a second work of one kind and id, and a
// second group of one id.
func NewCatalogue(works []Work) (*Catalogue, error) {
	c := &Catalogue{
		byID:   map[Kind]map[int]*Work{TV: {}, Movie: {}},
		groups: map[string]groupAt{},
		index:  map[Kind]*index{},
	}
	for i := range works {
		w := &works[i]
		if w.Kind != TV && w.Kind != Movie {
			return nil, fmt.Errorf("catalogue: work %d has kind %q, want %q or %q", w.ID, w.Kind, TV, Movie)
		}
		if w.ID <= 0 {
			return nil, fmt.Errorf("catalogue: %s id %d is not positive", w.Kind, w.ID)
		}
		if c.byID[w.Kind][w.ID] != nil {
			return nil, fmt.Errorf("catalogue: %s %d stands in it twice", w.Kind, w.ID)
		}
		w.finish()
		c.byID[w.Kind][w.ID] = w
		c.works = append(c.works, w)
		for j := range w.Groups {
			g := &w.Groups[j]
			if _, taken := c.groups[g.ID]; taken {
				return nil, fmt.Errorf("catalogue: episode group %s stands in it twice", g.ID)
			}
			c.groups[g.ID] = groupAt{w, g}
		}
	}
	slices.SortFunc(c.works, func(a, b *Work) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	for _, k := range []Kind{TV, Movie} {
		c.index[k] = newIndex(c.works, k)
	}
	return c, nil
}

// Len returns the number of works.
func (c *Catalogue) Len() int { return len(c.works) }

// Works returns the works of a kind in the order of their ids. They belong to
// the catalogue and must not be changed.
func (c *Catalogue) Works(kind Kind) []*Work {
	var out []*Work
	for _, w := range c.works {
		if w.Kind == kind {
			out = append(out, w)
		}
	}
	return out
}

// Get returns a work, nil if there is none. It belongs to the catalogue.
func (c *Catalogue) Get(kind Kind, id int) *Work { return c.byID[kind][id] }
