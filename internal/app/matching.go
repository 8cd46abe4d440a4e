package app

import (
	"context"
	"net/http"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/ratelimit"
)

// plannedRequests is what a run reserves of the budget before it asks about a series: a search and the details
// of what it finds. What a series needs beyond that is taken from the budget request by request.
const plannedRequests = 2

// noBudget is the context's key of the error that a series without a reservation gets for its requests.
type noBudget struct{}

// budgeted stands between cache and wire and stops the requests of series that the budget has no room for.
type budgeted struct{ next http.RoundTripper }

func (b budgeted) RoundTrip(req *http.Request) (*http.Response, error) {
	if err, ok := req.Context().Value(noBudget{}).(error); ok {
		return nil, err
	}
	return b.next.RoundTrip(req)
}

// matching is the pipeline's matcher: the user's choices first, then the title index, then
// TMDB's search, inside a reservation of the budget.
type matching struct {
	limiter  *ratelimit.Limiter
	resolver match.Resolver
	choices  *choices
	index    *titleIndex // nil: nothing was imported
	known    *knownTitles
	spared   *spared
	person   *asking // nil: nobody is asked
}

// Decide implements matcher. A series that the budget has no room for is not stopped: the cache may know it all; but
// none of its requests is sent, so nothing is spent on half a series.
func (m *matching) Decide(ctx context.Context, s match.Series, t turn, decided func(match.File, match.Decision)) {
	if m.limiter.Tuning().Budget.On() {
		r, err := m.limiter.Reserve(ctx, plannedRequests)
		if err == nil {
			defer r.Release()
			ctx = ratelimit.WithReservation(ctx, r)
		} else {
			ctx = context.WithValue(ctx, noBudget{}, err)
		}
	}
	for _, p := range m.choices.split(s) {
		if p.pin != nil {
			m.decidePinned(ctx, p, decided)
			continue
		}
		m.decideOpen(ctx, p.series, t, decided)
	}
}

// decideOpen decides files of which the user has said nothing.
func (m *matching) decideOpen(ctx context.Context, s match.Series, t turn, decided func(match.File, match.Decision)) {
	if res, found, ok := m.resolveIndexed(ctx, s); ok {
		m.decideIndexed(ctx, s, res, found, decided)
		return
	}
	resolution := m.resolve(ctx, s)
	if m.person != nil && undecidedSeries(resolution) {
		s = m.ask(ctx, s, resolution, t, decided)
	}
	for _, f := range s.Files {
		decided(f, m.resolver.Place(ctx, f, resolution))
	}
}

// resolve asks for a series, unless what this run or an earlier one has fetched knows it.
func (m *matching) resolve(ctx context.Context, s match.Series) match.Resolution {
	var before knownEntry
	var fresh, ok bool
	sparing := m.sparing(s)
	if sparing {
		before, fresh, ok = m.spared.entry(ctx, s)
	}
	if ok && fresh {
		if res, ok := m.resolveAs(ctx, s, before); ok {
			return res
		}
	}
	over := m.known.wait(ctx, s)
	defer over()
	if sparing {
		if res, ok := m.resolveKnown(ctx, s); ok {
			return res
		}
	}
	res := m.resolver.Resolve(ctx, s)
	if ok && !fresh && res.Status == match.Pending {
		if old, ok := m.resolveAs(ctx, s, before); ok {
			return old
		}
	}
	return res
}
