package report

import "slices"

// AppendLine appends v, a pointer to a Record, Summary or ParseRecord, as one line of NDJSON.
func AppendLine(dst []byte, v any) ([]byte, error) {
	line, err := AppendJSON(dst, v)
	return append(line, '\n'), err
}

// ndjsonWriter writes one object per line. Every write is of whole lines, so a reader never sees half a record.
type ndjsonWriter struct {
	out     *sink
	explain bool
	buf     []byte
	record  Record // the one that is being written: its address costs no memory here
}

func (w *ndjsonWriter) Match(r Record) error {
	w.record = r.shown(w.explain)
	return w.line(&w.record)
}

func (w *ndjsonWriter) Flush() error { return w.out.flush() }

func (w *ndjsonWriter) Close(s Summary) error {
	if err := w.line(&s); err != nil {
		return err
	}
	return w.out.flush()
}

func (w *ndjsonWriter) line(v any) (err error) {
	if w.buf, err = AppendLine(w.buf[:0], v); err != nil {
		return err
	}
	return w.out.write(w.buf)
}

// jsonWriter writes {"matches":[...],"summary":{...}} with one record per line.
type jsonWriter struct {
	out     *sink
	explain bool
	buf     []byte
	record  Record
	begun   bool
}

func (w *jsonWriter) Match(r Record) (err error) {
	before := ",\n"
	if !w.begun {
		before = "{\"matches\":[\n"
	}
	w.record = r.shown(w.explain)
	if w.buf, err = AppendJSON(append(w.buf[:0], before...), &w.record); err != nil {
		return err
	}
	w.begun = true
	return w.out.write(w.buf)
}

func (w *jsonWriter) Flush() error { return w.out.flush() }

func (w *jsonWriter) Close(s Summary) error {
	w.buf = w.buf[:0]
	if !w.begun {
		w.buf = append(w.buf, `{"matches":[`...)
	}
	line, err := AppendJSON(append(w.buf, "\n],\n\"summary\":"...), &s)
	if err != nil {
		return err
	}
	return w.out.last(append(line, "}\n"...))
}

// shown returns a copy of the record without what only --explain shows. The receiver's lists are not changed.
func (r Record) shown(explain bool) Record {
	if explain {
		return r
	}
	r.Steps = nil
	if slices.ContainsFunc(r.Candidates, func(c Candidate) bool { return c.Score != 0 || c.Reasons != nil }) {
		r.Candidates = slices.Clone(r.Candidates)
		for i := range r.Candidates {
			r.Candidates[i].Score, r.Candidates[i].Reasons = 0, nil
		}
	}
	return r
}
