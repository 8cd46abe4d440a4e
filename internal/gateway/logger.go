package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/ratelimit"
)

// logger writes the gateway's lines. What a client sends in place of a key, and the values of a query, are in none of
// them.
type logger struct {
	*slog.Logger
	queue  *queue
	cfg    func() *config.Config // in force
	warned atomic.Int64          // when an account was last said to be full, in nanoseconds of Unix
}

// slot writes a line about a place among those that may ask.
func (l *logger) slot(level slog.Level, event string, f *flight, more ...slog.Attr) {
	if !l.Enabled(context.Background(), level) {
		return
	}
	running, limit := l.queue.running()
	attrs := []slog.Attr{slog.String("account", l.account(f))}
	if c := f.through(); c.Account != "" {
		attrs = append(attrs, slog.Int("key", l.cfg().KeyNumber(c.Account, c.Key)))
		if running = c.Running; c.Limit > 0 {
			limit = c.Limit
		}
	}
	attrs = append(attrs, slog.Int("running", running), slog.Int("limit", limit),
		slog.Int("available", max(limit-running, 0)))
	attrs = append(attrs, more...)
	l.LogAttrs(context.Background(), level, event, append(attrs, slog.String("request_id", f.by.id))...)
}

// through is through which account and key the flight last went, the zero Choice where that is the only one.
func (f *flight) through() (c ratelimit.Choice) {
	if p := f.choice.Load(); p != nil {
		c = *p
	}
	return c
}

// account is through which account a flight went, or will if there is only one.
func (l *logger) account(f *flight) string { return cmp.Or(f.through().Account, l.cfg().OnlyAccount()) }

// slotWait is a warning where all places are taken, at most once a second, else for whom it concerns.
func (l *logger) slotWait(f *flight) {
	level := slog.LevelDebug
	if running, limit := l.queue.running(); running >= limit {
		level = l.fullLevel()
	}
	l.slot(level, "slot_wait", f)
}

// fullLevel is the level of a line about a full account: a warning once a second.
func (l *logger) fullLevel() slog.Level {
	now := time.Now().UnixNano()
	if last := l.warned.Load(); now-last >= int64(time.Second) && l.warned.CompareAndSwap(last, now) {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// noticeable is a wait for a slot that is worth a line.
const noticeable = 100 * time.Millisecond

// quota writes a line about the request that a question has set aside.
func (l *logger) quota(ctx context.Context, event string, f *flight, limiter *ratelimit.Limiter) {
	if !l.Enabled(ctx, slog.LevelDebug) {
		return
	}
	st, err := limiter.Status(ctx)
	if err != nil {
		return
	}
	used, held, limit := st.BudgetUsed, st.BudgetHeld, st.Budget.Requests
	for _, a := range st.Accounts {
		if a.Name == l.account(f) && a.Quota.On() {
			used, held, limit = a.QuotaUsed, a.QuotaReserved, a.Quota.Requests
		}
	}
	l.Debug(event, slog.String("account", l.account(f)), slog.Int("requests", 1), slog.Int("used", used),
		slog.Int("reserved", held), slog.Int("limit", limit), slog.String("request_id", f.by.id))
}

func (l *logger) panicked(id string, value any) {
	l.Error("panic", slog.String("error", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())),
		slog.String("request_id", id))
}

// request writes the line of a request: info if it went to TMDB or failed, else debug.
func (l *logger) request(x *exchange) {
	level := slog.LevelDebug
	if x.found.sent || x.status >= 400 || x.gone {
		level = slog.LevelInfo
	}
	if !l.Enabled(context.Background(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("client", x.clientName()), slog.String("method", x.r.Method), slog.String("path", x.r.URL.Path),
		slog.Int("status", x.status),
	}
	if x.cache != "" {
		attrs = append(attrs, slog.String("cache", x.cache))
	}
	if x.refused != nil {
		attrs = append(attrs, slog.String("reason", x.refused.name))
	}
	attrs = append(attrs, slog.String("account", cmp.Or(x.found.account, "-")),
		slog.Int64("wait_ms", x.found.waited.Milliseconds()),
		slog.Int64("upstream_ms", x.found.upstream.Milliseconds()), slog.Int("bytes", x.bytes),
		slog.String("addr", x.settings.addressOf(x.r)), slog.String("request_id", x.id))
	l.LogAttrs(context.Background(), level, "request", attrs...)
}
