package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
)

// maxSessions bounds the sessions that keep an account; those that asked longest ago are forgotten first.
const maxSessions = 10_000

// sticky is which account and key each session keeps.
type sticky struct {
	mu            sync.Mutex
	recent, older map[string]session // by name; at most a half of maxSessions each
}

type session struct {
	ratelimit.Preference
	asked time.Time
}

// sessionOf names who keeps an account: a client, or one session of it.
func sessionOf(r *http.Request, c *client) string {
	if id := r.Header.Get("X-Anivault-Session"); goodID(id) {
		return c.Name + " " + id
	}
	return c.Name
}

// get returns what a session keeps, if it has asked within ttl.
func (s *sticky) get(name string, ttl time.Duration, now time.Time) (ratelimit.Preference, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.recent[name]
	if !ok {
		kept, ok = s.older[name]
	}
	return kept.Preference, ok && now.Sub(kept.asked) < ttl
}

func (s *sticky) keep(name string, p ratelimit.Preference, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent == nil || len(s.recent) >= maxSessions/2 {
		s.older, s.recent = s.recent, map[string]session{}
	}
	s.recent[name] = session{p, now}
}

// sticking lets a flight's requests keep the account of its session.
func (g *Gateway) sticking(ctx context.Context, f *flight, s config.Sticky) context.Context {
	if !s.Enabled || f.by.session == "" {
		return ctx
	}
	if p, ok := g.sticky.get(f.by.session, s.TTL, time.Now()); ok {
		return ratelimit.With(ctx, ratelimit.Request{Prefer: p, PreferFor: s.Wait})
	}
	return ctx
}

// chosen notes through which account and key a try goes.
func (g *Gateway) chosen(f *flight, c ratelimit.Choice) {
	s := g.settings.Load()
	f.choice.Store(&c)
	if s.Sticky.Enabled && f.by.session != "" {
		g.sticky.keep(f.by.session, ratelimit.Preference{Account: c.Account, Key: c.Key}, time.Now())
	}
	g.up.Metrics().Add(metrics.AccountChosen, 1, c.Account, c.Why.String())
	for _, full := range c.Full {
		g.log.LogAttrs(context.Background(), g.fullLevel(), "slot_skipped", slog.String("account", full),
			slog.String("request_id", f.by.id))
	}
}
