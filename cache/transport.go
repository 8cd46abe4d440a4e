package cache

// A fresh stored answer is served from the store. Otherwise one goroutine per key in this process (singleflight), and
// one process per key (claim), asks the upstream. If that fails, the expired answer is served as stale.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/anivault/anivault/cache/internal/store"
)

// ErrWait reports that another process was still sending the same request after Transport.MaxWait.
var ErrWait = errors.New("another process is still asking the same question")

// Transport is an [http.RoundTripper] that answers from a Store if possible, and asks Next otherwise. All fields except
// Store may be zero. A Transport must not be copied after its first use.
type Transport struct {
	Store *Store
	Next  http.RoundTripper // nil means http.DefaultTransport
	// Policy sets how long answers are fresh; nil means DefaultPolicy.
	Policy *Policy
	// Refresh makes the transport ask again for each answer that was fetched before its first request, using the ETag if
	// there is one. The CDN of the upstream may still return an older answer for some hours.
	Refresh bool
	// Offline skips claims and waits. Set it if Next fails immediately.
	Offline bool
	// NextClosed reports whether Next would fail immediately, as a rate limiter does during a ban. The transport then
	// waits no longer for a lock than Options.LockWait. It may be nil.
	NextClosed func(context.Context) bool
	// MaxWait limits the wait for another process that sends the same request; 0: only the context does.
	MaxWait time.Duration
	// AddWait returns the context for Next after the request has waited d for another process. A limiter can thus include
	// d in its own maximum wait. It may be nil.
	AddWait func(ctx context.Context, d time.Duration) context.Context
	// OnStore is called after each attempt to store an answer. The error is nil if the answer is on disk, and ErrPending
	// if it is only in memory. OnStore may be nil.
	OnStore func(error)
	// OnWait is called before a request waits for another process. It may be nil.
	OnWait func(ctx context.Context)
	// Valid returns nil if the client accepts the response to req, which has the given body. The transport calls it before
	// it stores or renews an answer. If Valid rejects the response, the stored answer stays, and is served as stale. A nil
	// Valid accepts each JSON array, and each JSON object that is not empty, with status 200 or 404.
	Valid func(req *http.Request, resp *http.Response, body []byte) error
	// IsBlocked reports whether an error of Next means that the upstream could not be asked. In that case, a stale answer
	// may be served. If IsBlocked is nil, every error means that.
	IsBlocked func(error) bool
	// Age returns the age of an answer of Next according to its headers. It matters if another cache in front of the
	// upstream may serve old answers. If Age is nil, all answers count as new.
	Age func(http.Header) time.Duration
	// MaxBody limits the size of bodies in bytes. 0 means 32 MiB, which is also the maximum.
	MaxBody int64

	startOnce      sync.Once
	firstRequestAt time.Time
	refreshedKeys  sync.Map // keys of the answers that Refresh has already replaced
	flights        singleflight.Group
}

// RoundTrip answers a request. If no stored answer can be served, it returns an error of Next unchanged, ErrWait, or
// the error of the context. Answers to cacheable requests carry an Info.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	class := t.classOf(req)
	if class == Uncached {
		resp, err := cmp.Or(t.Next, http.DefaultTransport).RoundTrip(req)
		if resp != nil {
			eraseInfo(resp.Header)
		}
		return resp, err
	}
	t.startOnce.Do(func() { t.firstRequestAt = t.Store.opts.Now().Truncate(time.Millisecond) })
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	q := cacheRequest{req: req, key: KeyOf(req.Method, req.URL), class: class}
	ans, err := t.answerShared(q)
	if err != nil {
		return nil, err
	}
	return ans.response(req), nil
}

// Stored returns the answer stored for a GET of u, fresh or stale, or nil if there is none. key is the cache key of u.
// Stored asks neither the upstream nor other processes.
func (t *Transport) Stored(ctx context.Context, u *url.URL, key string) (*Entry, Info) {
	class := t.Store.opts.Class(&http.Request{Method: http.MethodGet, URL: u})
	if class == Uncached {
		return nil, Info{}
	}
	e, err := t.readStored(ctx, class, key)
	if err != nil || e == nil {
		return nil, Info{}
	}
	info, _ := t.servableInfo(class, e)
	return e, info
}

func (t *Transport) classOf(req *http.Request) Class {
	if req.Method != "" && req.Method != http.MethodGet || req.Body != nil && req.Body != http.NoBody {
		return Uncached
	}
	for _, h := range [...]string{"Range", "If-None-Match", "If-Modified-Since"} {
		if req.Header.Get(h) != "" {
			return Uncached // the caller handles ranges or revalidation itself
		}
	}
	return t.Store.opts.Class(req)
}

func (t *Transport) isFreshEnough(c Class, e *Entry) bool {
	if e == nil {
		return false
	}
	now := t.Store.opts.Now()
	if t.Refresh && e.FetchedAt.Before(t.firstRequestAt) {
		if _, done := t.refreshedKeys.Load(e.Key); !done {
			return false
		}
	}
	return e.Fresh(now) && e.Usable(now, t.policy().Keep(c))
}

func (t *Transport) policy() *Policy {
	if t.Policy != nil {
		return t.Policy
	}
	return &defaultPolicy
}

var defaultPolicy = DefaultPolicy()

type cacheRequest struct {
	req   *http.Request
	key   string
	class Class
}

func (t *Transport) answerRequest(q cacheRequest) (answer, error) {
	ctx := q.req.Context()
	e, err := t.readStored(ctx, q.class, q.key)
	switch {
	case err != nil:
		return answer{}, err
	case t.isFreshEnough(q.class, e):
		return t.answerFromEntry(e, Fresh), nil
	}
	if t.Offline {
		return t.askUpstream(q, e)
	}
	claim, err := t.waitForClaim(q)
	if err != nil {
		return t.staleOrError(q, e, err)
	}
	defer claim.Release()
	// The previous holder of the claim may have stored the answer meanwhile.
	switch e, err = t.readStored(ctx, q.class, q.key); {
	case err != nil:
		return answer{}, err
	case t.isFreshEnough(q.class, e):
		return t.answerFromEntry(e, Fresh), nil
	}
	if claim.Waited > 0 && t.AddWait != nil {
		q.req = q.req.WithContext(t.AddWait(ctx, claim.Waited))
	}
	return t.askUpstream(q, e)
}

type flightResult struct {
	ans answer
	err error
	// retry is set if the context of the leading caller has ended. Another caller then takes the lead.
	retry    bool
	panicked any
}

// answerShared answers simultaneous requests for the same key only once. The first caller asks, and the others wait,
// each as long as its own context allows. If the context of the first caller ends, another one asks.
func (t *Transport) answerShared(q cacheRequest) (answer, error) {
	ctx := q.req.Context()
	for {
		flight := t.flights.DoChan(q.key, func() (any, error) { return t.answerAsLeader(q), nil })
		select {
		case <-ctx.Done():
			return answer{}, store.ContextError(ctx)
		case res := <-flight:
			got := res.Val.(flightResult)
			if got.panicked != nil {
				panic(got.panicked)
			}
			if !got.retry || ctx.Err() != nil {
				return got.ans, got.err
			}
		}
	}
}

// answerAsLeader runs in its own goroutine, where a panic would end the process. It passes panics on to the callers.
func (t *Transport) answerAsLeader(q cacheRequest) (out flightResult) {
	defer func() { out.panicked = recover() }()
	out.ans, out.err = t.answerRequest(q)
	out.retry = out.err != nil && q.req.Context().Err() != nil
	return out
}

// readStored returns the stored answer, or nil if there is none that may be served. It fails only if ctx ends.
func (t *Transport) readStored(ctx context.Context, class Class, key string) (*Entry, error) {
	begun := time.Now()
	for {
		e, _, err := t.Store.Get(ctx, key)
		if ctx.Err() != nil {
			return nil, store.ContextError(ctx)
		}
		if e != nil && !e.Usable(t.Store.opts.Now(), t.policy().Keep(class)) {
			e = nil
		}
		// Wait for the slow transaction of another process, which may be storing this answer.
		if t.isFreshEnough(class, e) || !errors.Is(err, store.ErrHolderActive) || t.Offline ||
			t.NextClosed != nil && t.NextClosed(ctx) {
			return e, nil
		}
		t.notifyWaiting(ctx)
		if !store.WaitForActiveHolder(ctx, begun, t.Store.opts.ClaimTimeout) {
			return e, nil
		}
	}
}

// waitForClaim waits, for at most MaxWait, for the exclusive right to ask the upstream about the key.
func (t *Transport) waitForClaim(q cacheRequest) (store.Claim, error) {
	ctx := q.req.Context()
	if t.MaxWait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.MaxWait, ErrWait)
		defer cancel()
	}
	return t.Store.disk.Claim(ctx, q.key, func() { t.notifyWaiting(ctx) })
}

func (t *Transport) notifyWaiting(ctx context.Context) {
	if t.OnWait != nil {
		t.OnWait(ctx)
	}
}

func (t *Transport) askUpstream(q cacheRequest, e *Entry) (answer, error) {
	got, err := t.send(q.req, e)
	if err == nil && got.status == http.StatusNotModified && !canRevalidate(e) {
		err = fmt.Errorf("%w for %s", ErrUnexpected304, q.key)
	}
	if err != nil {
		return t.staleOrError(q, e, err)
	}
	if t.Age != nil {
		got.age = max(t.Age(got.header), 0)
	}
	switch {
	case !t.isValid(q, got):
		return t.staleOrAnswer(q, e, got), nil
	case got.status == http.StatusNotModified:
		return t.renewEntry(q, e, got), nil
	case got.status == http.StatusOK, got.status == http.StatusNotFound:
		return t.storeAnswer(q, e, got), nil
	case got.status >= 500, got.status == http.StatusTooManyRequests, got.status == http.StatusRequestTimeout:
		return t.staleOrAnswer(q, e, got), nil
	}
	return got, nil
}

// isValid reports whether got is an answer that the client accepts, or an error response of the upstream.
func (t *Transport) isValid(q cacheRequest, got answer) bool {
	switch got.status {
	case http.StatusNotModified:
		return true
	case http.StatusOK, http.StatusNotFound:
		if checkBody(got.body) != nil {
			return false
		}
	}
	return t.Valid == nil || t.Valid(q.req, got.response(q.req), got.body) == nil
}

// ErrUnexpected304 is the error for a 304 to a request without a stored answer to confirm.
var ErrUnexpected304 = errors.New("upstream answered 304 to an unconditional request")

func canRevalidate(e *Entry) bool { return e != nil && e.ETag != "" && e.Status == http.StatusOK }

// send sends one request, which is conditional if the entry has an ETag, and reads the body. If the response to an
// unconditional request is a 304, as some caches send, it tries once more.
func (t *Transport) send(req *http.Request, e *Entry) (answer, error) {
	for try := 0; ; try++ {
		out := req.Clone(req.Context())
		if canRevalidate(e) {
			out.Header.Set("If-None-Match", e.ETag)
		}
		resp, err := cmp.Or(t.Next, http.DefaultTransport).RoundTrip(out)
		if err != nil {
			return answer{}, err
		}
		got, err := readAnswer(resp, min(cmp.Or(max(t.MaxBody, 0), store.MaxValue), store.MaxValue))
		if err != nil {
			return answer{}, err
		}
		if got.status == http.StatusNotModified && !canRevalidate(e) && try == 0 {
			continue
		}
		return got, nil
	}
}

// storeAnswer stores a 200 or 404. It keeps a stored answer that is newer than a new one that has expired already.
func (t *Transport) storeAnswer(q cacheRequest, e *Entry, got answer) answer {
	now := t.Store.opts.Now()
	at := now.Add(-got.age)
	got.info = &Info{Source: Network, FetchedAt: at}
	life := t.policy().Fresh(q.class, got.status, got.body, at)
	if life <= 0 {
		return got
	}
	fresh := &Entry{
		Key: q.key, Status: got.status, ETag: got.header.Get("ETag"), Body: got.body,
		FetchedAt: at, ExpiresAt: at.Add(life),
	}
	expired := !fresh.Fresh(now)
	if expired && e != nil && at.Before(e.FetchedAt) {
		if newer, ok := t.storedAnswer(q, e); ok {
			return newer
		}
	}
	if t.storeEntry(fresh) == nil || expired {
		got.info.ExpiresAt = fresh.ExpiresAt
	}
	if expired {
		got.info.Source = Stale
	}
	return got
}

func (t *Transport) renewEntry(q cacheRequest, e *Entry, got answer) answer {
	now := t.Store.opts.Now()
	fresh := *e
	if at := now.Add(-got.age); at.After(e.FetchedAt) || e.FetchedAt.After(now) {
		fresh.FetchedAt = at
		fresh.ExpiresAt = at.Add(t.policy().Fresh(q.class, e.Status, e.Body, at))
	}
	if tag := got.header.Get("ETag"); tag != "" {
		fresh.ETag = tag
	}
	// The answer is valid even if the write fails.
	_ = t.storeEntry(&fresh)
	if !fresh.Fresh(now) {
		return t.answerFromEntry(&fresh, Stale)
	}
	return t.answerFromEntry(&fresh, Revalidated)
}

func (t *Transport) storeEntry(e *Entry) error {
	if t.Refresh {
		t.refreshedKeys.Store(e.Key, nil)
	}
	err := t.Store.putChecked(context.Background(), e)
	if t.OnStore != nil {
		t.OnStore(err)
	}
	if errors.Is(err, ErrPending) {
		return nil // the answer can be read from memory; if the process is killed, it is fetched again
	}
	return err
}

// staleOrError returns the stored answer if the upstream could not be asked, and the error otherwise.
func (t *Transport) staleOrError(q cacheRequest, e *Entry, err error) (answer, error) {
	if errors.Is(q.req.Context().Err(), context.Canceled) {
		return answer{}, err
	}
	if t.IsBlocked != nil && !errors.Is(err, ErrWait) && !t.IsBlocked(err) {
		return answer{}, err
	}
	if ans, ok := t.storedAnswer(q, e); ok {
		return ans, nil
	}
	return answer{}, err
}

// staleOrAnswer returns the stored answer. If there is none, it returns the rejected one.
func (t *Transport) staleOrAnswer(q cacheRequest, e *Entry, got answer) answer {
	if ans, ok := t.storedAnswer(q, e); ok {
		return ans
	}
	return got
}

func (t *Transport) storedAnswer(q cacheRequest, e *Entry) (answer, bool) {
	if info, ok := t.servableInfo(q.class, e); ok {
		return t.answerFromEntry(e, info.Source), true
	}
	return answer{}, false
}

// servableInfo returns the Info of a stored answer, and whether the answer may be served without asking the upstream.
func (t *Transport) servableInfo(c Class, e *Entry) (Info, bool) {
	now := t.Store.opts.Now()
	switch {
	case e == nil || !e.Usable(now, t.policy().Keep(c)):
		return Info{}, false
	case e.Fresh(now) && !t.Refresh:
		// the answer was not served earlier only because the store was locked
		return Info{Fresh, e.FetchedAt, e.ExpiresAt}, true
	}
	return Info{Stale, e.FetchedAt, e.ExpiresAt}, true
}

// Forget deletes the stored answer to a request. The client calls it if it can't decode the answer.
func (t *Transport) Forget(req *http.Request) {
	// If this fails, the client will reject the answer again, and try again to delete it.
	_ = t.Store.Delete(context.Background(), KeyOf(req.Method, req.URL))
}
