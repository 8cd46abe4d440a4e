package gateway

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/cache"
)

const (
	maxTarget = 8 << 10 // bytes of path and query
	maxHeader = 16 << 10
)

// target is what a request asks for, after the checks of its form.
type target struct {
	path  string     // decoded, clean
	query url.Values // decoded
}

// readTarget checks the form of a request before anything else looks at it: net/http would answer "//" by a redirect
// and let an escaped slash through.
func readTarget(r *http.Request) (target, *refusal) {
	raw := r.RequestURI
	switch {
	case len(raw) > maxTarget:
		return target{}, refuse(reasonTooLong, "")
	case len(r.Header["Content-Length"]) > 1: // over HTTP/1 net/http has refused it
		return target{}, refuse(reasonBadRequest, "a request has one length")
	case r.ContentLength != 0:
		return target{}, refuse(reasonTooLarge, "")
	case !strings.HasPrefix(raw, "/"):
		return target{}, refuse(reasonBadRequest, "the request's target is not a path")
	}
	escaped := strings.ToLower(r.URL.EscapedPath())
	clean := path.Clean(r.URL.Path) == r.URL.Path || r.URL.Path == "/3/" // which is not there, rather than odd
	for _, odd := range [...]string{"%2f", "%5c", "%00", `\`} {
		clean = clean && !strings.Contains(escaped, odd)
	}
	if !clean {
		return target{}, refuse(reasonBadRequest, "the path is not clean")
	}
	if strings.Contains(r.URL.RawQuery, ";") {
		return target{}, refuse(reasonBadRequest, "a query holds no ';'")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return target{}, refuse(reasonBadRequest, "the query can't be read")
	}
	if query.Has("callback") {
		return target{}, refuse(reasonBadRequest, "no JSONP here")
	}
	return target{r.URL.Path, query}, nil
}

// question is a request as it is asked upstream and stored: the decoded path, escaped anew, and the sorted query
// without anything that says who asks. It and the cache's key are made of the same text, so they can't differ.
func (t target) question(base *url.URL) (*url.URL, string) {
	u := *base
	u.Path, u.RawPath = base.Path+t.path, ""
	u.RawQuery = t.query.Encode()
	key := cache.KeyOf(http.MethodGet, &u)
	_, u.RawQuery, _ = strings.Cut(key, "?")
	parts := strings.Split(u.RawQuery, "&")
	for i, p := range parts {
		if strings.HasPrefix(p, "append_to_response=") { // TMDB was reported to drop items that are escaped
			parts[i] = strings.NewReplacer("%2C", ",", "%2F", "/").Replace(p)
		}
	}
	u.RawQuery = strings.Join(parts, "&")
	return &u, key
}

// appends reports whether append_to_response has the item, of the entry itself or of a part of it (season/1/item).
func (t target) appends(item string) bool {
	list := strings.Split(strings.Join(t.query["append_to_response"], ","), ",")
	return slices.ContainsFunc(list, func(s string) bool { return path.Base(strings.TrimSpace(s)) == item })
}
