package cache

// The way of a request: a fresh answer from the store, or else one flight per key in this process, one claim per key
// over all processes, and the upstream. When that can't be asked, the expired answer, marked as stale.

import (
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

// ErrWait reports that another process is asking the same question and was not answered within Transport.MaxWait.
var ErrWait = errors.New("another process is still asking the same question")

// Transport is an [http.RoundTripper] that answers from a Store what it can and asks Next for the rest. All fields but
// Store and Next may be zero. It must not be copied after first use.
type Transport struct {
	Store *Store
	Next  http.RoundTripper
	// Policy says how long answers are fresh; nil means DefaultPolicy.
	Policy *Policy
	// Refresh asks again for what was fetched before this transport's first request, by revalidation where there is an
	// ETag. An upstream's edge may itself still return an older answer for some hours.
	Refresh bool
	// Offline skips claims and waits: Next is expected to refuse at once.
	Offline bool
	// Closed reports whether Next would refuse now, as a limiter that lets nothing through does: then no lock is waited
	// for beyond Options.LockWait. It is asked only after that has passed. May be nil.
	Closed func(context.Context) bool
	// MaxWait bounds the wait for another process's answer to the same question; 0 means until the request's context
	// ends.
	MaxWait time.Duration
	// Waited returns the context for Next after a wait of d for another process, so that a limiter that bounds its own
	// waits can count it. May be nil.
	Waited func(ctx context.Context, d time.Duration) context.Context
	// Wrote is called after each answer that was to be stored: nil, ErrPending where it is in memory only, or why it is
	// not stored. May be nil.
	Wrote func(error)
	// Waits is called before a request waits for another process, or for another question's claim. May be nil.
	Waits func(ctx context.Context)
	// Valid returns nil for what the client takes as an answer to req; body is resp's. It decides before anything is
	// stored, renewed or overwritten. An answer that it refuses counts as an upstream that could not be asked: what is
	// stored stays, and answers as stale. Nil takes every JSON object or array with status 200 or 404.
	Valid func(req *http.Request, resp *http.Response, body []byte) error
	// Blocked reports whether an error of Next means that the upstream could not be asked, so that a stale answer will
	// do; nil means that every error does.
	Blocked func(error) bool
	// Age returns how long ago the upstream had vouched for an answer of Next when it came, by its header: another cache
	// may stand in between, whose expired answer is no fresh one here. Nil means that all of them are new.
	Age func(http.Header) time.Duration
	// MaxBody bounds bodies; 0 means 32 MiB, which is also the most that is stored.
	MaxBody int64

	begin   sync.Once
	since   time.Time
	renewed sync.Map // with Refresh: keys asked for in this run, whatever the age of their answers
	flights singleflight.Group
}

// RoundTrip answers a request. Errors of Next come back unchanged when nothing stored can answer; besides them there
// are ErrWait and the context's error. Answers of cached classes carry an Info.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	class := t.classOf(req)
	if class == Uncached {
		resp, err := t.Next.RoundTrip(req)
		if resp != nil {
			eraseInfo(resp.Header)
		}
		return resp, err
	}
	t.begin.Do(func() { t.since = t.Store.opts.Now().Truncate(time.Millisecond) })
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	q := question{req: req, key: KeyOf(req.Method, req.URL), class: class}
	ans, err := t.share(q)
	if err != nil {
		return nil, err
	}
	return ans.response(req), nil
}

// Stored returns the answer that is stored for a GET of u, whose key is known, fresh or expired but never beyond what
// may be kept; nil if there is none. It asks nobody.
func (t *Transport) Stored(ctx context.Context, u *url.URL, key string) (*Entry, Info) {
	class := t.Store.opts.Class(&http.Request{Method: http.MethodGet, URL: u})
	if class == Uncached {
		return nil, Info{}
	}
	e, err := t.look(ctx, class, key)
	if err != nil || e == nil {
		return nil, Info{}
	}
	info, _ := t.serves(class, e)
	return e, info
}

func (t *Transport) classOf(req *http.Request) Class {
	if req.Body != nil && req.Body != http.NoBody {
		return Uncached
	}
	for _, h := range [...]string{"Range", "If-None-Match", "If-Modified-Since"} {
		if req.Header.Get(h) != "" {
			return Uncached // the caller's own dealings with the upstream
		}
	}
	return t.Store.opts.Class(req)
}

func (t *Transport) accepts(c Class, e *Entry) bool {
	if e == nil {
		return false
	}
	now := t.Store.opts.Now()
	if t.Refresh && e.FetchedAt.Before(t.since) {
		if _, done := t.renewed.Load(e.Key); !done {
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

type question struct {
	req   *http.Request
	key   string
	class Class
}

func (t *Transport) answer(q question) (answer, error) {
	ctx := q.req.Context()
	e, err := t.look(ctx, q.class, q.key)
	switch {
	case err != nil:
		return answer{}, err
	case t.accepts(q.class, e):
		return t.fromEntry(e, Fresh), nil
	}
	if t.Offline {
		return t.ask(q, e)
	}
	claim, err := t.claim(q)
	if err != nil {
		return t.staleOrError(q, e, err)
	}
	defer claim.Release()
	// Whoever had the claim may have had the answer.
	switch e, err = t.look(ctx, q.class, q.key); {
	case err != nil:
		return answer{}, err
	case t.accepts(q.class, e):
		return t.fromEntry(e, Fresh), nil
	}
	if claim.Waited > 0 && t.Waited != nil {
		q.req = q.req.WithContext(t.Waited(ctx, claim.Waited))
	}
	return t.ask(q, e)
}

type landed struct {
	ans answer
	err error
	// again: the leader gave up for reasons of its own, so another may lead.
	again    bool
	panicked any
}

// share answers a question once for all who ask it at the same time. Each of them waits as long as its own context
// allows. When the leader's context ends the next caller leads.
func (t *Transport) share(q question) (answer, error) {
	ctx := q.req.Context()
	for {
		flight := t.flights.DoChan(q.key, func() (any, error) { return t.lead(q), nil })
		select {
		case <-ctx.Done():
			return answer{}, store.Ended(ctx)
		case res := <-flight:
			got := res.Val.(landed)
			if got.panicked != nil {
				panic(got.panicked)
			}
			if !got.again || ctx.Err() != nil {
				return got.ans, got.err
			}
		}
	}
}

// lead answers the question in a goroutine of the flight's own. A panic there would end the process, so it is handed to
// the callers, who may recover.
func (t *Transport) lead(q question) (out landed) {
	defer func() { out.panicked = recover() }()
	out.ans, out.err = t.answer(q)
	out.again = out.err != nil && q.req.Context().Err() != nil
	return out
}

// look reads what is stored, nil where that can't serve. Its error is the context's.
func (t *Transport) look(ctx context.Context, class Class, key string) (*Entry, error) {
	begun := time.Now()
	for {
		e, _, err := t.Store.Get(ctx, key)
		if ctx.Err() != nil {
			return nil, store.Ended(ctx)
		}
		if e != nil && !e.Usable(t.Store.opts.Now(), t.policy().Keep(class)) {
			e = nil
		}
		// A slow transaction of another process is waited for: what it has in hand may be the answer.
		if t.accepts(class, e) || !errors.Is(err, store.ErrAtWork) || t.closed(ctx) {
			return e, nil
		}
		t.waits(ctx)
		if !store.AwaitWork(ctx, begun, t.Store.opts.ClaimTimeout) { // as long as for a silent claimant
			return e, nil
		}
	}
}

func (t *Transport) closed(ctx context.Context) bool {
	return t.Offline || t.Closed != nil && t.Closed(ctx)
}

// claim claims the right to ask a question, within MaxWait.
func (t *Transport) claim(q question) (store.Claim, error) {
	ctx := q.req.Context()
	if t.MaxWait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.MaxWait, ErrWait)
		defer cancel()
	}
	return t.Store.disk.Claim(ctx, q.key, func() { t.waits(ctx) })
}

func (t *Transport) waits(ctx context.Context) {
	if t.Waits != nil {
		t.Waits(ctx)
	}
}

func (t *Transport) ask(q question, e *Entry) (answer, error) {
	got, err := t.send(q.req, e)
	if err == nil && got.status == http.StatusNotModified && !revalidates(e) {
		err = fmt.Errorf("%w for %s", errUnasked304, q.key)
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
		return t.renew(q, e, got), nil
	case got.status == http.StatusOK, got.status == http.StatusNotFound:
		return t.keep(q, e, got), nil
	case got.status >= 500, got.status == http.StatusTooManyRequests, got.status == http.StatusRequestTimeout:
		return t.staleOrAnswer(q, e, got), nil
	}
	return got, nil
}

// isValid reports whether what came is an answer to the question, or the upstream's own refusal of it.
func (t *Transport) isValid(q question, got answer) bool {
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

var errUnasked304 = errors.New("upstream answered 304 to an unconditional request")

func revalidates(e *Entry) bool {
	return e != nil && e.ETag != "" && e.Status == http.StatusOK
}

// send makes one request, conditional where there is an ETag, and reads the body. After a 304 to an unconditional
// request it asks once more: caches on the way have been seen to do that.
func (t *Transport) send(req *http.Request, e *Entry) (answer, error) {
	for try := 0; ; try++ {
		out := req.Clone(req.Context())
		if revalidates(e) {
			out.Header.Set("If-None-Match", e.ETag)
		}
		resp, err := t.Next.RoundTrip(out)
		if err != nil {
			return answer{}, err
		}
		got, err := readAnswer(resp, t.maxBody())
		if err != nil {
			return answer{}, err
		}
		if got.status == http.StatusNotModified && !revalidates(e) && try == 0 {
			continue
		}
		return got, nil
	}
}

func (t *Transport) maxBody() int64 {
	if t.MaxBody > 0 {
		return min(t.MaxBody, store.MaxValue)
	}
	return store.MaxValue
}

// keep stores a 200 or a 404. One that has expired already does not take the place of what is newer.
func (t *Transport) keep(q question, e *Entry, got answer) answer {
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
		if newer, ok := t.stored(q, e); ok {
			return newer
		}
	}
	if t.put(fresh) == nil || expired {
		got.info.ExpiresAt = fresh.ExpiresAt
	}
	if expired {
		got.info.Source = Stale
	}
	return got
}

func (t *Transport) renew(q question, e *Entry, got answer) answer {
	now := t.Store.opts.Now()
	fresh := *e
	if at := now.Add(-got.age); at.After(e.FetchedAt) || e.FetchedAt.After(now) {
		fresh.FetchedAt = at
		fresh.ExpiresAt = at.Add(t.policy().Fresh(q.class, e.Status, e.Body, at))
	}
	if tag := got.header.Get("ETag"); tag != "" {
		fresh.ETag = tag
	}
	// An answer that could not be written is an answer all the same.
	_ = t.put(&fresh)
	if !fresh.Fresh(now) {
		return t.fromEntry(&fresh, Stale)
	}
	return t.fromEntry(&fresh, Revalidated)
}

func (t *Transport) put(e *Entry) error {
	if t.Refresh {
		t.renewed.Store(e.Key, nil)
	}
	err := t.Store.putChecked(context.Background(), e)
	if t.Wrote != nil {
		t.Wrote(err)
	}
	if errors.Is(err, ErrPending) {
		return nil // this process reads it from memory, and may ask again what a kill -9 loses
	}
	return err
}

// staleOrError answers with the expired entry when the upstream could not be asked, else it returns the error.
func (t *Transport) staleOrError(q question, e *Entry, err error) (answer, error) {
	if errors.Is(q.req.Context().Err(), context.Canceled) {
		return answer{}, err
	}
	if t.Blocked != nil && !errors.Is(err, ErrWait) && !t.Blocked(err) {
		return answer{}, err
	}
	if ans, ok := t.stored(q, e); ok {
		return ans, nil
	}
	return answer{}, err
}

// staleOrAnswer answers with the expired entry, or with the worthless answer where there is none.
func (t *Transport) staleOrAnswer(q question, e *Entry, got answer) answer {
	if ans, ok := t.stored(q, e); ok {
		return ans
	}
	return got
}

// stored is the answer that is left when asking came to nothing: the expired entry.
func (t *Transport) stored(q question, e *Entry) (answer, bool) {
	if info, ok := t.serves(q.class, e); ok {
		return t.fromEntry(e, info.Source), true
	}
	return answer{}, false
}

// serves says how a stored answer may serve without being asked for.
func (t *Transport) serves(c Class, e *Entry) (Info, bool) {
	now := t.Store.opts.Now()
	switch {
	case e == nil || !e.Usable(now, t.policy().Keep(c)):
		return Info{}, false
	case e.Fresh(now) && !t.Refresh:
		return Info{Fresh, e.FetchedAt, e.ExpiresAt}, true // only the lock was in the way
	}
	return Info{Stale, e.FetchedAt, e.ExpiresAt}, true
}

// Forget drops the stored answer to a request: the client could not read it.
func (t *Transport) Forget(req *http.Request) {
	// What can't be written now is read again, refused again, and forgotten again.
	_ = t.Store.Delete(context.Background(), KeyOf(req.Method, req.URL))
}
