package logging

// This file decides what a log line looks like: the head, the limiter's fixed keys where the limiter speaks, then
// whatever else was said, in the order in which it was said. One line is one write.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Format is the form of log lines.
type Format string

// The formats of --log-format.
const (
	Logfmt Format = "logfmt"
	JSON   Format = "json"
)

// ParseFormat reads a format's name. The error names the value and what is allowed.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Logfmt, JSON:
		return f, nil
	}
	return "", fmt.Errorf("log format %q: allowed are %s, %s", s, Logfmt, JSON)
}

// levels is the table of --log-level's names.
var levels = []struct {
	name  string
	level slog.Level
}{{"debug", slog.LevelDebug}, {"info", slog.LevelInfo}, {"warn", slog.LevelWarn}, {"error", slog.LevelError}}

// Levels returns the names of all levels, the most talkative first.
func Levels() []string {
	var names []string
	for _, l := range levels {
		names = append(names, l.name)
	}
	return names
}

// ParseLevel reads a level's name, in any case. The error names the value and what is allowed.
func ParseLevel(s string) (slog.Level, error) {
	for _, l := range levels {
		if strings.EqualFold(s, l.name) {
			return l.level, nil
		}
	}
	return 0, fmt.Errorf("log level %q: allowed are %s", s, strings.Join(Levels(), ", "))
}

// Options shape a Handler. The zero value is logfmt from Info up, without known secrets.
type Options struct {
	Level    slog.Leveler // nil: Info
	Format   Format       // "": Logfmt
	Redactor *Redactor    // nil: only what looks like a secret is hidden
}

// maxLine bounds a line in bytes; a value that does not fit is cut. It keeps one log call from filling a log file.
const maxLine = 16 << 10

// Handler is a slog.Handler. The message is the line's event. The attribute comp names the component, best set once with
// With; that of Ratelimiter always writes all of LimiterKeys.
type Handler struct {
	out   *output
	opts  Options
	attrs []slog.Attr // of With, resolved, keys with their groups
	group string      // prefix of keys, with its dot
}

// output is shared by all handlers made from one by With.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

// NewHandler returns a handler that writes to w, one line per write.
func NewHandler(w io.Writer, opts Options) *Handler {
	if opts.Level == nil {
		opts.Level = slog.LevelInfo
	}
	if opts.Format == "" {
		opts.Format = Logfmt
	}
	if opts.Redactor == nil {
		opts.Redactor = NewRedactor()
	}
	return &Handler{out: &output{w: w}, opts: opts}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.opts.Level.Level() }

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		c.attrs = flatten(c.attrs, h.group, a)
	}
	return &c
}

// WithGroup implements slog.Handler: keys get the group's name and a dot in front.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.group += name + "."
	return &c
}

// Handle implements slog.Handler. It returns the writer's error.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = flatten(attrs, h.group, a)
		return true
	})
	line := h.line(r, attrs)
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := h.out.w.Write(line)
	return err
}

// flatten appends a, groups opened, values resolved.
func flatten(to []slog.Attr, prefix string, a slog.Attr) []slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			to = flatten(to, prefix, inner)
		}
		return to
	}
	if a.Equal(slog.Attr{}) {
		return to
	}
	return append(to, slog.Attr{Key: prefix + a.Key, Value: v})
}

// line renders one line, newline included.
func (h *Handler) line(r slog.Record, attrs []slog.Attr) []byte {
	l := lineWriter{h: h}
	if h.opts.Format == JSON {
		l.b.WriteByte('{')
	}
	comp := take(&attrs, "comp")
	name := "anivault"
	if comp != nil {
		name = text(*comp)
	}
	l.put("ts", stamp(r.Time), nil)
	l.put("lvl", r.Level.String(), nil)
	l.put("comp", h.opts.Redactor.String(name), nil)
	event := slog.StringValue(r.Message)
	if name == Ratelimiter {
		for _, k := range limiterKeys {
			v := take(&attrs, k.Name)
			if k.Name == "event" && r.Message != "" {
				v = &event
			}
			l.fixed(k, v)
		}
	} else {
		l.value("event", event)
	}
	for _, a := range attrs {
		l.value(a.Key, a.Value)
	}
	if h.opts.Format == JSON {
		l.b.WriteByte('}')
	}
	l.b.WriteByte('\n')
	return l.b.Bytes()
}

// take removes the last attribute of that key and returns its value: what was said last counts.
func take(attrs *[]slog.Attr, key string) *slog.Value {
	var found *slog.Value
	*attrs = slices.DeleteFunc(*attrs, func(a slog.Attr) bool {
		if a.Key != key {
			return false
		}
		v := a.Value
		found = &v
		return true
	})
	return found
}

// lineWriter collects the pairs of one line.
type lineWriter struct {
	h *Handler
	b bytes.Buffer
}

// fixed writes one of the limiter's keys; v is nil where it does not apply.
func (l *lineWriter) fixed(k Key, v *slog.Value) {
	if v == nil {
		if l.h.opts.Format == JSON {
			l.json(k.Name, nil)
		} else {
			l.pair(k.Name, none)
		}
		return
	}
	l.put(k.Name, l.h.opts.Redactor.String(k.text(*v)), k.json(*v))
}

func (l *lineWriter) value(key string, v slog.Value) {
	l.put(key, l.h.opts.Redactor.String(text(v)), value(v))
}

// put writes one pair: as text in logfmt; in JSON as asJSON, unless that is text or nothing.
func (l *lineWriter) put(key, asText string, asJSON any) {
	asText = l.fit(asText)
	if l.h.opts.Format != JSON {
		l.pair(key, quote(asText))
		return
	}
	if _, isText := asJSON.(string); isText || asJSON == nil {
		asJSON = asText
	}
	l.json(key, asJSON)
}

// fit cuts what would make the line too long.
func (l *lineWriter) fit(s string) string {
	const mark = "...(cut)"
	if room := max(maxLine-l.b.Len(), 64); len(s) > room {
		return strings.ToValidUTF8(s[:room-len(mark)], "") + mark
	}
	return s
}

func (l *lineWriter) pair(key, quoted string) {
	if l.b.Len() > 0 {
		l.b.WriteByte(' ')
	}
	l.b.WriteString(cleanKey(key))
	l.b.WriteByte('=')
	l.b.WriteString(quoted)
}

func (l *lineWriter) json(key string, v any) {
	if l.b.Len() > 1 {
		l.b.WriteByte(',')
	}
	l.b.WriteString(`"` + cleanKey(key) + `":`)
	enc := json.NewEncoder(&l.b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // value gives only what JSON can hold
		l.b.WriteString("null\n")
	}
	l.b.Truncate(l.b.Len() - 1)
}
