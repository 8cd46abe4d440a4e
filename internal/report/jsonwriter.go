package report

import (
	"io"
	"slices"
)

// AppendLine appends v, a pointer to a Record, Summary or ParseRecord, as one line of NDJSON.
func AppendLine(dst []byte, v any) ([]byte, error) {
	line, err := AppendJSON(dst, v)
	return append(line, '\n'), err
}

// jsonWriter writes records and a summary as JSON, an object a line: NDJSON, or what stands between the parts of one
// document. Every write is of whole objects, so a reader never sees half of one.
type jsonWriter struct {
	*sink
	explain                            bool
	before, between, after, above, end string // a record, two, a record again; the summary
	buf                                []byte
}

func newNDJSON(w io.Writer, explain bool) *jsonWriter {
	return &jsonWriter{sink: newSink(w, ""), explain: explain, after: "\n", end: "\n"}
}

// newJSON returns the writer of {"matches":[...],"summary":{...}}.
func newJSON(w io.Writer, explain bool) *jsonWriter {
	return &jsonWriter{
		sink: newSink(w, `{"matches":[`), explain: explain,
		before: "\n", between: ",\n", above: "\n],\n\"summary\":", end: "}\n",
	}
}

func (w *jsonWriter) Match(r Record) error {
	if !w.explain {
		r.hide()
	}
	if err := w.form(w.before, &r, w.after); err != nil {
		return err
	}
	w.before = w.between
	return w.write(w.buf)
}

func (w *jsonWriter) Close(s Summary) error {
	if err := w.form(w.above, &s, w.end); err != nil {
		return err
	}
	return w.last(w.buf)
}

func (w *jsonWriter) form(before string, v any, after string) (err error) {
	w.buf, err = AppendJSON(append(w.buf[:0], before...), v)
	w.buf = append(w.buf, after...)
	return err
}

// hide takes away what only --explain shows. Lists that others may have are not changed.
func (r *Record) hide() {
	r.Steps = nil
	if slices.ContainsFunc(r.Candidates, func(c Candidate) bool { return c.Score != 0 || c.Reasons != nil }) {
		r.Candidates = slices.Clone(r.Candidates)
		for i := range r.Candidates {
			r.Candidates[i].Score, r.Candidates[i].Reasons = 0, nil
		}
	}
}
