package cache

// A cache key contains the parts of a request that determine its answer: method, scheme, host, port, path and query. It
// omits everything that identifies the user.

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// secretParams are names of query parameters, in lower case. A key omits these parameters, and all whose names contain
// one of these names. Two different requests may thus share a key, but no secret reaches the disk.
var secretParams = []string{
	"api_key", "apikey", "session", "token", "secret", "password",
}

// KeyOf returns the cache key of a request: "GET https://host:port/path?query".
//
// The scheme and host are in lower case, the port is always present, and the path is escaped as in the HTTP request.
// The query is sorted by name. It keeps the order of values with the same name, and upper and lower case. The key omits
// API keys, tokens, sessions, user information and the fragment.
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

// ParseKey turns a key or URL that a user has typed into a key without secrets. ok is false if text is neither.
func ParseKey(text string) (key string, ok bool) {
	method, rest, found := strings.Cut(strings.TrimSpace(text), " ")
	if !found {
		method, rest = http.MethodGet, method
	}
	u, err := url.Parse(rest)
	if err != nil || u.Host == "" || u.Scheme == "" || !isMethodName(method) {
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

func isMethodName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// publicQuery sorts a raw query and removes its secrets. It splits at ';' as well as '&', because some servers do so,
// and a secret could follow the ';'.
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

// unescape decodes a component of a query. It returns invalid input unchanged.
func unescape(s string) string {
	if t, err := url.QueryUnescape(s); err == nil {
		return t
	}
	return s
}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretParams, func(s string) bool { return strings.Contains(name, s) })
}
