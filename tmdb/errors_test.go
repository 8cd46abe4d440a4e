package tmdb

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/ratelimit"
)

func TestErrorBodies(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   Error
	}{
		{
			"in order", 404,
			`{"success":false,"status_code":34,"status_message":"The resource you requested could not be found."}`,
			Error{Code: 34, Message: "The resource you requested could not be found."},
		},
		{"in another order", 400, `{"status_message":"m","success":false,"status_code":22}`, Error{Code: 22, Message: "m"}},
		{
			"without success", 429,
			`{"status_code":25,"status_message":"Your request count (41) is over the allowed limit of (40)."}`,
			Error{Code: 25, Message: "Your request count (41) is over the allowed limit of (40)."},
		},
		{
			"with failure", 404, `{"success":false,"failure":true,"status_code":6,"status_message":"m"}`,
			Error{Code: 6, Message: "m"},
		},
		{
			"errors list", 422, `{"errors":["query must be provided","page must be less than 500"]}`,
			Error{Message: "query must be provided; page must be less than 500"},
		},
		{"errors of another kind", 422, `{"errors":[{"a":1},"b",null,3]}`, Error{Message: "b"}},
		{"errors list that is not a 422's", 404, `{"errors":["no such route"]}`, Error{Foreign: ReasonShape}},
		{"a message alone", 403, `{"status_message":"Forbidden"}`, Error{Foreign: ReasonShape}},
		{"code as text", 500, `{"status_code":"11"}`, Error{Code: 11}},
		{"code as a fraction", 500, `{"status_code":11.0}`, Error{Code: 11}},
		{"code out of all bounds", 500, `{"status_code":1e300,"status_message":null}`, Error{Foreign: ReasonShape}},
		{
			"control characters", 500, "{\"status_code\":11,\"status_message\":\"a\\u001b[2Jb\\nc\"}",
			Error{Code: 11, Message: "a[2Jb c"},
		},
		{"HTML", 502, "<html><head><title>502</title>", Error{Foreign: ReasonHTML}},
		{"nothing", 504, "", Error{Foreign: ReasonEmpty}},
		{"a list", 500, `[1,2]`, Error{Foreign: ReasonShape}},
		{"cut", 500, `{"status_code":11,"status_mess`, Error{Foreign: ReasonCut}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := clientFor(
				t, Options{}, func(r *http.Request) (*http.Response, error) { return answer(r, tt.status, jsonType, tt.body), nil },
			)
			_, resp, err := c.TV(t.Context(), 9000001, DetailOptions{})
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			want := tt.want
			want.HTTPStatus, want.Method, want.Path = tt.status, "GET", "/3/tv/9000001"
			if diff := cmp.Diff(want, *got); diff != "" {
				t.Error(diff)
			}
			if resp == nil || resp.StatusCode != tt.status {
				t.Errorf("response %v", resp)
			}
		})
	}
}

func TestErrorTexts(t *testing.T) {
	e := &Error{HTTPStatus: 404, Code: 34, Message: "Not there.", Method: "GET", Path: "/3/tv/1"}
	tests := map[string]error{
		"tmdb: GET /3/tv/1: HTTP 404 Not Found: Not there. (code 34)": e,
		"tmdb: GET /3/tv/1: HTTP 403 Forbidden, not TMDB's own answer (an HTML page instead of JSON)": &Error{
			HTTPStatus: 403, Method: "GET", Path: "/3/tv/1", Foreign: ReasonHTML,
		},
		"tmdb: GET /3/tv/1: HTTP 599": &Error{
			HTTPStatus: 599, Method: "GET", Path: "/3/tv/1",
		},
		"tmdb: the key was refused: " + e.Error(): &UnauthorizedError{
			Cause: e, WasSent: true,
		},
		"tmdb: not sent, the key was refused before: " + e.Error(): &UnauthorizedError{
			Cause: e,
		},
		"tmdb: the key was refused": &UnauthorizedError{},
		"tmdb: undecodable answer to /3/tv/1: an HTML page instead of JSON (12 bytes, text/html)": &DecodeError{
			Path: "/3/tv/1", Reason: ReasonHTML, ContentType: "text/html", Size: 12,
		},
		"tmdb: undecodable answer to /3/tv/1: JSON of another kind (2 bytes): no id": &DecodeError{
			Path: "/3/tv/1", Reason: ReasonShape, Size: 2, Err: errNoID,
		},
		"tmdb: redirect to another server (evil.example.com)": &ConfigError{
			Kind: ConfigRedirect, Host: "evil.example.com",
		},
		"tmdb: Page must be 1 to 500": newQuery().setPage(
			-1,
		).err,
		"tmdb: TLS on a port that speaks plain HTTP (h:1): " +
			"http: server gave HTTP response to HTTPS client": &ConfigError{
			Kind: ConfigPlainPort, Host: "h:1", Err: http.ErrSchemeMismatch,
		},
		"tmdb: id may hold letters, digits, '-', '_' and '.' only": newQuery().requireSegment(
			"id", "a/b",
		).err,
		"tmdb: Append holds more than 20 items (TMDB answers 400); TVComplete makes several requests": newQuery().setAppends(
			make([]string, 21),
		).err,
	}
	for want, err := range tests {
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
	if (&UnauthorizedError{}).Unwrap() != nil {
		t.Error("a refusal without a cause unwraps to something")
	}
}

func TestUndecodableAnswersAreReported(t *testing.T) {
	tests := []struct {
		name, body string
		reason     Reason
	}{
		{"HTML", "<html>", ReasonHTML},
		{"empty", "", ReasonEmpty},
		{"spaces", " \n", ReasonEmpty},
		{"cut", good[:12], ReasonCut},
		{"list", "[]", ReasonShape},
		{"text", "busy", ReasonNotJSON},
		{"gzip", "\x1f\x8b\x08\x00\x00", ReasonGzip},
		{"another kind", `{"results":[]}`, ReasonShape},
		{"wrong type", `{"id":{}}`, ReasonShape},
		{"too large", `{"id":1}` + strings.Repeat(" ", MaxBody), ReasonTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var dropped []string
			c := clientFor(t, Options{OnUndecodable: func(r *http.Request) { dropped = append(dropped, r.URL.String()) }},
				func(r *http.Request) (*http.Response, error) { return answer(r, 200, "text/plain", tt.body), nil })
			_, resp, err := c.TV(t.Context(), 9000001, DetailOptions{})
			var d *DecodeError
			if !errors.As(err, &d) || d.Reason != tt.reason || d.ContentType != "text/plain" || resp == nil {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff([]string{"https://api.themoviedb.org/3/tv/9000001"}, dropped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsAreNotReportedAsUndecodable(t *testing.T) {
	c := clientFor(t, Options{OnUndecodable: func(*http.Request) { t.Error("called") }},
		func(r *http.Request) (*http.Response, error) { return answer(r, 502, "text/html", "<html>"), nil })
	if _, _, err := c.Configuration(t.Context()); err == nil {
		t.Error("a 502 was taken for an answer")
	}
}

func FuzzErrorBody(f *testing.F) {
	f.Add(404, []byte(`{"success":false,"status_code":34,"status_message":"m"}`))
	f.Add(422, []byte(`{"errors":["query must be provided"]}`))
	f.Add(200, []byte(`{"status_code":25}`))
	f.Add(429, []byte("\xef\xbb\xbf<html>\x00"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		req := httptest.NewRequest(http.MethodGet, "/3/tv/1?api_key="+canaryKey, nil)
		resp := &http.Response{StatusCode: status, Header: http.Header{}}
		if e, ok := errors.AsType[*Error](Valid(req, resp, body)); ok {
			if !utf8.ValidString(e.Message) || utf8.RuneCountInString(e.Message) > 301 || strings.ContainsAny(
				e.Message, "\n\x1b\x00",
			) {
				t.Fatalf("message %q", e.Message)
			}
			if e.Code < 0 || e.Code > 1e6 || e.Foreign != "" && (e.Code != 0 || e.Message != "") {
				t.Fatalf("code %d, foreign %q", e.Code, e.Foreign)
			}
		}
		if got := Classify(req, resp, body, nil); got == ratelimit.Cancelled || got == ratelimit.Network {
			t.Fatalf("an answer classified as %v", got)
		}
	})
}

func FuzzDecodeDetails(f *testing.F) {
	f.Add(fixture(f, "tv_details"))
	f.Add([]byte(`{"id":1,"season/1":{"episodes":[{}]},"season/2":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := New(Options{HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, jsonType, string(body)), nil
		})}})
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := c.TV(t.Context(), 1, DetailOptions{})
		if (err == nil) != (d != nil) {
			t.Fatalf("%v and %v", d, err)
		}
		if d != nil && d.ID <= 0 {
			t.Fatal("details without an id")
		}
		if d != nil {
			for n, s := range d.AppendedSeasons {
				if n < 0 || s == nil || s.Episodes == nil {
					t.Fatalf("season %d is %v", n, s)
				}
			}
		}
	})
}

// A gateway that refuses a question has not asked TMDB for the entry. It refuses the key only by a 401.
func TestARefusalOfAGatewayIsNotTMDBs(t *testing.T) {
	for status, code := range map[int]int{401: 7, 403: 3, 404: 34} {
		e := &Error{HTTPStatus: status, Code: code, Gateway: "reason"}
		if errors.Is(e, ErrNotFound) {
			t.Errorf("%d: TMDB does not have the entry", status)
		}
		if got := e.keyRefused(); got != (status == 401) {
			t.Errorf("%d: the key is refused: %t", status, got)
		}
	}
}
