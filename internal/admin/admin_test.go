package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/gateway"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/ratelimit"
)

// site is the page of a gateway that runs, and the stand-in behind that.
type site struct {
	t           *testing.T
	server      *Server
	service     *gateway.Service
	events      *Events
	url         string // of the page
	gateway     string
	token, user string // an admin's, a client's

	gate    atomic.Pointer[chan struct{}] // while there is one, TMDB answers nobody
	arrived chan string                   // the requests that it received
}

// shut lets requests wait at TMDB until the function that it returns is called.
func (x *site) shut() (open func()) {
	gate := make(chan struct{})
	x.gate.Store(&gate)
	return sync.OnceFunc(func() {
		x.gate.Store(nil)
		close(gate)
	})
}

const poolKey = "pool-key-9f1c77c0d1e2b4a5968778695a4b3c2d"

func start(t *testing.T, clients bool, accounts ...string) *site {
	t.Helper()
	fake, err := tmdbfake.New(tmdbfake.Config{Keys: []string{poolKey, "key-one", "key-two", "key-three"}})
	if err != nil {
		t.Fatal(err)
	}
	x := &site{t: t, arrived: make(chan string, 100)}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gate := x.gate.Load(); gate != nil {
			x.arrived <- r.URL.Path
			<-*gate
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	key, yaml := "ANIVAULT_TMDB_TOKEN="+poolKey, ""
	if len(accounts) > 0 {
		key, yaml = "ANIVAULT_TMDB_TOKEN=", "accounts:\n"+strings.Join(accounts, "")
	}
	if clients {
		var adminHash, userHash string
		x.token, adminHash = gateway.NewToken()
		x.user, userHash = gateway.NewToken()
		yaml += "serve:\n  clients:\n    - {name: me, token_sha256: " + adminHash +
			", admin: true}\n    - {name: app, token_sha256: " + userHash + "}\n"
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Sources{File: file, Environ: []string{
		"HOME=" + dir, "AppData=" + dir, "LocalAppData=" + dir, key,
		"ANIVAULT_TMDB_BASE_URL=" + upstream.URL, "ANIVAULT_SERVE_LISTEN=127.0.0.1:0",
	}})
	if err == nil {
		err = cfg.PrepareServe()
	}
	if err != nil {
		t.Fatal(err)
	}
	x.events = NewEvents(slog.DiscardHandler,
		func(s string) string { return strings.ReplaceAll(s, poolKey, "[redacted]") })
	if x.service, err = gateway.Listen(cfg, gateway.Options{Log: x.events.Handler()},
		func(url string) { x.gateway = url }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 2)
	go func() { served <- x.service.Run(ctx) }()
	if x.server, err = Listen("127.0.0.1:0", nil, x.service, x.events); err != nil {
		t.Fatal(err)
	}
	x.url = x.server.URL()
	go func() { served <- x.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	})
	return x
}

// ask sends a request; headers are "Name: value".
func (x *site) ask(method, path, body string, headers ...string) (status int, text string, h http.Header) {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), method, x.url+path, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return resp.StatusCode, string(raw), resp.Header
}

// admin asks as an admin by a token in the header.
func (x *site) admin(method, path, body string, headers ...string) (int, string) {
	x.t.Helper()
	status, text, _ := x.ask(method, path, body, append(headers, "Authorization: Bearer "+x.token)...)
	return status, text
}

const formType = "Content-Type: application/x-www-form-urlencoded"

// login returns a session's cookie as a header line.
func (x *site) login() string {
	x.t.Helper()
	status, _, h := x.ask("POST", "/login", "token="+url.QueryEscape(x.token), formType)
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	if status != http.StatusSeeOther || cookie == "" {
		x.t.Fatalf("login: %d, cookie %q", status, h.Get("Set-Cookie"))
	}
	return "Cookie: " + cookie
}

// limiter is the tuning in force.
func (x *site) limiter() ratelimit.Status {
	x.t.Helper()
	st, err := x.service.Upstream().Limiter().Status(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	return st
}

func TestWhoMayPass(t *testing.T) {
	x := start(t, true)
	stranger, _ := gateway.NewToken()
	for name, row := range map[string]struct {
		token     string
		page, api int
	}{
		"nobody":               {"", 303, 401},
		"an admin":             {x.token, 200, 200},
		"a client":             {x.user, 403, 403},
		"an unknown token":     {stranger, 303, 401},
		"the gateway's own":    {poolKey, 303, 401},
		"the hash of a token":  {config.TokenHash(x.token), 303, 401},
		"a token with a space": {" " + x.token + " ", 200, 200},
	} {
		t.Run(name, func(t *testing.T) {
			var headers []string
			if row.token != "" {
				headers = []string{"Authorization: bearer " + row.token}
			}
			for path, want := range map[string]int{
				"/": row.page, "/accounts": row.page, "/clients": row.page, "/log": row.page,
				"/api/v1/status": row.api, "/api/v1/accounts": row.api, "/api/v1/clients": row.api, "/api/v1/log": row.api,
			} {
				status, text, h := x.ask("GET", path, "", headers...)
				if status != want {
					t.Errorf("GET %s: %d, want %d", path, status, want)
				}
				if want == 303 && h.Get("Location") != "/login" {
					t.Errorf("GET %s leads to %s", path, h.Get("Location"))
				}
				if strings.HasPrefix(path, "/api/") != json.Valid([]byte(text)) {
					t.Errorf("GET %s: %.80s", path, text)
				}
			}
			status, _, _ := x.ask("PATCH", "/api/v1/limiter", `{"rate_base":"9"}`, headers...)
			if want := row.api; status != want {
				t.Errorf("PATCH: %d, want %d", status, want)
			}
			form := row.page
			if form == 200 {
				form = 303
			}
			if status, _, _ = x.ask("POST", "/limiter", "rate_base=8", append(headers, formType)...); status != form {
				t.Errorf("POST: %d, want %d", status, form)
			}
		})
	}
}

func TestEveryAnswerForbidsWhatAPageDoesNotNeed(t *testing.T) {
	x := start(t, true)
	for _, path := range []string{"/", "/login", "/style.css", "/api/v1/status", "/nothing"} {
		_, _, h := x.ask("GET", path, "", "Authorization: Bearer "+x.token)
		for name, want := range map[string]string{
			"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-store",
		} {
			if h.Get(name) != want {
				t.Errorf("%s of %s: %q", name, path, h.Get(name))
			}
		}
	}
	if !strings.Contains(contentPolicy, "default-src 'none'") || strings.Contains(contentPolicy, "unsafe") {
		t.Error(contentPolicy)
	}
}

// No page of another origin changes anything, whatever it forges or leaves out, and no GET does.
func TestNoForeignPageChangesAnything(t *testing.T) {
	x := start(t, true)
	cookie := x.login()
	before := x.limiter().Tuning.RateBase
	for name, headers := range map[string][]string{
		"another site":             {"Sec-Fetch-Site: cross-site"},
		"the same site":            {"Sec-Fetch-Site: same-site"},
		"another origin":           {"Origin: http://evil.example"},
		"another port":             {"Origin: http://127.0.0.1:1"},
		"no origin to be named":    {"Origin: null"},
		"both, forged differently": {"Sec-Fetch-Site: cross-site", "Origin: " + x.url},
	} {
		t.Run(name, func(t *testing.T) {
			for path, body := range map[string]string{
				"/limiter": "rate_base=7&for=1h", "/limiter/cache-only": "",
				"/login": "token=" + x.token, "/logout": "",
			} {
				if status, _, _ := x.ask("POST", path, body, append(headers, cookie, formType)...); status != 403 {
					t.Errorf("POST %s: %d", path, status)
				}
			}
			if status, _, _ := x.ask("PATCH", "/api/v1/limiter", `{"rate_base":7}`, append(headers, cookie)...); status != 403 {
				t.Errorf("PATCH: %d", status)
			}
		})
	}
	for _, path := range []string{
		"/limiter?rate_base=7", "/limiter/cache-only", "/accounts/default/disable",
		"/api/v1/limiter?rate_base=7", "/logout",
	} {
		if status, _, _ := x.ask("GET", path, "", cookie); status != 404 && status != 405 {
			t.Errorf("GET %s: %d", path, status)
		}
	}
	if st := x.limiter(); st.Tuning.RateBase != before || st.State != ratelimit.Normal {
		t.Errorf("%v, rate_base %v", st.State, st.Tuning.RateBase)
	}
	if status, _, _ := x.ask("POST", "/limiter", "rate_base=7&for=1h", cookie, formType, "Sec-Fetch-Site: same-origin",
		"Origin: "+x.url); status != 303 {
		t.Errorf("its own form: %d", status)
	}
}

func TestChangesApplyAtOnceAndAreReported(t *testing.T) {
	x := start(t, true)
	tuned := func(key string) string {
		f, _ := ratelimit.FieldByKey(key)
		return f.Get(x.limiter().Tuning)
	}
	for _, row := range []struct {
		name, method, path, body string
		status                   int
		text                     string // in the answer
		key, want                string // in force afterwards
	}{
		{"a number", "PATCH", "/api/v1/limiter", `{"rate_base":10,"for":"2h"}`, 200, `"from": "35",`, "rate_base", "10"},
		{"a text", "PATCH", "/api/v1/limiter", `{"rate_base":"12"}`, 200, `"for": "1h"`, "rate_base", "12"},
		{
			"two at once", "PATCH", "/api/v1/limiter", `{"rate_base":5,"concurrency_total":3,"concurrency":3,"for":"always"}`,
			200, `"for": "always"`, "concurrency_total", "3",
		},
		{
			"null ends a change", "PATCH", "/api/v1/limiter", `{"concurrency_total":null,"concurrency":null}`, 200, `"to": "16"`,
			"concurrency_total", "16",
		},
		{"an unknown field", "PATCH", "/api/v1/limiter", `{"rate_bas":10}`, 422, "rate_bas", "rate_base", "5"},
		{"an unknown field to end", "PATCH", "/api/v1/limiter", `{"rate_bas":null}`, 422, "rate_bas", "rate_base", "5"},
		{"one known, one unknown", "PATCH", "/api/v1/limiter", `{"rate_base":9,"x":1}`, 422, "x", "rate_base", "5"},
		{"out of range", "PATCH", "/api/v1/limiter", `{"rate_base":-1}`, 422, "rate_base", "rate_base", "5"},
		{"crossed values", "PATCH", "/api/v1/limiter", `{"rate_base":50,"ceiling":10}`, 422, "ceiling", "rate_base", "5"},
		{"a long time", "PATCH", "/api/v1/limiter", `{"rate_base":9,"for":"2562047h"}`, 422, "30m", "rate_base", "5"},
		{"no time", "PATCH", "/api/v1/limiter", `{"rate_base":9,"for":"soon"}`, 422, "30m", "rate_base", "5"},
		{"a list", "PATCH", "/api/v1/limiter", `{"rate_base":[9]}`, 422, "rate_base", "rate_base", "5"},
		{"nothing", "PATCH", "/api/v1/limiter", `{}`, 422, "nothing", "rate_base", "5"},
		{"no JSON", "PATCH", "/api/v1/limiter", `rate_base=9`, 400, "JSON", "rate_base", "5"},
		{"a cut object", "PATCH", "/api/v1/limiter", `{"rate_base":9`, 400, "JSON", "rate_base", "5"},
		{"a key alone", "PATCH", "/api/v1/limiter", `{"rate_base"}`, 400, "JSON", "rate_base", "5"},
		{"null", "PATCH", "/api/v1/limiter", `null`, 400, "JSON", "rate_base", "5"},
		{"two objects", "PATCH", "/api/v1/limiter", `{"rate_base":9}{}`, 400, "JSON", "rate_base", "5"},
		{
			"too much", "PATCH", "/api/v1/limiter", `{"rate_base":"` + strings.Repeat("9", 70<<10) + `"}`, 413, "large",
			"rate_base", "5",
		},
		{"cache-only", "POST", "/api/v1/limiter/cache-only", `{"for":"15m"}`, 200, `"to": "CacheOnly"`, "rate_base", "5"},
		{"cache-only with more", "POST", "/api/v1/limiter/cache-only", `{"rate_base":9}`, 422, "rate_base", "rate_base", "5"},
		{"resume", "POST", "/api/v1/limiter/resume", "", 200, `"from": "CacheOnly"`, "rate_base", "5"},
		{"an account that is none", "PATCH", "/api/v1/accounts/other", `{"rate":1}`, 404, "other", "rate_base", "5"},
		{"the one account", "PATCH", "/api/v1/accounts/default", `{"rate":1}`, 200, `"to": "1"`, "rate_base", "5"},
		{"no such address", "POST", "/api/v1/limiter/stop", "", 404, "", "rate_base", "5"},
	} {
		t.Run(row.name, func(t *testing.T) {
			status, text := x.admin(row.method, row.path, row.body)
			if status != row.status || !strings.Contains(text, row.text) {
				t.Errorf("%d %s", status, text)
			}
			if got := tuned(row.key); got != row.want {
				t.Errorf("%s is %s, want %s", row.key, got, row.want)
			}
		})
	}
	slog.New(x.events.Handler()).Warn("refused", slog.String("path", "/3/\x1b[31m\u202e/a"))
	if odd := x.events.Last("", "refused"); len(odd) != 1 || odd[0].Text != `path=/3/\x1b[31m\u202e/a` {
		t.Errorf("control characters: %+v", odd)
	}
	lines := x.events.Last("", "admin_change")
	if len(lines) == 0 || !strings.Contains(lines[len(lines)-1].Text, "who=me what=rate_base from=35 to=10 for=2h") {
		t.Errorf("the log tells %+v", lines)
	}
	if status, text := x.admin("GET", "/api/v1/log?event=admin_change", ""); status != 200 ||
		strings.Contains(text, `"tuned"`) || !strings.Contains(text, "what=rate_base") {
		t.Errorf("%d %s", status, text)
	}
}

func TestTheNumberOfConnectionsIsBounded(t *testing.T) {
	x := start(t, true)
	var conns []net.Conn
	for range 65 {
		c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		conns = append(conns, c)
	}
	_ = conns[64].SetReadDeadline(time.Now().Add(20 * time.Second))
	_, last := conns[64].Read(make([]byte, 1))
	_ = conns[0].SetReadDeadline(time.Now().Add(time.Millisecond))
	_, first := conns[0].Read(make([]byte, 1)) // an idle one is closed too, but later
	if last == nil || errors.Is(last, os.ErrDeadlineExceeded) || !errors.Is(first, os.ErrDeadlineExceeded) {
		t.Errorf("the 65th connection: %v, the first: %v", last, first)
	}
}

func TestTheKeyIsTestedPastTheCache(t *testing.T) {
	x := start(t, true)
	for range 2 {
		if status, text := x.admin("POST", "/api/v1/accounts/default/test", ""); status != 200 {
			t.Errorf("%d %s", status, text)
		}
	}
	if n := x.service.Upstream().Metrics().Snapshot().Value(metrics.Requests, "200"); n != 2 {
		t.Errorf("TMDB was asked %v times", n)
	}
}

func TestASessionEndsWithItsTokenItsTimeAndTheProcess(t *testing.T) {
	x := start(t, true)
	now := time.Now()
	cookie := x.login()
	if status, text, _ := x.ask("GET", "/", "", cookie); status != 200 || !strings.Contains(text, "<h1>Overview</h1>") {
		t.Fatalf("%d", status)
	}
	if status, _, h := x.ask("POST", "/logout", "", cookie, formType); status != 303 ||
		!strings.Contains(h.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%d %s", status, h.Get("Set-Cookie"))
	}
	if status, _, _ := x.ask("GET", "/", "", cookie); status != 303 {
		t.Errorf("after the end: %d", status)
	}
	_, _, h := x.ask("POST", "/login", "token="+x.token, formType)
	for _, part := range []string{
		"anivault-" + x.server.port + "=", "HttpOnly", "SameSite=Strict", "Path=/",
		"Max-Age=43200",
	} {
		if !strings.Contains(h.Get("Set-Cookie"), part) {
			t.Errorf("%s is missing in %s", part, h.Get("Set-Cookie"))
		}
	}
	secured := &Server{port: "7374", secure: true}
	w := httptest.NewRecorder()
	secured.setCookie(w, "x")
	if c := w.Header().Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-anivault-7374=x") ||
		!strings.Contains(c, "Secure") {
		t.Errorf("over TLS: %s", c)
	}

	var s sessions
	first := s.begin("a", now)
	if _, ok := s.find(first, now.Add(sessionLifetime-time.Second)); !ok {
		t.Error("it ends before its time")
	}
	if _, ok := s.find(first, now.Add(sessionLifetime)); ok {
		t.Error("it outlives its time")
	}
	first = s.begin("a", now)
	for range maxSessions {
		s.begin("b", now)
	}
	if _, ok := s.find(first, now); ok || len(s.list) != maxSessions {
		t.Errorf("%d sessions, the oldest among them: %t", len(s.list), ok)
	}
	for name, token := range map[string]string{"a client's": x.user, "nobody's": "anv_x", "none": ""} {
		status, text, h := x.ask("POST", "/login", "token="+token, formType)
		if challenged := h.Get("WWW-Authenticate") != ""; challenged != (status == 401) || status != 401 && status != 403 ||
			h.Get("Set-Cookie") != "" || token != "" && strings.Contains(text, token) {
			t.Errorf("%s: %d %s", name, status, h.Get("Set-Cookie"))
		}
	}
	refused := x.events.Last("", "admin_login_refused")
	if len(refused) == 0 || !strings.HasSuffix(refused[0].Text, " addr=127.0.0.1 count=1") {
		t.Errorf("the log tells %+v", refused)
	}
}

func TestWithoutAnAdminThePageSaysHowToMakeOne(t *testing.T) {
	x := start(t, false)
	status, text, _ := x.ask("GET", "/login", "")
	if status != 200 || !strings.Contains(text, "anivault serve token new me --admin") ||
		strings.Contains(text, `name="token"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, _, _ := x.ask("GET", "/api/v1/status", ""); status != 401 {
		t.Errorf("%d", status)
	}
}

func TestFormsMakeAndReportChanges(t *testing.T) {
	x := start(t, true)
	cookie := x.login()
	post := func(path, body string) (int, string) {
		status, text, _ := x.ask("POST", path, body, cookie, formType)
		return status, text
	}
	if status, _ := post("/limiter", "rate_base=11&concurrency=&for=8h"); status != 303 {
		t.Fatalf("%d", status)
	}
	_, text, _ := x.ask("GET", "/", "", cookie)
	for _, want := range []string{
		"tuned the limiter; rate_base: 35 → 11, for 8h", "<b>rate_base = 11</b>",
		"limiter: {rate_base: 11}", `name="end" value="rate_base"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if _, text, _ = x.ask("GET", "/", "", cookie); strings.Contains(text, "tuned the limiter") {
		t.Error("it is reported twice")
	}
	status, _ := post("/limiter", "rate_base=<b>&ceiling=39&for=1h")
	if _, text, _ = x.ask("GET", "/", "", cookie); status != 303 || !strings.Contains(text, `role="alert"`) ||
		strings.Contains(text, "=<b>") || !strings.Contains(text, ` value="39" data-typed`) {
		t.Errorf("a bad number: %d", status)
	}
	if _, text, _ = x.ask("GET", "/", "", cookie); strings.Contains(text, "data-typed") {
		t.Error("what was typed is shown twice")
	}
	if status, _ = post("/limiter", "end=rate_base"); status != 303 || x.limiter().Tuning.RateBase != 35 {
		t.Errorf("%d, rate_base %v", status, x.limiter().Tuning.RateBase)
	}
	if status, _ = post("/limiter/cache-only", "for=always"); status != 303 || x.limiter().State != ratelimit.CacheOnly {
		t.Errorf("%d %v", status, x.limiter().State)
	}
	_, text, _ = x.ask("GET", "/", "", cookie)
	if !strings.Contains(text, `action="/limiter/resume"`) || strings.Contains(text, `action="/limiter/cache-only"`) {
		t.Error("in CacheOnly the page offers the wrong button")
	}
	if status, _ = post("/limiter/resume", ""); status != 303 || x.limiter().State == ratelimit.CacheOnly {
		t.Errorf("%d %v", status, x.limiter().State)
	}
}

// No page, answer or line of the log has a key, a token or a hash.
func TestNoSecretIsShown(t *testing.T) {
	x := start(t, true)
	cookie := x.login()
	x.server.log.Warn("warning", "error", "refused "+poolKey)
	var all strings.Builder
	for _, path := range []string{
		"/", "/accounts", "/clients", "/log", "/login", "/api/v1/status", "/api/v1/accounts",
		"/api/v1/clients", "/api/v1/log",
	} {
		_, text, h := x.ask("GET", path, "", cookie)
		all.WriteString(text)
		_ = h.Write(&all)
	}
	for _, token := range []string{x.token, x.user, poolKey} {
		for _, form := range []string{token, config.TokenHash(token), ratelimit.FingerprintOf(token).String()} {
			if strings.Contains(all.String(), form) {
				t.Errorf("%s is shown", form)
			}
		}
	}
	if !strings.Contains(all.String(), "[redacted]") {
		t.Error("the warning is not shown")
	}
}

// FuzzOrder: whatever a body is, it is read or refused.
func FuzzOrder(f *testing.F) {
	for _, seed := range []string{
		`{"rate_base":10,"for":"1h"}`, `{"a":null}`, `[]`, `{"a":{}}`, `{"for":1e999}`, "", "{",
		`{"":""}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		o, err := readJSON(httptest.NewRequest(http.MethodPatch, "/", strings.NewReader(body)))
		if err != nil {
			if status := httpStatusOf(err); status < 400 || status > 499 {
				t.Errorf("%q: %d", body, status)
			}
			return
		}
		if d, err := o.parseDuration(); err == nil && d < 0 {
			t.Errorf("%q lasts %s", body, d)
		}
	})
}

func TestOpenAPIHasEveryAnswerOfTheAPI(t *testing.T) {
	x := start(t, true)
	ask := func(path string) (body []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+x.token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
		return body
	}
	var document struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema jsonschema.Schema }
			}
		}
	}
	err := json.Unmarshal(ask("/openapi.json"), &document)
	if err != nil || len(document.Paths) != len(reads)+len(changes) {
		t.Fatalf("%d paths: %v", len(document.Paths), err)
	}
	for path, operations := range document.Paths {
		operation, ok := operations["get"]
		if !ok {
			continue
		}
		content := operation.Responses["200"].Content["application/json"]
		s, err := content.Schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(ask(path), &value); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A field is labelled with what it means; its key, for scripts and the config file, comes after it.
func TestFieldsAreLabelledWithTheirMeaning(t *testing.T) {
	x := start(t, true)
	cookie := x.login()
	label := regexp.MustCompile(`<label>([^<]+) <input name="(\w+)" inputmode[^>]*><small[^>]*><code>(\w+)</code>: `)
	for page, least := range map[string]int{"/": 4, "/accounts": 3} {
		_, text, _ := x.ask("GET", page, "", cookie)
		found := label.FindAllStringSubmatch(text, -1)
		if len(found) < least || len(found) != strings.Count(text, "inputmode=") {
			t.Errorf("%s: %d of %d fields have a label", page, len(found), strings.Count(text, "inputmode="))
		}
		for _, f := range found {
			if f[2] != f[3] || !strings.Contains(f[1], " ") {
				t.Errorf("%s: %q is labelled %q", page, f[2], f[1])
			}
		}
	}
}
