package tmdb

// What keeps a wrong key from being tried five thousand times: the first
// request of an unproven key goes alone, and a refused key is never used
// again.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// KeyGuard is a round tripper that proves a credential before it lets many
// requests use it.
//
// While a key is unproven, one request is under way at a time and the others
// wait (first come, first served, until their context ends). A JSON answer
// that is not a refusal proves the key and lets all go. A failure that says
// nothing about the key (network, 5xx, 429, an HTML page) leaves it unproven
// and lets the next single one go. One that has no answer after 3 s is joined by
// the next, and so on: a dead upstream must not be asked one timeout after the
// other. A refusal (401, or TMDB's codes for a
// suspended key or account) ends it: that request, all waiting ones and all
// later ones fail with an *UnauthorizedError, and those that were let go but
// have no answer yet (waiting in a rate limiter below, say) are cancelled.
//
// Keys are told apart by a hash; a guard may serve several. It belongs above
// the rate limiter and below the cache: a cached answer proves nothing and
// needs no key.
type KeyGuard struct {
	next http.RoundTripper
	mu   sync.Mutex
	keys map[[sha256.Size]byte]*guardedKey
}

// alonePatience is how long a request with an unproven key goes alone.
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

// guardedKey is one key's standing. Both contexts end at most once and are
// read without a lock.
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
	mine, err := k.wait(req.Context())
	if err != nil {
		return nil, err
	}
	if mine {
		// There is one turn; after a verdict nobody waits for it any more, and
		// having it there harms no one.
		var once sync.Once
		passOn := func() { once.Do(func() { k.turn <- struct{}{} }) }
		defer passOn()
		defer time.AfterFunc(alonePatience, passOn).Stop()
	}
	return k.send(g.next, req)
}

// wait returns when the request may go; mine says that it goes alone and has
// to give the turn back.
func (k *guardedKey) wait(ctx context.Context) (mine bool, err error) {
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

// verdict gives the refusal as those get it who were not sent, nil if there is
// none.
func (k *guardedKey) verdict() error {
	var refusal *UnauthorizedError
	if k.refused.Err() == nil || !errors.As(context.Cause(k.refused), &refusal) {
		return nil
	}
	later := *refusal
	later.Sent = false
	return &later
}

// send lets one request through, cancels it when the key is refused while it
// has no answer, and reads from the answer what it says about the key.
func (k *guardedKey) send(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	detach := context.AfterFunc(k.refused, cancel)
	resp, err := next.RoundTrip(req.WithContext(ctx))
	detach() // whoever has an answer by now keeps it
	if err != nil {
		cancel()
		if req.Context().Err() == nil && ctx.Err() != nil {
			if refusal := k.verdict(); refusal != nil {
				return nil, refusal
			}
		}
		k.learnFromError(err)
		return nil, err
	}
	resp.Request = req
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		answer := newError(req, resp.StatusCode, body)
		if refusal, ok := errors.AsType[*UnauthorizedError](refusalOf(answer, req)); ok {
			_ = resp.Body.Close()
			cancel()
			k.refuse(refusal)
			return nil, refusal
		}
		resp.Body = readAgain(body, resp.Body)
	}
	resp.Body = &guardedBody{ReadCloser: resp.Body, release: cancel}
	k.learn(resp)
	return resp, nil
}

// learnFromError: a transport below may have made a refusal an error already.
func (k *guardedKey) learnFromError(err error) {
	if refusal, ok := errors.AsType[*UnauthorizedError](err); ok {
		k.refuse(refusal)
	}
}

// learn marks the key as proven by an answer that TMDB gives only to a key it
// knows: JSON, or a 304, and neither a limit nor trouble of the server.
func (k *guardedKey) learn(resp *http.Response) {
	if k.proven.Err() != nil {
		return
	}
	switch {
	case resp.StatusCode == http.StatusNotModified:
		k.prove()
		return
	case resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusTooManyRequests,
		resp.StatusCode == http.StatusRequestTimeout,
		resp.StatusCode >= 300 && resp.StatusCode < 400, resp.StatusCode >= 500:
		return
	}
	buffered := bufio.NewReaderSize(resp.Body, 512)
	start, _ := buffered.Peek(64)
	resp.Body = &rebufferedBody{Reader: buffered, Closer: resp.Body}
	if sniffJSON(start) == "" {
		k.prove()
	}
}

// guardedBody keeps a request's context alive until its body is closed or
// read to the end.
type guardedBody struct {
	io.ReadCloser
	release context.CancelFunc
}

func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.release()
	}
	return n, err
}

func (b *guardedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

type rebufferedBody struct {
	io.Reader
	io.Closer
}

// readAgain puts what was read back in front of the rest.
func readAgain(start []byte, rest io.ReadCloser) io.ReadCloser {
	return &rebufferedBody{Reader: io.MultiReader(bytes.NewReader(start), rest), Closer: rest}
}
