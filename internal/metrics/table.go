// Package metrics counts what a run does and writes it as NDJSON and as Prometheus text (docs/reference.md).
package metrics

import "slices"

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

// Definition is one metric. Bounds are a histogram's upper bucket bounds, in its unit.
type Definition struct {
	Name   string
	Kind   Kind
	Label  string // "" for none; several with commas
	Help   string // one sentence
	Bounds []float64
	value  func(*Snapshot) any // uint64, float64, Distribution, a map of uint64 or Distribution by label; nil where it does not apply
}

var table = []Definition{
	{
		"requests_total", Counter, "code", "Answers from TMDB by HTTP status, or by what went wrong where none came.", nil,
		func(s *Snapshot) any { return s.Requests },
	},
	{
		"cache_hits_total", Counter, "", "Questions that the cache answered; files whose decision is remembered ask none.",
		nil, func(s *Snapshot) any { return s.CacheHits },
	},
	{"cache_miss_total", Counter, "", "Questions that the cache could not answer.", nil, func(s *Snapshot) any { return s.CacheMisses }},
	{"quota_orphans_total", Counter, "", "Requests of the budget that were reserved and forgotten, and are free again.", nil, func(s *Snapshot) any { return s.Orphans }},
	{"rate_current", Gauge, "", "Requests per second that the limiter allows now; 0 until the run wants to send something.", nil, func(s *Snapshot) any { return s.Gauges.Rate }},
	{
		"concurrency_current", Gauge, "",
		"Requests that the limiter allows at the same time now; 0 until the run wants to send something.", nil, func(s *Snapshot) any { return s.Gauges.Concurrency },
	},
	{
		"err_rate_30s", Gauge, "", "Share of failed requests in the limiter's window, 0 to 1.", nil,
		func(s *Snapshot) any { return s.Gauges.ErrRate },
	},
	{
		"latency_ms", Histogram, "", "Time from letting a request go to its whole answer, in milliseconds.",
		[]float64{5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 15000},
		func(s *Snapshot) any { return s.Latency },
	},
	{
		"sleep_ms", Histogram, "", "Time that requests waited for the limiter's permission, in milliseconds.",
		[]float64{1, 10, 50, 100, 500, 1000, 2000, 5000, 15000, 60000, 300000},
		func(s *Snapshot) any { return s.Sleep },
	},
}

// headFields stand before the metrics in NDJSON.
var headFields = []Definition{
	{Name: "ts", Help: "When, UTC, RFC 3339."},
	{Name: "pid", Help: "The process whose numbers these are."},
	{Name: "final", Help: "Whether it is the run's last snapshot."},
}

// HeadFields returns what an NDJSON snapshot begins with, in order.
func HeadFields() []Definition { return append([]Definition(nil), headFields...) }

// Table returns every metric in the order in which they are written.
func Table() []Definition { return slices.Concat(table, gatewayTable) }

// bounds returns the bucket bounds of a histogram of the table.
func bounds(name string) []float64 {
	for _, d := range Table() {
		if d.Name == name {
			return d.Bounds
		}
	}
	return nil
}
