// Package logging writes anivault's log through log/slog: logfmt or JSON with keys in a fixed order, without secrets,
// to streams and to files that several processes share.
package logging

import (
	"cmp"
	"context"
	_ "embed" // the keys
	"encoding/base64"
	"io"
	"log/slog"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/lazyregexp"
)

// Format is the format of log lines.
type Format string

// The formats of --log-format.
const (
	Logfmt Format = "logfmt"
	JSON   Format = "json"
)

// Options configure a Handler. The zero value writes logfmt from level Info, without known secrets.
type Options struct {
	Level    slog.Leveler // nil: Info
	Format   Format       // "": Logfmt
	Redactor *Redactor    // nil: only what looks like a secret is hidden
}

// Handler is a slog.Handler that writes slog's text or JSON format with the keys in a fixed order. The message becomes
// the key event; the attribute comp names the component. A line with comp=ratelimiter always has all of LimiterKeys.
// Groups are ignored.
type Handler struct {
	next  slog.Handler
	attrs []slog.Attr
}

// NewHandler returns a handler that writes to w, one line per write.
func NewHandler(w io.Writer, opts Options) *Handler {
	f := attrFormatter{json: opts.Format == JSON, redactor: cmp.Or(opts.Redactor, NewRedactor())}
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
	comp := removeAttr(&attrs, "comp")
	if comp.Equal(slog.Attr{Key: "comp"}) {
		comp.Value = slog.StringValue("anivault")
	}
	event := slog.String("event", r.Message)
	out := slog.NewRecord(r.Time, r.Level, "", 0)
	out.AddAttrs(comp)
	if comp.Value.String() != Ratelimiter {
		out.AddAttrs(event)
	} else {
		for _, k := range LimiterKeys {
			a := removeAttr(&attrs, k.Name)
			if k.Name == "event" && r.Message != "" {
				a = event
			}
			out.AddAttrs(a)
		}
	}
	out.AddAttrs(attrs...)
	return h.next.Handle(ctx, out)
}

func removeAttr(attrs *[]slog.Attr, key string) slog.Attr {
	found := slog.Attr{Key: key}
	*attrs = slices.DeleteFunc(*attrs, func(a slog.Attr) bool {
		if a.Key == key {
			found = a
		}
		return a.Key == key
	})
	return found
}

type attrFormatter struct {
	json     bool
	redactor *Redactor
}

func (f attrFormatter) replace(_ []string, a slog.Attr) slog.Attr {
	switch {
	case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
		return slog.String("ts", formatTime(a.Value.Time()))
	case a.Key == slog.LevelKey:
		return slog.String("lvl", a.Value.String())
	case a.Key == slog.MessageKey:
		return slog.Attr{} // Handle writes the message as event
	case a.Value.Equal(slog.Value{}):
		if !f.json { // JSON writes null
			a.Value = slog.StringValue(notApplicable)
		}
		return a
	}
	a.Value = f.value(a.Key, a.Value)
	return a
}

// secondsKeys are the keys whose durations are numbers of seconds in JSON.
var secondsKeys = []string{"sleep", "retry_after", "alone", "elapsed"}

func (f attrFormatter) value(key string, v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64:
		return v
	case slog.KindFloat64:
		if n := v.Float64(); !math.IsNaN(n) && !math.IsInf(n, 0) {
			return f.number(key, n)
		}
	case slog.KindDuration:
		if f.json && slices.Contains(secondsKeys, key) {
			return slog.Float64Value(v.Duration().Seconds())
		}
		unit := time.Microsecond
		if v.Duration().Abs() >= 10*time.Millisecond {
			unit = time.Millisecond
		}
		return slog.StringValue(v.Duration().Round(unit).String())
	case slog.KindTime:
		return slog.StringValue(formatTime(v.Time()))
	default:
	}
	text := f.redactor.String(v.String())
	if len(text) > maxTextSize {
		text = strings.ToValidUTF8(text[:maxTextSize], "") + "...(cut)"
	}
	// DEL is the only control character that slog does not escape.
	return slog.StringValue(strings.ReplaceAll(text, "\x7f", "\ufffd"))
}

func (f attrFormatter) number(key string, n float64) slog.Value {
	perSecond := math.Round(n*100) / 100
	switch {
	case key == "err_rate_30s" && f.json:
		return slog.Float64Value(math.Round(n*1e4) / 1e4)
	case key == "err_rate_30s":
		return slog.StringValue(strconv.FormatFloat(n, 'f', 2, 64))
	case key == "rate" && f.json:
		return slog.Float64Value(perSecond)
	case key == "rate":
		return slog.StringValue(strconv.FormatFloat(perSecond, 'f', -1, 64) + "rps")
	}
	return slog.Float64Value(n)
}

// maxTextSize is the longest text in bytes, so that one log call does not fill a log file.
const maxTextSize = 4 << 10

// Key describes one key of a log line. docs/reference.md lists the keys in their order, and scripts rely on it.
type Key struct {
	Name string
	Doc  string
}

// Ratelimiter is the component whose lines always have all LimiterKeys.
const Ratelimiter = "ratelimiter"

// notApplicable is what logfmt writes for a key that does not apply; JSON writes null.
const notApplicable = "-"

//go:embed keys.txt
var keysText string

// The keys, in their order.
var (
	HeadKeys    = readKeys("head")    // begin every line
	LimiterKeys = readKeys("limiter") // follow the HeadKeys in every line of the limiter
	OtherKeys   = readKeys("other")   // come last, in some lines
)

func readKeys(section string) []Key {
	_, rows, _ := strings.Cut(keysText, "["+section+"]\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	var keys []Key
	for row := range strings.Lines(rows) {
		name, doc, _ := strings.Cut(strings.TrimSuffix(row, "\n"), ": ")
		keys = append(keys, Key{name, doc})
	}
	return keys
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

const redacted = "[redacted]"

// minSecretLength is the shortest secret that is redacted: replacing every "a" would make the log unreadable.
const minSecretLength = 6

// secretPatterns find unknown secrets by the text before them, which is the first group and is kept.
var secretPatterns = []func() *regexp.Regexp{
	lazyregexp.New(`(?i)((?:api[_-]?key|access[_-]?token|token|session_id|password|passwd|secret)` +
		`(?:["']\s*[=:]\s*["']|\s*[=:]\s*["']?))[^\s&"',;}\]]+`), // a quoted name needs a quoted value: "token": not found
	lazyregexp.New(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{6,}`),
	lazyregexp.New(`(://[^/\s:@]*:)[^/\s@]+@`), // the password of a proxy
	lazyregexp.New(`()eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`),
	lazyregexp.New(`()anv_[A-Za-z0-9_-]{43}`), // the token of a gateway's client
}

// wordPattern matches a word of a sentence. Keys and tokens of TMDB or the gateway have other characters too.
var wordPattern = lazyregexp.New(`^[a-z]+$`)

// Redactor replaces secrets in text. It is safe for concurrent use.
type Redactor struct{ known *strings.Replacer }

// NewRedactor returns a redactor for these secrets, also URL-escaped or in Base64, and for anything that looks like a
// key or a token. It ignores secrets shorter than minSecretLength.
func NewRedactor(secrets ...string) *Redactor {
	var forms []string
	for _, s := range secrets {
		if len(s) < minSecretLength {
			continue
		}
		forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)))
	}
	// A secret that contains another one must be replaced first.
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
	if !strings.ContainsAny(s, "=:") && !strings.Contains(s, "eyJ") && !strings.Contains(s, "anv_") &&
		!strings.Contains(strings.ToLower(s), "bearer") {
		return s
	}
	for _, pattern := range secretPatterns {
		p := pattern()
		s = p.ReplaceAllStringFunc(s, func(hit string) string {
			keep := p.FindStringSubmatch(hit)[1]
			rest := hit[len(keep):]
			if strings.HasPrefix(rest, "[redacted") || strings.HasPrefix(rest, "[set") || // already redacted
				strings.HasSuffix(keep, ": ") && wordPattern().MatchString(rest) { // "tmdb.token: cannot be combined"
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

// LineLimiter limits log lines to one per minute and kind, and counts events. The zero LineLimiter is ready to use. It
// keeps every kind in memory, so use only a few kinds.
type LineLimiter struct {
	mu    sync.Mutex
	kinds map[string]lineCount
}

type lineCount struct {
	lastLogged time.Time
	events     int
}

// Allow counts an event. due reports whether to log a line now. count is then the number of events since the last line.
func (s *LineLimiter) Allow(kind string, now time.Time) (count int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[kind]
	if k.events++; now.Sub(k.lastLogged) >= time.Minute {
		count, due, k = k.events, true, lineCount{lastLogged: now}
	}
	if s.kinds == nil {
		s.kinds = map[string]lineCount{}
	}
	s.kinds[kind] = k
	return count, due
}
