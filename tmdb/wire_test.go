package tmdb

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/anivault/anivault/ratelimit"
)

func gzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// through asks a real server, so that net/http's own decompression and framing take part, through the wire.
func through(t *testing.T, h http.HandlerFunc) exchanged {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	tr := NewHTTPTransport(TransportOptions{})
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/3/tv/9000001", nil)
	if err != nil {
		t.Fatal(err)
	}
	return roundTripOf(NewWire(tr), req)
}

const good = `{"id":9000001,"name":"Lantern Keepers"}`

func send(status int, body []byte, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

func TestWireReadsBodies(t *testing.T) {
	bomb := gzipped(t, make([]byte, MaxBody+1))
	cut := gzipped(t, []byte(good))
	cut = cut[:len(cut)-6]
	badSum := gzipped(t, []byte(good))
	badSum[len(badSum)-6] ^= 0xff
	tests := []struct {
		name   string
		serve  http.HandlerFunc
		body   string // of the answer
		reason Reason // of a DecodeError
		is     error
		class  ratelimit.Outcome
	}{
		{"plain", send(200, []byte(good)), good, "", nil, ratelimit.OK},
		{
			"gzip with its header", send(200, gzipped(t, []byte(good)), "Content-Encoding", "gzip"), good, "", nil,
			ratelimit.OK,
		},
		{"gzip without its header", send(200, gzipped(t, []byte(good))), good, "", nil, ratelimit.OK},
		{
			"gzip in two members", send(200, append(gzipped(t, []byte(good[:9])), gzipped(t, []byte(good[9:]))...)), good, "",
			nil, ratelimit.OK,
		},
		{
			"gzip twice without a header", send(200, gzipped(t, gzipped(t, []byte(good)))), "", ReasonGzip, errDoubleGzip,
			ratelimit.Server,
		},
		{
			"gzip twice with one header", send(200, gzipped(t, gzipped(t, []byte(good))), "Content-Encoding", "gzip"), "",
			ReasonGzip, errDoubleGzip, ratelimit.Server,
		},
		{
			"header without gzip", send(200, []byte(good), "Content-Encoding", "gzip"), "", ReasonGzip, gzip.ErrHeader,
			ratelimit.Server,
		},
		{"cut gzip without a header", send(200, cut), "", ReasonGzip, io.ErrUnexpectedEOF, ratelimit.Server},
		{"gzip with a wrong checksum", send(200, badSum), "", ReasonGzip, gzip.ErrChecksum, ratelimit.Server},
		{"bomb", send(200, bomb), "", ReasonTooLarge, errUnpackedTooLarge, ratelimit.Server},
		{"bomb with its header", send(200, bomb, "Content-Encoding", "gzip"), "", ReasonTooLarge, nil, ratelimit.Server},
		{"too large", send(200, bytes.Repeat([]byte(" "), MaxBody+1)), "", ReasonTooLarge, nil, ratelimit.Server},
		{
			"as large as may be", send(200, []byte(good+strings.Repeat(" ", MaxBody-len(good)))),
			good + strings.Repeat(" ", MaxBody-len(good)), "", nil, ratelimit.OK,
		},
		{"cut with a length", hangUp(100, good), "", "", io.ErrUnexpectedEOF, ratelimit.Network},
		{"cut in chunks", hangUp(-1, good), "", "", io.ErrUnexpectedEOF, ratelimit.Network},
		{"cut JSON", send(200, []byte(good[:20])), good[:20], "", nil, ratelimit.Server},
		{"empty", send(200, nil), "", "", nil, ratelimit.Server},
		{"204", send(204, nil), "", "", nil, ratelimit.Server},
		{
			"HTML", send(200, []byte("<!DOCTYPE html><title>Login</title>"), "Content-Type", "text/html"),
			"<!DOCTYPE html><title>Login</title>", "", nil, ratelimit.Server,
		},
		{"an error status keeps a body that cannot be unpacked", send(503, cut), string(cut), "", nil, ratelimit.Server},
		{
			"an error status unpacks its body", send(404, gzipped(t, []byte(`{"status_code":34}`))), `{"status_code":34}`, "",
			nil, ratelimit.Client,
		},
		{
			"a 429 survives a wrong header", send(429, []byte("slow"), "Content-Encoding", "gzip", "Retry-After", "2"), "", "",
			nil, ratelimit.Throttled,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := through(t, tt.serve)
			body, err := x.body, x.err
			if got := Classify(httptest.NewRequest(http.MethodGet, "/", nil), x.resp, body, err); got != tt.class {
				t.Errorf("classified as %v, want %v (%v)", got, tt.class, err)
			}
			var decode *DecodeError
			switch {
			case tt.is != nil && !errors.Is(err, tt.is):
				t.Errorf("error %v, want %v", err, tt.is)
			case errors.As(err, &decode) != (tt.reason != ""):
				t.Errorf("error %v, want reason %q", err, tt.reason)
			case tt.reason != "" && decode.Reason != tt.reason:
				t.Errorf("reason %q, want %q", decode.Reason, tt.reason)
			case err == nil && string(body) != tt.body:
				t.Errorf("body of %d bytes, want %d: %.60q", len(body), len(tt.body), body)
			case err == nil && x.resp.ContentLength != int64(len(body)):
				t.Errorf("ContentLength %d, body %d", x.resp.ContentLength, len(body))
			}
		})
	}
}

// hangUp sends a part of the body and then closes the connection; length -1 sends chunks.
func hangUp(length int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if length >= 0 {
			w.Header().Set("Content-Length", fmt.Sprint(length))
		}
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// The body of a 101 is the connection: reading it would end neither with the request's context nor by itself.
func TestWireRefusesAnotherProtocol(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	got := through(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		go func() {
			<-end
			conn.Close()
		}()
	})
	if config, ok := errors.AsType[*ConfigError](got.err); !ok || config.Kind != ConfigNotHTTP {
		t.Errorf("%v", got.err)
	}
}

func TestWireRefusesATLSPort(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	plain := "http" + strings.TrimPrefix(server.URL, "https")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&wire{next: http.DefaultTransport}).RoundTrip(req) //nolint:bodyclose // there is none
	if config, ok := errors.AsType[*ConfigError](err); !ok || config.Kind != ConfigNotHTTP {
		t.Errorf("%v", err)
	}
}

func TestWireRefusesRedirectsToOthers(t *testing.T) {
	tests := []struct {
		from, to string
		want     ConfigKind // "" means it passes
	}{
		{"https://api.example.org/3/tv/1", "https://evil.example.com/3/tv/1", ConfigRedirect},
		{"https://api.example.org/3/tv/1", "//evil.example.com/x", ConfigRedirect},
		{"https://api.example.org/3/tv/1", "http://api.example.org/3/tv/1", ConfigDowngrade},
		{"http://nas:8080/3/tv/1", "https://nas:9443/3/tv/1", ConfigRedirect},
		{"http://nas:8080/3/tv/1", "https://nas/3/tv/1", ConfigRedirect},
		{"http://nas/3/tv/1", "https://nas:9443/3/tv/1", ConfigRedirect},
		{"http://nas:8080/3/tv/1", "https://nas:8080/3/tv/1", ""},
		{"https://api.example.org/3/tv/1", "https://api.example.org:8443/3/tv/1", ConfigRedirect},
		{"https://api.example.org/3/tv/1", "/3/tv/2", ""},
		{"https://api.example.org/3/tv/1", "https://API.example.org:443/3/tv/2", ""},
		{"http://api.example.org/3/tv/1", "https://api.example.org/3/tv/1", ""},
		{"https://api.example.org/3/tv/1", "", ""},
	}
	for _, tt := range tests {
		for _, status := range []int{301, 302, 303, 307, 308} {
			req := httptest.NewRequest(http.MethodGet, tt.from, nil)
			x := roundTripOf(NewWire(roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: http.Header{"Location": {tt.to}}, Body: http.NoBody}, nil
			})), req)
			err := x.err
			var config *ConfigError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("%d %s -> %s: refused: %v", status, tt.from, tt.to, err)
			case tt.want == "" && Classify(req, x.resp, nil, nil) != ratelimit.Client:
				t.Errorf("%d %s -> %s: classified as %v", status, tt.from, tt.to, Classify(req, x.resp, nil, nil))
			case tt.want != "" && (!errors.As(err, &config) || config.Kind != tt.want):
				t.Errorf("%d %s -> %s: got %v, want %s", status, tt.from, tt.to, err, tt.want)
			case tt.want != "" && Classify(req, nil, nil, err) != ratelimit.Misconfigured:
				t.Errorf("%d %s -> %s: classified as %v", status, tt.from, tt.to, Classify(req, nil, nil, err))
			}
			// The same without the wire: the answer itself says it.
			if tt.want != "" {
				raw := &http.Response{StatusCode: status, Header: http.Header{"Location": {tt.to}}}
				if got := Classify(req, raw, nil, nil); got != ratelimit.Misconfigured {
					t.Errorf("%d %s -> %s: answer classified as %v", status, tt.from, tt.to, got)
				}
			}
		}
	}
}

func TestTheClientSendsItsKeyToNobodyElse(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was asked: %v", r.Header)
	}))
	defer other.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}))
	defer home.Close()
	for name, hc := range map[string]*http.Client{"own transports": nil, "http.Client alone": {}} {
		c, err := New(Options{BaseURL: home.URL, Token: "canary", HTTPClient: hc})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.TV(t.Context(), 9000001, DetailOptions{})
		var config *ConfigError
		if !errors.As(err, &config) || config.Kind != ConfigRedirect {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTheClientFollowsTheSameHostFiveTimesAtMost(t *testing.T) {
	hops := 0
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hops++
		if r.URL.Path == "/3/tv/9000001" {
			http.Redirect(w, r, "/3/tv/9000002", http.StatusMovedPermanently)
			return
		}
		if r.URL.Path == "/3/tv/9000002" {
			_, _ = io.WriteString(w, good)
			return
		}
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	}))
	defer home.Close()
	c, err := New(Options{BaseURL: home.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := c.TV(t.Context(), 9000001, DetailOptions{}); err != nil || v.ID != 9000001 {
		t.Errorf("one hop: %v", err)
	}
	hops = 0
	_, _, err = c.TV(t.Context(), 9000003, DetailOptions{})
	var config *ConfigError
	if !errors.As(err, &config) || hops != maxRedirects+1 {
		t.Errorf("a loop: %v after %d requests", err, hops)
	}
}

func TestWirePassesErrorsOn(t *testing.T) {
	for _, want := range []error{syscall.ECONNRESET, io.EOF, context.DeadlineExceeded} {
		x := roundTripOf(
			NewWire(roundTrip(reply{err: want}.send)), httptest.NewRequest(http.MethodGet, "https://api.example.org/", nil),
		)
		if !errors.Is(x.err, want) {
			t.Errorf("got %v, want %v", x.err, want)
		}
	}
}

func TestWireLeavesA304WithoutABody(t *testing.T) {
	x := through(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `W/"x"`)
		w.WriteHeader(http.StatusNotModified)
	})
	if x.err != nil || x.resp.StatusCode != http.StatusNotModified || len(x.body) != 0 || x.resp.Header.Get("ETag") == "" {
		t.Fatalf("%v %v %q", x.resp, x.err, x.body)
	}
	if got := Classify(x.resp.Request, x.resp, x.body, nil); got != ratelimit.OK {
		t.Errorf("classified as %v", got)
	}
}

func FuzzWire(f *testing.F) {
	f.Add(200, []byte(good), "")
	f.Add(200, gzipped(f, []byte(good)), "")
	f.Add(200, gzipped(f, gzipped(f, []byte(good))), "gzip")
	f.Add(503, []byte{0x1f, 0x8b, 8}, "gzip")
	f.Add(302, []byte("x"), "")
	f.Fuzz(func(t *testing.T, status int, body []byte, encoding string) {
		if status < 200 || status > 599 {
			return
		}
		req := httptest.NewRequest(http.MethodGet, "https://api.example.org/3/tv/1", nil)
		x := roundTripOf(NewWire(roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, status, jsonType, string(body))
			resp.Header.Set("Content-Encoding", encoding)
			return resp, nil
		})), req)
		if x.err != nil {
			if status > 299 {
				t.Fatalf("status %d became %v", status, x.err)
			}
			if got := Classify(req, nil, nil, x.err); got != ratelimit.Server {
				t.Fatalf("%v classified as %v", x.err, got)
			}
			return
		}
		text := x.body
		if status < 300 && isGzip(text) {
			t.Fatal("a compressed body passed as text")
		}
		if !isGzip(body) && !bytes.Equal(text, body) {
			t.Fatal("a plain body was changed")
		}
	})
}
