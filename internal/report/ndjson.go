package report

// This file writes records as JSON: one object per line, or one document that is streamed as it grows.

import (
	"bytes"
	"io"
)

// ndjsonWriter writes one object per line, each with one write, so that a reader sees it at once and whole.
type ndjsonWriter struct {
	out     *sink
	explain bool
	buf     bytes.Buffer
}

func (w *ndjsonWriter) Match(r Record) error { return w.line(wireOf(r, w.explain)) }

func (w *ndjsonWriter) Close(s Summary) error { return w.line(wireSummary{"summary", s}) }

func (w *ndjsonWriter) line(v any) error {
	w.buf.Reset()
	if err := encode(&w.buf, v); err != nil {
		return err
	}
	return w.out.write(w.buf.Bytes())
}

// WriteLine writes v as one line of NDJSON with one write, <, > and & unescaped. It is how `parse` writes its
// ParseRecords. The error is the writer's, wrapped.
func WriteLine(w io.Writer, v any) error {
	return (&ndjsonWriter{out: &sink{w: w}}).line(v)
}

// jsonWriter writes {"matches":[...],"summary":{...}} with one record per line.
type jsonWriter struct {
	out     *sink
	explain bool
	buf     bytes.Buffer
	begun   bool
}

func (w *jsonWriter) Match(r Record) error {
	w.buf.Reset()
	w.begin()
	if err := encode(&w.buf, wireOf(r, w.explain)); err != nil {
		return err
	}
	w.buf.Truncate(w.buf.Len() - 1) // the newline belongs to what follows
	return w.out.write(w.buf.Bytes())
}

func (w *jsonWriter) Close(s Summary) error {
	w.buf.Reset()
	if !w.begun {
		w.buf.WriteString(`{"matches":[`)
	}
	w.buf.WriteString("\n],\n\"summary\":")
	if err := encode(&w.buf, wireSummary{"summary", s}); err != nil {
		return err
	}
	w.buf.Truncate(w.buf.Len() - 1)
	w.buf.WriteString("}\n")
	return w.out.write(w.buf.Bytes())
}

// begin starts the document before the first record and puts a comma before every other.
func (w *jsonWriter) begin() {
	if w.begun {
		w.buf.WriteString(",\n")
		return
	}
	w.buf.WriteString("{\"matches\":[\n")
	w.begun = true
}

// wireOf is what is written of a record, with or without its explanation.
func wireOf(r Record, explain bool) wireRecord {
	if !explain {
		r = r.brief()
	}
	return r.wire()
}
