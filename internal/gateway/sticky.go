package gateway

import (
	"container/list"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
)

// maxSessions bounds the sessions that keep an account; the one that asked longest ago is forgotten first.
const maxSessions = 10_000

// sticky is which account and key each session keeps.
type sticky struct {
	mu     sync.Mutex
	byName map[string]*list.Element
	recent list.List // of *session, the one that asked last in front
}

type session struct {
	name string
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
	e := s.byName[name]
	if e == nil {
		return ratelimit.Preference{}, false
	}
	kept := e.Value.(*session)
	if now.Sub(kept.asked) >= ttl {
		s.recent.Remove(e)
		delete(s.byName, name)
		return ratelimit.Preference{}, false
	}
	return kept.Preference, true
}

func (s *sticky) keep(name string, p ratelimit.Preference, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byName[name]; e != nil {
		kept := e.Value.(*session)
		kept.Preference, kept.asked = p, now
		s.recent.MoveToFront(e)
		return
	}
	if s.byName == nil {
		s.byName = map[string]*list.Element{}
	}
	s.byName[name] = s.recent.PushFront(&session{name, p, now})
	if s.recent.Len() > maxSessions {
		oldest := s.recent.Back()
		s.recent.Remove(oldest)
		delete(s.byName, oldest.Value.(*session).name)
	}
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
		g.log.LogAttrs(context.Background(), g.log.fullLevel(), "slot_skipped", slog.String("account", full),
			slog.String("request_id", f.by.id))
	}
}
