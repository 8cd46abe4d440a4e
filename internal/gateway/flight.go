package gateway

import (
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

// flight is one question to TMDB, shared by all clients that ask it. It lives as long as a client waits. Once it is
// sent, it also lives until the answer arrives, if the cache can store it.
type flight struct {
	key    string
	req    *http.Request
	by     asker // the client that began it; it counts against this client's limits
	ticket ticket
	began  time.Time
	cancel context.CancelCauseFunc
	choice atomic.Pointer[ratelimit.Choice] // of the newest try; see through

	// Guarded by flights.mu until the flight is over. Then nothing changes any more.
	waiters    int
	background bool          // its waiters got expired answers; it goes on to refresh the cache
	onWire     bool          // a request to TMDB is running
	changed    chan struct{} // closed when onWire changes
	sentAt     time.Time     // when the first try was sent; zero before it
	upstream   time.Duration // time that TMDB took, all tries together
	result     upstreamResult
	over       bool

	done   chan struct{} // closed when it is over
	answer *reply
	err    error
}

type upstreamResult struct {
	status int
	detail string // why a gateway behind this one gave an expired answer
	err    error
}

type flights struct {
	g *Gateway

	mu         sync.Mutex
	byKey      map[string]*flight
	waiting    int            // flights not sent yet
	perClient  map[string]int // of these, by client
	background int
	closed     bool
	running    sync.WaitGroup
}

const maxBackground = 64

var (
	errNobodyWaits = errors.New("nobody waits for the answer any more")
	errDrained     = refuse(reasonShuttingDown, "")
)

// join returns the flight of a question, and whether another request began it. A flight that waits as batch moves into
// the line of an interactive request.
func (fs *flights) join(key string, a *asker) (f *flight, joined bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f = fs.byKey[key]
	if f == nil {
		return nil, false
	}
	f.waiters++
	if a.class == interactive && f.ticket.class == batch && f.sentAt.IsZero() {
		fs.perClient[f.ticket.client]--
		fs.perClient[a.client.Name]++
		fs.g.queue.move(&f.ticket, a.client.Name, a.client.Weight, interactive)
	}
	return f, true
}

func (fs *flights) begin(f *flight) (begun bool, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	switch name, s := f.ticket.client, f.by.settings; {
	case fs.byKey[f.key] != nil:
		return false, nil
	case fs.closed:
		return false, errDrained
	case fs.waiting >= s.QueueMax:
		return false, fs.g.refuseFull(reasonQueueFull, &f.ticket)
	case fs.perClient[name] >= s.QueuePerClient:
		return false, fs.g.refuseFull(reasonClientQueueFull, &f.ticket)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	f.cancel, f.waiters, f.began = cancel, 1, time.Now()
	f.changed, f.done = make(chan struct{}), make(chan struct{})
	fs.byKey[f.key] = f
	fs.waiting++
	fs.perClient[f.ticket.client]++
	fs.running.Go(func() { fs.g.fly(ctx, f) })
	return true, nil
}

// leave is called by who waits no longer. A flight that nobody waits for ends, but for one that is with TMDB and whose
// answer can be stored.
func (fs *flights) leave(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.waiters--
	fs.endIfUnused(f)
}

func (fs *flights) endIfUnused(f *flight) {
	if f.waiters > 0 || f.background || f.over || f.onWire && tmdb.ClassOf(f.req) != cache.Uncached {
		return
	}
	f.cancel(errNobodyWaits)
	if fs.byKey[f.key] == f {
		delete(fs.byKey, f.key)
	}
}

// continueBehind lets a flight go on as batch while its waiter gets an expired answer. Where too many do already it
// ends with its last waiter.
func (fs *flights) continueBehind(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.waiters--; !f.background && !f.over && fs.background < maxBackground {
		f.background = true
		fs.background++
	}
	if f.waiters == 0 && f.background && f.sentAt.IsZero() && f.ticket.class == interactive {
		fs.g.queue.move(&f.ticket, f.ticket.client, f.ticket.weight, batch)
	}
	fs.endIfUnused(f)
}

// sent notes that a try is with TMDB, and returned that it no longer is. The cache may send what was given up at that
// moment.
func (fs *flights) sent(f *flight) {
	fs.mu.Lock()
	if f.over {
		fs.mu.Unlock()
		return
	}
	now := time.Now()
	first := f.sentAt.IsZero()
	if first {
		f.sentAt = now
		fs.waitsNoMore(f)
	}
	f.setOnWire(true)
	fs.mu.Unlock()
	if !first {
		return
	}
	waited, level := now.Sub(f.began), slog.LevelDebug
	if waited >= noticeable {
		level = slog.LevelInfo
	}
	fs.g.up.Metrics().Observe(metrics.GatewayWait, waited, f.ticket.class.String())
	fs.g.logSlot(level, "slot_acquired", f, slog.Duration("waited", waited))
}

func (fs *flights) returned(f *flight, sent time.Time, answered bool) {
	fs.mu.Lock()
	if !f.over {
		f.upstream += time.Since(sent)
		f.setOnWire(false)
		if !answered { // the limiter would try again
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

func (fs *flights) waitsNoMore(f *flight) {
	fs.waiting--
	name := f.ticket.client
	if fs.perClient[name]--; fs.perClient[name] <= 0 {
		delete(fs.perClient, name)
	}
}

func (fs *flights) end(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.over = true
	if fs.byKey[f.key] == f {
		delete(fs.byKey, f.key)
	}
	if f.sentAt.IsZero() {
		fs.waitsNoMore(f)
		f.by.client.undo(f.by.client.upstream)
	}
	if f.background {
		fs.background--
	}
	close(f.done)
}

func (fs *flights) state(f *flight) (onWire bool, changed <-chan struct{}) {
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

func (g *Gateway) fly(ctx context.Context, f *flight) {
	defer f.cancel(nil)
	defer g.flights.end(f)
	defer func() {
		if p := recover(); p != nil {
			f.err = &panicError{p}
			g.logPanic(f.by.id, p)
		}
		if f.err != nil && errors.Is(context.Cause(ctx), errDrained) {
			f.err = errDrained
		}
	}()
	f.answer, f.err = g.askTMDB(ctx, f)
}

func (g *Gateway) askTMDB(ctx context.Context, f *flight) (*reply, error) {
	ctx = withFlight(ratelimit.With(ctx, ratelimit.Request{MaxWait: f.by.patience}), f)
	if g.up.Limiter().Rationed() {
		r, err := g.up.Limiter().Reserve(ctx, 1)
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
	patient, cancel := context.WithTimeout(ctx, f.by.patience)
	err := g.queue.enter(patient, &f.ticket, false)
	cancel()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, g.refuseFull(reasonAcquireTimeout, &f.ticket)
	case err != nil:
		return nil, err
	}
	defer g.queue.giveBack(&f.ticket)
	ctx = g.sticking(ctx, f, g.settings.Load().Sticky)
	resp, err := g.up.RoundTrip(f.req.WithContext(ratelimit.With(ctx, ratelimit.Request{Waited: time.Since(start)})))
	if err != nil {
		return nil, err
	}
	answer, err := readReply(resp)
	if err != nil || answer.fromCache() {
		return answer, err
	}
	return answer, judge(f.req, resp, answer)
}

// judge returns why an answer of the network is not TMDB's, and not to be passed on.
func judge(req *http.Request, resp *http.Response, r *reply) error {
	err := tmdb.Valid(req, resp, r.body)
	foreign, isAnswer := errors.AsType[*tmdb.Error](err)
	switch {
	case r.status == http.StatusTooManyRequests:
		return refuse(reasonPause, "")
	case r.status == http.StatusLoopDetected:
		return refuse(reasonLoop, "")
	case err == nil && r.status == http.StatusNotImplemented,
		err == nil && r.status < 500 && r.status != http.StatusRequestTimeout:
		return nil
	case r.status < 300, isAnswer && foreign.Foreign != "" && r.status < 500:
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
			g.chosen(f, c)
		}
		start := time.Now()
		g.flights.sent(f)
		defer func() { g.flights.returned(f, start, answered) }()
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
				result.detail = why
			}
		}
		g.flights.mu.Lock()
		defer g.flights.mu.Unlock()
		if !f.over {
			f.result = result
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
