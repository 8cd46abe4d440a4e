package tmdb

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrNotFound matches an *Error (with errors.Is) of TMDB's own that says 404, or has the code 6, 34 or 37: TMDB has
// nothing under that id.
var ErrNotFound = errors.New("tmdb: not found")

// Codes of TMDB's error table that decide something here.
const (
	CodeInvalidKey   = 7  // 401
	CodeSuspendedKey = 10 // 401
	CodeOverLimit    = 25 // 429, whatever the HTTP status says
	CodeNotFound     = 34 // 404
	CodeSuspended    = 45 // 403, the account behind the key
)

var credentialCodes = []int{3, CodeInvalidKey, CodeSuspendedKey, 14, 16, 17, 30, 31, 32, 33, 35, 36, CodeSuspended}

// Error is an answer without a value: a status other than 2xx, or TMDB's error object in a 2xx.
type Error struct {
	HTTPStatus int    // as sent
	Code       int    // TMDB's status_code; 0 when the body had none
	Message    string // TMDB's status_message or its errors list; "" when it had none
	Method     string
	Path       string // without the query
	// Foreign is why the body is not TMDB's error object: something between here and TMDB (its edge, a proxy, the
	// login page of a network) may have answered. "" when the answer is TMDB's own.
	Foreign Reason
	// Gateway is true for an error that an anivault gateway answered itself, in TMDB's form.
	Gateway bool
}

// Error returns one line with everything that the type holds.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tmdb: %s %s: HTTP %d", e.Method, e.Path, e.HTTPStatus)
	if text := http.StatusText(e.HTTPStatus); text != "" {
		b.WriteString(" " + text)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Code != 0 {
		b.WriteString(" (code " + strconv.Itoa(e.Code) + ")")
	}
	if e.Foreign != "" {
		b.WriteString(", not TMDB's own answer (" + string(e.Foreign) + ")")
	}
	return b.String()
}

// Is makes errors.Is(err, ErrNotFound) true for what TMDB does not have.
func (e *Error) Is(target error) bool {
	return target == ErrNotFound && e.Foreign == "" &&
		(e.HTTPStatus == http.StatusNotFound || e.Code == 6 || e.Code == CodeNotFound || e.Code == 37)
}

// UnauthorizedError says that TMDB refused the key. It unwraps to the *Error with TMDB's words.
type UnauthorizedError struct {
	Cause *Error
	// Sent is true for the request that met the refusal, false for those that were stopped because of it.
	Sent bool
	// KeyAsToken is true when the token that was sent has the form of a v3 key, a common mistake: such a key belongs
	// into Options.APIKey.
	KeyAsToken bool
}

// Error says who refused and why.
func (e *UnauthorizedError) Error() string {
	if e.Cause == nil {
		return "tmdb: the key was refused"
	}
	if !e.Sent {
		return "tmdb: not asked, the key was refused before: " + e.Cause.Error()
	}
	return "tmdb: the key was refused: " + e.Cause.Error()
}

// Unwrap returns TMDB's own answer.
func (e *UnauthorizedError) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}

// Reason is why a body is not an answer of TMDB's.
type Reason string

// The reasons, in the order in which they are looked for. ReasonSecret is for a transport that puts a key on requests.
const (
	ReasonGzip     Reason = "undecodable gzip"
	ReasonTooLarge Reason = "too large"
	ReasonEmpty    Reason = "empty body"
	ReasonHTML     Reason = "an HTML page instead of JSON"
	ReasonNotJSON  Reason = "not JSON"
	ReasonCut      Reason = "cut or malformed JSON"
	ReasonShape    Reason = "JSON of another kind"
	ReasonSecret   Reason = "a body that repeats the key"
)

// DecodeError is a 2xx whose body is not an answer to what was asked for: an error page, an empty or cut body, a
// compressed one that cannot be read, JSON of another kind.
type DecodeError struct {
	Path        string // without the query
	Reason      Reason
	ContentType string // as sent, shortened
	Size        int    // bytes that were read
	Err         error  // what the decoder said; may be nil
}

// Error returns one line; it never repeats the body.
func (e *DecodeError) Error() string {
	s := fmt.Sprintf("tmdb: undecodable answer to %s: %s (%d bytes", e.Path, e.Reason, e.Size)
	if e.ContentType != "" {
		s += ", " + e.ContentType
	}
	s += ")"
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns what the decoder said.
func (e *DecodeError) Unwrap() error { return e.Err }

// ArgumentError is a call that could not have worked; nothing was sent.
type ArgumentError struct {
	Field  string // the field or parameter
	Reason string // what is allowed
}

// Error names the field and what is allowed; it never repeats the value.
func (e *ArgumentError) Error() string { return "tmdb: " + e.Field + " " + e.Reason }

// failure is a request that got no answer. It keeps the cause for errors.As, and prints it without the request's
// secrets.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// failed wraps what http.Client returned. A *url.Error is taken apart: it prints the whole URL, and with a v3 key the
// URL has the key.
func (c *Client) failed(req *http.Request, err error) error {
	var urlErr *url.Error
	for errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	text := err.Error()
	if strings.HasPrefix(text, "tmdb: ") && scrub(req, text) == text {
		return err // its text says already whose error it is
	}
	text = strings.TrimPrefix(text, "tmdb: ")
	return &failure{text: scrub(req, fmt.Sprintf("tmdb: %s %s: %s", req.Method, req.URL.Path, text)), err: err}
}

// keyRefused reports whether an error of TMDB's refuses the key: any 401, since nothing that this client asks for
// needs more than a key, and TMDB's codes for credentials with another status. A 403 with none of them is a block at
// the edge, which another key would meet too.
func (e *Error) keyRefused() bool {
	switch {
	case e.Foreign != "" || e.Code == CodeOverLimit:
		return false
	case e.HTTPStatus == http.StatusUnauthorized:
		return true
	}
	return (e.HTTPStatus == http.StatusForbidden || e.HTTPStatus < 300) && slices.Contains(credentialCodes, e.Code)
}

// looksLikeKey reports whether the Bearer value has the form of a v3 key, 32 hexadecimal digits. A token is a JWT,
// far longer and with dots.
func looksLikeKey(req *http.Request) bool {
	token, ok := strings.CutPrefix(req.Header.Get("Authorization"), bearerPrefix)
	return ok && len(token) == 32 && strings.Trim(strings.ToLower(token), "0123456789abcdef") == ""
}

// ConfigKind is what is wrong with the setup.
type ConfigKind string

// The kinds of ConfigError.
const (
	ConfigUnknownCA   ConfigKind = "certificate of an unknown authority"
	ConfigWrongName   ConfigKind = "certificate for another name"
	ConfigExpired     ConfigKind = "certificate expired or not yet valid"
	ConfigCertificate ConfigKind = "certificate not acceptable"
	ConfigTLS         ConfigKind = "TLS refused by the server"
	ConfigPlainPort   ConfigKind = "TLS asked of a port that speaks plain HTTP"
	ConfigNotHTTP     ConfigKind = "the server does not speak HTTP"
	ConfigRedirect    ConfigKind = "redirect to another server"
	ConfigDowngrade   ConfigKind = "redirect from https to http"
	ConfigProxy       ConfigKind = "the proxy refused"
)

// ConfigError is a failure of the setup: certificate, address, proxy. It is not evidence about the upstream's health
// and must not be retried.
type ConfigError struct {
	Kind ConfigKind
	Host string // who was asked, or for redirects where it led; host and port only
	Err  error  // the cause; may be nil
}

// Error returns kind, host and cause on one line.
func (e *ConfigError) Error() string {
	s := "tmdb: " + string(e.Kind)
	if e.Host != "" {
		s += " (" + shortText(e.Host, 120) + ")"
	}
	if e.Err != nil {
		s += ": " + shortText(e.Err.Error(), 300)
	}
	return s
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// setupErrors are the errors of net/http, crypto/tls and crypto/x509 that are mistakes of the setup. The first row
// that matches decides; the last ones match texts, where Go has no type. No kind: not the setup's fault.
var setupErrors = []struct {
	kind    ConfigKind
	matches func(err error) bool
}{
	{ConfigUnknownCA, isA[x509.UnknownAuthorityError]},
	{ConfigUnknownCA, isA[x509.SystemRootsError]},
	{ConfigWrongName, isA[x509.HostnameError]},
	{ConfigExpired, func(err error) bool {
		invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
		return ok && invalid.Reason == x509.Expired
	}},
	{ConfigCertificate, isA[x509.CertificateInvalidError]},
	{ConfigCertificate, isA[*tls.CertificateVerificationError]},
	{ConfigPlainPort, func(err error) bool { return errors.Is(err, http.ErrSchemeMismatch) }},
	{ConfigPlainPort, isA[tls.RecordHeaderError]},
	{"", func(err error) bool { return isTLSAlert(err) && strings.Contains(err.Error(), "internal error") }},
	{ConfigTLS, isTLSAlert},
	{ConfigNotHTTP, contains("malformed HTTP")},
	{ConfigNotHTTP, contains("malformed MIME header")},
	{ConfigNotHTTP, contains("readLoopPeekFailLocked: %!w(<nil>)")}, // net/http's words for a server that speaks first
	{ConfigTLS, func(err error) bool { return strings.HasPrefix(err.Error(), "tls: ") }},
	{ConfigTLS, contains(": tls: ")},
}

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

func contains(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

// isTLSAlert reports whether the server ended the handshake with an alert.
func isTLSAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

func asConfigError(host string, err error) (*ConfigError, bool) {
	if config, ok := errors.AsType[*ConfigError](err); ok {
		return config, true
	}
	for _, row := range setupErrors {
		switch {
		case !row.matches(err):
		case row.kind == ConfigNotHTTP: // whose text repeats what the server sent
			return &ConfigError{Kind: row.kind, Host: host, Err: errors.New("malformed HTTP response")}, true
		case row.kind != "":
			return &ConfigError{Kind: row.kind, Host: host, Err: err}, true
		default:
			return nil, false
		}
	}
	return nil, false
}
