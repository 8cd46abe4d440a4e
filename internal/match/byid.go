package match

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/anivault/anivault/internal/release"
)

// Finder is a Source that knows entries by another site's id: site is "imdb" ("tt0903747") or "tvdb" ("81189").
type Finder interface {
	// Find returns the rows under an id; none where TMDB does not know it.
	Find(ctx context.Context, site, id string) ([]Hit, Origin, error)
}

// byExternalID looks the ids of other sites up, in the order in which the path has them. ok is false where none leads
// to an entry.
func (j *job) byExternalID(ctx context.Context) (res Resolution, ok bool) {
	finder, able := j.r.Source.(Finder)
	if !able {
		return res, false
	}
	for _, id := range j.s.IDs {
		if id.Source != "imdb" && id.Source != "tvdb" {
			continue
		}
		hits, o, err := finder.Find(ctx, id.Source, id.Value)
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

// meant picks the row of the kind that the user or the name asks for; the only one where there is one.
func (j *job) meant(id release.ID, hits []Hit) (Hit, bool) {
	want := j.r.Options.Kind
	if want == "" && len(hits) > 1 {
		want = j.kindOfID(id)
	}
	i := slices.IndexFunc(hits, func(h Hit) bool { return want == "" || h.Kind == want })
	if i < 0 {
		return Hit{}, false
	}
	return hits[i], true
}

// kindOfID is the kind of an id without a kind of its own: that of the name, a series unless it reads as a film.
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
		n, err := strconv.Atoi(id.Value)
		if err != nil || n <= 0 {
			continue
		}
		return j.kindOfID(id), n, true
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
	c := score(j.s, contender{hit: hitOf(e), entry: e})
	return j.chosen(c, 1, nil, "the id was given")
}

// entry fetches an entry and notes that the decision stands on it.
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
