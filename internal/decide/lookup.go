package decide

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/tmdb"
)

// TitleSearch is a search by a person: words of a title, with an optional kind and year.
type TitleSearch struct {
	Text string
	Kind match.Kind // "" for either kind
	Year int        // 0 for any year
}

// SearchResult is an entry that a TitleSearch found. Entry is nil if its details were not fetched.
type SearchResult struct {
	Hit       match.Hit
	Entry     *match.Entry
	Origin    match.Origin
	FromIndex bool // Hit is from the title index, not from TMDB
}

// SeasonAndEpisodeCount returns how many seasons a series has, without the specials, and how many episodes. Both are 0
// if its details were not fetched.
func (f SearchResult) SeasonAndEpisodeCount() (seasons, episodes int) {
	if f.Entry == nil {
		return 0, 0
	}
	seasons = slicesx.Count(f.Entry.Seasons, func(s match.Season) bool { return s.Number > 0 })
	return seasons, f.Entry.EpisodeCount
}

const maxResults = 20

// Lookup searches TMDB and the title index for a title, and returns the likeliest entries first. more is true if there
// are others. If it returns an error, some of TMDB's entries may be missing.
func (d *Deciders) Lookup(ctx context.Context, w TitleSearch) (found []SearchResult, more bool, err error) {
	w.Text = strings.Join(strings.Fields(norm.NFC.String(w.Text)), " ")
	found = d.indexHits(w)
	for _, kind := range []match.Kind{match.TV, match.Movie} {
		if w.Kind != "" && w.Kind != kind {
			continue
		}
		hits, origin, failed := d.resolver.Source.Search(ctx, match.Query{Kind: kind, Text: w.Text, Year: w.Year})
		err = cmp.Or(err, failed)
		for _, h := range hits {
			found = mergeResult(found, SearchResult{Hit: h, Origin: origin})
		}
	}
	sortByTitleMatch(found, w.Text)
	if more = len(found) > maxResults; more {
		found = found[:maxResults]
	}
	err = cmp.Or(err, d.fetchDetails(ctx, found))
	found = slices.DeleteFunc(found, func(f SearchResult) bool { return f.Hit.ID == 0 })
	return found, more, err
}

func mergeResult(list []SearchResult, f SearchResult) []SearchResult {
	i := slices.IndexFunc(list, func(o SearchResult) bool { return o.Hit.Kind == f.Hit.Kind && o.Hit.ID == f.Hit.ID })
	if i < 0 {
		return append(list, f)
	}
	if list[i].FromIndex && !f.FromIndex {
		list[i] = f
	}
	return list
}

func sortByTitleMatch(found []SearchResult, text string) {
	want := title.Normalize(text)
	rank := func(f SearchResult) int {
		if f.FromIndex ||
			slices.Contains([]string{title.Normalize(f.Hit.Title), title.Normalize(f.Hit.OriginalTitle)}, want) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(a, b SearchResult) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(b.Hit.Popularity, a.Hit.Popularity),
			cmp.Compare(a.Hit.Kind, b.Hit.Kind), cmp.Compare(a.Hit.ID, b.Hit.ID))
	})
}

func (d *Deciders) fetchDetails(ctx context.Context, found []SearchResult) error {
	var group errgroup.Group
	for i := range found {
		f := &found[i]
		if f.Hit.Kind == match.Movie && !f.FromIndex {
			continue
		}
		group.Go(func() error {
			e, origin, err := d.Entry(ctx, f.Hit.Kind, f.Hit.ID)
			switch {
			case err == nil:
				f.Entry, f.Hit, f.FromIndex = e, e.Hit(), false
				f.Origin = f.Origin.CombinedWith(origin)
			case errors.Is(err, match.ErrNoEntry):
				f.Hit.ID = 0
				return nil
			}
			return err
		})
	}
	return group.Wait()
}

func hitOf(c index.Candidate) match.Hit {
	return match.Hit{Kind: c.Kind, ID: c.ID, Title: c.Text, OriginalTitle: c.Original, Popularity: c.Popularity}
}

func (d *Deciders) indexHits(w TitleSearch) (found []SearchResult) {
	d.index.withIndex(func(x *index.Index) error {
		for _, look := range []func(string) ([]index.Candidate, error){x.Lookup, x.LookupLoosely} {
			candidates, err := look(w.Text)
			if err != nil {
				return err
			}
			for _, c := range candidates {
				if (w.Kind == "" || w.Kind == c.Kind) && w.Year == 0 && len(found) < maxResults {
					found = mergeResult(found, SearchResult{FromIndex: true, Hit: hitOf(c)})
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

// CachedSearch finds entries by title in cached answers. It is used when TMDB can't be asked.
type CachedSearch struct {
	search         TitleSearch
	words          []string
	titleLanguages languages
	results        []SearchResult
	inLanguage     map[knownEntry]bool // whether the result's title is in the language of this run
}

// NewCachedSearch returns a CachedSearch that starts with the given results.
func NewCachedSearch(w TitleSearch, shown []string, found []SearchResult) *CachedSearch {
	return &CachedSearch{
		search: w, words: strings.Fields(title.Normalize(w.Text)), titleLanguages: shown, results: found,
		inLanguage: map[knownEntry]bool{},
	}
}

// Add adds the matching entries of one cached answer. The path and query are those of its request; the path
// lacks the leading /3.
func (c *CachedSearch) Add(path, query string, body []byte, origin match.Origin) {
	inLanguage := false
	if q, err := url.ParseQuery(query); err == nil {
		inLanguage = q.Get("language") == c.titleLanguages.primary()
	}
	answer, _ := tmdb.Decode("/3/"+strings.TrimPrefix(path, "/"), body) // ignore an answer that can't be decoded
	var hits []match.Hit
	switch a := answer.(type) {
	case *tmdb.SearchTVPage:
		hits = tvHits(a.Results)
	case *tmdb.SearchMoviePage:
		hits = movieHits(a.Results)
	case *tmdb.TVDetails:
		c.addEntry(tvEntry(a), origin, inLanguage)
	case *tmdb.MovieDetails:
		c.addEntry(movieEntry(a), origin, inLanguage)
	}
	for _, h := range hits {
		if c.mayContain(h.Kind, h.Year, h.Title, h.OriginalTitle) {
			c.addResult(SearchResult{Hit: h, Origin: origin}, inLanguage)
		}
	}
}

func (c *CachedSearch) addEntry(e *match.Entry, origin match.Origin, inLanguage bool) {
	titles := []string{e.Title, e.OriginalTitle}
	for _, t := range e.Titles {
		titles = append(titles, t.Title)
	}
	if c.mayContain(e.Kind, e.Year, titles...) {
		c.addResult(SearchResult{Hit: c.titleLanguages.localize(e).Hit(), Entry: e, Origin: origin}, inLanguage)
	}
}

func (c *CachedSearch) mayContain(kind match.Kind, year int, titles ...string) bool {
	ofKind, ofYear := c.search.Kind == "" || c.search.Kind == kind, c.search.Year == 0 || c.search.Year == year
	return ofKind && ofYear && len(c.words) > 0 && slices.ContainsFunc(titles, func(text string) bool {
		text = title.Normalize(text)
		return !slices.ContainsFunc(c.words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

func (c *CachedSearch) addResult(f SearchResult, inLanguage bool) {
	key := knownEntry{f.Hit.Kind, f.Hit.ID}
	i := slices.IndexFunc(c.results, func(o SearchResult) bool { return o.Hit.Kind == key.kind && o.Hit.ID == key.id })
	if i < 0 {
		c.results, c.inLanguage[key] = append(c.results, f), inLanguage
		return
	}
	old := &c.results[i]
	detailed, worse := f.Entry != nil && old.Entry == nil || old.FromIndex, f.Entry == nil && old.Entry != nil
	if detailed || !worse && inLanguage && !c.inLanguage[key] {
		*old, c.inLanguage[key] = f, inLanguage
	}
}

// Results returns at most maxResults entries, likeliest first, and whether there are more.
func (c *CachedSearch) Results() (found []SearchResult, more bool) {
	sortByTitleMatch(c.results, c.search.Text)
	return c.results[:min(len(c.results), maxResults)], len(c.results) > maxResults
}
