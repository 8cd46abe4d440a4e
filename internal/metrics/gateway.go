package metrics

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Gateway counts what a gateway does. Its methods may be called concurrently. Labels come from the configuration and from
// tables of the code only; several labels of one metric are joined by commas.
type Gateway struct {
	gauge func() GatewayGauges

	mu                sync.Mutex
	asked             map[request]uint64
	chosen            map[string]uint64
	refused, timeouts map[string]uint64
	waited, took      map[string]*Distribution
}

// request is the labels of gateway_requests_total.
type request struct {
	client string
	status int
	cache  string
}

// GatewaySnapshot is all of a gateway's numbers at one moment.
type GatewaySnapshot struct {
	Requests map[string]uint64       // by client, status and cache
	Chosen   map[string]uint64       // by account and why; empty without accounts
	Refused  map[string]uint64       // by reason
	Timeouts map[string]uint64       // by kind
	Wait     map[string]Distribution // by class, seconds
	Took     map[string]Distribution // by cache, seconds
	GatewayGauges
}

// GatewayGauges are how a gateway is right now. Those of an account are by its name.
type GatewayGauges struct {
	Queue                            map[string]uint64 // by class
	Running, Limit                   map[string]uint64
	Rate                             map[string]float64 // requests a second; 0: none of its own
	KeyRunning                       map[string]uint64  // by account and number of the key; empty for a single one
	QuotaUsed, QuotaHeld, QuotaLimit map[string]uint64  // empty without a quota
	Up                               uint64             // 1 while the shared state can be reached

	// By client; for the admin page alone.
	Waiting map[string]int
	LastUse map[string]time.Time
}

// ForGateway makes m count a gateway too. gauge is asked at each snapshot.
func (m *Metrics) ForGateway(gauge func() GatewayGauges) *Gateway {
	g := &Gateway{gauge: gauge, asked: map[request]uint64{}, took: map[string]*Distribution{}, waited: map[string]*Distribution{}}
	g.refused, g.timeouts, g.chosen = map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gateway = g
	return g
}

// Answered counts a request and how long it took. reason is empty unless it was refused.
func (g *Gateway) Answered(client string, status int, cache, reason string, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked[request{client, status, cache}]++
	if reason != "" {
		g.refused[reason]++
	}
	observeIn(g.took, "gateway_request_seconds", cache, took)
}

// Chose counts a request that goes through an account.
func (g *Gateway) Chose(account, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.chosen[account+","+why]++
}

// TimedOut counts a timeout: "acquire" or "request".
func (g *Gateway) TimedOut(kind string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timeouts[kind]++
}

// Waited counts how long a question of a class waited until it was let go.
func (g *Gateway) Waited(class string, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	observeIn(g.waited, "gateway_wait_seconds", class, d)
}

func observeIn(all map[string]*Distribution, name, label string, d time.Duration) {
	dist := all[label]
	if dist == nil {
		made := distribution(name)
		dist = &made
		all[label] = dist
	}
	dist.observe(max(d.Seconds(), 0))
}

// snapshot returns a copy of the numbers.
func (g *Gateway) snapshot() *GatewaySnapshot {
	s := GatewaySnapshot{GatewayGauges: g.gauge()} // outside the lock: it may take others
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Requests = make(map[string]uint64, len(g.asked))
	for r, n := range g.asked {
		s.Requests[r.client+","+strconv.Itoa(r.status)+","+r.cache] = n
	}
	s.Refused, s.Timeouts, s.Chosen = maps.Clone(g.refused), maps.Clone(g.timeouts), maps.Clone(g.chosen)
	s.Wait, s.Took = copied(g.waited), copied(g.took)
	return &s
}

func copied(all map[string]*Distribution) map[string]Distribution {
	out := make(map[string]Distribution, len(all))
	for label, d := range all {
		dist := *d
		dist.Buckets = slices.Clone(d.Buckets)
		out[label] = dist
	}
	return out
}

// gatewayTable is the part of the table that only a gateway has.
var gatewayTable = []Definition{
	{
		"gateway_requests_total", Counter, "client,status,cache", "Requests of the gateway's clients, and where their answers were from.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Requests }),
	},
	{
		"gateway_refused_total", Counter, "reason", "Requests that the gateway refused, by the reason in the answer.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Refused }),
	},
	{
		"gateway_timeouts_total", Counter, "kind", "Requests without permission in time (acquire), or without TMDB's answer (request).", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Timeouts }),
	},
	{
		"gateway_queue_length", Gauge, "class", "Questions that wait for their turn.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Queue }),
	},
	{
		"gateway_wait_seconds", Histogram, "class", "Time that questions waited until they were let go.",
		[]float64{.001, .01, .05, .1, .5, 1, 2, 5, 15, 30, 60, 300},
		ofGateway(func(g *GatewaySnapshot) any { return g.Wait }),
	},
	{
		"gateway_request_seconds", Histogram, "cache", "Time from a client's request to its answer.",
		[]float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 15, 30, 60},
		ofGateway(func(g *GatewaySnapshot) any { return g.Took }),
	},
	{
		"account_running", Gauge, "account", "Requests under way through an account, all processes together.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Running }),
	},
	{
		"account_limit", Gauge, "account", "How many there may be.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Limit }),
	},
	{
		"account_rate", Gauge, "account", "Requests a second that an account may send now; 0: no rate of its own.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Rate }),
	},
	{
		"account_requests_total", Counter, "account,code", "Answers from TMDB through an account, by HTTP status, or by what went wrong where none came.", nil,
		func(s *Snapshot) any {
			if s.Gateway == nil {
				return nil
			}
			return s.ByAccount
		},
	},
	{
		"account_chosen_total", Counter, "account,why", "Requests that went through an account: by priority, because those before it were full (spill), or to keep it (sticky).", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Chosen }),
	},
	{
		"key_running", Gauge, "account,key", "Requests under way with a key, by its number in the configuration.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.KeyRunning }),
	},
	{
		"quota_used", Gauge, "account", "Requests of the budget that TMDB has answered in this period.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.QuotaUsed }),
	},
	{
		"quota_reserved", Gauge, "account", "Requests of the budget that are set aside.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.QuotaHeld }),
	},
	{
		"quota_limit", Gauge, "account", "Requests that the budget allows in a period.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.QuotaLimit }),
	},
	{
		"coordinator_up", Gauge, "", "1 while the shared state can be reached, 0 while this process is on its own.", nil,
		ofGateway(func(g *GatewaySnapshot) any { return g.Up }),
	},
}

// ofGateway returns nil for a run that is no gateway.
func ofGateway(value func(*GatewaySnapshot) any) func(*Snapshot) any {
	return func(s *Snapshot) any {
		if s.Gateway == nil {
			return nil
		}
		return value(s.Gateway)
	}
}
