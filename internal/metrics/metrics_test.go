package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func filled() *Metrics {
	m := New()
	for _, a := range []struct {
		code string
		took time.Duration
	}{
		{"200", 5 * time.Millisecond},
		{"200", 5001 * time.Microsecond},
		{"429", 20 * time.Second},
		{"net\"work\\\n", time.Millisecond},
	} {
		m.Add(Requests, 1, a.code)
		m.Observe(Latency, a.took)
	}
	m.Add(CacheHits, 2)
	m.Add(CacheMisses, 1)
	m.Add(QuotaOrphans, 3)
	m.Observe(Sleep, 1500*time.Millisecond)
	m.Set(Rate, 17.5)
	m.Set(Concurrency, 2)
	m.Set(ErrRate, math.NaN())
	return m
}

// The names are those of docs/limiter.md; dashboards stand on them.
func TestNamesOfTheContract(t *testing.T) {
	want := map[string]Kind{
		"requests_total": Counter, "cache_hits_total": Counter, "cache_miss_total": Counter, "quota_orphans_total": Counter,
		"rate_current": Gauge, "concurrency_current": Gauge, "err_rate_30s": Gauge,
		"latency_ms": Histogram, "sleep_ms": Histogram,
	}
	for _, name := range strings.Fields("requests_total refused_total timeouts_total") {
		want["gateway_"+name] = Counter
	}
	for _, name := range strings.Fields("cache_write_errors_total gateway_connections_refused_total") {
		want[name] = Counter
	}
	for _, name := range strings.Fields("build_info gateway_connections limiter_learned_rate limiter_state " +
		"process_max_fds process_open_fds process_resident_memory_bytes process_start_time_seconds") {
		want[name] = Gauge
	}
	want["account_chosen_total"], want["account_requests_total"] = Counter, Counter
	want["gateway_wait_seconds"], want["gateway_request_seconds"] = Histogram, Histogram
	for _, name := range strings.Fields(
		"gateway_queue_length account_running account_limit account_rate key_running quota_used quota_reserved " +
			"quota_limit coordinator_up") {
		want[name] = Gauge
	}
	got := map[string]Kind{}
	for _, d := range Table {
		got[d.Name] = d.Kind
		if d.Help == "" || (d.Kind == Histogram) != (len(d.Bounds) > 0) {
			t.Errorf("%s is not fully defined", d.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The rules for alerts in docs/gateway.md use only metrics and labels that exist.
func TestDocumentedQueriesUseKnownMetricsAndLabels(t *testing.T) {
	text, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, d := range Table {
		labels[d.Name] = append(strings.Split(d.Label, ","), "le")
	}
	query := regexp.MustCompile(`(?:by \(([a-z_, ]+)\) \(rate\()?anivault_([a-z_]+)(?:\{([a-z_]+)[=!]~?")?`)
	found := query.FindAllStringSubmatch(string(text), -1)
	for _, hit := range found {
		known, ok := labels[hit[2]]
		for _, label := range strings.FieldsFunc(hit[1]+","+hit[3], func(r rune) bool { return r == ',' || r == ' ' }) {
			ok = ok && slices.Contains(known, label)
		}
		if !ok {
			t.Errorf("%s is not a metric with these labels", hit[0])
		}
	}
	if len(found) < 6 {
		t.Errorf("only %d queries were found", len(found))
	}
}

func TestNDJSONHasNumbersAsNumbers(t *testing.T) {
	var b bytes.Buffer
	at := time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.FixedZone("KST", 9*3600))
	if err := NDJSON(&b, 42)(filled().Snapshot(), at, true); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 1 || !strings.HasSuffix(b.String(), "}\n") {
		t.Fatalf("not one line: %q", b.String())
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	latency := got["latency_ms"].(map[string]any)
	if buckets := latency["buckets"].([]any); len(buckets) != len(Latency.Bounds) {
		t.Errorf("%d buckets", len(buckets))
	} else if diff := cmp.Diff(map[string]any{"le": 10.0, "count": 3.0}, buckets[1]); diff != "" {
		t.Error(diff)
	}
	delete(got, "latency_ms")
	delete(got["sleep_ms"].(map[string]any), "buckets")
	want := map[string]any{
		"ts": "2026-11-21T03:00:00.005Z", "pid": 42.0, "final": true,
		"requests_total":   map[string]any{"200": 2.0, "429": 1.0, "net\"work\\\n": 1.0},
		"cache_hits_total": 2.0, "cache_miss_total": 1.0, "cache_write_errors_total": 0.0, "quota_orphans_total": 3.0,
		"rate_current": 17.5, "concurrency_current": 2.0, "err_rate_30s": 0.0,
		"sleep_ms": map[string]any{"count": 1.0, "sum": 1500.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPrometheusText(t *testing.T) {
	var b bytes.Buffer
	if err := Prometheus(&b, filled().Snapshot()); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"# TYPE anivault_requests_total counter\n",
		`anivault_requests_total{code="200"} 2` + "\n",
		`anivault_requests_total{code="net\"work\\\n"} 1` + "\n",
		"anivault_cache_hits_total 2\n",
		"anivault_rate_current 17.5\n",
		"anivault_err_rate_30s 0\n",
		`anivault_latency_ms_bucket{le="5"} 2` + "\n",
		`anivault_latency_ms_bucket{le="15000"} 3` + "\n",
		`anivault_latency_ms_bucket{le="+Inf"} 4` + "\n",
		"anivault_latency_ms_sum 20011.001\nanivault_latency_ms_count 4\n",
		`anivault_sleep_ms_bucket{le="1000"} 0` + "\n" + `anivault_sleep_ms_bucket{le="2000"} 1` + "\n",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("missing %q in\n%s", line, b.String())
		}
	}
	grammar := regexp.MustCompile(`^(# (HELP|TYPE) [a-z0-9_]+ .+|[a-z0-9_]+(\{[a-z]+="([^"\\]|\\.)*"\})? [0-9.e+]+)$`)
	for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if !grammar.MatchString(line) {
			t.Errorf("not in the exposition format: %q", line)
		}
	}
}

func TestTextfileIsReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "anivault.prom")
	m := filled()
	for range 2 {
		if err := Textfile(path)(m.Snapshot(), time.Time{}, false); err != nil {
			t.Fatal(err)
		}
		m.Add(CacheHits, 1)
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), "anivault_cache_hits_total 3\n") {
		t.Errorf("%s, %v", b, err)
	}
}

func TestSnapshotIsACopy(t *testing.T) {
	m := filled()
	before := m.Snapshot()
	m.Add(Requests, 1, "200")
	m.Observe(Latency, 0)
	m.Observe(Sleep, 0)
	if before.Value(Requests, "200") != 2 || before.Series(Latency).Buckets[0] != 2 ||
		before.Series(Sleep).Buckets[0] != 0 {
		t.Errorf("a snapshot changed after it was taken: %+v", before)
	}
}

func TestConcurrentCountingLosesNothing(t *testing.T) {
	m := New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				m.Add(Requests, 1, "200")
				m.Observe(Latency, time.Millisecond)
				m.Snapshot()
			}
		})
	}
	wg.Wait()
	if s := m.Snapshot(); s.Value(Requests, "200") != 4000 || s.Series(Latency).Count != 4000 {
		t.Errorf("counted %+v", s)
	}
}

func TestReporterWritesPeriodicallyAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 25*time.Second)
		defer stop()
		start := time.Now()
		var got []string
		var told []error
		full := errors.New("disk is full")
		sinks := []Sink{
			func(Snapshot, time.Time, bool) error { return full },
			func(_ Snapshot, at time.Time, final bool) error {
				word := at.Sub(start).String()
				if final {
					word += " final"
				}
				got = append(got, word)
				return nil
			},
		}
		Report(ctx, New(), sinks, func(err error) { told = append(told, err) })
		if len(told) != 1 || !errors.Is(told[0], full) {
			t.Errorf("told %v", told)
		}
		if diff := cmp.Diff([]string{"10s", "20s", "25s final"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAGatewaysNumbersAreItsOwn(t *testing.T) {
	m := filled()
	var b bytes.Buffer
	if err := Prometheus(&b, m.Snapshot()); err != nil || strings.Contains(b.String(), "gateway") ||
		strings.Contains(b.String(), "coordinator_up") {
		t.Errorf("a run without a gateway reports one: %v\n%s", err, b.String())
	}
	m.EnableGateway(func(set Setter) {
		set(GatewayQueue, 3, "batch")
		set(CoordinatorUp, 1)
	})
	m.Add(GatewayRequests, 2, "a", "200", "fresh")
	m.Observe(GatewayDuration, 2*time.Millisecond, "fresh")
	m.Observe(GatewayDuration, 20*time.Second, "fresh")
	m.Add(GatewayRequests, 1, "b", "429", "")
	m.Add(GatewayRefused, 1, "a", "client_limit")
	m.Add(GatewayTimeouts, 1, "acquire")
	m.Observe(GatewayWait, 1500*time.Millisecond, "batch")
	b.Reset()
	if err := Prometheus(&b, m.Snapshot()); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`anivault_gateway_requests_total{client="a",status="200",cache="fresh"} 2`,
		`anivault_gateway_requests_total{client="b",status="429",cache=""} 1`,
		`anivault_gateway_refused_total{client="a",reason="client_limit"} 1`,
		`anivault_gateway_timeouts_total{kind="acquire"} 1`,
		`anivault_gateway_queue_length{class="batch"} 3`,
		`anivault_gateway_wait_seconds_bucket{class="batch",le="1"} 0`,
		`anivault_gateway_wait_seconds_bucket{class="batch",le="2"} 1`,
		`anivault_gateway_wait_seconds_sum{class="batch"} 1.5`,
		`anivault_gateway_request_seconds_count{cache="fresh"} 2`,
		`anivault_coordinator_up 1`,
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("missing %q in\n%s", line, b.String())
		}
	}
	b.Reset()
	if err := NDJSON(&b, 1)(m.Snapshot(), time.Now(), false); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Requests map[string]float64               `json:"gateway_requests_total"`
		Wait     map[string]struct{ Sum float64 } `json:"gateway_wait_seconds"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Requests["a,200,fresh"] != 2 ||
		got.Wait["batch"].Sum != 1.5 {
		t.Errorf("%+v, %v", got, err)
	}
}
