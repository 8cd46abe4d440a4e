package tmdbfake

import (
	"net/http"
	"slices"
	"strings"
)

// suspended is how a key begins that TMDB has suspended.
const suspended = "deadbeef"

// credential returns what a request shows: its bearer token, else its api_key.
func credential(r *http.Request) (value string, bearer bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token), true
	}
	return r.URL.Query().Get("api_key"), false
}

// authForm names the form of a request's credential, for the journal.
func authForm(r *http.Request) string {
	switch value, bearer := credential(r); {
	case value == "":
		return "none"
	case bearer:
		return "bearer"
	default:
		return "api_key"
	}
}

// v3Key reports whether s has the shape of a v3 key: 32 hexadecimal digits.
func v3Key(s string) bool {
	return len(s) == 32 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// authorise returns 0 for a good credential, else the code to refuse with. A v3
// key as bearer is refused, as TMDB does.
func (f *Fake) authorise(r *http.Request) int {
	value, bearer := credential(r)
	switch {
	case value == "":
		return 7
	case strings.HasPrefix(strings.ToLower(value), suspended):
		return 10
	case bearer == v3Key(value):
		return 7
	case f.keys != nil && !slices.Contains(f.keys, value):
		return 7
	}
	return 0
}
