package config

import (
	"fmt"
	"strings"
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

// hidden replaces the parts of an address that may be secret.
const hidden = "[redacted]"

// shown returns a value of the setting as it may be printed.
func (s Setting) shown(text string) string {
	switch {
	case s.Secret:
		return NewSecret(text).String()
	case strings.HasSuffix(s.Key, "_url"), s.Key == "coordinator":
		return shownAddress(text)
	case s.Words:
		return strings.ReplaceAll(text, wordEnd, " ")
	}
	return text
}

// shownAddress returns an address as it may be printed: without user, password and query. It parses nothing, because
// text that is not a URL is shown in errors too: it hides too much rather than too little.
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
