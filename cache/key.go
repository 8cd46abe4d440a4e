package cache

// What makes two requests the same question: scheme, host, port, method, path and query, without anything that
// identifies who asks.

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// secretNames are the query parameters, in lower case, that no cache key contains. A parameter whose name merely
// contains one of them is left out too: two requests may then share a key, but no secret reaches the disk.
var secretNames = []string{
	"api_key", "apikey", "session", "token", "secret", "password",
}

// KeyOf returns the cache key of a request: "GET https://host:port/path?query".
//
// The scheme and host are lower case, the port is always there, the path is as it is escaped on the wire, the query is
// sorted by name (values of one name keep their order) and holds neither keys, tokens nor sessions; user information
// and fragment are dropped. The letter case of values is kept.
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

// ParseKey turns what a person types, a key or a URL, into a key. Secrets in it are dropped. ok is false for text that
// is neither.
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

// publicQuery sorts a raw query and drops what is secret. A raw ';' separates like '&': some servers read it so, and a
// secret must not hide behind it.
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

// unescape decodes a query component; what can't be decoded stays as it is.
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
