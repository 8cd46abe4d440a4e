// Package metrics counts what a run does and writes it as NDJSON and as Prometheus text (docs/reference.md).
package metrics

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Metrics are the metrics of one process, safe for concurrent use. Labels are in the order of the definition.
type Metrics struct {
	mu         sync.Mutex
	current    Snapshot
	readGauges func(Setter) // sets a gateway's gauges; nil in other processes
}

// Setter sets a gauge.
type Setter func(d *Definition, v float64, labels ...string)

// Snapshot is a copy of all metrics at one moment.
type Snapshot struct {
	gateway bool
	series  map[*Definition]map[string]Series // by the labels joined by commas, or ""
}

// Series has the values of a metric for one set of labels.
type Series struct {
	Value   float64  // of a counter or gauge; the sum of a histogram
	Count   uint64   // of a histogram's observations
	Buckets []uint64 // Buckets[i] counts a histogram's observations up to Bounds[i]; Count includes larger ones too
}

// New returns metrics that are all zero.
func New() *Metrics {
	m := &Metrics{current: Snapshot{series: map[*Definition]map[string]Series{}}}
	for _, d := range Table {
		m.current.series[d] = map[string]Series{}
		if d.Label == "" {
			m.current.series[d][""] = m.current.Series(d)
		}
	}
	return m
}

// EnableGateway makes m include a gateway's metrics. Each snapshot calls readGauges to set the gauges.
func (m *Metrics) EnableGateway(readGauges func(Setter)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current.gateway, m.readGauges = true, readGauges
}

// Add adds n to a counter.
func (m *Metrics) Add(d *Definition, n int, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.current.Series(d, labels...)
	v.Value += float64(n)
	m.current.series[d][strings.Join(labels, ",")] = v
}

// Set sets a gauge. NaN and infinity count as 0.
func (m *Metrics) Set(d *Definition, v float64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current.set(d, v, labels...)
}

func (s *Snapshot) set(d *Definition, v float64, labels ...string) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	s.series[d][strings.Join(labels, ",")] = Series{Value: v}
}

// Observe adds a duration to a histogram, in milliseconds if its name ends with "_ms", else in seconds.
func (m *Metrics) Observe(d *Definition, took time.Duration, labels ...string) {
	unit := time.Second
	if strings.HasSuffix(d.Name, "_ms") {
		unit = time.Millisecond
	}
	v := max(float64(took)/float64(unit), 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.current.Series(d, labels...)
	h.Count++
	// Rounding hides the floating-point errors of the sum.
	h.Value = math.Round((h.Value+v)*1e6) / 1e6
	if i, _ := slices.BinarySearch(d.Bounds, v); i < len(h.Buckets) { // the first bound that is ≥ v
		h.Buckets[i]++
	}
	m.current.series[d][strings.Join(labels, ",")] = h
}

// Snapshot returns a copy of all metrics.
func (m *Metrics) Snapshot() Snapshot {
	m.mu.Lock()
	s, readGauges := m.current, m.readGauges
	s.series = make(map[*Definition]map[string]Series, len(Table))
	for d, byLabels := range m.current.series {
		s.series[d] = make(map[string]Series, len(byLabels))
		for labels, v := range byLabels {
			v.Buckets = slices.Clone(v.Buckets)
			s.series[d][labels] = v
		}
	}
	m.mu.Unlock()
	if readGauges != nil {
		readGauges(s.set) // without m.mu, because readGauges may take other locks
	}
	return s
}

// All returns a metric's values by the labels joined by commas.
func (s Snapshot) All(d *Definition) map[string]Series { return s.series[d] }

// Value returns the value of a counter or gauge with these labels, 0 if there is none.
func (s Snapshot) Value(d *Definition, labels ...string) float64 { return s.Series(d, labels...).Value }

// Series returns a metric's values with these labels, which are zero if there are none.
func (s Snapshot) Series(d *Definition, labels ...string) Series {
	v, ok := s.series[d][strings.Join(labels, ",")]
	if !ok {
		v.Buckets = make([]uint64, len(d.Bounds))
	}
	return v
}

// Kind is the Prometheus type of a metric.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Prefix begins every name in Prometheus text, because all programs share one namespace there. NDJSON omits it.
const Prefix = "anivault_"

// Definition describes one metric.
type Definition struct {
	Name        string
	Kind        Kind
	Label       string    // the label's name; "" for none, several with commas
	Help        string    // one sentence
	Bounds      []float64 // a histogram's upper bucket bounds, in its unit
	gatewayOnly bool      // only a gateway has it
}

// Table has every metric in the order in which they are written.
var Table []*Definition

func define(name string, kind Kind, label, help string, bounds ...float64) *Definition {
	d := &Definition{name, kind, label, help, bounds, false}
	Table = append(Table, d)
	return d
}

func defineGateway(name string, kind Kind, label, help string, bounds ...float64) *Definition {
	d := define(name, kind, label, help, bounds...)
	d.gatewayOnly = true
	return d
}

// The metrics of every run. Label values come only from the configuration and from fixed lists in the code.
var (
	Requests = define("requests_total", Counter, "code",
		"Answers from TMDB by HTTP status, or by what went wrong where none came.")
	CacheHits = define("cache_hits_total", Counter, "",
		"Questions that the cache answered; files whose decision is remembered ask none.")
	CacheMisses = define("cache_miss_total", Counter, "", "Questions that the cache could not answer.")
	Orphans     = define("quota_orphans_total", Counter, "",
		"Requests of the budget that were reserved and forgotten, and are free again.")
	Rate = define("rate_current", Gauge, "",
		"Requests per second that the limiter allows now; 0 until the run wants to send something.")
	Concurrency = define("concurrency_current", Gauge, "",
		"Requests that the limiter allows at the same time now; 0 until the run wants to send something.")
	ErrRate          = define("err_rate_30s", Gauge, "", "Share of failed requests in the limiter's window, 0 to 1.")
	CacheWriteErrors = define("cache_write_errors_total", Counter, "",
		"Answers that the cache could not write to the disk.")
	Latency = define("latency_ms", Histogram, "",
		"Time from letting a request go to its whole answer, in milliseconds.",
		5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 15000)
	Sleep = define("sleep_ms", Histogram, "",
		"Time that requests waited for the limiter's permission, in milliseconds.",
		1, 10, 50, 100, 500, 1000, 2000, 5000, 15000, 60000, 300000)
)

// The metrics that only a gateway has.
var (
	GatewayRequests = defineGateway("gateway_requests_total", Counter, "client,status,cache",
		"Requests of the gateway's clients, and where their answers were from.")
	GatewayRefused = defineGateway("gateway_refused_total", Counter, "client,reason",
		"Requests that the gateway refused, by client (- where it is not known) and the reason in the answer.")
	GatewayConnections = defineGateway("gateway_connections", Gauge, "listener",
		"Open connections to the gateway's addresses (gateway) and to the page (admin).")
	GatewayConnectionsRefused = defineGateway("gateway_connections_refused_total", Counter, "listener,why",
		"Connections closed at once, because there were too many in all (total) or from one address (peer).")
	GatewayTimeouts = defineGateway("gateway_timeouts_total", Counter, "kind",
		"Requests without permission in time (acquire), or without TMDB's answer (request).")
	GatewayQueue = defineGateway("gateway_queue_length", Gauge, "class", "Questions that wait for their turn.")
	GatewayWait  = defineGateway("gateway_wait_seconds", Histogram, "class",
		"Time that questions waited until they were let go.",
		.001, .01, .05, .1, .5, 1, 2, 5, 15, 30, 60, 300)
	GatewayDuration = defineGateway("gateway_request_seconds", Histogram, "cache",
		"Time from a client's request to its answer.",
		.0005, .001, .005, .01, .05, .1, .5, 1, 5, 15, 30, 60)
	AccountRunning = defineGateway("account_running", Gauge, "account",
		"Requests under way through an account, all processes together.")
	AccountLimit = defineGateway("account_limit", Gauge, "account", "How many there may be.")
	AccountRate  = defineGateway("account_rate", Gauge, "account",
		"Requests a second that an account may send now; 0: no rate of its own.")
	AccountRequests = defineGateway("account_requests_total", Counter, "account,code",
		"Answers from TMDB through an account, by HTTP status, or by what went wrong where none came.")
	AccountChosen = defineGateway("account_chosen_total", Counter, "account,why",
		"Requests that went through an account: "+
			"by priority, because those before it were full (spill), or to keep it (sticky).")
	KeyRunning = defineGateway("key_running", Gauge, "account,key",
		"Requests under way with a key, by its number in the configuration.")
	QuotaUsed = defineGateway("quota_used", Gauge, "account",
		"Requests of the budget that TMDB has answered in this period.")
	QuotaReserved = defineGateway("quota_reserved", Gauge, "account", "Requests of the budget that are set aside.")
	QuotaLimit    = defineGateway("quota_limit", Gauge, "account", "Requests that the budget allows in a period.")
	LimiterState  = defineGateway("limiter_state", Gauge, "state", "1 for the limiter's state, 0 for the others.")
	LearnedRate   = defineGateway("limiter_learned_rate", Gauge, "",
		"Requests a second that 429s have taught, where that is below rate_base; 0: nothing is learned.")
	BuildInfo     = defineGateway("build_info", Gauge, "version,commit,go", "1, with the build in the labels.")
	OpenFDs       = defineGateway("process_open_fds", Gauge, "", "Open file descriptors.")
	MaxFDs        = defineGateway("process_max_fds", Gauge, "", "How many there may be.")
	Memory        = defineGateway("process_resident_memory_bytes", Gauge, "", "Memory in use.")
	Started       = defineGateway("process_start_time_seconds", Gauge, "", "When the process began, Unix time.")
	CoordinatorUp = defineGateway("coordinator_up", Gauge, "",
		"1 while the shared state can be reached, 0 while this process is on its own.")
)

// HeadFields are the fields that begin an NDJSON snapshot, in order.
var HeadFields = []Definition{
	{Name: "ts", Help: "When, UTC, RFC 3339."},
	{Name: "pid", Help: "The process whose numbers these are."},
	{Name: "final", Help: "Whether it is the run's last snapshot."},
}
