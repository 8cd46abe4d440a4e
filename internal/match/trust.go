package match

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// method is a way to find an episode. trust is how often its result is right, as measured (docs/matching.md).
type method struct{ trust float64 }

var (
	viaSeason          = &method{0.99}  // the season in the name has the number
	viaFirstSeason     = &method{0.995} // the name has no season, and the first season has the number
	viaSeasonName      = &method{0.95}  // the season whose name is in the title
	viaSharedWord      = &method{0.93}  // the season whose name shares a word with the title
	viaJapaneseReading = &method{0.91}  // the season whose Japanese name may be pronounced like the title
	viaFinalSeason     = &method{0.91}  // the last season, because the name says "final"
	viaMapping         = &method{0.97}  // an imported mapping
	viaOverallNumber   = &method{0.97}  // the name also has a number over all seasons
	viaOverallPosition = &method{0.99}  // the number counts over all seasons
	viaEpisodeGroup    = &method{0.95}  // an episode group
	viaYearRun         = &method{0.97}  // the run of episodes that began in the year of the name
	viaPlaceInPart     = &method{0.95}  // by position in a part between pauses
	viaNumberInPart    = &method{0.95}  // a part has an episode with this number
	viaPlaceInRun      = &method{0.94}  // by position in a season that is a run between pauses
	viaNumberInRun     = &method{0.95}  // a run between pauses has an episode with this number
	viaOnlyLongSeason  = &method{0.97}  // no other season is long enough, or has aired since the group began
	viaSecondSeason    = &method{0.91}  // the only season besides the first
	viaBatch           = &method{0.97}  // a batch of a season
	viaSeasonOnly      = &method{0.7}   // a single file that states only a season
	viaTrailingNumber  = &method{0.91}  // a number after the title that no season and no special has
	viaSpecialNumber   = &method{0.93}  // season 0 has the number
	viaSpecialTitle    = &method{0.97}  // a special has the title
	viaSpecialOrder    = &method{0.92}  // several specials have the title; the number selects one
	viaOnlySpecial     = &method{0.91}  // the only special
	viaGuess           = &method{0.15}  // nothing else applies
)

const trustFactorDuplicates = 0.5 // see doubtDuplicatePlaces

// doubts are reasons to trust a placement less. Each one that applies multiplies its trust by the factor.
var doubts = []struct {
	why     lang.Text
	factor  float64
	applies func(*placer, placement) bool
}{
	{"the title may belong to another season", 0.4, func(p *placer, at placement) bool {
		if !mayBeOtherSeason(p, at) && !p.mayCountWithinSequel(at) {
			return false
		}
		own := cmp.Or(p.season, at.season)
		others := slices.DeleteFunc(slices.Clone(p.episodes), func(s slot) bool { return s.season == own })
		return longestSeason(others) >= p.highestNumber()
	}},
	{"the title may belong to a later cour", 0.8, func(p *placer, at placement) bool {
		later := func(run []slot) bool {
			return run[0] != p.episodes[0] && (len(run) >= p.highestNumber() || !p.statesSeason())
		}
		return (at.method == viaFirstSeason && mayBeOtherSeason(p, at) || p.mayCountWithinSequel(at)) &&
			slices.ContainsFunc(splitRuns(seasonSlots(p.episodes, at.season), courPause), later)
	}},
	{"the title may belong to a special", 0.6, func(p *placer, at placement) bool {
		if at.method == viaOnlyLongSeason { // TMDB may list one special for a work of several parts
			return !p.hasSeveralSeasons() && len(p.specials) > 0 && p.highestNumber() <= longestOVA
		}
		return p.hasEnoughSpecials() && mayBeOtherSeason(p, at) && longestTitlePrefix(p.hint.matched.norm, p.titles) != ""
	}},
	{"there are as many specials", 0.8, func(p *placer, at placement) bool {
		return p.hasEnoughSpecials() &&
			(at.method == viaSharedWord || at.method == viaJapaneseReading || mayBeOtherSeason(p, at))
	}},
	{"a special has that title too", 0.5, func(p *placer, at placement) bool {
		called := func(n specialName) bool {
			return n.matches(p.hint.matched.norm) || n.number > 0 && n.withoutNumber == p.hint.matched.norm
		}
		return at.method == viaFirstSeason && !p.statesSeason() && p.hasEnoughSpecials() &&
			slices.ContainsFunc(p.specialNames, called)
	}},
	{"a special may be from that year", 0.6, func(p *placer, at placement) bool {
		mayBe := func(s slot) bool { return s.aired.IsZero() || s.aired.Year() == p.rel.Year }
		return (at.method == viaFirstSeason || at.method == viaYearRun) && p.rel.Year != 0 && !p.statesSeason() &&
			p.hasEnoughSpecials() && slices.ContainsFunc(p.specials, mayBe)
	}},
	{"the year may belong to a later season or cour", 0.5, func(p *placer, at placement) bool {
		if p.rel.Year == 0 || at.season != p.episodes[0].season {
			return false
		}
		if p.statesSeason() { // "Title (2024) S01E02" of a run that began in 2024
			has := func(run []slot) bool { return len(run) >= p.highestNumber() }
			return at.method == viaSeason && p.year > p.entry.Year && !airedInYear(at.slots, p.year) &&
				slices.ContainsFunc(runsStartingIn(p.year, splitRuns(seasonSlots(p.episodes, at.season), courPause)), has)
		}
		if at.method != viaFirstSeason && at.method != viaYearRun {
			return false
		}
		stating := func(t entryTitle) bool {
			return !t.primary && t.sequel == Sequel{Year: p.rel.Year} && t.base == p.hint.matched.base
		}
		return p.year > p.entry.Year && p.hasSeveralSeasons() && !airedInYear(at.slots, p.year) ||
			slices.ContainsFunc(p.titles, stating) && len(runsStartingIn(p.rel.Year, splitRuns(p.episodes, courPause))) > 1
	}},
	{"the next season began much later", 0.5, func(p *placer, at placement) bool {
		list, next := seasonSlots(p.episodes, p.season), seasonSlots(p.episodes, at.season)
		return at.method == viaOverallPosition && at.season == p.season+1 && firstAirYear(list) != 0 &&
			(firstAirYear(next) > list[len(list)-1].aired.Year()+1 ||
				p.season > p.episodes[0].season && next[0].aired.Sub(list[len(list)-1].aired) > seasonPause)
	}},
	{"a later season has the number", 0.6, func(p *placer, at placement) bool {
		return at.method == viaOverallPosition && mayBeOtherSeason(p, at) &&
			slotsByNumber(seasonSlots(p.episodes, at.season), p.numbers) != nil
	}},
	{"the part may belong to another season", 0.6, func(p *placer, at placement) bool {
		t := p.hint.matched
		return at.method == viaPlaceInPart && p.season == 0 && p.hint.Arc == 0 && !p.statesSeason() &&
			p.hasSeveralSeasons() && longestTitlePrefix(t.base, p.titles) != "" && !p.isShowTitle(t.base, title.MayBeReading)
	}},
	{"the number may count over all seasons", 0.5, func(p *placer, at placement) bool {
		if at.method != viaNumberInPart || p.statesSeason() {
			return false
		}
		over := p.placementAt(slotsByPosition(p.episodes, p.numbers, 0), viaOverallPosition, "")
		return over.ok && over.label() != at.label()
	}},
	{"the title says that it is a film or a special", 0.5, func(p *placer, _ placement) bool {
		named := func(a ArcTitle) bool {
			within := func(w string) bool { return strings.Contains(" "+a.Remainder+" ", " "+w+" ") }
			return slices.ContainsFunc(words().notRegularWords, within)
		}
		return slices.ContainsFunc(p.hint.Arcs, named) || slices.ContainsFunc(p.rel.Titles, func(t release.Title) bool {
			return hasFilmWord(t.Text) && !p.isShowTitle(title.Normalize(t.Text), nil)
		})
	}},
	{"the title ends in a season that TMDB does not have", 0.6, func(p *placer, _ placement) bool {
		return p.hint.lacksSeason && !p.statesSeason()
	}},
	{"the title may belong to another work", 0.4, func(p *placer, _ placement) bool { return p.hint.ofOtherTitle }},
	{"the season may be counted within a part of the show", 0.5, func(p *placer, at placement) bool {
		t := p.hint.matched // "Title Act II" of "Title Act II Second Season"
		inName := func(o release.Title) bool { return title.Normalize(o.Text) == t.norm }
		return at.method == viaSeason && at.season > 1 && p.statesSeason() && t.sequel.Season > 1 && !t.primary &&
			longestTitlePrefix(t.base, p.titles) != "" && slices.ContainsFunc(p.rel.Titles, inName) &&
			!slices.ContainsFunc(p.titles, func(o entryTitle) bool { return o.norm == t.base })
	}},
	{"TMDB has no final season", 0.5, func(p *placer, _ placement) bool {
		return p.saysFinal() && !p.hasSeveralSeasons()
	}},
	{"the folder's numbers may begin with the season", 0.5, func(p *placer, at placement) bool {
		return p.restarts && at.method != viaSeason
	}},
	{"an earlier season has several cours", 0.5, func(p *placer, at placement) bool {
		first := seasonSlots(p.episodes, p.episodes[0].season)
		if run := splitRuns(first, courPause)[0]; at.method == viaPlaceInRun {
			return len(run) > threeCours && at.slots[0].aired.After(run[len(run)-1].aired)
		}
		return p.statesSeason() && at.season == p.season && at.season > first[0].season && !p.hint.matched.primary &&
			len(splitRuns(first, courPause)) > 1
	}},
	{"TMDB has another name for that season", 0.8, func(p *placer, at placement) bool {
		s, _ := p.entry.season(at.season)
		return at.method == viaSecondSeason && !isPlaceholderSeason(title.Normalize(s.Name))
	}},
	{"TMDB has it in another season", 0.9, func(p *placer, at placement) bool {
		return at.method == viaPlaceInRun && p.hasSeveralSeasons() &&
			len(splitRuns(seasonSlots(p.episodes, at.season), courPause)) == 1
	}},
}

func (p *placer) hasEnoughSpecials() bool { return len(p.specials) >= p.highestNumber() }

// hasFilmWord reports whether a title has a word for a film or a special. In scripts without spaces, the word may
// be anywhere.
func hasFilmWord(text string) bool {
	norm := title.Normalize(text)
	within := func(w string) bool { return strings.Contains(norm, w) }
	isWord := func(w string) bool { return words().filmOrSpecialWords[w] && !hasSpacelessScript(w) }
	return slices.ContainsFunc(words().spacelessFilmOrSpecialWords, within) ||
		slices.ContainsFunc(strings.Fields(norm), isWord)
}

func (p *placer) applyDoubts(at placement) placement {
	if !at.ok || len(p.numbers) == 0 {
		return at
	}
	reasonAndDoubt := "%s, but %s"
	for _, d := range doubts {
		if d.applies(p, at) {
			p.addStep("%s: %.2f times as certain", d.why, d.factor)
			at.trust *= d.factor
			if d.factor < 0.9 {
				at.reason = lang.Textf(reasonAndDoubt, at.reason, d.why)
				reasonAndDoubt = "%s, and %s"
			}
		}
	}
	return at
}

// mayBeOtherSeason reports whether the title may mean another season: the name states neither season nor year, and the
// title does not say which season it belongs to.
func mayBeOtherSeason(p *placer, at placement) bool {
	return (at.method == viaFirstSeason || at.method == viaOverallPosition) && !p.statesSeason() &&
		!yearSelectsSeason(p, at) && p.titleMayBeOfAnySeason()
}

// titleMayBeOfAnySeason reports whether the title is only an alternative one on TMDB, which does not say which season
// it belongs to.
func (p *placer) titleMayBeOfAnySeason() bool {
	t := p.hint.matched
	plain := longestTitlePrefix(t.norm, p.titles)
	switch {
	case t.norm == "", p.isShowTitle(t.norm, nil), endsLikeShowTitle(t.text, p.titles), p.anotherTitleNamesShow():
		return false
	case title.Script(t.norm) != "ja" && p.isShowTitle(t.norm, title.MayBeReading) &&
		(plain == "" || !p.isShowTitle(plain, title.MayBeReading)):
		return p.hasCloserReading(t)
	case plain == "" && len(p.specials) < p.highestNumber() && longerTitlesExist(p, t.norm):
		return false
	}
	last, ofShow := 0, 0 // the last seasons that have this title or the show's and a number; an arc has its own numbers
	for _, o := range p.titles {
		switch o.base {
		case t.norm:
			last = max(last, o.sequel.Season)
		case plain:
			ofShow = max(ofShow, o.sequel.Season)
		}
	}
	return last < p.episodes[len(p.episodes)-1].season ||
		ofShow > 1 && p.isShowTitle(plain, title.MayBeReading) && !words().wholeShowWords[textAfterTitle(t.norm, p.titles)]
}

// anotherTitleNamesShow reports whether one of the titles in the file name is an official title of the show, and is not
// merely a piece of a longer title there.
func (p *placer) anotherTitleNamesShow() bool {
	return slices.ContainsFunc(p.rel.Titles, func(t release.Title) bool {
		own := title.Compact(t.Text)
		longer := func(o release.Title) bool {
			other := title.Compact(o.Text)
			return other != own && strings.Contains(other, own)
		}
		return t.From == release.FromName && p.isShowTitle(title.Normalize(t.Text), nil) &&
			!slices.ContainsFunc(p.rel.Titles, longer)
	})
}

// hasCloserReading reports whether another title of the entry is more likely to be the reading of the show's Japanese
// title: only that one reads exactly like it, or it does so better with another subtitle, or lacks one of t's words.
func (p *placer) hasCloserReading(t entryTitle) bool {
	own, read := p.leastMisfit(t), strings.Fields(t.norm)
	return slices.ContainsFunc(p.titles, func(o entryTitle) bool {
		other := strings.Fields(o.norm)
		return len(other)+1 == len(read) && isSubset(other, read) && p.isShowTitle(o.norm, title.MayBeReading) ||
			(math.IsInf(own, 1) || t.withoutSubtitle != "" && t.hasOtherPartThan(o)) &&
				title.Script(o.alt.Title) == "latin" && p.leastMisfit(o) < own
	})
}

// leastMisfit returns how far a title is from reading exactly like one of the show's, infinity if it does not.
func (p *placer) leastMisfit(latin entryTitle) float64 {
	least := math.Inf(1)
	for _, t := range p.titles {
		if t.primary && title.MayBeReading(t.text, latin.norm) { // first, because ReadingMisfit takes long
			if misfit, ok := title.ReadingMisfit(t.text, latin.norm); ok {
				least = min(least, misfit)
			}
		}
	}
	return least
}

// mayCountWithinSequel reports whether the first season of the name may be that of a sequel or part of the show, which
// the title or year means: "Title II/Season 1/05", "Title Arc S01E05", also where the arc has several seasons.
func (p *placer) mayCountWithinSequel(at placement) bool {
	first := p.episodes[0].season
	ofShow := func(t entryTitle) bool { // its own subtitle
		sub := strings.TrimPrefix(t.norm, t.withoutSubtitle)
		return t.primary && sub != t.norm && strings.HasPrefix(sub, " ") && strings.HasSuffix(p.hint.Remainder, sub)
	}
	if at.method != viaSeason && at.method != viaOverallPosition || p.season != first || !p.statesSeason() ||
		yearSelectsSeason(p, at) {
		return false
	}
	t, own := p.hint.matched, slices.ContainsFunc(p.titles, ofShow)
	return p.hint.Season > first || p.saysFinal() || p.hint.Remainder != "" && !own ||
		!words().wholeShowWords[textAfterTitle(t.norm, p.titles)] && (p.titleMayBeOfAnySeason() && !own && hasSibling(p, t) ||
			!t.primary && (t.sequel.Season > first || p.isShowTitle(longestTitlePrefix(t.norm, p.titles), nil))) ||
		p.year != 0 && airedInYear(p.episodes, p.year) && !airedInYear(seasonSlots(p.episodes, first), p.year)
}

// hasSibling reports whether t has other words than a title that begins like it, or than an official title that ends
// like it: "Title: Far Voyage" beside "Title: First Light", "The Gates of Title" beside "The Road of Title". If an
// official title has one of these words too, t is the show's own: "Title wa Lantern Girl" of "The Lantern Girl".
func hasSibling(p *placer, t entryTitle) bool {
	const minCommon, minOwn = 6, 4 // letters
	return !longerTitlesExist(p, t.norm) && slices.ContainsFunc(p.titles, func(o entryTitle) bool {
		begin, _, own, other := t.partsUnlike(o)
		letters, rest := len(title.Compact(own)), removeWords(significantWords(own), significantWords(other))
		ofShow := func(x entryTitle) bool {
			return x.primary && len(removeWords(rest, significantWords(x.norm))) < len(rest)
		}
		return (o.primary || len(begin) > 0) && letters >= minOwn && len(title.Compact(t.norm))-letters >= minCommon &&
			title.Similarity(own, other) < maxPartSimilarity && !slices.ContainsFunc(p.titles, ofShow)
	})
}

// yearSelectsSeason reports whether the episodes aired in the year of the name, and no other long enough season did.
func yearSelectsSeason(p *placer, at placement) bool {
	ofShow := p.rel.Year == p.entry.Year && at.season == p.episodes[0].season
	other := func(season []slot) bool {
		return season[0].season != at.season && len(season) >= p.highestNumber() && airedInYear(season, p.rel.Year)
	}
	return p.rel.Year != 0 && (ofShow || airedInYear(at.slots, p.rel.Year)) &&
		!slices.ContainsFunc(splitRuns(p.episodes, 1<<62), other)
}

const minLongerTitles = 2 // see longerTitlesExist

// longerTitlesExist reports whether the text begins a longer official title, or several alternative ones. It then names
// the whole show.
func longerTitlesExist(p *placer, norm string) bool {
	longer := 0
	for _, t := range p.titles {
		if !hasWordPrefix(t.norm, norm) || t.base == norm || words().derivedWorkWords[strings.TrimSpace(t.norm[len(norm):])] {
			continue
		}
		if t.primary {
			return true
		}
		longer++
	}
	return longer >= minLongerTitles
}

// isShowTitle reports whether a text is an official title of the show. If reads is not nil, the Latin spelling of a
// Japanese title counts too. "A x B" is "A×B", and "A and B" is "A & B".
func (p *placer) isShowTitle(norm string, reads func(japanese, latin string) bool) bool {
	compact := func(s string) string { return title.Compact(ampersand.Replace(strings.ReplaceAll(s, " x ", " "))) }
	return slices.ContainsFunc(p.titles, func(t entryTitle) bool {
		return t.primary && (title.Similarity(t.norm, norm) >= simAlmostExact || compact(t.norm) == compact(norm) ||
			reads != nil && reads(t.text, title.Romanize(norm)))
	})
}
