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

// The likeness that an entry may turn out to have when its details are fetched. A row that does not show why it was
// found has a hidden title that may be the exact one; a row that does may still have a closer one.
const (
	potentialOther   = 1.02 // a hidden one of the other kind, where the name does not tell film from series
	potentialHidden  = 0.98
	potentialBegins  = potentialHidden // a visible one that begins with the exact title: "Title: A Subtitle"
	potentialDated   = 1.00            // a visible one that is the exact title followed by the entry's year
	potentialVisible = 0.95
	potentialLeast   = 0.60
)

func (j *job) potential(c scored) float64 {
	if c.known() {
		return c.score
	}
	least := potentialVisible
	switch {
	case !c.explained && j.s.Want == WantAny:
		least = potentialOther
	case !c.explained:
		least = potentialHidden
	case c.dated(j.s):
		least = potentialDated
	case c.begins(j.s):
		least = potentialBegins
	}
	more := 0.0
	if c.hit.Kind == TV && j.s.Want != WantAny {
		more = weighEpisodes // only its seasons can tell; without an episode they tell nothing
	}
	best := more + max(c.score, c.score-c.like.sim+least)
	for _, o := range j.pool {
		if !o.known() || o.hit.Kind != c.hit.Kind || o.hit.Title == "" {
			continue
		}
		own, agreed := title.Normalize(o.hit.Title), o.like.title.norm
		if own == title.Normalize(c.hit.Title) && agreed != own && agreed != title.Normalize(o.hit.OriginalTitle) {
			best = max(best, o.score) // a namesake of one whose hidden title agreed may have that title too
		}
	}
	return best
}

func (c scored) begins(s question) bool {
	return slices.ContainsFunc(c.titles, func(t named) bool { return continues(t.norm, s.norm()) })
}

func (c scored) dated(s question) bool {
	return slices.ContainsFunc(c.titles, func(t named) bool {
		return t.seq == Sequel{Year: c.hit.Year} && c.hit.Year != 0 && t.base == s.norm()
	})
}

func (j *job) fetch(ctx context.Context) {
	for j.fetched < j.r.Options.MaxEntries {
		if i := j.nextFetch(); i < 0 || !j.fetchAt(ctx, i) {
			return
		}
	}
}

func (j *job) nextFetch() int {
	next := -1
	best := 0.0
	spent := j.enoughFetched()
	for i, c := range j.pool {
		if !c.known() && spent(c) {
			continue
		}
		if c.known() || enoughSeen(c) {
			best = max(best, c.score)
			if c.known() {
				continue
			}
		}
		if next < 0 || j.compareFetch(c, j.pool[next]) < 0 {
			next = i
		}
	}
	if next < 0 {
		return -1
	}
	c := j.pool[next]
	if p := j.potential(c); p < potentialLeast || p+almost < best || enoughSeen(c) && !j.rivalled(next) {
		return j.nextRival(spent)
	}
	return next
}

// nextRival returns the contender whose hidden titles may include the title that the best contender shows, -1 for none.
// It looks only if nothing but that title speaks for the best one.
func (j *job) nextRival(spent func(scored) bool) int {
	best := choose(j.pool).ranked[0]
	looked := slices.ContainsFunc(j.pool, func(c scored) bool { return c.known() && !c.explained })
	if j.s.Year != 0 || best.like.sim < simExact || best.like.agreed > 1 || looked {
		return -1
	}
	next := -1
	for i, c := range j.pool {
		if !c.known() && !c.explained && c.whole && !spent(c) && j.potential(c) > best.score-farBehind &&
			(next < 0 || j.compareFetch(c, j.pool[next]) < 0) {
			next = i
		}
	}
	return next
}

const farBehind = 4 / calLead

func (j *job) enoughFetched() func(scored) bool {
	shown, parts, hidden, begun, doubted := j.shown(), 0, 0, 0, false
	for _, c := range j.pool {
		if !c.known() {
			continue
		}
		if !c.whole {
			parts++
		}
		switch against := func(r Reason) bool { return r.Weight < 0 }; {
		case c.exact():
			doubted = doubted || slices.ContainsFunc(c.reasons, against)
		case c.explained:
			begun++
		}
		if !c.explained {
			hidden++
		}
	}
	return func(c scored) bool {
		return !c.whole && parts >= mostParts ||
			shown && !c.explained && hidden >= mostHidden ||
			shown && !doubted && c.explained && !c.exact() && begun >= mostHidden
	}
}

func (c scored) exact() bool {
	return slices.ContainsFunc(hitTitles(c.hit), func(t named) bool {
		return t.norm == c.like.title.norm
	}) && c.like.sim >= simExact
}

const (
	mostParts  = 2
	mostHidden = 2
)

// enoughSeen reports whether a row alone can decide, as that of a film with the exact title can. A series always needs
// its seasons.
func enoughSeen(c scored) bool {
	return c.hit.Kind == Movie && c.like.sim >= simExact
}

func (j *job) rivalled(i int) bool {
	near := func(o scored) bool { return j.potential(o) > j.pool[i].score-0.1 }
	return slices.ContainsFunc(j.pool[:i], near) || slices.ContainsFunc(j.pool[i+1:], near)
}

const almost = 0.01

// compareFetch orders contenders by the score that fetching them may give. A shorter original title goes first:
// sequels, films and spin-offs have longer ones.
func (j *job) compareFetch(a, b scored) int {
	steps := func(c scored) float64 { return math.Round(j.potential(c) / almost) }
	return cmp.Or(cmp.Compare(steps(b), steps(a)), cmp.Compare(b.points(j.s), a.points(j.s)),
		cmp.Compare(utf8.RuneCountInString(a.hit.OriginalTitle), utf8.RuneCountInString(b.hit.OriginalTitle)),
		cmp.Compare(b.hit.Popularity, a.hit.Popularity),
		cmp.Compare(a.hit.Kind, b.hit.Kind), cmp.Compare(a.hit.ID, b.hit.ID))
}

func (c scored) points(s question) int {
	if c.begins(s) || title.Reads(c.hit.OriginalTitle, s.Title()) {
		return 1
	}
	return 0
}

func (j *job) fetchAt(ctx context.Context, i int) bool {
	c := j.pool[i].contender
	e, o, err := j.entry(ctx, c.hit.Kind, c.hit.ID)
	if errors.Is(err, ErrNoEntry) {
		j.pool = slices.Delete(j.pool, i, i+1)
		return true
	}
	if err != nil {
		j.err = err
		return false
	}
	j.fetched++
	c.entry = e
	if c.hit.Title == e.OriginalTitle {
		c.hit.Title = e.Title // the Source may know a translated one by the details
	}
	if c.given {
		c.hit, c.entry = e.Hit(), withTitle(e, c.hit.Title)
	}
	j.pool[i] = score(j.s, c)
	j.step("entry", &o, "%s %d %q with score %.3f", c.hit.Kind, c.hit.ID, e.Title, j.pool[i].score)
	return true
}

func (j *job) byExternalID(ctx context.Context) (res Resolution, ok bool) {
	for _, id := range j.s.IDs {
		if id.Source != "imdb" && id.Source != "tvdb" {
			continue
		}
		hits, o, err := j.r.Source.Find(ctx, id.Source, id.Value)
		if err != nil && !errors.Is(err, ErrNoEntry) {
			j.step("search", nil, "%s id %s: %v", id.Source, id.Value, err)
			return j.finish(Outcome{Status: Pending, Err: err, Reason: "the id in the path could not be looked up"}), true
		}
		j.origin = j.origin.With(o)
		j.step("search", &o, "%s id %s: %d rows", id.Source, id.Value, len(hits))
		if h, found := j.meant(id, hits); found {
			return j.byID(ctx, h.Kind, h.ID), true
		}
	}
	return res, false
}

func (j *job) meant(id release.ID, hits []Hit) (Hit, bool) {
	want := j.r.Options.Kind
	if want == "" && len(hits) > 1 {
		want = j.kindOfID(id)
	}
	if i := slices.IndexFunc(hits, func(h Hit) bool { return want == "" || h.Kind == want }); i >= 0 {
		return hits[i], true
	}
	return Hit{}, false
}

func (j *job) kindOfID(id release.ID) Kind {
	switch {
	case id.Kind == string(TV), id.Kind == string(Movie):
		return Kind(id.Kind)
	case j.r.Options.Kind != "":
		return j.r.Options.Kind
	case j.s.Want == WantMovie:
		return Movie
	case j.s.Want == WantAny && j.s.Episodes == 0 && !j.s.HasSeason:
		return Movie
	}
	return TV
}

func (j *job) explicitID() (Kind, int, bool) {
	for _, id := range j.s.IDs {
		if id.Source != "tmdb" {
			continue
		}
		if n, err := strconv.Atoi(id.Value); err == nil && n > 0 {
			return j.kindOfID(id), n, true
		}
	}
	return "", 0, false
}

func (j *job) byID(ctx context.Context, kind Kind, id int) Resolution {
	e, o, err := j.entry(ctx, kind, id)
	if err != nil {
		return j.finish(Outcome{
			Status: Pending, Kind: kind, ID: id, Err: err,
			Reason: "the entry of the given id could not be fetched",
		})
	}
	j.step("entry", &o, "%s %d %q, by the id given", kind, id, e.Title)
	c := score(j.s, contender{hit: e.Hit(), entry: e})
	return j.chosen(c, 1, nil, "the id was given")
}

func (j *job) entry(ctx context.Context, kind Kind, id int) (*Entry, Origin, error) {
	e, o, err := j.r.Source.Entry(ctx, kind, id)
	if err != nil {
		j.step("entry", nil, "%s %d: %v", kind, id, err)
		return nil, o, err
	}
	j.origin = j.origin.With(o)
	j.seen = append(j.seen, Seen{Kind: kind, ID: id, ReadAt: o.ReadAt})
	return e, o, nil
}
