package tmdb

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
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

// KeyLatch is a round tripper that never uses a credential again that TMDB refused: a 401, or TMDB's codes for
// credentials. The request that met the refusal fails with an *UnauthorizedError, and so does every later one with
// that credential, without being sent. Those that are under way meanwhile are not stopped.
//
// Credentials are told apart by a hash; a latch may serve several. It belongs above the rate limiter and below the
// cache: a cached answer needs no key. It reads each body whole, at most MaxBody bytes.
type KeyLatch struct {
	next    http.RoundTripper
	refused sync.Map // SHA-256 of the credentials -> *UnauthorizedError
}

// NewKeyLatch wraps next; nil means http.DefaultTransport.
func NewKeyLatch(next http.RoundTripper) *KeyLatch {
	if next == nil {
		next = http.DefaultTransport
	}
	return &KeyLatch{next: next}
}

// CloseIdleConnections passes the call on, so that http.Client's works.
func (l *KeyLatch) CloseIdleConnections() { closeIdle(l.next) }

// RoundTrip sends req unless its credential was refused.
func (l *KeyLatch) RoundTrip(req *http.Request) (*http.Response, error) {
	id := sha256.Sum256([]byte(strings.Join(credentialsOf(req), "\x00")))
	if before, ok := l.refused.Load(id); ok {
		refusal := *before.(*UnauthorizedError)
		refusal.Sent = false
		return nil, &refusal
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		if refusal, ok := errors.AsType[*UnauthorizedError](err); ok { // a transport below knows already
			l.refused.Store(id, refusal)
		}
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	_ = resp.Body.Close()
	if refusal := RefusalOf(req, resp, body); refusal != nil {
		l.refused.Store(id, refusal)
		return nil, refusal
	}
	if err != nil && isSuccess(resp) {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
