package app

import (
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
)

// chain is what stands between a question and TMDB, for a run of match as for the gateway, and who watches it.
type chain struct {
	opts     Options
	inForce  atomic.Pointer[config.Config] // a gateway's may be replaced
	store    ratelimit.Store
	limiter  *ratelimit.Limiter
	cache    *cache.Store
	upstream *Upstream
	seen     *observer
	closers  []func() error // in the order in which they were opened
	warned   warnOnce
}

// open opens everything. What it has opened when it fails is for the caller to close.
func (c *chain) open(cfg *config.Config, opts Options) error {
	c.opts = opts
	c.inForce.Store(cfg)
	if opts.Log == nil {
		opts.Log = slog.DiscardHandler
	}
	c.seen = &observer{log: slog.New(opts.Log), metrics: metrics.New(), warn: c.warn, cfg: c.inForce.Load}
	store, done, err := OpenState(cfg, 0, c.warn)
	if err != nil {
		return err
	}
	c.store, c.closers = store, append(c.closers, done)
	c.limiter, err = ratelimit.New(ratelimit.Config{
		Store: store, Tuning: cfg.Tuning, Offline: opts.Offline, Hooks: c.seen.hooks(), Queue: opts.Queue,
		Accounts: cfg.LimiterAccounts(),
	})
	if err != nil {
		return err
	}
	c.closers = append(c.closers, c.limiter.Close)
	if c.cache, err = OpenCache(cfg, opts.Memory, c.warn); err != nil {
		return err
	}
	c.closers = append(c.closers, c.cache.Close)
	if c.upstream, err = OpenUpstream(cfg, c.cache, c.limiter, opts); err != nil {
		return err
	}
	c.closers = append(c.closers, c.upstream.Close)
	return nil
}

func (c *chain) warn(err error) {
	if !c.warned.first(err) {
		return
	}
	event, about := "warning", []any{slog.String("comp", "anivault"), slog.Any("error", err)}
	if w, ok := errors.AsType[*ratelimit.StoreWarning](err); ok {
		event = w.Event
		if w.Parts > 0 {
			about = append(about, slog.Int("parts", w.Parts))
		}
		if w.Alone > 0 {
			about = append(about, slog.Duration("alone", w.Alone.Round(time.Second)))
		}
	}
	c.seen.log.Warn(event, about...)
	if c.opts.Warn != nil {
		c.opts.Warn(err)
	}
}

// Metrics returns what was counted so far.
func (c *chain) Metrics() *metrics.Metrics { return c.seen.metrics }

// Close writes what is not written yet and frees everything that was opened.
func (c *chain) Close() error {
	var errs []error
	for _, done := range slices.Backward(c.closers) {
		errs = append(errs, done())
	}
	if err := errors.Join(errs...); err != nil {
		return lang.Error("close: %w", err)
	}
	return nil
}
