package cli

import (
	"reflect"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/logging"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/version"
)

// output is what a script may read of one kind of output: its fields, in their order.
type output struct {
	Name   string
	Fields []report.Field
}

// outputs is the table of all that is written to be read by programs. Help, man page and reference are made from it.
func outputs() []output {
	out := []output{
		{"match: one object per file", report.MatchFields()},
		{"match: the summary", report.SummaryFields()},
		{"match --format csv: the columns", report.CSVFields()},
		{"parse", report.ParseFields()},
	}
	for _, j := range jsonOutputs {
		out = append(out, output{j.name, fieldsOf(reflect.TypeOf(j.value), "")})
	}
	return append(out, output{"log lines", logFields()}, output{"--metrics-file: one object per snapshot", metricFields()})
}

// jsonOutputs are the commands that print JSON from a struct of their own. Its tags say what each field means.
var jsonOutputs = []struct {
	name  string
	value any
}{
	{"status --format json (and limiter show)", wireStatus{}},
	{"cache stats --format json", wireCache{}},
	{"cache list --format ndjson", wireEntry{}},
	{"pins --format json", wirePins{}},
	{"index lookup --format json", wireCandidate{}},
	{"index stats --format json", wireIndex{}},
	{"config show --format json", wireSetting{}},
	{"limiter rules --format json", wireRule{}},
	{"version --format json", version.Info{}},
}

// fieldsOf reads the fields of a struct from its tags: those of a struct within as a.b, of a list's elements as a[].b.
func fieldsOf(t reflect.Type, prefix string) []report.Field {
	var out []report.Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = prefix + name
		out = append(out, report.Field{Name: name, Doc: f.Tag.Get("doc")})
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice {
			inner, name = inner.Elem(), name+"[]"
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() != "time" && inner != reflect.TypeFor[wireCache]() {
			out = append(out, fieldsOf(inner, name+".")...)
		}
	}
	return out
}

// logFields are the keys of log lines: the head of every line, the limiter's, and what else some lines have.
func logFields() []report.Field {
	var out []report.Field
	for _, k := range slices.Concat(logging.HeadKeys(), logging.LimiterKeys(), logging.OtherKeys()) {
		out = append(out, report.Field{Name: k.Name, Doc: k.Doc})
	}
	return out
}

// metricFields are the fields of a snapshot of the metrics. Prometheus' text has the same names with a prefix.
func metricFields() []report.Field {
	var out []report.Field
	for _, f := range metrics.HeadFields() {
		out = append(out, report.Field{Name: f.Name, Doc: f.Help})
	}
	for _, d := range metrics.Table() {
		text := string(d.Kind) + ": " + d.Help
		if d.Label != "" {
			text += " By " + d.Label + "."
		}
		out = append(out, report.Field{Name: d.Name, Doc: text})
	}
	return out
}
