package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/config"
)

// settings are what a reload replaces, as a whole. Requests under way keep what they began with.
type settings struct {
	config.Serve
	cfg       *config.Config
	byHash    map[string]*client
	anonymous *client
	closed    bool // a token is needed, and there is none any more
}

// client is who asks. Its windows live on over reloads.
type client struct {
	config.Client
	class class
	used  *atomic.Int64 // when it last asked, in nanoseconds of Unix; 0: never

	mu                 *sync.Mutex
	requests, upstream *window
}

// newSettings prepares a configuration. Windows of clients whose limits are the same are taken from the one before.
func newSettings(cfg *config.Config, before *settings) *settings {
	s := &settings{Serve: cfg.Serve, cfg: cfg, byHash: map[string]*client{}}
	known := map[string]*client{}
	if before != nil {
		known[config.Anonymous] = before.anonymous
		for _, c := range before.byHash {
			known[c.Name] = c
		}
	}
	for _, c := range cfg.Serve.Clients {
		s.byHash[c.TokenSHA256] = newClient(c, known[c.Name])
	}
	s.closed = len(s.byHash) == 0 && cfg.NeedsClient()
	anonymous := config.Client{Name: config.Anonymous, Class: interactive.String(), Weight: 1}
	s.anonymous = newClient(anonymous, known[config.Anonymous])
	return s
}

func newClient(c config.Client, before *client) *client {
	out := &client{Client: c, mu: &sync.Mutex{}, used: &atomic.Int64{}}
	if c.Class == batch.String() {
		out.class = batch
	}
	out.requests = &window{limit: c.Requests.Requests, span: c.Requests.Period}
	out.upstream = &window{limit: c.Upstream.Requests, span: c.Upstream.Period}
	if before != nil {
		out.used = before.used
	}
	if before != nil && before.Requests == c.Requests && before.Upstream == c.Upstream {
		out.mu, out.requests, out.upstream = before.mu, before.requests, before.upstream
	}
	return out
}

// allow counts a request in one of the client's windows, or refuses it.
func (c *client) allow(w *window, now time.Time) *refusal {
	c.mu.Lock()
	wait, ok := w.allow(now)
	c.mu.Unlock()
	if ok {
		return nil
	}
	r := refuse(reasonClientLimit, "")
	r.wait = wait
	return r
}

// undo takes back what was counted.
func (c *client) undo(w *window) {
	c.mu.Lock()
	w.undo()
	c.mu.Unlock()
}
