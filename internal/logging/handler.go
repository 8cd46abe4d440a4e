// Package logging writes anivault's log through log/slog: logfmt or JSON with keys in a fixed order, without secrets,
// to streams and to files that several processes share.
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

// Handler is a slog.Handler: slog's own one of the format, with a line's parts in a fixed order. The message is the
// line's event; the attribute comp names the component, and that of Ratelimiter always writes all of LimiterKeys. No
// line of this program has groups: a group's name is not written.
type Handler struct {
	next  slog.Handler
	attrs []slog.Attr
}

// NewHandler returns a handler that writes to w, one line per write.
func NewHandler(w io.Writer, opts Options) *Handler {
	f := form{json: opts.Format == JSON, redactor: opts.Redactor}
	if f.redactor == nil {
		f.redactor = NewRedactor()
	}
	o := slog.HandlerOptions{Level: opts.Level, ReplaceAttr: f.replace}
	if f.json {
		return &Handler{next: slog.NewJSONHandler(w, &o)}
	}
	return &Handler{next: slog.NewTextHandler(w, &o)}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{h.next, slices.Concat(h.attrs, attrs)}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(string) slog.Handler { return h }

// Handle implements slog.Handler. It returns the writer's error.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	comp := take(&attrs, "comp")
	if comp.Equal(slog.Attr{Key: "comp"}) {
		comp.Value = slog.StringValue("anivault")
	}
	event := slog.String("event", r.Message)
	out := slog.NewRecord(r.Time, r.Level, "", 0)
	out.AddAttrs(comp)
	if comp.Value.String() != Ratelimiter {
		out.AddAttrs(event)
	} else {
		for _, k := range limiterKeys {
			a := take(&attrs, k.Name)
			if k.Name == "event" && r.Message != "" {
				a = event
			}
			out.AddAttrs(a)
		}
	}
	out.AddAttrs(attrs...)
	return h.next.Handle(ctx, out)
}

// take removes the attributes of that key and returns the last one, without a value if there is none.
func take(attrs *[]slog.Attr, key string) slog.Attr {
	found := slog.Attr{Key: key}
	*attrs = slices.DeleteFunc(*attrs, func(a slog.Attr) bool {
		if a.Key == key {
			found = a
		}
		return a.Key == key
	})
	return found
}

// form is how values are written.
type form struct {
	json     bool
	redactor *Redactor
}

// replace is called by slog for each part of a line.
func (f form) replace(_ []string, a slog.Attr) slog.Attr {
	switch {
	case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
		return slog.String("ts", stamp(a.Value.Time()))
	case a.Key == slog.LevelKey:
		return slog.String("lvl", a.Value.String())
	case a.Key == slog.MessageKey:
		return slog.Attr{} // it is written behind comp, as event
	case a.Value.Equal(slog.Value{}):
		if !f.json { // there it is null
			a.Value = slog.StringValue(none)
		}
		return a
	}
	form, ok := forms[a.Key]
	if !ok {
		a.Value = f.value(a.Value)
		return a
	}
	switch text, number, ok := form(a.Value); {
	case !ok:
		a.Value = f.value(a.Value)
	case f.json:
		a.Value = slog.Float64Value(number)
	default:
		a.Value = slog.StringValue(text)
	}
	return a
}

// value returns numbers and booleans as they are, all else as text without secrets. Durations are rounded to a readable
// size.
func (f form) value(v slog.Value) slog.Value {
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
	text := cut(f.redactor.String(v.String()))
	// The one control character that slog does not escape.
	return slog.StringValue(strings.ReplaceAll(text, "\x7f", "\ufffd"))
}

// maxText bounds a text in bytes, so that one log call does not fill a log file.
const maxText = 4 << 10

func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "...(cut)"
}
