package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
)

// Sink writes a snapshot; final is true for the last one of a run.
type Sink func(s Snapshot, at time.Time, final bool) error

// NDJSON returns a sink that writes each snapshot as one JSON object with a single write: HeadFields, then every metric
// by name. A histogram is an object with count, sum and buckets. As in Prometheus, a bucket counts all values up to its
// bound le.
func NDJSON(w io.Writer, pid int) Sink {
	return func(s Snapshot, at time.Time, final bool) error {
		_, err := w.Write(appendJSON(nil, &s, at, pid, final))
		return err
	}
}

// Textfile returns a sink that atomically replaces the file at path with Prometheus text for node exporter's textfile
// collector. All users may read the file, because the collector runs as another user.
func Textfile(path string) Sink {
	return func(s Snapshot, _ time.Time, _ bool) error {
		return atomicfile.Write(path, 0o644, func(w io.Writer) error { return Prometheus(w, s) })
	}
}

type jsonHistogram struct {
	Count   uint64       `json:"count"`
	Sum     float64      `json:"sum"`
	Buckets []jsonBucket `json:"buckets"`
}

type jsonBucket struct {
	LE    float64 `json:"le"`
	Count uint64  `json:"count"`
}

func appendJSON(b []byte, s *Snapshot, at time.Time, pid int, final bool) []byte {
	b = append(b, '{')
	put := func(name string, v any) {
		text, _ := json.Marshal(v) // all numbers are finite
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, `"`+name+`":`...), text...)
	}
	for i, v := range []any{at.UTC().Format("2006-01-02T15:04:05.000Z07:00"), pid, final} {
		put(HeadFields[i].Name, v)
	}
	for _, d := range s.definitions() {
		byLabels := map[string]any{}
		for labels, v := range s.series[d] {
			byLabels[labels] = v.toJSON(d)
		}
		if d.Label == "" {
			put(d.Name, byLabels[""])
		} else {
			put(d.Name, byLabels)
		}
	}
	return append(b, "}\n"...)
}

func (s *Snapshot) definitions() []*Definition {
	return slices.DeleteFunc(slices.Clone(Table), func(d *Definition) bool { return d.Gateway && !s.gateway })
}

// Prometheus writes the snapshot in the text exposition format 0.0.4; every name begins with Prefix.
func Prometheus(w io.Writer, s Snapshot) error {
	var b bytes.Buffer
	for _, d := range s.definitions() {
		name := Prefix + d.Name
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscaper.Replace(d.Help), name, d.Kind)
		for _, values := range slices.Sorted(maps.Keys(s.series[d])) {
			s.series[d][values].writePrometheus(&b, d, values)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// labels returns the labels with their values, and more, in braces; "" if there are none.
func (d *Definition) labels(values string, more ...string) string {
	var pairs []string
	if d.Label != "" {
		names := strings.Split(d.Label, ",")
		for i, v := range strings.SplitN(values, ",", len(names)) {
			pairs = append(pairs, names[i]+`="`+labelEscaper.Replace(v)+`"`)
		}
	}
	if pairs = append(pairs, more...); len(pairs) == 0 {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func (v Series) writePrometheus(b *bytes.Buffer, d *Definition, values string) {
	name, labels := Prefix+d.Name, d.labels(values)
	if d.Kind != Histogram {
		fmt.Fprintf(b, "%s%s %s\n", name, labels, formatNumber(v.Value))
		return
	}
	for i, n := range v.cumulativeBuckets() {
		fmt.Fprintf(b, "%s_bucket%s %d\n", name, d.labels(values, `le="`+formatNumber(d.Bounds[i])+`"`), n)
	}
	fmt.Fprintf(b, "%s_bucket%s %d\n", name, d.labels(values, `le="+Inf"`), v.Count)
	fmt.Fprintf(b, "%s_sum%s %s\n%s_count%s %d\n", name, labels, formatNumber(v.Value), name, labels, v.Count)
}

func (v Series) toJSON(d *Definition) any {
	if d.Kind != Histogram {
		return v.Value
	}
	out := jsonHistogram{Count: v.Count, Sum: v.Value}
	for i, n := range v.cumulativeBuckets() {
		out.Buckets = append(out.Buckets, jsonBucket{d.Bounds[i], n})
	}
	return out
}

var (
	helpEscaper  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func formatNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func (v Series) cumulativeBuckets() []uint64 {
	sums := slices.Clone(v.Buckets)
	for i := 1; i < len(sums); i++ {
		sums[i] += sums[i-1]
	}
	return sums
}

const snapshotInterval = 10 * time.Second

// Report writes a snapshot to the sinks every ten seconds, and the last one at the end of ctx. A sink's error never
// ends a run: onError gets the first error of each sink, and the sink is tried again with the next snapshot.
func Report(ctx context.Context, m *Metrics, sinks []Sink, onError func(error)) {
	tick := time.Tick(snapshotInterval)
	failed := make([]bool, len(sinks))
	for final := false; !final; {
		var at time.Time
		select {
		case at = <-tick:
		case <-ctx.Done():
			at, final = time.Now(), true
		}
		s := m.Snapshot()
		for i, sink := range sinks {
			if err := sink(s, at, final); err != nil && !failed[i] {
				failed[i] = true
				onError(err)
			}
		}
	}
}
