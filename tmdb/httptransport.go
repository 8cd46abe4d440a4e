package tmdb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// TransportOptions is what differs between installations.
type TransportOptions struct {
	// RootCAs replaces the system's authorities; nil means the system's. CAPool makes one that has both.
	RootCAs *x509.CertPool
	// Proxy chooses the proxy of a request; nil means none. http.ProxyFromEnvironment reads HTTPS_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)
	// Timeout is how long connecting and the TLS handshake may take each, at least 10 s.
	Timeout time.Duration
}

// maxConnections is TMDB's bound on connections from one address.
const maxConnections = 20

// NewHTTPTransport makes a transport for TMDB. It speaks HTTP/2 where the server does, so that a process needs one
// connection, and notices a dead one by a ping after 15 s of silence instead of waiting for the request to time out.
// Connecting and the TLS handshake have limits of their own (TransportOptions.Timeout). How long a whole request may
// take is for the caller's context or http.Client.Timeout: the header timeout of net/http would not cover a body that
// drips.
func NewHTTPTransport(o TransportOptions) *http.Transport {
	connect := max(o.Timeout, 10*time.Second)
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:       o.Proxy,
		DialContext: dialer.DialContext,
		// A DialContext or TLSClientConfig of one's own turns HTTP/2 off unless it is asked for.
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connect,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           maxConnections,
		MaxIdleConnsPerHost:    maxConnections,
		MaxConnsPerHost:        maxConnections,
		MaxResponseHeaderBytes: 256 << 10,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		OnProxyConnectResponse: checkProxyAnswer,
	}
}

// checkProxyAnswer returns a *ConfigError for a proxy that refuses. One that failed (5xx) is trouble of the network,
// which net/http reports.
func checkProxyAnswer(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode < 400 || resp.StatusCode >= 500 {
		return nil
	}
	status := errors.New("HTTP " + strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
	return &ConfigError{Kind: ConfigProxy, Host: proxy.Host, Err: status}
}

// CAPool returns the system's certificate authorities and those of pem (one or more PEM blocks). It fails when pem
// holds no certificate.
func CAPool(pem []byte) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without any still has pem
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &ArgumentError{Field: "CA file", Reason: "holds no PEM certificate"}
	}
	return pool, nil
}
