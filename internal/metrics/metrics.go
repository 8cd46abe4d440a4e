// Package metrics counts what a run does and writes it as NDJSON and as Prometheus text (docs/reference.md).
package metrics

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Metrics are the numbers of one process. Its methods may be called concurrently. Labels are given in the order of the
// definition.
type Metrics struct {
	mu   sync.Mutex
	now  Snapshot
	look func(Setter) // see ForGateway
}

// Setter sets a gauge.
type Setter func(d *Definition, v float64, labels ...string)

// Snapshot is a copy of all metrics at one moment. Labels are joined by commas, "" without any.
type Snapshot struct {
	gateway       bool
	values        map[*Definition]map[string]float64
	distributions map[*Definition]map[string]Distribution
}

// Distribution is a histogram: Buckets[i] observations were at most Bounds[i] and more than the bound before; those
// beyond the last bound are in Count alone.
type Distribution struct {
	Bounds  []float64
	Buckets []uint64
	Count   uint64
	Sum     float64
}

// New returns metrics that are all zero.
func New() *Metrics {
	m := &Metrics{now: Snapshot{
		values: map[*Definition]map[string]float64{}, distributions: map[*Definition]map[string]Distribution{},
	}}
	for _, d := range table {
		m.now.values[d], m.now.distributions[d] = map[string]float64{}, map[string]Distribution{}
	}
	return m
}

// ForGateway makes m count for a gateway too. look is asked for gauges at each snapshot.
func (m *Metrics) ForGateway(look func(Setter)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.gateway, m.look = true, look
}

// Add adds n to a counter.
func (m *Metrics) Add(d *Definition, n int, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.values[d][strings.Join(labels, ",")] += float64(n)
}

// Set replaces a gauge. What is no finite number counts as 0.
func (m *Metrics) Set(d *Definition, v float64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.set(d, v, labels...)
}

func (s *Snapshot) set(d *Definition, v float64, labels ...string) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	s.values[d][strings.Join(labels, ",")] = v
}

// Observe adds a time to a histogram, in the unit that its name ends with. A negative one counts as 0.
func (m *Metrics) Observe(d *Definition, took time.Duration, labels ...string) {
	unit := time.Second
	if strings.HasSuffix(d.Name, "_ms") {
		unit = time.Millisecond
	}
	v := max(float64(took)/float64(unit), 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.now.Distribution(d, labels...)
	h.Count++
	// nanoseconds: what lies below is noise of the adding
	h.Sum = math.Round((h.Sum+v)*1e6) / 1e6
	if i, _ := slices.BinarySearch(h.Bounds, v); i < len(h.Buckets) { // the first bound that is ≥ v
		h.Buckets[i]++
	}
	m.now.distributions[d][strings.Join(labels, ",")] = h
}

// Snapshot returns a copy of everything.
func (m *Metrics) Snapshot() Snapshot {
	m.mu.Lock()
	s, look := m.now, m.look
	s.values = make(map[*Definition]map[string]float64, len(table))
	s.distributions = make(map[*Definition]map[string]Distribution, len(table))
	for _, d := range table {
		s.values[d] = maps.Clone(m.now.values[d])
		s.distributions[d] = map[string]Distribution{}
		for label, h := range m.now.distributions[d] {
			h.Buckets = slices.Clone(h.Buckets)
			s.distributions[d][label] = h
		}
	}
	m.mu.Unlock()
	if look != nil {
		look(s.set) // outside the lock: it may take others
	}
	return s
}

// Values returns a counter or gauge by its labels, which are joined by commas.
func (s Snapshot) Values(d *Definition) map[string]float64 { return s.values[d] }

// Value returns a counter or gauge with these labels; 0 where there is none.
func (s Snapshot) Value(d *Definition, labels ...string) float64 {
	return s.values[d][strings.Join(labels, ",")]
}

// Distribution returns a histogram with these labels.
func (s Snapshot) Distribution(d *Definition, labels ...string) Distribution {
	h, ok := s.distributions[d][strings.Join(labels, ",")]
	if !ok {
		h = Distribution{Bounds: d.Bounds, Buckets: make([]uint64, len(d.Bounds))}
	}
	return h
}

// Kind is what a metric is to Prometheus.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Prefix stands before every name in Prometheus text, where all programs share one name space. NDJSON has the bare
// names.
const Prefix = "anivault_"

// Definition is one metric.
type Definition struct {
	Name    string
	Kind    Kind
	Label   string    // "" for none; several with commas
	Help    string    // one sentence
	Bounds  []float64 // a histogram's upper bucket bounds, in its unit
	gateway bool      // only a gateway has it
}

var table []*Definition

// Table returns every metric in the order in which they are written.
func Table() []*Definition { return slices.Clone(table) }

func row(name string, kind Kind, label, help string, bounds ...float64) *Definition {
	d := &Definition{name, kind, label, help, bounds, false}
	table = append(table, d)
	return d
}

func gatewayRow(name string, kind Kind, label, help string, bounds ...float64) *Definition {
	d := row(name, kind, label, help, bounds...)
	d.gateway = true
	return d
}

// The metrics of every run. Values of labels come from the configuration and from tables of the code only.
var (
	Requests = row("requests_total", Counter, "code",
		"Answers from TMDB by HTTP status, or by what went wrong where none came.")
	CacheHits = row("cache_hits_total", Counter, "",
		"Questions that the cache answered; files whose decision is remembered ask none.")
	CacheMisses = row("cache_miss_total", Counter, "", "Questions that the cache could not answer.")
	Orphans     = row("quota_orphans_total", Counter, "",
		"Requests of the budget that were reserved and forgotten, and are free again.")
	Rate = row("rate_current", Gauge, "",
		"Requests per second that the limiter allows now; 0 until the run wants to send something.")
	Concurrency = row("concurrency_current", Gauge, "",
		"Requests that the limiter allows at the same time now; 0 until the run wants to send something.")
	ErrRate          = row("err_rate_30s", Gauge, "", "Share of failed requests in the limiter's window, 0 to 1.")
	CacheWriteErrors = row("cache_write_errors_total", Counter, "", "Answers that the cache could not write to the disk.")
	Latency          = row("latency_ms", Histogram, "",
		"Time from letting a request go to its whole answer, in milliseconds.",
		5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 15000)
	Sleep = row("sleep_ms", Histogram, "",
		"Time that requests waited for the limiter's permission, in milliseconds.",
		1, 10, 50, 100, 500, 1000, 2000, 5000, 15000, 60000, 300000)
)

// The metrics that only a gateway has.
var (
	GatewayRequests = gatewayRow("gateway_requests_total", Counter, "client,status,cache",
		"Requests of the gateway's clients, and where their answers were from.")
	GatewayRefused = gatewayRow("gateway_refused_total", Counter, "client,reason",
		"Requests that the gateway refused, by client (- where it is not known) and the reason in the answer.")
	GatewayConnections = gatewayRow("gateway_connections", Gauge, "listener",
		"Open connections to the gateway's addresses (gateway) and to the page (admin).")
	GatewayConnectionsRefused = gatewayRow("gateway_connections_refused_total", Counter, "listener,why",
		"Connections closed at once, because there were too many in all (total) or from one address (peer).")
	GatewayTimeouts = gatewayRow("gateway_timeouts_total", Counter, "kind",
		"Requests without permission in time (acquire), or without TMDB's answer (request).")
	GatewayQueue = gatewayRow("gateway_queue_length", Gauge, "class", "Questions that wait for their turn.")
	GatewayWait  = gatewayRow("gateway_wait_seconds", Histogram, "class",
		"Time that questions waited until they were let go.",
		.001, .01, .05, .1, .5, 1, 2, 5, 15, 30, 60, 300)
	GatewayTook = gatewayRow("gateway_request_seconds", Histogram, "cache",
		"Time from a client's request to its answer.",
		.0005, .001, .005, .01, .05, .1, .5, 1, 5, 15, 30, 60)
	AccountRunning = gatewayRow("account_running", Gauge, "account",
		"Requests under way through an account, all processes together.")
	AccountLimit = gatewayRow("account_limit", Gauge, "account", "How many there may be.")
	AccountRate  = gatewayRow("account_rate", Gauge, "account",
		"Requests a second that an account may send now; 0: no rate of its own.")
	AccountRequests = gatewayRow("account_requests_total", Counter, "account,code",
		"Answers from TMDB through an account, by HTTP status, or by what went wrong where none came.")
	AccountChosen = gatewayRow("account_chosen_total", Counter, "account,why", "Requests that went through an account: "+
		"by priority, because those before it were full (spill), or to keep it (sticky).")
	KeyRunning = gatewayRow("key_running", Gauge, "account,key",
		"Requests under way with a key, by its number in the configuration.")
	QuotaUsed = gatewayRow("quota_used", Gauge, "account",
		"Requests of the budget that TMDB has answered in this period.")
	QuotaReserved = gatewayRow("quota_reserved", Gauge, "account", "Requests of the budget that are set aside.")
	QuotaLimit    = gatewayRow("quota_limit", Gauge, "account", "Requests that the budget allows in a period.")
	LimiterState  = gatewayRow("limiter_state", Gauge, "state", "1 for the limiter's state, 0 for the others.")
	LearnedRate   = gatewayRow("limiter_learned_rate", Gauge, "",
		"Requests a second that 429s have taught, where that is below rate_base; 0: nothing is learned.")
	BuildInfo     = gatewayRow("build_info", Gauge, "version,commit,go", "1, with the build in the labels.")
	OpenFDs       = gatewayRow("process_open_fds", Gauge, "", "Open file descriptors.")
	MaxFDs        = gatewayRow("process_max_fds", Gauge, "", "How many there may be.")
	Memory        = gatewayRow("process_resident_memory_bytes", Gauge, "", "Memory in use.")
	Started       = gatewayRow("process_start_time_seconds", Gauge, "", "When the process began, Unix time.")
	CoordinatorUp = gatewayRow("coordinator_up", Gauge, "",
		"1 while the shared state can be reached, 0 while this process is on its own.")
)

var headFields = []Definition{
	{Name: "ts", Help: "When, UTC, RFC 3339."},
	{Name: "pid", Help: "The process whose numbers these are."},
	{Name: "final", Help: "Whether it is the run's last snapshot."},
}

// HeadFields returns what an NDJSON snapshot begins with, in order.
func HeadFields() []Definition { return slices.Clone(headFields) }
