package gateway

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/cache"
)

const jsonType = "application/json;charset=utf-8"

// reply is an answer of TMDB's, from the cache or the network.
type reply struct {
	status                      int
	contentType, etag, modified string // of the header, "" for none
	body                        []byte
	info                        cache.Info
	known                       bool // info says something: the question is one that is stored
}

func readReply(resp *http.Response) (*reply, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	h := resp.Header
	r := &reply{
		status: resp.StatusCode, body: body,
		contentType: h.Get("Content-Type"), etag: h.Get("ETag"), modified: h.Get("Last-Modified"),
	}
	r.info, r.known = cache.InfoFrom(resp)
	return r, nil
}

// fromCache reports whether nobody was asked for this answer.
func (r *reply) fromCache() bool {
	return r.known && (r.info.Source == cache.Fresh || r.info.Source == cache.Stale)
}

// origin is how an answer came about.
type origin struct {
	forward        string // why it was asked: "miss" or "stale"
	upstreamStatus int    // the status that TMDB answered a revalidation with
	collapsed      bool   // another request's answer
	detail         string // why an expired answer is given
}

// cacheStatus is the value of Cache-Status (RFC 9211).
func (r *reply) cacheStatus(o origin, now time.Time) string {
	if r.fromCache() {
		s := "anivault; hit; ttl=" + strconv.Itoa(int(r.info.ExpiresAt.Sub(now)/time.Second))
		if r.info.Source == cache.Stale && o.detail != "" {
			s += "; detail=" + o.detail
		}
		return s
	}
	s := "anivault; fwd=" + o.forward
	if o.forward == "stale" && o.upstreamStatus != 0 {
		s += "; fwd-status=" + strconv.Itoa(o.upstreamStatus)
	}
	switch {
	case o.collapsed:
		s += "; collapsed"
	case r.known && !r.info.ExpiresAt.IsZero():
		s += "; stored"
	}
	return s
}

func (r *reply) kind() string {
	if !r.known {
		return "none"
	}
	return r.info.Source.String()
}

// write answers with the reply. If-None-Match is answered here, by weak comparison (RFC 9110, section 13.1.2).
func (r *reply) write(w http.ResponseWriter, req *http.Request, o origin, now time.Time) (status, bytes int) {
	h := w.Header()
	lifetime, age := 0, ""
	if r.known && !r.info.ExpiresAt.IsZero() {
		// The whole lifetime: the reader subtracts Age itself (RFC 9111, section 4.2).
		lifetime = int(max(r.info.ExpiresAt.Sub(r.info.FetchedAt), 0) / time.Second)
		age = strconv.Itoa(int(r.info.Age(now) / time.Second))
	}
	for _, f := range [...]struct{ name, value string }{
		{"Cache-Status", r.cacheStatus(o, now)},
		{"Cache-Control", "private, max-age=" + strconv.Itoa(lifetime)},
		{"Age", age},
		{"Content-Type", r.contentType},
		{"Etag", r.etag},
		{"Last-Modified", r.modified},
	} {
		if f.value != "" {
			h[f.name] = []string{f.value}
		}
	}
	if r.status == http.StatusOK && matches(req.Header.Values("If-None-Match"), r.etag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified, 0
	}
	return r.status, send(w, req, r.status, r.body)
}

func matches(values []string, etag string) bool {
	if etag == "" {
		return false
	}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		part = strings.TrimSpace(part)
		if part == "*" || part != "" && strings.TrimPrefix(part, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

const (
	// piece is what must be written within writeLimit.
	piece      = 64 << 10
	writeLimit = 30 * time.Second
)

// send writes status and body, and returns how many bytes of the body went out. A reader that takes less than a piece
// in that time is given up.
func send(w http.ResponseWriter, req *http.Request, status int, body []byte) int {
	h := w.Header()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(writeLimit)) // a recorder in a test has none
	w.WriteHeader(status)
	if req.Method == http.MethodHead {
		return 0
	}
	sent := 0
	for len(body) > 0 {
		n, err := w.Write(body[:min(len(body), piece)])
		sent += n
		if err != nil {
			return sent // the client is gone
		}
		if body = body[n:]; len(body) > 0 {
			_ = rc.SetWriteDeadline(time.Now().Add(writeLimit))
		}
	}
	return sent
}
