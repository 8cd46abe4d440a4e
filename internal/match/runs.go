package match

import (
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// placeByLaterCour handles a name whose year is later than the first year of its season. It takes the run of that
// season's episodes that began in that year.
func placeByLaterCour(p *placer) placement {
	n := p.hint.Arc
	if n == 0 && !p.statesSeason() {
		n = p.season
	}
	if n == 0 || p.year == 0 || p.part > 0 {
		return placement{}
	}
	list := seasonSlots(p.episodes, n)
	hits := runsStartingIn(p.year, splitRuns(list, courPause))
	if len(hits) != 1 || firstAirYear(list) == p.year {
		return placement{}
	}
	first := hits[0][0]
	return p.placementAt(slotsByPosition(hits[0], p.numbers, 0), viaYearRun,
		"by position in the run of season %d that begins with E%02d in %d", n, first.episode.Number, p.year)
}

func runsStartingIn(year int, runs [][]slot) [][]slot {
	return slices.DeleteFunc(runs, func(run []slot) bool { return firstAirYear(run) != year })
}

// placeByYear takes the only run of episodes that began in the year of the name.
func placeByYear(p *placer) placement {
	if p.year == 0 || p.season > 0 {
		return placement{}
	}
	var hits [][]slot
	for _, gap := range []time.Duration{1 << 62, courPause} {
		if hits = runsStartingIn(p.year, splitRuns(p.episodes, gap)); len(hits) == 1 {
			break
		}
	}
	if len(hits) == 0 {
		if at := placeBySpecialDate(p); at.ok {
			return at
		}
	}
	if len(hits) != 1 {
		p.addStep("%d runs of episodes begin in %d", len(hits), p.year)
		return placement{}
	}
	run := hits[0]
	if p.part > 0 {
		p.season = run[0].season
		return placement{} // placeByPart decides
	}
	return firstFound(
		p.placementAt(slotsByPosition(run, p.numbers, 0), viaYearRun,
			"by position in the run that begins with S%02dE%02d in %d", run[0].season, run[0].episode.Number, p.year),
		p.placementAt(slotsByNumber(run, p.numbers), viaYearRun, "the number is in the run that begins in %d", p.year))
}

// placeByRuns handles a season number that TMDB lacks. It takes pauses between air dates as the ends of seasons.
func placeByRuns(p *placer) placement {
	if _, ok := p.entry.season(p.season); ok || p.season == 0 {
		return placement{}
	}
	seasons := len(splitRuns(p.episodes, 1<<62))
	for _, gap := range []struct {
		why  string
		list [][]slot
	}{
		{"season %d is the run after a long pause that begins with S%02dE%02d", splitRuns(p.episodes, seasonPause)},
		{"season %d is the run after a short pause that begins with S%02dE%02d", splitRuns(p.episodes, courPause)},
	} {
		if n := len(gap.list); n < p.season || seasons > 1 && n != p.season {
			continue
		}
		run := gap.list[p.season-1]
		if p.part > 0 {
			parts := splitRuns(run, courPause)
			if p.part > len(parts) {
				continue
			}
			run = parts[p.part-1]
		}
		at := func(list []slot) placement {
			return p.placementAt(list, viaPlaceInRun, gap.why, p.season, run[0].season, run[0].episode.Number)
		}
		if at := p.firstForFolder(func(numbers []int) placement { return at(slotsByPosition(run, numbers, 0)) },
			func(numbers []int) placement { return at(slotsByNumber(run, numbers)) }); at.ok {
			return at
		}
	}
	p.addStep("the gaps between air dates do not give %d seasons", p.season)
	for _, gap := range []time.Duration{seasonPause, courPause} {
		if list := splitRuns(p.episodes, gap); len(list) >= p.season {
			if at := p.placementAt(slotsByNumber(list[p.season-1], p.numbers), viaNumberInRun,
				"the number lies in run %d of the episodes between pauses", p.season); at.ok {
				return at
			}
		}
	}
	return placement{}
}

// placeInOnlyLongSeason handles a subtitle that no season has as its name. It takes the only season that is long
// enough, of those that were still on air when the group began to release. If there are none, the show is older than
// the group, and all seasons count.
func placeInOnlyLongSeason(p *placer) placement {
	since := groupYear(p.rel)
	if allBefore(since, p.episodes) {
		since = 0
	}
	if p.season > 0 || p.part > 0 || p.hint.Remainder == "" && (since == 0 ||
		!p.differsFromShowTitle() && !mayBeOtherSeason(p, placement{method: viaFirstSeason})) {
		return placement{}
	}
	last := p.highestNumber()
	only := p.onlySeasonThat(func(list []slot) bool { return len(list) >= last && !allBefore(since, list) })
	specials := slices.DeleteFunc(slices.Clone(p.specials), func(s slot) bool { return allBefore(since, []slot{s}) })
	list := seasonSlots(p.episodes, only)
	if len(splitRuns(list, courPause)) != 1 || len(specials) >= last {
		return placement{}
	}
	if list = slotsByNumber(list, p.numbers); since > 0 {
		return p.placementAt(list, viaOnlyLongSeason, "only season %d has aired since %d, the first year of such releases",
			only, since)
	}
	return p.placementAt(list, viaOnlyLongSeason, "only season %d has as many episodes", only)
}

// IsOlderThanGroup reports whether the season that the lists give, or all of the entry, had ended when the group of the
// files began to release.
func (r Resolution) IsOlderThanGroup(s Series) bool {
	list := regularSlots(r.Entry)
	if r.Mapping != nil && r.Mapping.Season > 0 {
		list = seasonSlots(list, r.Mapping.Season)
	}
	return len(list) > 0 && allBefore(groupYear(s.Files[0].Release), list)
}

func allBefore(year int, list []slot) bool {
	return !slices.ContainsFunc(list, func(s slot) bool { return s.aired.IsZero() || s.aired.Year() >= year })
}

// streamRE matches how releases of a stream have been named since 2020: "(B-Global 1920x1080 HEVC AAC MKV)".
var streamRE = lazyregexp.New(`\([A-Z][\w -]* \d{3,4}x\d{3,4} (?:AVC|HEVC) [\w.]+ (?:MKV|MP4)\)`)

// groupYear returns the first year in which all groups of a release existed, 0 if unknown. A disc may be of an older
// work, and so may a name that says so or has a year.
func groupYear(r release.Release) (year int) {
	if r.Year != 0 || r.Source == "BluRay" || r.Source == "DVD" || strings.Contains(r.Name, "老番") {
		return 0
	}
	for _, group := range strings.FieldsFunc(r.Group, func(c rune) bool { return strings.ContainsRune("&×+", c) }) {
		year = max(year, words().groupYears[title.Compact(group)])
	}
	if streamRE().MatchString(r.Name) {
		year = max(year, 2020)
	}
	return year
}

// onlySeasonThat returns the only season whose episodes meet a condition, 0 for none.
func (p *placer) onlySeasonThat(meets func(list []slot) bool) int {
	seasons := slices.DeleteFunc(splitRuns(p.episodes, 1<<62), func(list []slot) bool { return !meets(list) })
	if len(seasons) != 1 {
		return 0
	}
	return seasons[0][0].season
}

// placeInSecondSeason handles a subtitle that no season has as its name. If the show has two seasons, it takes the
// second.
func placeInSecondSeason(p *placer) placement {
	if p.season > 0 || p.part > 0 || p.hint.Arc > 0 || p.year != 0 ||
		p.hint.Remainder == "" && !p.differsFromShowTitle() {
		return placement{}
	}
	seasons := splitRuns(p.episodes, 1<<62)
	if len(seasons) != 2 || len(splitRuns(p.episodes, courPause)) > 2 || len(p.specials) >= p.highestNumber() ||
		p.subtitleMayBeOfShow() { // then it may belong to the first season
		return placement{}
	}
	ofShow := func(a ArcTitle) bool { return p.isShowTitle(longestTitlePrefix(a.Title, p.titles), title.MayBeReading) }
	ownTitle := func(t release.Title) bool { return t.From == release.FromName }
	ownArc := func(a ArcTitle) bool { return a.from == release.FromName }
	switch arcs := p.hint.Arcs; {
	case len(arcs) > 0 && !slices.ContainsFunc(arcs, ofShow):
		return placement{} // the subtitle follows a short title, so it may be the rest of the full title
	case len(arcs) > 0 && slices.ContainsFunc(p.rel.Titles, ownTitle) && !slices.ContainsFunc(arcs, ownArc):
		return placement{} // only the folder has the words: "Title Netflix/Title 03"
	}
	n := seasons[1][0].season
	return p.placementAt(slotsByNumber(seasonSlots(p.episodes, n), p.numbers), viaSecondSeason,
		"no season has this subtitle; of the two, season %d is likelier", n)
}

// differsFromShowTitle reports whether the matched title continues an official title of the show without a space, or
// the two differ only in one part: "Title: Second Tale" and "Title: First Tale", "Dawn over Harbor" and "Dusk over
// Harbor".
func (p *placer) differsFromShowTitle() bool {
	t := p.hint.matched
	numbered := func(o entryTitle) bool { return o.base == t.norm && !o.sequel.IsZero() }
	if t.norm == "" || t.primary || !t.sequel.IsZero() || p.isShowTitle(t.norm, title.MayBeReadingWithLoanwords) ||
		slices.ContainsFunc(p.titles, numbered) {
		return false
	}
	return slices.ContainsFunc(p.titles, func(o entryTitle) bool {
		rest, longer := strings.CutPrefix(title.Compact(t.norm), title.Compact(o.norm))
		return title.Script(o.norm) == title.Script(t.norm) && (o.primary || p.isShowTitle(o.norm, title.MayBeReading)) &&
			(longer && rest != "" && hasSpacelessScript(o.norm) && !isDigit(rest[0]) || t.hasOtherPartThan(o))
	})
}

const maxPartSimilarity = 0.5 // parts that are more alike may be two spellings of one

// hasOtherPartThan reports whether two titles have the same title before their subtitles, or the same words around a
// part in Latin letters.
func (t entryTitle) hasOtherPartThan(o entryTitle) bool {
	begin, end, part, otherPart := t.partsUnlike(o)
	around := strings.Join(slices.Concat(begin, end), " ")
	return len(significantWords(around)) > 0 && len(significantWords(part)) > 0 && otherPart != "" &&
		(len(begin) > 0 && len(end) > 0 && !hasSpacelessScript(part) ||
			o.withoutSubtitle != "" && t.withoutSubtitle == o.withoutSubtitle) &&
		title.Script(part) == title.Script(otherPart) && title.Similarity(part, otherPart) < maxPartSimilarity
}

// partsUnlike returns the words that two titles have in common at their beginnings and at their ends, and what each has
// between them.
func (t entryTitle) partsUnlike(o entryTitle) (begin, end []string, own, other string) {
	a, b := strings.Fields(t.norm), strings.Fields(o.norm)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		begin, a, b = append(begin, a[0]), a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		end, a, b = append(end, a[len(a)-1]), a[:len(a)-1], b[:len(b)-1]
	}
	return begin, end, strings.Join(a, " "), strings.Join(b, " ")
}
