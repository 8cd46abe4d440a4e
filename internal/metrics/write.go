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
		put(headFields[i].Name, v)
	}
	for _, d := range s.definitions() {
		var v any = s.values[d]
		switch {
		case d.Kind == Histogram && d.Label == "":
			v = s.Distribution(d).toJSON()
		case d.Kind == Histogram:
			byLabel := map[string]jsonHistogram{}
			for label, h := range s.distributions[d] {
				byLabel[label] = h.toJSON()
			}
			v = byLabel
		case d.Label == "":
			v = s.Value(d)
		}
		put(d.Name, v)
	}
	return append(b, "}\n"...)
}

func (s *Snapshot) definitions() []*Definition {
	return slices.DeleteFunc(Table(), func(d *Definition) bool { return d.gatewayOnly && !s.gateway })
}

// Prometheus writes the snapshot in the text exposition format 0.0.4; every name begins with Prefix.
func Prometheus(w io.Writer, s Snapshot) error {
	var b bytes.Buffer
	for _, d := range s.definitions() {
		name := Prefix + d.Name
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscaper.Replace(d.Help), name, d.Kind)
		switch {
		case d.Kind == Histogram && d.Label == "":
			s.Distribution(d).writePrometheus(&b, name, "")
		case d.Kind == Histogram:
			for _, label := range slices.Sorted(maps.Keys(s.distributions[d])) {
				s.distributions[d][label].writePrometheus(&b, name, d.labels(label))
			}
		case d.Label == "":
			fmt.Fprintf(&b, "%s %s\n", name, formatNumber(s.Value(d)))
		default:
			for _, label := range slices.Sorted(maps.Keys(s.values[d])) {
				fmt.Fprintf(&b, "%s{%s} %s\n", name, d.labels(label), formatNumber(s.values[d][label]))
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (d *Definition) labels(values string) string {
	names := strings.Split(d.Label, ",")
	out := make([]string, len(names))
	for i, v := range strings.SplitN(values, ",", len(names)) {
		out[i] = names[i] + `="` + labelEscaper.Replace(v) + `"`
	}
	return strings.Join(out, ",")
}

func (d Distribution) writePrometheus(b *bytes.Buffer, name, labels string) {
	more, all := "", ""
	if labels != "" {
		more, all = labels+",", "{"+labels+"}"
	}
	d.eachCumulativeBucket(func(le float64, n uint64) {
		fmt.Fprintf(b, "%s_bucket{%sle=\"%s\"} %d\n", name, more, formatNumber(le), n)
	})
	fmt.Fprintf(b, "%s_bucket{%sle=\"+Inf\"} %d\n", name, more, d.Count)
	fmt.Fprintf(b, "%s_sum%s %s\n%s_count%s %d\n", name, all, formatNumber(d.Sum), name, all, d.Count)
}

func (d Distribution) toJSON() jsonHistogram {
	out := jsonHistogram{Count: d.Count, Sum: d.Sum}
	d.eachCumulativeBucket(func(le float64, n uint64) { out.Buckets = append(out.Buckets, jsonBucket{le, n}) })
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

func (d Distribution) eachCumulativeBucket(f func(le float64, n uint64)) {
	n := uint64(0)
	for i, le := range d.Bounds {
		n += d.Buckets[i]
		f(le, n)
	}
}

const snapshotInterval = 10 * time.Second

// Report writes a snapshot to the sinks every ten seconds, and the last one at the end of ctx. A sink's error never
// ends a run: onError gets the first error of each sink, and the sink is tried again with the next snapshot.
func Report(ctx context.Context, m *Metrics, sinks []Sink, onError func(error)) {
	tick := time.NewTicker(snapshotInterval)
	defer tick.Stop()
	failed := make([]bool, len(sinks))
	for final := false; !final; {
		var at time.Time
		select {
		case at = <-tick.C:
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
