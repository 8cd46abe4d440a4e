package tmdb

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
)

const redactedText = "[redacted]"

// credentialsOf returns the secrets that a request carries: the Authorization value without its scheme, and the v3
// key.
func credentialsOf(req *http.Request) []string {
	if req == nil {
		return nil
	}
	var found []string
	if auth := req.Header.Get("Authorization"); auth != "" {
		found = append(found, strings.TrimPrefix(auth, bearerPrefix))
	}
	if req.URL != nil {
		if key := req.URL.Query().Get(keyParameter); key != "" {
			found = append(found, key)
		}
	}
	return found
}

// minSecret is the length below which a secret is not replaced in text: TMDB's have 32 characters and more, and a
// short one would hit parts of words.
const minSecret = 8

// scrub replaces the request's secrets in s, in plain form and as a URL escapes them.
func scrub(req *http.Request, s string) string {
	var pairs []string
	for _, secret := range credentialsOf(req) {
		if len(secret) < minSecret {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			pairs = append(pairs, form, redactedText)
		}
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// withoutCredentials returns a copy of a request without its secrets.
func withoutCredentials(req *http.Request) *http.Request {
	clean := req.Clone(req.Context())
	clean.Header.Del("Authorization")
	clean.Response = nil
	clean.URL.User = nil
	var kept []string
	for part := range strings.SplitSeq(clean.URL.RawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if part != "" && name != keyParameter {
			kept = append(kept, part)
		}
	}
	clean.URL.RawQuery = strings.Join(kept, "&")
	return clean
}

// shortText returns text that an upstream sent as one line of a message: at most limit runes, without control
// characters and invisible direction marks.
func shortText(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	for i := range s {
		if limit == 0 {
			return s[:i] + "…"
		}
		limit--
	}
	return s
}
