package gateway

import (
	"encoding/binary"
	"encoding/hex"
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
	maxTarget = 8 << 10 // bytes of path and query
	maxHeader = 16 << 10
)

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
	if !clean && strings.Contains(r.URL.Path, "//") {
		return target{}, refuse(reasonBadRequest, "two slashes in a row: does the base URL end with one too many?")
	}
	if strings.Contains(r.URL.Path, "=") { // no path of TMDB's has one; it may be a key
		return target{}, refuse(reasonBadRequest, "a '?' is missing between the path and the query")
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

func (t target) appends(item string) bool {
	list := strings.Split(strings.Join(t.query["append_to_response"], ","), ",")
	return slices.ContainsFunc(list, func(s string) bool { return path.Base(strings.TrimSpace(s)) == item })
}

// Header fields that set a request's urgency and patience. Malformed ones are ignored.

var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// goodID reports whether a client's own id is safe to repeat in logs and answers.
func goodID(id string) bool { return len(id) <= 64 && idForm.MatchString(id) }

func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); goodID(id) {
		return id
	}
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], rand.Uint64()) // a name, no secret
	return hex.EncodeToString(id[:])
}

func fieldItems(values []string) []string {
	var out []string
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(item))
		}
	}
	return out
}

const (
	usualUrgency = 3
	lowUrgency   = 5
)

// urgency reads Priority (RFC 9218): 0 to 7, the last u counts.
func urgency(values []string) int {
	u := usualUrgency
	for _, item := range fieldItems(values) {
		item, _, _ = strings.Cut(item, ";")
		if v, ok := strings.CutPrefix(strings.TrimSpace(item), "u="); ok && len(v) == 1 && v >= "0" && v <= "7" {
			u = int(v[0] - '0')
		}
	}
	return u
}

// preferredWait reads the wait of Prefer (RFC 7240, section 4.3): whole seconds, the first one counts.
func preferredWait(values []string) (time.Duration, bool) {
	for _, item := range fieldItems(values) {
		item, _, _ = strings.Cut(item, ";")
		name, v, ok := strings.Cut(item, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 31)
		if err != nil {
			return 0, false
		}
		return time.Duration(n) * time.Second, true
	}
	return 0, false
}

// onlyIfCached reads the one directive of Cache-Control that counts. The others would let each reload in a browser cost
// everybody a request.
func onlyIfCached(values []string) bool {
	for _, item := range fieldItems(values) {
		if strings.EqualFold(item, "only-if-cached") {
			return true
		}
	}
	return false
}

const mostGateways = 16

var gatewayName = regexp.MustCompile(`^1\.1 anivault-[0-9a-f]{8}$`)

// viaGateways are the gateways that a request has come through. They are sent to the next one, else two that are
// pointed at each other would not see it; nothing else of Via goes on.
func viaGateways(values []string) []string {
	return slices.DeleteFunc(fieldItems(values), func(item string) bool { return !gatewayName.MatchString(item) })
}
