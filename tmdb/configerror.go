package tmdb

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
)

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

// asConfigError returns err as a mistake of the setup, if it is one.
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
