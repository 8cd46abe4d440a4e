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
)

const page = `<html><body>Service Unavailable</body></html>`

var answerRows = []struct {
	name   string
	status int
	body   string
	want   Outcome
}{
	{
		"a gateway without permission", 429, `{"success":false,"status_code":25,"anivault":{"code":"1002"}}`, OutcomeDeferred,
	},
	{"a gateway in Sleep", 503, `{"success":false,"status_code":9,"anivault":{"code":"1004"}}`, OutcomeDeferred},
	{"a gateway whose TMDB fails", 502, `{"success":false,"status_code":43,"anivault":{"code":"1006"}}`, OutcomeDeferred},
	{"a gateway that asks itself", 508, `{"success":false,"status_code":5,"anivault":{"reason":"loop"}}`, OutcomeConfig},
	{
		"a gateway whose TMDB is slow", 504, `{"success":false,"status_code":24,"anivault":{"code":"1003"}}`, OutcomeDeferred,
	},
	{"a gateway with a fault", 500, `{"success":false,"status_code":11,"anivault":{"code":"9999"}}`, OutcomeServer},
	{
		"a gateway that does not know the client", 401,
		`{"success":false,"status_code":7,"anivault":{"reason":"unauthorized"}}`, OutcomeClient,
	},
	{
		"a gateway that refuses the question", 403, `{"success":false,"status_code":3,"anivault":{"reason":"private"}}`,
		OutcomeClient,
	},
	{"an answer", 200, good, OutcomeOK},
	{"not modified", 304, "", OutcomeOK},
	{"429", 429, `{"status_code":25,"status_message":"over"}`, OutcomeThrottled},
	{"429 with a page", 429, page, OutcomeThrottled},
	{"429 with nothing", 429, "", OutcomeThrottled},
	{"code 25 in a 200", 200, `{"success":false,"status_code":25}`, OutcomeThrottled},
	{"code 25 in a 200 without success", 200, `{"status_message":"over","status_code":25}`, OutcomeThrottled},
	{"code 25 in a 503", 503, `{"status_code":25}`, OutcomeThrottled},
	{"code 25 in a 401", 401, `{"status_code":25}`, OutcomeThrottled},
	{"500", 500, `{"status_code":11}`, OutcomeServer},
	{"502 with a page", 502, page, OutcomeServer},
	{"503 maintenance", 503, `{"status_code":46}`, OutcomeServer},
	{"504 with nothing", 504, "", OutcomeServer},
	{"408", 408, `{"status_code":24}`, OutcomeServer},
	{"200 with a page", 200, page, OutcomeServer},
	{"200 with a page after a byte order mark", 200, "\xef\xbb\xbf" + page, OutcomeServer},
	{"200 with nothing", 200, "", OutcomeServer},
	{"200 with a byte order mark", 200, "\xef\xbb\xbf", OutcomeServer},
	{"204", 204, "", OutcomeServer},
	{"200 cut", 200, good[:10], OutcomeServer},
	{"200 with a list", 200, `[]`, OutcomeServer},
	{"200 with null", 200, `null`, OutcomeServer},
	{"200 with gzip", 200, "\x1f\x8b\x08\x00", OutcomeServer},
	{"200 with two objects", 200, `{}{}`, OutcomeServer},
	{"200 saying maintenance", 200, `{"success":false,"status_code":46}`, OutcomeServer},
	{"200 saying not found", 200, `{"success":false,"status_code":34}`, OutcomeClient},
	{"200 saying that the id is invalid", 200, `{"success":false,"status_code":6}`, OutcomeClient},
	{"200 saying that the session is not found", 200, `{"success":false,"status_code":37}`, OutcomeClient},
	{"200 saying that the key is invalid", 200, `{"success":false,"status_code":7}`, OutcomeClient},
	{"200 saying that the key is suspended", 200, `{"success":false,"status_code":10}`, OutcomeClient},
	{"200 saying that the account is suspended", 200, `{"success":false,"status_code":45}`, OutcomeClient},
	{"200 saying that a parameter is invalid", 200, `{"success":false,"status_code":5}`, OutcomeServer},
	{"200 saying no success without a code", 200, `{"id":9000001,"success":false}`, OutcomeServer},
	{"200 saying success without the entry", 200, `{"success":true,"status_code":1}`, OutcomeServer},
	{"200 with another entry", 200, `{"id":9000002,"name":"Harbor Lights"}`, OutcomeServer},
	{"200 of a login page", 200, `{"error":"log in"}`, OutcomeServer},
	{"401", 401, `{"status_code":7}`, OutcomeClient},
	{"401 with a page", 401, page, OutcomeServer},
	{"403", 403, `{"status_code":45}`, OutcomeClient},
	{"403 with the page of an edge", 403, page, OutcomeServer},
	{"404", 404, `{"status_code":34}`, OutcomeClient},
	{"404 of a gateway", 404, `{"message":"no Route matched"}`, OutcomeServer},
	{"404 with an errors list", 404, `{"errors":["no such route"]}`, OutcomeServer},
	{"405", 405, `{"status_code":42}`, OutcomeClient},
	{"422", 422, `{"errors":["query must be provided"]}`, OutcomeClient},
	{"400", 400, `{"status_code":22}`, OutcomeClient},
	{"418 with nothing", 418, "", OutcomeServer},
	{"302 to nowhere", 302, "", OutcomeClient},
	{"599", 599, "", OutcomeServer},
	{"999", 999, "", OutcomeServer},
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
	outcomes := map[int]Outcome{429: OutcomeThrottled, 301: OutcomeClient, 302: OutcomeClient, 307: OutcomeClient}
	for _, status := range []int{
		200, 201, 203, 204, 206, 301, 302, 307, 400, 401, 403, 404, 405, 408, 410, 422, 429, 451, 500, 502, 503, 504, 520,
		599,
	} {
		for name, body := range bodies {
			t.Run(fmt.Sprint(status, " with ", name), func(t *testing.T) {
				want, ok := outcomes[status]
				if !ok {
					want = OutcomeServer
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
	for status, want := range map[int]Outcome{200: OutcomeOK, 404: OutcomeClient, 500: OutcomeServer} {
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
	want Outcome
}{
	{"cancelled", context.Canceled, OutcomeCancelled},
	{"cancelled, wrapped", inURL(fmt.Errorf("read answer: %w", context.Canceled)), OutcomeCancelled},
	{"deadline", context.DeadlineExceeded, OutcomeNetwork},
	{"refused connection", dialing(syscall.ECONNREFUSED), OutcomeNetwork},
	{"reset", dialing(syscall.ECONNRESET), OutcomeNetwork},
	{"closed before the answer", io.EOF, OutcomeNetwork},
	{"transfer that broke off", fmt.Errorf("read answer: %w", io.ErrUnexpectedEOF), OutcomeNetwork},
	{
		"unknown name",
		&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api.themoviedb.ogr", IsNotFound: true}},
		OutcomeNetwork,
	},
	{"resolver in trouble", &net.DNSError{Err: "server misbehaving", IsTemporary: true}, OutcomeNetwork},
	{"resolver silent", &net.DNSError{Err: "i/o timeout", IsTimeout: true}, OutcomeNetwork},
	{"unknown authority", inURL(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), OutcomeConfig},
	{
		"wrong name",
		&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "api.example.org"}},
		OutcomeConfig,
	},
	{"expired", &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, OutcomeConfig},
	{
		"otherwise invalid",
		&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}}, OutcomeConfig,
	},
	{"no roots", x509.SystemRootsError{Err: errors.New("none")}, OutcomeConfig},
	{"plain port", http.ErrSchemeMismatch, OutcomeConfig},
	{"no TLS record", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, OutcomeConfig},
	{
		"no HTTP", errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0"`),
		OutcomeConfig,
	},
	{"handshake refused", &net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, OutcomeConfig},
	{
		"the server's TLS in trouble", &net.OpError{Op: "remote error", Err: errors.New("tls: internal error")},
		OutcomeNetwork,
	},
	{"old TLS", errors.New("tls: protocol version not supported"), OutcomeConfig},
	{"handshake too slow", errors.New("net/http: TLS handshake timeout"), OutcomeNetwork},
	{"redirect", inURL(&ConfigError{Kind: ConfigRedirect, Host: "evil.example.com"}), OutcomeConfig},
	{"proxy", &ConfigError{Kind: ConfigProxy}, OutcomeConfig},
	{"key latch", inURL(&UnauthorizedError{Cause: &Error{HTTPStatus: 401, Code: 7}}), OutcomeClient},
	{"suspended key", &UnauthorizedError{Cause: &Error{HTTPStatus: 401, Code: 10}}, OutcomeClient},
	{"argument", &ArgumentError{Field: "x"}, OutcomeConfig},
	{"undecodable", fmt.Errorf("x: %w", &DecodeError{Reason: ReasonGzip}), OutcomeServer},
	{"web page", &DecodeError{Reason: ReasonHTML}, OutcomeServer},
	{"gzip announced", fmt.Errorf("read: %w", gzip.ErrHeader), OutcomeServer},
	{"whatever", errors.New("something else"), OutcomeNetwork},
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
	if got := Classify(req, nil, nil, io.ErrUnexpectedEOF); got != OutcomeCancelled {
		t.Errorf("got %v", got)
	}
}

// A rule that no row reaches is dead text in a table that people read.
func TestEveryRuleDecidesSomeRow(t *testing.T) {
	reached := map[string]bool{}
	req := httptest.NewRequest(http.MethodGet, "https://api.example.org/3/tv/9000001", nil)
	for _, row := range answerRows {
		reached[decidingRule(req, &http.Response{StatusCode: row.status}, []byte(row.body), nil).name] = true
	}
	for _, row := range errorRows {
		reached[decidingRule(req, nil, nil, row.err).name] = true
	}
	away := &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://evil.example.com/"}}}
	reached[decidingRule(req, away, nil, nil).name] = true
	for _, r := range append(slices.Clone(onError), onResponse...) {
		if !reached[r.name] {
			t.Errorf("no row reaches %q", r.name)
		}
	}
}

func TestOutcomesNameThemselves(t *testing.T) {
	want := []string{"cancelled", "ok", "throttled", "server", "network", "client", "config", "deferred", "unknown"}
	for i, name := range want {
		if got := Outcome(i).String(); got != name {
			t.Errorf("%d is %q, want %q", i, got, name)
		}
	}
}
