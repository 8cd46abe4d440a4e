package match

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// byMapping uses the imported lists. A season that the name states and TMDB has wins over them.
func byMapping(p *placer) placement {
	if p.mapping == nil {
		return placement{}
	}
	if p.season > 0 {
		if s, ok := p.e.season(p.season); ok && literal(slots(s), p.eps) != nil {
			return placement{}
		}
	}
	if p.mapping.Absolute {
		return p.found(positions(p.all, p.eps, p.mapping.Offset), viaMapping,
			"by the imported mapping, counted over all seasons")
	}
	if p.mapping.Season == 0 {
		return placement{}
	}
	s, ok := p.e.season(p.mapping.Season)
	if !ok {
		return placement{}
	}
	return p.found(positions(slots(s), p.eps, p.mapping.Offset), viaMapping,
		"by the imported mapping: season %d after episode %d", p.mapping.Season, p.mapping.Offset)
}

// byOverall uses a number over all seasons beside the season's own, "38 (S02E14)". If both lie in one season, that
// season's number is believed.
func byOverall(p *placer) placement {
	if len(p.rel.Overall) == 0 || len(p.rel.Overall) != len(p.eps) || slices.Equal(whole(p.rel.Overall), p.eps) {
		return placement{}
	}
	at := p.found(positions(p.all, whole(p.rel.Overall), 0), viaOverall, "number %s over all seasons",
		numbers(whole(p.rel.Overall)))
	stated := p.found(literal(seasonSlots(p.all, p.season), p.eps), viaSeason, "")
	if stated.ok && stated.season == at.season && stated.text() != at.text() {
		return placement{}
	}
	return at
}

func (p *placer) stated() bool { return len(p.rel.Seasons) > 0 }

// bySeason takes the season of the name as TMDB's. Numbers that it lacks count from the first season if that leads into
// the same season, or are positions in a season that does not start at 1.
func bySeason(p *placer) placement {
	if p.season == 0 || p.part > 0 || p.hint.Arc > 0 && (p.rel.Absolute || p.arcHasPart(p.season)) {
		return placement{}
	}
	if at := bySeasonOfArc(p); at.ok {
		return at
	}
	if at := bySeasonName(p); at.ok || p.err != nil {
		return at
	}
	s, ok := p.e.season(p.season)
	if !ok || len(s.Episodes) == 0 {
		p.note("TMDB has no season %d", p.season)
		return placement{}
	}
	list := slots(s)
	if at := p.found(literal(list, p.eps), viaSeason, "season %d has the number", p.season); at.ok {
		return at
	}
	p.note("season %d holds no %s", p.season, episodesText(p.eps))
	if at := p.found(positions(p.all, p.eps, 0), viaCounted, "counted from the first season"); at.ok &&
		at.season == p.season {
		return at
	}
	if list[0].episode.Number > 1 {
		return p.found(positions(list, p.eps, 0), viaSeason, "by position: season %d starts at episode %d", p.season,
			list[0].episode.Number)
	}
	if next, ok := p.e.season(p.season + 1); ok {
		return p.found(positions(slices.Concat(list, slots(next)), p.eps, 0), viaCounted,
			"counted on from season %d, which TMDB splits", p.season)
	}
	return placement{}
}

// bySeasonOfArc is for a second season of a named season: "Title Arc 2nd Season" is the one after "Title Arc".
func bySeasonOfArc(p *placer) placement {
	arc := p.hint.Arc
	// else there is no such season, and nothing to ask
	if arc == 0 && p.season == 2 && p.stated() && p.all[len(p.all)-1].season > 3 {
		arc = englishArc(p)
	}
	if arc < 2 || p.season != 2 || arc == p.season || !p.stated() {
		return placement{}
	}
	return p.found(literal(seasonSlots(p.all, arc+1), p.eps), viaName,
		"season %d follows season %d, whose name is in the title", arc+1, arc)
}

// arcHasPart reports whether the named season is not the n-th and has exactly n parts: "Title Arc 2nd Season" is then
// its second part.
func (p *placer) arcHasPart(n int) bool {
	return n > 1 && p.hint.Arc != n && len(runs(seasonSlots(p.all, p.hint.Arc), courGap)) == n
}

// byArc takes the season whose name is in the title: "Title Arc 2nd Season" is the arc's second part.
func byArc(p *placer) placement {
	arc, by := p.hint.Arc, viaName
	if arc == 0 && p.season == 0 && p.part == 0 {
		arc, by = arcByWord(p), viaWord
	}
	if arc == 0 {
		arc, by = foreignArc(p)
	}
	s, ok := p.e.season(arc)
	if !ok || arc == 0 {
		return placement{}
	}
	p.note("%q is the name of season %d", s.Name, s.Number)
	if p.season > 1 && p.season != s.Number && p.part == 0 {
		p.part = p.season
	}
	p.season = s.Number
	if p.part > 0 {
		return placement{} // byPart knows
	}
	list := slots(s)
	return either(
		p.found(literal(list, p.eps), by, "season %d has %s", s.Number, inTitle(by)),
		p.found(positions(list, p.eps, 0), by, "by position in season %d, which has %s", s.Number, inTitle(by)))
}

func foreignArc(p *placer) (season int, by *method) {
	if season = englishArc(p); season != 0 || p.err != nil {
		return season, viaName
	}
	if p.season > 0 || p.part > 0 || !p.severalSeasons() {
		return 0, nil
	}
	if arc, language := arcLanguage(p.hint.Arcs, p.titles); language != "" {
		if e := p.calledIn(language); e != nil {
			season = arcOf(e, p.titles, arc.Text, arc.Text, arc.Rest)
		}
	}
	if season != 0 || p.err != nil || p.e.OriginalLanguage != "ja" {
		return season, viaName
	}
	i := slices.IndexFunc(p.hint.Arcs, func(a ArcText) bool { return title.Script(a.Rest) == "latin" })
	if i < 0 {
		return 0, nil
	}
	if e := p.calledIn("ja-JP"); e != nil {
		season = arcRead(e, p.titles, p.hint.Arcs[i].Rest)
	}
	return season, viaReading
}

// englishArc looks for the arc among the English season names, if TMDB was asked in a language that has none.
func englishArc(p *placer) int {
	arcs := p.hint.Arcs
	if !p.matchedShowTitle() {
		arcs = append(slices.Clip(arcs), ArcText{Text: p.hint.title.norm})
	}
	i := slices.IndexFunc(arcs, func(a ArcText) bool { return title.Script(a.Text) == "latin" })
	if i < 0 || !p.severalSeasons() || !eastAsian(p.e) {
		return 0
	}
	e := p.calledIn("en-US")
	if e == nil {
		return 0
	}
	return arcOf(e, p.titles, arcs[i].Text, arcs[i].Text, arcs[i].Rest)
}

func (p *placer) calledIn(language string) *Entry {
	names, o, err := p.src.SeasonNames(p.ctx, p.e.ID, language)
	if errors.Is(err, ErrNoEntry) {
		return nil
	}
	if err != nil {
		p.err = err
		return nil
	}
	p.origin = p.origin.With(o)
	local := *p.e
	local.Seasons = slices.Clone(p.e.Seasons)
	for i := range local.Seasons {
		local.Seasons[i].Name = names[local.Seasons[i].Number]
	}
	p.note("asked for the seasons' names in %s", language)
	return &local
}

func (p *placer) severalSeasons() bool {
	return len(p.all) > 0 && p.all[len(p.all)-1].season != p.all[0].season
}

func byPart(p *placer) placement {
	if p.part == 0 {
		return placement{}
	}
	if p.season == 0 && (p.final() || p.hint.Rest != "" && p.severalSeasons()) {
		return placement{} // a part of an arc that is no season's name, or of a season that is not there
	}
	list := p.all
	if p.season > 0 {
		s, ok := p.e.season(p.season)
		if !ok {
			return placement{}
		}
		list = slots(s)
	} else if first := seasonSlots(p.all, 1); len(first) > 0 && len(runs(first, courGap)) >= p.part {
		list = first
	}
	parts := runs(list, courGap)
	if p.part > len(parts) {
		p.note("no part %d between pauses", p.part)
		return placement{}
	}
	part := parts[p.part-1]
	return either(
		p.found(positions(part, p.eps, 0), viaPart, "by position in part %d, which begins with S%02dE%02d", p.part,
			part[0].season, part[0].episode.Number),
		p.found(literal(part, p.eps), viaPartNumber, "part %d has the number", p.part))
}

// byFinal takes "Final Season" as the last of several, with more trust if a title of the entry says so too.
func byFinal(p *placer) placement {
	last := p.all[len(p.all)-1].season
	if !p.final() || p.season > 0 || last == p.all[0].season {
		return placement{}
	}
	if p.part > 0 {
		p.season = last
		return placement{} // byPart knows
	}
	by := viaName
	if !p.hint.Final {
		by = viaFinal
	}
	list := seasonSlots(p.all, last)
	return either(
		p.found(literal(list, p.eps), by, "the final season is season %d", last),
		p.found(positions(list, p.eps, 0), by, "by position in season %d, the final one", last))
}

func (p *placer) final() bool { return p.hint.Final || p.hint.saysFinal }

// byPosition is for a plain number: the first season's episode, else the n-th over all seasons.
func byPosition(p *placer) placement {
	if p.part > 0 || p.season > 0 && (p.stated() || slices.Max(p.eps) <= longest(p.all)) {
		return placement{}
	}
	if p.year != 0 && !p.near(p.all) {
		p.note("no regular episode aired in or next to %d", p.year)
		return placement{}
	}
	if p.hint.Rest != "" &&
		(p.severalSeasons() || len(p.specials) > 0 ||
			len(runs(p.all, courGap)) > 1 && withoutArcWord(p.hint.Rest) != p.hint.Rest) && slices.Max(p.eps) <= longest(p.all) {
		p.note("%q names a part of the show, and no season has that name", p.hint.Rest)
		return placement{}
	}
	if list := literal(seasonSlots(p.all, p.all[0].season), p.eps); list != nil && p.year != 0 && !p.near(list) &&
		p.near(p.all) {
		p.note("the first season's %s aired in another year than %d", episodesText(p.eps), p.year)
		return placement{}
	}
	if at := p.found(literal(seasonSlots(p.all, p.all[0].season), p.eps), viaFirst, "season %d has the number",
		p.all[0].season); at.ok {
		return at
	}
	if rolling(p.all) {
		return p.found(literal(p.all, p.eps), viaCounted, "numbers roll on through the seasons")
	}
	return p.found(positions(p.all, p.eps, 0), viaCounted, "counted over all seasons")
}

// near reports whether episodes aired in the year of the name or next to it; also if no date is known.
func (p *placer) near(list []slot) bool {
	dated := func(s slot) bool { return !s.aired.IsZero() }
	near := func(s slot) bool { return dated(s) && distance(s.aired.Year(), p.year) <= 1 }
	return !slices.ContainsFunc(list, dated) || slices.ContainsFunc(list, near)
}

func longest(list []slot) int {
	most := 0
	for _, run := range runs(list, 1<<62) {
		most = max(most, len(run))
	}
	return most
}

func rolling(all []slot) bool {
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

func (p *placer) whole() placement {
	if at := numberAtEnd(p); at.ok {
		return at
	}
	if p.rel.Kind != release.Batch && p.season == 0 {
		return either(either(specialTitle(p), onlySpecial(p)), placement{why: "the name says no episode"})
	}
	n := p.season
	if n == 0 && p.severalSeasons() {
		return placement{why: "the name says no season, and there are several"}
	}
	if n == 0 && len(p.all) > 0 {
		n = p.all[0].season
	}
	if _, ok := p.e.season(n); !ok || n == 0 {
		return placement{why: lang.Textf("there is no season %d", n)}
	}
	by := viaBatch
	if p.rel.Extension != "" {
		by = viaAlone
	}
	return placement{ok: true, season: n, method: by, trust: by.trust, why: "a whole season"}
}

// numberAtEnd takes the number at the end of a single file's title, "Title 2.mkv", if the show has one season.
func numberAtEnd(p *placer) placement {
	if p.rel.Kind != release.Unknown || p.rel.Extension == "" || p.stated() || p.part > 0 || p.severalSeasons() ||
		len(runs(p.all, courGap)) != 1 || len(p.rel.Titles) == 0 || specialTitle(p).ok {
		return placement{}
	}
	norm := title.Normalize(p.rel.Titles[0].Text)
	i := strings.LastIndexByte(norm, ' ')
	n, err := strconv.Atoi(norm[i+1:])
	taken := func(t named) bool { return t.norm == norm || t.seq.Season == n }
	shorter := func(t named) bool { return t.norm == norm[:i] }
	if i < 0 || err != nil || slices.ContainsFunc(p.titles, taken) || !slices.ContainsFunc(p.titles, shorter) {
		return placement{}
	}
	return p.found(literal(p.all, []int{n}), viaAtEnd,
		"the title ends in the number, and the show has one season")
}
