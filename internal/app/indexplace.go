package app

// This file decides what becomes of a series that the title index knows: TMDB's details decide where they can be had, and
// the lists alone, with all due doubt, where they can't.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/report"
)

// resolveIndexed decides a series by the index: its candidates stand for a search, TMDB's details decide. found is the candidate
// that was taken. ok is false where a search has to tell.
func (m *matching) resolveIndexed(ctx context.Context, s match.Series) (res match.Resolution, found index.Candidate, ok bool) {
	if m.index == nil || len(s.IDs) > 0 {
		return res, found, false
	}
	said := m.index.find(s)
	certain := said.certain(s)
	if len(certain) == 0 {
		return res, found, false
	}
	local := match.Resolver{Source: indexSource{m.resolver.Source, certain}, Options: m.resolver.Options}
	res = local.Resolve(ctx, s)
	step := match.Step{Stage: "index", Detail: "the title index knows " + entriesText(len(certain)) + " of this title", Origin: &match.Origin{From: match.FromIndex}}
	res.Steps = slices.Concat([]match.Step{step}, res.Steps)
	switch {
	case res.Status == match.Matched && (res.Confidence < convincing || res.Entry == nil || !ofYear(res.Entry, s.Year) || !match.Whole(s, res.Entry)):
		return res, found, false // the lists may lack the work that is meant
	case res.Status == match.Matched:
		i := slices.IndexFunc(certain, func(c index.Candidate) bool { return c.Kind == res.Kind && c.ID == res.ID })
		if i < 0 {
			return res, found, false
		}
		res = named(res)
		// The lists know no namesake, as a search without a year would have shown it.
		m.known.show(match.Query{Kind: res.Kind}, []match.Hit{{Kind: res.Kind, ID: res.ID, Title: res.Title, OriginalTitle: res.OriginalTitle, Year: res.Year}})
		return res, certain[i], true
	case res.Err != nil && ctx.Err() == nil && !errors.Is(res.Err, match.ErrNoEntry):
		return unasked(s, certain, res)
	}
	return res, found, false
}

// listsText says where the lists put a file whose episodes begin after the season's first offset.
func listsText(season, offset int) string {
	text := fmt.Sprintf("by the lists: season %d", season)
	if offset > 0 {
		text += fmt.Sprintf(", counted on from episode %d", offset)
	}
	return text + "; unchecked, for TMDB could not be asked"
}

func entriesText(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// named gives a resolution that began with the index the names and the year of TMDB's entry.
func named(res match.Resolution) match.Resolution {
	e := res.Entry
	res.Title, res.OriginalTitle, res.Year = e.Title, e.OriginalTitle, e.Year
	res.Candidates = slices.Clone(res.Candidates)
	for i, c := range res.Candidates {
		if c.Kind == res.Kind && c.ID == res.ID {
			res.Candidates[i].Title, res.Candidates[i].Year = e.Title, e.Year
		}
	}
	return res
}

// convincing is the confidence below which a search is worth its request.
const convincing = 0.9

// unasked is what the index is worth while TMDB can't be asked: the entry, if there is but one and its title is not just a
// piece of the name.
func unasked(s match.Series, certain []index.Candidate, asked match.Resolution) (match.Resolution, index.Candidate, bool) {
	if len(certain) != 1 || s.Year != 0 && certain[0].Anime == 0 {
		return asked, index.Candidate{}, false
	}
	c := certain[0]
	if !match.Whole(s, &match.Entry{Kind: c.Kind, Title: c.Text, OriginalTitle: c.Original}) {
		return asked, index.Candidate{}, false
	}
	confidence := indexConfidence
	if s.Year != 0 && !strings.Contains(c.Text, strconv.Itoa(s.Year)) {
		confidence = yearUnseen
	}
	return match.Resolution{
		Status: match.Matched, Confidence: confidence, Kind: c.Kind, ID: c.ID, Title: c.Text, OriginalTitle: c.Original,
		Origin: match.Origin{From: match.FromIndex}, Reason: "by the title index alone; TMDB could not be asked", Steps: asked.Steps, Err: asked.Err,
	}, c, true
}

// How far an exact title in the index is believed when nothing else can be looked at, and when the name has a year that
// the title does not confirm.
const (
	indexConfidence = 0.9
	yearUnseen      = 0.82
)

// decideIndexed places the files of a series that the index has decided.
func (m *matching) decideIndexed(ctx context.Context, s match.Series, res match.Resolution, c index.Candidate, decided func(match.File, match.Decision)) {
	if res.Entry == nil && res.Kind == match.TV {
		siblings := m.index.find(s).siblings[c.ID]
		for _, f := range s.Files {
			d := placeUnasked(m.resolver.Place(ctx, f, res), f.Release, c, siblings)
			if d.Status == match.Matched && d.Season == nil && passing(res.Err) {
				d.Status, d.Reason = match.Pending, "the title index knows the entry, but its seasons could not be asked for"
			}
			decided(f, d)
		}
		return
	}
	if c.Absolute {
		res.Mapping = &match.Mapping{Absolute: true, Offset: c.Offset}
	} else if c.Season != nil && *c.Season > 0 {
		res.Mapping = &match.Mapping{Season: *c.Season, Offset: c.Offset}
	}
	for _, f := range s.Files {
		f.Release = mappedRelease(f.Release, c)
		decided(f, m.resolver.Place(ctx, f, res))
	}
}

// passing reports whether asking again soon may work: then half an answer is none.
func passing(err error) bool {
	code, _ := Explain(err)
	return !slices.Contains([]report.Code{report.CodeBlocked, report.CodeUnauthorized, report.CodeBudget}, code)
}

// mappedRelease is the reading of a name in TMDB's numbers, where the lists map its episodes one by one or put the whole anime
// among the specials. Everything else match.Mapping says.
func mappedRelease(r release.Release, c index.Candidate) release.Release {
	if len(c.Ranges) == 0 && (c.Season == nil || *c.Season != 0) {
		return r
	}
	eps, ok := wholeEpisodes(r)
	if !ok || len(r.Seasons) == 1 && r.Seasons[0] != 1 {
		return r
	}
	season, mapped := -1, []float64{}
	for _, n := range eps {
		to, numbers, ok := c.Place(n)
		if !ok || season >= 0 && to != season {
			return r
		}
		season = to
		for _, e := range numbers {
			mapped = append(mapped, float64(e))
		}
	}
	r.Seasons, r.Episodes, r.Absolute, r.Part = []int{season}, mapped, false, 0
	return r
}

// surelyInFirst is how many episodes even a short season has: a number up to it is not taken for one of a later season.
const surelyInFirst = 12

// placeUnasked says the season and episode of a file by the lists alone, where they leave no doubt; else the decision stays
// without, and says so. It keeps the error, so that it is not remembered and the next run looks closer.
func placeUnasked(d match.Decision, r release.Release, c index.Candidate, siblings []index.Candidate) match.Decision {
	if d.Status != match.Matched {
		return d
	}
	d.Reason = "the title index knows the entry; which season and episode, only TMDB can tell, and it could not be asked"
	eps, ok := wholeEpisodes(r)
	if !ok {
		return d
	}
	if n, stated := r.Season(); stated && n != 1 {
		known := slices.ContainsFunc(siblings, func(o index.Candidate) bool { return o.Season != nil && *o.Season == n && o.Offset == 0 })
		if c.Season == nil && known && n > 0 {
			d.Season, d.Episodes = &n, eps
			d.Reason = fmt.Sprintf("the lists know a season %d; unchecked, for TMDB could not be asked", n)
			return d
		}
		if c.Season == nil {
			return d
		}
	}
	season, out := -1, []int(nil)
	for _, n := range eps {
		to, numbers, ok := c.Place(n)
		if !ok || season >= 0 && to != season || len(c.Ranges) == 0 && beyond(n, c, siblings) {
			return d
		}
		season, out = to, append(out, numbers...)
	}
	d.Season, d.Episodes = &season, out
	d.Reason = listsText(season, c.Offset)
	return d
}

// beyond reports whether an episode number may belong to a later anime of the same series: it reaches into one that begins in
// the same season, or it is higher than short seasons go and there are later seasons.
func beyond(n int, c index.Candidate, siblings []index.Candidate) bool {
	for _, o := range siblings {
		switch {
		case o.Season == nil || o.Anime == c.Anime || *o.Season == 0 && *c.Season != 0:
		case *o.Season == *c.Season && o.Offset > c.Offset && n+c.Offset > o.Offset:
			return true
		case *o.Season > *c.Season && n > surelyInFirst:
			return true
		}
	}
	return false
}
