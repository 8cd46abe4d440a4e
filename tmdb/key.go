package tmdb

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode"
)

const redactedPlaceholder = "[redacted]"

// requestCredentials returns the secrets in a request: the Authorization value without "Bearer ", and the v3 key.
func requestCredentials(req *http.Request) []string {
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

// minSecretLength is the length below which a secret is not redacted, because a short one would match parts of words.
// TMDB's keys and tokens have at least 32 characters.
const minSecretLength = 8

// redactSecrets replaces the request's secrets in s, both plain and URL-escaped.
func redactSecrets(req *http.Request, s string) string {
	var pairs []string
	for _, secret := range requestCredentials(req) {
		if len(secret) < minSecretLength {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			pairs = append(pairs, form, redactedPlaceholder)
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

// shortText shortens a text to one line of at most limit runes, without control characters and direction marks.
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

// KeyLatch is a round tripper that stops using a credential once TMDB refused it, by a 401 or one of TMDB's codes for
// credentials. That request and every later one with the credential fail with an *UnauthorizedError, and the later ones
// are not sent. Requests already under way are not stopped.
//
// One latch may serve several credentials. Put it above the rate limiter and below the cache, because a cached answer
// needs no key. It reads the whole body, at most MaxBody bytes.
type KeyLatch struct {
	next    http.RoundTripper
	refused sync.Map // SHA-256 of the credentials -> *UnauthorizedError
}

// NewKeyLatch wraps next; nil means http.DefaultTransport.
func NewKeyLatch(next http.RoundTripper) *KeyLatch {
	return &KeyLatch{next: cmp.Or(next, http.DefaultTransport)}
}

// CloseIdleConnections closes the idle connections of the wrapped round tripper.
func (l *KeyLatch) CloseIdleConnections() { closeIdle(l.next) }

// RoundTrip sends req unless its credential was refused.
func (l *KeyLatch) RoundTrip(req *http.Request) (*http.Response, error) {
	id := sha256.Sum256([]byte(strings.Join(requestCredentials(req), "\x00")))
	if before, ok := l.refused.Load(id); ok {
		refusal := *before.(*UnauthorizedError)
		refusal.WasSent = false
		return nil, &refusal
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		if refusal, ok := errors.AsType[*UnauthorizedError](err); ok { // a wrapped transport has detected the refusal
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
