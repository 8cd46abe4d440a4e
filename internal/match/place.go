package match

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
)

// Place finds the season and episodes of files of one series in one folder, and returns a decision for each file. It
// fetches at most two episode groups, and only if the seasons lack the numbers.
func (r *Resolver) Place(ctx context.Context, files []File, res Resolution) []Decision {
	out, places, numbering := make([]Decision, len(files)), make([]placement, len(files)), numberings{}
	for i, f := range files {
		d, open := startDecision(f, res)
		if out[i] = d; !open {
			continue
		}
		p := newPlacer(ctx, r.Source, f.Release, res)
		places[i] = p.place(numbering.forFile(files, p))
		if f.Doubt != "" && places[i].ok && places[i].method != viaSpecialTitle {
			places[i].trust *= trustFactorDuplicates
			places[i].reason = lang.Textf("%s, but %s", places[i].reason, f.Doubt)
		}
		if p.err != nil {
			out[i].Status, out[i].Err, out[i].Reason = Pending, p.err, "an episode group could not be fetched"
			places[i] = placement{}
		}
		for _, s := range p.steps {
			out[i].Steps = append(out[i].Steps, Step{Stage: "place", Detail: s})
		}
		out[i].Origin = out[i].Origin.CombinedWith(p.origin)
		k := slices.IndexFunc(d.UsedEntries, func(s UsedEntry) bool { return s.Kind == d.Kind && s.ID == d.ID })
		if k >= 0 && p.origin.ReadAt.After(d.UsedEntries[k].ReadAt) {
			out[i].UsedEntries = slices.Clone(d.UsedEntries)
			out[i].UsedEntries[k].ReadAt = p.origin.ReadAt
		}
	}
	doubtDuplicatePlaces(files, places)
	for i := range out {
		if places[i].reason != "" {
			places[i].applyTo(&out[i], r.Options.MinEpisodeConfidence)
			doubtSeriesForFilm(&out[i], files[i].Release, places[i].ok, r.Options.MinConfidence)
		}
	}
	return out
}

const maxFilmAsSeriesConfidence = 0.5 // see doubtSeriesForFilm

// doubtSeriesForFilm lowers the confidence in a series found for a film's name if the film has no place in it.
func doubtSeriesForFilm(d *Decision, r release.Release, placed bool, least float64) {
	if r.Kind != release.Movie || placed || d.Confidence == 1 || len(d.Candidates) == 0 {
		return
	}
	d.Confidence = min(d.Confidence, maxFilmAsSeriesConfidence)
	if d.Confidence < least {
		d.Status, d.Reason = Ambiguous, "the name says it is a film, but TMDB found a series"
		d.Kind, d.ID, d.Title, d.OriginalTitle, d.Year, d.EpisodeConfidence = "", 0, "", "", 0, nil
	}
}

// startDecision returns a file's decision with the result for its series. open is true if the episode must still be
// found.
func startDecision(f File, res Resolution) (d Decision, open bool) {
	d.Outcome = res.Outcome
	d.Steps = slices.Clip(res.Steps)
	if f.isExtra() {
		switch {
		case !f.MatchExtra:
			d.Outcome = Outcome{Status: Skipped, Reason: ExtraReason}
		case d.Status == Matched:
			d.Reason = "an extra of it, not an episode"
			return d, false
		case d.Status != Pending:
			d.Status, d.Confidence, d.Reason, d.Err = Skipped, 0, "an extra, but it is not clear which work it belongs to", nil
		}
	}
	if d.Status != Matched {
		d.Kind, d.ID, d.Title, d.OriginalTitle, d.Year = "", 0, "", "", 0
		return d, false
	}
	return d, res.Kind == TV && res.Entry != nil
}

// placement is the season and episodes of a file. trust is the probability that they are right. reason explains how
// they were found, or why not.
type placement struct {
	ok          bool
	season      int
	slots       []slot
	method      *method
	trust       float64
	unplaceable bool // the number has a fraction, or there are several seasons
	reason      lang.Text
}

func (at placement) applyTo(d *Decision, least float64) {
	d.Reason, d.EpisodeConfidence = at.reason, &at.trust
	if (!at.ok || at.method == viaGuess || at.method == viaTrailingNumber) && !at.unplaceable && d.Confidence < 1 {
		d.Confidence = min(d.Confidence, maxDoubtfulConfidence)
	}
	switch {
	case !at.ok:
		at.trust = 0
		return
	case at.trust < least:
		d.Reason = lang.Textf("%s; perhaps %s, %d %%", at.reason, at.label(), int(100*at.trust))
		if len(at.slots) > 0 {
			episodes := slicesx.Map(at.slots, func(s slot) Episode { return s.episode })
			d.Guess = &Guess{Season: at.season, Episodes: episodes}
		}
		return
	}
	d.Season = &at.season
	for _, s := range at.slots {
		d.Episodes = append(d.Episodes, s.episode.Number)
		d.EpisodeTitles = append(d.EpisodeTitles, s.episode.Name)
	}
	if len(at.slots) > 0 {
		d.AirDate = at.slots[0].episode.AirDate
	}
}

type placer struct {
	ctx     context.Context //nolint:containedctx // used only during one call of Place
	source  Source
	rel     release.Release
	entry   *Entry
	hint    Hint
	mapping *Mapping
	*preparedEntry
	numbers      []int // the file's episode numbers, or those of all files of its group
	isWholeGroup bool  // numbers are those of all files of the group: of one folder, release group, season and part
	season       int   // the season stated by the name or the matched title, 0 for none
	part         int
	folderLast   int  // the greatest episode number in the folder
	restarts     bool // the folder's numbers restart in each hundred
	year         int  // the year in the name, or 0 if it is the entry's first year or part of its title
	steps        []lang.Text
	origin       Origin
	err          error
}

func newPlacer(ctx context.Context, src Source, rel release.Release, res Resolution) *placer {
	p := &placer{
		ctx: ctx, source: src, rel: rel, entry: res.Entry, hint: res.Hint, mapping: res.Mapping, preparedEntry: res.prepared,
	}
	if p.preparedEntry == nil {
		p.preparedEntry = prepareEntry(res.Entry)
	}
	p.season, p.part = p.seasonAndPart(rel)
	inTitle := func(t entryTitle) bool { return t.primary && t.sequel.Year == res.Hint.Year }
	if y := res.Hint.Year; y != res.Entry.Year && !slices.ContainsFunc(p.titles, inTitle) {
		p.year = y
	}
	return p
}

func (p *placer) seasonAndPart(rel release.Release) (season, part int) {
	season, _ = rel.Season()
	return cmp.Or(season, p.hint.Season), cmp.Or(rel.SeasonPart(), p.hint.Part)
}

// highestNumber returns the greatest episode number in the folder. The right season has at least as many episodes.
func (p *placer) highestNumber() int { return max(slices.Max(p.numbers), p.folderLast) }

func (p *placer) addStep(format string, args ...any) {
	p.steps = append(p.steps, lang.Textf(format, args...))
}

// strategies are the ways to place regular episodes, tried in this order. Each places all episodes of a file or none.
var strategies = []func(*placer) placement{
	placeBySeasonDigit, placeByMapping, placeByLaterCour, placeBySeason, placeByYear, placeByArc, placeInFinalSeason,
	placeByPart, placeByRuns, placeByEpisodeGroup, placeInOnlyLongSeason, placeInSecondSeason, placeByPosition,
}

func (p *placer) place(folder numbering) placement {
	switch {
	case len(p.rel.Seasons) > 1:
		return placement{unplaceable: true, reason: "the name spans several seasons"}
	case !p.isRegular():
		at := p.placeSpecial()
		at.unplaceable = p.hasFraction()
		return at
	}
	p.numbers, p.folderLast, p.restarts = toInts(p.rel.Episodes), folder.lastNumber, folder.restarts
	if len(p.numbers) == 0 {
		return p.placeWholeSeason()
	}
	if at := placeBySpecialTitle(p); at.ok {
		return at
	}
	if len(p.episodes) == 0 {
		return placement{reason: "TMDB lists no episodes for it yet"}
	}
	if at := placeByOverallNumber(p); at.ok {
		return at
	}
	before := *p
	_, at := p.tryStrategies(folder.strategy)
	if !at.ok && folder.strategy >= 0 {
		*p = before
		_, at = p.tryStrategies(-1)
	}
	if !at.ok && p.err == nil {
		at = placeInOnlySpecialWork(p)
	}
	if !at.ok && p.err == nil {
		at = p.guessPlace()
	}
	return p.applyDoubts(at)
}

// tryStrategies returns the index of the first strategy that finds a place, and the place. Unless only is -1, it
// accepts only that strategy.
func (p *placer) tryStrategies(only int) (int, placement) {
	for i, s := range strategies {
		if at := s(p); p.err != nil || at.ok && (only < 0 || only == i) {
			return i, at
		}
	}
	return -1, placement{}
}

func (p *placer) isRegular() bool { return !p.hasFraction() && !p.isSpecial() }

// hasFraction reports whether an episode number is negative or not whole, such as 12.5.
func (p *placer) hasFraction() bool {
	return slices.ContainsFunc(p.rel.Episodes, func(e float64) bool { return e != math.Trunc(e) || e < 0 })
}

func toInts(numbers []float64) []int {
	return slicesx.Map(numbers, func(n float64) int { return int(n) })
}

func (p *placer) guessPlace() placement {
	why := p.notFoundReason()
	if p.part > 0 || p.season > 0 {
		return placement{reason: why}
	}
	first := seasonSlots(p.episodes, p.episodes[0].season)
	return firstFound(p.placementAt(slotsByNumber(first, p.numbers), viaGuess, "%s", why),
		p.placementAt(slotsByPosition(p.episodes, p.numbers, 0), viaGuess, "%s", why), placement{reason: why})
}

func (p *placer) notFoundReason() lang.Text {
	switch {
	case p.season > 0 && p.part > 0:
		return lang.Textf("TMDB's season %d has no part %d with number %s", p.season, p.part, numberListText(p.numbers))
	case p.season > 0:
		return lang.Textf("nothing in TMDB's seasons fits season %d, %s", p.season, episodesText(p.numbers))
	case p.year != 0 && !p.airedNearYear(p.episodes):
		return lang.Textf("no regular episode aired in %d", p.year)
	case p.part > 0:
		return lang.Textf("nothing in TMDB's seasons fits part %d, %s", p.part, episodesText(p.numbers))
	case p.hint.Remainder != "":
		return lang.Textf("%q looks like an arc or season, but TMDB has no season of that name", p.hint.Remainder)
	}
	return lang.Textf("nothing in TMDB's seasons fits %s", episodesText(p.numbers))
}

// placementAt places the file at these slots. It fails if they are in different seasons.
func (p *placer) placementAt(list []slot, by *method, why string, args ...any) placement {
	another := func(s slot) bool { return s.season != list[0].season }
	if len(list) == 0 || !p.isWholeGroup && slices.ContainsFunc(list, another) {
		return placement{}
	}
	return placement{
		ok: true, season: list[len(list)-1].season, slots: list, method: by, trust: by.trust,
		reason: lang.Textf(why, args...),
	}
}

func firstFound(list ...placement) (at placement) {
	for _, at = range list {
		if at.ok {
			break
		}
	}
	return at
}

func slotsByNumber(list []slot, eps []int) []slot {
	return pickSlots(list, eps, func(n int) int {
		return slices.IndexFunc(list, func(s slot) bool { return s.episode.Number == n })
	})
}

func slotsByPosition(list []slot, eps []int, offset int) []slot {
	return pickSlots(list, eps, func(n int) int { return n + offset - 1 })
}

// pickSlots returns the slot at position place(n) for each number n, nil if a position is outside the list.
func pickSlots(list []slot, eps []int, place func(n int) int) []slot {
	out := make([]slot, 0, len(eps))
	for _, n := range eps {
		i := place(n)
		if i < 0 || i >= len(list) {
			return nil
		}
		out = append(out, list[i])
	}
	return out
}

// label formats the place for the user: "S02E05", "S02E05-E06".
func (at placement) label() string {
	text := fmt.Sprintf("S%02d", at.season)
	if n := len(at.slots); n > 0 {
		text += fmt.Sprintf("E%02d", at.slots[0].episode.Number)
		if n > 1 {
			text += fmt.Sprintf("-E%02d", at.slots[n-1].episode.Number)
		}
	}
	return text
}

// numberListText formats episode numbers for the user: "3", "101 and 102", "1-12 and 14".
func numberListText(eps []int) lang.Text {
	var runs []string
	for i := 0; i < len(eps); {
		last := i
		for last+1 < len(eps) && eps[last+1] == eps[last]+1 {
			last++
		}
		if last < i+2 { // a run of one or two is no range
			last = i
			runs = append(runs, strconv.Itoa(eps[i]))
		} else {
			runs = append(runs, fmt.Sprintf("%d-%d", eps[i], eps[last]))
		}
		i = last + 1
	}
	if n := len(runs); n > 1 {
		return lang.Textf("%s and %s", strings.Join(runs[:n-1], ", "), runs[n-1])
	}
	return lang.Text(strings.Join(runs, ""))
}

func episodesText(eps []int) lang.Text {
	if len(eps) == 1 {
		return lang.Textf("episode %s", numberListText(eps))
	}
	return lang.Textf("episodes %s", numberListText(eps))
}
