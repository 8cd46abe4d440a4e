package cli

import (
	"context"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// ending returns how a run ended.
func ending(ctx context.Context, run *app.App, f matchFlags) report.Ending {
	at := run.Progress()
	e := report.Ending{Interrupted: ctx.Err() != nil, Found: int(at.Files), Searching: !at.Walked, Asked: f.interactive}
	if f.refresh {
		e.Unrefreshed = int(at.Stale)
	}
	if f.offline {
		return e
	}
	if st, err := run.Limiter(); err == nil {
		e.Stopped = stopped(st)
	}
	return e
}

// stopped returns since when and why only the cache answers; "" in any other state.
func stopped(st ratelimit.Status) string {
	if st.State != ratelimit.CacheOnly {
		return ""
	}
	text := "requests were stopped (" + st.Cause.String() + ")"
	switch st.Cause { //nolint:exhaustive // CacheOnly has these causes; any other is named
	case ratelimit.ReasonOperator:
		text = "you (an operator) stopped all requests"
	case ratelimit.ReasonRetryAfterLong:
		text = "TMDB asked for a long pause, so requests were stopped"
	case ratelimit.ReasonPolicy:
		text = "TMDB kept failing, so requests were stopped"
	}
	if !st.Since.IsZero() {
		text += " at " + ui.Clock(st.Since)
	}
	if st.Until.After(st.At) {
		text += " until " + ui.Clock(st.Until)
	}
	return text
}
