package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/ui"
)

var at = time.Date(2026, 11, 21, 21, 0, 0, 5_000_000, time.FixedZone("KST", 9*3600))

// logged returns what one record becomes.
func logged(t testing.TB, opts Options, level slog.Level, msg string, build func(slog.Handler) slog.Handler,
	attrs ...slog.Attr,
) string {
	t.Helper()
	var b bytes.Buffer
	var h slog.Handler = NewHandler(&b, opts)
	if build != nil {
		h = build(h)
	}
	r := slog.NewRecord(at, level, msg, 0)
	r.AddAttrs(attrs...)
	if err := h.Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLimiterLines(t *testing.T) {
	limiter := func(state string, rate, errRate float64, more ...slog.Attr) []slog.Attr {
		return append([]slog.Attr{
			slog.String("comp", Ratelimiter), slog.Float64("rate", rate), slog.Float64("err_rate_30s", errRate),
			slog.String("state", state),
		}, more...)
	}
	throttled := limiter("Throttle", 17, 0.2412, slog.Duration("sleep", 2*time.Second), slog.Int("consec429", 3),
		slog.Int("sem", 2), slog.Duration("retry_after", 2*time.Second))
	transition := limiter("HalfOpen", 2.5, math.NaN(), slog.String("from", "Throttle"), slog.String("to", "HalfOpen"),
		slog.String("reason", "success_window_ok"), slog.Int("consec429", 0), slog.Int("sem", 0))
	for _, c := range []struct {
		name   string
		format Format
		event  string
		attrs  []slog.Attr
		want   string
	}{
		{
			"429", Logfmt, "429", throttled,
			"lvl=WARN comp=ratelimiter state=Throttle event=429 sleep=2s consec429=3 err_rate_30s=0.24 rate=17rps sem=2 " +
				"retry_after=2s\n",
		},
		{
			"what does not apply is a dash", Logfmt, "state_transition", transition,
			"lvl=WARN comp=ratelimiter state=HalfOpen event=state_transition sleep=- consec429=0 err_rate_30s=NaN " +
				"rate=2.5rps sem=0 retry_after=- " +
				"from=Throttle to=HalfOpen reason=success_window_ok\n",
		},
		{
			"json has numbers", JSON, "429", throttled,
			`"lvl":"WARN","comp":"ratelimiter","state":"Throttle","event":"429","sleep":2,"consec429":3,` +
				`"err_rate_30s":0.2412,"rate":17,"sem":2,"retry_after":2}` + "\n",
		},
		{
			"json has null", JSON, "state_transition", transition,
			`"lvl":"WARN","comp":"ratelimiter","state":"HalfOpen","event":"state_transition","sleep":null,"consec429":0,` +
				`"err_rate_30s":"NaN","rate":2.5,"sem":0,"retry_after":null,` +
				`"from":"Throttle","to":"HalfOpen","reason":"success_window_ok"}` + "\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := logged(t, Options{Format: c.format}, slog.LevelWarn, c.event, nil, c.attrs...)
			_, got, ok := strings.Cut(line, "lvl")
			if !ok {
				t.Fatalf("no level in %q", line)
			}
			_, want, _ := strings.Cut(c.want, "lvl")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	var b bytes.Buffer
	slog.New(NewHandler(&b, Options{Level: slog.LevelError})).Warn("429")
	if b.Len() > 0 {
		t.Errorf("a level that is off wrote %q", b.String())
	}
}

func TestOtherLines(t *testing.T) {
	given := func(h slog.Handler) slog.Handler {
		h = h.WithAttrs([]slog.Attr{slog.String("comp", "cache"), slog.Int("n", 1)})
		return h.WithGroup("g").WithAttrs([]slog.Attr{slog.Bool("b", true)})
	}
	for _, c := range []struct {
		name   string
		format Format
		build  func(slog.Handler) slog.Handler
		attrs  []slog.Attr
		want   string
	}{
		{"no component", Logfmt, nil, nil, "ts=2026-11-21T12:00:00.005Z lvl=INFO comp=anivault event=\"it happened\"\n"},
		{
			"values", Logfmt, nil,
			[]slog.Attr{
				slog.Any("err", errors.New("open x: denied")), slog.Duration("took", 1234567*time.Microsecond),
				slog.Float64("f", 0.5),
				slog.Time("when", at), slog.Any("list", []int{1, 2}), slog.Float64("nan", math.NaN()),
			},
			"ts=2026-11-21T12:00:00.005Z lvl=INFO comp=anivault event=\"it happened\" err=\"open x: denied\" took=1.235s " +
				"f=0.5 " +
				"when=2026-11-21T12:00:00.005Z list=\"[1 2]\" nan=NaN\n",
		},
		{
			"a key's own form", JSON, nil,
			[]slog.Attr{slog.Duration("elapsed", 1500*time.Millisecond), slog.Duration("alone", time.Minute)},
			`{"ts":"2026-11-21T12:00:00.005Z","lvl":"INFO","comp":"anivault","event":"it happened","elapsed":1.5,"alone":60}` +
				"\n",
		},
		{
			"attributes of the logger", Logfmt, given,
			[]slog.Attr{slog.Int("i", 2)},
			"ts=2026-11-21T12:00:00.005Z lvl=INFO comp=cache event=\"it happened\" n=1 b=true i=2\n",
		},
		{
			"json", JSON, given,
			[]slog.Attr{slog.Float64("nan", math.NaN()), slog.String("s", "<a\n\"")},
			`{"ts":"2026-11-21T12:00:00.005Z","lvl":"INFO","comp":"cache","event":"it ` +
				`happened","n":1,"b":true,"nan":"NaN","s":"<a\n\""}` + "\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want,
				logged(t, Options{Format: c.format}, slog.LevelInfo, "it happened", c.build, c.attrs...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever is logged, a line is one line, no control character reaches a terminal, and the limiter's keys
// stand in their order.
func TestAnyTextStaysInItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-= "\\\n\x1b]*`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		msg, value := text.Draw(t, "event"), text.Draw(t, "value")
		attrs := []slog.Attr{slog.String("comp", Ratelimiter), slog.String("state", value), slog.String("key", value)}
		var b bytes.Buffer
		r := slog.NewRecord(at, slog.LevelInfo, msg, 0)
		r.AddAttrs(attrs...)
		if err := NewHandler(&b, Options{}).Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		line := strings.TrimSuffix(b.String(), "\n")
		if strings.ContainsFunc(line, ui.Dangerous) || len(line) == b.Len() {
			t.Fatalf("not one clean line: %q", b.String())
		}
		keys := logfmtKeys(t, line)
		var want []string
		for _, k := range append(HeadKeys, LimiterKeys...) {
			want = append(want, k.Name)
		}
		if diff := cmp.Diff(want, keys[:len(want)]); diff != "" {
			t.Fatalf("%s\n%s", line, diff)
		}

		b.Reset()
		if err := NewHandler(&b, Options{Format: JSON}).Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		var decoded map[string]any
		if err := json.Unmarshal(b.Bytes(), &decoded); err != nil || strings.Count(b.String(), "\n") != 1 {
			t.Fatalf("%q: %v", b.String(), err)
		}
	})
}

// logfmtKeys reads a logfmt line as a strict reader would.
func logfmtKeys(t *rapid.T, line string) []string {
	var keys []string
	for line != "" {
		key, rest, ok := strings.Cut(line, "=")
		if !ok || strings.ContainsAny(key, ` "`) {
			t.Fatalf("no pair at %q", line)
		}
		keys = append(keys, key)
		if strings.HasPrefix(rest, `"`) {
			end := 1
			for end < len(rest) && rest[end] != '"' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			if _, err := strconv.Unquote(rest[:end+1]); err != nil {
				t.Fatalf("value %s: %v", rest[:end+1], err)
			}
			line = strings.TrimPrefix(rest[end+1:], " ")
			continue
		}
		_, line, _ = strings.Cut(rest, " ")
	}
	return keys
}

func TestALineIsBounded(t *testing.T) {
	huge := strings.Repeat("語", 100_000)
	for _, format := range []Format{Logfmt, JSON} {
		line := logged(t, Options{Format: format}, slog.LevelInfo, huge, nil, slog.String("a", huge), slog.String("b", huge))
		if len(line) > 4*maxTextSize || !strings.Contains(line, "(cut)") ||
			!strings.HasSuffix(strings.TrimSuffix(line, "}\n"), `"`) && format == JSON {
			t.Errorf("%s: %d bytes, ends in %q", format, len(line), line[len(line)-20:])
		}
	}
}
