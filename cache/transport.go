package cache

// The way of a request through the cache: fresh? answer. Else one flight per
// key in this process, one claim over all processes, and the upstream; and
// when that can't answer, the expired entry, marked as stale.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ErrWait says that another process is asking the same question and has not
// been answered within Transport.MaxWait.
var ErrWait = errors.New("another process is still asking the same question")

// Transport is an [http.RoundTripper] that answers from a Store what it can
// and asks Next for the rest. The zero values of all but Store and Next are
// usable. It must not be copied after first use.
type Transport struct {
	Store *Store
	Next  http.RoundTripper
	// Policy says how long what is fresh; nil means DefaultPolicy.
	Policy *Policy
	// Refresh asks again for what was fetched before this transport's first
	// request, by revalidation where there is an ETag. An upstream's edge may
	// itself still give an older answer for some hours.
	Refresh bool
	// Offline skips claims and waits: Next is expected to refuse at once.
	Offline bool
	// Closed reports whether Next would refuse now, as a limiter that lets
	// nothing through does: then nobody's lock is waited for beyond
	// Options.LockWait. It is asked only where that has passed. May be nil.
	Closed func(context.Context) bool
	// MaxWait bounds the wait for another process's answer to the same
	// question; 0 means until the request's context ends.
	MaxWait time.Duration
	// Valid is the client's check of a 200 body (beyond being a JSON object);
	// what it refuses is not stored. May be nil.
	Valid func(class Class, body []byte) error
	// Blocked tells whether an error of Next means that the upstream could not
	// be asked, so that a stale answer will do; nil means: every error does.
	Blocked func(error) bool
	// MaxBody bounds bodies; 0 means 32 MiB, which is also the most that is
	// stored.
	MaxBody int64

	begin sync.Once
	since time.Time
}

// RoundTrip answers a request. Errors of Next come back unchanged when nothing
// stored can answer; besides them there are ErrWait and the context's error.
// Answers of cached classes carry an Info.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	class := t.classOf(req)
	if class == Uncached {
		resp, err := t.Next.RoundTrip(req)
		if resp != nil {
			eraseInfo(resp.Header)
		}
		return resp, err
	}
	t.begin.Do(func() { t.since = t.Store.now().Truncate(time.Millisecond) })
	key := KeyOf(req.Method, req.URL)
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e := t.Store.lru.get(key); e != nil && t.accepts(class, e) {
		return t.fromEntry(e, Fresh).response(req), nil
	}
	ans, err := t.Store.flights.do(ctx, key, func() (answer, error) {
		return t.answer(req, key, class)
	})
	if err != nil {
		return nil, err
	}
	return ans.response(req), nil
}

// classOf is the class of a request whose answer may come from the cache.
func (t *Transport) classOf(req *http.Request) Class {
	if req.Body != nil && req.Body != http.NoBody {
		return Uncached
	}
	for _, h := range [...]string{"Range", "If-None-Match", "If-Modified-Since"} {
		if req.Header.Get(h) != "" {
			return Uncached // the caller's own dealings with the upstream
		}
	}
	return ClassOf(req.Method, req.URL)
}

// accepts tells whether a stored answer will do without asking.
func (t *Transport) accepts(c Class, e *Entry) bool {
	now := t.Store.now()
	if t.Refresh && e.FetchedAt.Before(t.since) {
		return false
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

// answer is the flight's leader: it looks, claims, asks and stores.
func (t *Transport) answer(req *http.Request, key string, class Class) (answer, error) {
	ctx := req.Context()
	begun := time.Now()
	k := slot(responses, key)
	for {
		e, saw, err := t.Store.entry(ctx, key)
		if ctx.Err() != nil {
			return answer{}, context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, ErrLocked) {
			saw.blind = true // the disk fails: as if nothing were stored
		}
		if e != nil && !e.Usable(t.Store.now(), t.policy().Keep(class)) {
			e = nil
		}
		if e != nil && t.accepts(class, e) {
			return t.fromEntry(e, Fresh), nil
		}
		if errors.Is(err, errAtWork) && !t.closed(ctx) && t.Store.awaitWork(ctx, begun) {
			continue // a slow merge: what it has in hand may be the answer
		}
		res := claimWithout
		if !t.Offline {
			if res, err = t.Store.claim(ctx, k, saw); err != nil {
				return answer{}, err
			}
		}
		switch res {
		case claimLook:
			continue
		case claimBusy:
			if err := t.await(ctx, k, begun); err != nil {
				return t.instead(ctx, question{key, class, saw.blind}, e, err)
			}
			continue
		case claimMine, claimWithout:
		}
		return t.askAndRelease(req, question{key, class, saw.blind}, e, res == claimMine)
	}
}

// closed reports whether Next is known to refuse.
func (t *Transport) closed(ctx context.Context) bool {
	return t.Offline || t.Closed != nil && t.Closed(ctx)
}

// await waits for another process's answer within MaxWait.
func (t *Transport) await(ctx context.Context, k string, begun time.Time) error {
	if t.MaxWait <= 0 {
		return t.Store.awaitClaim(ctx, k)
	}
	inner, cancel := context.WithDeadlineCause(ctx, begun.Add(t.MaxWait), ErrWait)
	defer cancel()
	return t.Store.awaitClaim(inner, k)
}

// question is what is asked for.
type question struct {
	key   string
	class Class
	blind bool // the database could not be read, so there may be an answer
}

func (t *Transport) askAndRelease(req *http.Request, q question, e *Entry, claimed bool) (answer, error) {
	if claimed {
		defer t.Store.release(slot(responses, q.key)) // nothing to do once the answer is written
	}
	return t.ask(req, q, e)
}

// ask asks the upstream, and decides what its answer is worth.
func (t *Transport) ask(req *http.Request, q question, e *Entry) (answer, error) {
	got, err := t.send(req, e)
	if err == nil && got.status == http.StatusNotModified && !revalidates(e) {
		err = fmt.Errorf("%w for %s", errUnasked304, q.key)
	}
	if err != nil {
		return t.instead(req.Context(), q, e, err)
	}
	now := t.Store.now()
	switch {
	case got.status == http.StatusNotModified:
		return t.renew(q.class, e, got.header, now), nil
	case got.status == http.StatusOK, got.status == http.StatusNotFound:
		return t.keep(got, q, e, now), nil
	case got.status >= 500, got.status == http.StatusTooManyRequests, got.status == http.StatusRequestTimeout:
		return t.rather(q, e, got), nil
	}
	return got, nil
}

var errUnasked304 = errors.New("upstream answered 304 to an unconditional request")

// revalidates tells whether an entry can be asked for with its ETag.
func revalidates(e *Entry) bool {
	return e != nil && e.ETag != "" && e.Status == http.StatusOK
}

// send makes one request, conditional where there is an ETag, and reads the
// body. A 304 to an unconditional request is asked once more: caches on the
// way have been seen to do that.
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
		return min(t.MaxBody, maxBody)
	}
	return maxBody
}

// keep stores a 200 or a 404 if it is fit to be stored.
func (t *Transport) keep(got answer, q question, e *Entry, now time.Time) answer {
	err := checkBody(got.body)
	if err == nil && got.status == http.StatusOK && t.Valid != nil {
		err = t.Valid(q.class, got.body)
	}
	if err != nil {
		t.Store.count.refused.Add(1)
		return t.rather(q, e, got)
	}
	got.info = &Info{Source: Network, FetchedAt: now}
	t.Store.count.network.Add(1)
	life := t.policy().Fresh(q.class, got.status, got.body, now)
	if life <= 0 {
		return got
	}
	fresh := &Entry{
		Key: q.key, Status: got.status, ETag: got.header.Get("ETag"), Body: got.body,
		FetchedAt: now, ExpiresAt: now.Add(life),
	}
	if e != nil {
		fresh.stamp = e.stamp
	}
	if t.Store.putChecked(fresh) == nil {
		got.info.ExpiresAt = fresh.ExpiresAt
	}
	return got
}

// renew makes a stored answer fresh again after a 304.
func (t *Transport) renew(class Class, e *Entry, h http.Header, now time.Time) answer {
	fresh := *e
	fresh.FetchedAt = now
	fresh.ExpiresAt = now.Add(t.policy().Fresh(class, e.Status, e.Body, now))
	if tag := h.Get("ETag"); tag != "" {
		fresh.ETag = tag
	}
	// An answer that could not be written is an answer all the same.
	_ = t.Store.putChecked(&fresh)
	return t.fromEntry(&fresh, Revalidated)
}

// instead answers with the expired entry when the upstream could not be asked,
// else passes the error on.
func (t *Transport) instead(ctx context.Context, q question, e *Entry, err error) (answer, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
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

// rather gives what is stored rather than an answer that is worth nothing.
func (t *Transport) rather(q question, e *Entry, got answer) answer {
	if ans, ok := t.stored(q, e); ok {
		return ans
	}
	return got
}

// stored is the answer that is left when asking came to nothing: the expired entry.
func (t *Transport) stored(q question, e *Entry) (answer, bool) {
	now := t.Store.now()
	switch {
	case e == nil || !e.Usable(now, t.policy().Keep(q.class)):
		return answer{}, false
	case e.Fresh(now) && !t.Refresh:
		return t.fromEntry(e, Fresh), true // only the lock was in the way
	}
	return t.fromEntry(e, Stale), true
}

// Forget drops the stored answer to a request: the client could not read it.
func (t *Transport) Forget(req *http.Request) {
	// What can't be written now is read again, refused again, and forgotten
	// again.
	_ = t.Store.Delete(context.Background(), KeyOf(req.Method, req.URL))
}
