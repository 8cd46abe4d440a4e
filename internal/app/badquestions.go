package app

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/ratelimit"
)

// BadQuestionError says that a question is not asked because TMDB has just failed to answer it, at every try.
type BadQuestionError struct{ Until time.Time }

// Error implements error.
func (e *BadQuestionError) Error() string {
	return fmt.Sprintf("not asked: TMDB failed at this very question; it is asked again after %s",
		e.Until.Local().Format(time.TimeOnly))
}

const (
	// badFor is how long a bad question is refused.
	badFor = time.Minute
	// maxBad bounds how many are remembered. Beyond it they are asked again, and an outage is told by other means.
	maxBad = 10_000
)

// badQuestions refuses for a minute, in this process, a question whose tries have all ended in trouble of the server.
// Eight failures in a row are an outage, and one client that repeats one bad question must not look like one.
type badQuestions struct {
	next http.RoundTripper

	mu    sync.Mutex
	until map[string]time.Time // by the cache's key
}

type verdictKey struct{}

// verdict is what the tries of one request say about its question.
type verdict struct {
	mu         sync.Mutex
	bad, other bool
}

// observe notes the outcome of one try of the request that ctx belongs to.
func (*badQuestions) observe(ctx context.Context, o ratelimit.Outcome) {
	v, ok := ctx.Value(verdictKey{}).(*verdict)
	if !ok {
		return
	}
	v.mu.Lock()
	v.bad, v.other = v.bad || o == ratelimit.Server, v.other || o != ratelimit.Server
	v.mu.Unlock()
}

// RoundTrip implements http.RoundTripper. A question that is refused is a *BadQuestionError.
func (b *badQuestions) RoundTrip(req *http.Request) (*http.Response, error) {
	key := cache.KeyOf(req.Method, req.URL)
	if until, bad := b.refused(key, time.Now()); bad {
		return nil, &BadQuestionError{until}
	}
	var v verdict
	resp, err := b.next.RoundTrip(req.WithContext(context.WithValue(req.Context(), verdictKey{}, &v)))
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.bad && !v.other {
		b.remember(key, time.Now())
	}
	return resp, err
}

func (b *badQuestions) refused(key string, now time.Time) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	until, ok := b.until[key]
	if ok && !now.Before(until) {
		delete(b.until, key)
		ok = false
	}
	return until, ok
}

func (b *badQuestions) remember(key string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until == nil {
		b.until = map[string]time.Time{}
	}
	if len(b.until) >= maxBad {
		for k, until := range b.until {
			if !now.Before(until) {
				delete(b.until, k)
			}
		}
	}
	if len(b.until) < maxBad {
		b.until[key] = now.Add(badFor)
	}
}
