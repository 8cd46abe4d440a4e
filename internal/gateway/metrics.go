package gateway

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
)

// count counts a request.
func (g *Gateway) count(x *exchange) {
	refused := ""
	if x.refused != nil {
		refused = x.refused.name
	}
	g.counts.Answered(x.clientName(), x.status, cmp.Or(x.cache, "-"), refused, time.Since(x.began))
	switch x.refused {
	case reasonAcquireTimeout:
		g.counts.TimedOut("acquire")
	case reasonRequestTimeout:
		g.counts.TimedOut("request")
	}
}

// gauges are the numbers of the moment.
func (g *Gateway) gauges() metrics.GatewayGauges {
	out := metrics.GatewayGauges{Queue: map[string]uint64{}}
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	st, err := g.up.Limiter().Status(ctx)
	if err == nil && !st.Alone {
		out.Up = 1
	}
	g.accountGauges(&out, st)
	return out
}

// accountGauges are the numbers of each account that the configuration has. The budget bounds all together: with one
// account it is told as its quota.
func (g *Gateway) accountGauges(out *metrics.GatewayGauges, st ratelimit.Status) {
	accounts := app.ViewAccounts(g.settings.Load().cfg, st)
	out.Running, out.Limit, out.KeyRunning = map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	out.Rate = map[string]float64{}
	out.QuotaUsed, out.QuotaHeld, out.QuotaLimit = map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	for _, a := range accounts {
		out.Running[a.Name], out.Limit[a.Name] = uint64(a.Running), uint64(cmp.Or(a.Limit, st.Slots))
		out.Rate[a.Name] = a.Rate
		for _, k := range a.Keys {
			out.KeyRunning[a.Name+","+strconv.Itoa(k.Number)] = uint64(k.Running)
		}
		quota := a.Quota
		if quota == nil && len(accounts) == 1 {
			quota = app.ViewQuota(st.Budget, st.BudgetUsed, st.BudgetHeld, st.BudgetRenews)
		}
		if quota != nil {
			out.QuotaUsed[a.Name], out.QuotaHeld[a.Name] = uint64(quota.Used), uint64(quota.Reserved)
			out.QuotaLimit[a.Name] = uint64(quota.Limit)
		}
	}
}

// metrics answers with Prometheus' text, for an admin, or for anybody where no token is needed.
func (x *exchange) metrics() error {
	if !x.client.Admin && x.client != x.settings.anonymous {
		return refuse(reasonNoAdmin, "")
	}
	var b bytes.Buffer
	if err := metrics.Prometheus(&b, x.g.up.Metrics().Snapshot()); err != nil {
		return err
	}
	x.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	x.bytes = send(x.w, x.r, x.status, b.Bytes())
	return nil
}
