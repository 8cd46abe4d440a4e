package tmdb

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// NewWire wraps the transport that sends the requests; nil means http.DefaultTransport.
//
// It reads every body to its end, at most MaxBody bytes, so a response holds no connection. An interrupted transfer is
// an error (it unwraps to io.ErrUnexpectedEOF or the network's error). If a body is gzip but no header says so, it is
// unpacked once, within the same limit. A body that is then still compressed, too large or damaged gives a *DecodeError
// for a 2xx; with any other status the readable part of the body is returned, because the status matters more. A
// redirect to another host or from https to http gives a *ConfigError, as do certificate and TLS errors and a switch to
// another protocol.
func NewWire(next http.RoundTripper) http.RoundTripper {
	return &wire{next: cmp.Or(next, http.DefaultTransport)}
}

type wire struct{ next http.RoundTripper }

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (w *wire) CloseIdleConnections() { closeIdle(w.next) }

func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends req and reads the whole response.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		if config, ok := asConfigError(req.URL.Host, err); ok {
			err = config
		}
		return nil, err
	}
	if to := redirectTarget(req, resp); to != nil {
		if refused := redirectError(req.URL, to); refused != nil {
			_ = resp.Body.Close()
			return nil, refused
		}
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // the body is the connection, which the context does not close
		_ = resp.Body.Close()
		return nil, &ConfigError{Kind: ConfigNotHTTP, Host: req.URL.Host}
	}
	body, err := readBody(req, resp)
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusBadRequest && req.URL.Scheme == "http" && // as Go and nginx answer on a TLS port
		(bytes.Contains(body, []byte("to an HTTPS server")) || bytes.Contains(body, []byte("sent to HTTPS port"))) {
		return nil, &ConfigError{Kind: ConfigNotHTTP, Host: req.URL.Host}
	}
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

// readBody returns the unpacked body; with an error, the bytes read so far.
func readBody(req *http.Request, resp *http.Response) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	refuse := func(reason Reason, cause error) error { return newDecodeError(req, resp, raw, reason, cause) }
	switch {
	case err != nil && isCorruptGzip(err):
		return raw, refuse(ReasonGzip, err) // the header says gzip, but the body is not gzip
	case err != nil:
		return raw, fmt.Errorf("read answer: %w", err)
	case len(raw) > MaxBody:
		return raw[:MaxBody], refuse(ReasonTooLarge, nil)
	case !isGzip(raw):
		return raw, nil
	case resp.Uncompressed:
		return raw, refuse(ReasonGzip, errDoubleGzip) // net/http already unpacked the body once
	}
	text, err := gunzip(raw)
	switch {
	case errors.Is(err, errUnpackedTooLarge):
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
	errDoubleGzip       = errors.New("compressed twice")
	errUnpackedTooLarge = fmt.Errorf("more than %d bytes when unpacked", MaxBody)
)

// isGzip reports whether a body starts like gzip data (RFC 1952, section 2.3.1), which JSON never does.
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
		return nil, errUnpackedTooLarge
	case isGzip(text):
		return nil, errDoubleGzip
	}
	return text, nil
}

// isCorruptGzip reports whether err means damaged gzip data. An interrupted transfer is io.ErrUnexpectedEOF instead.
func isCorruptGzip(err error) bool {
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) ||
		errors.As(err, new(flate.CorruptInputError))
}

// TransportOptions are the settings of NewHTTPTransport.
type TransportOptions struct {
	// RootCAs replaces the system's certificate authorities; nil means the system's. CAPool returns a pool with both.
	RootCAs *x509.CertPool
	// Proxy returns the proxy for a request; nil means none. http.ProxyFromEnvironment reads HTTPS_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)
	// Timeout limits connecting and the TLS handshake, each; it is at least 10 s.
	Timeout time.Duration
	// Connections is the maximum number of connections; 0 means 20, which TMDB allows from one address.
	Connections int
}

// maxConnections is how many connections TMDB allows from one address.
const maxConnections = 20

// NewHTTPTransport makes a transport for TMDB. It uses HTTP/2 if the server does, so one process needs one connection,
// and pings it after 15 s of silence to notice a dead one early. Limit the duration of a whole request by its context
// or by http.Client.Timeout: net/http's header timeout would not stop a body that arrives too slowly.
func NewHTTPTransport(o TransportOptions) *http.Transport {
	connect := max(o.Timeout, 10*time.Second)
	connections := cmp.Or(o.Connections, maxConnections)
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:       o.Proxy,
		DialContext: dialer.DialContext,
		// Setting DialContext or TLSClientConfig would turn HTTP/2 off.
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
		OnProxyConnectResponse: checkProxyResponse,
	}
}

// checkProxyResponse returns a *ConfigError if the proxy refuses with a 4xx. net/http reports a 5xx as a network error.
func checkProxyResponse(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode < 400 || resp.StatusCode >= 500 {
		return nil
	}
	status := errors.New("HTTP " + strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
	return &ConfigError{Kind: ConfigProxy, Host: proxy.Host, Err: status}
}

// CAPool returns the system's certificate authorities and those of pem, which must contain at least one.
func CAPool(pem []byte) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none, so use pem alone
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &ArgumentError{Field: "CA file", Reason: "holds no PEM certificate"}
	}
	return pool, nil
}

const maxRedirects = 5

// CheckRedirect is for http.Client.CheckRedirect; it keeps a credential from reaching another server. It follows a
// redirect on the same scheme, host and port, or from http to https on the same host and port (or from port 80 to 443).
// Any other redirect, and the sixth in a row, gives a *ConfigError.
func CheckRedirect(req *http.Request, via []*http.Request) error {
	if len(via) == 0 {
		return nil
	}
	if len(via) > maxRedirects {
		err := fmt.Errorf("more than %d redirects in a row", maxRedirects)
		return &ConfigError{Kind: ConfigRedirect, Host: req.URL.Host, Err: err}
	}
	return redirectError(via[0].URL, req.URL)
}

// redirectError returns a *ConfigError if a redirect leads to another server or from https to http.
func redirectError(from, to *url.URL) error {
	switch {
	case !strings.EqualFold(from.Hostname(), to.Hostname()):
		return &ConfigError{Kind: ConfigRedirect, Host: to.Host}
	case from.Scheme == "https" && to.Scheme != "https":
		return &ConfigError{Kind: ConfigDowngrade, Host: to.Host}
	case effectivePort(from) != effectivePort(to) && !(isDefaultPort(from) && isDefaultPort(to)):
		return &ConfigError{Kind: ConfigRedirect, Host: to.Host} // another port is another server
	}
	return nil
}

func isDefaultPort(u *url.URL) bool {
	return effectivePort(u) == effectivePort(&url.URL{Scheme: u.Scheme})
}

// effectivePort returns the URL's port, or its scheme's default port.
func effectivePort(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80")
}

func redirectTarget(req *http.Request, resp *http.Response) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	location := resp.Header.Get("Location")
	if location == "" || req.URL == nil {
		return nil
	}
	to, _ := req.URL.Parse(location) // nil if it is invalid
	return to
}

const redactedPlaceholder = "[redacted]"

// requestCredentials returns the secrets in a request: the Authorization value without "Bearer ", and the v3 key.
func requestCredentials(req *http.Request) []string {
	var found []string
	if auth := req.Header.Get("Authorization"); auth != "" {
		found = append(found, strings.TrimPrefix(auth, bearerPrefix))
	}
	if req.URL != nil {
		if key := req.URL.Query().Get(keyParameter); key != "" {
			found = append(found, key)
		}
	}
	return found
}

// minSecretLength is the length below which a secret is not redacted, because a short one would match parts of words.
// TMDB's keys and tokens have at least 32 characters.
const minSecretLength = 8

// redactSecrets replaces the request's secrets in s, both plain and URL-escaped.
func redactSecrets(req *http.Request, s string) string {
	var pairs []string
	for _, secret := range requestCredentials(req) {
		if len(secret) < minSecretLength {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			pairs = append(pairs, form, redactedPlaceholder)
		}
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

func withoutCredentials(req *http.Request) *http.Request {
	clean := req.Clone(req.Context())
	clean.Header.Del("Authorization")
	clean.Response = nil
	clean.URL.User = nil
	kept := slices.DeleteFunc(strings.Split(clean.URL.RawQuery, "&"), func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		return part == "" || name == keyParameter
	})
	clean.URL.RawQuery = strings.Join(kept, "&")
	return clean
}

// shortText shortens a text to one line of at most limit runes, without control characters and direction marks.
func shortText(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	for i := range s {
		if limit == 0 {
			return s[:i] + "…"
		}
		limit--
	}
	return s
}

// KeyLatch is a round tripper that stops using a credential once TMDB refused it, by a 401 or one of TMDB's codes for
// credentials. That request and every later one with the credential fail with an *UnauthorizedError, and the later ones
// are not sent. Requests already under way are not stopped.
//
// One latch may serve several credentials. Put it above the rate limiter and below the cache, because a cached answer
// needs no key. It reads the whole body, at most MaxBody bytes.
type KeyLatch struct {
	next    http.RoundTripper
	refused sync.Map // SHA-256 of the credentials -> *UnauthorizedError
}

// NewKeyLatch wraps next; nil means http.DefaultTransport.
func NewKeyLatch(next http.RoundTripper) *KeyLatch {
	return &KeyLatch{next: cmp.Or(next, http.DefaultTransport)}
}

// CloseIdleConnections closes the idle connections of the wrapped round tripper.
func (l *KeyLatch) CloseIdleConnections() { closeIdle(l.next) }

// RoundTrip sends req unless its credential was refused.
func (l *KeyLatch) RoundTrip(req *http.Request) (*http.Response, error) {
	id := sha256.Sum256([]byte(strings.Join(requestCredentials(req), "\x00")))
	if before, ok := l.refused.Load(id); ok {
		refusal := *before.(*UnauthorizedError)
		refusal.WasSent = false
		return nil, &refusal
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		if refusal, ok := errors.AsType[*UnauthorizedError](err); ok { // a wrapped transport has detected the refusal
			l.refused.Store(id, refusal)
		}
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	_ = resp.Body.Close()
	if refusal := RefusalOf(req, resp, body); refusal != nil {
		l.refused.Store(id, refusal)
		return nil, refusal
	}
	if err != nil && isSuccess(resp) {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
