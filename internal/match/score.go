package match

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// Weights of the evidence. The similarity of the titles adds 0 to 1.
const (
	weightTwoScripts         = 0.03  // titles in two scripts match
	weightSpelling           = 0.03  // the signs match too: "K-Off!" is not "K-Off!!"
	weightLongerReading      = 0.06  // the exact title is longer than the likeliest reading
	weightYear               = 0.10  // the entry has the year of the name
	weightYearInTitle        = 0.03  // an official title also contains the year: "Title (2018)"
	weightYearNear           = 0.02  // the entry's year is one year off
	weightYearTwoOff         = -0.22 // the entry's year is two years off
	weightYearFar            = -0.35 // the entry's year is farther off
	weightEpisodes           = 0.04  // the entry has the season and the episode
	weightEpisodesOverall    = 0.02  // the entry has the episode if numbers count over all seasons
	weightTooFewEpisodes     = -0.10 // the entry has fewer episodes than the files' greatest number
	weightNoEpisodes         = -0.15 // the entry has no episodes at all
	weightNoSeason           = -0.05 // the entry lacks the season
	weightNoSequelSeason     = -0.20 // the entry lacks the season at the end of the title
	weightOtherKind          = -0.12 // a film for a series' name, or a series for a film's
	weightFilmForSeries      = -0.35 // a film for a name with a season or an episode above 1
	weightSingleFilm         = 0.08  // a film, and the name has no episode
	weightAnimation          = 0.03  // animation
	weightNotAnimation       = -0.10 // not animation
	weightNotAnimationFansub = -0.20 // not animation, for a name in fansub style
	weightTooOld             = -0.04 // the entry ended before this form of release existed
	weightLanguage           = 0.01  // the original language is Japanese, Korean or Chinese
	weightPopularity         = 0.002 // per power of ten of popularity; only breaks ties
	genreAnimation           = 16
)

// contender is an entry that may be the right one. entry is nil until its details are fetched.
type contender struct {
	hit               Hit
	entry             *Entry
	named             *Entry // entry with season names in the language of the name; nil if not needed
	foundByYear       bool   // found by a query with a year
	showsQuery        bool   // a visible title contains the query
	foundByWholeTitle bool   // found by a query for a whole title
	fromCaller        bool   // given by the caller, not found by a search
	otherKind         bool   // not of the kind that the name suggests
}

type scoredContender struct {
	contender
	titles  []entryTitle
	match   titleMatch
	score   float64
	reasons []Reason
}

func (c contender) hasDetails() bool { return c.entry != nil }

func scoreContender(s preparedSeries, c contender) scoredContender {
	out := scoredContender{contender: c}
	if c.entry != nil {
		out.titles = entryTitles(c.entry)
	} else {
		out.titles = hitTitles(c.hit)
	}
	readings := slices.Concat(s.readings, s.variants)
	film := c.hit.Kind == Movie
	if film {
		readings = append(readings, s.withEpisodeNumber...)
	}
	want := nameFacts{season: s.Season, part: s.Part, year: s.Year, ignoreSubtitles: film && s.Year != 0 &&
		c.hit.Year == s.Year, isFilm: film && s.Want == WantMovie}
	if want.isFilm {
		for i := range out.titles {
			out.titles[i].withoutFilmWords = withoutFilmWords(out.titles[i].text)
		}
	}
	out.match = bestTitleMatch(readings, want, out.titles)
	if c.entry != nil {
		out.match = matchPartNames(s.readings, cmp.Or(c.named, c.entry), out.titles, out.match)
	}
	likeness := lang.Textf("%q is like %q", out.match.reading.Text, out.match.title.text)
	if out.match.reading.Text == out.match.title.text {
		likeness = lang.Textf("%q is one of its titles", out.match.reading.Text)
	}
	out.addReason("title", out.match.sim, likeness)
	compact := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if read := compact(out.match.reading.Text); read != "" && strings.EqualFold(read, compact(out.match.title.text)) {
		out.addReason("spelling", weightSpelling, "spelled exactly the same")
	}
	if out.match.sim >= simExact && len(s.Titles) > 0 && hasWordPrefix(out.match.reading.norm, s.normalizedTitle()) {
		out.addReason("longer", weightLongerReading, "its title covers more of the name")
	}
	if out.match.scripts > 1 {
		out.addReason("scripts", weightTwoScripts, "readings in two scripts agree")
	}
	out.weighYear(s.Series)
	out.weighEpisodes(s.Series)
	out.weighKind(s.Series)
	out.weighStyle(s.Series)
	if last := out.lastAirYear(); s.ModernRelease && last != 0 && last < firstModernYear {
		out.addReason("era", weightTooOld, lang.Textf("it ended in %d", last))
	}
	out.score += weightPopularity * math.Log10(1+max(c.hit.Popularity, 0))
	return out
}

func (c *scoredContender) addReason(name string, w float64, detail lang.Text) {
	c.score += w
	c.reasons = append(c.reasons, Reason{Name: name, Weight: w, Detail: detail})
}

func (c *scoredContender) weighYear(s Series) {
	y := cmp.Or(s.Year, c.match.fileSequel.Year)
	if y == 0 {
		return
	}
	switch d := c.yearDistance(y); {
	case d == 0:
		c.addReason("year", weightYear, lang.Textf("%d is one of its years", y))
		if c.match.title.sequel.Year == y && c.match.title.primary {
			c.addReason("year in the title", weightYearInTitle, lang.Textf("%q", c.match.title.text))
		}
	case d > 0 && s.Want == WantSpecial && c.hit.Kind == TV && y > c.hit.Year:
		// a special may come out long after the series
	case d == 1:
		c.addReason("year", weightYearNear, lang.Textf("%d is one year off", y))
	case d > 2:
		c.addReason("year", weightYearFar, lang.Textf("%d is %d years off", y, d))
	case d > 1:
		c.addReason("year", weightYearTwoOff, lang.Textf("%d is %d years off", y, d))
	}
}

// yearDistance returns how many years y is from the nearest year of the entry, -1 if unknown.
func (c *scoredContender) yearDistance(y int) int {
	own := c.match.title.base // a title of the entry may state the year: "Title (2014)"
	if slices.ContainsFunc(c.titles, func(t entryTitle) bool { return t.sequel.Year == y && t.base == own }) {
		return 0
	}
	years := []int{c.hit.Year}
	switch {
	case c.entry != nil:
		years = append(c.entry.airYears(), cmp.Or(c.entry.Year, c.hit.Year))
	case c.hit.Kind != TV:
	case c.foundByYear:
		return 0
	case c.hit.Year < y:
		return -1 // a later season may have aired then
	}
	best := -1
	for _, year := range years {
		if d := absDiff(year, y); year != 0 && (best < 0 || d < best) {
			best = d
		}
	}
	return best
}

func (e *Entry) airYears() []int {
	var years []int
	for _, s := range e.Seasons {
		years = append(years, YearOf(s.AirDate))
		for _, ep := range s.Episodes {
			years = append(years, YearOf(ep.AirDate))
		}
	}
	return years
}

// firstModernYear is about when web releases appeared; today's codecs soon followed.
const firstModernYear = 2010

func (c *scoredContender) lastAirYear() int {
	if c.hit.Kind == Movie {
		return c.hit.Year
	}
	if c.entry == nil {
		return 0
	}
	return slices.Max(append(c.entry.airYears(), 0))
}

func (c *scoredContender) weighKind(s Series) {
	switch plain := slices.ContainsFunc(s.Titles, func(t release.Title) bool { return t.Text == c.match.reading.Text }); {
	case c.otherKind && c.hit.Kind == Movie && plain && (s.HasSeason || s.LastEpisode > 1):
		c.addReason("kind", weightFilmForSeries, "films have no episodes")
	case c.otherKind:
		c.addReason("kind", weightOtherKind, "the name says otherwise")
	}
	if c.hit.Kind == Movie && s.Want == WantAny && s.Episodes == 0 && !s.HasSeason {
		c.addReason("single", weightSingleFilm, "a film, and the name has no episode")
	}
}

func (c *scoredContender) weighEpisodes(s Series) {
	if c.entry == nil || c.entry.Kind != TV || s.Want == WantMovie || s.Want == WantAny || s.Want == WantWork {
		return
	}
	all := regularSlots(c.entry)
	total, last := max(len(all), c.entry.EpisodeCount), int(s.LastEpisode)
	if n := c.match.fileSequel.Season; n > 1 && !c.hasSeason(n, all) {
		c.addReason("sequel", weightNoSequelSeason, lang.Textf("the title ends in season %d, which the entry lacks", n))
	}
	switch {
	case total == 0 && s.Want == WantTV:
		c.addReason("episodes", weightNoEpisodes, "it has no episodes")
	case last == 0:
	case s.HasSeason:
		c.weighSeason(s, last, all)
	case s.Want == WantTV:
		highest := total
		for _, e := range all {
			highest = max(highest, e.episode.Number)
		}
		switch first := seasonSlots(all, 1); {
		case last > highest:
			c.addReason("episodes", weightTooFewEpisodes, lang.Textf("it has %d episodes, but the files go up to "+
				"%d", total, last))
		case len(first) > 0 && last > first[len(first)-1].episode.Number:
			c.addReason("episodes", weightEpisodesOverall, lang.Textf("it has %d episodes or more in all", last))
		default:
			c.addReason("episodes", weightEpisodes, lang.Textf("it has an episode %d", last))
		}
	}
}

func (c *scoredContender) weighSeason(s Series, last int, all []slot) {
	season, ok := c.entry.season(s.Season)
	switch {
	case ok && slices.ContainsFunc(season.Episodes, func(e Episode) bool { return e.Number == last }):
		c.addReason("episodes", weightEpisodes, lang.Textf("season %d has episode %d", s.Season, last))
	case !ok && (s.Season == 0 || !c.hasSeason(s.Season, all)):
		c.addReason("season", weightNoSeason, lang.Textf("no season %d", s.Season))
	case last > max(len(all), c.entry.EpisodeCount):
		c.addReason("episodes", weightTooFewEpisodes, lang.Textf("it has %d episodes, but the files go up to "+
			"%d", len(all), last))
	}
}

// hasSeason reports whether the entry has season n, or at least n runs of episodes between pauses.
func (c *scoredContender) hasSeason(n int, all []slot) bool {
	_, ok := c.entry.season(n)
	return ok || len(splitRuns(all, courPause)) >= n
}

func (c *scoredContender) weighStyle(s Series) {
	genres := c.hit.Genres
	if c.entry != nil && len(c.entry.Genres) > 0 {
		genres = c.entry.Genres
	}
	live := slices.ContainsFunc(s.Files, func(f File) bool { return f.Release.Folder.Live })
	switch animated := slices.Contains(genres, genreAnimation); {
	case animated && live:
		c.addReason("animation", weightNotAnimation, "animation, in a folder of live action")
	case live:
	case animated:
		c.addReason("animation", weightAnimation, "animation")
	case len(genres) > 0 && s.FansubStyle:
		c.addReason("animation", weightNotAnimationFansub, "not animation, although the name looks like anime")
	case len(genres) > 0:
		c.addReason("animation", weightNotAnimation, "not animation")
	}
	switch c.hit.OriginalLanguage {
	case "ja", "ko", "zh", "cn":
		c.addReason("language", weightLanguage, lang.Textf("made in %s", c.hit.OriginalLanguage))
	}
}

// These constants define the confidence in a contender, which is the product of two factors. The first is the
// likelihood that an entry with this score is right, regardless of rivals: a logistic curve, lower if no title matches
// exactly. The second compares the contender with its rivals: a lead of 1/calLead in the score is worth a factor of e.
// With one equal rival, the second factor is a half, however good the title is.
//
// The constants were fitted by maximum likelihood on the development names, with and without the right entries, as if
// TMDB lacked three in a hundred titles. Then they were rounded to the cautious side (docs/matching.md compares
// predicted and measured confidences).
const (
	calIntercept      = -12.2
	calSlope          = 17.0
	calMaxScore       = 1.2 // a higher score adds nothing
	calLead           = 21.0
	calInexactPenalty = 2.0
)

// ranking holds contenders from the best to the worst, and the confidence in the first.
type ranking struct {
	contenders []scoredContender
	confidence float64
}

// rankContenders sorts the contenders by score, popularity, kind and id, and estimates the confidence of the first.
func rankContenders(all []scoredContender) ranking {
	v := ranking{contenders: slices.Clone(all)}
	slices.SortStableFunc(v.contenders, func(a, b scoredContender) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.hit.Popularity, a.hit.Popularity),
			cmp.Compare(a.hit.Kind, b.hit.Kind), cmp.Compare(a.hit.ID, b.hit.ID))
	})
	if len(v.contenders) > 0 {
		v.confidence = confidenceAt(v.contenders, 0)
	}
	return v
}

func confidenceAt(ranked []scoredContender, i int) float64 {
	own, rivals := ranked[i].score, 0.0
	for _, o := range ranked {
		rivals += math.Exp(calLead * (o.score - own))
	}
	return ranked[i].likelihood() / rivals
}

// likelihood estimates how likely the contender is the right entry, regardless of its rivals.
func (c scoredContender) likelihood() float64 {
	x := calIntercept + calSlope*min(c.score, calMaxScore)
	if c.match.sim < simAlmostExact {
		x -= calInexactPenalty
	}
	return 1 / (1 + math.Exp(-x))
}

// contradictedBy reports whether the matched title is weak evidence (a short word, or a piece of a longer title) while
// the name's title in another script resembles no title of the entry.
func (c scoredContender) contradictedBy(s preparedSeries) bool {
	read := c.match.reading.Text
	own := hasSpacelessScript(read)
	i := slices.IndexFunc(s.Titles, func(r release.Title) bool { return r.Text == read })
	shared := own && utf8.RuneCountInString(read) < minPhraseLength || i > 0 && IsPieceOfTitle(s.Titles, i)
	return c.entry != nil && c.match.scripts <= 1 && shared && slices.ContainsFunc(s.readings, func(r reading) bool {
		alike := func(t entryTitle) bool { return title.Similarity(r.norm, t.norm) >= minSimilarity }
		return r.From == release.FromName && hasSpacelessScript(r.Text) != own && !slices.ContainsFunc(c.titles, alike)
	})
}

const maxCandidates = 5

func candidates(ranked []scoredContender) []Candidate {
	var out []Candidate
	for i, c := range ranked {
		if i == maxCandidates || c.match.sim < minSimilarity && i > 0 {
			break
		}
		reasons := slices.Clone(c.reasons)
		slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
		out = append(out, Candidate{
			Kind: c.hit.Kind, ID: c.hit.ID, Title: c.hit.Title, Year: c.hit.Year, Score: c.score,
			Confidence: confidenceAt(ranked, i), Reasons: reasons,
		})
	}
	return out
}

func doubtReason(v ranking) lang.Text {
	best := v.contenders[0]
	if len(v.contenders) > 1 && best.likelihood() >= 0.5 && best.score-v.contenders[1].score < 1/calLead {
		first, second := distinctNames(best.hit, v.contenders[1].hit)
		return lang.Textf("%q and %q fit about equally well", first, second)
	}
	if best.match.sim >= simAlmostExact {
		return lang.Textf("the title fits %q on TMDB, but that is not enough to be sure", best.match.title.text)
	}
	return lang.Textf("the closest title on TMDB, %q, is not close enough", best.match.title.text)
}

// distinctNames returns the titles of two entries, with their years, or else their ids, if the titles are equal.
func distinctNames(a, b Hit) (string, string) {
	switch {
	case a.Title != b.Title:
		return a.Title, b.Title
	case a.Year != b.Year:
		return title.WithYear(a.Title, a.Year), title.WithYear(b.Title, b.Year)
	}
	return fmt.Sprintf("%s, %s/%d", a.Title, a.Kind, a.ID), fmt.Sprintf("%s, %s/%d", b.Title, b.Kind, b.ID)
}
