// Package logging writes anivault's log through log/slog: logfmt or JSON with keys in a fixed order, without secrets,
// to streams and to files that several processes share.
package logging

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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

// Key is one key of a log line. docs/reference.md lists the keys in their order; scripts rely on them.
type Key struct {
	Name string
	Doc  string
}

// forms are how logfmt and JSON write the values of these keys.
var forms = map[string]func(slog.Value) (text string, number float64, ok bool){
	"sleep": seconds, "retry_after": seconds, "alone": seconds, "elapsed": seconds, "err_rate_30s": ratio, "rate": rate,
}

// Ratelimiter is the component whose lines always have all of LimiterKeys.
const Ratelimiter = "ratelimiter"

// none stands in logfmt for a key that does not apply. JSON has null there.
const none = "-"

var headKeys = []Key{
	{"ts", "when, UTC, RFC 3339"},
	{"lvl", "DEBUG, INFO, WARN or ERROR"},
	{"comp", "the part of anivault that speaks"},
}

// limiterKeys follow the head in every line of the limiter, in this order. Other components have only event.
var limiterKeys = []Key{
	{"state", "the limiter's state: Normal, Throttle, Sleep, HalfOpen, CacheOnly"},
	{"event", "what happened; of comp=ratelimiter: 429, pause, state_transition; of comp=anivault: start, tuned (an " +
		"operator's change is obeyed from now on), end or, after SIGINT and SIGTERM, interrupted, warning, quota_orphan " +
		"(reserved requests of the budget that were forgotten are free again), and of the shared state lock_degraded, " +
		"lock_slow, state_corrupt, state_newer, state_shared, state_unavailable, coordinator_lost, coordinator_back, " +
		"coordinator_state_lost, coordinator_slow; of comp=gateway: listening, request, slot_wait, slot_acquired, " +
		"slot_released, slot_timeout, quota_reserved, quota_settled, reloaded, reload_refused, restart_needed, draining, " +
		"connection, panic, admin_login, admin_change, admin_page"},
	{"sleep", "how long the limiter waits now; JSON: in seconds"},
	{"consec429", "429 answers in a row, one per overrun"},
	{"err_rate_30s", "share of failed requests in the window, 0 to 1"},
	{"rate", "requests per second allowed now; JSON: without the unit"},
	{"sem", "requests allowed at the same time now"},
	{"retry_after", "what the answer's Retry-After asked for; JSON: in seconds"},
}

// otherKeys follow where they apply.
var otherKeys = []Key{
	{"from", "with state_transition: the state that was left; with tuned and admin_change: the value until now"},
	{"to", "with state_transition: the state that was entered; with tuned and admin_change: the value from now on"},
	{"reason", "with state_transition: why, a reason of limiter rules; with request: why the gateway refused it"},
	{"error", "with warning and the events of the shared state: what was worked around; with connection, " +
		"reload_refused and panic: what went wrong"},
	{"parts", "with events of the shared state: in how many parts the limits are divided from now on"},
	{"alone", "with coordinator_back: how long this process was on its own; JSON: in seconds"},
	{"version", "with start: anivault's"},
	{"key", "with tuned: the setting; with slot_..., key_out and key_in: a key by its number in the configuration"},
	{"who", "with admin_change and admin_login: the client whose token it was"},
	{"what", "with admin_change: the setting, or state"},
	{"for", "with admin_change: how long the change lasts, or always; with listening: who is answered there"},
	{"until", "with tuned: when the change ends by itself, RFC 3339; always: when an operator ends it; ended: it is over"},
	{"files", "with end and interrupted: files that were decided, the sum of the six that follow"},
	{"matched", "with end and interrupted: files with that status; so ambiguous, unmatched, pending, skipped"},
	{"ambiguous", "see matched"},
	{"unmatched", "see matched"},
	{"pending", "see matched"},
	{"skipped", "see matched"},
	{"errors", "with end and interrupted: files with status error"},
	{"requests", "with end and interrupted: requests sent to TMDB, retries included; with quota_...: how many are set " +
		"aside or settled"},
	{"elapsed", "with end and interrupted: how long the run took; JSON: in seconds"},
	{"exit", "with end and interrupted: the exit status"},
	{"addr", "with listening: where the gateway listens; with request: the client's address"},
	{"client", "with request: who asked, by its name in the configuration; - before that is known"},
	{"method", "with request: the HTTP method"},
	{"path", "with request: what was asked for, never with its query"},
	{"status", "with request: the HTTP status of the answer; 0: the client did not wait for one"},
	{
		"cache",
		"with request: where the answer is from: fresh, stale, revalidated, network, or none for what is not stored",
	},
	{"account", "with request and slot_...: whose key is used; with key_out, key_in and account_transition: whose it is"},
	{"was", "with key_out and key_in: the key's standing before"},
	{"why", "with key_out and key_in: its standing now: in, refused or suspended"},
	{"wait_ms", "with request: how long it waited for permission"},
	{"upstream_ms", "with request: how long TMDB took, all tries together"},
	{"bytes", "with request: size of the body that went out"},
	{"request_id", "the request's name, as in the answer's X-Request-Id"},
	{"running", "with slot_...: questions that may ask the limiter now"},
	{"limit", "with slot_...: how many may; with quota_...: how many the budget allows"},
	{"available", "with slot_...: what is left of them"},
	{"waited", "with slot_acquired and slot_timeout: for how long"},
	{"used", "with quota_...: requests of the budget that are used"},
	{"reserved", "with quota_...: requests of the budget that are set aside"},
	{"keys", "with restart_needed: settings that have changed and are not in force"},
	{"timeout", "with draining: how long what waits may go on"},
	{"stack", "with panic: where"},
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

const redacted = "[redacted]"

// shortest is the length from which a known secret is looked for: replacing every "a" would hide the log itself.
const shortest = 6

// patterns find unknown secrets by what stands around them. The part before the secret is kept.
var patterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)((?:api[_-]?key|access[_-]?token|token|session_id|password|passwd|secret)` +
		`["']?\s*[=:]\s*["']?)[^\s&"',;}\]]+`),
	regexp.MustCompile(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{6,}`),
	regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`), // a proxy's password
	regexp.MustCompile(`()eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`),
}

// Redactor replaces secrets in text. It is safe for concurrent use.
type Redactor struct{ known *strings.Replacer }

// NewRedactor returns a redactor for these secrets, in every form in which they travel, and for all that looks like a
// key or a token. Empty and very short secrets are ignored.
func NewRedactor(secrets ...string) *Redactor {
	var forms []string
	for _, s := range secrets {
		if len(s) < shortest {
			continue
		}
		forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)))
	}
	// a secret that contains another one goes first
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, redacted)
	}
	return &Redactor{known: strings.NewReplacer(pairs...)}
}

// String returns s with every secret replaced.
func (r *Redactor) String(s string) string {
	s = r.known.Replace(s)
	if !suspicious(s) {
		return s
	}
	for _, p := range patterns {
		s = p.ReplaceAllStringFunc(s, func(hit string) string {
			keep := p.FindStringSubmatch(hit)[1]
			rest := hit[len(keep):]
			if strings.HasPrefix(rest, "[redacted") || strings.HasPrefix(rest, "[set") { // already done
				return hit
			}
			if strings.HasSuffix(hit, "@") {
				return keep + redacted + "@"
			}
			return keep + redacted
		})
	}
	return s
}

// suspicious is a cheap test that rules most lines out.
func suspicious(s string) bool {
	return strings.ContainsAny(s, "=:") || strings.Contains(s, "eyJ") || strings.Contains(strings.ToLower(s), "bearer")
}
