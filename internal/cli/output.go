package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/notify"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/schema"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/ui"
)

type rows []row

type row struct {
	label string
	text  lang.Text
}

func (r *rows) add(label, format string, args ...any) {
	*r = append(*r, row{label, lang.Textf(format, args...)})
}

func (r rows) write(out io.Writer, width int) error {
	labels := 0
	for _, row := range r {
		labels = max(labels, ui.Width(lang.Say(row.label)))
	}
	var b strings.Builder
	for _, row := range r {
		writeHanging(&b, 2, lang.Say(row.label), labels+2, row.text, width)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// writeHanging writes head and, from column at on, the translated text, wrapped to width (0: not wrapped). If head ends
// less than gap cells before that column, the text begins on the next line.
func writeHanging[T ~string](out io.Writer, gap int, head string, at int, text T, width int) {
	if width > 0 {
		width = max(width-at, 20)
	}
	if ui.Width(head)+gap > at {
		fmt.Fprintln(out, head)
		head = ""
	}
	for _, line := range ui.Wrap(lang.Say(text), width) {
		fmt.Fprintf(out, "%s%s\n", ui.Pad(head, at), line)
		head = ""
	}
}

// writeColumns writes a table, its first line a header, with columns as wide as their widest cells.
func writeColumns(out io.Writer, header []string, lines [][]string) error {
	widths := make([]int, len(header))
	lines = slices.Insert(lines, 0, mapped(header, lang.Say[string]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], ui.Width(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		text := ""
		for i, cell := range line {
			text += ui.Pad(cell, widths[i]+2)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// jsonLines writes one JSON object per line. After an error it writes no more objects; flush returns the error.
type jsonLines struct {
	out *bufio.Writer
	err error
}

func newJSONLines(out io.Writer) *jsonLines { return &jsonLines{out: bufio.NewWriter(out)} }

func (l *jsonLines) put(v any) {
	line, err := report.AppendJSON(l.out.AvailableBuffer(), v)
	if l.err = cmp.Or(l.err, err); l.err == nil {
		_, l.err = l.out.Write(append(line, '\n'))
	}
}

func (l *jsonLines) flush() error { return cmp.Or(l.err, l.out.Flush()) }

// encodeList encodes a list, and a summary unless it is nil, as NDJSON or as one document:
// {"KEY":[...],"summary":{...}}.
func encodeList[T any](format, key string, list []T, summary any) ([]byte, error) {
	var lines []string
	for i := range len(list) + 1 {
		value := summary
		if i < len(list) {
			value = &list[i]
		} else if summary == nil {
			break
		}
		line, err := report.AppendJSON(nil, value)
		if err != nil {
			return nil, err
		}
		lines = append(lines, string(line))
	}
	if format == "ndjson" {
		return []byte(strings.Join(append(lines, ""), "\n")), nil
	}
	text := `{"` + key + `":[` + strings.Join(lines[:len(list)], ",") + "]"
	if summary != nil {
		text += `,"summary":` + lines[len(list)]
	}
	return []byte(text + "}\n"), nil
}

// schemaVersion rises when a field changes its meaning or is removed. New fields don't change it.
const schemaVersion = "/1"

type jsonSchema struct {
	name     string
	commands []string // those whose JSON names this schema, such as match or limiter/show; nil: none does
	key      string   // of the list in a JSON document; "": there is none
	objects  []any
}

var jsonSchemas = []jsonSchema{
	{"match", []string{"match", "demo"}, "matches", []any{report.Record{}, report.Summary{}}},
	{"parse", []string{"parse"}, "", []any{report.ParseRecord{}}},
	{"search", []string{"search"}, "results", []any{jsonSearchResult{}}},
	{"orders", []string{"search/orders"}, "orders", []any{decide.Order{}}},
	{"missing", []string{"missing"}, "missing", []any{report.Gap{}, report.GapSummary{}}},
	{"organize", []string{"organize", "apply", "undo", "watch"}, "", []any{
		report.Op{}, report.OrganizeProgress{}, report.OrganizeSummary{},
	}},
	{"plan", nil, "", []any{report.Op{}}},
	{"history", []string{"history"}, "", []any{jsonRun{}, report.Op{}}},
	{"verify", []string{"verify"}, "", []any{report.Op{}}},
	{"status", []string{"status", "limiter/show"}, "", []any{jsonStatus{}}},
	{"doctor", []string{"doctor"}, "", []any{jsonDoctor{}}},
	{"notice", nil, "", []any{notify.Notice{}}},
	{"summary", nil, "", []any{report.Summary{}}},
}

func newSchema(f *factory) *cobra.Command {
	names := mapped(jsonSchemas, func(s jsonSchema) string { return s.name })
	cmd := command("schema")
	cmd.ValidArgs = names
	return f.setRun(cmd, nil, func(c invocation) error {
		if len(c.args) == 0 {
			_, err := fmt.Fprintln(f.streams.Out, strings.Join(names, "\n"))
			return err
		}
		i := slices.Index(names, c.args[0])
		if i < 0 {
			return usagef(allowedHint(names), "%q is not the name of a schema", c.args[0])
		}
		return f.encode(jsonSchemas[i].document(), "  ")
	})
}

func (s *jsonSchema) document() schema.Schema {
	return schema.Document(s.name+schemaVersion, s.key, mapped(s.objects, reflect.TypeOf)...)
}

// mapped is slicesx.Map.
func mapped[T, U any](list []T, of func(T) U) []U { return slicesx.Map(list, of) }

// schemaWriter adds the field "schema" to the first object of an output.
type schemaWriter struct {
	io.Writer
	field []byte // nil once it has been written
}

// nameSchema makes the JSON output of cmd name its schema.
func (f *factory) nameSchema(cmd *cobra.Command) {
	path := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), " ", "/")
	if flag := cmd.Flags().Lookup("orders"); flag != nil && flag.Changed {
		path += "/orders"
	}
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
