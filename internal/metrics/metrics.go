package metrics

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Metrics are the numbers of one process. Make it with New.
type Metrics struct {
	mu      sync.Mutex
	now     Snapshot
	gateway *Gateway // nil for a run that is none
}

// Snapshot is a copy of all metrics at one moment.
type Snapshot struct {
	Requests    map[string]uint64 // by code
	ByAccount   map[string]uint64 // by account and code
	CacheHits   uint64
	CacheMisses uint64
	Orphans     uint64 // requests of the budget
	Gauges      Gauges
	Latency     Distribution     // milliseconds
	Sleep       Distribution     // milliseconds
	Gateway     *GatewaySnapshot // nil for a run that is no gateway
}

// Gauges are the limiter's values of the moment: Rate in requests per second, Concurrency in requests, ErrRate 0 to 1.
// A value that is NaN or infinite counts as 0.
type Gauges struct {
	Rate        float64
	Concurrency float64
	ErrRate     float64
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
	m := &Metrics{}
	m.now.Requests, m.now.ByAccount = map[string]uint64{}, map[string]uint64{}
	m.now.Latency = distribution("latency_ms")
	m.now.Sleep = distribution("sleep_ms")
	return m
}

func distribution(name string) Distribution {
	b := bounds(name)
	return Distribution{Bounds: b, Buckets: make([]uint64, len(b))}
}

// Answer counts the end of one attempt through an account: its HTTP status, or 0 with the outcome's name ("network", "cancelled") where no
// answer came, and how long it took from being let go.
func (m *Metrics) Answer(account string, status int, outcome string, latency time.Duration) {
	code := outcome
	if status >= 100 && status <= 999 {
		code = strconv.Itoa(status)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Requests[code]++
	if account != "" {
		m.now.ByAccount[account+","+code]++
	}
	m.now.Latency.observe(milliseconds(latency))
}

// Slept counts one wait for the limiter's permission.
func (m *Metrics) Slept(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Sleep.observe(milliseconds(d))
}

// CacheHit counts a question that the cache answered.
func (m *Metrics) CacheHit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.CacheHits++
}

// CacheMiss counts a question that the cache could not answer.
func (m *Metrics) CacheMiss() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.CacheMisses++
}

// Orphaned counts requests of the budget that were reserved and forgotten, and are free again.
func (m *Metrics) Orphaned(requests int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Orphans += uint64(requests)
}

// SetGauges replaces the values of the moment.
func (m *Metrics) SetGauges(g Gauges) {
	for _, v := range []*float64{&g.Rate, &g.Concurrency, &g.ErrRate} {
		if math.IsNaN(*v) || math.IsInf(*v, 0) {
			*v = 0
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Gauges = g
}

// Snapshot returns a copy of everything.
func (m *Metrics) Snapshot() Snapshot {
	m.mu.Lock()
	gateway := m.gateway
	m.mu.Unlock()
	var counts *GatewaySnapshot
	if gateway != nil {
		counts = gateway.snapshot()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.now
	s.Gateway = counts
	s.Requests, s.ByAccount = maps.Clone(s.Requests), maps.Clone(s.ByAccount)
	s.Latency.Buckets = slices.Clone(s.Latency.Buckets)
	s.Sleep.Buckets = slices.Clone(s.Sleep.Buckets)
	return s
}

func milliseconds(d time.Duration) float64 { return max(float64(d)/float64(time.Millisecond), 0) }

func (d *Distribution) observe(v float64) {
	d.Count++
	d.Sum = math.Round((d.Sum+v)*1e6) / 1e6                           // nanoseconds: what lies below is noise of the adding
	if i, _ := slices.BinarySearch(d.Bounds, v); i < len(d.Buckets) { // the first bound that is ≥ v
		d.Buckets[i]++
	}
}
