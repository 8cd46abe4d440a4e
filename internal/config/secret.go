package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
)

// Secret is a value that never shows itself: every way of printing, formatting or encoding it gives
// "[set]" or "" instead of the value. Reveal is the one way to the value.
type Secret struct{ value string }

// NewSecret wraps value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value. Call it only where the value is sent.
func (s Secret) Reveal() string { return s.value }

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.value != "" }

// String implements fmt.Stringer without the value.
func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	return "[set]"
}

// Format implements fmt.Formatter, so that %v, %+v, %#v, %q and %x are as silent as String.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText implements encoding.TextMarshaler without the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

const hidden = "[redacted]"

func (s Setting) shown(text string) string {
	switch {
	case s.Secret:
		return NewSecret(text).String()
	case strings.HasSuffix(s.Key, "_url"), s.Key == "coordinator":
		return shownAddress(text)
	case s.Args:
		return strings.ReplaceAll(text, argEnd, " ")
	}
	return text
}

// shownAddress hides user, password and query. It parses nothing, because errors show text that is not a URL, too: it
// hides too much rather than too little.
func shownAddress(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	} else {
		scheme += "://"
	}
	user := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, rest = hidden+"@", rest[at+1:]
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 && i+1 < len(rest) {
		rest = rest[:i+1] + hidden
	}
	return scheme + user + rest
}

// noKey stands for a token or key where none is sent. TMDB itself answers nobody without one.
const noKey = "none"

// minKey is the length of the shortest key that is sent: a shorter one may appear in an answer by chance, and an answer
// that holds the key is refused.
const minKey = 8

var (
	readTokenForm = regexp.MustCompile(`^eyJ[\w-]+\.[\w-]+\.[\w-]+$`) // a JSON Web Token
	apiKeyForm    = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)
)

// AsksTMDB reports whether requests go to TMDB's own address, which wants a key of TMDB's own form.
func (c *Config) AsksTMDB() bool {
	return c.TMDB.BaseURL.Hostname() == "api.themoviedb.org"
}

// CheckSlots returns a *ratelimit.TuningError for more slots than TMDB's own address allows connections.
func (c *Config) CheckSlots(t ratelimit.Tuning) error {
	const key, most = "concurrency_total", 20
	if t.ConcurrencyTotal <= most || !c.AsksTMDB() {
		return nil
	}
	return &ratelimit.TuningError{
		Keys: []string{key}, Values: []string{strconv.Itoa(t.ConcurrencyTotal)},
		Reason: "TMDB allows 20 connections from one address", Remedy: "set concurrency_total to 20 at most",
	}
}

// LacksKey reports whether nothing can be asked for want of a key. Other addresses, such as a gateway, may want none.
func (c *Config) LacksKey() bool { return c.AsksTMDB() && !c.HasKey() }

// CheckKeys returns an *Error for each token and key in force that can't be one, by its form alone.
func (c *Config) CheckKeys() error {
	var bad faults
	check := func(name string, k Key) {
		if !k.Secret().IsSet() {
			return
		}
		if reason := c.wrongForm(k); reason != "" {
			bad.refuse(name, "", reason)
		}
	}
	for _, a := range c.Accounts {
		for i, k := range a.Keys {
			check(cmp.Or(k.File, fmt.Sprintf("%s: key %d", a.Place, i+1)), k)
		}
	}
	check(c.KeyOrigin(), Key{Token: c.TMDB.Token, APIKey: c.TMDB.APIKey})
	return bad.err()
}

// ReadToken reads a token that a person gives, after the checks that are made of one in a configuration.
func (c *Config) ReadToken(text string) (Secret, error) {
	secret, err := readSecret(text)
	if err != nil {
		return Secret{}, &Error{Name: "TMDB token", Reason: lang.TextOf(err)}
	}
	if reason := c.wrongForm(Key{Token: secret}); secret.IsSet() && reason != "" {
		return Secret{}, &Error{Name: "TMDB token", Reason: reason}
	}
	return secret, nil
}

// WithToken returns the configuration with another token in force, and nothing else to authenticate with.
func (c *Config) WithToken(token Secret) *Config {
	out := *c
	out.Accounts, out.TMDB.Token, out.TMDB.APIKey = nil, token, Secret{}
	out.dropNoKey()
	return &out
}

func (c *Config) dropNoKey() {
	if key := cmp.Or(c.TMDB.Token, c.TMDB.APIKey); key.Reveal() == noKey && !c.AsksTMDB() {
		c.TMDB.Token, c.TMDB.APIKey = Secret{}, Secret{}
	}
}

func (c *Config) wrongForm(k Key) lang.Text {
	const settings = "https://www.themoviedb.org/settings/api"
	text := k.Secret().Reveal()
	switch {
	case !c.AsksTMDB():
		if len(text) < minKey && text != noKey {
			return lang.Textf("is too short: a key has at least %d characters; write %s to send no key", minKey, noKey)
		}
	case k.Token.IsSet() && !readTokenForm.MatchString(text):
		switch {
		case apiKeyForm.MatchString(text):
			return "looks like a v3 API key: set ANIVAULT_TMDB_API_KEY (tmdb.api_key) to it, or use the longer " +
				"API Read Access Token from " + settings
		case strings.HasPrefix(text, "anv_"):
			return "looks like a token of an anivault gateway: set ANIVAULT_TMDB_BASE_URL to the gateway's address"
		}
		return "is not a TMDB token, which begins with eyJ and has three parts with dots between them; copy the " +
			"API Read Access Token from " + settings
	case k.APIKey.IsSet() && !apiKeyForm.MatchString(text):
		if readTokenForm.MatchString(text) {
			return "looks like an API Read Access Token: set ANIVAULT_TMDB_TOKEN (tmdb.token) to it"
		}
		return "is not a TMDB API key (v3), which has 32 hexadecimal digits; copy it from " + settings
	}
	return ""
}
