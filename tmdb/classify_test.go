package tmdb

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/anivault/anivault/ratelimit"
)

const page = `<html><body>Service Unavailable</body></html>`

var answerRows = []struct {
	name   string
	status int
	body   string
	want   ratelimit.Outcome
}{
	{
		"a gateway without permission", 429, `{"success":false,"status_code":25,"anivault":{"code":"1002"}}`,
		ratelimit.Deferred,
	},
	{"a gateway in Sleep", 503, `{"success":false,"status_code":9,"anivault":{"code":"1004"}}`, ratelimit.Deferred},
	{
		"a gateway in CacheOnly", 503, `{"success":false,"status_code":9,"anivault":{"reason":"cacheonly"}}`,
		ratelimit.Client,
	},
	{"an offline gateway", 503, `{"success":false,"status_code":9,"anivault":{"reason":"offline"}}`, ratelimit.Client},
	{
		"a gateway whose TMDB fails", 502, `{"success":false,"status_code":43,"anivault":{"code":"1006"}}`,
		ratelimit.Deferred,
	},
	{
		"a gateway that asks itself", 508, `{"success":false,"status_code":5,"anivault":{"reason":"loop"}}`,
		ratelimit.Misconfigured,
	},
	{
		"a gateway whose TMDB is slow", 504, `{"success":false,"status_code":24,"anivault":{"code":"1003"}}`,
		ratelimit.Deferred,
	},
	{"a gateway with a fault", 500, `{"success":false,"status_code":11,"anivault":{"code":"9999"}}`, ratelimit.Server},
	{
		"a gateway that does not know the client", 401,
		`{"success":false,"status_code":7,"anivault":{"reason":"unauthorized"}}`, ratelimit.Client,
	},
	{
		"a gateway that refuses the question", 403, `{"success":false,"status_code":3,"anivault":{"reason":"private"}}`,
		ratelimit.Client,
	},
	{"an answer", 200, good, ratelimit.OK},
	{"not modified", 304, "", ratelimit.OK},
	{"429", 429, `{"status_code":25,"status_message":"over"}`, ratelimit.Throttled},
	{"429 with a page", 429, page, ratelimit.Throttled},
	{"429 with nothing", 429, "", ratelimit.Throttled},
	{"code 25 in a 200", 200, `{"success":false,"status_code":25}`, ratelimit.Throttled},
	{"code 25 in a 200 without success", 200, `{"status_message":"over","status_code":25}`, ratelimit.Throttled},
	{"code 25 in a 503", 503, `{"status_code":25}`, ratelimit.Throttled},
	{"code 25 in a 401", 401, `{"status_code":25}`, ratelimit.Throttled},
	{"500", 500, `{"status_code":11}`, ratelimit.Server},
	{"502 with a page", 502, page, ratelimit.Server},
	{"503 maintenance", 503, `{"status_code":46}`, ratelimit.Server},
	{"504 with nothing", 504, "", ratelimit.Server},
	{"408", 408, `{"status_code":24}`, ratelimit.Server},
	{"200 with a page", 200, page, ratelimit.Server},
	{"200 with a page after a byte order mark", 200, "\xef\xbb\xbf" + page, ratelimit.Server},
	{"200 with nothing", 200, "", ratelimit.Server},
	{"200 with a byte order mark", 200, "\xef\xbb\xbf", ratelimit.Server},
	{"204", 204, "", ratelimit.Server},
	{"200 cut", 200, good[:10], ratelimit.Server},
	{"200 with a list", 200, `[]`, ratelimit.Server},
	{"200 with null", 200, `null`, ratelimit.Server},
	{"200 with gzip", 200, "\x1f\x8b\x08\x00", ratelimit.Server},
	{"200 with two objects", 200, `{}{}`, ratelimit.Server},
	{"200 saying maintenance", 200, `{"success":false,"status_code":46}`, ratelimit.Server},
	{"200 saying not found", 200, `{"success":false,"status_code":34}`, ratelimit.Client},
	{"200 saying that the id is invalid", 200, `{"success":false,"status_code":6}`, ratelimit.Client},
	{"200 saying that the session is not found", 200, `{"success":false,"status_code":37}`, ratelimit.Client},
	{"200 saying that the key is invalid", 200, `{"success":false,"status_code":7}`, ratelimit.Client},
	{"200 saying that the key is suspended", 200, `{"success":false,"status_code":10}`, ratelimit.Client},
	{"200 saying that the account is suspended", 200, `{"success":false,"status_code":45}`, ratelimit.Client},
	{"200 saying that a parameter is invalid", 200, `{"success":false,"status_code":5}`, ratelimit.Server},
	{"200 saying no success without a code", 200, `{"id":9000001,"success":false}`, ratelimit.Server},
	{"200 saying success without the entry", 200, `{"success":true,"status_code":1}`, ratelimit.Server},
	{"200 with another entry", 200, `{"id":9000002,"name":"Harbor Lights"}`, ratelimit.Server},
	{"200 of a login page", 200, `{"error":"log in"}`, ratelimit.Server},
	{"401", 401, `{"status_code":7}`, ratelimit.Client},
	{"401 of a private list", 401, `{"status_code":39}`, ratelimit.Client},
	{"401 with a page", 401, page, ratelimit.Server},
	{"403", 403, `{"status_code":45}`, ratelimit.Client},
	{"403 with the page of an edge", 403, page, ratelimit.Server},
	{"404", 404, `{"status_code":34}`, ratelimit.Client},
	{"404 of a gateway", 404, `{"message":"no Route matched"}`, ratelimit.Server},
	{"404 with an errors list", 404, `{"errors":["no such route"]}`, ratelimit.Server},
	{"405", 405, `{"status_code":42}`, ratelimit.Client},
	{"422", 422, `{"errors":["query must be provided"]}`, ratelimit.Client},
	{"400", 400, `{"status_code":22}`, ratelimit.Client},
	{"418 with nothing", 418, "", ratelimit.Server},
	{"302 to nowhere", 302, "", ratelimit.Client},
	{"599", 599, "", ratelimit.Server},
	{"999", 999, "", ratelimit.Server},
}

func TestClassifyAnswers(t *testing.T) {
	req := httptest.NewRequest(http.MethodGet, "https://api.example.org/3/tv/9000001", nil)
	for _, tt := range answerRows {
		t.Run(tt.name, func(t *testing.T) {
			if got := Classify(req, &http.Response{StatusCode: tt.status}, []byte(tt.body), nil); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Bodies that are not TMDB's, whatever the status: a 429 and a 503 keep what the status says, a redirect's body is
// never read, and everything else is trouble of the upstream. None of them is valid for a cache.
func TestAnswersThatAreNotTMDBs(t *testing.T) {
	bodies := map[string]string{
		"an HTML page":            page,
		"JSON of another kind":    `{"error":"log in"}`,
		"a list":                  `[{"id":9000001}]`,
		"nothing":                 "",
		"a cut entry":             good[:20],
		"a cut error":             `{"success":false,"status_code":34,"status_mess`,
		"more than there may be":  good + strings.Repeat(" ", MaxBody),
		"gzip that was not known": "\x1f\x8b\x08\x00",
	}
	outcomes := map[int]ratelimit.Outcome{
		429: ratelimit.Throttled, 301: ratelimit.Client, 302: ratelimit.Client, 307: ratelimit.Client,
	}
	for _, status := range []int{
		200, 201, 203, 204, 206, 301, 302, 307, 400, 401, 403, 404, 405, 408, 410, 422, 429, 451, 500, 502, 503, 504, 520,
		599,
	} {
		for name, body := range bodies {
			t.Run(fmt.Sprint(status, " with ", name), func(t *testing.T) {
				want, ok := outcomes[status]
				if !ok {
					want = ratelimit.Server
				}
				req := httptest.NewRequest(http.MethodGet, "https://api.example.org/3/tv/9000001", nil)
				resp := &http.Response{StatusCode: status}
				if got := Classify(req, resp, []byte(body), nil); got != want {
					t.Errorf("classified as %v, want %v", got, want)
				}
				err := Valid(req, resp, []byte(body))
				if err == nil {
					t.Error("it is valid")
				}
				if errors.Is(err, ErrNotFound) || errors.As(err, new(*UnauthorizedError)) {
					t.Errorf("it passes for TMDB's own: %v", err)
				}
				if e, ok := errors.AsType[*Error](err); ok && (e.Foreign == "" || e.Outcome() != want) {
					t.Errorf("%v is %v, want %v", err, e.Outcome(), want)
				}
			})
		}
	}
}

func TestAnswersOfTMDBsAreValid(t *testing.T) {
	rows := []struct {
		name   string
		path   string
		status int
		body   string
		valid  bool
	}{
		{"an entry", "/3/tv/9000001", 200, good, true},
		{"an entry behind a path of the base URL", "/mirror/3/tv/9000001", 200, good, true},
		{"an entry asked for with zeros", "/3/tv/009000001", 200, good, true},
		{"an empty search", "/3/search/tv", 200, `{"page":1,"results":[],"total_pages":1,"total_results":0}`, true},
		{"its own 404", "/3/tv/9000001", 404, `{"success":false,"status_code":34,"status_message":"m"}`, true},
		{"its own 401", "/3/tv/9000001", 401, `{"status_code":7}`, true},
		{
			"a 404 of a gateway's own", "/3/tv/9000001", 404,
			`{"success":false,"status_code":34,"status_message":"m","anivault":{"reason":"not_found"}}`, false,
		},
		{"a 422 with its list", "/3/search/tv", 422, `{"errors":["query must be provided"]}`, true},
		{"not modified", "/3/tv/9000001", 304, "", true},
		{"what this client does not ask for", "/3/discover/tv", 200, `{"page":1,"results":[{"id":-1}]}`, true},
		{"an array where TMDB has one", "/3/configuration/languages", 200, `[{"iso_639_1":"ja"}]`, true},
		{"an empty array of any other path", "/3/movie/9000001/lists", 200, `[]`, true},
		{"an array in place of an entry", "/3/tv/9000001", 200, `[{"id":9000001}]`, false},
		{"a cut array", "/3/configuration/languages", 200, `[{"iso_639_1":"ja"}`, false},
		{"a series asked for by a slug", "/3/tv/1-lantern", 200, `{"id":1}`, true},
		{"nothing in an object", "/3/discover/tv", 200, `{}`, false},
		{"an error in a 200 of any path", "/3/discover/tv", 200, `{"success":false,"status_code":34}`, false},
		{"a search with a row without an id", "/3/search/tv", 200, `{"results":[{"id":5},{"name":"Blue Harbor"}]}`, false},
		{"a search with a negative id", "/3/search/movie", 200, `{"results":[{"id":-5}]}`, false},
		{"a mixed search with a negative id", "/3/search/multi", 200, `{"results":[{"id":-5}]}`, false},
		{"a find with a negative id", "/3/find/tt1", 200, `{"tv_results":[{"id":1}],"person_results":[{"id":-5}]}`, false},
		{"changes with a negative id", "/3/tv/changes", 200, `{"results":[{"id":-5}]}`, false},
		{"a search without its list", "/3/search/tv", 200, `{"page":1,"total_results":0}`, false},
		{"another series", "/3/tv/9000001", 200, `{"id":9000002}`, false},
		{"another film", "/3/movie/9000001", 200, `{"id":9000002}`, false},
		{"another season", "/3/tv/9000001/season/2", 200, `{"season_number":1,"episodes":[]}`, false},
		{"another episode", "/3/tv/9000001/season/2/episode/3", 200, `{"id":1,"season_number":2,"episode_number":4}`, false},
		{"titles of another series", "/3/tv/9000001/alternative_titles", 200, `{"id":9000002,"results":[]}`, false},
		{"translations of another film", "/3/movie/9000001/translations", 200, `{"id":9000002,"translations":[]}`, false},
		{"groups of another series", "/3/tv/9000001/episode_groups", 200, `{"id":9000002,"results":[]}`, false},
		{"another group", "/3/tv/episode_group/aa", 200, `{"id":"bb","groups":[]}`, false},
	}
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, "https://api.example.org"+tt.path, nil)
			if err := Valid(req, &http.Response{StatusCode: tt.status}, []byte(tt.body)); (err == nil) != tt.valid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheAnswerToAHeadHasNoBody(t *testing.T) {
	req := httptest.NewRequest(http.MethodHead, "https://api.example.org/3/tv/9000001", nil)
	for status, want := range map[int]ratelimit.Outcome{200: ratelimit.OK, 404: ratelimit.Client, 500: ratelimit.Server} {
		if got := Classify(req, &http.Response{StatusCode: status}, nil, nil); got != want {
			t.Errorf("%d: got %v, want %v", status, got, want)
		}
	}
}

func dialing(err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
}

func inURL(err error) error {
	return &url.Error{Op: "Get", URL: "https://api.example.org/3", Err: err}
}

var errorRows = []struct {
	name string
	err  error
	want ratelimit.Outcome
}{
	{"cancelled", context.Canceled, ratelimit.Cancelled},
	{"cancelled, wrapped", inURL(fmt.Errorf("read answer: %w", context.Canceled)), ratelimit.Cancelled},
	{"deadline", context.DeadlineExceeded, ratelimit.Network},
	{"refused connection", dialing(syscall.ECONNREFUSED), ratelimit.Network},
	{"reset", dialing(syscall.ECONNRESET), ratelimit.Network},
	{"closed before the answer", io.EOF, ratelimit.Network},
	{"transfer that broke off", fmt.Errorf("read answer: %w", io.ErrUnexpectedEOF), ratelimit.Network},
	{
		"unknown name",
		&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api.themoviedb.ogr", IsNotFound: true}},
		ratelimit.Network,
	},
	{"resolver in trouble", &net.DNSError{Err: "server misbehaving", IsTemporary: true}, ratelimit.Network},
	{"resolver silent", &net.DNSError{Err: "i/o timeout", IsTimeout: true}, ratelimit.Network},
	{
		"unknown authority", inURL(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
		ratelimit.Misconfigured,
	},
	{
		"wrong name",
		&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "api.example.org"}},
		ratelimit.Misconfigured,
	},
	{
		"expired", &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}},
		ratelimit.Misconfigured,
	},
	{
		"otherwise invalid",
		&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}},
		ratelimit.Misconfigured,
	},
	{"no roots", x509.SystemRootsError{Err: errors.New("none")}, ratelimit.Misconfigured},
	{"plain port", http.ErrSchemeMismatch, ratelimit.Misconfigured},
	{
		"no TLS record",
		tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		ratelimit.Misconfigured,
	},
	{
		"no HTTP", errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0"`),
		ratelimit.Misconfigured,
	},
	{
		"handshake refused", &net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")},
		ratelimit.Misconfigured,
	},
	{
		"the server's TLS in trouble", &net.OpError{Op: "remote error", Err: errors.New("tls: internal error")},
		ratelimit.Network,
	},
	{"old TLS", errors.New("tls: protocol version not supported"), ratelimit.Misconfigured},
	{"handshake too slow", errors.New("net/http: TLS handshake timeout"), ratelimit.Network},
	{"redirect", inURL(&ConfigError{Kind: ConfigRedirect, Host: "evil.example.com"}), ratelimit.Misconfigured},
	{"proxy", &ConfigError{Kind: ConfigProxy}, ratelimit.Misconfigured},
	{"key latch", inURL(&UnauthorizedError{Cause: &Error{HTTPStatus: 401, Code: 7}}), ratelimit.Client},
	{"suspended key", &UnauthorizedError{Cause: &Error{HTTPStatus: 401, Code: 10}}, ratelimit.Client},
	{"argument", &ArgumentError{Field: "x"}, ratelimit.Misconfigured},
	{"undecodable", fmt.Errorf("x: %w", &DecodeError{Reason: ReasonGzip}), ratelimit.Server},
	{"web page", &DecodeError{Reason: ReasonHTML}, ratelimit.Server},
	{"gzip announced", fmt.Errorf("read: %w", gzip.ErrHeader), ratelimit.Server},
	{"whatever", errors.New("something else"), ratelimit.Network},
}

func TestClassifyErrors(t *testing.T) {
	for _, tt := range errorRows {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, "https://api.example.org/3/tv/1", nil)
			if got := Classify(req, nil, nil, tt.err); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestACancelledRequestIsNobodysFault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.org/", nil)
	if got := Classify(req, nil, nil, io.ErrUnexpectedEOF); got != ratelimit.Cancelled {
		t.Errorf("got %v", got)
	}
}

// A rule that no row reaches is dead text in a table that people read.
func TestEveryRuleDecidesSomeRow(t *testing.T) {
	reached := map[string]bool{}
	req := httptest.NewRequest(http.MethodGet, "https://api.example.org/3/tv/9000001", nil)
	for _, row := range answerRows {
		reached[findRule(req, &http.Response{StatusCode: row.status}, []byte(row.body), nil).name] = true
	}
	for _, row := range errorRows {
		reached[findRule(req, nil, nil, row.err).name] = true
	}
	away := &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://evil.example.com/"}}}
	reached[findRule(req, away, nil, nil).name] = true
	for _, r := range append(slices.Clone(errorRules), responseRules...) {
		if !reached[r.name] {
			t.Errorf("no row reaches %q", r.name)
		}
	}
}
