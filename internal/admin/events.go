package admin

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const mostEvents = 1000

// Event is a line of the log.
type Event struct {
	At      time.Time `json:"at" doc:"when"`
	Level   string    `json:"level" doc:"INFO, WARN or ERROR"`
	Event   string    `json:"event" doc:"what has happened"`
	Account string    `json:"account,omitempty" doc:"the account that it is about"`
	Text    string    `json:"text" doc:"the other keys and values of the line"`
}

// kept are the events that are kept below a warning: transitions, pauses, changes, reloads.
var kept = []string{
	"state_transition", "account_transition", "pause", "429", "tuned", "admin_change", "reloaded", "listening", "draining",
	"key_in",
}

// Events keeps the last lines of the log that pass through it.
type Events struct {
	next   slog.Handler
	redact func(string) string

	mu    sync.Mutex
	lines []Event
}

// NewEvents returns a handler in front of another one. redact takes secrets out of a text; it may be nil.
func NewEvents(next slog.Handler, redact func(string) string) *Events {
	if redact == nil {
		redact = func(s string) string { return s }
	}
	return &Events{next: next, redact: redact}
}

// Handler returns the handler whose lines are kept.
func (e *Events) Handler() slog.Handler { return keeper{e, e.next, nil} }

// Last returns the newest lines of an account and of an event, the newest first; "" stands for all.
func (e *Events) Last(account, event string) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := []Event{}
	for _, l := range slices.Backward(e.lines) {
		if (account == "" || l.Account == account) && (event == "" || l.Event == event) {
			list = append(list, l)
		}
	}
	return list
}

func (e *Events) keep(l Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lines) == mostEvents {
		e.lines = slices.Delete(e.lines, 0, 1)
	}
	e.lines = append(e.lines, l)
}

type keeper struct {
	to    *Events
	next  slog.Handler
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (k keeper) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || k.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (k keeper) WithAttrs(attrs []slog.Attr) slog.Handler {
	return keeper{k.to, k.next.WithAttrs(attrs), slices.Concat(k.attrs, attrs)}
}

// WithGroup implements slog.Handler. No line of this program has groups.
func (k keeper) WithGroup(name string) slog.Handler {
	return keeper{k.to, k.next.WithGroup(name), k.attrs}
}

// Handle implements slog.Handler.
func (k keeper) Handle(ctx context.Context, r slog.Record) error {
	if slices.Contains(kept, r.Message) ||
		r.Level >= slog.LevelWarn && !strings.HasPrefix(r.Message, "slot_") && r.Message != "request" {
		k.to.keep(k.line(r))
	}
	if !k.next.Enabled(ctx, r.Level) {
		return nil
	}
	return k.next.Handle(ctx, r)
}

func (k keeper) line(r slog.Record) Event {
	l := Event{At: r.Time, Level: r.Level.String(), Event: r.Message}
	var texts []string
	add := func(a slog.Attr) bool {
		switch value := a.Value.String(); {
		case a.Key == "comp":
		case a.Key == "account":
			l.Account = value
		case a.Key != "stack" && value != "":
			texts = append(texts, a.Key+"="+value)
		}
		return true
	}
	for _, a := range k.attrs {
		add(a)
	}
	r.Attrs(add)
	l.Text = k.to.redact(strings.Join(texts, " "))
	return l
}
