package logging

// This file spells a limiter's line, so that its callers can't misspell a key.

import (
	"context"
	"log/slog"
	"time"
)

// LimiterLine is one line of the limiter: a 429, a pause, a Sleep or a transition. What is nil, empty or a zero
// duration does not apply and is written as "-" (null in JSON). Extra follows behind the fixed keys, such as from, to
// and reason of a state_transition.
type LimiterLine struct {
	State      string
	Event      string
	Sleep      time.Duration
	Consec429  *int
	ErrRate    *float64 // 0 to 1
	Rate       *float64 // requests per second
	Sem        *int
	RetryAfter time.Duration
	Extra      []slog.Attr
}

// LogLimiter writes a limiter's line through l.
func LogLimiter(ctx context.Context, l *slog.Logger, level slog.Level, line LimiterLine) {
	if !l.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("comp", Ratelimiter)}
	if line.State != "" {
		attrs = append(attrs, slog.String("state", line.State))
	}
	if line.Sleep != 0 {
		attrs = append(attrs, slog.Duration("sleep", line.Sleep))
	}
	if line.Consec429 != nil {
		attrs = append(attrs, slog.Int("consec429", *line.Consec429))
	}
	if line.ErrRate != nil {
		attrs = append(attrs, slog.Float64("err_rate_30s", *line.ErrRate))
	}
	if line.Rate != nil {
		attrs = append(attrs, slog.Float64("rate", *line.Rate))
	}
	if line.Sem != nil {
		attrs = append(attrs, slog.Int("sem", *line.Sem))
	}
	if line.RetryAfter != 0 {
		attrs = append(attrs, slog.Duration("retry_after", line.RetryAfter))
	}
	l.LogAttrs(ctx, level, line.Event, append(attrs, line.Extra...)...)
}
