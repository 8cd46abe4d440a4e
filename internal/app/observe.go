package app

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/logging"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// observer turns events of limiter and cache into counts, metrics, log lines and the timeline of the run.
type observer struct {
	log     *slog.Logger
	metrics *metrics.Metrics
	warn    func(error)
	cfg     func() *config.Config // returns the current configuration

	requests, retries, throttled, hits, misses, stale atomic.Int64
	samples                                           sampler
	isGateway                                         bool
	changesInProgress                                 atomic.Int32 // how many changes this process is making now

	cacheUnwritable atomic.Bool // the latest write of an answer to the cache failed

	mu          sync.Mutex
	gauges      ratelimit.Gauges
	gaugesKnown bool
	state       ratelimit.State // the state that was last logged
	stateKnown  bool
	gaugesAt    time.Time // when gauges was set
	sharedWait  Wait      // from the latest PollSharedState
	awaitPolls  int       // how many of the latest polls in a row found the run waiting for another process's request
	waiting     []ratelimit.WaitInfo
	pauseStatus int       // the HTTP status that caused this process's latest pause
	longPause   time.Time // when the latest pause ends that was longer than a minute
}

func (o *observer) onReservationsFreed(f ratelimit.FreedReservations) {
	o.metrics.Add(metrics.QuotaOrphans, f.Requests)
	// The event names no account, so the log line has a name only if there is just one account.
	o.log.Warn("quota_orphan", slog.String("comp", "anivault"), slog.String("account", o.cfg().OnlyAccount()),
		slog.Int("requests", f.Requests), slog.Int("used", f.Used),
		slog.Int("reserved", f.Reserved), slog.Int("limit", f.Limit))
}

func (o *observer) recordWrite(err error) {
	if o.cacheUnwritable.Store(err != nil); err != nil {
		o.metrics.Add(metrics.CacheWriteErrors, 1)
	}
}

func (o *observer) onTuned(c ratelimit.Tuned) {
	until := cmp.Or(ui.Timestamp(c.Until), "always")
	if c.Ended {
		until = "ended"
	}
	about := []any{
		slog.String("comp", "anivault"), slog.String("key", c.Key), slog.String("from", c.From), slog.String("to", c.To),
		slog.String("until", until),
	}
	if o.isGateway && o.changesInProgress.Load() == 0 {
		about = append(about, slog.String("by", "elsewhere"))
	}
	o.log.Info("tuned", about...)
}

// LogOthersStateChange logs a transition by another process or a command. This process may itself have made a
// transition within the last second, so only a later call logs that one.
func (g *Gateway) LogOthersStateChange(st ratelimit.Status) {
	o := g.observer
	o.mu.Lock()
	from, isOld := o.state, o.stateKnown && st.At.Sub(st.Since) >= time.Second
	if isOld || !o.stateKnown {
		o.state, o.stateKnown = st.State, true
	}
	o.mu.Unlock()
	if isOld && from != st.State {
		o.logEvent(slog.LevelInfo, "state_transition", st.Gauges, max(st.Until.Sub(st.At), 0),
			slog.String("from", from.String()), slog.String("to", st.State.String()),
			slog.String("reason", st.Cause.String()), slog.String("by", "elsewhere"))
	}
}

// BeginChange marks the beginning of a change of settings or state by this process, and done its end. In between, no
// change is logged as made elsewhere, because a request may see the new values before the change is complete.
func (g *Gateway) BeginChange() (done func(context.Context)) {
	g.observer.changesInProgress.Add(1)
	return func(ctx context.Context) {
		st, err := g.limiter.Status(ctx)
		g.observer.changesInProgress.Add(-1)
		g.observer.mu.Lock()
		defer g.observer.mu.Unlock()
		if err == nil {
			g.observer.state, g.observer.stateKnown = st.State, true
		}
	}
}

func (o *observer) onTransition(t ratelimit.Transition) {
	if t.Account != "" { // only this account stops
		o.log.Info("account_transition", slog.String("comp", "ratelimiter"), slog.String("account", t.Account),
			slog.String("from", t.From.String()), slog.String("to", t.To.String()), slog.String("reason", t.Reason.String()))
		return
	}
	o.setGauges(t.Gauges)
	o.mu.Lock()
	o.state, o.stateKnown = t.To, true
	o.mu.Unlock()
	o.samples.add(o.sample(t.At, t.To.String(), t.Gauges.Rate))
	gauges := t.Gauges
	gauges.State = t.To
	o.logEvent(slog.LevelInfo, "state_transition", gauges, max(t.Until.Sub(t.At), 0),
		slog.String("from", t.From.String()), slog.String("to", t.To.String()), slog.String("reason", t.Reason.String()))
}

func (o *observer) onAnswer(a ratelimit.Answer) {
	o.setGauges(a.Gauges)
	o.logKeyChanges(a)
	if a.Outcome == ratelimit.Cancelled && a.Status == 0 {
		return // cancelled before its answer came
	}
	o.requests.Add(1)
	if a.Attempt > 1 {
		o.retries.Add(1)
	}
	event, code := a.Outcome.String(), a.Outcome.String()
	if a.Status != 0 {
		code = strconv.Itoa(a.Status)
	}
	o.metrics.Add(metrics.Requests, 1, code)
	if a.Account != "" {
		o.metrics.Add(metrics.AccountRequests, 1, a.Account, code)
	}
	o.metrics.Observe(metrics.Latency, a.Latency)
	if a.Outcome == ratelimit.Throttled {
		o.throttled.Add(1)
		event = "429"
	}
	o.samples.add(o.sample(time.Now(), a.Gauges.State.String(), a.Gauges.Rate))
	if !a.Outcome.Retryable() && a.Pause <= time.Minute {
		return
	}
	level := slog.LevelInfo
	if a.Pause > 0 {
		o.mu.Lock()
		o.pauseStatus = a.Status
		if now := time.Now(); a.Pause > time.Minute {
			if now.After(o.longPause) {
				level = slog.LevelWarn // once: answers of requests that were under way may pause again
			}
			o.longPause = now.Add(a.Pause)
		}
		o.mu.Unlock()
	}
	if event != "429" {
		if a.Pause == 0 {
			return // the log has no line for a single failed request
		}
		event = "pause"
	}
	var more []slog.Attr
	if a.RetryAfter.Present && a.RetryAfter.Duration != 0 {
		more = append(more, slog.Duration("retry_after", a.RetryAfter.Duration))
	}
	o.logEvent(level, event, a.Gauges, a.Pause, more...)
}

func (o *observer) logKeyChanges(a ratelimit.Answer) {
	for _, c := range a.Keys {
		event, level := "key_in", slog.LevelInfo
		if c.To.Unusable() {
			event, level = "key_out", slog.LevelWarn
		}
		o.log.Log(context.Background(), level, event, slog.String("comp", "anivault"), slog.String("account", c.Account),
			slog.Int("key", o.cfg().KeyNumber(c.Account, c.Key)),
			slog.String("was", c.From.String()), slog.String("why", c.To.String()))
	}
}

func (o *observer) onWait(w ratelimit.WaitInfo) {
	o.setGauges(w.Gauges)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !w.Ended {
		o.waiting = append(o.waiting, w)
		return
	}
	o.metrics.Observe(metrics.Sleep, w.Waited)
	begun := func(b ratelimit.WaitInfo) bool { return b.Block == w.Block && b.Attempt == w.Attempt }
	if i := slices.IndexFunc(o.waiting, begun); i >= 0 {
		o.waiting = slices.Delete(o.waiting, i, i+1)
	}
}

func (o *observer) setGauges(g ratelimit.Gauges) {
	o.mu.Lock()
	o.gauges, o.gaugesKnown, o.gaugesAt = g, true, time.Now()
	o.mu.Unlock()
	o.metrics.Set(metrics.Rate, g.Rate)
	o.metrics.Set(metrics.Concurrency, float64(g.OwnSlots))
	o.metrics.Set(metrics.ErrRate, g.ErrRatio)
}

func (o *observer) sample(at time.Time, state string, rate float64) chart.Point {
	return chart.Point{
		At: at, State: state, Rate: rate, Requests: int(o.requests.Load()), Throttled: int(o.throttled.Load()),
	}
}

func (o *observer) logEvent(
	level slog.Level, event string, g ratelimit.Gauges, sleep time.Duration, more ...slog.Attr,
) {
	attrs := []slog.Attr{
		slog.String("comp", logging.Ratelimiter), slog.String("state", g.State.String()), slog.Int("consec429", g.Streak429),
		slog.Float64("err_rate_30s", g.ErrRatio), slog.Float64("rate", g.Rate), slog.Int("sem", g.OwnSlots),
	}
	if sleep != 0 {
		attrs = append(attrs, slog.Duration("sleep", sleep))
	}
	o.log.LogAttrs(context.Background(), level, event, append(attrs, more...)...)
}

type cacheCounter struct {
	next http.RoundTripper
	o    *observer
}

func (c cacheCounter) RoundTrip(req *http.Request) (*http.Response, error) {
	begun := time.Now()
	resp, err := c.next.RoundTrip(req)
	ratelimit.RequestIn(req.Context()).Tries.Join(req, begun)
	if info, ok := cache.InfoFrom(resp); ok && (info.Source == cache.Fresh || info.Source == cache.Stale) {
		c.o.hits.Add(1)
		if info.Source == cache.Stale {
			c.o.stale.Add(1)
		}
		c.o.metrics.Add(metrics.CacheHits, 1)
		return resp, err
	}
	c.o.misses.Add(1)
	c.o.metrics.Add(metrics.CacheMisses, 1)
	return resp, err
}
