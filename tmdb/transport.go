package tmdb

import (
	"context"
	"errors"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/ratelimit"
)

// Transport builds the transport for the HTTPClient of [Options]: the cache, a [KeyLatch], the limiter with [Classify],
// and [NewWire]. It stores only what [Valid] accepts. Waiting for another process's request counts as waiting for the
// limiter. You may change its fields before the first use; Next is the transport below the cache. Close store and
// limiter yourself. The store's Class must be [ClassOf].
func Transport(store *cache.Store, limiter *ratelimit.Limiter) *cache.Transport {
	tuning := limiter.Tuning()
	wire := NewWire(NewHTTPTransport(TransportOptions{Timeout: tuning.RequestTimeout + time.Second}))
	return &cache.Transport{
		Store: store, Valid: Valid, MaxBody: MaxBody, MaxWait: max(tuning.MaxWait, 1),
		Next:      NewKeyLatch(&ratelimit.Transport{Base: wire, Limiter: limiter, Classify: Classify, MaxBody: MaxBody}),
		IsBlocked: func(err error) bool { return !errors.As(err, new(*ArgumentError)) },
		AddWait: func(ctx context.Context, d time.Duration) context.Context {
			return ratelimit.With(ctx, ratelimit.Request{Waited: d})
		},
		NextClosed: func(ctx context.Context) bool {
			st, err := limiter.Status(ctx)
			return err == nil && st.State == ratelimit.CacheOnly
		},
	}
}
