package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake/cert"
)

// bound is one combination of address, token, encryption and proxy setting.
type bound struct {
	addr, encrypted, proxy string
	token                  bool
}

// safe is what the rules say of it.
func (x bound) safe() bool {
	local := !strings.HasPrefix(x.addr, "0.0.0.0") && !strings.HasPrefix(x.addr, "[::]")
	return x.token && (local || x.encrypted != "") || local && x.proxy == ""
}

// Every combination that is not refused really listens, and over it nobody without a token is answered where there is
// one, and nobody in the clear where there is a certificate.
func TestEveryExposureOverHTTP(t *testing.T) {
	pair, err := cert.New(time.Now(), cert.Good)
	if err != nil {
		t.Fatal(err)
	}
	certs := t.TempDir()
	certFile, keyFile := filepath.Join(certs, "cert.pem"), filepath.Join(certs, "key.pem")
	writePair(t, pair, certFile, keyFile)
	token, hash := NewToken()
	started := 0
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0", "unix:", "0.0.0.0:0", "[::]:0"} {
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
		} else if !strings.HasPrefix(addr, "unix:") {
			t.Logf("this machine has no %s", addr)
			continue
		}
		for i := range 2 * 3 * 3 {
			x := bound{
				addr: addr, token: i%2 == 1, encrypted: []string{"", "tls", "plain_http"}[i/2%3],
				proxy: []string{"", "hosts", "trusted_proxies"}[i/6],
			}
			t.Run(fmt.Sprintf("%+v", x), func(t *testing.T) {
				dir := t.TempDir()
				listen := x.addr
				if listen == "unix:" {
					listen += filepath.Join(dir, "s")
				}
				yaml := "serve:\n  anonymous: false\n"
				if x.token {
					yaml += "  clients: [{name: a, token_sha256: \"" + hash + "\"}]\n"
				}
				yaml += map[string]string{
					"": "", "tls": fmt.Sprintf("  tls: {cert: %q, key: %q}\n", certFile, keyFile),
					"plain_http": "  plain_http: true\n",
				}[x.encrypted]
				yaml += map[string]string{
					"": "", "hosts": "  hosts: [a.lan]\n",
					"trusted_proxies": "  trusted_proxies: [10.0.0.0/8]\n",
				}[x.proxy]
				b := &bench{t: t, dir: dir}
				b.configure(yaml)
				cfg, err := b.load("http://192.0.2.1:9", listen, poolKey)
				if err != nil {
					t.Fatal(err)
				}
				service, err := Listen(cfg, Options{Offline: true}, func(string) {})
				if (err == nil) != x.safe() {
					t.Fatalf("safe is %v: %v", x.safe(), err)
				}
				if err != nil {
					return
				}
				started++
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- service.Run(ctx) }()
				defer func() {
					cancel()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}()
				at := service.listeners[0].Addr()
				tr := &http.Transport{
					TLSClientConfig: &tls.Config{RootCAs: pair.Roots(), ServerName: "localhost"},
					DialContext:     dialTo(at),
				}
				defer tr.CloseIdleConnections()
				ask := func(scheme, auth string) int {
					req := mustRequest(t, scheme+"://127.0.0.1/3/authentication")
					if auth != "" {
						req.Header.Set("Authorization", "Bearer "+auth)
					}
					resp, err := tr.RoundTrip(req)
					if err != nil {
						return 0
					}
					resp.Body.Close()
					return resp.StatusCode
				}
				scheme := "http"
				if x.encrypted == "tls" && at.Network() != "unix" {
					scheme = "https"
					if status := ask("http", token); status == http.StatusOK {
						t.Error("it answers in the clear")
					}
				}
				stranger, without, with := http.StatusUnauthorized, http.StatusOK, http.StatusUnauthorized
				if x.token {
					without, with = http.StatusUnauthorized, http.StatusOK
				}
				other, _ := NewToken()
				if got := [3]int{ask(scheme, ""), ask(scheme, token), ask(scheme, other)}; got != [3]int{without, with, stranger} {
					t.Errorf("without a token, with the client's, with a stranger's: %v", got)
				}
			})
		}
	}
	if started < 30 {
		t.Errorf("%d combinations were started", started)
	}
}

func TestCheckFindsASocketGroupThatDoesNotExist(t *testing.T) {
	for group, want := range map[string]string{"nosuchgroup": "serve.socket_group", "70000": "", "99999999999": "number"} {
		b := &bench{t: t, dir: t.TempDir()}
		b.configure("serve:\n  clients: [{name: a, token_sha256: \"" + strings.Repeat("0", 64) + "\"}]\n  socket_group: \"" +
			group + "\"\n")
		cfg, err := b.load("http://192.0.2.1:9", "unix:"+filepath.Join(b.dir, "s"), poolKey)
		if err == nil {
			err = Check(cfg)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", group, err)
		}
	}
}

// dialTo connects to an address whatever is asked for; from this machine that of every address is the loopback.
func dialTo(at net.Addr) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		to := at.String()
		if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
			to = fmt.Sprintf("127.0.0.1:%d", tcp.Port)
		}
		return new(net.Dialer).DialContext(ctx, at.Network(), to)
	}
}

// A client that closes its side behind the request, as nc -N does, gets no answer rather than a wrong one.
func TestAHalfClosedClientGetsNoEmptyAnswer(t *testing.T) {
	b := start(t, setup{})
	open := b.up.shut()
	defer open()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /3/tv/9000001 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err = errors.Join(err, conn.(*net.TCPConn).CloseWrite()); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); len(got) > 0 {
		t.Errorf("it got %q", got)
	}
}

// The limit of connections from one address also holds for a host that has a whole IPv6 network.
func TestConnectionsCountForTheirPeer(t *testing.T) {
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1, Zone: ""} }
	trusting := &settings{}
	trusting.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("2001:db8:9::/48"), netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		addr net.Addr
		want string
	}{
		{tcp("192.0.2.7"), "192.0.2.7"},
		{tcp("::ffff:192.0.2.7"), "192.0.2.7"},
		{tcp("2001:db8:1:2::3"), "2001:db8:1:2::/64"},
		{tcp("2001:db8:1:2:ffff::"), "2001:db8:1:2::/64"},
		{tcp("2001:db8:1:3::3"), "2001:db8:1:3::/64"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, "fe80::/64"},
		{&net.UnixAddr{Name: "/run/x", Net: "unix"}, ""},
		{tcp("2001:db8:9::1"), ""}, // trusted proxies
		{tcp("10.1.2.3"), ""},
	} {
		if got := trusting.peerOf(c.addr); got != c.want {
			t.Errorf("%v counts for %q, want %q", c.addr, got, c.want)
		}
	}
}
