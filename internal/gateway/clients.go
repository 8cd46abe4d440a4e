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

func (c *client) undo(w *window) {
	c.mu.Lock()
	w.undo()
	c.mu.Unlock()
}

// window counts requests in a sliding span of time by two cells: the present one, and the rest of the one before,
// as if its requests had been spread evenly. Pure.
type window struct {
	limit     int // 0: none
	span      time.Duration
	began     time.Time // of the present cell
	now, last int
}

// allow counts a request if there is room for it, else it returns how long until there is. What is refused does not
// count.
func (w *window) allow(at time.Time) (wait time.Duration, ok bool) {
	if w.limit <= 0 {
		return 0, true
	}
	w.slide(at)
	if w.weight(at) < float64(w.limit) {
		w.now++
		return 0, true
	}
	end := w.began.Add(w.span)
	if w.now >= w.limit {
		// In the next cell this one counts in full at first, and falls below the limit with the first moment.
		over := float64(w.now-w.limit)/float64(w.now)*float64(w.span) + 1
		return end.Sub(at) + time.Duration(over), false
	}
	// Here the cell before has to fade until its rest is below the room.
	faded := float64(w.last-(w.limit-w.now))/float64(w.last)*float64(w.span) + 1
	return w.began.Add(time.Duration(faded)).Sub(at), false
}

func (w *window) undo() { w.now = max(w.now-1, 0) }

func (w *window) slide(at time.Time) {
	switch gone := at.Sub(w.began); {
	case gone >= 2*w.span || gone < 0:
		w.began, w.now, w.last = at, 0, 0
	case gone >= w.span:
		w.began, w.now, w.last = w.began.Add(w.span), 0, w.now
	}
}

// weight is how many requests lie within the span before a moment.
func (w *window) weight(at time.Time) float64 {
	left := 1 - float64(at.Sub(w.began))/float64(w.span)
	return float64(w.now) + float64(w.last)*left
}
