package match

import (
	"slices"
	"time"

	"github.com/anivault/anivault/internal/title"
)

// byLaterCour finds the run of episodes that began in the year of the name, within the season that its title names, where the
// season began before: "Title Third Beat (2022)".
func (p *placer) byLaterCour() placement {
	n := p.hint.Arc
	if n == 0 && !p.stated() {
		n = p.season
	}
	if n == 0 || p.year == 0 || p.part > 0 {
		return placement{}
	}
	list := seasonSlots(p.all, n)
	hits := begunIn(p.year, runs(list, courGap))
	if len(hits) != 1 || firstYear(list) == p.year {
		return placement{}
	}
	first := hits[0][0]
	return p.found(positions(hits[0], p.eps, 0), trustYear, "by position in the run of season %d that begins with E%02d in %d", n, first.episode.Number, p.year)
}

// begunIn returns the runs whose first episode aired in the year.
func begunIn(year int, runs [][]slot) [][]slot {
	return slices.DeleteFunc(runs, func(run []slot) bool { return firstYear(run) != year })
}

// byYear finds the season or the run that began in the year of the name.
func (p *placer) byYear() placement {
	if p.year == 0 || p.season > 0 {
		return placement{}
	}
	var hits [][]slot
	for _, gap := range []time.Duration{1 << 62, courGap} {
		if hits = begunIn(p.year, runs(p.all, gap)); len(hits) == 1 {
			break
		}
	}
	if len(hits) == 0 {
		if at := p.specialDate(); at.ok {
			return at
		}
	}
	if len(hits) != 1 {
		p.note("%d runs of episodes begin in %d", len(hits), p.year)
		return placement{}
	}
	run := hits[0]
	if p.part > 0 {
		p.season = run[0].season
		return placement{} // byPart knows
	}
	return either(
		p.found(positions(run, p.eps, 0), trustYear, "by position in the run that begins with S%02dE%02d in %d", run[0].season, run[0].episode.Number, p.year),
		p.found(literal(run, p.eps), trustYear, "the number is in the run that begins in %d", p.year))
}

// byRuns finds a season that TMDB merged into another: the n-th run of episodes between pauses.
func (p *placer) byRuns() placement {
	if p.season == 0 {
		return placement{}
	}
	if _, ok := p.e.season(p.season); ok {
		return placement{}
	}
	seasons := len(runs(p.all, 1<<62))
	for _, gap := range []struct {
		name string
		list [][]slot
	}{{"long", runs(p.all, seasonGap)}, {"short", runs(p.all, courGap)}} {
		n := len(gap.list)
		if n < p.season || seasons > 1 && n != p.season {
			continue
		}
		run := gap.list[p.season-1]
		if p.part > 0 {
			parts := runs(run, courGap)
			if p.part > len(parts) {
				continue
			}
			run = parts[p.part-1]
		}
		why := "season %d is the run after a %s pause that begins with S%02dE%02d"
		for _, list := range [][]slot{positions(run, p.eps, 0), literal(run, p.eps)} {
			if at := p.found(list, trustRun, why, p.season, gap.name, run[0].season, run[0].episode.Number); at.ok {
				return at
			}
		}
	}
	p.note("the pauses between air dates do not make %d seasons", p.season)
	for _, gap := range []time.Duration{seasonGap, courGap} {
		if list := runs(p.all, gap); len(list) >= p.season {
			if at := p.found(literal(list[p.season-1], p.eps), trustRunNumber, "the number lies in run %d of the episodes between pauses", p.season); at.ok {
				return at
			}
		}
	}
	return placement{}
}

// byLength is for a name of a part that no season has: it takes the only season, specials included, that is long enough.
func (p *placer) byLength() placement {
	if p.season > 0 || p.part > 0 || p.hint.Rest == "" {
		return placement{}
	}
	last := p.most()
	only := 0
	for _, run := range runs(p.all, 1<<62) {
		if len(run) < last {
			continue
		}
		if only != 0 || len(runs(run, courGap)) > 1 {
			return placement{}
		}
		only = run[0].season
	}
	if only == 0 || len(p.specials) >= last {
		return placement{}
	}
	return p.found(literal(seasonSlots(p.all, only), p.eps), trustLength, "only season %d has as many episodes", only)
}

// comparable reports whether a season's name goes on from the very title that a reading does, in a language that is not the show's:
// then it is written as the reading is.
func (p *placer) comparable(season string) bool {
	plain := plainTitle(title.Normalize(season), p.titles)
	official := slices.ContainsFunc(p.titles, func(t named) bool { return t.primary && t.norm == plain })
	return !official && slices.ContainsFunc(p.hint.Arcs, func(a ArcText) bool { return plainTitle(a.Text, p.titles) == plain })
}

// byRest is for a name of a part that no season has, of a show of two seasons: it is the second, where the first is what the
// show's own title means, and as many specials are not there.
func (p *placer) byRest() placement {
	if p.season > 0 || p.part > 0 || p.hint.Rest == "" || p.hint.Arc > 0 || p.year != 0 {
		return placement{}
	}
	seasons := runs(p.all, 1<<62)
	if len(seasons) != 2 || len(runs(seasons[0], courGap)) > 1 || len(p.specials) >= p.most() {
		return placement{}
	}
	if slices.ContainsFunc(p.titles, func(t named) bool { return t.primary && subtitle(t, p.titles) != "" }) {
		return placement{} // the first season has the name of a part as well
	}
	ofShow := func(a ArcText) bool { return p.calledSo(plainTitle(a.Text, p.titles), title.Reads) }
	if len(p.hint.Arcs) > 0 && !slices.ContainsFunc(p.hint.Arcs, ofShow) {
		return placement{} // behind a short form of the title, where the rest of it may stand
	}
	n := seasons[1][0].season
	if s, _ := p.e.season(n); p.comparable(s.Name) {
		return placement{} // its name would be told again
	}
	return p.found(literal(seasonSlots(p.all, n), p.eps), trustRest, "only season %d is not called as the show is", n)
}
