package match

import (
	"context"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// ErrNoEntry is wrapped by a Source's error if the entry does not exist or was deleted. The matcher then drops that
// contender. After any other error, it stops working on the series.
var ErrNoEntry = lang.Error("no such entry")

// Options are the settings of the matcher.
type Options struct {
	Kind                 Kind    // search for this kind only; "" to follow the names
	MinConfidence        float64 // 0 to 1; a series below it is ambiguous
	MinEpisodeConfidence float64 // 0 to 1; a file below it gets no season and episode
	MaxSearches          int     // limit of search requests per series
	MaxEntries           int     // limit of details requests per series
}

// DefaultOptions returns the defaults, which were measured (docs/matching.md).
func DefaultOptions() Options {
	return Options{MinConfidence: 0.8, MinEpisodeConfidence: 0.9, MaxSearches: 6, MaxEntries: 8}
}

// Resolver finds the entry of a series. It has no state and is safe for concurrent use.
type Resolver struct {
	Source  Source
	Options Options
}

// Resolution is the result of Resolve and the input of Place. Entry is nil if no entry was chosen, or if it is a film
// whose search result was enough.
type Resolution struct {
	Outcome

	Entry   *Entry
	Hint    Hint
	Mapping *Mapping

	prepared *preparedEntry // made from Entry; nil if Place must make it
}

// maxDoubtfulConfidence limits the confidence in an entry that is not of the kind the name says, or that has no place
// for the file. The right entry may be missing.
const maxDoubtfulConfidence = 0.85

// ConvincingConfidence is the confidence at which no more requests are made.
const ConvincingConfidence = 0.9

// ExtraReason is why an extra is skipped that only its name as a whole gives away, such as "PV1".
const ExtraReason lang.Text = "an extra, not an episode"

// Resolve searches for one series and decides which entry it is. The order of search results does not matter.
func (r *Resolver) Resolve(ctx context.Context, s Series) Resolution {
	if s.Want == WantNothing {
		return Resolution{Outcome: Outcome{Status: Skipped, Reason: ExtraReason}}
	}
	j := &resolveJob{resolver: r, series: prepareSeries(s)}
	j.addStep("group", nil, "%s", seriesText(s))
	if kind, id, guessed, ok := j.tmdbID(); ok {
		return j.resolveID(ctx, kind, id, guessed)
	}
	if res, ok := j.resolveExternalID(ctx); ok {
		return res
	}
	if len(s.Titles) == 0 {
		return j.resolution(Outcome{Status: Unmatched, Reason: "no title could be read from the name"})
	}
	j.searchAndFetch(ctx)
	return j.chooseContender(ctx)
}

// ResolveAmong chooses among the given entries without a search. A hit's title counts as a title of its entry.
func (r *Resolver) ResolveAmong(ctx context.Context, s Series, hits []Hit) Resolution {
	j := &resolveJob{resolver: r, series: prepareSeries(s)}
	j.addStep("group", nil, "%s", seriesText(s))
	for _, h := range hits {
		if r.Options.Kind == "" || r.Options.Kind == h.Kind {
			c := contender{hit: h, fromCaller: true, otherKind: j.isOtherKind(h.Kind)}
			j.pool = append(j.pool, scoreContender(j.series, c))
		}
	}
	for i := len(j.pool) - 1; i >= 0; i-- {
		if !j.fetchContender(ctx, i) {
			return j.resolution(Outcome{Status: Pending, Err: j.err, Reason: "TMDB did not answer every request"})
		}
	}
	return j.chooseContender(ctx)
}

// ResolveID accepts the entry with the id after one details request, without a search.
func (r *Resolver) ResolveID(ctx context.Context, s Series, kind Kind, id int) Resolution {
	j := &resolveJob{resolver: r, series: prepareSeries(s)}
	return j.resolveID(ctx, kind, id, false)
}

type resolveJob struct {
	resolver        *Resolver
	series          preparedSeries
	pool            []scoredContender
	fetchCount      int
	origin          Origin // of all responses, combined
	usedEntries     []UsedEntry
	steps           []Step
	err             error
	queriesWithHits []Query
}

func (j *resolveJob) addStep(stage string, o *Origin, format string, args ...any) {
	j.steps = append(j.steps, Step{Stage: stage, Detail: lang.Textf(format, args...), Origin: o})
}

func (j *resolveJob) searchAndFetch(ctx context.Context) {
	queries := j.limitSearches(Queries(j.series.Series, j.resolver.Options.Kind))
	var more []Query // second pages of searches whose first page was full
	for i := 0; i < len(queries); i++ {
		q := queries[i]
		if j.isRedundant(q) {
			continue
		}
		hits, o, err := j.resolver.Source.Search(ctx, q)
		if err != nil {
			j.err = err
			j.addStep("search", nil, "%s %q: %v", q.Kind, q.Text, err)
			return
		}
		j.origin = j.origin.CombinedWith(o)
		j.addStep("search", &o, "%s: %s found", queryText(q), lang.Count(len(hits), "entry"))
		if len(hits) > 0 {
			j.queriesWithHits = append(j.queriesWithHits, q)
		}
		j.addHits(q, hits)
		if len(hits) >= rowsPerPage && q.Page == 0 {
			q.Page = 2
			more = append(more, q)
		}
		both := j.series.Want == WantAny && i+1 < len(queries) && queries[i+1].Text == q.Text && queries[i+1].Year == q.Year
		if both && !j.showsExactTitle() && len(hits) != 1 {
			continue // search for the other kind too before fetching details
		}
		if j.fetchDetails(ctx); j.err != nil || j.isDecided() && !(both && !j.namesWholeEntry()) {
			return
		}
		queries = j.limitSearches(slices.Insert(queries, i+1, more...))
		more = nil
	}
}

// isRedundant reports whether a search is unnecessary because the same text with spaces already had results.
func (j *resolveJob) isRedundant(q Query) bool {
	return !strings.Contains(q.Text, " ") && slices.ContainsFunc(j.queriesWithHits, func(o Query) bool {
		return o.Kind == q.Kind && o.Text != q.Text && o.Page == q.Page && strings.ReplaceAll(o.Text, " ", "") == q.Text
	})
}

const rowsPerPage = 20 // the most results on a page of a TMDB search

func (j *resolveJob) limitSearches(queries []Query) []Query {
	return queries[:min(len(queries), j.resolver.Options.MaxSearches)]
}

func (j *resolveJob) addHits(q Query, hits []Hit) {
	whole := false // the query is a whole title of the name
	for i, t := range j.series.Titles {
		whole = whole || searchText(t.Text) == q.Text && !IsPieceOfTitle(j.series.Titles, i)
	}
	for _, h := range hits {
		i := slices.IndexFunc(j.pool, func(c scoredContender) bool { return c.hit.Kind == h.Kind && c.hit.ID == h.ID })
		if i < 0 {
			j.pool = append(j.pool, scoredContender{contender: contender{hit: h, otherKind: j.isOtherKind(h.Kind)}})
			i = len(j.pool) - 1
		}
		c := j.pool[i].contender
		c.foundByYear = c.foundByYear || q.Year != 0
		c.showsQuery = c.showsQuery || showsQuery(q.Text, h)
		c.foundByWholeTitle = c.foundByWholeTitle || whole
		j.pool[i] = scoreContender(j.series, c)
	}
}

// isOtherKind reports whether the name suggests another kind than k.
func (j *resolveJob) isOtherKind(k Kind) bool {
	first, second := kindsToSearch(j.series.Want)
	if j.series.Want == WantSpecial || j.series.Want == WantWork {
		first = append(first, second...)
	}
	return j.resolver.Options.Kind == "" && !slices.Contains(first, k)
}

func (j *resolveJob) showsExactTitle() bool {
	return slices.ContainsFunc(j.pool, func(c scoredContender) bool { return c.showsQuery && c.match.sim >= simExact })
}

// namesWholeEntry reports whether the title of the best contender names the whole entry, not just one of its specials
// or sequels.
func (j *resolveJob) namesWholeEntry() bool {
	best := rankContenders(j.pool).contenders[0]
	return best.hit.Kind == Movie || best.match.title.primary ||
		title.MayBeReading(best.hit.OriginalTitle, best.match.title.text)
}

// showsQuery reports whether a visible title of the hit explains why it was found: each word of the query begins one of
// its words, or it contains the query if spaces are ignored.
func showsQuery(query string, h Hit) bool {
	q := title.Normalize(query)
	for _, t := range []string{h.Title, h.OriginalTitle} {
		n := title.Normalize(t)
		if strings.Contains(strings.ReplaceAll(n, " ", ""), strings.ReplaceAll(q, " ", "")) {
			return true
		}
		words := strings.Fields(n)
		missing := func(w string) bool {
			return !slices.ContainsFunc(words, func(x string) bool { return strings.HasPrefix(x, w) })
		}
		if q != "" && !slices.ContainsFunc(strings.Fields(q), missing) {
			return true
		}
	}
	return false
}

// isDecided reports whether more requests would not help: the best contender is convincing, or the two best both have
// the exact title.
func (j *resolveJob) isDecided() bool {
	v := rankContenders(j.pool)
	exact := func(i int) bool {
		return i < len(v.contenders) && v.contenders[i].hasDetails() && v.contenders[i].match.sim >= simExact
	}
	convincing := len(v.contenders) > 0 && v.confidence >= max(ConvincingConfidence, j.resolver.Options.MinConfidence)
	return convincing || exact(0) && exact(1)
}

func (j *resolveJob) chooseContender(ctx context.Context) Resolution {
	v := rankContenders(j.pool)
	if len(v.contenders) > 0 && v.contenders[0].hit.Kind == TV && !v.contenders[0].hasDetails() && j.err == nil {
		top := v.contenders[0].hit
		i := slices.IndexFunc(j.pool, func(c scoredContender) bool { return c.hit.Kind == top.Kind && c.hit.ID == top.ID })
		j.fetchContender(ctx, i)
		v = rankContenders(j.pool)
	}
	if len(v.contenders) > 0 && j.nameSeasons(ctx, v.contenders[0]) {
		v = rankContenders(j.pool)
	}
	out := Outcome{Status: Unmatched, Candidates: candidates(v.contenders)}
	switch {
	case j.err != nil &&
		(len(v.contenders) == 0 || v.confidence < ConvincingConfidence || v.contenders[0].hit.Kind == TV &&
			!v.contenders[0].hasDetails()):
		out.Status, out.Err, out.Reason = Pending, j.err, "TMDB did not answer every request"
	case len(v.contenders) == 0:
		out.Reason = "no results on TMDB, in any spelling"
	case v.contenders[0].match.sim < minSimilarity:
		out.Reason = "TMDB's results have quite different titles"
	case v.contenders[0].likelihood() < minLikelihood:
		out.Reason = doubtReason(v)
	case v.contenders[0].likelihood() < minLikelihoodByFolder && j.onlyFolderMatches(v.contenders[0]):
		out.Reason = "neither the file name nor the folder gives a title"
	case v.confidence < j.resolver.Options.MinConfidence:
		out.Status, out.Confidence, out.Reason = Ambiguous, v.confidence, doubtReason(v)
	default:
		best := v.contenders[0]
		return j.accept(best, v.confidence, out.Candidates,
			lang.Textf("%q is %q", best.match.reading.Text, best.match.title.text))
	}
	return j.resolution(out)
}

// nameSeasons scores a contender again with its seasons' names in the language of a title that continues after the
// show's, so that the display language makes no difference. It reports whether it did.
func (j *resolveJob) nameSeasons(ctx context.Context, c scoredContender) bool {
	if c.entry == nil || c.match.sim >= simWithPartName || j.series.HasSeason {
		return false
	}
	var arcs []ArcTitle
	for _, r := range j.series.readings {
		if rest := textAfterTitle(r.norm, c.titles); rest != r.norm && hasSpacelessScript(rest) {
			arcs = append(arcs, ArcTitle{Title: r.norm})
		}
	}
	_, language := foreignArcTitle(arcs, c.titles)
	if language == "" {
		return false
	}
	named, o, err := c.entry.withSeasonNames(ctx, j.resolver.Source, language)
	if named == nil || err != nil {
		return false // Place asks again
	}
	j.addStep("entry", &o, "%s %d with its seasons' names in %s", c.hit.Kind, c.hit.ID, language)
	i := slices.IndexFunc(j.pool, func(o scoredContender) bool { return o.hit.Kind == c.hit.Kind && o.hit.ID == c.hit.ID })
	c.named = named
	j.pool[i] = scoreContender(j.series, c.contender)
	return true
}

// minLikelihood is the likelihood that the best contender needs for "ambiguous" instead of "unmatched". Rivals
// do not lower it, so several namesakes are ambiguous.
const minLikelihood = 0.05

// minLikelihoodByFolder is the same limit if only a folder's title matches and the file's name has no information
// ("video.mp4").
const minLikelihoodByFolder = 0.5

func (j *resolveJob) onlyFolderMatches(c scoredContender) bool {
	says := func(f File) bool {
		return len(f.Release.Episodes)+len(f.Release.Seasons) > 0 || f.Release.Special != ""
	}
	return c.match.reading.From != release.FromName && j.series.Year == 0 && !slices.ContainsFunc(j.series.Files, says)
}

const minSimilarity = 0.55 // a less similar title does not match at all

func (j *resolveJob) accept(c scoredContender, confidence float64, candidates []Candidate, why lang.Text) Resolution {
	hint := newHint(j.series, c)
	otherFilm := c.hit.Kind == Movie && c.match.fileSequel.Season+c.match.fileSequel.Part > 0 // of the same film series
	byIDOrPin := confidence == 1
	if !byIDOrPin && (c.otherKind || hint.matchedPiece || otherFilm || c.contradictedBy(j.series)) {
		confidence = min(confidence, maxDoubtfulConfidence)
	}
	j.addStep("decide", nil, "%s %d %q with confidence %.3f", c.hit.Kind, c.hit.ID, c.hit.Title, confidence)
	res := j.resolution(Outcome{
		Status: Matched, Confidence: confidence, Kind: c.hit.Kind, ID: c.hit.ID, Title: c.hit.Title,
		OriginalTitle: c.hit.OriginalTitle, Year: c.hit.Year, Candidates: candidates, Reason: why,
	})
	res.Entry, res.Hint, res.Mapping = c.entry, hint, c.hit.Mapping
	if c.entry != nil {
		res.prepared = prepareEntry(c.entry)
	}
	return res
}

func (j *resolveJob) resolution(o Outcome) Resolution {
	o.Origin, o.UsedEntries, o.Steps = j.origin, j.usedEntries, j.steps
	return Resolution{Outcome: o}
}

func withTitle(e *Entry, text string) *Entry {
	if text == "" {
		return e
	}
	with := *e
	with.Titles = append(slices.Clip(with.Titles), AltTitle{Title: text})
	return &with
}

// Hit returns the entry in the form of a search result.
func (e *Entry) Hit() Hit {
	return Hit{
		Kind: e.Kind, ID: e.ID, Title: e.Title, OriginalTitle: e.OriginalTitle, OriginalLanguage: e.OriginalLanguage,
		Year: e.Year, Genres: e.Genres, Popularity: e.Popularity,
	}
}

func queryText(q Query) lang.Text {
	switch {
	case q.Year != 0 && q.Page > 1:
		return lang.Textf("%s %q of %d, page %d", q.Kind, q.Text, q.Year, q.Page)
	case q.Year != 0:
		return lang.Textf("%s %q of %d", q.Kind, q.Text, q.Year)
	case q.Page > 1:
		return lang.Textf("%s %q, page %d", q.Kind, q.Text, q.Page)
	}
	return lang.Textf("%s %q", q.Kind, q.Text)
}

func seriesText(s Series) lang.Text {
	text := lang.Textf("%d files as %q", len(s.Files), s.Title())
	if len(s.Files) == 1 {
		text = lang.Textf("1 file as %q", s.Title())
	}
	if s.HasSeason {
		text = lang.Textf("%s, season %d", text, s.Season)
	}
	if s.Year != 0 {
		text = lang.Textf("%s, year %d", text, s.Year)
	}
	return lang.Textf("%s, wanted: %s", text, lang.Text(s.Want.String()))
}
