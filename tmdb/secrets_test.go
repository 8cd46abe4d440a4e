package tmdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

const (
	canaryToken = "eyJhbGciOi.CANARYTOKEN.c2lnbmF0dXJl"
	canaryKey   = "ca9a51ca9a51ca9a51ca9a51ca9a51ca"
)

// leaks looks for a canary in everything that prints v.
func leaks(t *testing.T, what string, v any) {
	t.Helper()
	check := func(how, text string) {
		for _, secret := range []string{canaryToken, canaryKey, "CANARYTOKEN"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s, %s: %s", what, how, text)
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		check(verb, fmt.Sprintf(verb, v))
		check(verb+" in a struct", fmt.Sprintf(verb, struct{ V any }{v}))
		check(verb+" in a slice", fmt.Sprintf(verb, []any{v}))
	}
	if raw, err := json.Marshal(v); err == nil {
		check("json", string(raw))
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", v)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v)
	check("slog", b.String())
	for err, ok := v.(error); ok && err != nil; err = errors.Unwrap(err) {
		check("an unwrapped error", err.Error())
		check("an unwrapped error with %#v", fmt.Sprintf("%#v", err))
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	replies := map[string]reply{
		"answer":     {status: 200, body: good},
		"404 echo":   {status: 404, echo: 34},
		"401 echo":   {status: 401, echo: 7},
		"200 echo":   {status: 200, echo: 11},
		"429 echo":   {status: 429, echo: 25},
		"HTML":       {status: 200, body: "<" + canaryKey},
		"wrong kind": {status: 200, body: `{"id":"x"}`},
		"cut":        {status: 200, body: `{"id":"` + canaryKey},
		"reset":      {err: syscall.ECONNRESET},
		"DNS":        {err: &net.DNSError{Name: "x", IsNotFound: true}},
		"URL error":  {err: inURL(inURL(errors.New("no")))},
		"not HTTP":   {err: errors.New(`malformed HTTP response "GET /?api_key=` + canaryKey + ` ` + canaryToken + `"`)},
		"redirect":   {status: 302, location: "https://evil.example.com"},
	}
	for _, o := range []Options{{Token: canaryToken, APIKey: canaryKey}, {APIKey: canaryKey}} {
		leaks(t, "options", o)
		leaks(t, "options pointer", &o)
		for name, reply := range replies {
			t.Run(name, func(t *testing.T) {
				latch := NewKeyLatch(NewWire(roundTrip(reply.send)))
				o := o
				o.HTTPClient = &http.Client{Transport: latch}
				o.OnUndecodable = func(r *http.Request) {
					leaks(t, "OnUndecodable", r)
					leaks(t, "OnUndecodable", *r)
					leaks(t, "OnUndecodable URL", r.URL)
				}
				c, err := New(o)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // the second meets the key latch's verdict
					v, resp, err := c.TV(t.Context(), 9000001, DetailOptions{Language: "en-US"})
					if (name == "answer") != (err == nil) {
						t.Fatalf("error %v", err)
					}
					leaks(t, "value", v)
					leaks(t, "error", err)
					leaks(t, "response", resp)
					if resp != nil {
						leaks(t, "http response", resp.Response)
						leaks(t, "http response", *resp.Response)
						leaks(t, "request", resp.Request)
						leaks(t, "request", *resp.Request)
						leaks(t, "URL", resp.Request.URL)
					}
				}
				leaks(t, "client", c)
				leaks(t, "client", *c)
				leaks(t, "latch", latch)
			})
		}
	}
}

func TestErrorsOfACallersDeadlineOmitTheURL(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := clientFor(
		t, Options{APIKey: canaryKey}, func(r *http.Request) (*http.Response, error) { return nil, r.Context().Err() },
	)
	_, _, err := c.SearchTV(ctx, SearchTVOptions{Query: "x"})
	if !errors.Is(err, context.Canceled) || err.Error() != "tmdb: GET /3/search/tv: context canceled" {
		t.Errorf("got %v", err)
	}
}

func TestForeignErrorsAreScrubbed(t *testing.T) {
	for _, text := range []string{"tmdb: failed with " + canaryKey, "other: ?api_key=" + canaryKey} {
		c := clientFor(
			t, Options{APIKey: canaryKey}, func(*http.Request) (*http.Response, error) { return nil, errors.New(text) },
		)
		_, _, err := c.Configuration(t.Context())
		if strings.Contains(err.Error(), canaryKey) || !strings.Contains(err.Error(), redactedPlaceholder) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWithoutCredentialsKeepsTheRest(t *testing.T) {
	req := httptest.NewRequest(
		http.MethodGet,
		"https://api.example.org/3/tv/1?api_key="+canaryKey+"&append_to_response=season/1,season/2&language=en-US", nil,
	)
	req.Header.Set("Authorization", "Bearer "+canaryToken)
	clean := withoutCredentials(req)
	want := "https://api.example.org/3/tv/1?append_to_response=season/1,season/2&language=en-US"
	if clean.URL.String() != want {
		t.Errorf("got %s", clean.URL)
	}
	if req.Header.Get("Authorization") == "" || !strings.Contains(req.URL.RawQuery, canaryKey) {
		t.Error("the request itself was changed")
	}
}

func TestShortTextFitsALine(t *testing.T) {
	tests := map[string]string{
		"plain":                    "plain",
		"two\nlines\ttab":          "two lines tab",
		"\x1b[31mred\x1b[0m\u202e": "[31mred[0m",
		strings.Repeat("é", 40):    strings.Repeat("é", 20) + "…",
		"bad \xff":                 "bad \uFFFD",
		"":                         "",
	}
	for in, want := range tests {
		if got := shortText(in, 20); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTheBodyIsReadAndClosed(t *testing.T) {
	body := &closing{Reader: strings.NewReader(good)}
	c := clientFor(t, Options{}, func(r *http.Request) (*http.Response, error) {
		resp := answer(r, 200, jsonType, "")
		resp.Header.Set("X-Thing", "kept")
		resp.Body = body
		return resp, nil
	})
	_, resp, err := c.TV(t.Context(), 9000001, DetailOptions{})
	if err != nil || !body.closed || resp.Header.Get("X-Thing") != "kept" {
		t.Fatalf("%v closed=%v %v", err, body.closed, resp)
	}
	if n, _ := io.Copy(io.Discard, resp.Body); n != 0 {
		t.Error("the body can be read twice")
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }
