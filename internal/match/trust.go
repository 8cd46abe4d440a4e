package match

import (
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/title"
)

// How often a place is right that was found in a way, where nothing casts doubt on it. docs/matching.md has the table of predicted
// and measured confidences.
const (
	trustSeason        = 0.985 // the season of the name has the number
	trustFirst         = 0.995 // so has the first season, and the name says no other
	trustName          = 0.97  // the season whose name is in the title
	trustRead          = 0.91  // the season whose Japanese name may be read so
	trustLast          = 0.91  // the last season of one that the name calls final
	trustMapping       = 0.97  // an imported list
	trustOverall       = 0.97  // a number over all seasons beside the season's
	trustCounted       = 0.99  // counted over all seasons
	trustGroup         = 0.95  // an episode group
	trustYear          = 0.97  // the run that began in the year of the name
	trustPart          = 0.95  // by position in a part between pauses
	trustPartNumber    = 0.6   // a number as counted over all parts
	trustRun           = 0.94  // a season as a run between pauses
	trustRunNumber     = 0.95  // a number as counted over all of them
	trustLength        = 0.97  // no other season is long enough
	trustWhole         = 0.97  // a batch of a season
	trustAlone         = 0.7   // a file that says a season and nothing else
	trustSpecialNumber = 0.93  // season 0 has the number
	trustSpecialTitle  = 0.97  // a special is called so
	trustSpecialOrder  = 0.92  // several are, and the name counts them
	trustGuess         = 0.15  // no way applies
)

// trustTwins is for a folder in which two numbers have one place.
const trustTwins = 0.5

// doubts are what makes a place less certain: its trust is multiplied by times for each that applies. why is for people.
var doubts = []struct {
	why     string
	times   float64
	applies func(*placer, placement) bool
}{
	{"the title may be that of another season", 0.6, func(p *placer, at placement) bool {
		return p.untold(at) && p.fitsIn(p.all, func(s slot) bool { return s.season != at.season })
	}},
	{"the title may be that of a later cour", 0.8, func(p *placer, at placement) bool {
		return at.trust == trustFirst && p.untold(at) && len(runs(seasonSlots(p.all, at.season), courGap)) > 1
	}},
	{"the title may be that of a special", 0.6, func(p *placer, at placement) bool {
		return p.untold(at) && p.fitsIn(p.specials, anySlot) && plainTitle(p.hint.called.norm, p.titles) != ""
	}},
	{"there are as many specials", 0.8, func(p *placer, at placement) bool { return p.untold(at) && p.fitsIn(p.specials, anySlot) }},
	{"the title says a film or a special", 0.5, func(p *placer, _ placement) bool {
		return slices.ContainsFunc(p.hint.Arcs, func(a ArcText) bool { return saysSpecial(a.Rest) })
	}},
	{"the title ends in a season that TMDB does not have", 0.6, func(p *placer, _ placement) bool { return p.hint.lost && !p.stated() }},
	{"TMDB has no final season", 0.5, func(p *placer, _ placement) bool { return p.final() && !p.severalSeasons() }},
	{"an earlier season has several cours", 0.8, func(p *placer, at placement) bool {
		first := seasonSlots(p.all, p.all[0].season)
		return p.stated() && at.season == p.season && at.season > first[0].season && !p.hint.called.primary && len(runs(first, courGap)) > 1
	}},
	{"TMDB has several seasons, but not this one", 0.9, func(p *placer, at placement) bool { return at.trust == trustRun && p.severalSeasons() }},
}

func anySlot(slot) bool { return true }

// saysSpecial reports whether the rest of a title has a word for what is no regular episode.
func saysSpecial(rest string) bool {
	return slices.ContainsFunc(strings.Fields(rest), meansPart) || strings.Contains(rest, "劇場版") || strings.Contains(rest, "剧场版")
}

// doubted returns a placement with its trust as the doubts leave it.
func (p *placer) doubted(at placement) placement {
	if !at.ok || len(p.eps) == 0 {
		return at
	}
	for _, d := range doubts {
		if d.applies(p, at) {
			p.note("%s: %.2f times as certain", d.why, d.times)
			at.trust *= d.times
			if d.times < 0.9 {
				at.why += ", but " + d.why
			}
		}
	}
	return at
}

// untold reports whether nothing tells that the title means the season of a place: the name states none and no year of its, and
// TMDB lists the title among the alternative ones, where those of other seasons and of specials stand too, without saying which.
func (p *placer) untold(at placement) bool {
	t := p.hint.called
	if t.norm == "" || at.trust != trustFirst && at.trust != trustCounted || p.stated() || p.rel.Year != 0 && airedIn(at.slots, p.rel.Year) {
		return false
	}
	plain := plainTitle(t.norm, p.titles)
	switch {
	case p.calledSo(t.norm, nil), p.hint.agreed && plain == "", strings.HasSuffix(t.norm, " tv"):
		return false
	case p.calledSo(t.norm, title.Reads) && (plain == "" || !p.calledSo(plain, title.Reads)):
		return false
	}
	return !slices.ContainsFunc(p.titles, func(o named) bool { return !o.seq.Zero() && o.base == t.norm && o.seq.Year == 0 })
}

// calledSo reports whether a text is what the show as a whole is called, or how that is read.
func (p *placer) calledSo(norm string, reads func(japanese, latin string) bool) bool {
	return slices.ContainsFunc(p.titles, func(t named) bool {
		return t.primary && (title.Similarity(t.norm, norm) >= almostExact || reads != nil && reads(t.text, norm))
	})
}

// fitsIn reports whether a season among some slots has as many episodes as the file counts.
func (p *placer) fitsIn(list []slot, some func(slot) bool) bool {
	counts := map[int]int{}
	for _, s := range list {
		if some(s) {
			counts[s.season]++
		}
	}
	for _, n := range counts {
		if n >= slices.Max(p.eps) {
			return true
		}
	}
	return false
}
