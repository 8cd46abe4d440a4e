package tmdbfake

import (
	"bytes"
	"cmp"
	_ "embed" // the authored works
	"encoding/json"
	"fmt"
	"slices"
	"sync"
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

// UnmarshalText reads a day as String writes it.
func (d *Day) UnmarshalText(text []byte) error {
	*d = NoDay
	if len(text) == 0 {
		return nil
	}
	t, err := time.Parse(time.DateOnly, string(text))
	if err == nil {
		*d = Day(t.Unix() / 86400)
	}
	return err
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
	Kind       Kind          `json:"kind"`
	ID         int           `json:"id"`
	Name       string        `json:"name"`               // the English name; "" when there is none
	Original   string        `json:"original"`           // in its own script
	Language   string        `json:"language"`           // ISO 639-1 of the original
	Country    string        `json:"country"`            // ISO 3166-1 of the origin
	Overview   string        `json:"overview,omitempty"` // English
	Date       Day           `json:"date"`               // first air date or release
	Popularity float64       `json:"popularity"`
	Votes      int           `json:"votes"`
	Genres     []int         `json:"genres"`
	Adult      bool          `json:"adult,omitempty"`
	Status     string        `json:"status"`
	Type       string        `json:"type,omitempty"`    // Scripted, Miniseries, Video ... (series only)
	Runtime    int           `json:"runtime,omitempty"` // minutes
	Alt        []AltTitle    `json:"alternative,omitempty"`
	Trans      []Translation `json:"translations,omitempty"`
	Seasons    []Season      `json:"seasons,omitempty"`
	Later      []Season      `json:"renumbered,omitempty"` // the seasons after the renumbering; nil: they stay
	Groups     []Group       `json:"groups,omitempty"`
	External   External      `json:"external,omitzero"`
	Odd        []Oddity      `json:"odd,omitempty"`

	years []int // years with an episode or a release, ascending
}

// AltTitle is one alternative title.
type AltTitle struct {
	Country string `json:"country"` // ISO 3166-1
	Title   string `json:"title"`
	Type    string `json:"type,omitempty"` // free text; "" in three of four
}

// Translation is the text of a work in one language.
type Translation struct {
	Language string `json:"language"` // ISO 639-1
	Country  string `json:"country"`  // ISO 3166-1
	Name     string `json:"name"`     // "" when it does not differ from the original
	Overview string `json:"overview,omitempty"`
}

// External holds the ids of a work elsewhere. Zero values become null.
type External struct {
	IMDb     string `json:"imdb,omitempty"`
	TVDB     int    `json:"tvdb,omitempty"`
	Wikidata string `json:"wikidata,omitempty"`
}

// Season is one season. Episodes makes its episodes from the runs.
type Season struct {
	Number int               `json:"number"`
	Name   string            `json:"name,omitempty"`  // English; "": "Season N" or "Specials"
	Names  map[string]string `json:"names,omitempty"` // by ISO 639-1
	Runs   []Run             `json:"runs"`
	Titles map[int]string    `json:"titles,omitempty"`  // by episode number; the others have a placeholder
	Undate bool              `json:"undated,omitempty"` // the season has no air date of its own
}

// Run is a sequence of episodes with consecutive numbers, aired at equal intervals.
type Run struct {
	First int `json:"first"`
	Last  int `json:"last"`
	Start Day `json:"start"`          // of First; NoDay: none of them has a date
	Step  int `json:"step,omitempty"` // days between two; 0 is read as 7
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
	ID          string `json:"id"` // 24 hexadecimal digits
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// 1 original air date, 2 absolute, 3 DVD, 4 digital, 5 story arc, 6 production, 7 TV
	Type    int         `json:"type"`
	Network bool        `json:"network,omitempty"`
	Parts   []GroupPart `json:"parts"`
}

// GroupPart is one division of a group.
type GroupPart struct {
	Name     string         `json:"name"`
	Order    int            `json:"order"`
	Episodes []EpisodeRange `json:"episodes"`
}

// EpisodeRange names the episodes First to Last of a season, by their place in the seasons.
type EpisodeRange struct {
	Season int `json:"season"`
	First  int `json:"first"`
	Last   int `json:"last"`
}

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
	if renumbered && w.Later != nil {
		return w.Later
	}
	return w.Seasons
}

func season(ss []Season, number int) *Season {
	for i := range ss {
		if ss[i].Number == number {
			return &ss[i]
		}
	}
	return nil
}

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
		for i, e := range s.Episodes() {
			if n := len(part.Episodes); i > 0 && part.Episodes[n-1].Last == e.Number-1 {
				part.Episodes[n-1].Last++
			} else {
				part.Episodes = append(part.Episodes, EpisodeRange{s.Number, e.Number, e.Number})
			}
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

//go:embed catalogue.jsonl
var authoredWorks []byte

// Authored returns the catalogue of the project: the shapes that anime takes on TMDB, as invented works with ids from
// 9,000,000 that can't be taken for facts, and a few dozen well-known works with their real ids. Of those it has facts
// alone: titles, dates and numbers of episodes, but neither overviews nor episode titles.
func Authored() (*Catalogue, error) { return readAuthored() }

var readAuthored = sync.OnceValues(func() (*Catalogue, error) {
	var works []Work
	for d := json.NewDecoder(bytes.NewReader(authoredWorks)); d.More(); {
		var w Work
		if err := d.Decode(&w); err != nil {
			return nil, fmt.Errorf("catalogue.jsonl, work %d: %w", len(works)+1, err)
		}
		works = append(works, w)
	}
	return NewCatalogue(works)
})

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
