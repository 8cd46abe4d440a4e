// Package metrics counts what a run does and writes it as NDJSON and as Prometheus text (docs/reference.md).
package metrics

import (
	_ "embed" // for the table of metrics
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/wordlist"
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
	Name    string
	Kind    Kind
	Label   string    // the label's name; "" for none, several with commas
	Help    string    // one sentence
	Bounds  []float64 // a histogram's upper bucket bounds, in its unit
	Gateway bool      // only a gateway has it
}

//go:embed metrics.json
var metricsJSON []byte

// Table has every metric in the order in which they are written.
var Table = wordlist.Table[*Definition](metricsJSON)()

func metric(name string) *Definition {
	return Table[slices.IndexFunc(Table, func(d *Definition) bool { return d.Name == name })]
}

// The metrics of every run. Label values come only from the configuration and from fixed lists in the code.
var (
	Requests         = metric("requests_total")
	CacheHits        = metric("cache_hits_total")
	CacheMisses      = metric("cache_miss_total")
	QuotaOrphans     = metric("quota_orphans_total")
	Rate             = metric("rate_current")
	Concurrency      = metric("concurrency_current")
	ErrRate          = metric("err_rate_30s")
	CacheWriteErrors = metric("cache_write_errors_total")
	Latency          = metric("latency_ms")
	Sleep            = metric("sleep_ms")
)

// The metrics that only a gateway has.
var (
	GatewayRequests           = metric("gateway_requests_total")
	GatewayRefused            = metric("gateway_refused_total")
	GatewayConnections        = metric("gateway_connections")
	GatewayConnectionsRefused = metric("gateway_connections_refused_total")
	GatewayTimeouts           = metric("gateway_timeouts_total")
	GatewayQueue              = metric("gateway_queue_length")
	GatewayWait               = metric("gateway_wait_seconds")
	GatewayDuration           = metric("gateway_request_seconds")
	AccountRunning            = metric("account_running")
	AccountLimit              = metric("account_limit")
	AccountRate               = metric("account_rate")
	AccountRequests           = metric("account_requests_total")
	AccountChosen             = metric("account_chosen_total")
	KeyRunning                = metric("key_running")
	QuotaUsed                 = metric("quota_used")
	QuotaReserved             = metric("quota_reserved")
	QuotaLimit                = metric("quota_limit")
	LimiterState              = metric("limiter_state")
	LearnedRate               = metric("limiter_learned_rate")
	BuildInfo                 = metric("build_info")
	OpenFDs                   = metric("process_open_fds")
	MaxFDs                    = metric("process_max_fds")
	Memory                    = metric("process_resident_memory_bytes")
	Started                   = metric("process_start_time_seconds")
	CoordinatorUp             = metric("coordinator_up")
)

// HeadFields are the fields that begin an NDJSON snapshot, in order.
var HeadFields = []Definition{
	{Name: "ts", Help: "When, UTC, RFC 3339."},
	{Name: "pid", Help: "The process whose numbers these are."},
	{Name: "final", Help: "Whether it is the run's last snapshot."},
}
