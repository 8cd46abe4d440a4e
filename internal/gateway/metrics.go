package gateway

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
)

// count counts a request.
func (g *Gateway) count(x *exchange) {
	name, cached := "-", x.cache
	if x.client != nil {
		name = x.client.Name
	}
	if cached == "" {
		cached = "-"
	}
	g.counts.Answered(name, x.status, cached, x.reason, time.Since(x.began))
	switch x.reason {
	case "acquire_timeout":
		g.counts.TimedOut("acquire")
	case "request_timeout":
		g.counts.TimedOut("request")
	}
}

// gauges are the numbers of the moment.
func (g *Gateway) gauges() metrics.GatewayGauges {
	out := metrics.GatewayGauges{Queue: map[string]uint64{}, Running: map[string]uint64{}, Limit: map[string]uint64{}}
	for c, n := range g.queue.waiting() {
		out.Queue[class(c).String()] = uint64(n)
	}
	g.flights.mu.Lock()
	out.Waiting = maps.Clone(g.flights.perClient)
	g.flights.mu.Unlock()
	s := g.settings.Load()
	out.LastUse = map[string]time.Time{s.anonymous.Name: s.anonymous.lastUse()}
	for _, c := range s.byHash {
		out.LastUse[c.Name] = c.lastUse()
	}
	running, limit := g.queue.running()
	out.Running[account], out.Limit[account] = uint64(running), uint64(limit)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	st, err := g.up.Limiter().Status(ctx)
	if err == nil && !st.Alone {
		out.Up = 1
	}
	if len(st.Accounts) > 0 {
		g.accountGauges(&out, st)
		return out
	}
	if st.Budget.On() {
		out.QuotaUsed = map[string]uint64{account: uint64(st.BudgetUsed)}
		out.QuotaHeld = map[string]uint64{account: uint64(st.BudgetHeld)}
		out.QuotaLimit = map[string]uint64{account: uint64(st.Budget.Requests)}
	}
	return out
}

// accountGauges are the numbers of each account that the configuration has.
func (g *Gateway) accountGauges(out *metrics.GatewayGauges, st ratelimit.Status) {
	cfg := g.settings.Load().cfg
	out.Running, out.Limit, out.KeyRunning = map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	out.QuotaUsed, out.QuotaHeld, out.QuotaLimit = map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	for _, a := range st.Accounts {
		if !slices.ContainsFunc(cfg.Accounts, func(o config.Account) bool { return o.Name == a.Name }) {
			continue
		}
		out.Running[a.Name], out.Limit[a.Name] = uint64(a.Running), uint64(cmp.Or(a.Slots, st.Slots))
		for _, k := range a.Keys {
			if n := cfg.KeyNumber(a.Name, k.Key); n > 0 {
				out.KeyRunning[a.Name+","+strconv.Itoa(n)] = uint64(k.Running)
			}
		}
		if a.Quota.On() {
			out.QuotaUsed[a.Name], out.QuotaHeld[a.Name] = uint64(a.QuotaUsed), uint64(a.QuotaReserved)
			out.QuotaLimit[a.Name] = uint64(a.Quota.Requests)
		}
	}
}

// metrics answers with Prometheus' text, for an admin, or for anybody where no token is needed.
func (x *exchange) metrics() error {
	if !x.client.Admin && x.client != x.s.anonymous {
		return refuse("unauthorized", http.StatusForbidden, "/metrics needs the token of an admin: anivault serve token new NAME --admin")
	}
	var b bytes.Buffer
	if err := metrics.Prometheus(&b, x.g.up.Metrics().Snapshot()); err != nil {
		return err
	}
	x.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	x.bytes = send(x.w, x.r, x.status, b.Bytes())
	return nil
}
