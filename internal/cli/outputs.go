package cli

import (
	"reflect"
	"slices"

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
		{"match: one object per file", report.FieldsOf(reflect.TypeFor[report.Record](), reflect.TypeFor[report.Parsed]())},
		{"match: the summary", report.FieldsOf(reflect.TypeFor[report.Summary]())},
		{"match --format csv: the columns", report.CSVFields()},
		{"parse", report.FieldsOf(reflect.TypeFor[report.ParseRecord]())},
	}
	for _, j := range jsonOutputs {
		out = append(out, output{j.name, report.FieldsOf(reflect.TypeOf(j.value), reflect.TypeFor[wireCache]())})
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
