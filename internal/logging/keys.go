package logging

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"time"
)

// Key is one key of a log line. docs/reference.md lists the keys in their order; scripts rely on them.
type Key struct {
	Name string
	Doc  string
	form func(slog.Value) (text string, number float64, ok bool) // how logfmt and JSON write it; nil: as any value
}

// Ratelimiter is the component whose lines always have all of LimiterKeys.
const Ratelimiter = "ratelimiter"

// none stands in logfmt for a key that does not apply. JSON has null there.
const none = "-"

var headKeys = []Key{
	{"ts", "when, UTC, RFC 3339", nil},
	{"lvl", "DEBUG, INFO, WARN or ERROR", nil},
	{"comp", "the part of anivault that speaks", nil},
}

// limiterKeys follow the head in every line of the limiter, in this order. Other components have only event.
var limiterKeys = []Key{
	{"state", "the limiter's state: Normal, Throttle, Sleep, HalfOpen, CacheOnly", nil},
	{"event", "what happened; of comp=ratelimiter: 429, pause, state_transition; of comp=anivault: start, tuned (an operator's change is obeyed from now on), end or, after SIGINT and SIGTERM, interrupted, warning, quota_orphan (reserved requests of the budget that were forgotten are free again), and of the shared state lock_degraded, lock_slow, state_corrupt, state_newer, state_shared, state_unavailable, coordinator_lost, coordinator_back, coordinator_state_lost, coordinator_slow; of comp=gateway: listening, request, slot_wait, slot_acquired, slot_released, slot_timeout, quota_reserved, quota_settled, reloaded, reload_refused, restart_needed, draining, connection, panic, admin_login, admin_change, admin_page", nil},
	{"sleep", "how long the limiter waits now; JSON: in seconds", seconds},
	{"consec429", "429 answers in a row, one per overrun", nil},
	{"err_rate_30s", "share of failed requests in the window, 0 to 1", ratio},
	{"rate", "requests per second allowed now; JSON: without the unit", rate},
	{"sem", "requests allowed at the same time now", nil},
	{"retry_after", "what the answer's Retry-After asked for; JSON: in seconds", seconds},
}

// otherKeys follow where they apply.
var otherKeys = []Key{
	{"from", "with state_transition: the state that was left; with tuned and admin_change: the value until now", nil},
	{"to", "with state_transition: the state that was entered; with tuned and admin_change: the value from now on", nil},
	{"reason", "with state_transition: why, a reason of limiter rules; with request: why the gateway refused it", nil},
	{"error", "with warning and the events of the shared state: what was worked around; with connection, reload_refused and panic: what went wrong", nil},
	{"parts", "with events of the shared state: in how many parts the limits are divided from now on", nil},
	{"alone", "with coordinator_back: how long this process was on its own; JSON: in seconds", seconds},
	{"version", "with start: anivault's", nil},
	{"key", "with tuned: the setting; with slot_..., key_out and key_in: a key by its number in the configuration", nil},
	{"who", "with admin_change and admin_login: the client whose token it was", nil},
	{"what", "with admin_change: the setting, or state", nil},
	{"for", "with admin_change: how long the change lasts, or always; with listening: who is answered there", nil},
	{"until", "with tuned: when the change ends by itself, RFC 3339; always: when an operator ends it; ended: it is over", nil},
	{"files", "with end and interrupted: files that were decided, the sum of the six that follow", nil},
	{"matched", "with end and interrupted: files with that status; so ambiguous, unmatched, pending, skipped", nil},
	{"ambiguous", "see matched", nil},
	{"unmatched", "see matched", nil},
	{"pending", "see matched", nil},
	{"skipped", "see matched", nil},
	{"errors", "with end and interrupted: files with status error", nil},
	{"requests", "with end and interrupted: requests sent to TMDB, retries included; with quota_...: how many are set aside or settled", nil},
	{"elapsed", "with end and interrupted: how long the run took; JSON: in seconds", seconds},
	{"exit", "with end and interrupted: the exit status", nil},
	{"addr", "with listening: where the gateway listens; with request: the client's address", nil},
	{"client", "with request: who asked, by its name in the configuration; - before that is known", nil},
	{"method", "with request: the HTTP method", nil},
	{"path", "with request: what was asked for, never with its query", nil},
	{"status", "with request: the HTTP status of the answer; 0: the client did not wait for one", nil},
	{"cache", "with request: where the answer is from: fresh, stale, revalidated, network, or none for what is not stored", nil},
	{"account", "with request and slot_...: whose key is used; with key_out, key_in and account_transition: whose it is", nil},
	{"was", "with key_out and key_in: the key's standing before", nil},
	{"why", "with key_out and key_in: its standing now: in, refused or suspended", nil},
	{"wait_ms", "with request: how long it waited for permission", nil},
	{"upstream_ms", "with request: how long TMDB took, all tries together", nil},
	{"bytes", "with request: size of the body that went out", nil},
	{"request_id", "the request's name, as in the answer's X-Request-Id", nil},
	{"running", "with slot_...: questions that may ask the limiter now", nil},
	{"limit", "with slot_...: how many may; with quota_...: how many the budget allows", nil},
	{"available", "with slot_...: what is left of them", nil},
	{"waited", "with slot_acquired and slot_timeout: for how long", nil},
	{"used", "with quota_...: requests of the budget that are used", nil},
	{"reserved", "with quota_...: requests of the budget that are set aside", nil},
	{"keys", "with restart_needed: settings that have changed and are not in force", nil},
	{"timeout", "with draining: how long what waits may go on", nil},
	{"stack", "with panic: where", nil},
}

// HeadKeys returns the keys that begin every line, in order.
func HeadKeys() []Key { return append([]Key(nil), headKeys...) }

// LimiterKeys returns the keys that every limiter line has behind the head, in order.
func LimiterKeys() []Key { return append([]Key(nil), limiterKeys...) }

// OtherKeys returns the keys that only some lines have, behind all others.
func OtherKeys() []Key { return append([]Key(nil), otherKeys...) }

func seconds(v slog.Value) (string, float64, bool) {
	if v.Kind() != slog.KindDuration {
		return "", 0, false
	}
	return short(v.Duration()).String(), v.Duration().Seconds(), true
}

func ratio(v slog.Value) (string, float64, bool) {
	if v.Kind() != slog.KindFloat64 || !finite(v.Float64()) {
		return "", 0, false
	}
	return strconv.FormatFloat(v.Float64(), 'f', 2, 64), math.Round(v.Float64()*1e4) / 1e4, true
}

func rate(v slog.Value) (string, float64, bool) {
	if v.Kind() != slog.KindFloat64 || !finite(v.Float64()) {
		return "", 0, false
	}
	perSecond := math.Round(v.Float64()*100) / 100
	return strconv.FormatFloat(perSecond, 'f', -1, 64) + "rps", perSecond, true
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// short drops what nobody reads: microseconds of anything longer than 10 ms.
func short(d time.Duration) time.Duration {
	if d.Abs() >= 10*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// LimiterLine is one line of the limiter: a 429, a pause, a Sleep or a transition. A duration of zero does not apply. Extra
// follows behind the fixed keys, such as from, to and reason of a state_transition.
type LimiterLine struct {
	State      string
	Event      string
	Sleep      time.Duration
	Consec429  int
	ErrRate    float64 // 0 to 1
	Rate       float64 // requests per second
	Sem        int
	RetryAfter time.Duration
	Extra      []slog.Attr
}

// LogLimiter writes a limiter's line through l, so that no caller has to spell its keys.
func LogLimiter(ctx context.Context, l *slog.Logger, level slog.Level, line LimiterLine) {
	attrs := []slog.Attr{
		slog.String("comp", Ratelimiter), slog.String("state", line.State), slog.Int("consec429", line.Consec429),
		slog.Float64("err_rate_30s", line.ErrRate), slog.Float64("rate", line.Rate), slog.Int("sem", line.Sem),
	}
	if line.Sleep != 0 {
		attrs = append(attrs, slog.Duration("sleep", line.Sleep))
	}
	if line.RetryAfter != 0 {
		attrs = append(attrs, slog.Duration("retry_after", line.RetryAfter))
	}
	l.LogAttrs(ctx, level, line.Event, append(attrs, line.Extra...)...)
}
