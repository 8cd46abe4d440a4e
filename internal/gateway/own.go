package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
)

// page is what a person sees who opens the gateway in a browser.
const page = `anivault, a gateway to TMDB

Ask it as you would ask TMDB: GET /3/tv/1399, GET /3/search/tv?query=...
It answers from its cache what it can, and asks TMDB for the rest at a rate
that TMDB bears, for all programs that use it together.

A client token goes where the TMDB token would go: Authorization: Bearer
anv_..., or api_key=anv_... Images are at image.tmdb.org, not here.

This product uses the TMDB API but is not endorsed or certified by TMDB.
`

// own answers what the gateway has to say of itself.
func (x *exchange) own(where to) error {
	h := x.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	x.status = http.StatusOK
	switch where {
	case toSuccess:
		h.Set("Content-Type", jsonType)
		x.bytes = send(x.w, x.r, x.status, []byte(`{"success":true,"status_code":1,"status_message":"Success."}`))
	case toPage:
		x.bytes = send(x.w, x.r, x.status, []byte(page+"\nanivault "+version.Get().Version+"\n"))
	case toRobots:
		x.bytes = send(x.w, x.r, x.status, []byte("User-agent: *\nDisallow: /\n"))
	case toHealth, toReady:
		h.Set("Content-Type", jsonType)
		ready := !x.g.draining.Load()
		if where == toReady && !ready {
			x.status = http.StatusServiceUnavailable
		}
		x.bytes = send(x.w, x.r, x.status, x.health(ready))
	case toMetrics:
		return x.metrics()
	case toTMDB:
	}
	return nil
}

// alone is the word for a gateway that does not see what the others do.
func (g *Gateway) alone() string {
	if g.settings.Load().cfg.Coordinator == "redis" {
		return "coordinator_lost"
	}
	return "store_alone"
}

// noAccount reports whether each account is disabled, or has no key that is in.
func (g *Gateway) noAccount(st ratelimit.Status) bool {
	pool := g.settings.Load().cfg.Pool()
	return len(pool) > 0 && !slices.ContainsFunc(pool, func(a config.Account) bool {
		return st.View(a.Account).Barred == ratelimit.ReasonNone
	})
}

// health says how the gateway is. It never fails because TMDB does: a balancer that took every gateway out then would
// turn a slow hour into an outage, while the cache answers.
func (x *exchange) health(ready bool) []byte {
	view := health{ready, "unknown", []string{}}
	st, err := x.g.up.Limiter().Status(x.r.Context())
	if err == nil {
		view.State = st.State.String()
	}
	for _, d := range []struct {
		name  string
		holds bool
	}{
		{x.g.alone(), err != nil || st.Alone},
		{"sleep", err == nil && (st.State == ratelimit.Sleep || st.PauseUntil.After(time.Now()))},
		{"cacheonly", st.State == ratelimit.CacheOnly},
		{"no_account", err == nil && x.g.noAccount(st)},
		{"offline", st.Offline},
	} {
		if d.holds {
			view.Degraded = append(view.Degraded, d.name)
		}
	}
	body, err := json.Marshal(view)
	if err != nil {
		panic(err) // plain values
	}
	return body
}
