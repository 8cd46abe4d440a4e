package tmdb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// KeyGuard is a round tripper that keeps a wrong key from being tried five thousand times: it proves a credential
// before it lets many requests use it, and never uses one again that was refused.
//
// While a key is unproven, one request is under way at a time and the others wait (first come, first served, until
// their context ends). An answer of TMDB's that is not a refusal of the key proves it and lets all go. A failure that
// says nothing about the key (network, 5xx, 429, an HTML page) leaves it unproven and lets the next one go. A request
// that has been on the wire for 3 s without an answer is joined by the next, and so on: a dead upstream must not be
// asked one timeout after the other. Waiting in a rate limiter below does not count. A refusal (401, or TMDB's codes
// for credentials) ends the key: that request, all waiting ones and all later ones fail with an *UnauthorizedError,
// and those that were let go but have no answer yet are cancelled.
//
// Keys are told apart by a hash; a guard may serve several. It belongs above the rate limiter and below the cache: a
// cached answer proves nothing and needs no key. It reads each body whole, at most MaxBody bytes.
type KeyGuard struct {
	next http.RoundTripper
	mu   sync.Mutex
	keys map[[sha256.Size]byte]*guardedKey
}

// alonePatience is how long a request with an unproven key is on the wire before the next joins it.
const alonePatience = 3 * time.Second

// NewKeyGuard wraps next; nil means http.DefaultTransport.
func NewKeyGuard(next http.RoundTripper) *KeyGuard {
	if next == nil {
		next = http.DefaultTransport
	}
	return &KeyGuard{next: next, keys: make(map[[sha256.Size]byte]*guardedKey)}
}

// CloseIdleConnections passes the call on, so that http.Client's works.
func (g *KeyGuard) CloseIdleConnections() { closeIdle(g.next) }

// guardedKey is one key's standing. Both contexts end at most once and are read without a lock.
type guardedKey struct {
	turn    chan struct{}   // holds the right to try while the key is unproven
	proven  context.Context // done once an answer proved the key
	prove   context.CancelFunc
	refused context.Context // done, with the *UnauthorizedError as its cause, once TMDB refused it
	refuse  context.CancelCauseFunc
}

func (g *KeyGuard) key(req *http.Request) *guardedKey {
	h := sha256.New()
	for _, secret := range credentialsOf(req) {
		_, _ = io.WriteString(h, secret+"\x00")
	}
	id := [sha256.Size]byte(h.Sum(nil))
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.keys[id]
	if k == nil {
		k = &guardedKey{turn: make(chan struct{}, 1)}
		k.proven, k.prove = context.WithCancel(context.Background())
		k.refused, k.refuse = context.WithCancelCause(context.Background())
		k.turn <- struct{}{}
		g.keys[id] = k
	}
	return k
}

// RoundTrip sends req when its key may be used.
func (g *KeyGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	k := g.key(req)
	alone, err := k.wait(req.Context())
	if err != nil {
		return nil, err
	}
	if !alone {
		return k.send(req.Context(), g.next, req)
	}
	// There is one turn. After a verdict nobody waits for it any more, so it may stay there.
	passOn := sync.OnceFunc(func() { k.turn <- struct{}{} })
	defer passOn()
	ctx, stop := onTheWire(req.Context(), alonePatience, passOn)
	defer stop()
	return k.send(ctx, g.next, req)
}

// onTheWire returns a context for a request that calls f once the request has been with net/http for d without an
// answer: its connection was asked for, and no byte has come back. stop ends that. A limiter may send the request
// several times; each time counts from its own beginning.
func onTheWire(ctx context.Context, d time.Duration, f func()) (_ context.Context, stop func()) {
	timer := time.AfterFunc(d, f)
	timer.Stop()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { timer.Reset(d) },
		GotFirstResponseByte: func() { timer.Stop() },
	}), func() { timer.Stop() }
}

// wait returns when the request may go. One that goes alone has to give the turn back.
func (k *guardedKey) wait(ctx context.Context) (alone bool, err error) {
	if err := k.verdict(); err != nil {
		return false, err
	}
	select {
	case <-k.proven.Done():
		return false, nil
	default:
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-k.refused.Done():
		return false, k.verdict()
	case <-k.proven.Done():
		return false, nil
	case <-k.turn:
	}
	// The turn may have come back together with the verdict.
	if err := k.verdict(); err != nil {
		k.turn <- struct{}{}
		return false, err
	}
	return true, nil
}

// verdict returns the refusal for those that were not sent, nil if there is none.
func (k *guardedKey) verdict() error {
	var refusal *UnauthorizedError
	if k.refused.Err() == nil || !errors.As(context.Cause(k.refused), &refusal) {
		return nil
	}
	later := *refusal
	later.Sent = false
	return &later
}

// send sends one request under ctx, cancels it when the key is refused meanwhile, and learns from its answer.
func (k *guardedKey) send(ctx context.Context, next http.RoundTripper, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	detach := context.AfterFunc(k.refused, cancel)
	resp, err := next.RoundTrip(req.WithContext(ctx))
	detach() // an answer that is here is read to its end
	if err != nil {
		if refusal := k.verdict(); refusal != nil && req.Context().Err() == nil && ctx.Err() != nil {
			return nil, refusal
		}
		if refusal, ok := errors.AsType[*UnauthorizedError](err); ok { // a transport below knows already
			k.refuse(refusal)
		}
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	_ = resp.Body.Close()
	if err != nil && isSuccess(resp) {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	resp.Request = req
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if refusal, ok := errors.AsType[*UnauthorizedError](errorAnswer(req, resp, body)); ok {
		k.refuse(refusal)
		return nil, refusal
	}
	if k.proven.Err() == nil && provesKey(req, resp, body) {
		k.prove()
	}
	return resp, nil
}

// provesKey reports whether an answer is one that TMDB gives only to a key that it knows: neither a redirect nor a
// limit, trouble of the server or a body that is not TMDB's.
func provesKey(req *http.Request, resp *http.Response, body []byte) bool {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified {
		return false
	}
	outcome := Classify(req, resp, body, nil)
	return outcome == OutcomeOK || outcome == OutcomeClient
}
