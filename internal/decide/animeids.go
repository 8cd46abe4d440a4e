package decide

import (
	"slices"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
)

func (t *titleIndex) animeIDs(res match.Resolution) func(match.Decision) match.IDs {
	e := res.Entry
	switch {
	case e != nil:
	case res.Kind == match.Movie: // a search result can be enough to match a film
		e = &match.Entry{Kind: res.Kind, ID: res.ID}
	default:
		return func(match.Decision) match.IDs { return match.IDs{} }
	}
	var anime animeOfEntry
	known := map[int]index.IDs{}
	if t != nil {
		t.withIndex(func(x *index.Index) (err error) {
			if anime, err = findAnimeOfEntry(x, e); err != nil {
				return err
			}
			for _, c := range anime.siblings {
				if known[c.AniDBID], err = x.IDsOf(c.AniDBID); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return func(d match.Decision) match.IDs {
		ids := e.IDs
		if one := known[anime.forDecision(d)]; one.AniDB != 0 {
			ids.AniDB, ids.AniList, ids.MAL = one.AniDB, one.AniList, one.MAL
		}
		return ids
	}
}

type animeOfEntry struct {
	indexMapping // only its entry is set
	siblings     []index.Candidate
}

func findAnimeOfEntry(x *index.Index, e *match.Entry) (animeOfEntry, error) {
	h := animeOfEntry{indexMapping: indexMapping{entry: e}}
	if e.Kind == match.TV {
		var err error
		h.siblings, err = x.Siblings(e.ID)
		return h, err
	}
	films, err := x.AnimeOfFilm(e.ID)
	for _, id := range films {
		h.siblings = append(h.siblings, index.Candidate{Kind: match.Movie, AniDBID: id})
	}
	return h, err
}

func (h animeOfEntry) forDecision(d match.Decision) int {
	switch {
	case h.entry == nil:
		return 0
	case h.entry.Kind == match.Movie:
		if len(h.siblings) == 1 {
			return h.siblings[0].AniDBID
		}
		return 0
	case d.Season == nil:
		return 0
	case len(d.Episodes) == 0:
		return h.forSeason(*d.Season)
	}
	one := 0
	for _, n := range d.Episodes {
		a := h.forEpisode(*d.Season, n)
		if a == 0 || one != 0 && a != one {
			return 0
		}
		one = a
	}
	return one
}

func (h animeOfEntry) forSeason(season int) int {
	one := 0
	for _, c := range h.siblings {
		if c.Season == nil || *c.Season == season || len(c.Ranges) > 0 || h.seasonMissing(c) {
			if one != 0 {
				return 0
			}
			one = c.AniDBID
		}
	}
	return one
}

func (h animeOfEntry) seasonMissing(c index.Candidate) bool {
	return c.Season != nil && *c.Season > 0 && len(h.episodeNumbers(*c.Season)) == 0
}

// forEpisode returns the AniDB id of the only anime that has an episode, or 0. The lists say only where an anime
// begins, so an episode belongs to the last anime that begins before it. The last special is taken to have a single
// episode.
func (h animeOfEntry) forEpisode(season, episode int) int {
	list := h.episodeNumbers(season)
	at := slices.Index(list, episode) + 1 // the lists count from the start of the season
	if at == 0 {
		return 0
	}
	best, count, next := index.Candidate{Offset: -1}, 0, 0
	add := func(c index.Candidate, offset int) {
		switch {
		case offset >= at:
			if next == 0 || offset < next {
				next = offset
			}
		case offset > best.Offset:
			best, count = c, 1
			best.Offset = offset
		case offset == best.Offset && c.AniDBID != best.AniDBID:
			count++
		}
	}
	for _, c := range h.siblings {
		offset, holds := h.startOffset(c, season, at, episode)
		if h.seasonMissing(c) && season > 0 {
			return 0
		}
		if holds {
			add(c, offset)
		}
	}
	if count != 1 || season == 0 && next == 0 && at != best.Offset+1 {
		return 0
	}
	return best.AniDBID
}

func (h animeOfEntry) startOffset(c index.Candidate, season, at, episode int) (offset int, holds bool) {
	for _, r := range c.Ranges {
		if r.Season != season {
			continue
		}
		for _, n := range []int{at, episode} {
			from := n - r.Offset
			if len(r.Pairs) == 0 && r.Start > 0 && from >= r.Start && (r.End == 0 || from <= r.End) {
				return at - 1, true
			}
		}
		for _, target := range r.Pairs {
			if slices.Contains(target, at) {
				return at - 1, true
			}
		}
	}
	switch {
	case len(c.Ranges) > 0:
		return 0, false
	case c.Absolute:
		return 0, season > 0
	}
	return c.Offset, c.Season != nil && *c.Season == season
}
