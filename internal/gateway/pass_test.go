package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/tmdbfake"
)

func TestWhatIsPassedAndWhatIsNot(t *testing.T) {
	b := start(t, setup{})
	for _, row := range []struct {
		name, method, path string
		header             string
		status             int
		reason             string
		says               string
	}{
		{"an entry", "GET", "/3/tv/9000001", "", 200, "", `"id":9000001`},
		{"with the program's own key", "GET", "/3/tv/9000001?api_key=0123456789abcdef", "", 200, "", `"id":9000001`},
		{"an array", "GET", "/3/configuration/languages", "", 200, "", `[{`},
		{"what TMDB does not have", "GET", "/3/tv/99", "", 404, "", `"status_code":34`},
		{"what TMDB refuses", "GET", "/3/search/tv", "", 422, "", `"errors"`},
		{"a page that TMDB refuses", "GET", "/3/search/tv?query=a&page=0", "", 400, "", `"status_code":22`},
		{"what is not stored", "GET", "/3/tv/changes", "", 200, "", `"results"`},
		{"a test of the key", "GET", "/3/authentication", "", 200, "", `"status_code":1`},
		{"an account", "GET", "/3/account", "", 403, "private", ""},
		{"another account", "GET", "/3/account/1/lists", "", 403, "private", ""},
		{"a token that TMDB would make", "GET", "/3/authentication/token/new", "", 403, "private", ""},
		{"a guest session", "GET", "/3/guest_session/1/rated/tv", "", 403, "private", ""},
		{"an account in capitals", "GET", "/3/ACCOUNT/1", "", 403, "private", ""},
		{"states of an account", "GET", "/3/tv/1/account_states", "", 403, "private", ""},
		{
			"states of a part's account", "GET", "/3/tv/1?append_to_response=season/1,season/1/account_states", "", 403,
			"private", "",
		},
		{"appended states", "GET", "/3/tv/1?append_to_response=images,account_states", "", 403, "private", ""},
		{"a session", "GET", "/3/tv/1?session_id=x", "", 403, "private", ""},
		{"a guest's session", "GET", "/3/tv/1?guest_session_id=x", "", 403, "private", ""},
		{"JSONP", "GET", "/3/tv/1?callback=f", "", 400, "bad_request", ""},
		{"a semicolon", "GET", "/3/tv/1?a=1;api_key=x", "", 400, "bad_request", ""},
		{"a second query", "GET", "/3/tv/1?language=en?api_key=pool-key-1", "", 400, "bad_request", ""},
		{"a query that can't be read", "GET", "/3/tv/1?a=%zz", "", 400, "bad_request", ""},
		{"a slash at the end", "GET", "/3/tv/1/", "", 400, "bad_request", ""},
		{"two slashes", "GET", "//3/tv/1", "", 400, "bad_request", ""},
		{"dots", "GET", "/3/tv/../account", "", 400, "bad_request", ""},
		{"an escaped slash", "GET", "/3/tv%2F1", "", 400, "bad_request", ""},
		{"an escaped backslash", "GET", "/3/tv%5c1", "", 400, "bad_request", ""},
		{"an escaped NUL", "GET", "/3/tv%00", "", 400, "bad_request", ""},
		{
			"an address that is long when it is sent", "GET", "/3/search/tv?query=" + strings.Repeat("(", 3000), "",
			414, "too_large", "",
		},
		{"a long address", "GET", "/3/tv/1?a=" + strings.Repeat("x", maxTargetBytes), "", 414, "too_large", ""},
		{"POST", "POST", "/3/tv/1", "", 405, "method", "nothing is written"},
		{"PUT", "PUT", "/3/tv/1", "", 405, "method", ""},
		{"DELETE", "DELETE", "/3/tv/1", "", 405, "method", ""},
		{"PATCH", "PATCH", "/3/tv/1", "", 405, "method", ""},
		{"TRACE", "TRACE", "/3/tv/1", "", 405, "method", "nothing is written"},
		{"a method nobody knows", "BREW", "/3/tv/1", "", 405, "method", ""},
		{"OPTIONS", "OPTIONS", "/3/tv/1", "", 204, "", ""},
		{"version 4", "GET", "/4/list/1", "", 404, "not_found", "version 4"},
		{"an image", "GET", "/t/p/w500/a.jpg", "", 404, "not_found", "image.tmdb.org"},
		{"without /3", "GET", "/tv/1", "", 404, "not_found", "/3 is missing"},
		{"/3 alone", "GET", "/3", "", 404, "not_found", ""},
		{"/3/ alone", "GET", "/3/", "", 404, "not_found", ""},
		{"anything else", "GET", "/wp-login.php", "", 404, "not_found", ""},
		{"the page", "GET", "/", "", 200, "", "not endorsed or certified by TMDB"},
		{"robots", "GET", "/robots.txt", "", 200, "", "Disallow: /"},
		{"health", "GET", "/healthz", "", 200, "", `"ready":true`},
		{"readiness", "GET", "/readyz", "", 200, "", `"state":"Normal"`},
		{"through itself", "GET", "/3/tv/1", "Via: 1.1 other, " + b.service.g.viaEntry, 508, "loop", ""},
		{"through another", "GET", "/3/tv/9000001", "Via: 1.1 anivault-00000000", 200, "", ""},
		{"a Host of its own", "GET", "/3/tv/1", "Host: attacker.example", 421, "host", ""},
		{"a Host and a token of its own", "GET", "/readyz?api_key=anv_x", "Host: attacker.example", 421, "host", ""},
		{"localhost", "GET", "/3/tv/9000001", "Host: LOCALHOST:80", 200, "", ""},
		{"an IPv6 Host", "GET", "/3/tv/9000001", "Host: [::1]:7373", 200, "", ""},
		{"a page of another site", "GET", "/3/tv/1", "Sec-Fetch-Site: cross-site", 403, "cross_site", ""},
		{"a page of the same site", "GET", "/3/tv/1", "Sec-Fetch-Site: same-site", 403, "cross_site", ""},
		{"the address bar", "GET", "/3/tv/9000001", "Sec-Fetch-Site: none", 200, "", ""},
		{"another origin", "GET", "/3/tv/1", "Origin: http://attacker.example", 403, "cross_site", ""},
		{"no origin to tell", "GET", "/3/tv/1", "Origin: null", 403, "cross_site", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var headers []string
			if row.header != "" {
				headers = append(headers, row.header)
			}
			a, err := b.request(t.Context(), row.method, row.path, headers...)
			if err != nil {
				t.Fatal(err)
			}
			if a.status != row.status || a.own.Reason != row.reason || !strings.Contains(a.body, row.says) {
				t.Errorf("%d %q: %s", a.status, a.own.Reason, a.body)
			}
			if a.status == 405 && a.Header.Get("Allow") != allowedMethods {
				t.Errorf("Allow: %s", a.Header.Get("Allow"))
			}
			if row.reason != "" && a.own.RequestID != a.Header.Get("X-Request-Id") {
				t.Errorf("request %q is logged as %q", a.Header.Get("X-Request-Id"), a.own.RequestID)
			}
			if a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("pages of other origins may read it")
			}
		})
	}
}

// What no HTTP client sends comes over a bare connection.
func TestOddRequestsOnABareConnection(t *testing.T) {
	b := start(t, setup{})
	for name, row := range map[string]struct{ text, status string }{
		"two lengths": {
			"GET /3/tv/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
			"400",
		},
		"two equal lengths are one": { // RFC 9110, section 8.6
			"GET /robots.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", "200",
		},
		"length and chunks": {"GET /3/tv/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n0\r\n\r\n", "4"},
		"a body":                  {"GET /3/tv/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx", "413"},
		"a body that never comes": {"POST /3/tv/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n", "405"},
		"chunks": {
			"GET /3/tv/1 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"413",
		},
		"the absolute form": {"GET http://localhost/3/tv/1 HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		"the asterisk form": {"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		"CONNECT":           {"CONNECT api.themoviedb.org:443 HTTP/1.1\r\nHost: api.themoviedb.org:443\r\n\r\n", "405"},
		"no Host":           {"GET /3/tv/1 HTTP/1.1\r\n\r\n", "400"},
		"a balancer's look": {"GET /readyz HTTP/1.0\r\n\r\n", "200"},
		"an odd method":     {"GE\tT /3/tv/1 HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		"long header fields": {
			"GET /3/tv/1 HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("x", 32<<10) + "\r\n\r\n",
			"431",
		},
		"no HTTP":          {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "400"},
		"a bare line feed": {"GET /3/tv/%0d%0aX-A:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.WriteString(conn, row.text); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.HasPrefix(line[len("HTTP/1.1 "):], row.status) {
				t.Errorf("%q, %v", line, err)
			}
		})
	}
}

// A request that is refused for its body keeps its connection for no longer than a moment, though the body never comes.
func TestABodyThatNeverComesKeepsNoConnection(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, "")
		conn, err := b.net.DialContext(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Hour))
		_, err = io.WriteString(conn, "GET /3/tv/1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413") {
			t.Errorf("%q, %v", answer, err)
		}
		if held := time.Since(began); held > 10*time.Second {
			t.Errorf("closed after %s", held)
		}
	})
}

func TestARedirectCountsAsTMDBsFailure(t *testing.T) {
	b := start(t, setup{handler: func(http.Handler) http.Handler {
		return http.RedirectHandler("/3/tv/2", http.StatusFound)
	}})
	if a := b.must(502, tv(1)); a.own.Reason != "upstream" {
		t.Errorf("%s", a.body)
	}
}

// Over HTTP/2 net/http lets two lengths pass, and knows of a request without a body that its length is zero.
func TestTwoLengthsOverHTTP2(t *testing.T) {
	b := start(t, setup{})
	req := httptest.NewRequest(http.MethodGet, "/3/tv/9000001", nil)
	req.Host, req.Header["Content-Length"] = "localhost", []string{"1", "2"}
	w := httptest.NewRecorder()
	if b.service.g.ServeHTTP(w, req); w.Code != 400 || !strings.Contains(w.Body.String(), `"reason":"bad_request"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestOnlyTheQuestionGoesUpstream(t *testing.T) {
	b := start(t, setup{})
	b.must(200, "/3/tv/9000001?language=de-DE&append_to_response=images,"+
		"season%2F1&api_key=program-key-12345&b=2&API_KEY=x&api_key=y&a=1",
		"Authorization: Bearer program-token-12345", "Cookie: a=b", "User-Agent: curl/8", "X-Forwarded-For: 10.1.2.3",
		"Accept-Language: ko", "Referer: http://x/", "X-Request-Id: mine", "Accept: text/html")
	got := b.up.headers[0]
	if len(got["Via"]) != 1 || got.Get("Via") != b.service.g.viaEntry {
		t.Errorf("Via: %q", got["Via"])
	}
	got.Del("Via")
	want := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Prefer": {"wait=13"},
		"Authorization": {"Bearer " + poolKey}, "User-Agent": got["User-Agent"],
	}
	if diff := cmp.Diff(want, got); diff != "" || !strings.HasPrefix(got.Get("User-Agent"), "anivault/") {
		t.Errorf("%s %s", diff, got.Get("User-Agent"))
	}
	// A gateway behind this one waits no longer than the client does.
	b.must(200, "/3/tv/9000002", "Prefer: wait=3")
	second := slices.IndexFunc(b.up.urls, func(u string) bool { return strings.Contains(u, "9000002") })
	if wait := b.up.headers[second].Get("Prefer"); wait != "wait=3" {
		t.Errorf("Prefer: %s", wait)
	}
	if want := "/3/tv/9000001?a=1&append_to_response=images,season/1&b=2&language=de-DE"; b.up.urls[0] != want {
		t.Errorf("asked %s, want %s", b.up.urls[0], want)
	}
}

func TestNoHeaderFieldOfTheUpstreamIsPassed(t *testing.T) {
	fields := []string{
		"Set-Cookie", "Server", "Location", "Access-Control-Allow-Origin", "Content-Disposition", "Link", "X-Upstream",
	}
	b := start(t, setup{handler: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, field := range fields {
				w.Header().Set(field, "upstream=1")
			}
			next.ServeHTTP(w, r)
		})
	}})
	for _, path := range []string{"/3/tv/9000001", "/3/tv/9000001", "/3/tv/changes", "/3/tv/99"} {
		a := b.get(path)
		for _, field := range fields {
			if got := a.Header.Get(field); got != "" {
				t.Errorf("%s %d: %s: %s", path, a.status, field, got)
			}
		}
	}
}

func TestAFieldThatRepeatsTheKeyOrIsTooLongIsDropped(t *testing.T) {
	etag := ""
	b := start(t, setup{handler: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			w.Header().Set("Etag", etag)
			w.Header().Set("Last-Modified", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			_, _ = io.WriteString(w, `{"id":`+path.Base(r.URL.Path)+`,"name":"a"}`)
		})
	}})
	for i, value := range []string{`"` + poolKey + `"`, `"` + strings.Repeat("x", 200_000) + `"`} {
		etag = value
		for range 2 {
			a := b.must(200, tv(9000001+i))
			if a.Header.Get("Etag") != "" || a.Header.Get("Last-Modified") != "" {
				t.Errorf("%.60s %.60s", a.Header.Get("Etag"), a.Header.Get("Last-Modified"))
			}
		}
	}
}

func TestAnswersAreJSONWhateverTheUpstreamSays(t *testing.T) {
	b := start(t, setup{handler: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `{"id":9000001,"name":"<script>"}`)
		})
	}})
	if a := b.must(200, "/3/tv/9000001"); a.Header.Get("Content-Type") != jsonType {
		t.Errorf("Content-Type: %s", a.Header.Get("Content-Type"))
	}
}

func TestAnswersSayWhereTheyAreFrom(t *testing.T) {
	b := start(t, setup{yaml: "serve:\n  stale_after: off\n"})
	const path = "/3/tv/9000001" // of a returning series
	of := func(a answered) map[string]string {
		out := map[string]string{}
		for _, name := range []string{"Cache-Status", "Cache-Control", "Age"} {
			out[name] = a.Header.Get(name)
		}
		return out
	}
	check := func(name string, a answered, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, of(a)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	first := b.must(200, path)
	check("from TMDB", first, map[string]string{
		"Cache-Status":  "anivault; fwd=miss; stored",
		"Cache-Control": "private, max-age=86400", "Age": "0",
	})
	b.age(time.Hour)
	second := b.must(200, path)
	if status := second.Header.Get("Cache-Status"); !strings.HasPrefix(status, "anivault; hit; ttl=827") &&
		!strings.HasPrefix(status, "anivault; hit; ttl=82800") {
		t.Errorf("Cache-Status: %s", status)
	}
	if age := second.Header.Get("Age"); !strings.HasPrefix(age, "36") ||
		second.Header.Get("Cache-Control") != "private, max-age=86400" || second.body != first.body {
		t.Errorf("Age %s, %s", age, second.Header.Get("Cache-Control"))
	}
	if got := b.up.asked(); got != 1 {
		t.Errorf("TMDB was asked %d times", got)
	}
	etag := first.Header.Get("ETag")
	for _, tag := range []string{etag, strings.TrimPrefix(etag, "W/"), `"other", ` + etag, "*"} {
		if a := b.must(304, path, "If-None-Match: "+tag); a.body != "" || a.Header.Get("ETag") != etag {
			t.Errorf("%s: %q %s", tag, a.body, a.Header.Get("ETag"))
		}
	}
	b.must(200, path, `If-None-Match: "other"`)
	if a := b.must(200, path, "Range: bytes=0-3"); a.body != first.body {
		t.Errorf("a part: %s", a.body)
	}
	for _, control := range []string{"no-cache", "max-age=0", "no-store"} {
		b.must(200, path, "Cache-Control: "+control)
	}
	if a := b.must(504, "/3/tv/9000002", "Cache-Control: only-if-cached"); a.own.Code != "1009" {
		t.Errorf("%+v", a.own)
	}
	if got := b.up.asked(); got != 1 {
		t.Errorf("TMDB was asked %d times", got)
	}
	b.age(48 * time.Hour)
	check("revalidated", b.must(200, path), map[string]string{
		"Cache-Status": "anivault; fwd=stale; fwd-status=304; stored", "Cache-Control": "private, max-age=86400", "Age": "0",
	})
	head, err := b.request(t.Context(), http.MethodHead, "/3/movie/9000201")
	if err != nil || head.body != "" || head.Header.Get("Content-Length") == "0" {
		t.Errorf("HEAD: %v %v", head, err)
	}
	if a := b.must(head.status, "/3/movie/9000201"); a.Header.Get("Cache-Status") == "" || b.up.asked() != 3 {
		t.Errorf("a HEAD was not stored as a GET: %v, %d", a.Header, b.up.asked())
	}
	check("what is not stored", b.must(200, "/3/tv/changes"),
		map[string]string{"Cache-Status": "anivault; fwd=miss", "Cache-Control": "private, max-age=0", "Age": ""})
}

func TestTheTableRecognisesFailures(t *testing.T) {
	fail := func(status int, contentType, body string) func(http.Handler) http.Handler {
		return func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			})
		}
	}
	aborted := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	}
	const quick = "limiter:\n  max_retries: 0\n  request_timeout: 10s\n"
	for name, row := range map[string]struct {
		setup  setup
		status int
		code   string
		reason string
		tmdb   string
		retry  bool
	}{
		"5xx": {
			setup{yaml: quick, handler: fail(500, "application/json", `{"status_code":11}`)},
			502, "1006",
			"upstream", `"status_code":43`, false,
		},
		"an HTML page": {
			setup{yaml: quick, handler: fail(200, "text/html", "<html>")},
			502, "1006",
			"malformed_response", `43`, false,
		},
		"a 304 that nobody asked for": {
			setup{yaml: quick, handler: fail(304, "application/json", "")},
			502, "1006",
			"malformed_response", `43`, false,
		},
		"an edge's 404": {
			setup{yaml: quick, handler: fail(404, "text/html", "<html>")},
			502, "1006",
			"malformed_response", `43`, false,
		},
		"a part of an answer": {
			setup{yaml: quick, handler: fail(206, "application/json", `{"id":9000001,"name":"a"}`)},
			502, "1006",
			"malformed_response", `43`, false,
		},
		"an odd 2xx": {
			setup{yaml: quick, handler: fail(299, "application/json", `{"id":9000001,"name":"a"}`)},
			502, "1006",
			"malformed_response", `43`, false,
		},
		"429": {
			setup{yaml: quick, handler: fail(429, "application/json", `{"status_code":25}`)},
			503, "1004",
			"pause", `9`, true,
		},
		"a refused key": {
			setup{yaml: quick, fake: tmdbfake.Config{Keys: []string{"another"}}},
			503, "1007",
			"credentials", `9`, false,
		},
		"a refused key in a 200": {
			setup{yaml: quick, handler: fail(200, "application/json", `{"success":false,"status_code":7}`)},
			503, "1007",
			"credentials", `9`, false,
		},
		"a suspended key": {
			setup{yaml: quick, handler: fail(401, "application/json", `{"status_code":10}`)},
			503, "1007",
			"credentials", `9`, false,
		},
		"an account's end": {
			setup{yaml: quick, handler: fail(403, "application/json", `{"status_code":45}`)},
			503, "1007",
			"credentials", `9`, false,
		},
		"offline": {setup{offline: true}, 503, "1004", "offline", `9`, false},
		"not in this API": {setup{yaml: quick, handler: fail(501, "application/json",
			`{"status_code":2,"status_message":"m"}`)}, 501, "", "", `"status_code":2`, false},
		"a connection lost": {setup{yaml: quick, handler: aborted}, 502, "1006", "network", `43`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, row.setup)
			a := b.must(row.status, "/3/tv/9000001")
			if a.own.Code != row.code || a.own.Reason != row.reason || !strings.Contains(a.body, row.tmdb) ||
				(a.Header.Get("Retry-After") != "") != row.retry {
				t.Errorf("%s, Retry-After %s", a.body, a.Header.Get("Retry-After"))
			}
		})
	}
}

func TestAPanicIsAnAnswerAndTheRestContinues(t *testing.T) {
	b := start(t, setup{})
	g := b.service.g
	b.must(200, "/3/tv/9000001")
	broken := httptest.NewRequest(http.MethodGet, "/3/tv/9000001", nil)
	broken.Host = "localhost"
	w := &panicking{ResponseRecorder: httptest.NewRecorder(), times: 1}
	g.ServeHTTP(w, broken)
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"9999"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.must(200, "/3/tv/9000002")
	if !strings.Contains(b.log.String(), "event=panic") {
		t.Error("the log does not tell of it")
	}
}

// panicking is a writer whose first writes panic.
type panicking struct {
	*httptest.ResponseRecorder
	times int
}

func (p *panicking) WriteHeader(status int) {
	if p.times--; p.times >= 0 {
		panic("while encoding")
	}
	p.ResponseRecorder.WriteHeader(status)
}

func TestTwoGatewaysInARow(t *testing.T) {
	first := start(t, setup{})
	second := start(t, setup{base: func(*testing.T) string { return first.url }})
	if a := second.must(200, "/3/tv/9000001"); a.Header.Get("Cache-Status") != "anivault; fwd=miss; stored" {
		t.Errorf("%s", a.Header.Get("Cache-Status"))
	}
	second.must(404, "/3/tv/99")
	if n := first.up.asked(); n != 2 {
		t.Errorf("TMDB was asked %d times", n)
	}
	// One that is pointed at itself says so, and so do two that are pointed at each other.
	itself := ""
	leadsBack := setup{handler: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Host, r.RequestURI = "localhost", r.URL.RequestURI()
			req, _ := http.NewRequestWithContext(r.Context(), r.Method, itself+r.RequestURI, nil)
			req.Header = r.Header
			resp, err := transport.RoundTrip(req)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			defer resp.Body.Close()
			w.WriteHeader(resp.StatusCode)
			_, _ = io.Copy(w, resp.Body)
		})
	}}
	loop := start(t, leadsBack)
	other := start(t, setup{base: func(*testing.T) string { return loop.url }})
	for i, last := range []string{loop.url, other.url} {
		itself = last
		if a := loop.get("/3/tv/900000" + strconv.Itoa(i)); a.status != http.StatusLoopDetected || a.own.Reason != "loop" {
			t.Errorf("%s: %d %s", last, a.status, a.body)
		}
	}
}

// The gateway behind this one takes a request that names gateways in Via for a loop. Who asks the same and names none
// gets an answer.
func TestALoopIsForItsOwnRequestOnly(t *testing.T) {
	b := start(t, setup{handler: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Via"), ",") {
				next.ServeHTTP(w, r)
				return
			}
			refuse(reasonLoop, "").write(w, r, "", time.Now())
		})
	}})
	b.must(200, "/3/configuration")
	open := b.up.shut()
	defer open()
	first := b.later("/3/tv/9000001", "Via: 1.1 anivault-00000000")
	<-b.up.arrived
	second := b.later("/3/tv/9000001")
	f := b.service.g.flights
	eventually(t, "both wait for one flight", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, flight := range f.byKey {
			return flight.waiters == 2
		}
		return false
	})
	open()
	if a := <-first; a.status != http.StatusLoopDetected {
		t.Errorf("the first: %d %s", a.status, a.body)
	}
	if a := <-second; a.status != http.StatusOK {
		t.Errorf("the second: %d %s", a.status, a.body)
	}
}

// A client can announce a body over HTTP/2 before it knows that there is none.
func TestAnEmptyBodyOverHTTP2IsNone(t *testing.T) {
	b := start(t, setup{})
	server := httptest.NewUnstartedServer(b.service.g)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for body, want := range map[string]int{"": http.StatusOK, "x": http.StatusRequestEntityTooLarge} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+known(0),
			io.NopCloser(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.ProtoMajor != 2 || resp.StatusCode != want {
			t.Errorf("%q: HTTP/%d %d, want %d", body, resp.ProtoMajor, resp.StatusCode, want)
		}
	}
}
