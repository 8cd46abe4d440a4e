package cache

// A cache key holds what makes two requests ask the same: scheme, host, port, method, path and query, without anything
// that identifies the user.

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// secretNames are query parameters, in lower case, that a key omits. It also omits each parameter whose name contains
// one of them: two requests may then share a key, but no secret reaches the disk.
var secretNames = []string{
	"api_key", "apikey", "session", "token", "secret", "password",
}

// KeyOf returns the cache key of a request: "GET https://host:port/path?query".
//
// The scheme and host are in lower case, the port is always present and the path is escaped as on the wire. The query
// is sorted by name; values of the same name keep their order, and letter case is kept. API keys, tokens, sessions,
// user information and the fragment are omitted.
func KeyOf(method string, u *url.URL) string {
	if method == "" {
		method = http.MethodGet
	}
	scheme := strings.ToLower(u.Scheme)
	port := u.Port()
	if port == "" {
		switch scheme {
		case "http":
			port = "80"
		case "https":
			port = "443"
		}
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	key := strings.ToUpper(method) + " " + scheme + "://" + host + ":" + port + path
	if q := publicQuery(u.RawQuery); q != "" {
		key += "?" + q
	}
	return key
}

// ParseKey turns a key or URL that a person typed into a key, without its secrets. ok is false if text is neither.
func ParseKey(text string) (key string, ok bool) {
	method, rest, found := strings.Cut(strings.TrimSpace(text), " ")
	if !found {
		method, rest = http.MethodGet, method
	}
	u, err := url.Parse(rest)
	if err != nil || u.Host == "" || u.Scheme == "" || !isToken(method) {
		return "", false
	}
	return KeyOf(method, u), true
}

func keyURL(key string) (*url.URL, bool) {
	_, rest, found := strings.Cut(key, " ")
	if !found {
		return nil, false
	}
	u, err := url.Parse(rest)
	return u, err == nil
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// publicQuery sorts a raw query and drops its secrets. A raw ';' separates parameters like '&', because some servers
// treat it so and a secret could be behind it.
func publicQuery(raw string) string {
	type pair struct{ name, text string }
	var pairs []pair
	for part := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		rawName, rawValue, hasValue := strings.Cut(part, "=")
		name := unescape(rawName)
		if isSecret(name) {
			continue
		}
		text := url.QueryEscape(name)
		if hasValue {
			text += "=" + url.QueryEscape(unescape(rawValue))
		}
		pairs = append(pairs, pair{name, text})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	texts := make([]string, len(pairs))
	for i, p := range pairs {
		texts[i] = p.text
	}
	return strings.Join(texts, "&")
}

// unescape decodes a query component. It returns invalid input unchanged.
func unescape(s string) string {
	if t, err := url.QueryUnescape(s); err == nil {
		return t
	}
	return s
}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretNames, func(s string) bool { return strings.Contains(name, s) })
}
