// Package logging writes anivault's log through log/slog: logfmt or JSON with keys in a fixed order, without secrets, to
// streams and to files that several processes share.
package logging

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// Format is the form of log lines.
type Format string

// The formats of --log-format.
const (
	Logfmt Format = "logfmt"
	JSON   Format = "json"
)

// Options shape a Handler. The zero value is logfmt from Info up, without known secrets.
type Options struct {
	Level    slog.Leveler // nil: Info
	Format   Format       // "": Logfmt
	Redactor *Redactor    // nil: only what looks like a secret is hidden
}

// Handler is a slog.Handler: slog's own one of the format, with a line's parts in a fixed order. The message is the line's
// event; the attribute comp names the component, and that of Ratelimiter always writes all of LimiterKeys.
type Handler struct {
	next     slog.Handler
	json     bool
	redactor *Redactor
	attrs    []slog.Attr // of WithAttrs, flat
	group    string      // prefix of keys, with its dot
}

// NewHandler returns a handler that writes to w, one line per write.
func NewHandler(w io.Writer, opts Options) *Handler {
	h := &Handler{json: opts.Format == JSON, redactor: opts.Redactor}
	if h.redactor == nil {
		h.redactor = NewRedactor()
	}
	o := slog.HandlerOptions{Level: opts.Level, ReplaceAttr: head}
	h.next = slog.NewTextHandler(w, &o)
	if h.json {
		h.next = slog.NewJSONHandler(w, &o)
	}
	return h
}

// head names what slog puts in front. The message is written behind comp, as event.
func head(_ []string, a slog.Attr) slog.Attr {
	switch {
	case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
		return slog.String("ts", stamp(a.Value.Time()))
	case a.Key == slog.LevelKey:
		return slog.String("lvl", a.Value.String())
	case a.Key == slog.MessageKey:
		return slog.Attr{}
	}
	return a
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

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
	c := *h
	if name != "" {
		c.group += name + "."
	}
	return &c
}

// flatten appends a, with groups opened and values resolved.
func flatten(to []slog.Attr, prefix string, a slog.Attr) []slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		return append(to, slog.Attr{Key: prefix + a.Key, Value: v})
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, inner := range v.Group() {
		to = flatten(to, prefix, inner)
	}
	return to
}

// Handle implements slog.Handler. It returns the writer's error.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = flatten(attrs, h.group, a)
		return true
	})
	comp, event := slog.StringValue("anivault"), slog.StringValue(r.Message)
	if v := take(&attrs, "comp"); v != nil {
		comp = *v
	}
	out := slog.NewRecord(r.Time, r.Level, "", 0)
	out.AddAttrs(slog.Attr{Key: "comp", Value: h.value(comp)})
	if comp.String() != Ratelimiter {
		out.AddAttrs(slog.Attr{Key: "event", Value: h.value(event)})
	} else {
		for _, k := range limiterKeys {
			v := take(&attrs, k.Name)
			if k.Name == "event" && r.Message != "" {
				v = &event
			}
			out.AddAttrs(slog.Attr{Key: k.Name, Value: h.fixed(k, v)})
		}
	}
	for _, a := range attrs {
		out.AddAttrs(slog.Attr{Key: a.Key, Value: h.fixed(otherKey(a.Key), &a.Value)})
	}
	return h.next.Handle(ctx, out)
}

// take removes the attributes of that key and returns the last one's value, nil if there is none.
func take(attrs *[]slog.Attr, key string) *slog.Value {
	var found *slog.Value
	*attrs = slices.DeleteFunc(*attrs, func(a slog.Attr) bool {
		if a.Key == key {
			found = &a.Value
		}
		return a.Key == key
	})
	return found
}

// otherKey is the key of that name; one without a form where it is none of otherKeys.
func otherKey(name string) Key {
	for _, k := range otherKeys {
		if k.Name == name {
			return k
		}
	}
	return Key{}
}

// fixed returns the value of a key as its form has it; v is nil where it does not apply.
func (h *Handler) fixed(k Key, v *slog.Value) slog.Value {
	switch {
	case v == nil && h.json:
		return slog.AnyValue(nil)
	case v == nil:
		return slog.StringValue(none)
	case k.form != nil:
		if text, number, ok := k.form(*v); ok && h.json {
			return slog.Float64Value(number)
		} else if ok {
			return slog.StringValue(text)
		}
	}
	return h.value(*v)
}

// value returns v as it may be written: numbers and booleans as they are, all else as text without secrets. Durations
// are rounded to a readable size.
func (h *Handler) value(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64:
		return v
	case slog.KindFloat64:
		if finite(v.Float64()) {
			return v
		}
	case slog.KindDuration:
		return slog.StringValue(short(v.Duration()).String())
	case slog.KindTime:
		return slog.StringValue(stamp(v.Time()))
	default:
	}
	text := cut(h.redactor.String(v.String()))
	return slog.StringValue(strings.ReplaceAll(text, "\x7f", "\ufffd")) // the one control character that slog does not escape
}

// maxText bounds a text in bytes, so that one log call does not fill a log file.
const maxText = 4 << 10

func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "...(cut)"
}
