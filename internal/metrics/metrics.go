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
	label := strings.Join(labels, ",")
	h, ok := m.now.distributions[d][label]
	if !ok {
		h = Distribution{Bounds: d.Bounds, Buckets: make([]uint64, len(d.Bounds))}
	}
	h.Count++
	// nanoseconds: what lies below is noise of the adding
	h.Sum = math.Round((h.Sum+v)*1e6) / 1e6
	if i, _ := slices.BinarySearch(h.Bounds, v); i < len(h.Buckets) { // the first bound that is ≥ v
		h.Buckets[i]++
	}
	m.now.distributions[d][label] = h
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
