package config

import "strings"

// hidden stands where an address holds what may be a secret.
const hidden = "[redacted]"

// isAddress says whether the setting is a URL.
func (s Setting) isAddress() bool { return strings.HasSuffix(s.Key, "_url") }

// shownAddress is an address as it may be printed: without user, password and query. It is no parser's work, as what is
// refused for being no URL is shown too: rather too much is hidden than too little.
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
