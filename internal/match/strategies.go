package match

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// placeByMapping uses the imported mapping, unless TMDB has the season and the numbers that the name states.
func placeByMapping(p *placer) placement {
	stated := p.placementAt(slotsByNumber(seasonSlots(p.episodes, p.season), p.numbers), viaSeason, "")
	if p.mapping == nil || stated.ok && !p.mayCountWithinSequel(stated) &&
		!(p.mapping.Season > 1 && p.mapping.Offset == 0 && slices.Equal(p.rel.Seasons, []int{1})) { // the sequel's first
		return placement{}
	}
	if p.mapping.Absolute {
		return p.placementAt(slotsByPosition(p.episodes, p.numbers, p.mapping.Offset), viaMapping,
			"by the imported mapping, counted over all seasons")
	}
	list := seasonSlots(p.episodes, p.mapping.Season)
	return p.placementAt(slotsByPosition(list, p.numbers, p.mapping.Offset), viaMapping,
		"by the imported mapping: season %d after episode %d", p.mapping.Season, p.mapping.Offset)
}

// placeByOverallNumber handles a name with two numbers, one over all seasons and one in the season: "38 (S02E14)". It
// uses the first. If the two mean different episodes of one season, or are a few episodes apart, because one catalogue
// counts a recap, it finds no place, and the second counts.
func placeByOverallNumber(p *placer) placement {
	if len(p.rel.Overall) == 0 || len(p.rel.Overall) != len(p.numbers) || slices.Equal(toInts(p.rel.Overall), p.numbers) {
		return placement{}
	}
	overall := toInts(p.rel.Overall)
	at := p.placementAt(slotsByPosition(p.episodes, overall, 0), viaOverallNumber, "number %s counted over all seasons",
		numberListText(overall))
	stated := p.placementAt(slotsByNumber(seasonSlots(p.episodes, p.season), p.numbers), viaSeason, "")
	const maxRecaps = 3
	if at.ok && stated.ok && stated.label() != at.label() && (stated.season == at.season ||
		absDiff(slices.Index(p.episodes, stated.slots[0]), slices.Index(p.episodes, at.slots[0])) <= maxRecaps) {
		return placement{}
	}
	return at
}

func (p *placer) statesSeason() bool { return len(p.rel.Seasons) > 0 }

// firstForFolder returns the first of several ways to place the numbers that also places the folder's greatest number,
// else the first that places the numbers.
func (p *placer) firstForFolder(ways ...func(numbers []int) placement) placement {
	all := make([]placement, len(ways))
	for i, way := range ways {
		if all[i] = way(p.numbers); all[i].ok && (p.folderLast == 0 || way([]int{p.folderLast}).ok) {
			return all[i]
		}
	}
	return firstFound(all...)
}

// placeBySeason takes the season in the name for TMDB's. If that season lacks the numbers, they may count over all
// seasons, be positions in a season that does not start at 1, or continue into the next season.
func placeBySeason(p *placer) placement {
	isPart := p.season > 1 && p.hint.Arc != p.season && // "Title Arc 2nd Season" is the second part of the arc
		len(splitRuns(seasonSlots(p.episodes, p.hint.Arc), courPause)) == p.season
	if p.season == 0 || p.part > 0 || p.hint.Arc > 0 && (p.rel.Absolute || isPart) ||
		p.hint.Arc > 1 && slices.Equal(p.rel.Seasons, []int{1}) {
		return placement{}
	}
	if at := placeAfterNamedSeason(p); at.ok {
		return at
	}
	if at := placeBySeasonName(p); at.ok || p.err != nil {
		return at
	}
	s, ok := p.entry.season(p.season)
	if !ok || len(s.Episodes) == 0 {
		p.addStep("TMDB has no season %d", p.season)
		return placement{}
	}
	list := slotsOf(s)
	at := p.firstForFolder(func(numbers []int) placement {
		return p.placementAt(slotsByNumber(list, numbers), viaSeason, "season %d has the number", p.season)
	}, func(numbers []int) placement {
		at := p.placementAt(slotsByPosition(p.episodes, numbers, 0), viaOverallPosition, "counted from the first season")
		at.ok = at.ok && at.season == p.season
		return at
	})
	if at.ok {
		return at
	}
	p.addStep("season %d has no %s", p.season, episodesText(p.numbers))
	if list[0].episode.Number > 1 {
		return p.placementAt(slotsByPosition(list, p.numbers, 0), viaSeason, "by position: season %d starts at episode %d",
			p.season, list[0].episode.Number)
	}
	if next, ok := p.entry.season(p.season + 1); ok {
		return p.placementAt(slotsByPosition(slices.Concat(list, slotsOf(next)), p.numbers, 0), viaOverallPosition,
			"counted from season %d, which TMDB splits", p.season)
	}
	return placement{}
}

// placeBySeasonDigit handles numbers that begin with the season: "Season 1/101", if season 1 lacks episode 101, or all
// numbers of a folder in which they restart in each hundred.
func placeBySeasonDigit(p *placer) placement {
	ofFolder := func(n int) bool {
		named := strings.Contains(strings.ToLower(p.rel.Name), "e"+strconv.Itoa(n)) // "S01E101"
		return n/100 == p.season && len(p.rel.Folder.Seasons) > 0 && !named &&
			slotsByNumber(seasonSlots(p.episodes, p.season), []int{n}) == nil
	}
	list := pickSlots(p.episodes, p.numbers, func(n int) int {
		if !p.restarts && !ofFolder(n) {
			return -1
		}
		return slices.IndexFunc(p.episodes, func(s slot) bool { return s.season == n/100 && s.episode.Number == n%100 })
	})
	return p.placementAt(list, viaSeason, "the number begins with the season")
}

// placeAfterNamedSeason handles "Title Arc 2nd Season": it takes the season after the one called "Title Arc".
func placeAfterNamedSeason(p *placer) placement {
	arc := p.hint.Arc
	// a show with fewer seasons needs no request
	if arc == 0 && p.season == 2 && p.statesSeason() && p.episodes[len(p.episodes)-1].season > 3 {
		arc = seasonByEnglishName(p)
	}
	if arc < 2 || p.season != 2 || arc == p.season || !p.statesSeason() {
		return placement{}
	}
	return p.placementAt(slotsByNumber(seasonSlots(p.episodes, arc+1), p.numbers), viaSeasonName,
		"season %d follows season %d, whose name is in the title", arc+1, arc)
}

// placeByArc takes the season whose name is in the title. "Title Arc 2nd Season" is the second part of that season.
func placeByArc(p *placer) placement {
	arc, by := p.hint.Arc, viaSeasonName
	if arc == 0 && p.season == 0 && p.part == 0 {
		arc, by = seasonBySharedWord(p), viaSharedWord
	}
	if arc == 0 {
		arc, by = seasonByForeignName(p)
	}
	s, ok := p.entry.season(arc)
	if !ok || arc == 0 {
		return placement{}
	}
	p.addStep("%q is the name of season %d", s.Name, s.Number)
	if p.season > 1 && p.season != s.Number && p.part == 0 {
		p.part = p.season
	}
	p.season = s.Number
	if p.part > 0 {
		return placement{} // placeByPart decides
	}
	list := slotsOf(s)
	return firstFound(
		p.placementAt(slotsByNumber(list, p.numbers), by, "season %d has %s", s.Number, nameEvidence(by)),
		p.placementAt(slotsByPosition(list, p.numbers, 0), by, "by position in season %d, which has %s", s.Number,
			nameEvidence(by)))
}

// seasonByForeignName looks for the title among the season names in other languages; 0 for none.
func seasonByForeignName(p *placer) (season int, by *method) {
	if season = seasonByEnglishName(p); season != 0 || p.err != nil {
		return season, viaSeasonName
	}
	if p.season > 0 || p.part > 0 || !p.hasSeveralSeasons() {
		return 0, nil
	}
	if arc, language := foreignArcTitle(p.hint.Arcs, p.titles); language != "" {
		if e := p.withSeasonNamesIn(language); e != nil {
			season = seasonNamedIn(e, p.titles, arc.Title, arc.Title, arc.Remainder)
		}
	}
	if season != 0 || p.err != nil || p.entry.OriginalLanguage != "ja" {
		return season, viaSeasonName
	}
	i := slices.IndexFunc(p.hint.Arcs, func(a ArcTitle) bool { return title.Script(a.Remainder) == "latin" })
	if i < 0 {
		return 0, nil
	}
	if e := p.withSeasonNamesIn("ja-JP"); e != nil {
		season = seasonByJapaneseReading(e, p.titles, p.hint.Arcs[i].Remainder)
	}
	return season, viaJapaneseReading
}

// seasonByEnglishName looks for a Latin title among the English season names, if the entry only has East Asian ones.
func seasonByEnglishName(p *placer) int {
	arcs := p.hint.Arcs
	if !p.matchedShowTitle() {
		arcs = append(slices.Clip(arcs), ArcTitle{Title: p.hint.matched.norm})
	}
	i := slices.IndexFunc(arcs, func(a ArcTitle) bool { return title.Script(a.Title) == "latin" })
	if i < 0 || !p.hasSeveralSeasons() || !hasEastAsianNames(p.entry) {
		return 0
	}
	e := p.withSeasonNamesIn("en-US")
	if e == nil {
		return 0
	}
	return seasonNamedIn(e, p.titles, arcs[i].Title, arcs[i].Title, arcs[i].Remainder)
}

// withSeasonNamesIn returns a copy of the entry with season names in another language, nil if they can't be fetched.
func (p *placer) withSeasonNamesIn(language string) *Entry {
	e, o, err := p.entry.withSeasonNames(p.ctx, p.source, language)
	if err != nil {
		p.err = err
	}
	if e != nil {
		p.origin = p.origin.CombinedWith(o)
		p.addStep("fetched the seasons' names in %s", language)
	}
	return e
}

// withSeasonNames returns a copy of the entry with season names in another language, nil if there are none. It does not
// ask if all seasons are called "Season 2" in the display language, unless that is an East Asian one.
func (e *Entry) withSeasonNames(ctx context.Context, source Source, language string) (*Entry, Origin, error) {
	if len(e.namedSeasons()) == 0 && !hasEastAsianNames(e) {
		return nil, Origin{}, nil
	}
	names, o, err := source.SeasonNames(ctx, e.ID, language)
	if errors.Is(err, ErrNoEntry) {
		return nil, o, nil
	}
	if err != nil {
		return nil, o, err
	}
	local := *e
	local.Seasons = slices.Clone(e.Seasons)
	for i := range local.Seasons {
		local.Seasons[i].Name = names[local.Seasons[i].Number]
	}
	return &local, o, nil
}

func (p *placer) hasSeveralSeasons() bool {
	return len(p.episodes) > 0 && p.episodes[len(p.episodes)-1].season != p.episodes[0].season
}

// placeByPart takes the part between pauses that has the number in the name.
func placeByPart(p *placer) placement {
	if p.part == 0 {
		return placement{}
	}
	list := p.episodes
	if p.season == 0 && p.hint.Remainder != "" && p.hasSeveralSeasons() && !p.saysFinal() {
		p.season = p.onlySeasonThat(func(list []slot) bool { return len(splitRuns(list, courPause)) >= p.part })
	}
	if p.season == 0 && (p.saysFinal() || p.hint.Remainder != "" && p.hasSeveralSeasons()) {
		return placement{} // the part belongs to an arc or final season that TMDB lacks
	}
	if p.season > 0 {
		if list = seasonSlots(p.episodes, p.season); len(list) == 0 {
			return placement{}
		}
	} else if first := seasonSlots(p.episodes, 1); len(first) > 0 && len(splitRuns(first, courPause)) >= p.part {
		list = first
	}
	parts := splitRuns(list, courPause)
	if p.part > len(parts) {
		p.addStep("no part %d between pauses", p.part)
		if p.season > 0 {
			return placement{}
		}
		return p.placementAt(slotsByNumber(seasonSlots(p.episodes, p.part), p.numbers), viaNumberInPart,
			"part %d is season %d, which has the number", p.part, p.part)
	}
	part := parts[p.part-1]
	return p.firstForFolder(func(numbers []int) placement {
		return p.placementAt(slotsByPosition(part, numbers, 0), viaPlaceInPart,
			"by position in part %d, which begins with S%02dE%02d", p.part, part[0].season, part[0].episode.Number)
	}, func(numbers []int) placement {
		return p.placementAt(slotsByNumber(part, numbers), viaNumberInPart, "part %d has the number", p.part)
	})
}

// placeInFinalSeason takes the last season if the name says "Final Season". The place is more certain if a title of the
// entry has that word.
func placeInFinalSeason(p *placer) placement {
	last := p.episodes[len(p.episodes)-1].season
	if !p.saysFinal() || p.season > 0 || last == p.episodes[0].season {
		return placement{}
	}
	if p.part > 0 {
		p.season = last
		return placement{} // placeByPart decides
	}
	by := viaSeasonName
	if !p.hint.Final {
		by = viaFinalSeason
	}
	list := seasonSlots(p.episodes, last)
	return firstFound(
		p.placementAt(slotsByNumber(list, p.numbers), by, "the final season is season %d", last),
		p.placementAt(slotsByPosition(list, p.numbers, 0), by, "by position in season %d, the final one", last))
}

// saysFinal reports whether a title of the file or its match says "final".
func (p *placer) saysFinal() bool { return p.hint.Final || p.hint.saysFinal }

// placeByPosition handles a number n without a season. It takes episode n of the first season, or the n-th episode of
// all seasons.
func placeByPosition(p *placer) placement {
	if p.part > 0 || p.season > 0 && (p.statesSeason() || slices.Max(p.numbers) <= longestSeason(p.episodes)) {
		return placement{}
	}
	if p.year != 0 && !p.airedNearYear(p.episodes) {
		p.addStep("no regular episode aired in or next to %d", p.year)
		return placement{}
	}
	if p.hint.Remainder != "" && (p.hasSeveralSeasons() || len(p.specials) > 0 ||
		len(splitRuns(p.episodes, courPause)) > 1 && withoutArcWord(p.hint.Remainder) != p.hint.Remainder) &&
		slices.Max(p.numbers) <= longestSeason(p.episodes) {
		p.addStep("%q looks like an arc or season, but no season has that name", p.hint.Remainder)
		return placement{}
	}
	first := p.episodes[0].season
	list := slotsByNumber(seasonSlots(p.episodes, first), p.numbers)
	if list != nil && p.year != 0 && !p.airedNearYear(list) {
		p.addStep("the first season's %s aired in another year than %d", episodesText(p.numbers), p.year)
		return placement{}
	}
	at := p.placementAt(list, viaFirstSeason, "season %d has the number", first)
	if !at.ok && numbersNeverRestart(p.episodes) {
		at = p.placementAt(slotsByNumber(p.episodes, p.numbers), viaOverallPosition, "the numbering continues across seasons")
	} else if !at.ok {
		at = p.placementAt(slotsByPosition(p.episodes, p.numbers, 0), viaOverallPosition, "counted over all seasons")
	}
	if p.season > 0 && at.season != p.season {
		return placement{} // the number contradicts the title's
	}
	return at
}

// airedNearYear reports whether an episode aired at most one year from the year of the name. It is true if no air date
// is known.
func (p *placer) airedNearYear(list []slot) bool {
	dated := func(s slot) bool { return !s.aired.IsZero() }
	near := func(s slot) bool { return dated(s) && absDiff(s.aired.Year(), p.year) <= 1 }
	return !slices.ContainsFunc(list, dated) || slices.ContainsFunc(list, near)
}

func longestSeason(list []slot) int {
	most := 0
	for _, run := range splitRuns(list, 1<<62) {
		most = max(most, len(run))
	}
	return most
}

// numbersNeverRestart reports whether there are several seasons and the episode numbers rise through all of them.
func numbersNeverRestart(all []slot) bool {
	several := false
	for i := 1; i < len(all); i++ {
		if all[i].episode.Number <= all[i-1].episode.Number {
			return false
		}
		several = several || all[i].season != all[i-1].season
	}
	return several
}

func seasonSlots(all []slot, n int) []slot {
	bySeason := func(s slot, n int) int { return s.season - n }
	from, _ := slices.BinarySearchFunc(all, n, bySeason)
	to, _ := slices.BinarySearchFunc(all, n+1, bySeason)
	return all[from:to:to]
}

// placeWholeSeason places a file without an episode number.
func (p *placer) placeWholeSeason() placement {
	if at := placeByTrailingNumber(p); at.ok {
		return at
	}
	if p.rel.Kind != release.Batch && p.season == 0 {
		return firstFound(placeBySpecialTitle(p), placeBySpecialDate(p), placeInOnlySpecial(p),
			placement{reason: "the name has no episode number"})
	}
	n := p.season
	if n == 0 && p.hasSeveralSeasons() {
		return placement{reason: "the name has no season, and there are several"}
	}
	if n == 0 && len(p.episodes) > 0 {
		n = p.episodes[0].season
	}
	if _, ok := p.entry.season(n); !ok || n == 0 {
		return placement{reason: lang.Textf("there is no season %d", n)}
	}
	by := viaBatch
	if p.rel.Extension != "" {
		by = viaSeasonOnly
	}
	return placement{ok: true, season: n, method: by, trust: by.trust, reason: "it names a whole season"}
}

// placeByTrailingNumber takes the number at the end of a title ("Title 2.mkv") as the episode, if the show has one
// season without pauses.
func placeByTrailingNumber(p *placer) placement {
	if p.rel.Kind != release.Unknown || p.rel.Extension == "" || p.statesSeason() || p.part > 0 || p.hasSeveralSeasons() ||
		len(splitRuns(p.episodes, courPause)) != 1 || len(p.rel.Titles) == 0 || placeBySpecialTitle(p).ok {
		return placement{}
	}
	norm := title.Normalize(p.rel.Titles[0].Text)
	i := strings.LastIndexByte(norm, ' ')
	n, err := strconv.Atoi(norm[i+1:])
	taken := func(t entryTitle) bool { return t.norm == norm || t.sequel.Season == n }
	shorter := func(t entryTitle) bool { return t.norm == norm[:i] }
	if i < 0 || err != nil || slices.ContainsFunc(p.titles, taken) || !slices.ContainsFunc(p.titles, shorter) {
		return placement{}
	}
	return p.placementAt(slotsByNumber(p.episodes, []int{n}), viaTrailingNumber,
		"the title ends in the number, and the show has one season")
}
