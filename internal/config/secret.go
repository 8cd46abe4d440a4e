package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/ratelimit"
)

// Secret is a value that can't be printed by accident: all formatting gives "[set]" or "". Reveal returns it.
type Secret struct{ value string }

// NewSecret wraps value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value. Call it only to send the value.
func (s Secret) Reveal() string { return s.value }

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.value != "" }

func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	return "[set]"
}

// Format implements fmt.Formatter, so that %v, %+v, %#v, %q and %x print the same as String.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText implements encoding.TextMarshaler without the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

const redactedText = "[redacted]"

func (s Setting) displayText(text string) string {
	switch {
	case s.Secret:
		return NewSecret(text).String()
	case text == s.Default: // an address with "@main" in its path has no password
		return text
	case strings.HasSuffix(s.Key, "_url"), s.Key == "coordinator":
		return redactAddress(text)
	case s.Args:
		return strings.ReplaceAll(text, argSeparator, " ")
	}
	return redactTokens(text)
}

var tokensPattern = lazyregexp.New(`anv_[\w-]{43}|eyJ[\w-]+\.[\w-]+\.[\w-]+|\b[0-9a-fA-F]{32}\b`)

// redactTokens hides whatever has the form of a token or key, in case it was written in a wrong place.
func redactTokens(text string) string { return tokensPattern().ReplaceAllString(text, redactedText) }

// redactAddress hides the user, password and query of a URL, even of an invalid one. If in doubt, it hides more.
func redactAddress(text string) string {
	scheme, rest, user := "", text, ""
	if i := strings.Index(text, "://"); i >= 0 {
		scheme, rest = text[:i+len("://")], text[i+len("://"):]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, rest = redactedText+"@", rest[at+1:]
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 && i+1 < len(rest) {
		rest = rest[:i+1] + redactedText
	}
	return scheme + user + rest
}

// noKeyValue, as the token or key, means that none is sent. TMDB itself requires a key, so it is not valid there.
const noKeyValue = "none"

// minKeyLength is the minimum length of a key: an answer that contains the key is rejected, even if by chance.
const minKeyLength = 8

var (
	tokenPattern  = lazyregexp.New(`^eyJ[\w-]+\.[\w-]+\.[\w-]+$`) // a JSON Web Token
	apiKeyPattern = lazyregexp.New(`^[0-9a-fA-F]{32}$`)
)

// AsksTMDB reports whether requests go to TMDB itself, which needs a key in TMDB's format.
func (c *Config) AsksTMDB() bool {
	host := c.TMDB.BaseURL.Hostname()
	return host == "api.themoviedb.org" || host == "api.tmdb.org" // TMDB's second name for the same servers
}

// CheckConnectionLimit returns a *ratelimit.TuningError if concurrency_total exceeds the connections that TMDB allows.
func (c *Config) CheckConnectionLimit(t ratelimit.Tuning) error {
	const key, most = "concurrency_total", 20
	if t.ConcurrencyTotal <= most || !c.AsksTMDB() {
		return nil
	}
	return &ratelimit.TuningError{
		Keys: []string{key}, Values: []string{strconv.Itoa(t.ConcurrencyTotal)},
		Reason: "TMDB allows 20 connections from one address", Remedy: "set concurrency_total to 20 at most",
	}
}

// LacksKey reports whether a key is needed and missing. A gateway, for example, may not need one.
func (c *Config) LacksKey() bool { return c.AsksTMDB() && !c.HasKey() }

// CheckKeys returns an *Error if a token or key does not have the right format.
func (c *Config) CheckKeys() error {
	var problems errorList
	check := func(name string, k Key) {
		if !k.Secret().IsSet() {
			return
		}
		if reason := c.keyFormProblem(k); reason != "" {
			problems.reject(name, "", reason)
		}
	}
	for _, a := range c.Accounts {
		for i, k := range a.Keys {
			check(cmp.Or(k.File, fmt.Sprintf("%s: key %d", a.Place, i+1)), k)
		}
	}
	check(c.KeyOrigin(), Key{Token: c.TMDB.Token, APIKey: c.TMDB.APIKey})
	return problems.err()
}

// ReadKey returns the token or v3 API key that a user typed, with the same checks as for one in the configuration.
func (c *Config) ReadKey(text string) (Key, error) {
	secret, err := readSecret(text)
	if err != nil {
		return Key{}, &Error{Name: "your input", Reason: lang.TextOf(err)}
	}
	if c.AsksTMDB() && apiKeyPattern().MatchString(secret.Reveal()) {
		return Key{APIKey: secret}, nil
	}
	key := Key{Token: secret}
	if reason := c.keyFormProblem(key); secret.IsSet() && reason != "" {
		return Key{}, &Error{Name: "your input", Reason: reason}
	}
	return key, nil
}

// WithKey returns a copy of the configuration with this key as the only one.
func (c *Config) WithKey(key Key) *Config {
	out := *c
	out.Accounts, out.TMDB.Token, out.TMDB.APIKey = nil, key.Token, key.APIKey
	out.clearNoneKey()
	return &out
}

func (c *Config) clearNoneKey() {
	if key := cmp.Or(c.TMDB.Token, c.TMDB.APIKey); key.Reveal() == noKeyValue && !c.AsksTMDB() {
		c.TMDB.Token, c.TMDB.APIKey = Secret{}, Secret{}
	}
}

func (c *Config) keyFormProblem(k Key) lang.Text {
	const settings = "https://www.themoviedb.org/settings/api"
	text := k.Secret().Reveal()
	switch {
	case !c.AsksTMDB():
		if len(text) < minKeyLength && text != noKeyValue {
			return lang.Textf("is too short: a key has at least %d characters; %q sends no key", minKeyLength, noKeyValue)
		}
	case k.Token.IsSet() && !tokenPattern().MatchString(text):
		switch {
		case apiKeyPattern().MatchString(text):
			return "looks like a v3 API key: set ANIVAULT_TMDB_API_KEY (tmdb.api_key) to it, or use the longer " +
				"API Read Access Token from " + settings
		case strings.HasPrefix(text, "anv_"):
			return "looks like a token of an anivault gateway: set ANIVAULT_TMDB_BASE_URL to the gateway's address"
		}
		return "is not a TMDB token, which begins with eyJ and has three parts separated by dots; copy the " +
			"API Read Access Token from " + settings
	case k.APIKey.IsSet() && !apiKeyPattern().MatchString(text):
		if tokenPattern().MatchString(text) {
			return "looks like an API Read Access Token: set ANIVAULT_TMDB_TOKEN (tmdb.token) to it"
		}
		return "is not a TMDB API key (v3), which has 32 hexadecimal digits; copy it from " + settings
	}
	return ""
}
