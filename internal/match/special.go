package match

// This file decides where specials go: to season 0, by an explicit number that exists there, by title, or by date; never
// by position. Half episodes (12.5) are recaps and specials, whatever stands around them.

import (
	"fmt"
	"slices"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// isSpecial reports whether the name says that it is no regular episode.
func (p *placer) isSpecial() bool {
	if p.rel.Kind == release.Special || p.rel.Special != "" {
		return true
	}
	n, ok := p.rel.Season()
	return ok && n == 0
}

// special places a special, or says why not.
func (p *placer) special(half bool) placement {
	if len(p.specials) == 0 {
		return placement{why: "a special, and TMDB lists none"}
	}
	if n, explicit := p.rel.Season(); explicit && n == 0 && !half && len(p.rel.Episodes) > 0 {
		eps := make([]int, 0, len(p.rel.Episodes))
		for _, e := range p.rel.Episodes {
			eps = append(eps, int(e))
		}
		if at := found(literal(p.specials, eps), "season 0 has the number"); at.ok {
			return at
		}
		return placement{why: fmt.Sprintf("season 0 holds no episode %s", numbers(eps))}
	}
	if at := p.specialTitle(); at.ok {
		return at
	}
	if at := p.specialDate(); at.ok {
		return at
	}
	return placement{why: "a special: neither its title nor its date tells which"}
}

// specialLeast is how alike the name of a special must be.
const specialLeast = 0.9

// specialTitle finds the one special whose name the file's title or episode title is.
func (p *placer) specialTitle() placement {
	if len(p.specials) == 0 {
		return placement{}
	}
	var texts []string
	add := func(s string) {
		if n := title.Normalize(s); n != "" && !placeholderEpisode(n) {
			texts = append(texts, n)
		}
	}
	add(p.rel.EpisodeTitle)
	for _, a := range p.hint.Arcs {
		add(a.Text)
		if _, seq := splitSequel("x " + a.Rest); seq.Zero() {
			add(a.Rest)
		}
	}
	var hits []slot
	for i, s := range p.specials {
		if p.names[i].norm == "" {
			continue
		}
		for _, t := range texts {
			if title.Similarity(p.names[i].norm, t) >= specialLeast {
				hits = append(hits, s)
				break
			}
		}
	}
	return p.one(hits, "by the title of a special")
}

// one accepts a set of specials that the name picks out: a single one for a single file, or the numbers of the
// file among them.
func (p *placer) one(hits []slot, why string) placement {
	n := len(p.rel.Episodes)
	switch {
	case len(hits) == 1 && n <= 1 && (n == 0 || p.rel.Episodes[0] <= 1):
		return found(hits, "%s", why)
	case len(hits) > 1 && n == 1 && p.rel.Episodes[0] >= 1 && int(p.rel.Episodes[0]) <= len(hits):
		return found(hits[int(p.rel.Episodes[0])-1:int(p.rel.Episodes[0])], "%s, of several that have it", why)
	}
	return placement{}
}

// specialDate finds the one special of the year that the name says, if no regular episode aired in it.
func (p *placer) specialDate() placement {
	if p.year == 0 || len(p.rel.Episodes) > 1 || airedIn(p.all, p.year) {
		return placement{}
	}
	hits := slices.DeleteFunc(slices.Clone(p.specials), func(s slot) bool { return s.aired.IsZero() || s.aired.Year() != p.year })
	return p.one(hits, fmt.Sprintf("the specials of %d", p.year))
}

// placeholderEpisode tells the names that TMDB puts where an episode has none; they are no titles.
func placeholderEpisode(norm string) bool { return placeholderRE.MatchString(norm) }
