package report

// This file writes records as JSON: one object per line, or one document that is streamed as it grows.

import (
	"bytes"
	"io"
)

// ndjsonWriter writes one object per line, every write of whole lines, so that a reader never sees half a record.
type ndjsonWriter struct {
	out     *sink
	explain bool
	buf     bytes.Buffer
}

func (w *ndjsonWriter) Match(r Record) error {
	w.buf.Reset()
	if err := encodeRecord(&w.buf, r, w.explain); err != nil {
		return err
	}
	return w.out.write(w.buf.Bytes())
}

func (w *ndjsonWriter) Flush() error { return w.out.flush() }

func (w *ndjsonWriter) Close(s Summary) error {
	if err := w.line(wireSummary{"summary", s}); err != nil {
		return err
	}
	return w.out.flush()
}

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
	out := &sink{w: w}
	if err := (&ndjsonWriter{out: out}).line(v); err != nil {
		return err
	}
	return out.flush()
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
	if err := encodeRecord(&w.buf, r, w.explain); err != nil {
		return err
	}
	w.buf.Truncate(w.buf.Len() - 1) // the newline belongs to what follows
	return w.out.write(w.buf.Bytes())
}

func (w *jsonWriter) Flush() error { return w.out.flush() }

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
	return w.out.last(w.buf.Bytes())
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

// encodeRecord appends a record as one line, with or without its explanation.
func encodeRecord(b *bytes.Buffer, r Record, explain bool) error {
	if !explain {
		r = r.brief()
	}
	if line, ok := appendRecord(b.AvailableBuffer(), &r); ok {
		b.Write(append(line, '\n'))
		return nil
	}
	return encode(b, r.wire())
}
