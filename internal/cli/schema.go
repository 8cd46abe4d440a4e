package cli

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/notify"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/schema"
)

// schemaVersion rises when a field changes its meaning or is removed. New fields don't change it.
const schemaVersion = "/1"

type jsonSchema struct {
	name     string
	commands []string // whose JSON has this schema, as match or limiter/show; nil: other schemas contain it
	key      string   // of the list in a JSON document; "": there is none
	objects  []any
}

var jsonSchemas = []jsonSchema{
	{"match", []string{"match", "demo"}, "matches", []any{report.Record{}, report.Summary{}}},
	{"parse", []string{"parse"}, "", []any{report.ParseRecord{}}},
	{"search", []string{"search"}, "results", []any{jsonSearchResult{}}},
	{"missing", []string{"missing"}, "missing", []any{report.Gap{}, report.GapSummary{}}},
	{
		"organize",
		[]string{"organize", "apply", "undo", "watch"},
		"",
		[]any{report.Op{}, report.OrganizeProgress{}, report.OrganizeSummary{}},
	},
	{"plan", nil, "", []any{report.Op{}}},
	{"history", []string{"history"}, "", []any{jsonRun{}, report.Op{}}},
	{"verify", []string{"verify"}, "", []any{report.Op{}}},
	{"status", []string{"status", "limiter/show"}, "", []any{jsonStatus{}}},
	{"doctor", []string{"doctor"}, "", []any{jsonDoctor{}}},
	{"notice", nil, "", []any{notify.Notice{}}},
	{"summary", nil, "", []any{report.Summary{}}},
}

func newSchema(f *factory) *cobra.Command {
	var names []string
	for _, s := range jsonSchemas {
		names = append(names, s.name)
	}
	cmd := &cobra.Command{
		Use:       "schema [NAME]",
		Short:     "Print the JSON Schema of a command's output, or the names of all schemas",
		ValidArgs: names,
	}
	return f.setRun(cmd, nil, func(c invocation) error {
		if len(c.args) == 0 {
			_, err := fmt.Fprintln(f.streams.Out, strings.Join(names, "\n"))
			return err
		}
		i := slices.Index(names, c.args[0])
		if i < 0 {
			return usagef(allowedHint(names), "%q is not the name of a schema", c.args[0])
		}
		return f.printIndentedJSON(jsonSchemas[i].document())
	})
}

func (s *jsonSchema) document() schema.Schema {
	var types []reflect.Type
	for _, o := range s.objects {
		types = append(types, reflect.TypeOf(o))
	}
	return schema.Document(s.name+schemaVersion, s.key, types...)
}

// schemaWriter adds the field "schema" to the first object of an output.
type schemaWriter struct {
	io.Writer
	field []byte // nil once it has been written
}

// nameSchema makes the JSON output of cmd name its schema.
func (f *factory) nameSchema(cmd *cobra.Command) {
	path := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), " ", "/")
	for _, s := range jsonSchemas {
		if slices.Contains(s.commands, path) {
			f.streams.Out = &schemaWriter{f.streams.Out, fmt.Appendf(nil, `{"schema":%q,`, s.name+schemaVersion)}
		}
	}
}

func (w *schemaWriter) Write(b []byte) (int, error) {
	rest, isObject := bytes.CutPrefix(b, []byte("{"))
	if w.field == nil || !isObject {
		return w.Writer.Write(b)
	}
	n, err := w.Writer.Write(append(w.field, rest...))
	added := len(w.field) - 1
	w.field = nil
	return max(n-added, 0), err
}
