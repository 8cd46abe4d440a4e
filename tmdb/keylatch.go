package tmdb

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

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
