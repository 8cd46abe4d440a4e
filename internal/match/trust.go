package match

import (
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// method is how a place was found, and how often that is right. docs/matching.md has the measured confidences.
type method struct{ trust float64 }

var (
	viaSeason        = &method{0.99}  // the season of the name has the number
	viaFirst         = &method{0.995} // so has the first season, and the name states no other
	viaName          = &method{0.95}  // the season whose name is in the title
	viaWord          = &method{0.93}  // the season whose name shares a word with the title
	viaReading       = &method{0.91}  // the season whose Japanese name may be read like the title
	viaFinal         = &method{0.91}  // the last season, where the name says "final"
	viaMapping       = &method{0.97}  // an imported list
	viaOverall       = &method{0.97}  // a number over all seasons beside the season's
	viaCounted       = &method{0.99}  // counted over all seasons
	viaGroup         = &method{0.95}  // an episode group
	viaYear          = &method{0.97}  // the run that began in the year of the name
	viaPart          = &method{0.95}  // by position in a part between pauses
	viaPartNumber    = &method{0.95}  // a part between pauses has the number
	viaRun           = &method{0.94}  // by position in a season that is a run between pauses
	viaRunNumber     = &method{0.95}  // such a run has the number
	viaLength        = &method{0.97}  // no other season is long enough
	viaRest          = &method{0.91}  // the only season besides the first
	viaBatch         = &method{0.97}  // a batch of a season
	viaAlone         = &method{0.7}   // a file that says a season and nothing else
	viaAtEnd         = &method{0.91}  // a number after the title that no season and no special has
	viaSpecialNumber = &method{0.93}  // season 0 has the number
	viaSpecialTitle  = &method{0.97}  // a special has the title
	viaSpecialOrder  = &method{0.92}  // several have it, and the name counts them
	viaOnlySpecial   = &method{0.91}  // there is no other
	viaGuess         = &method{0.15}  // nothing else applies
)

// trustTwins is for a folder in which two numbers have one place.
const trustTwins = 0.5

// doubts make a place less certain: each that applies multiplies its trust.
var doubts = []struct {
	why     lang.Text
	times   float64
	applies func(*placer, placement) bool
}{
	{"the title may be that of another season", 0.4, func(p *placer, at placement) bool {
		if !seasonUnclear(p, at) {
			return false
		}
		others := slices.DeleteFunc(slices.Clone(p.all), func(s slot) bool { return s.season == at.season })
		return longest(others) >= p.highest()
	}},
	{"the title may be that of a later cour", 0.8, func(p *placer, at placement) bool {
		return at.method == viaFirst && seasonUnclear(p, at) && len(runs(seasonSlots(p.all, at.season), courGap)) > 1
	}},
	{"the title may be that of a special", 0.6, func(p *placer, at placement) bool {
		return p.enoughSpecials() && seasonUnclear(p, at) && leadingTitle(p.hint.title.norm, p.titles) != ""
	}},
	{"there are as many specials", 0.8, func(p *placer, at placement) bool {
		return p.enoughSpecials() &&
			(at.method == viaWord && specialSharesWords(p) || at.method == viaReading || seasonUnclear(p, at))
	}},
	{"a special has that title too", 0.5, func(p *placer, at placement) bool {
		called := func(n specialName) bool {
			return n.matches(p.hint.title.norm) || n.number > 0 && n.stem == p.hint.title.norm
		}
		return at.method == viaFirst && !p.stated() && p.enoughSpecials() && slices.ContainsFunc(p.names, called)
	}},
	{"a special may be of that year", 0.6, func(p *placer, at placement) bool {
		mayBe := func(s slot) bool { return s.aired.IsZero() || s.aired.Year() == p.rel.Year }
		return (at.method == viaFirst || at.method == viaYear) && p.rel.Year != 0 && !p.stated() &&
			p.enoughSpecials() && slices.ContainsFunc(p.specials, mayBe)
	}},
	{"the year may be that of a later season or cour", 0.5, func(p *placer, at placement) bool {
		if at.method != viaFirst && at.method != viaYear || p.rel.Year == 0 || p.stated() || at.season != p.all[0].season {
			return false
		}
		stating := func(t named) bool {
			return !t.primary && t.seq == Sequel{Year: p.rel.Year} && t.base == p.hint.title.base
		}
		return slices.ContainsFunc(p.titles, stating) && len(begunIn(p.rel.Year, runs(p.all, courGap))) > 1
	}},
	{"the next season began more than a year later", 0.5, func(p *placer, at placement) bool {
		if at.method != viaCounted || !p.stated() || at.season != p.season+1 {
			return false
		}
		list := seasonSlots(p.all, p.season)
		if len(list) == 0 {
			return false
		}
		end, begin := list[len(list)-1].aired, seasonSlots(p.all, at.season)[0].aired
		return !end.IsZero() && !begin.IsZero() && begin.Sub(end) > 365*24*time.Hour
	}},
	{"a later season has the number", 0.6, func(p *placer, at placement) bool {
		return at.method == viaCounted && seasonUnclear(p, at) && literal(seasonSlots(p.all, at.season), p.eps) != nil
	}},
	{"the part may be one of another season", 0.6, func(p *placer, at placement) bool {
		t := p.hint.title
		return at.method == viaPart && p.season == 0 && p.hint.Arc == 0 && !p.stated() && p.severalSeasons() &&
			leadingTitle(t.base, p.titles) != "" && !p.isShowTitle(t.base, title.Reads)
	}},
	{"the number may count over all seasons", 0.5, func(p *placer, at placement) bool {
		if at.method != viaPartNumber {
			return false
		}
		over := p.found(positions(p.all, p.eps, 0), viaCounted, "")
		return over.ok && over.text() != at.text()
	}},
	{"the title says that it is a film or a special", 0.5, func(p *placer, _ placement) bool {
		special := func(a ArcText) bool { return hasPieceWord(a.Rest) || hasFilmWord(a.Rest) }
		return slices.ContainsFunc(p.hint.Arcs, special) ||
			slices.ContainsFunc(p.rel.Titles, func(t release.Title) bool {
				return hasFilmWord(t.Text) && !p.isShowTitle(title.Normalize(t.Text), nil)
			})
	}},
	{"the title ends in a season that TMDB does not have", 0.6, func(p *placer, _ placement) bool {
		return p.hint.noSuchSeason && !p.stated()
	}},
	{"TMDB has no final season", 0.5, func(p *placer, _ placement) bool { return p.final() && !p.severalSeasons() }},
	{"an earlier season has several cours", 0.5, func(p *placer, at placement) bool {
		first := seasonSlots(p.all, p.all[0].season)
		return p.stated() && at.season == p.season && at.season > first[0].season && !p.hint.title.primary &&
			len(runs(first, courGap)) > 1
	}},
	{"TMDB has another name for that season", 0.8, func(p *placer, at placement) bool {
		s, _ := p.e.season(at.season)
		return at.method == viaRest && !placeholderSeason(title.Normalize(s.Name))
	}},
	{"TMDB has it in another season", 0.9, func(p *placer, at placement) bool {
		return at.method == viaRun && p.severalSeasons() && len(runs(seasonSlots(p.all, at.season), courGap)) == 1
	}},
}

func (p *placer) enoughSpecials() bool { return len(p.specials) >= p.highest() }

func specialSharesWords(p *placer) bool {
	return slices.ContainsFunc(p.names, func(n specialName) bool {
		return n.norm == "" || !hasPieceWord(n.norm) && (len(p.arcWords) == 0 || within(p.arcWords, nameWords(n.norm)))
	})
}

func hasPieceWord(norm string) bool {
	return slices.ContainsFunc(strings.Fields(norm), func(w string) bool { return words().pieces[w] })
}

// hasFilmWord reports whether a title has a word for a film or a special; those of scripts without spaces may stand
// anywhere.
func hasFilmWord(text string) bool {
	norm := title.Normalize(text)
	return slices.ContainsFunc(words().filmsOrSpecialsWithin, func(w string) bool { return strings.Contains(norm, w) }) ||
		slices.ContainsFunc(strings.Fields(norm), func(w string) bool { return words().filmsOrSpecials[w] && !spaceless(w) })
}

func (p *placer) withDoubts(at placement) placement {
	if !at.ok || len(p.eps) == 0 {
		return at
	}
	for _, d := range doubts {
		if d.applies(p, at) {
			p.note("%s: %.2f times as certain", d.why, d.times)
			at.trust *= d.times
			if d.times < 0.9 {
				at.why = lang.Textf("%s, but %s", at.why, d.why)
			}
		}
	}
	return at
}

// seasonUnclear reports whether the title may mean another season: the name states neither season nor year, and TMDB
// has the title only as an alternative one, without saying which season's it is.
func seasonUnclear(p *placer, at placement) bool {
	t := p.hint.title
	if t.norm == "" || at.method != viaFirst && at.method != viaCounted || p.stated() || yearPicksSeason(p, at) {
		return false
	}
	plain := leadingTitle(t.norm, p.titles)
	switch {
	case p.isShowTitle(t.norm, nil), p.hint.twoScripts && plain == "", strings.HasSuffix(t.norm, " tv"):
		return false
	case title.Script(t.norm) != "ja" && p.isShowTitle(t.norm, title.Reads) &&
		(plain == "" || !p.isShowTitle(plain, title.Reads)):
		return false
	case plain == "" && len(p.specials) < p.highest() && longerTitlesExist(p, t.norm):
		return false
	}
	return !slices.ContainsFunc(p.titles, func(o named) bool {
		return !o.seq.Zero() && o.base == t.norm && o.seq.Year == 0
	})
}

func yearPicksSeason(p *placer, at placement) bool {
	if p.rel.Year == 0 || !airedIn(at.slots, p.rel.Year) {
		return false
	}
	return !slices.ContainsFunc(runs(p.all, 1<<62), func(season []slot) bool {
		return season[0].season != at.season && len(season) >= p.highest() && airedIn(season, p.rel.Year)
	})
}

const leastLonger = 2

func longerTitlesExist(p *placer, norm string) bool {
	longer := 0
	for _, t := range p.titles {
		if !continues(t.norm, norm) || t.base == norm || words().pieces[strings.TrimSpace(t.norm[len(norm):])] {
			continue
		}
		if t.primary {
			return true
		}
		longer++
	}
	return longer >= leastLonger
}

func (p *placer) isShowTitle(norm string, reads func(japanese, latin string) bool) bool {
	return slices.ContainsFunc(p.titles, func(t named) bool {
		return t.primary && (title.Similarity(t.norm, norm) >= almostExact || title.Compact(t.norm) == title.Compact(norm) ||
			reads != nil && reads(t.text, title.Romanize(norm)))
	})
}
