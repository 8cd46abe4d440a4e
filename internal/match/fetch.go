package match

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// The highest title similarity that a contender may have once its details are fetched. If no title in the search result
// matches the query, then a hidden title, which only the details have, does and may be exact.
const (
	maxSimHiddenAnyKind = 1.02         // a hidden title, if the name does not show the kind
	maxSimHidden        = 0.98         // a hidden title
	maxSimLonger        = maxSimHidden // a visible title begins with the exact one: "Title: A Subtitle"
	maxSimWithYear      = 1.00         // a visible title is the exact one with the entry's year
	maxSimVisible       = 0.95         // any other visible title
	minScoreToFetch     = 0.60
)

// maxScore returns the highest score that a contender may have once its details are fetched.
func (j *resolveJob) maxScore(c scoredContender) float64 {
	if c.hasDetails() {
		return c.score
	}
	least := maxSimVisible
	switch {
	case !c.showsQuery && j.series.Want == WantAny:
		least = maxSimHiddenAnyKind
	case !c.showsQuery:
		least = maxSimHidden
	case c.hasTitleWithYear(j.series):
		least = maxSimWithYear
	case c.hasLongerTitle(j.series):
		least = maxSimLonger
	}
	more := 0.0
	if c.hit.Kind == TV && j.series.Want != WantAny {
		more = weightEpisodes // its seasons may confirm the episode
	}
	best := more + max(c.score, c.score-c.match.sim+least)
	for _, o := range j.pool {
		if !o.hasDetails() || o.hit.Kind != c.hit.Kind || o.hit.Title == "" {
			continue
		}
		own, agreed := title.Normalize(o.hit.Title), o.match.title.norm
		if own == title.Normalize(c.hit.Title) && agreed != own && agreed != title.Normalize(o.hit.OriginalTitle) {
			best = max(best, o.score) // a hidden title of a namesake matched; this one may have it too
		}
	}
	return best
}

func (c scoredContender) hasLongerTitle(s preparedSeries) bool {
	return slices.ContainsFunc(c.titles, func(t entryTitle) bool { return hasWordPrefix(t.norm, s.normalizedTitle()) })
}

func (c scoredContender) hasTitleWithYear(s preparedSeries) bool {
	return slices.ContainsFunc(c.titles, func(t entryTitle) bool {
		return t.sequel == Sequel{Year: c.hit.Year} && c.hit.Year != 0 && t.base == s.normalizedTitle()
	})
}

func (j *resolveJob) fetchDetails(ctx context.Context) {
	for j.fetchCount < j.resolver.Options.MaxEntries {
		if i := j.nextToFetch(); i < 0 || !j.fetchContender(ctx, i) {
			return
		}
	}
}

// nextToFetch returns the index of the contender whose details can change the result most, -1 for none.
func (j *resolveJob) nextToFetch() int {
	next, best := -1, 0.0
	spent := j.fetchLimits()
	for i, c := range j.pool {
		if !c.hasDetails() && spent(c) {
			continue
		}
		if c.hasDetails() || decidableWithoutDetails(c) {
			best = max(best, c.score)
		}
		if !c.hasDetails() && (next < 0 || j.compareFetch(c, j.pool[next]) < 0) {
			next = i
		}
	}
	if next < 0 {
		return -1
	}
	c := j.pool[next]
	near := func(o scoredContender) bool { return j.maxScore(o) > c.score-0.1 }
	unnecessary := decidableWithoutDetails(c) && !slices.ContainsFunc(j.pool[:next], near) &&
		!slices.ContainsFunc(j.pool[next+1:], near)
	if p := j.maxScore(c); p < minScoreToFetch || p+fetchScoreStep < best || unnecessary {
		return j.nextRivalToFetch(spent)
	}
	return next
}

// nextRivalToFetch returns the index of a contender whose hidden titles may equal the best contender's title, -1 for
// none. It looks for one only if that title is the only evidence.
func (j *resolveJob) nextRivalToFetch(spent func(scoredContender) bool) int {
	best := rankContenders(j.pool).contenders[0]
	looked := slices.ContainsFunc(j.pool, func(c scoredContender) bool { return c.hasDetails() && !c.showsQuery })
	if j.series.Year != 0 || best.match.sim < simExact || best.match.scripts > 1 || looked {
		return -1
	}
	next := -1
	for i, c := range j.pool {
		if !c.hasDetails() && !c.showsQuery && c.foundByWholeTitle && !spent(c) && j.maxScore(c) > best.score-maxRivalLag &&
			(next < 0 || j.compareFetch(c, j.pool[next]) < 0) {
			next = i
		}
	}
	return next
}

const maxRivalLag = 4 / calLead // how far below the best score a rival for nextRivalToFetch may be

// fetchLimits returns a function that reports whether enough similar contenders were fetched already.
func (j *resolveJob) fetchLimits() func(scoredContender) bool {
	shown, parts, hidden, begun, doubted := j.showsExactTitle(), 0, 0, 0, false
	for _, c := range j.pool {
		if !c.hasDetails() {
			continue
		}
		if !c.foundByWholeTitle {
			parts++
		}
		switch against := func(r Reason) bool { return r.Weight < 0 }; {
		case c.showsExactTitle():
			doubted = doubted || slices.ContainsFunc(c.reasons, against)
		case c.showsQuery:
			begun++
		}
		if !c.showsQuery {
			hidden++
		}
	}
	return func(c scoredContender) bool {
		return !c.foundByWholeTitle && parts >= maxPartialFetches || shown && !c.showsQuery && hidden >= maxHiddenFetches ||
			shown && !doubted && c.showsQuery && !c.showsExactTitle() && begun >= maxHiddenFetches
	}
}

func (c scoredContender) showsExactTitle() bool {
	matched := func(t entryTitle) bool { return t.norm == c.match.title.norm }
	return c.match.sim >= simExact && slices.ContainsFunc(hitTitles(c.hit), matched)
}

const (
	maxPartialFetches = 2 // for contenders found by a part of the title
	maxHiddenFetches  = 2 // for other contenders, once one shows the exact title
)

// decidableWithoutDetails reports whether a contender can be accepted without its details. A film with the exact title
// can, but a series always needs its seasons.
func decidableWithoutDetails(c scoredContender) bool {
	return c.hit.Kind == Movie && c.match.sim >= simExact
}

const fetchScoreStep = 0.01 // scores closer than this count as equal

// compareFetch compares contenders by the score that they may reach. If it is equal, the one with the shorter original
// title comes first, because sequels, films and spin-offs have longer titles.
func (j *resolveJob) compareFetch(a, b scoredContender) int {
	steps := func(c scoredContender) float64 { return math.Round(j.maxScore(c) / fetchScoreStep) }
	return cmp.Or(cmp.Compare(steps(b), steps(a)), cmp.Compare(b.fetchPriority(j.series), a.fetchPriority(j.series)),
		cmp.Compare(utf8.RuneCountInString(a.hit.OriginalTitle), utf8.RuneCountInString(b.hit.OriginalTitle)),
		cmp.Compare(b.hit.Popularity, a.hit.Popularity),
		cmp.Compare(a.hit.Kind, b.hit.Kind), cmp.Compare(a.hit.ID, b.hit.ID))
}

func (c scoredContender) fetchPriority(s preparedSeries) int {
	if c.hasLongerTitle(s) || title.MayBeReading(c.hit.OriginalTitle, s.Title()) {
		return 1
	}
	return 0
}

func (j *resolveJob) fetchContender(ctx context.Context, i int) bool {
	c := j.pool[i].contender
	e, o, err := j.fetchEntry(ctx, c.hit.Kind, c.hit.ID)
	if errors.Is(err, ErrNoEntry) {
		j.pool = slices.Delete(j.pool, i, i+1)
		return true
	}
	if err != nil {
		j.err = err
		return false
	}
	j.fetchCount++
	c.entry = e
	if c.hit.Title == e.OriginalTitle {
		c.hit.Title = e.Title // the details may have a translated title
	}
	if c.fromCaller {
		c.hit, c.entry = e.Hit(), withTitle(e, c.hit.Title)
	}
	j.pool[i] = scoreContender(j.series, c)
	j.addStep("entry", &o, "%s %d %q with score %.3f", c.hit.Kind, c.hit.ID, e.Title, j.pool[i].score)
	return true
}

func (j *resolveJob) resolveExternalID(ctx context.Context) (res Resolution, ok bool) {
	for _, id := range j.series.IDs {
		if id.Source != "imdb" && id.Source != "tvdb" {
			continue
		}
		hits, o, err := j.resolver.Source.Find(ctx, id.Source, id.Value)
		if err != nil && !errors.Is(err, ErrNoEntry) {
			j.addStep("search", nil, "%s id %s: %v", id.Source, id.Value, err)
			return j.resolution(Outcome{Status: Pending, Err: err, Reason: "the id in the path could not be looked up"}), true
		}
		j.origin = j.origin.CombinedWith(o)
		j.addStep("search", &o, "%s id %s: %d results", id.Source, id.Value, len(hits))
		if h, found := j.hitOfKind(id, hits); found {
			return j.resolveID(ctx, h.Kind, h.ID, false), true
		}
	}
	return res, false
}

// hitOfKind returns the first hit of the kind that the settings, the id or the name require.
func (j *resolveJob) hitOfKind(id release.ID, hits []Hit) (Hit, bool) {
	want := j.resolver.Options.Kind
	if want == "" && len(hits) > 1 {
		want = j.kindOfID(id)
	}
	if i := slices.IndexFunc(hits, func(h Hit) bool { return want == "" || h.Kind == want }); i >= 0 {
		return hits[i], true
	}
	return Hit{}, false
}

func (j *resolveJob) kindOfID(id release.ID) Kind {
	switch {
	case id.Kind == string(TV), id.Kind == string(Movie):
		return Kind(id.Kind)
	case j.resolver.Options.Kind != "":
		return j.resolver.Options.Kind
	case j.series.Want == WantMovie, j.series.Want == WantAny && j.series.Episodes == 0 && !j.series.HasSeason:
		return Movie
	}
	return TV
}

// tmdbID returns the TMDB id in the path, the kind of its entry, and whether the kind is only a guess.
func (j *resolveJob) tmdbID() (kind Kind, id int, guessed, ok bool) {
	for _, id := range j.series.IDs {
		if n, err := strconv.Atoi(id.Value); id.Source == "tmdb" && err == nil && n > 0 {
			kind = j.kindOfID(id)
			guessed = id.Kind == "" && j.resolver.Options.Kind == "" &&
				(kind == Movie || !j.series.HasSeason && j.series.Episodes <= 1)
			return kind, n, guessed, true
		}
	}
	return "", 0, false, false
}

const minSimOfGuess = 0.8 // an entry with less similar titles may only have the number of one of the other kind

// resolveID accepts the entry with the id. If its kind is only a guess and it does not fit, one of the other kind may.
func (j *resolveJob) resolveID(ctx context.Context, kind Kind, id int, guessed bool) Resolution {
	e, o, err := j.fetchEntry(ctx, kind, id)
	sim := func(e *Entry) float64 { return scoreContender(j.series, contender{hit: e.Hit(), entry: e}).match.sim }
	if guessed && (errors.Is(err, ErrNoEntry) || err == nil && sim(e) < minSimOfGuess) {
		other := map[Kind]Kind{TV: Movie, Movie: TV}[kind]
		if s, from, none := j.fetchEntry(ctx, other, id); none == nil && (err != nil || sim(s) >= minSimOfGuess) {
			kind, e, o, err = other, s, from, nil
		}
	}
	if err != nil {
		return j.resolution(Outcome{
			Status: Pending, Kind: kind, ID: id, Err: err,
			Reason: "the entry of the given id could not be fetched",
		})
	}
	j.addStep("entry", &o, "%s %d %q, by the id given", kind, id, e.Title)
	c := scoreContender(j.series, contender{hit: e.Hit(), entry: e})
	if c.match.sim < 0.5 || hasWordPrefix(c.match.title.norm, c.match.reading.norm) {
		c.match.title = entryTitle{} // the name has another or only half a title, so it says nothing about the season
	}
	return j.accept(c, 1, nil, "the id was given")
}

func (j *resolveJob) fetchEntry(ctx context.Context, kind Kind, id int) (*Entry, Origin, error) {
	e, o, err := j.resolver.Source.Entry(ctx, kind, id)
	if err != nil {
		j.addStep("entry", nil, "%s %d: %v", kind, id, err)
		return nil, o, err
	}
	j.origin = j.origin.CombinedWith(o)
	j.usedEntries = append(j.usedEntries, UsedEntry{Kind: kind, ID: id, ReadAt: o.ReadAt})
	return e, o, nil
}
