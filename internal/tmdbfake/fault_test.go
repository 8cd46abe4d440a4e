package tmdbfake

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake/cert"
	"github.com/anivault/anivault/internal/upstream"
)

// seen is what a client observes of one request.
type seen struct {
	where string // do, read, decode, status, ok
	err   error
	reply reply
}

// observe sends one request on a connection of its own and finds out where it
// goes wrong.
func observe(ctx context.Context, c *http.Client, url string) seen {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return seen{where: "request", err: err}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(r)
	if err != nil {
		return seen{where: "do", err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	s := seen{reply: reply{resp, body}, err: err}
	var v map[string]any
	switch {
	case err != nil:
		s.where = "read"
	case resp.StatusCode != http.StatusOK:
		s.where = "status"
	default:
		if s.err = json.Unmarshal(body, &v); s.err != nil {
			s.where = "decode"
		} else {
			s.where = "ok"
		}
	}
	return s
}

// only is a scenario of one fault that always strikes.
func only(a upstream.Action) upstream.Scenario {
	return upstream.Scenario{Faults: []upstream.Fault{{Do: a}}}
}

// TestFaultsAsGoSeesThem is the table of what Go's client reports for each
// fault, over TCP.
func TestFaultsAsGoSeesThem(t *testing.T) {
	isJSON := func(err error) bool {
		var s *json.SyntaxError
		return errors.As(err, &s)
	}
	is := func(target error) func(error) bool {
		return func(err error) bool { return errors.Is(err, target) }
	}
	says := func(text string) func(error) bool {
		return func(err error) bool { return err != nil && strings.Contains(err.Error(), text) }
	}
	none := func(err error) bool { return err == nil }
	status := func(code int) func(reply) bool { return func(r reply) bool { return r.StatusCode == code } }
	for _, row := range []struct {
		name  string
		do    upstream.Action
		where string
		err   func(error) bool
		reply func(reply) bool
	}{
		{"500 JSON", upstream.Action{Kind: "status", Status: 500, Code: 11}, "status", none, func(r reply) bool {
			return r.StatusCode == http.StatusInternalServerError && strings.Contains(string(r.body), `"status_code":11`)
		}},
		{"502 HTML", upstream.Action{Kind: "status", Status: 502, Body: "html"}, "status", none, func(r reply) bool {
			return r.StatusCode == http.StatusBadGateway && r.Header.Get("Content-Type") == "text/html" &&
				strings.Contains(string(r.body), "502 Bad Gateway")
		}},
		{"504 empty", upstream.Action{Kind: "status", Status: 504, Body: "empty"}, "status", none, func(r reply) bool {
			return r.StatusCode == http.StatusGatewayTimeout && len(r.body) == 0
		}},
		{"503 with Retry-After", upstream.Action{
			Kind: "status", Status: 503, Code: 46, RetryAfter: "delta",
			Wait: upstream.Duration(90 * time.Second),
		}, "status", none, func(r reply) bool {
			return r.Header.Get("Retry-After") == "90"
		}},
		{"captive page with 200", upstream.Action{Kind: "status", Status: 200, Body: "captive"}, "decode", isJSON, nil},
		{"200 and nothing", upstream.Action{Kind: "status", Status: 200, Body: "empty"}, "decode", isJSON, nil},
		{"204", upstream.Action{Kind: "status", Status: 204}, "status", none, status(204)},
		{"redirect", upstream.Action{Kind: "redirect", Location: "http://127.0.0.1:1/"}, "status", none, func(r reply) bool {
			return r.StatusCode == http.StatusFound && r.Header.Get("Location") == "http://127.0.0.1:1/"
		}},
		{"304 unasked", upstream.Action{Kind: "not_modified"}, "status", none, status(304)},
		{"JSON cut", upstream.Action{Kind: "cut_json"}, "decode", says("unexpected end of JSON input"), nil},
		{"chunked cut", upstream.Action{Kind: "abort"}, "read", is(io.ErrUnexpectedEOF), nil},
		{"Content-Length too long", upstream.Action{Kind: "short"}, "read", is(io.ErrUnexpectedEOF), nil},
		{"the same, nothing sent", upstream.Action{Kind: "short_unflushed"}, "do", is(io.EOF), nil},
		{
			"gzip without header",
			upstream.Action{Kind: "gzip_headerless"},
			"decode", says(`invalid character '\x1f'`),
			func(r reply) bool { return !r.Uncompressed },
		},
		{
			"gzip twice",
			upstream.Action{Kind: "gzip_double"},
			"decode", says(`invalid character '\x1f'`),
			func(r reply) bool { return r.Uncompressed },
		},
		{"gzip said, plain sent", upstream.Action{Kind: "gzip_fake"}, "read", says("gzip: invalid header"), nil},
		{"gzip cut", upstream.Action{Kind: "gzip_cut"}, "read", is(io.ErrUnexpectedEOF), nil},
		{"RST before the answer", upstream.Action{Kind: "reset"}, "do", is(syscall.ECONNRESET), nil},
		{"FIN before the answer", upstream.Action{Kind: "close"}, "do", is(io.EOF), nil},
		{
			"body of 3 MiB",
			upstream.Action{Kind: "huge", Bytes: 3 << 20},
			"decode", says("unexpected end of JSON input"),
			func(r reply) bool { return len(r.body) == 1<<20 },
		},
		{"connection reset", upstream.Action{Kind: "conn_reset"}, "do", is(syscall.ECONNRESET), nil},
		{"reset on the first bytes", upstream.Action{Kind: "hello_reset"}, "do", is(syscall.ECONNRESET), nil},
		{"bytes that are not HTTP", upstream.Action{Kind: "conn_garbage"}, "do", says("malformed HTTP response"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t, Config{Scenario: only(row.do)})
			s, err := f.Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			got := observe(t.Context(), clientOf(t, s), s.URL()+"/3/tv/9000004")
			if got.where != row.where || !row.err(got.err) {
				t.Errorf("at %s: %v; want at %s", got.where, got.err, row.where)
			}
			if row.reply != nil && (got.reply.Response == nil || !row.reply(got.reply)) {
				t.Errorf("answer %+v, %.80q", got.reply.Response, got.reply.body)
			}
			if n := f.State().Faults[row.do.Kind]; n == 0 {
				t.Error("the fault was not counted")
			}
		})
	}
}

// TestResetInTheBody stands alone: whether the client has read the first half
// when the reset arrives is up to the kernel.
func TestResetInTheBody(t *testing.T) {
	f := newFake(t, Config{Scenario: only(upstream.Action{Kind: "reset_body"})})
	s, err := f.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	got := observe(t.Context(), clientOf(t, s), s.URL()+"/3/tv/9000004")
	if (got.where != "do" && got.where != "read") || !errors.Is(got.err, syscall.ECONNRESET) {
		t.Errorf("at %s: %v; want a reset", got.where, got.err)
	}
}

// TestGoAsksAgainWhenAKeptConnectionEnds is why a fault may seem not to strike:
// on a connection that was used before, Go's client repeats a GET by itself.
func TestGoAsksAgainWhenAKeptConnectionEnds(t *testing.T) {
	f := newFake(t,
		Config{Scenario: upstream.Scenario{Faults: []upstream.Fault{{Match: upstream.Match{Nth: upstream.Numbers{{
			From: 2,
			To:   2,
		}}}, Do: upstream.Action{Kind: "close"}}}}})
	s := start(t, f)
	c := clientOf(t, s)
	for range 2 {
		if r, err := ask(c, s.URL()+"/3/configuration"); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%d, %v", r.StatusCode, err)
		}
	}
	var got []string
	for _, e := range f.Journal() {
		got = append(got, fmt.Sprint(e.Conn, " ", e.Status, e.Fault))
	}
	if want := "1 200|1 0close|2 200"; strings.Join(got, "|") != want {
		t.Errorf("journal %q, want %q", strings.Join(got, "|"), want)
	}
}

// TestFaultsInMemory repeats those that need a connection's help, over pipes.
func TestFaultsInMemory(t *testing.T) {
	for _, row := range []struct {
		kind, where string
		err         error
	}{
		{"reset", "do", syscall.ECONNRESET},
		{"close", "do", io.EOF},
		{"abort", "read", io.ErrUnexpectedEOF},
		{"reset_body", "read", syscall.ECONNRESET},
		{"conn_reset", "do", syscall.ECONNRESET},
		{"hello_reset", "do", syscall.ECONNRESET},
	} {
		t.Run(row.kind, func(t *testing.T) {
			s := start(t, newFake(t, Config{Scenario: only(upstream.Action{Kind: row.kind})}))
			got := observe(t.Context(), clientOf(t, s), s.URL()+"/3/tv/9000004")
			if got.where != row.where || !errors.Is(got.err, row.err) {
				t.Errorf("at %s: %v; want at %s: %v", got.where, got.err, row.where, row.err)
			}
		})
	}
}

// TestSlownessInVirtualTime observes the faults that take time, which a bubble
// makes exact.
func TestSlownessInVirtualTime(t *testing.T) {
	for _, row := range []struct {
		name    string
		do      upstream.Action
		timeout time.Duration // of the request
		header  time.Duration // ResponseHeaderTimeout
		where   string
		takes   time.Duration
	}{
		{
			"late header within the time",
			upstream.Action{Kind: "delay", Delay: upstream.Duration(3 * time.Second)},
			time.Minute, 0, "ok", 3 * time.Second,
		},
		{
			"late header beyond it",
			upstream.Action{Kind: "delay", Delay: upstream.Duration(time.Minute)},
			0, 5 * time.Second,
			"do", 5 * time.Second,
		},
		{"silence", upstream.Action{Kind: "silent"}, 10 * time.Second, 0, "do", 10 * time.Second},
		{"silent connection", upstream.Action{Kind: "conn_silent"}, 10 * time.Second, 0, "do", 10 * time.Second},
		{"drip is not seen by the header timeout", upstream.Action{
			Kind: "drip", Bytes: 8,
			Every: upstream.Duration(200 * time.Millisecond),
		}, 10 * time.Second, time.Second, "read", 10 * time.Second},
		{
			"drip to its end",
			upstream.Action{Kind: "drip", Bytes: 1 << 20, Every: upstream.Duration(time.Hour)},
			time.Minute,
			0, "ok", 0,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFake(t, Config{Scenario: only(row.do)}).ListenMem()
				tr := s.Transport()
				tr.ResponseHeaderTimeout = row.header
				ctx, cancel := t.Context(), func() {}
				if row.timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, row.timeout)
				}
				began := time.Now()
				got := observe(ctx, &http.Client{Transport: tr}, s.URL()+"/3/tv/9000001")
				took := time.Since(began)
				cancel()
				if got.where != row.where || took != row.takes {
					t.Errorf("at %s after %s: %v; want at %s after %s", got.where, took, got.err, row.where, row.takes)
				}
				tr.CloseIdleConnections()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestHeaderFaultsReachRefusalsToo(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }
	limits, err := upstream.ParseLimits("fixed:1/1h,retry_after=date")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name         string
		do           upstream.Action
		header, want string
	}{
		{
			"skew",
			upstream.Action{Kind: "date_skew", Skew: upstream.Duration(-time.Hour)},
			"Date",
			"Thu, 01 Jan 2026 11:00:00 GMT",
		},
		{
			"a date follows the skew",
			upstream.Action{Kind: "date_skew", Skew: upstream.Duration(-time.Hour)},
			"Retry-After",
			"Thu, 01 Jan 2026 12:00:00 GMT",
		},
		{"no date", upstream.Action{Kind: "no_date"}, "Date", ""},
		{"age", upstream.Action{Kind: "age", Delay: upstream.Duration(90 * time.Second)}, "Age", "90"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := start(t, newFake(t, Config{Limits: limits, Clock: clock, Scenario: only(row.do)}))
			c := clientOf(t, s)
			var r reply
			for range 2 {
				if r, err = ask(c, s.URL()+"/3/configuration"); err != nil {
					t.Fatal(err)
				}
			}
			if got := r.Header.Get(row.header); r.StatusCode != http.StatusTooManyRequests || got != row.want {
				t.Errorf("%d with %s %q, want 429 with %q", r.StatusCode, row.header, got, row.want)
			}
		})
	}
}

func TestStaleETagNeverMatches(t *testing.T) {
	s := start(t, newFake(t, Config{Scenario: only(upstream.Action{Kind: "stale_etag"})}))
	c := clientOf(t, s)
	tag := ""
	for range 3 {
		r, err := ask(c, s.URL()+"/3/configuration", "If-None-Match", tag)
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != http.StatusOK || r.Header.Get("ETag") == tag {
			t.Fatalf("%d with ETag %q after %q", r.StatusCode, r.Header.Get("ETag"), tag)
		}
		tag = r.Header.Get("ETag")
	}
}

func TestHTTP2AbortIsAStreamError(t *testing.T) {
	authority, err := cert.New(time.Now(), cert.Good)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"abort", "reset"} {
		s, err := newFake(t, Config{Scenario: only(upstream.Action{Kind: kind})}).ListenTLS("127.0.0.1:0", authority.Leaf,
			authority.Roots())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		got := observe(t.Context(), clientOf(t, s), s.URL()+"/3/tv/9000004")
		if got.err == nil || !strings.Contains(got.err.Error(), "INTERNAL_ERROR") {
			t.Errorf("%s: at %s: %v; want a stream error INTERNAL_ERROR", kind, got.where, got.err)
		}
	}
}

func TestCertificatesThatAClientMustRefuse(t *testing.T) {
	now := time.Now()
	good, err := cert.New(now, cert.Good)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		fault cert.Fault
		trust bool
		clock time.Duration
		ok    bool
	}{
		{"good", cert.Good, true, 0, true},
		{"unknown authority", cert.Good, false, 0, false},
		{"expired", cert.Expired, true, 0, false},
		{"wrong name", cert.WrongName, true, 0, false},
		{"local clock a year ahead", cert.Good, true, 366 * 24 * time.Hour, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			own, err := cert.New(now, row.fault)
			if err != nil {
				t.Fatal(err)
			}
			s, err := newFake(t, Config{}).ListenTLS("127.0.0.1:0", own.Leaf, own.Roots())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			tr := s.Transport()
			t.Cleanup(tr.CloseIdleConnections)
			if !row.trust {
				tr.TLSClientConfig.RootCAs = good.Roots()
			}
			tr.TLSClientConfig.Time = func() time.Time { return time.Now().Add(row.clock) }
			got := observe(t.Context(), &http.Client{Transport: tr}, s.URL()+"/3/configuration")
			var refused *tls.CertificateVerificationError
			if row.ok && (got.where != "ok" || got.reply.ProtoMajor != 2) {
				t.Errorf("at %s: %v", got.where, got.err)
			}
			if !row.ok && !errors.As(got.err, &refused) {
				t.Errorf("at %s: %v; want a CertificateVerificationError", got.where, got.err)
			}
		})
	}
}

func TestTLSToThePlainPort(t *testing.T) {
	s, err := newFake(t, Config{}).Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	got := observe(t.Context(), clientOf(t, s), strings.Replace(s.URL(), "http:", "https:", 1)+"/3/configuration")
	if got.err == nil || !strings.Contains(got.err.Error(), "server gave HTTP response to HTTPS client") {
		t.Errorf("at %s: %v", got.where, got.err)
	}
}

func TestRefusalTakesItsBodyAndHeaders(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 5e8, time.UTC) }
	for _, row := range []struct{ limit, contentType, body, retry, quota string }{
		{"sliding:1/1s", "application/json;charset=utf-8", `"status_code":25`, "", ""},
		{"sliding:1/1s,body=nosuccess,retry_after=delta", "application/json;charset=utf-8", `{"status_code":25`, "1", ""},
		{"fixed:1/10s,body=html,retry_after=date", "text/html", "429 Too Many Requests", "Thu, 01 Jan 2026 00:00:10 GMT", ""},
		{"legacy:1/10s,body=empty,retry_after=zero", "", "", "0", "1 0 1767225610"},
	} {
		t.Run(row.limit, func(t *testing.T) {
			l, err := upstream.ParseLimits(row.limit)
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, newFake(t, Config{Limits: l, Clock: clock}))
			c := clientOf(t, s)
			if _, err := ask(c, s.URL()+"/3/configuration"); err != nil {
				t.Fatal(err)
			}
			r, err := ask(c, s.URL()+"/3/configuration")
			if err != nil {
				t.Fatal(err)
			}
			quota := strings.TrimSpace(r.Header.Get("X-RateLimit-Limit") + " " + r.Header.Get("X-RateLimit-Remaining") + " " +
				r.Header.Get("X-RateLimit-Reset"))
			if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != row.retry || quota != row.quota ||
				r.Header.Get("Content-Type") != row.contentType || !strings.Contains(string(r.body), row.body) {
				t.Errorf("%s: %d %v %q", row.limit, r.StatusCode, r.Header, r.body)
			}
		})
	}
}
