package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/tmdbfake/cert"
)

// withClients is a configuration with these clients; extra are further settings of each.
func withClients(extra map[string]string) (yaml string, tokens map[string]string) {
	var b strings.Builder
	b.WriteString("serve:\n  clients:\n")
	tokens = map[string]string{}
	for name, more := range extra {
		token, hash := NewToken()
		tokens[name] = token
		fmt.Fprintf(&b, "    - {name: %s, token_sha256: %q%s}\n", name, hash, more)
	}
	return b.String(), tokens
}

func TestWhoMayAsk(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"a": ""})
	stranger, _ := NewToken()
	const path = "/3/tv/9000001"
	for _, anonymous := range []bool{false, true} {
		b := start(t, setup{yaml: yaml + fmt.Sprintf("  anonymous: %v\n", anonymous)})
		without := map[bool]int{false: 401, true: 200}[anonymous]
		for name, row := range map[string]struct {
			path   string
			header string
			status int
		}{
			"a token":         {path, "Authorization: Bearer " + tokens["a"], 200},
			"in another case": {path, "Authorization: bEARER " + tokens["a"], 200},
			"as api_key":      {path + "?api_key=" + tokens["a"], "", 200},
			"as api_key beside a foreign bearer": {
				path + "?api_key=" + tokens["a"], "Authorization: Bearer eyJhbGciOi.x.y",
				200,
			},
			"an unknown one":                   {path, "Authorization: Bearer " + stranger, 401},
			"an unknown one before a good one": {path + "?api_key=" + tokens["a"], "Authorization: Bearer " + stranger, 401},
			"behind the program's own key":     {path + "?api_key=0123456789abcdef&api_key=" + tokens["a"], "", 200},
			"the first of several":             {path + "?api_key=" + stranger + "&api_key=" + tokens["a"], "", 401},
			"none":                             {path, "", without},
			"a TMDB key":                       {path + "?api_key=0123456789abcdef0123456789abcdef", "", without},
			"a TMDB token":                     {path, "Authorization: Bearer eyJhbGciOi.x.y", without},
			"in another scheme":                {path, "Authorization: Basic " + tokens["a"], without},
			"a token under any Host":           {path + "?api_key=" + tokens["a"], "Host: anivault.example", 200},
			"the test of a key":                {"/3/authentication", "Authorization: Bearer " + tokens["a"], 200},
			"the test of no key":               {"/3/authentication", "", without},
			"health needs none":                {"/healthz", "", 200},
			"what is private, without a token": {"/3/account", "", map[bool]int{false: 401, true: 403}[anonymous]},
		} {
			t.Run(fmt.Sprint(name, ", anonymous ", anonymous), func(t *testing.T) {
				var headers []string
				if row.header != "" {
					headers = append(headers, row.header)
				}
				a := b.get(row.path, headers...)
				if a.status != row.status {
					t.Errorf("%d %s", a.status, a.body)
				}
				if a.status == 401 && (a.own.Reason != "unauthorized" || !strings.Contains(a.body, `"status_code":7`) ||
					a.Header.Get("WWW-Authenticate") == "") {
					t.Errorf("%s", a.body)
				}
			})
		}
	}
}

func TestTokensAreRandomAndKnownByTheirHash(t *testing.T) {
	one, hash := NewToken()
	two, _ := NewToken()
	if one == two || len(one) != 47 || !strings.HasPrefix(one, "anv_") || hash != config.TokenHash(one) ||
		len(hash) != 64 {
		t.Errorf("%s %s %s", one, two, hash)
	}
}

func TestClientsHaveLimitsOfTheirOwn(t *testing.T) {
	yaml, tokens := withClients(map[string]string{
		"few": ", requests: 3/1h", "asks": ", upstream: 2/1h", "soon": ", upstream: 1/20s", "free": "",
	})
	b := start(t, setup{yaml: yaml})
	as := func(name string) string { return "Authorization: Bearer " + tokens[name] }
	limit := func(a answered) string { return a.Header.Get("RateLimit-Policy") + " " + a.Header.Get("RateLimit") }
	said := regexp.MustCompile(`^"client";q=3;w=3600 "client";r=(\d);t=(\d+)$`)
	for left := range 3 {
		found := said.FindStringSubmatch(limit(b.must(200, "/3/tv/9000001", as("few"))))
		if found == nil || found[1] != fmt.Sprint(2-left) {
			t.Errorf("the fields after %d requests: %q", left+1, found)
		}
	}
	a := b.must(429, "/3/tv/9000001", as("few"))
	if a.own.Code != "1002" || a.own.Reason != "client_limit" || a.own.RetryAfter < 3000 ||
		a.Header.Get("Retry-After") != fmt.Sprint(a.own.RetryAfter) {
		t.Errorf("%s", a.body)
	}
	if found := said.FindStringSubmatch(limit(a)); found == nil || found[1] != "0" ||
		found[2] != a.Header.Get("Retry-After") {
		t.Errorf("the fields of a refusal: %q", limit(a))
	}
	if told := limit(b.must(200, "/readyz", as("few"))); told != " " {
		t.Errorf("/readyz: %s", told)
	}
	for range 5 {
		b.must(200, "/3/tv/9000001", as("asks")) // stored by now
	}
	b.must(200, "/3/tv/9000002", as("asks"))
	b.must(200, "/3/tv/9000003", as("asks"))
	if a := b.must(429, "/3/tv/9000004", as("asks")); a.own.Reason != "client_limit" {
		t.Errorf("%s", a.body)
	}
	if told := limit(b.must(429, "/3/tv/9000004", as("asks"))); told != " " {
		t.Errorf("who is refused for long may ask what is in the cache, and reads %s", told)
	}
	b.must(200, "/3/tv/9000005", as("soon"))
	a = b.must(429, "/3/tv/9000006", as("soon"))
	if told := limit(a); told != fmt.Sprintf(` "client";r=0;t=%d`, a.own.RetryAfter) {
		t.Errorf("who is refused for a short time reads %s", told)
	}
	if told := limit(b.must(200, "/3/tv/9000004", as("free"))); told != " " {
		t.Errorf("without a window: %s", told)
	}
	b.must(200, "/3/tv/9000004", as("asks"))
}

// Every combination of address, token, certificate and proxy setting is either safe or refused before anything listens.
func TestExposure(t *testing.T) {
	_, hash := NewToken()
	for _, addr := range []string{
		"127.0.0.1:1", "[::1]:1", "localhost:1", "unix:/tmp/x.sock", "0.0.0.0:1", "[::]:1",
		"192.0.2.1:1", "gateway.lan:1",
	} {
		local := addr == "127.0.0.1:1" || addr == "[::1]:1" || addr == "localhost:1" || addr == "unix:/tmp/x.sock"
		for _, token := range []bool{false, true} {
			for _, encrypted := range []string{"", "tls", "plain_http"} {
				for _, proxy := range []string{"", "hosts", "trusted_proxies"} {
					name := fmt.Sprintf("%s token %v %s %s", addr, token, encrypted, proxy)
					t.Run(name, func(t *testing.T) {
						yaml := "serve:\n  listen: [\"" + addr + "\"]\n"
						if token {
							yaml += "  clients: [{name: a, token_sha256: \"" + hash + "\"}]\n"
						}
						yaml += map[string]string{
							"": "", "tls": "  tls: {cert: c.pem, key: k.pem}\n",
							"plain_http": "  plain_http: true\n",
						}[encrypted]
						yaml += map[string]string{
							"": "", "hosts": "  hosts: [a.lan]\n",
							"trusted_proxies": "  trusted_proxies: [10.0.0.0/8]\n",
						}[proxy]
						dir := t.TempDir()
						file := filepath.Join(dir, "config.yaml")
						if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
							t.Fatal(err)
						}
						cfg, _, err := config.Load(
							config.Sources{File: file, Environ: []string{"HOME=" + dir, "AppData=" + dir, "LocalAppData=" + dir}})
						if err == nil {
							err = cmp.Or(cfg.PrepareServe(), cfg.CheckExposure(false))
						}
						safe := token && (local || encrypted != "") || local && proxy == ""
						if (err == nil) != safe {
							t.Errorf("safe is %v: %v", safe, err)
						}
						if err != nil && (!strings.Contains(err.Error(), "config.yaml:") || !strings.Contains(err.Error(), "serve.")) {
							t.Errorf("no place and remedy: %v", err)
						}
					})
				}
			}
		}
	}
}

func TestAnAddressIsListedOnce(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:7373,127.0.0.1:7373", "127.0.0.1:7374"} {
		dir := t.TempDir()
		cfg, _, err := config.Load(config.Sources{Environ: []string{
			"HOME=" + dir, "AppData=" + dir, "LocalAppData=" + dir, "ANIVAULT_SERVE_LISTEN=" + listen,
		}})
		if err == nil {
			err = cfg.CheckExposure(false)
		}
		if err == nil || !strings.Contains(err.Error(), "listed twice") {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

// "Every IPv4 address" is reported as such, and includes no IPv6 address.
func TestEveryIPv4AddressIsNoMore(t *testing.T) {
	yaml, _ := withClients(map[string]string{"a": ""})
	b := start(t, setup{yaml: yaml + "  plain_http: true\n", listen: "0.0.0.0:0"})
	if at := b.service.listeners[0].Addr(); b.service.url(at) != "http://0.0.0.0:"+portOf(at) {
		t.Errorf("it listens on %s", b.service.url(at))
	}
}

func TestTLSAndAUnixSocket(t *testing.T) {
	dir := t.TempDir()
	pair, err := cert.New(time.Now(), cert.Good)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, pair, certFile, keyFile)
	socket := filepath.Join(dir, "g.sock")
	yaml := fmt.Sprintf("serve:\n  tls: {cert: %q, key: %q}\n", certFile, keyFile)
	b := start(t, setup{yaml: yaml, listen: "127.0.0.1:0,unix:" + socket})
	var urls []string
	for _, l := range b.service.listeners {
		urls = append(urls, b.service.url(l.Addr()))
	}
	if !strings.HasPrefix(urls[0], "https://127.0.0.1:") || urls[1] != "unix:"+socket {
		t.Fatalf("it listens on %q", urls)
	}
	pool := pair.Roots()
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: proto == "HTTP/2.0"}
		resp, err := tr.RoundTrip(mustRequest(t, urls[0]+"/3/tv/9000001"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		tr.CloseIdleConnections()
		if resp.Proto != proto || resp.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s: %s %d", proto, resp.Proto, resp.StatusCode)
		}
	}
	old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11}}
	if resp, err := old.RoundTrip(mustRequest(t, urls[0]+"/healthz")); err == nil {
		resp.Body.Close()
		t.Error("TLS 1.1 is spoken")
	}
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	unix := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer unix.CloseIdleConnections()
	resp, err := unix.RoundTrip(mustRequest(t, "http://any.name.example/3/tv/9000001"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("over the socket: %d", resp.StatusCode)
	}
}

func TestARenewedCertificateIsTaken(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	renew := func() *x509.CertPool {
		pair, err := cert.New(time.Now(), cert.Good)
		if err != nil {
			t.Fatal(err)
		}
		writePair(t, pair, certFile, keyFile)
		return pair.Roots()
	}
	first := renew()
	b := start(t, setup{yaml: fmt.Sprintf("serve:\n  tls: {cert: %q, key: %q}\n", certFile, keyFile)})
	trusts := func(roots *x509.CertPool) error {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
		defer tr.CloseIdleConnections()
		resp, err := tr.RoundTrip(mustRequest(t, b.service.url(b.service.listeners[0].Addr())+"/healthz"))
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := os.WriteFile(keyFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.reread()
	if err := trusts(first); err != nil {
		t.Errorf("half a pair: %v", err)
	}
	second := renew()
	b.reread()
	if err := trusts(second); err != nil || trusts(first) == nil {
		t.Errorf("renewed: %v", err)
	}
}

// Who sends the header of a request slowly holds a connection for seconds.
func TestSlowHeadersHaveAnEnd(t *testing.T) {
	srv := start(t, setup{}).service.newServer()
	if d := srv.ReadHeaderTimeout; d <= 0 || d > 10*time.Second {
		t.Errorf("%s", d)
	}
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func writePair(t *testing.T, pair *cert.Pair, certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.Leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, certFile, "CERTIFICATE", pair.Leaf.Certificate...)
	writePEM(t, keyFile, "PRIVATE KEY", key)
}

func TestOneConnectionTooManyIsClosedAtOnce(t *testing.T) {
	b := start(t, setup{})
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		return conn
	}
	var held []net.Conn
	for range maxConnsPerPeer {
		held = append(held, dial())
	}
	eventually(t, "all are counted", func() bool {
		b.service.g.conns.mu.Lock()
		defer b.service.g.conns.mu.Unlock()
		return b.service.g.conns.total == maxConnsPerPeer
	})
	if _, err := dial().Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("it was not closed: %v", err)
	}
	held[0].Close()
	eventually(t, "a place is free again", func() bool {
		conn := dial()
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		text, _ := io.ReadAll(conn)
		return strings.HasPrefix(string(text), "HTTP/1.1 200")
	})
	for _, c := range held {
		c.Close()
	}
}

func TestAddressBehindProxies(t *testing.T) {
	yaml, _ := withClients(map[string]string{"a": ""})
	cfg := start(t, setup{yaml: yaml + "  trusted_proxies: [127.0.0.1, 10.0.0.0/8]\n"}).service.g.settings.Load()
	for _, row := range []struct{ peer, forwarded, want string }{
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"},
		{"127.0.0.1:5", "", "127.0.0.1"},
		{"127.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{"127.0.0.1:5", "203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7"},
		{"127.0.0.1:5", "198.51.100.7, nonsense", "127.0.0.1"},
		{"[::ffff:127.0.0.1]:5", "2001:db8::1", "2001:db8::1"},
		{"127.0.0.1:5", "10.0.0.1", "10.0.0.1"},
	} {
		r := mustRequest(t, "http://x/")
		r.RemoteAddr = row.peer
		if row.forwarded != "" {
			r.Header.Set("X-Forwarded-For", row.forwarded)
		}
		if got := cfg.clientAddress(r); got != row.want {
			t.Errorf("%s for %q: %s, want %s", row.peer, row.forwarded, got, row.want)
		}
	}
}
