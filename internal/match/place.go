package match

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/release"
)

// Place decides one file of a resolved series. It asks the Source for an episode group at most twice, and only for numbers that
// the seasons do not have.
func (r *Resolver) Place(ctx context.Context, f File, res Resolution) Decision {
	d := Decision{
		Status: res.Status, Confidence: res.Confidence, Kind: res.Kind, ID: res.ID, Title: res.Title,
		OriginalTitle: res.OriginalTitle, Year: res.Year, By: res.By, Origin: res.Origin, Seen: res.Seen, Reason: res.Reason,
		Candidates: res.Candidates, Steps: slices.Clip(res.Steps), Err: res.Err,
	}
	if f.extra() {
		if !f.Media {
			return Decision{Status: Skipped, Reason: "an extra, not an episode"}
		}
		if d.Status != Matched && d.Status != Pending {
			return Decision{
				Status: Skipped, Reason: "an extra, and of what is not certain", Origin: d.Origin, Seen: d.Seen, Candidates: d.Candidates, Steps: d.Steps,
			}
		}
		if d.Status == Matched {
			d.Reason = "an extra of it, not an episode"
			return d
		}
	}
	if d.Status != Matched {
		d.Kind, d.ID, d.Title, d.OriginalTitle, d.Year = "", 0, "", "", 0
		return d
	}
	if res.Kind != TV || res.Entry == nil {
		return d
	}
	p := newPlacer(ctx, r.Source, f.Release, res)
	at := p.place()
	if p.err != nil {
		d.Status, d.Err, d.Reason = Pending, p.err, "an episode group could not be asked for"
	}
	for _, s := range p.steps {
		d.Steps = append(d.Steps, Step{Stage: "place", Detail: s})
	}
	d.include(p.origin)
	at.apply(&d, res.Entry)
	return d
}

// include adds answers about the decision's own entry that placing it has needed.
func (d *Decision) include(o Origin) {
	d.Origin = d.Origin.With(o)
	i := slices.IndexFunc(d.Seen, func(s Seen) bool { return s.Kind == d.Kind && s.ID == d.ID })
	if i >= 0 && o.ReadAt.After(d.Seen[i].ReadAt) {
		d.Seen = slices.Clone(d.Seen)
		d.Seen[i].ReadAt = o.ReadAt
	}
}

// placement is where a file belongs, or why it has no place. ok reports whether it has one.
type placement struct {
	ok       bool
	season   int
	episodes []int
	why      string
}

// apply writes a placement into a decision. Episodes that the entry does not have are refused, whichever strategy found them.
func (at placement) apply(d *Decision, e *Entry) {
	if !at.ok {
		d.Reason = at.why
		return
	}
	season, found := e.season(at.season)
	if !found {
		d.Reason = fmt.Sprintf("season %d does not exist", at.season)
		return
	}
	names := make([]string, 0, len(at.episodes))
	for _, n := range at.episodes {
		i := slices.IndexFunc(season.Episodes, func(ep Episode) bool { return ep.Number == n })
		if i < 0 {
			d.Reason = fmt.Sprintf("season %d has no episode %d", at.season, n)
			return
		}
		names = append(names, season.Episodes[i].Name)
	}
	d.Season, d.Episodes, d.Reason = &at.season, at.episodes, at.why
	if len(names) > 0 {
		d.EpisodeTitles = names
	}
}

// placer holds what the strategies look at.
type placer struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call of Place
	src     Source
	rel     release.Release
	e       *Entry
	hint    Hint
	mapping *Mapping
	*layout
	eps    []int // the numbers of the file
	season int   // the season that the name or the matched title says, 0 for none
	part   int
	last   int // the greatest number of all files of the series
	year   int // a year that is not the entry's first
	steps  []string
	origin Origin
	err    error
}

func newPlacer(ctx context.Context, src Source, rel release.Release, res Resolution) *placer {
	p := &placer{ctx: ctx, src: src, rel: rel, e: res.Entry, hint: res.Hint, mapping: res.Mapping, layout: res.layout}
	if p.layout == nil {
		p.layout = layoutOf(res.Entry)
	}
	p.season, p.part, p.last = res.Hint.Season, res.Hint.Part, res.last
	if n, ok := rel.Season(); ok && n > 0 {
		p.season = n
	}
	if rel.Part > 0 {
		p.part = rel.Part
	}
	if y := res.Hint.Year; y != 0 && y != res.Entry.Year {
		p.year = y
	}
	return p
}

func (p *placer) note(format string, args ...any) {
	p.steps = append(p.steps, fmt.Sprintf(format, args...))
}

// strategies are the ways to place regular episodes, in the order of trust. Each works on the fetched list of episodes and
// either places all episodes of the file or leaves it to the next. When none can, the file keeps its id and says why it has
// no season: a wrong episode is worse than none.
var strategies = []func(*placer) placement{
	(*placer).byMapping, (*placer).byLaterCour, (*placer).bySeason, (*placer).byYear, (*placer).byArc, (*placer).byPart,
	(*placer).byFinal, (*placer).byRuns, (*placer).byGroup, (*placer).byLength, (*placer).byPosition,
}

// place finds the place of the file.
func (p *placer) place() placement {
	if len(p.rel.Seasons) > 1 {
		return placement{why: "the name spans several seasons"}
	}
	half := slices.ContainsFunc(p.rel.Episodes, func(e float64) bool { return e != math.Trunc(e) || e < 0 })
	if half || p.isSpecial() {
		return p.special(half)
	}
	for _, e := range p.rel.Episodes {
		p.eps = append(p.eps, int(e))
	}
	if len(p.eps) == 0 {
		return p.whole()
	}
	if at := p.specialTitle(); at.ok {
		return at
	}
	if len(p.all) == 0 {
		return placement{why: "TMDB lists no episodes for it yet"}
	}
	for _, try := range strategies {
		if at := try(p); at.ok || p.err != nil {
			return at
		}
	}
	return placement{why: p.refusal()}
}

// refusal returns why no strategy worked.
func (p *placer) refusal() string {
	switch {
	case p.season > 0:
		return fmt.Sprintf("season %d %s in TMDB's seasons", p.season, nowhere(p.eps))
	case p.year != 0 && !p.nearYear():
		return fmt.Sprintf("no regular episode aired in %d", p.year)
	case p.part > 0:
		return fmt.Sprintf("part %d %s in TMDB's seasons", p.part, nowhere(p.eps))
	}
	if p.hint.Rest != "" {
		return fmt.Sprintf("%q names a part of the show, and no season on TMDB is called so", p.hint.Rest)
	}
	return nowhere(p.eps) + " in TMDB's seasons"
}

// whole places a file or folder that names no episode: a batch of a season.
func (p *placer) whole() placement {
	if p.rel.Kind != release.Batch && p.season == 0 {
		if at := p.specialTitle(); at.ok {
			return at
		}
		return placement{why: "the name says no episode"}
	}
	n := p.season
	if n == 0 {
		first := 0
		for _, s := range p.all {
			if first != 0 && s.season != first {
				return placement{why: "the name says no season, and there are several"}
			}
			first = s.season
		}
		n = first
	}
	if _, ok := p.e.season(n); !ok || n == 0 {
		return placement{why: fmt.Sprintf("there is no season %d", n)}
	}
	return placement{ok: true, season: n, why: "a whole season"}
}

// found builds a placement from slots of one season.
func found(list []slot, why string, args ...any) placement {
	if len(list) == 0 {
		return placement{}
	}
	at := placement{ok: true, season: list[0].season, why: fmt.Sprintf(why, args...)}
	for _, s := range list {
		if s.season != at.season {
			return placement{}
		}
		at.episodes = append(at.episodes, s.episode.Number)
	}
	return at
}

// either returns the first of two placements, the second where the first has no place.
func either(first, second placement) placement {
	if first.ok {
		return first
	}
	return second
}

// literal finds the file's numbers as TMDB's numbers in a list of slots.
func literal(list []slot, eps []int) []slot {
	return pick(list, eps, func(n int) int { return slices.IndexFunc(list, func(s slot) bool { return s.episode.Number == n }) })
}

// positions takes the file's numbers as positions in a list of slots, counted from 1 after offset.
func positions(list []slot, eps []int, offset int) []slot {
	return pick(list, eps, func(n int) int { return n + offset - 1 })
}

// pick returns the slots at the places of the file's numbers; none where one of the places is outside the list.
func pick(list []slot, eps []int, place func(n int) int) []slot {
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

// numbers lists episodes for people: "3", "101 and 102", "1-12 and 14".
func numbers(eps []int) string {
	var runs []string
	for i := 0; i < len(eps); {
		last := i
		for last+1 < len(eps) && eps[last+1] == eps[last]+1 {
			last++
		}
		if last < i+2 { // one or two are listed one by one
			last = i
			runs = append(runs, strconv.Itoa(eps[i]))
		} else {
			runs = append(runs, fmt.Sprintf("%d-%d", eps[i], eps[last]))
		}
		i = last + 1
	}
	if n := len(runs); n > 1 {
		return strings.Join(runs[:n-1], ", ") + " and " + runs[n-1]
	}
	return strings.Join(runs, "")
}

// episodesText is "episode 3" or "episodes 101 and 102".
func episodesText(eps []int) string {
	if len(eps) == 1 {
		return "episode " + numbers(eps)
	}
	return "episodes " + numbers(eps)
}

// nowhere returns that episodes fit nowhere, for people.
func nowhere(eps []int) string {
	if len(eps) == 1 {
		return episodesText(eps) + " fits nowhere"
	}
	return episodesText(eps) + " fit nowhere"
}
