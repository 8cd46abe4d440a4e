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
	"time"
)

// ErrNotFound matches an *Error with status 404 or code 6, 34 or 37: TMDB has nothing under that id.
var ErrNotFound = errors.New("tmdb: not found")

// Codes of TMDB's error table that this package treats specially.
const (
	CodeInvalidKey   = 7  // 401
	CodeSuspendedKey = 10 // 401
	CodeOverLimit    = 25 // 429, whatever the HTTP status says
	CodeNotFound     = 34 // 404
	CodeSuspended    = 45 // 403, the account behind the key
)

var (
	credentialCodes = []int{3, CodeInvalidKey, CodeSuspendedKey, 14, 16, 31, CodeSuspended}
	unrelatedCodes  = []int{17, 30, 32, 33, 35, 36, 38, 39} // of other 401s: a session, a private list
)

// Error is an error response: a status other than 2xx, or TMDB's error object in a 2xx.
type Error struct {
	HTTPStatus int
	Code       int    // TMDB's status_code; 0 when the body had none
	Message    string // TMDB's status_message or its errors list; "" when it had none
	Method     string
	Path       string // without the query
	// Foreign is why the body is not TMDB's error object, as a proxy or login page may have sent it; "" if it is.
	Foreign Reason
	// Gateway is why an anivault gateway itself made the error, in TMDB's form, such as "quota"; "" if none did.
	Gateway string
	Host    string    // of the gateway, with its port
	RetryAt time.Time // when the gateway asks to try again; zero: it does not say
}

// Error returns one line with the status, the message, the code and Foreign.
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

// Is makes errors.Is(err, ErrNotFound) true if TMDB does not have the entry.
func (e *Error) Is(target error) bool {
	return target == ErrNotFound && e.Foreign == "" && e.Gateway == "" &&
		(e.HTTPStatus == http.StatusNotFound || e.Code == 6 || e.Code == CodeNotFound || e.Code == 37)
}

// UnauthorizedError means that TMDB refused the key. It unwraps to the *Error with TMDB's message.
type UnauthorizedError struct {
	Cause *Error
	// WasSent is true for the request that TMDB refused, false for later ones, which are not sent.
	WasSent bool
	// KeyAsToken is true if the token has the form of a v3 key, a common mistake: it belongs in Options.APIKey.
	KeyAsToken bool
}

func (e *UnauthorizedError) Error() string {
	if e.Cause == nil {
		return "tmdb: the key was refused"
	}
	if !e.WasSent {
		return "tmdb: not sent, the key was refused before: " + e.Cause.Error()
	}
	return "tmdb: the key was refused: " + e.Cause.Error()
}

func (e *UnauthorizedError) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}

// Reason is why a body is not a valid response from TMDB.
type Reason string

// The reasons, in the order in which they are checked. ReasonSecret is for a transport that adds the key to requests;
// ReasonStatus precedes all.
const (
	ReasonGzip     Reason = "undecodable gzip"
	ReasonTooLarge Reason = "too large"
	ReasonEmpty    Reason = "empty body"
	ReasonHTML     Reason = "an HTML page instead of JSON"
	ReasonNotJSON  Reason = "not JSON"
	ReasonCut      Reason = "cut or malformed JSON"
	ReasonShape    Reason = "JSON of another kind"
	ReasonSecret   Reason = "a body that repeats the key"
	ReasonStatus   Reason = "a 2xx other than 200"
)

// DecodeError is a 2xx whose body is not a valid response to the request: an error page, an empty, truncated or
// unreadable body, or JSON of another type.
type DecodeError struct {
	Path        string // without the query
	Reason      Reason
	ContentType string // as sent, shortened
	Size        int    // bytes read
	Err         error  // the decoder's error; may be nil
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

func (e *DecodeError) Unwrap() error { return e.Err }

// ArgumentError is a call with an invalid argument; nothing was sent.
type ArgumentError struct {
	Field  string // the field or parameter
	Reason string // what is allowed
}

// Error returns the field and what is allowed; it never repeats the value.
func (e *ArgumentError) Error() string { return "tmdb: " + e.Field + " " + e.Reason }

// requestError is a request without a response. It unwraps to the cause, but its text has no secrets.
type requestError struct {
	text string
	err  error
}

func (f *requestError) Error() string { return f.text }
func (f *requestError) Unwrap() error { return f.err }

// wrapRequestError wraps an error of http.Client without any *url.Error, whose URL may contain a v3 key.
func (c *Client) wrapRequestError(req *http.Request, err error) error {
	var urlErr *url.Error
	for errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	text := err.Error()
	if strings.HasPrefix(text, "tmdb: ") && redactSecrets(req, text) == text {
		return err // its text already has the prefix
	}
	text = fmt.Sprintf("tmdb: %s %s: %s", req.Method, req.URL.Path, strings.TrimPrefix(text, "tmdb: "))
	return &requestError{text: redactSecrets(req, text), err: err}
}

// keyRefused reports whether TMDB refuses the key: with a 401, or with a credential code in a 403 or 2xx. A 403 without
// such a code is a block at TMDB's edge, which would block any other key too. A 403 of a gateway refuses the question.
func (e *Error) keyRefused() bool {
	switch {
	case e.Foreign != "" || e.Code == CodeOverLimit:
		return false
	case e.HTTPStatus == http.StatusUnauthorized:
		return !slices.Contains(unrelatedCodes, e.Code)
	}
	return e.Gateway == "" && (e.HTTPStatus == http.StatusForbidden || e.HTTPStatus < 300) &&
		slices.Contains(credentialCodes, e.Code)
}

// isTokenLikeKey reports whether the Bearer token looks like a v3 key: 32 hexadecimal digits. Real tokens are JWTs.
func isTokenLikeKey(req *http.Request) bool {
	token, ok := strings.CutPrefix(req.Header.Get("Authorization"), bearerPrefix)
	return ok && len(token) == 32 && strings.Trim(strings.ToLower(token), "0123456789abcdef") == ""
}

// ConfigKind is what is wrong with the configuration.
type ConfigKind string

// The kinds of ConfigError.
const (
	ConfigUnknownCA   ConfigKind = "certificate of an unknown authority"
	ConfigWrongName   ConfigKind = "certificate for another name"
	ConfigExpired     ConfigKind = "certificate expired or not yet valid"
	ConfigCertificate ConfigKind = "certificate not acceptable"
	ConfigTLS         ConfigKind = "TLS refused by the server"
	ConfigPlainPort   ConfigKind = "TLS on a port that speaks plain HTTP"
	ConfigNotHTTP     ConfigKind = "the server does not speak HTTP"
	ConfigRedirect    ConfigKind = "redirect to another server"
	ConfigDowngrade   ConfigKind = "redirect from https to http"
	ConfigProxy       ConfigKind = "the proxy refused"
)

// ConfigError is a wrong certificate, address or proxy. It says nothing about TMDB and must not be retried.
type ConfigError struct {
	Kind ConfigKind
	Host string // host and port that were called, or the target of the redirect
	Err  error  // the cause; may be nil
}

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

func (e *ConfigError) Unwrap() error { return e.Err }

// configErrorRules recognise the errors of net/http, crypto/tls and crypto/x509 that come from a wrong configuration.
// The first matching row decides; kind "" means that the configuration is not at fault. Rows compare the error's text
// if Go has no error type for the case.
var configErrorRules = []struct {
	kind    ConfigKind
	matches func(err error) bool
}{
	{ConfigUnknownCA, isErrorType[x509.UnknownAuthorityError]},
	{ConfigUnknownCA, isErrorType[x509.SystemRootsError]},
	{ConfigWrongName, isErrorType[x509.HostnameError]},
	{ConfigExpired, func(err error) bool {
		invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
		return ok && invalid.Reason == x509.Expired
	}},
	{ConfigCertificate, isErrorType[x509.CertificateInvalidError]},
	{ConfigCertificate, isErrorType[*tls.CertificateVerificationError]},
	{ConfigPlainPort, func(err error) bool { return errors.Is(err, http.ErrSchemeMismatch) }},
	{ConfigPlainPort, isErrorType[tls.RecordHeaderError]},
	{"", func(err error) bool { return isTLSAlert(err) && strings.Contains(err.Error(), "internal error") }},
	{ConfigTLS, isTLSAlert},
	{ConfigNotHTTP, textContains("malformed HTTP")},
	{ConfigNotHTTP, textContains("malformed MIME header")},
	{ConfigNotHTTP, textContains("readLoopPeekFailLocked: %!w(<nil>)")}, // from net/http if the server speaks first
	{ConfigTLS, func(err error) bool { return strings.HasPrefix(err.Error(), "tls: ") }},
	{ConfigTLS, textContains(": tls: ")},
}

func isErrorType[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

func textContains(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

func isTLSAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// asConfigError returns err as a *ConfigError; false if err does not come from a wrong configuration.
func asConfigError(host string, err error) (*ConfigError, bool) {
	if config, ok := errors.AsType[*ConfigError](err); ok {
		return config, true
	}
	for _, row := range configErrorRules {
		switch {
		case !row.matches(err):
		case row.kind == ConfigNotHTTP: // the error's text repeats what the server sent
			return &ConfigError{Kind: row.kind, Host: host, Err: errors.New("malformed HTTP response")}, true
		case row.kind != "":
			return &ConfigError{Kind: row.kind, Host: host, Err: err}, true
		default:
			return nil, false
		}
	}
	return nil, false
}
