package tmdb

// Failures that no retry mends, because something in the setup is wrong, and
// what a person can do about them.

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
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
	ConfigRedirect    ConfigKind = "redirect to another host"
	ConfigDowngrade   ConfigKind = "redirect from https to http"
	ConfigProxy       ConfigKind = "the proxy refused"
)

// ConfigError is a failure of the setup: certificate, address, proxy. It is
// not evidence about the upstream's health and must not be retried.
type ConfigError struct {
	Kind ConfigKind
	Host string // who was asked, or for redirects where it led; host and port only
	Err  error  // the cause; may be nil
}

// Error gives kind, host and cause on one line.
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

// Unwrap gives the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// asConfigError recognises the errors of net/http, crypto/tls and crypto/x509
// that are mistakes of the setup. The texts at the end are those for which Go
// has no type.
func asConfigError(host string, err error) (*ConfigError, bool) {
	var config *ConfigError
	if errors.As(err, &config) {
		return config, true
	}
	found := func(kind ConfigKind) (*ConfigError, bool) {
		return &ConfigError{Kind: kind, Host: host, Err: err}, true
	}
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		roots   x509.SystemRootsError
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		op      *net.OpError
	)
	switch {
	case errors.As(err, &unknown), errors.As(err, &roots):
		return found(ConfigUnknownCA)
	case errors.As(err, &name):
		return found(ConfigWrongName)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return found(ConfigExpired)
	case errors.As(err, &invalid), errors.As(err, &verify):
		return found(ConfigCertificate)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return found(ConfigPlainPort)
	case errors.As(err, &op) && op.Op == "remote error": // a TLS alert
		if strings.Contains(err.Error(), "internal error") {
			return nil, false // the server's own trouble
		}
		return found(ConfigTLS)
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "malformed MIME header"),
		strings.Contains(text, "readLoopPeekFailLocked: %!w(<nil>)"): // net/http's words for a server that speaks first
		// The text repeats what the server sent; it is left out.
		return &ConfigError{Kind: ConfigNotHTTP, Host: host, Err: errors.New("malformed HTTP response")}, true
	case strings.HasPrefix(text, "tls: "), strings.Contains(text, ": tls: "):
		return found(ConfigTLS)
	}
	return nil, false
}

// Hint gives a remedy in one sentence for an error that a person can mend, ""
// for all others. It knows every error of this package and the resolver's.
func Hint(err error) string {
	var (
		config       *ConfigError
		unauthorized *UnauthorizedError
		dns          *net.DNSError
		decode       *DecodeError
	)
	switch {
	case errors.As(err, &config):
		return config.hint()
	case errors.As(err, &unauthorized):
		return unauthorized.hint()
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("the name %s does not exist: is tmdb.base_url (ANIVAULT_TMDB_BASE_URL) spelt right? Some providers block it in their DNS; another resolver may help",
			shortText(dns.Name, 120))
	case errors.As(err, &decode) && decode.Reason == ReasonHTML:
		return "something between here and TMDB answered with a web page: a login page of this network, a proxy, or an outage of TMDB's edge"
	}
	return ""
}

func (e *ConfigError) hint() string {
	switch e.Kind {
	case ConfigExpired:
		return "is this machine's clock right? If it is, the server's certificate has run out: check tmdb.base_url"
	case ConfigUnknownCA:
		return "if a proxy or a stand-in with its own authority is meant, name its certificate in ANIVAULT_TMDB_CA_FILE; if not, someone is reading along: check tmdb.base_url and the network"
	case ConfigWrongName:
		return "tmdb.base_url leads to a server with another name: check its spelling, the DNS answer, and that no login page of this network stands between"
	case ConfigPlainPort:
		return "tmdb.base_url says https:// but that port speaks plain HTTP: write http:// or the right port"
	case ConfigNotHTTP:
		return "tmdb.base_url leads to something that is no web server, or to a TLS port with http://: check scheme and port"
	case ConfigRedirect, ConfigDowngrade:
		return "the key is not sent there: set tmdb.base_url to the final address if it is meant, or log in to this network first"
	case ConfigProxy:
		return "check HTTPS_PROXY and the user name and password in it"
	case ConfigCertificate, ConfigTLS:
		return "check tmdb.base_url, this machine's clock, and ANIVAULT_TMDB_CA_FILE if it is set"
	}
	return ""
}

func (e *UnauthorizedError) hint() string {
	switch {
	case e.KeyAsToken:
		return "what was given as the token looks like a v3 API key: set ANIVAULT_TMDB_API_KEY to it, or use the longer API read access token"
	case e.Cause != nil && (e.Cause.Code == CodeSuspendedKey || e.Cause.Code == CodeSuspended):
		return "TMDB suspended this key or its account: ask TMDB, or use another key"
	}
	return "check ANIVAULT_TMDB_TOKEN (the API read access token) or ANIVAULT_TMDB_API_KEY on https://www.themoviedb.org/settings/api"
}
