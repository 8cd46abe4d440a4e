package tmdb

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// NewWire wraps the transport that does the sending; nil means http.DefaultTransport.
//
// Every body is read to its end, at most MaxBody bytes, so what comes back holds no connection. A transfer that broke
// off is an error (it unwraps to io.ErrUnexpectedEOF or the network's error). A body that starts with gzip's magic
// bytes though no header announced it is unpacked once, within the same bound; one that is still compressed then, too
// large, or damaged is a *DecodeError for a 2xx. For any other status the status is worth more than the body: what
// could be read of it comes back. A redirect to another host or from https to http is a *ConfigError, as are
// certificate and TLS errors.
func NewWire(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &wire{next: next}
}

type wire struct{ next http.RoundTripper }

// CloseIdleConnections passes the call on, so that http.Client's works.
func (w *wire) CloseIdleConnections() { closeIdle(w.next) }

func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends req and reads the whole answer.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		if config, ok := asConfigError(req.URL.Host, err); ok {
			err = config
		}
		return nil, err
	}
	if to := redirectTarget(req, resp); to != nil {
		if refused := refuseRedirect(req.URL, to); refused != nil {
			_ = resp.Body.Close()
			return nil, refused
		}
	}
	body, err := readBody(req, resp)
	_ = resp.Body.Close()
	if err != nil && (isSuccess(resp) || errors.Is(req.Context().Err(), context.Canceled)) {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if req.Method != http.MethodHead && resp.StatusCode != http.StatusNotModified {
		resp.ContentLength = int64(len(body))
		resp.TransferEncoding = nil
		if resp.Header.Get("Content-Length") != "" {
			resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
		}
	}
	return resp, nil
}

// readBody returns the body unpacked; with an error, what was read of it.
func readBody(req *http.Request, resp *http.Response) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	refuse := func(reason Reason, cause error) error { return undecodable(req, resp, raw, reason, cause) }
	switch {
	case err != nil && isGarbledGzip(err):
		return raw, refuse(ReasonGzip, err) // announced as gzip, but not gzip
	case err != nil:
		return raw, fmt.Errorf("read answer: %w", err)
	case len(raw) > MaxBody:
		return raw[:MaxBody], refuse(ReasonTooLarge, nil)
	case !isGzip(raw):
		return raw, nil
	case resp.Uncompressed:
		return raw, refuse(ReasonGzip, errTwice) // net/http has unpacked it once already
	}
	text, err := gunzip(raw)
	switch {
	case errors.Is(err, errBomb):
		return raw, refuse(ReasonTooLarge, err)
	case err != nil:
		return raw, refuse(ReasonGzip, err)
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.Uncompressed = true
	return text, nil
}

var (
	errTwice = errors.New("compressed twice")
	errBomb  = fmt.Errorf("more than %d bytes when unpacked", MaxBody)
)

// isGzip reports whether a body starts with gzip's magic bytes and its one method (RFC 1952, section 2.3.1). No JSON
// text does.
func isGzip(body []byte) bool {
	return len(body) >= 3 && body[0] == 0x1f && body[1] == 0x8b && body[2] == 8
}

func gunzip(raw []byte) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(zr, MaxBody+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > MaxBody:
		return nil, errBomb
	case isGzip(text):
		return nil, errTwice
	}
	return text, nil
}

// isGarbledGzip reports whether gzip data are damaged. A transfer that broke off is io.ErrUnexpectedEOF instead.
func isGarbledGzip(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}

// TransportOptions is what differs between installations.
type TransportOptions struct {
	// RootCAs replaces the system's authorities; nil means the system's. CAPool makes one that has both.
	RootCAs *x509.CertPool
	// Proxy chooses the proxy of a request; nil means none. http.ProxyFromEnvironment reads HTTPS_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)
	// Timeout is how long connecting and the TLS handshake may take each, at least 10 s.
	Timeout time.Duration
	// Connections is how many there are at most; 0: 20, which TMDB allows from one address.
	Connections int
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
	connections := cmp.Or(o.Connections, maxConnections)
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
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		MaxConnsPerHost:        connections,
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

const maxRedirects = 5

// CheckRedirect is an http.Client.CheckRedirect that keeps a credential at the server it was meant for. It follows a
// redirect on the same scheme, host and port, or from http to https on the same host and port (or from port 80 to
// 443). Any other redirect, and the sixth in a row, is a *ConfigError.
func CheckRedirect(req *http.Request, via []*http.Request) error {
	if len(via) == 0 {
		return nil
	}
	if len(via) > maxRedirects {
		err := fmt.Errorf("more than %d redirects in a row", maxRedirects)
		return &ConfigError{Kind: ConfigRedirect, Host: req.URL.Host, Err: err}
	}
	if err := refuseRedirect(via[0].URL, req.URL); err != nil {
		return err
	}
	return nil
}

func refuseRedirect(from, to *url.URL) *ConfigError {
	switch {
	case !strings.EqualFold(from.Hostname(), to.Hostname()):
		return &ConfigError{Kind: ConfigRedirect, Host: to.Host}
	case from.Scheme == "https" && to.Scheme != "https":
		return &ConfigError{Kind: ConfigDowngrade, Host: to.Host}
	case portOf(from) != portOf(to) && !(isDefaultPort(from) && isDefaultPort(to)):
		return &ConfigError{Kind: ConfigRedirect, Host: to.Host} // another port is another server
	}
	return nil
}

func isDefaultPort(u *url.URL) bool { return portOf(u) == portOf(&url.URL{Scheme: u.Scheme}) }

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

func redirectTarget(req *http.Request, resp *http.Response) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	location := resp.Header.Get("Location")
	if location == "" || req == nil || req.URL == nil {
		return nil
	}
	to, err := req.URL.Parse(location)
	if err != nil {
		return nil
	}
	return to
}
