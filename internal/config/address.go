package config

import "strings"

// hidden replaces the parts of an address that may be secret.
const hidden = "[redacted]"

// isAddress reports whether the setting is a URL.
func (s Setting) isAddress() bool { return strings.HasSuffix(s.Key, "_url") }

// shownAddress returns an address as it may be printed: without user, password and query. It parses nothing, because text
// that is not a URL is shown in errors too: it hides too much rather than too little.
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
