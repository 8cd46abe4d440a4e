package tmdb

import (
	"context"
	"errors"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/ratelimit"
)

// Transport returns the way of a request to TMDB, for the HTTPClient of [Options]: the cache, a [KeyLatch], the limiter
// with [Classify], and [NewWire]. What the cache stores is [Valid], and waiting for another process's answer counts as
// waiting for the limiter. Its fields may be changed before the first use; Next is the transport behind the cache. The
// caller closes store and limiter. The store's class is [ClassOf].
func Transport(store *cache.Store, limiter *ratelimit.Limiter) *cache.Transport {
	tuning := limiter.Tuning()
	wire := NewWire(NewHTTPTransport(TransportOptions{Timeout: tuning.RequestTimeout + time.Second}))
	return &cache.Transport{
		Store: store, Valid: Valid, MaxBody: MaxBody, MaxWait: max(tuning.MaxWait, 1),
		Next:    NewKeyLatch(&ratelimit.Transport{Base: wire, Limiter: limiter, Classify: Classify, MaxBody: MaxBody}),
		Blocked: func(err error) bool { return !errors.As(err, new(*ArgumentError)) },
		Waited: func(ctx context.Context, d time.Duration) context.Context {
			return ratelimit.With(ctx, ratelimit.Request{Waited: d})
		},
		Closed: func(ctx context.Context) bool {
			st, err := limiter.Status(ctx)
			return err == nil && st.State == ratelimit.CacheOnly
		},
	}
}
