package tmdb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// secure starts a TLS server whose certificate is signed by its own authority (returned as PEM), for names, valid
// until end.
func secure(t *testing.T, names []string, end time.Time) (*httptest.Server, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"},
		NotBefore: end.Add(-48 * time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Proto", r.Proto)
		_, _ = io.WriteString(w, good)
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12,
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func pool(t *testing.T, pem []byte) *x509.CertPool {
	t.Helper()
	p, err := CAPool(pem)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTLSMistakesAreNamed(t *testing.T) {
	tomorrow := time.Now().Add(24 * time.Hour)
	right, rightCA := secure(t, []string{"127.0.0.1"}, tomorrow)
	wrongName, wrongNameCA := secure(t, []string{"api.example.org"}, tomorrow)
	expired, expiredCA := secure(t, []string{"127.0.0.1"}, time.Now().Add(-time.Hour))
	plain := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, good) }),
	)
	defer plain.Close()
	ssh, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ssh.Close() }()
	go func() {
		for {
			c, err := ssh.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "SSH-2.0-canary\r\n")
			_ = c.Close()
		}
	}()
	old, oldCA := secure(t, []string{"127.0.0.1"}, tomorrow)
	old.TLS.MaxVersion = tls.VersionTLS11
	old.TLS.MinVersion = tls.VersionTLS10

	tests := []struct {
		name string
		base string
		ca   []byte
		kind ConfigKind
	}{
		{"right authority", right.URL, rightCA, ""},
		{"unknown authority", right.URL, nil, ConfigUnknownCA},
		{"another's name", wrongName.URL, wrongNameCA, ConfigWrongName},
		{"expired", expired.URL, expiredCA, ConfigExpired},
		{"plain port", "https" + strings.TrimPrefix(plain.URL, "http"), nil, ConfigPlainPort},
		{"no HTTP", "http://" + ssh.Addr().String(), nil, ConfigNotHTTP},
		{"old TLS only", old.URL, oldCA, ConfigTLS},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := TransportOptions{}
			if tt.ca != nil {
				o.RootCAs = pool(t, tt.ca)
			}
			tr := NewHTTPTransport(o)
			defer tr.CloseIdleConnections()
			c, err := New(Options{BaseURL: tt.base, Token: "canary-token", HTTPClient: &http.Client{Transport: NewWire(tr)}})
			if err != nil {
				t.Fatal(err)
			}
			_, resp, err := c.TV(t.Context(), 9000001, DetailOptions{})
			if tt.kind == "" {
				if err != nil {
					t.Fatal(err)
				}
				if resp.Header.Get("Proto") != "HTTP/2.0" {
					t.Errorf("spoke %s", resp.Header.Get("Proto"))
				}
				return
			}
			var config *ConfigError
			if !errors.As(err, &config) || config.Kind != tt.kind {
				t.Fatalf("got %v, want %s", err, tt.kind)
			}
			if strings.Contains(err.Error(), "canary") || !strings.HasPrefix(err.Error(), "tmdb: ") {
				t.Errorf("error text: %v", err)
			}
		})
	}
}

func TestProxyRefusals(t *testing.T) {
	tests := map[int]ratelimit.Outcome{407: ratelimit.Misconfigured, 403: ratelimit.Misconfigured, 502: ratelimit.Network}
	for status, want := range tests {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodConnect || r.Header.Get("Authorization") != "" {
				t.Errorf("the proxy was sent %s with %v", r.Method, r.Header)
			}
			w.WriteHeader(status)
		}))
		u, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		tr := NewHTTPTransport(TransportOptions{Proxy: http.ProxyURL(u)})
		req := request(t, "token")
		x := roundTripOf(NewWire(tr), req)
		if got := Classify(req, nil, nil, x.err); x.err == nil || got != want {
			t.Errorf("%d: %v classified as %v, want %v", status, x.err, got, want)
		}
		tr.CloseIdleConnections()
		proxy.Close()
	}
}

func TestCAPoolWantsACertificate(t *testing.T) {
	var arg *ArgumentError
	if _, err := CAPool([]byte("not PEM")); !errors.As(err, &arg) {
		t.Errorf("got %v", err)
	}
}
