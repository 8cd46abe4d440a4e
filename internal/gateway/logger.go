package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// What a client sends in place of a key, and the values of a query, are in no line of the log.

// logSlot writes a line about a place among those that may ask.
func (g *Gateway) logSlot(level slog.Level, event string, f *flight, more ...slog.Attr) {
	if !g.log.Enabled(context.Background(), level) {
		return
	}
	running, limit := g.queue.running()
	attrs := []slog.Attr{slog.String("account", g.accountOf(f))}
	if c := f.through(); c.Account != "" {
		attrs = append(attrs, slog.Int("key", g.settings.Load().cfg.KeyNumber(c.Account, c.Key)))
		if running = c.Running; c.Limit > 0 {
			limit = c.Limit
		}
	}
	attrs = append(attrs, slog.Int("running", running), slog.Int("limit", limit),
		slog.Int("available", max(limit-running, 0)))
	attrs = append(attrs, more...)
	g.log.LogAttrs(context.Background(), level, event, append(attrs, slog.String("request_id", f.by.id))...)
}

// through is through which account and key the flight last went, the zero Choice where that is the only one.
func (f *flight) through() (c ratelimit.Choice) {
	if p := f.choice.Load(); p != nil {
		c = *p
	}
	return c
}

// accountOf is through which account a flight went, or will if there is only one.
func (g *Gateway) accountOf(f *flight) string {
	return cmp.Or(f.through().Account, g.settings.Load().cfg.OnlyAccount())
}

// fullLevel is the level of a line about a full account: a warning once a second.
func (g *Gateway) fullLevel() slog.Level {
	now := time.Now().UnixNano()
	if last := g.fullWarned.Load(); now-last >= int64(time.Second) && g.fullWarned.CompareAndSwap(last, now) {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// noticeable is a wait for a slot that is worth a line.
const noticeable = 100 * time.Millisecond

// logQuota writes a line about the request that a question has set aside.
func (g *Gateway) logQuota(ctx context.Context, event string, f *flight) {
	if !g.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	st, err := g.up.Limiter().Status(ctx)
	if err != nil {
		return
	}
	used, held, limit := st.BudgetUsed, st.BudgetHeld, st.Budget.Requests
	for _, a := range st.Accounts {
		if a.Name == g.accountOf(f) && a.Quota.On() {
			used, held, limit = a.QuotaUsed, a.QuotaReserved, a.Quota.Requests
		}
	}
	g.log.Debug(event, slog.String("account", g.accountOf(f)), slog.Int("requests", 1), slog.Int("used", used),
		slog.Int("reserved", held), slog.Int("limit", limit), slog.String("request_id", f.by.id))
}

func (g *Gateway) logPanic(id string, value any) {
	g.log.Error("panic", slog.String("error", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())),
		slog.String("request_id", id))
}

// logRequest writes the line of a request: info if it went to TMDB or failed, else debug.
func (g *Gateway) logRequest(x *exchange) {
	level := slog.LevelDebug
	if x.found.sent || x.status >= 400 || x.gone {
		level = slog.LevelInfo
	}
	if !g.log.Enabled(context.Background(), level) {
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
	g.log.LogAttrs(context.Background(), level, "request", attrs...)
}
