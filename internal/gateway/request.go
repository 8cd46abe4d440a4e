package gateway

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/cache"
)

const (
	maxTargetBytes = 8 << 10 // of path and query
	maxHeaderBytes = 16 << 10
)

type target struct {
	path  string     // decoded, clean
	query url.Values // decoded
}

// readTarget checks the form of a request before any other code looks at it. Without it, net/http would redirect a path
// with "//" and accept an escaped slash.
func readTarget(r *http.Request) (target, *refusal) {
	raw, escaped := r.RequestURI, strings.ToLower(r.URL.EscapedPath())
	clean := path.Clean(r.URL.Path) == r.URL.Path || r.URL.Path == "/3/" // not a clean, but gets "not found"
	for _, odd := range [...]string{"%2f", "%5c", "%00", `\`} {
		clean = clean && !strings.Contains(escaped, odd)
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	bad := func(why string) (target, *refusal) { return target{}, refuse(reasonBadRequest, why) }
	switch {
	case len(raw) > maxTargetBytes:
		return target{}, refuse(reasonTooLong, "")
	case len(r.Header["Content-Length"]) > 1: // net/http itself refuses this over HTTP/1
		return bad("a request has one length")
	case r.ContentLength != 0:
		return target{}, refuse(reasonTooLarge, "")
	case !strings.HasPrefix(raw, "/"):
		return bad("the request's target is not a path")
	case !clean && strings.Contains(r.URL.Path, "//"):
		return bad("two slashes in a row: does the base URL end with one too many?")
	case strings.Contains(r.URL.Path, "="): // TMDB's paths never contain "="; the text after it may be a key
		return bad("a '?' is missing between the path and the query")
	case !clean:
		return bad("the path is not clean")
	case strings.Contains(r.URL.RawQuery, ";"):
		return bad("a query holds no ';'")
	case err != nil:
		return bad("the query can't be read")
	case strings.Contains(r.URL.RawQuery, "?api_key="): // the key would be part of the value in front of it
		return bad("a '?' is where an '&' belongs in the query")
	case query.Has("callback"):
		return bad("no JSONP here")
	}
	return target{r.URL.Path, query}, nil
}

// urlAndKey returns the URL to ask TMDB at, and the cache's key. The URL has the decoded path, escaped again, and the
// sorted query without credentials. Both are made from the same text, so two questions with the same key always ask for
// the same URL.
func (t target) urlAndKey(base *url.URL) (*url.URL, string) {
	u := *base
	u.Path, u.RawPath = base.Path+t.path, ""
	u.RawQuery = t.query.Encode()
	key := cache.KeyOf(http.MethodGet, &u)
	_, u.RawQuery, _ = strings.Cut(key, "?")
	parts := strings.Split(u.RawQuery, "&")
	for i, p := range parts {
		if strings.HasPrefix(p, "append_to_response=") { // TMDB seems to ignore items with an escaped comma or slash
			parts[i] = strings.NewReplacer("%2C", ",", "%2F", "/").Replace(p)
		}
	}
	u.RawQuery = strings.Join(parts, "&")
	return &u, key
}

// The functions below read the header fields that set a request's urgency and patience. They ignore malformed fields.

var idPattern = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// isSafeID reports whether an id that a client chose is safe to repeat in logs and responses.
func isSafeID(id string) bool { return len(id) <= 64 && idPattern.MatchString(id) }

func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); isSafeID(id) {
		return id
	}
	return fmt.Sprintf("%016x", rand.Uint64()) // it need not be secret
}

func listItems(values []string) []string {
	var out []string
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(item))
		}
	}
	return out
}

const batchUrgency = 5

// urgency reads the urgency from the Priority fields (RFC 9218): 0 to 7, lower is more urgent. If there are several,
// the last one counts.
func urgency(values []string) int {
	u := 3 // the default
	for _, item := range listItems(values) {
		item, _, _ = strings.Cut(item, ";")
		if v, ok := strings.CutPrefix(strings.TrimSpace(item), "u="); ok && len(v) == 1 && v >= "0" && v <= "7" {
			u = int(v[0] - '0')
		}
	}
	return u
}

// preferredWait reads "wait" from the Prefer fields (RFC 7240, section 4.3), in whole seconds. If there are several,
// the first one counts.
func preferredWait(values []string) (time.Duration, bool) {
	for _, item := range listItems(values) {
		item, _, _ = strings.Cut(item, ";")
		name, v, ok := strings.Cut(item, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 31)
		return time.Duration(n) * time.Second, err == nil
	}
	return 0, false
}

// onlyIfCached reports whether Cache-Control has only-if-cached, the one directive that the gateway obeys. If it obeyed
// no-cache, each reload in a browser would cost a request to TMDB.
func onlyIfCached(values []string) bool {
	return slices.ContainsFunc(listItems(values), func(s string) bool { return strings.EqualFold(s, "only-if-cached") })
}

const maxGateways = 16

var gatewayPattern = regexp.MustCompile(`^1\.1 anivault-[0-9a-f]{8}$`)

// viaGateways returns the Via entries of the gateways that a request has passed through. A gateway sends only these on:
// the next one needs them to detect a loop.
func viaGateways(values []string) []string {
	return slices.DeleteFunc(listItems(values), func(item string) bool { return !gatewayPattern.MatchString(item) })
}
