package match

import (
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// way is how a place was found.
type way uint8

const (
	trustSeason        way = iota // the season of the name has the number
	trustFirst                    // so has the first season, and the name says no other
	trustName                     // the season whose name is in the title
	trustWord                     // the season of which the title has a word
	trustRead                     // the season whose Japanese name may be read so
	trustLast                     // the last season of one that the name calls final
	trustMapping                  // an imported list
	trustOverall                  // a number over all seasons beside the season's
	trustCounted                  // counted over all seasons
	trustGroup                    // an episode group
	trustYear                     // the run that began in the year of the name
	trustPart                     // by position in a part between pauses
	trustPartNumber               // a number as counted over all parts
	trustRun                      // a season as a run between pauses
	trustRunNumber                // a number as counted over all of them
	trustLength                   // no other season is long enough
	trustRest                     // the only season besides the first
	trustWhole                    // a batch of a season
	trustAlone                    // a file that says a season and nothing else
	trustAtEnd                    // a number after the title that no season and no special has
	trustSpecialNumber            // season 0 has the number
	trustSpecialTitle             // a special is called so
	trustSpecialOrder             // several are, and the name counts them
	trustOnlySpecial              // there is no other
	trustGuess                    // no way applies
)

// trusted is how often a place is right that was found in a way, where nothing casts doubt on it. docs/matching.md has
// the table of predicted and measured confidences.
var trusted = [...]float64{
	trustSeason:        0.99,
	trustFirst:         0.995,
	trustName:          0.95,
	trustWord:          0.93,
	trustRead:          0.91,
	trustLast:          0.91,
	trustMapping:       0.97,
	trustOverall:       0.97,
	trustCounted:       0.99,
	trustGroup:         0.95,
	trustYear:          0.97,
	trustPart:          0.95,
	trustPartNumber:    0.95,
	trustRun:           0.94,
	trustRunNumber:     0.95,
	trustLength:        0.97,
	trustRest:          0.91,
	trustWhole:         0.97,
	trustAlone:         0.7,
	trustAtEnd:         0.91,
	trustSpecialNumber: 0.93,
	trustSpecialTitle:  0.97,
	trustSpecialOrder:  0.92,
	trustOnlySpecial:   0.91,
	trustGuess:         0.15,
}

// trustTwins is for a folder in which two numbers have one place.
const trustTwins = 0.5

// doubts are what makes a place less certain: its trust is multiplied by times for each that applies. why is for
// people.
var doubts = []struct {
	why     lang.Text
	times   float64
	applies func(*placer, placement) bool
}{
	{"the title may be that of another season", 0.4, func(p *placer, at placement) bool {
		if !unclear(p, at) {
			return false
		}
		others := slices.DeleteFunc(slices.Clone(p.all), func(s slot) bool { return s.season == at.season })
		return longest(others) >= p.most()
	}},
	{"the title may be that of a later cour", 0.8, func(p *placer, at placement) bool {
		return at.way == trustFirst && unclear(p, at) && len(runs(seasonSlots(p.all, at.season), courGap)) > 1
	}},
	{"the title may be that of a special", 0.6, func(p *placer, at placement) bool {
		return p.asManySpecials() && unclear(p, at) && plainTitle(p.hint.called.norm, p.titles) != ""
	}},
	{"there are as many specials", 0.8, func(p *placer, at placement) bool {
		return p.asManySpecials() && (at.way == trustWord && p.specialHasWords() || at.way == trustRead || unclear(p, at))
	}},
	{"a special is called so too", 0.5, func(p *placer, at placement) bool {
		called := func(n specialName) bool {
			return n.calls(p.hint.called.norm) || n.number > 0 && n.stem == p.hint.called.norm
		}
		return at.way == trustFirst && !p.stated() && p.asManySpecials() && slices.ContainsFunc(p.names, called)
	}},
	{"a special may be of that year", 0.6, func(p *placer, at placement) bool {
		mayBe := func(s slot) bool { return s.aired.IsZero() || s.aired.Year() == p.rel.Year }
		return (at.way == trustFirst || at.way == trustYear) && p.rel.Year != 0 && !p.stated() &&
			p.asManySpecials() && slices.ContainsFunc(p.specials, mayBe)
	}},
	{"the year may tell a later season or cour of it", 0.5, func(p *placer, at placement) bool {
		if at.way != trustFirst && at.way != trustYear || p.rel.Year == 0 || p.stated() || at.season != p.all[0].season {
			return false
		}
		stating := func(t named) bool {
			return !t.primary && t.seq == Sequel{Year: p.rel.Year} && t.base == p.hint.called.base
		}
		return slices.ContainsFunc(p.titles, stating) && len(begunIn(p.rel.Year, runs(p.all, courGap))) > 1
	}},
	{"the next season began more than a year later", 0.5, func(p *placer, at placement) bool {
		if at.way != trustCounted || !p.stated() || at.season != p.season+1 {
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
		return at.way == trustCounted && unclear(p, at) && literal(seasonSlots(p.all, at.season), p.eps) != nil
	}},
	{"the part may be one of another season", 0.6, func(p *placer, at placement) bool {
		t := p.hint.called
		return at.way == trustPart && p.season == 0 && p.hint.Arc == 0 && !p.stated() && p.severalSeasons() &&
			plainTitle(t.base, p.titles) != "" && !p.calledSo(t.base, title.Reads)
	}},
	{"the number may count over all seasons", 0.5, func(p *placer, at placement) bool {
		if at.way != trustPartNumber {
			return false
		}
		over := p.found(positions(p.all, p.eps, 0), trustCounted, "")
		return over.ok && over.text() != at.text()
	}},
	{"the title says a film or a special", 0.5, func(p *placer, _ placement) bool {
		return slices.ContainsFunc(p.hint.Arcs, func(a ArcText) bool { return saysSpecial(a.Rest) }) ||
			slices.ContainsFunc(p.rel.Titles, func(t release.Title) bool {
				return saysFilm(t.Text) && !p.calledSo(title.Normalize(t.Text), nil)
			})
	}},
	{"the title ends in a season that TMDB does not have", 0.6, func(p *placer, _ placement) bool {
		return p.hint.lost && !p.stated()
	}},
	{"TMDB has no final season", 0.5, func(p *placer, _ placement) bool { return p.final() && !p.severalSeasons() }},
	{"an earlier season has several cours", 0.5, func(p *placer, at placement) bool {
		first := seasonSlots(p.all, p.all[0].season)
		return p.stated() && at.season == p.season && at.season > first[0].season && !p.hint.called.primary &&
			len(runs(first, courGap)) > 1
	}},
	{"TMDB calls that season otherwise", 0.8, func(p *placer, at placement) bool {
		s, _ := p.e.season(at.season)
		return at.way == trustRest && !placeholderSeason(title.Normalize(s.Name))
	}},
	{"TMDB has it as another season", 0.9, func(p *placer, at placement) bool {
		return at.way == trustRun && p.severalSeasons() && len(runs(seasonSlots(p.all, at.season), courGap)) == 1
	}},
}

func (p *placer) asManySpecials() bool { return len(p.specials) >= p.most() }

func saysSpecial(rest string) bool {
	return saysPiece(rest) || saysFilm(rest)
}

func saysPiece(norm string) bool {
	return slices.ContainsFunc(strings.Fields(norm), func(w string) bool { return words().pieces[w] })
}

// saysFilm reports whether a title has a word for a film or a special; those of scripts without spaces may stand
// anywhere.
func saysFilm(text string) bool {
	norm := title.Normalize(text)
	return slices.ContainsFunc(words().filmsOrSpecialsWithin, func(w string) bool { return strings.Contains(norm, w) }) ||
		slices.ContainsFunc(strings.Fields(norm), func(w string) bool { return words().filmsOrSpecials[w] && !spaceless(w) })
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
				at.why = lang.Textf("%s, but %s", at.why, d.why)
			}
		}
	}
	return at
}

// unclear reports whether nothing tells that the title means the season of a place: the name states none and no
// year of its, and TMDB lists the title among the alternative ones, where those of other seasons and of specials stand
// too, without saying which.
func unclear(p *placer, at placement) bool {
	t := p.hint.called
	if t.norm == "" || at.way != trustFirst && at.way != trustCounted || p.stated() || yearTells(p, at) {
		return false
	}
	plain := plainTitle(t.norm, p.titles)
	switch {
	case p.calledSo(t.norm, nil), p.hint.agreed && plain == "", strings.HasSuffix(t.norm, " tv"):
		return false
	case title.Script(t.norm) != "ja" && p.calledSo(t.norm, title.Reads) &&
		(plain == "" || !p.calledSo(plain, title.Reads)):
		return false
	case plain == "" && len(p.specials) < p.most() && othersGoOn(p, t.norm):
		return false
	}
	return !slices.ContainsFunc(p.titles, func(o named) bool {
		return !o.seq.Zero() && o.base == t.norm && o.seq.Year == 0
	})
}

// yearTells reports whether the year of the name is one of a place's season, and of no other that is long enough.
func yearTells(p *placer, at placement) bool {
	if p.rel.Year == 0 || !airedIn(at.slots, p.rel.Year) {
		return false
	}
	return !slices.ContainsFunc(runs(p.all, 1<<62), func(season []slot) bool {
		return season[0].season != at.season && len(season) >= p.most() && airedIn(season, p.rel.Year)
	})
}

// leastGoingOn is how many alternative titles go on from the show's: seasons, films and specials have it before theirs.
const leastGoingOn = 2

// othersGoOn reports whether titles go on from a text as they do from the show's name: one of the show's own, or
// several others.
func othersGoOn(p *placer, norm string) bool {
	on := 0
	for _, t := range p.titles {
		if !goesOn(t.norm, norm) || t.base == norm || words().pieces[strings.TrimSpace(t.norm[len(norm):])] {
			continue
		}
		if t.primary {
			return true
		}
		on++
	}
	return on >= leastGoingOn
}

// calledSo reports whether a text is what the show as a whole is called, or how that is read.
func (p *placer) calledSo(norm string, reads func(japanese, latin string) bool) bool {
	return slices.ContainsFunc(p.titles, func(t named) bool {
		return t.primary && (title.Similarity(t.norm, norm) >= almostExact || title.Compact(t.norm) == title.Compact(norm) ||
			reads != nil && reads(t.text, title.Romanize(norm)))
	})
}
