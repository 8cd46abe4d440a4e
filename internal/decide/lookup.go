package decide

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/tmdb"
)

// Wanted is a search by a person: words of a title, with an optional kind and year.
type Wanted struct {
	Text string
	Kind match.Kind // "": either
	Year int        // 0: any
}

// Found is an entry with such a title. Entry is nil if only a row of a search or of the index is known.
type Found struct {
	Hit    match.Hit
	Entry  *match.Entry
	Origin match.Origin
	Index  bool // found in the title index; its details were not fetched
}

// Seasons returns how many seasons a series has, without the specials, and how many episodes; 0 where that is not
// known.
func (f Found) Seasons() (seasons, episodes int) {
	if f.Entry == nil {
		return 0, 0
	}
	for _, s := range f.Entry.Seasons {
		if s.Number > 0 {
			seasons++
		}
	}
	return seasons, f.Entry.EpisodeCount
}

const maxFound = 20

// Lookup returns what TMDB and the title index have under a title, the likeliest first; more says that there are
// others. With an error, some of TMDB's entries may be missing.
func (d *Deciders) Lookup(ctx context.Context, w Wanted) (found []Found, more bool, err error) {
	w.Text = strings.Join(strings.Fields(norm.NFC.String(w.Text)), " ")
	found = d.indexHits(w)
	for _, kind := range []match.Kind{match.TV, match.Movie} {
		if w.Kind != "" && w.Kind != kind {
			continue
		}
		hits, origin, failed := d.resolver.Source.Search(ctx, match.Query{Kind: kind, Text: w.Text, Year: w.Year})
		err = cmp.Or(err, failed)
		for _, h := range hits {
			found = addFound(found, Found{Hit: h, Origin: origin})
		}
	}
	byLikeness(found, w.Text)
	if more = len(found) > maxFound; more {
		found = found[:maxFound]
	}
	err = cmp.Or(err, d.details(ctx, found))
	found = slices.DeleteFunc(found, func(f Found) bool { return f.Hit.ID == 0 })
	return found, more, err
}

func addFound(list []Found, f Found) []Found {
	i := slices.IndexFunc(list, func(o Found) bool { return o.Hit.Kind == f.Hit.Kind && o.Hit.ID == f.Hit.ID })
	if i < 0 {
		return append(list, f)
	}
	if list[i].Index && !f.Index {
		list[i] = f
	}
	return list
}

func byLikeness(found []Found, text string) {
	want := title.Normalize(text)
	rank := func(f Found) int {
		if f.Index || slices.Contains([]string{title.Normalize(f.Hit.Title), title.Normalize(f.Hit.OriginalTitle)}, want) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(b.Hit.Popularity, a.Hit.Popularity),
			cmp.Compare(a.Hit.Kind, b.Hit.Kind), cmp.Compare(a.Hit.ID, b.Hit.ID))
	})
}

func (d *Deciders) details(ctx context.Context, found []Found) error {
	var group errgroup.Group
	var mu sync.Mutex
	var first error
	for i := range found {
		f := &found[i]
		if f.Hit.Kind == match.Movie && !f.Index {
			continue
		}
		group.Go(func() error {
			e, origin, err := d.Entry(ctx, f.Hit.Kind, f.Hit.ID)
			if err == nil {
				f.Entry, f.Hit, f.Index = e, e.Hit(), false
				f.Origin = f.Origin.CombinedWith(origin)
				return nil
			}
			if errors.Is(err, match.ErrNoEntry) {
				f.Hit.ID = 0
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			first = cmp.Or(first, err)
			return nil
		})
	}
	_ = group.Wait() // the functions return nil; the error is in first
	return first
}

func hitOf(c index.Candidate) match.Hit {
	return match.Hit{Kind: c.Kind, ID: c.ID, Title: c.Text, OriginalTitle: c.Original, Popularity: c.Popularity}
}

func (d *Deciders) indexHits(w Wanted) (found []Found) {
	if d.index == nil {
		return nil
	}
	d.index.withIndex(func(x *index.Index) error {
		for _, look := range []func(string) ([]index.Candidate, error){x.Lookup, x.LookupLoosely} {
			candidates, err := look(w.Text)
			if err != nil {
				return err
			}
			for _, c := range candidates {
				if (w.Kind == "" || w.Kind == c.Kind) && w.Year == 0 && len(found) < maxFound {
					found = addFound(found, Found{Index: true, Hit: hitOf(c)})
				}
			}
			if len(found) > 0 {
				return nil
			}
		}
		return nil
	})
	return found
}

// Cached finds entries by their titles in cached answers, for when TMDB can't be asked.
type Cached struct {
	wanted Wanted
	words  []string
	shown  languages
	found  []Found
	titled map[knownEntry]bool // whether its title is in the language of this run
}

// NewCached returns a Cached that starts with the given results.
func NewCached(w Wanted, shown []string, found []Found) *Cached {
	return &Cached{
		wanted: w, words: strings.Fields(title.Normalize(w.Text)), shown: shown, found: found, titled: map[knownEntry]bool{},
	}
}

// Add adds the matching entries of one cached answer. The path and query are those of its request, without /3.
func (c *Cached) Add(path, query string, body []byte, origin match.Origin) {
	inLanguage := false
	if q, err := url.ParseQuery(query); err == nil {
		inLanguage = q.Get("language") == c.shown.first()
	}
	answer, _ := tmdb.Decode("/3/"+strings.TrimPrefix(path, "/"), body) // ignore an answer that can't be decoded
	var hits []match.Hit
	switch a := answer.(type) {
	case *tmdb.SearchTVPage:
		hits = tvHits(a.Results)
	case *tmdb.SearchMoviePage:
		hits = movieHits(a.Results)
	case *tmdb.TVDetails:
		c.entry(tvEntry(a), origin, inLanguage)
	case *tmdb.MovieDetails:
		c.entry(movieEntry(a), origin, inLanguage)
	}
	for _, h := range hits {
		if c.mayContain(h.Kind, h.Year, h.Title, h.OriginalTitle) {
			c.keep(Found{Hit: h, Origin: origin}, inLanguage)
		}
	}
}

func (c *Cached) entry(e *match.Entry, origin match.Origin, inLanguage bool) {
	titles := []string{e.Title, e.OriginalTitle}
	for _, t := range e.Titles {
		titles = append(titles, t.Text)
	}
	if c.mayContain(e.Kind, e.Year, titles...) {
		c.keep(Found{Hit: c.shown.named(e).Hit(), Entry: e, Origin: origin}, inLanguage)
	}
}

func (c *Cached) mayContain(kind match.Kind, year int, titles ...string) bool {
	if c.wanted.Kind != "" && c.wanted.Kind != kind || c.wanted.Year != 0 && c.wanted.Year != year || len(c.words) == 0 {
		return false
	}
	return slices.ContainsFunc(titles, func(text string) bool {
		text = title.Normalize(text)
		return !slices.ContainsFunc(c.words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

func (c *Cached) keep(f Found, inLanguage bool) {
	key := knownEntry{f.Hit.Kind, f.Hit.ID}
	i := slices.IndexFunc(c.found, func(o Found) bool { return o.Hit.Kind == key.kind && o.Hit.ID == key.id })
	if i < 0 {
		c.found, c.titled[key] = append(c.found, f), inLanguage
		return
	}
	old := &c.found[i]
	detailed, worse := f.Entry != nil && old.Entry == nil || old.Index, f.Entry == nil && old.Entry != nil
	if detailed || !worse && inLanguage && !c.titled[key] {
		*old, c.titled[key] = f, inLanguage
	}
}

// Found returns at most maxFound entries, likeliest first, and whether there are more.
func (c *Cached) Found() (found []Found, more bool) {
	byLikeness(c.found, c.wanted.Text)
	return c.found[:min(len(c.found), maxFound)], len(c.found) > maxFound
}
