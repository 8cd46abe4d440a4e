package gateway

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/metrics"
)

// count counts a request.
func (g *Gateway) count(x *exchange) {
	m, cached := g.up.Metrics(), cmp.Or(x.cache, "-")
	m.Add(metrics.GatewayRequests, 1, x.clientName(), strconv.Itoa(x.status), cached)
	m.Observe(metrics.GatewayTook, time.Since(x.began), cached)
	if x.refused != nil {
		m.Add(metrics.GatewayRefused, 1, x.refused.name)
	}
	switch x.refused {
	case reasonAcquireTimeout:
		m.Add(metrics.GatewayTimeouts, 1, "acquire")
	case reasonRequestTimeout:
		m.Add(metrics.GatewayTimeouts, 1, "request")
	}
}

// setGauges sets the numbers of the moment, also those of each account that the configuration has. The budget bounds
// all accounts together: with one account it is told as its quota.
func (g *Gateway) setGauges(set metrics.Setter) {
	for c, n := range g.queue.waiting() {
		set(metrics.GatewayQueue, float64(n), class(c).String())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	st, err := g.up.Limiter().Status(ctx)
	up := 0.0
	if err == nil && !st.Alone {
		up = 1
	}
	set(metrics.CoordinatorUp, up)
	accounts := app.ViewAccounts(g.settings.Load().cfg, st)
	for _, a := range accounts {
		set(metrics.AccountRunning, float64(a.Running), a.Name)
		set(metrics.AccountLimit, float64(cmp.Or(a.Limit, st.Slots)), a.Name)
		set(metrics.AccountRate, a.Rate, a.Name)
		for _, k := range a.Keys {
			set(metrics.KeyRunning, float64(k.Running), a.Name, strconv.Itoa(k.Number))
		}
		quota := a.Quota
		if quota == nil && len(accounts) == 1 {
			quota = app.ViewQuota(st.Budget, st.BudgetUsed, st.BudgetHeld, st.BudgetRenews)
		}
		if quota != nil {
			set(metrics.QuotaUsed, float64(quota.Used), a.Name)
			set(metrics.QuotaReserved, float64(quota.Reserved), a.Name)
			set(metrics.QuotaLimit, float64(quota.Limit), a.Name)
		}
	}
}

// ClientUse returns how many questions of a client wait now, and when it last asked, zero for never.
func (s *Service) ClientUse(name string) (waiting int, last time.Time) {
	s.g.flights.mu.Lock()
	waiting = s.g.flights.perClient[name]
	s.g.flights.mu.Unlock()
	now := s.g.settings.Load()
	for _, c := range append(slices.Collect(maps.Values(now.byHash)), now.anonymous) {
		if at := c.used.Load(); c.Name == name && at != 0 {
			last = time.Unix(0, at)
		}
	}
	return waiting, last
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
