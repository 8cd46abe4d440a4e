package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// flight is one question to TMDB, shared by all clients that ask it. It is cancelled when no client waits any more,
// unless it has already been sent and the cache can store the answer.
type flight struct {
	key       string
	req       *http.Request
	initiator requester // the request that began it; it counts against this client's limits
	ticket    ticket
	began     time.Time
	cancel    context.CancelCauseFunc
	choice    atomic.Pointer[ratelimit.Choice] // account of the latest try; see lastChoice

	// The next fields are guarded by flights.mu until the flight has ended, and don't change after that.
	waiters    int
	background bool          // a waiter got an expired answer; the flight continues, to refresh the cache
	onWire     bool          // a request to TMDB is running
	answered   bool          // TMDB has answered, and the cache is about to store the answer
	changed    chan struct{} // closed when onWire changes
	sentAt     time.Time     // when the first try was sent; zero: not yet
	upstream   time.Duration // time that TMDB took, summed over all tries
	result     upstreamResult
	ended      bool

	done   chan struct{} // closed when the flight has ended
	answer *reply
	err    error
}

type upstreamResult struct {
	status      int
	staleReason string // why the next gateway, if TMDB is behind one, gave an expired answer
	err         error
}

type flights struct {
	g *Gateway

	mu               sync.Mutex
	byKey            map[string]*flight
	waiting          int            // number of flights not sent yet
	waitingPerClient map[string]int // the same by client
	backgroundCount  int
	lastSent         time.Time // when a question was last sent while others waited; zero: nobody waits
	closed           bool
	running          sync.WaitGroup

	turn atomic.Int64 // mean time between the latest questions that were sent, in nanoseconds; 0: nobody waits
}

const maxBackgroundFlights = 64

var (
	errNobodyWaits = errors.New("nobody waits for the answer any more")
	errDrained     = refuse(reasonShuttingDown, "")
)

// join returns the running flight of a question, if there is one, and adds a waiter to it. If the waiter is of a better
// class than the flight, or its client's turn is sooner, the flight moves to that client's line in the queue.
func (fs *flights) join(key string, a *requester) (f *flight, joined bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f = fs.byKey[key]; f == nil {
		return nil, false
	}
	f.waiters++
	own := ticket{client: a.client.Name, weight: a.client.Weight, class: a.class}
	if f.sentAt.IsZero() && own.class <= f.ticket.class &&
		(own.class < f.ticket.class || fs.g.queue.countAhead(&own) < fs.g.queue.countAhead(&f.ticket)) {
		fs.waitingPerClient[f.ticket.client]--
		fs.waitingPerClient[own.client]++
		fs.g.queue.requeue(&f.ticket, own.client, own.weight, own.class)
	}
	return f, true
}

func (fs *flights) begin(f *flight) (begun bool, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	switch name, s := f.ticket.client, f.initiator.settings; {
	case fs.byKey[f.key] != nil:
		return false, nil
	case fs.closed:
		return false, errDrained
	case fs.waiting >= s.QueueMax:
		return false, fs.g.refuseFull(reasonQueueFull, &f.ticket)
	case fs.waitingPerClient[name] >= s.QueuePerClient:
		return false, fs.g.refuseFull(reasonClientQueueFull, &f.ticket)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	f.cancel, f.waiters, f.began = cancel, 1, time.Now()
	f.changed, f.done = make(chan struct{}), make(chan struct{})
	f.choice.Store(new(ratelimit.Choice))
	fs.byKey[f.key] = f
	fs.waiting++
	fs.waitingPerClient[f.ticket.client]++
	fs.running.Go(func() { fs.g.runFlight(ctx, f) })
	return true, nil
}

// leave removes a waiter. A flight without waiters is cancelled, unless it is at TMDB, or back with an answer, and the
// cache can store the answer.
func (fs *flights) leave(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.waiters--
	fs.endIfUnused(f)
}

func (fs *flights) endIfUnused(f *flight) {
	storable := (f.onWire || f.answered) && tmdb.ClassOf(f.req) != cache.Uncached
	if f.waiters > 0 || f.background || f.ended || storable {
		return
	}
	f.cancel(errNobodyWaits)
	if fs.byKey[f.key] == f {
		delete(fs.byKey, f.key)
	}
}

// continueInBackground removes a waiter that got an expired answer, and lets the flight continue as batch to refresh
// the cache. If too many flights already do so, this one is cancelled with its last waiter.
func (fs *flights) continueInBackground(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.waiters--; !f.background && !f.ended && fs.backgroundCount < maxBackgroundFlights {
		f.background = true
		fs.backgroundCount++
	}
	if f.waiters == 0 && f.background && f.sentAt.IsZero() && f.ticket.class == interactive {
		fs.g.queue.requeue(&f.ticket, f.ticket.client, f.ticket.weight, batch)
	}
	fs.endIfUnused(f)
}

// markSent notes that a try was sent to TMDB; markReturned notes that it returned. The cache may still send a request
// whose flight has just ended; markSent ignores it.
func (fs *flights) markSent(f *flight) {
	fs.mu.Lock()
	if f.ended {
		fs.mu.Unlock()
		return
	}
	now := time.Now()
	first := f.sentAt.IsZero()
	if first {
		f.sentAt = now
		fs.removeWaiting(f)
		fs.countTurn(now)
	}
	f.setOnWire(true)
	fs.mu.Unlock()
	if !first {
		return
	}
	waited, level := now.Sub(f.began), slog.LevelDebug
	if waited >= noticeableWait {
		level = slog.LevelInfo
	}
	fs.g.upstream.Metrics().Observe(metrics.GatewayWait, waited, f.ticket.class.String())
	fs.g.logSlot(level, "slot_acquired", f, slog.Duration("waited", waited))
}

// countTurn notes that a question was sent.
func (fs *flights) countTurn(now time.Time) {
	last, mean := fs.lastSent, fs.turn.Load()
	switch took := int64(now.Sub(last)); {
	case fs.waiting == 0:
		now, mean = time.Time{}, 0
	case !last.IsZero():
		mean = cmp.Or(mean, took)
		mean += (took - mean) / 8
	}
	fs.lastSent = now
	fs.turn.Store(mean)
}

func (fs *flights) markReturned(f *flight, sent time.Time, answered bool) {
	fs.mu.Lock()
	if !f.ended {
		f.upstream += time.Since(sent)
		f.setOnWire(false)
		if f.answered = answered; !answered && fs.closed {
			f.cancel(errDrained)
		} else if !answered { // the limiter would send it again
			fs.endIfUnused(f)
		}
	}
	fs.mu.Unlock()
	fs.g.logSlot(slog.LevelDebug, "slot_released", f)
}

func (f *flight) setOnWire(on bool) {
	f.onWire = on
	close(f.changed)
	f.changed = make(chan struct{})
}

func (fs *flights) removeWaiting(f *flight) {
	fs.waiting--
	name := f.ticket.client
	if fs.waitingPerClient[name]--; fs.waitingPerClient[name] <= 0 {
		delete(fs.waitingPerClient, name)
	}
}

func (fs *flights) end(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.ended = true
	if fs.byKey[f.key] == f {
		delete(fs.byKey, f.key)
	}
	if f.sentAt.IsZero() {
		fs.removeWaiting(f)
		f.initiator.client.refund(f.initiator.client.upstream)
	}
	if f.background {
		fs.backgroundCount--
	}
	close(f.done)
}

func (fs *flights) wireState(f *flight) (onWire bool, changed <-chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return f.onWire, f.changed
}

func (fs *flights) close(all bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.closed = true
	for _, f := range fs.byKey {
		if all || !f.onWire {
			f.cancel(errDrained)
		}
	}
}

func (g *Gateway) runFlight(ctx context.Context, f *flight) {
	defer f.cancel(nil)
	defer g.flights.end(f)
	defer func() {
		if p := recover(); p != nil {
			f.err = &panicError{p}
			g.logPanic(f.initiator.requestID, p)
		}
		if f.err != nil && errors.Is(context.Cause(ctx), errDrained) {
			f.err = errDrained
		}
	}()
	f.answer, f.err = g.askTMDB(ctx, f)
}

func (g *Gateway) askTMDB(ctx context.Context, f *flight) (*reply, error) {
	ctx = withFlight(ratelimit.With(ctx, ratelimit.Request{MaxWait: f.initiator.patience}), f)
	if g.upstream.Limiter().Rationed() {
		r, err := g.upstream.Limiter().Reserve(ctx, 1)
		if err != nil {
			return nil, err
		}
		g.logQuota(ctx, "quota_reserved", f)
		defer func() {
			r.Release()
			g.logQuota(context.WithoutCancel(ctx), "quota_settled", f)
		}()
		ctx = ratelimit.With(ctx, ratelimit.Request{Reservation: r})
	}
	start := time.Now()
	g.logSlot(slog.LevelDebug, "slot_wait", f)
	patient, cancel := context.WithTimeout(ctx, f.initiator.patience)
	err := g.queue.waitTurn(patient, &f.ticket, false)
	cancel()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, g.refuseFull(reasonAcquireTimeout, &f.ticket)
	case err != nil:
		return nil, err
	}
	defer g.queue.releaseIfAdmitted(&f.ticket)
	ctx = g.preferSessionAccount(ctx, f, g.settings.Load().Sticky)
	resp, err := g.upstream.RoundTrip(f.req.WithContext(ratelimit.With(ctx, ratelimit.Request{Waited: time.Since(start)})))
	if err != nil {
		return nil, err
	}
	answer, err := readReply(resp)
	if err != nil || answer.fromCache() {
		return answer, err
	}
	return answer, checkReply(f.req, resp, answer)
}

// checkReply returns an error if a response from the network is not a valid answer of TMDB's and must not be passed on.
func checkReply(req *http.Request, resp *http.Response, r *reply) error {
	err := tmdb.Valid(req, resp, r.body)
	e, isAnswer := errors.AsType[*tmdb.Error](err)
	const says = "The gateway behind this one says: "
	if isAnswer && e.Gateway != "" && (relayed[e.Gateway] != nil || r.status < 500) {
		text := says + strings.TrimPrefix(e.Message, says)
		return &refusal{reason: cmp.Or(relayed[e.Gateway], reasonUpstream), text: text, retryAt: e.RetryAt}
	}
	switch {
	case r.status == http.StatusTooManyRequests:
		wait, _ := ratelimit.ParseRetryAfter(resp.Header, time.Now())
		return &refusal{reason: reasonPause, text: reasonPause.text, retryIn: wait.Duration}
	case r.status == http.StatusLoopDetected:
		return refuse(reasonLoop, "")
	case r.status/100 == 3: // a redirect
		return refuse(reasonUpstream, "")
	case err == nil && r.status == http.StatusNotImplemented,
		err == nil && r.status < 500 && r.status != http.StatusRequestTimeout:
		return nil
	case r.status < 300, isAnswer && e.Foreign != "" && r.status < 500:
		return refuse(reasonMalformed, "")
	}
	return refuse(reasonUpstream, "")
}

type flightKey struct{}

func withFlight(ctx context.Context, f *flight) context.Context {
	return context.WithValue(ctx, flightKey{}, f)
}

func flightFrom(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

func (g *Gateway) observeUpstream(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		f := flightFrom(req.Context())
		if f == nil {
			return next.RoundTrip(req)
		}
		answered := false
		if c, ok := ratelimit.ChoiceFrom(req.Context()); ok {
			g.recordChoice(f, c)
		}
		start := time.Now()
		g.flights.markSent(f)
		defer func() { g.flights.markReturned(f, start, answered) }()
		resp, err := next.RoundTrip(req)
		answered = err == nil && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests
		return resp, err
	})
}

func (g *Gateway) observeLimiter(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		f := flightFrom(req.Context())
		if f == nil {
			return resp, err
		}
		result := upstreamResult{err: err}
		if resp != nil {
			result.status = resp.StatusCode
			_, why, _ := strings.Cut(resp.Header.Get("Cache-Status"), "; detail=")
			if strings.Trim(why, "abcdefghijklmnopqrstuvwxyz_") == "" {
				result.staleReason = why
			}
		}
		g.flights.mu.Lock()
		defer g.flights.mu.Unlock()
		if !f.ended {
			f.result = result
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
