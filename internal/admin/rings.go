package admin

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
)

// What was, in memory: an hour finely and a day coarsely. A restart empties it; more is for who collects metrics.
const (
	fine, mostFine     = 10 * time.Second, 360
	coarse, mostCoarse = time.Minute, 1440
)

// sample is how it was at a moment, or over the time since the one before.
type sample struct {
	at             time.Time
	running, limit float64
	sent           float64 // requests a second
	throttled      float64 // 429s
	queue          float64
}

type ring struct {
	list []sample
	most int
}

func (r *ring) add(s sample) {
	if len(r.list) == r.most {
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, s)
}

// history is what was of the address, or of an account.
type history struct {
	fine, coarse ring
}

// add notes a sample, and each minute the mean of its samples.
func (h *history) add(s sample) {
	h.fine.add(s)
	per := int(coarse / fine)
	if n := len(h.fine.list); n >= per &&
		(len(h.coarse.list) == 0 || s.at.Sub(h.coarse.list[len(h.coarse.list)-1].at) >= coarse) {
		h.coarse.add(mean(h.fine.list[n-per:]))
	}
}

// mean is the mean of samples; 429s are counted together.
func mean(list []sample) sample {
	n := float64(len(list))
	out := sample{at: list[len(list)-1].at}
	for _, s := range list {
		out.running += s.running / n
		out.limit += s.limit / n
		out.sent += s.sent / n
		out.throttled += s.throttled
		out.queue += s.queue / n
	}
	return out
}

// rings are the histories of the address ("") and of the accounts.
type rings struct {
	mu   sync.Mutex
	by   map[string]*history
	last counts
}

// counts are numbers that only grow.
type counts struct {
	at              time.Time
	sent, throttled float64
}

// run notes a sample every ten seconds until ctx ends.
func (r *rings) run(ctx context.Context, g Gateway) {
	tick := time.NewTicker(fine)
	defer tick.Stop()
	r.look(ctx, g, time.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.look(ctx, g, time.Now())
		}
	}
}

func (r *rings) look(ctx context.Context, g Gateway, now time.Time) {
	st, err := g.Upstream().Limiter().Status(ctx)
	if err != nil {
		return // a gap
	}
	snap := g.Upstream().Metrics().Snapshot()
	is := counts{at: now, throttled: snap.Value(metrics.Requests, "429")}
	for _, n := range snap.Values(metrics.Requests) {
		is.sent += n
	}
	queue := 0.0
	for _, n := range snap.Values(metrics.GatewayQueue) {
		queue += n
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(st, is, queue)
}

// note adds samples. r.mu is held.
func (r *rings) note(st ratelimit.Status, is counts, queue float64) {
	s := sample{at: is.at, running: float64(st.Running), limit: float64(st.Slots), queue: queue}
	if span := is.at.Sub(r.last.at); !r.last.at.IsZero() && span > 0 {
		s.sent = (is.sent - r.last.sent) / span.Seconds()
		s.throttled = is.throttled - r.last.throttled
	}
	r.last = is
	r.of("").add(s)
	for _, a := range st.Accounts {
		r.of(a.Name).add(sample{at: is.at, running: float64(a.Running), limit: float64(cmp.Or(a.Slots, st.Slots))})
	}
}

func (r *rings) of(name string) *history {
	h := r.by[name]
	if h == nil {
		h = &history{ring{most: mostFine}, ring{most: mostCoarse}}
		r.by[name] = h
	}
	return h
}

// samples returns what was of an account, or of the address ("").
func (r *rings) samples(name string) (hour, day []sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.by[name]
	if h == nil {
		return nil, nil
	}
	return slices.Clone(h.fine.list), slices.Clone(h.coarse.list)
}
