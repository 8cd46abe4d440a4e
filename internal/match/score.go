package match

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// weights of the evidence besides the title, which weighs 0 to 1 by its likeness.
const (
	weighAgain       = 0.03  // readings in two scripts agree
	weighSpelling    = 0.03  // the title is the same in its signs too: "K-Off!" is not "K-Off!!"
	weighLonger      = 0.06  // a reading that takes in more of the name is a title to the letter
	weighYear        = 0.10  // the year of the name is a year of the entry
	weighYearStated  = 0.03  // what it is called states it: "Title (2018)"
	weighYearNear    = 0.02  // it is next to one
	weighYearAgainst = -0.22 // it is two years off
	weighYearFar     = -0.35 // it is farther off
	weighEpisodes    = 0.04  // the season and the episodes exist there
	weighCounted     = 0.02  // they do if they count over all seasons
	weighTooFew      = -0.10 // the entry has fewer episodes than the files count
	weighNoEpisodes  = -0.15 // the entry has none at all
	weighSeason      = -0.05 // the season of the name exists in no way
	weighSequel      = -0.20 // nor does the one that the end of the title says
	weighKind        = -0.12 // a film where the name says series, or the other way round
	weighNoFilm      = -0.35 // a film where the name says a season or a second episode, and not in its title
	weighSingle      = 0.08  // a film, and the name has no episode
	weighAnimated    = 0.03  // animation
	weighLiveAction  = -0.10 // not animation
	weighAgainst     = -0.20 // not animation, and the name is styled as only anime is
	weighEra         = -0.04 // it ended before releases were made like this one
	weighLanguage    = 0.01  // made in a language of anime
	weighPopularity  = 0.002 // per tenfold popularity: breaks ties, nothing more
	genreAnimation   = 16
)

type contender struct {
	hit       Hit
	entry     *Entry
	byYear    bool // found by a query that named the year
	explained bool // its visible titles show why it was found
	whole     bool // found by a query for a whole reading
	given     bool // known to the caller, not found by a search
	fallback  bool // found among the other kind than the name says
}

type scored struct {
	contender
	titles  []named
	like    likeness
	score   float64
	reasons []Reason
}

func (c contender) known() bool { return c.entry != nil }

func score(s question, c contender) scored {
	out := scored{contender: c}
	if c.entry != nil {
		out.titles = entryTitles(c.entry)
	} else {
		out.titles = hitTitles(c.hit)
	}
	readings := slices.Concat(s.read, s.bracketless)
	film := c.hit.Kind == Movie
	if film {
		readings = append(readings, s.numbered...)
	}
	want := wanted{season: s.Season, part: s.Part, year: s.Year, heads: film && s.Year != 0 &&
		c.hit.Year == s.Year, film: film && s.Want == WantMovie}
	if want.film {
		for i := range out.titles {
			out.titles[i].bare = withoutFilmWords(out.titles[i].text)
		}
	}
	out.like = compare(readings, want, out.titles)
	if c.entry != nil {
		out.like = compareParts(s.read, c.entry, out.titles, out.like)
	}
	likeness := lang.Textf("%q is like %q", out.like.read.Text, out.like.title.text)
	if out.like.read.Text == out.like.title.text {
		likeness = lang.Textf("%q is one of its titles", out.like.read.Text)
	}
	out.add("title", out.like.sim, likeness)
	if spelt(out.like.read.Text, out.like.title.text) {
		out.add("spelling", weighSpelling, "spelled exactly the same")
	}
	if out.like.sim >= simExact && len(s.Titles) > 0 && continues(out.like.read.norm, s.norm()) {
		out.add("longer", weighLonger, "it takes in more of the name")
	}
	if out.like.agreed > 1 {
		out.add("scripts", weighAgain, "readings in two scripts agree")
	}
	out.weighYear(s.Series)
	out.weighEpisodes(s.Series)
	out.weighKind(s.Series)
	out.weighStyle(s.Series)
	if last := out.lastYear(); s.Modern && last != 0 && last < modernYear {
		out.add("era", weighEra, lang.Textf("it ended in %d", last))
	}
	out.score += weighPopularity * math.Log10(1+max(c.hit.Popularity, 0))
	return out
}

func (c *scored) add(name string, w float64, detail lang.Text) {
	c.score += w
	c.reasons = append(c.reasons, Reason{Name: name, Weight: w, Detail: detail})
}

func spelt(a, b string) bool {
	return a != "" && strings.EqualFold(strings.Join(strings.Fields(a), ""), strings.Join(strings.Fields(b), ""))
}

func (c *scored) weighYear(s Series) {
	y := s.Year
	if y == 0 {
		y = c.like.file.Year
	}
	if y == 0 {
		return
	}
	switch d := c.yearDistance(y); {
	case d == 0:
		c.add("year", weighYear, lang.Textf("%d is a year of it", y))
		if c.like.title.seq.Year == y && c.like.title.primary {
			c.add("year in the title", weighYearStated, lang.Textf("%q", c.like.title.text))
		}
	case d > 0 && s.Want == WantSpecial && c.hit.Kind == TV && y > c.hit.Year:
		// a special may come out long after the series
	case d == 1:
		c.add("year", weighYearNear, lang.Textf("%d is next to a year of it", y))
	case d > 2:
		c.add("year", weighYearFar, lang.Textf("%d is %d years off", y, d))
	case d > 1:
		c.add("year", weighYearAgainst, lang.Textf("%d is %d years off", y, d))
	}
}

func (c *scored) yearDistance(y int) int {
	own := c.like.title.base // a title of the entry may state the year: "Title (2014)"
	if slices.ContainsFunc(c.titles, func(t named) bool { return t.seq.Year == y && t.base == own }) {
		return 0
	}
	years := []int{c.hit.Year}
	switch {
	case c.entry != nil:
		years = append(c.entry.years(), cmp.Or(c.entry.Year, c.hit.Year))
	case c.hit.Kind != TV:
	case c.byYear:
		return 0
	case c.hit.Year < y:
		return -1 // a later season may have aired then
	}
	best := -1
	for _, year := range years {
		if d := distance(year, y); year != 0 && (best < 0 || d < best) {
			best = d
		}
	}
	return best
}

func (e *Entry) years() []int {
	var years []int
	for _, s := range e.Seasons {
		years = append(years, YearOf(s.AirDate))
		for _, ep := range s.Episodes {
			years = append(years, YearOf(ep.AirDate))
		}
	}
	return years
}

// modernYear is when streams of broadcasts, and soon after today's codecs, came up.
const modernYear = 2010

func (c *scored) lastYear() int {
	if c.hit.Kind == Movie {
		return c.hit.Year
	}
	last := 0
	if c.entry != nil {
		for _, s := range c.entry.Seasons {
			for _, e := range s.Episodes {
				last = max(last, YearOf(e.AirDate))
			}
		}
	}
	return last
}

func (c *scored) weighKind(s Series) {
	switch plain := slices.ContainsFunc(s.Titles, func(t release.Title) bool { return t.Text == c.like.read.Text }); {
	case c.fallback && c.hit.Kind == Movie && plain && (s.HasSeason || s.LastEpisode > 1):
		c.add("kind", weighNoFilm, "films have no episodes")
	case c.fallback:
		c.add("kind", weighKind, "the name says otherwise")
	}
	if c.hit.Kind == Movie && s.Want == WantAny && s.Episodes == 0 && !s.HasSeason {
		c.add("single", weighSingle, "a film, and the name has no episode")
	}
}

func (c *scored) weighEpisodes(s Series) {
	if c.entry == nil || c.entry.Kind != TV || s.Want == WantMovie || s.Want == WantAny || s.Want == WantWork {
		return
	}
	all := regular(c.entry)
	total := max(len(all), c.entry.EpisodeCount)
	last := int(s.LastEpisode)
	if n := c.like.file.Season; n > 1 && !c.hasSeason(n, all) {
		c.add("sequel", weighSequel, lang.Textf("the title ends in season %d, which it lacks", n))
	}
	switch {
	case total == 0 && s.Want == WantTV:
		c.add("episodes", weighNoEpisodes, "it has no episodes")
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
			c.add("episodes", weighTooFew, lang.Textf("%d episodes, the files count to %d", total, last))
		case len(first) > 0 && last > first[len(first)-1].episode.Number:
			c.add("episodes", weighCounted, lang.Textf("it has %d episodes or more in all", last))
		default:
			c.add("episodes", weighEpisodes, lang.Textf("it has an episode %d", last))
		}
	}
}

func (c *scored) weighSeason(s Series, last int, all []slot) {
	season, ok := c.entry.season(s.Season)
	switch {
	case ok && slices.ContainsFunc(season.Episodes, func(e Episode) bool { return e.Number == last }):
		c.add("episodes", weighEpisodes, lang.Textf("season %d has episode %d", s.Season, last))
	case !ok && (s.Season == 0 || !c.hasSeason(s.Season, all)):
		c.add("season", weighSeason, lang.Textf("no season %d", s.Season))
	case last > max(len(all), c.entry.EpisodeCount):
		c.add("episodes", weighTooFew, lang.Textf("%d episodes, the files count to %d", len(all), last))
	}
}

// hasSeason reports whether a season exists, or as many runs of episodes between pauses.
func (c *scored) hasSeason(n int, all []slot) bool {
	_, ok := c.entry.season(n)
	return ok || len(runs(all, courGap)) >= n
}

func (c *scored) weighStyle(s Series) {
	genres := c.hit.Genres
	if c.entry != nil && len(c.entry.Genres) > 0 {
		genres = c.entry.Genres
	}
	switch {
	case slices.Contains(genres, genreAnimation):
		c.add("animation", weighAnimated, "animation")
	case len(genres) > 0 && s.Fansub:
		c.add("animation", weighAgainst, "not animation, against the name's style")
	case len(genres) > 0:
		c.add("animation", weighLiveAction, "not animation")
	}
	switch c.hit.OriginalLanguage {
	case "ja", "ko", "zh", "cn":
		c.add("language", weighLanguage, lang.Textf("made in %s", c.hit.OriginalLanguage))
	}
}

// The calibration has two parts that are multiplied. The first is the chance that an entry of this score is right at
// all: a logistic curve over the score, lower where no title is equal. The second is the contender's share among all,
// where a lead of 1/calLead over a rival is worth a factor of e. With no lead over one equal rival the share is a half:
// then it is a guess, however good the title.
//
// The numbers were fitted by maximum likelihood on the development names, once as they are and once with every right
// entry hidden from the search, so that three in a hundred titles are ones that TMDB lacks. Then they were rounded to
// the cautious side (docs/matching.md has the table of predicted and measured confidences).
const (
	calConstant = -12.2
	calScore    = 17.0
	calTop      = 1.2 // a higher score proves nothing
	calLead     = 21.0
	calInexact  = 2.0
)

type verdict struct {
	ranked     []scored
	confidence float64
}

// choose ranks the contenders by score, then popularity, then id, never by TMDB's order, and estimates the confidence
// of the first one.
func choose(all []scored) verdict {
	v := verdict{ranked: slices.Clone(all)}
	slices.SortStableFunc(v.ranked, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.hit.Popularity, a.hit.Popularity),
			cmp.Compare(a.hit.Kind, b.hit.Kind), cmp.Compare(a.hit.ID, b.hit.ID))
	})
	if len(v.ranked) > 0 {
		v.confidence = confidenceOf(v.ranked, 0)
	}
	return v
}

func confidenceOf(ranked []scored, i int) float64 {
	own := ranked[i].score
	rivals := 1.0
	for j, o := range ranked {
		if j != i {
			rivals += math.Exp(calLead * (o.score - own))
		}
	}
	return ranked[i].likely() / rivals
}

func (c scored) likely() float64 {
	x := calConstant + calScore*min(c.score, calTop)
	if c.like.sim < almostExact {
		x -= calInexact
	}
	return 1 / (1 + math.Exp(-x))
}

// contradicted reports whether one of a name's titles, in another script, is like none of the entry's, while works may
// share the title that agrees: one short word, or a piece of a longer title.
func (c scored) contradicted(s question) bool {
	read := c.like.read.Text
	own := spaceless(read)
	i := slices.IndexFunc(s.Titles, func(r release.Title) bool { return r.Text == read })
	shared := own && utf8.RuneCountInString(read) < leastPhrase || i > 0 && PieceOf(s.Titles, i)
	if c.entry == nil || c.like.agreed > 1 || !shared {
		return false
	}
	return slices.ContainsFunc(s.read, func(r reading) bool {
		alike := func(t named) bool { return title.Similarity(r.norm, t.norm) >= leastAlike }
		return r.From == release.FromName && spaceless(r.Text) != own && !slices.ContainsFunc(c.titles, alike)
	})
}

const maxCandidates = 5

func candidates(ranked []scored) []Candidate {
	var out []Candidate
	for i, c := range ranked {
		if i == maxCandidates || c.like.sim < leastAlike && i > 0 {
			break
		}
		reasons := slices.Clone(c.reasons)
		slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
		out = append(out, Candidate{
			Kind: c.hit.Kind, ID: c.hit.ID, Title: c.hit.Title, Year: c.hit.Year, Score: c.score,
			Confidence: confidenceOf(ranked, i), Reasons: reasons,
		})
	}
	return out
}

func doubt(v verdict) lang.Text {
	best := v.ranked[0]
	if len(v.ranked) > 1 && best.likely() >= 0.5 && best.score-v.ranked[1].score < 1/calLead {
		return lang.Textf("%q and %q fit about equally", best.hit.Title, v.ranked[1].hit.Title)
	}
	return lang.Textf("the nearest title, %q, is not near enough", best.like.title.text)
}
