package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// flight is one question on its way, for all who ask it. It lives as long as somebody waits for it. Once it was sent it also
// lives until there is an answer, if that can be stored.
type flight struct {
	key      string
	req      *http.Request
	ticket   ticket
	client   *client // who began it; it counts for it
	patience time.Duration
	budgeted bool
	storable bool
	began    time.Time
	id       string // of the request that began it
	session  string // that keeps its account
	cancel   context.CancelCauseFunc

	// Guarded by flights.mu.
	waiters    int
	background bool          // it goes on behind expired answers
	onWire     bool          // a try is with TMDB
	sentAt     time.Time     // of the first try; zero before it
	upstream   time.Duration // with TMDB, all tries together
	departed   time.Time
	over       bool
	changed    chan struct{} // closed when onWire changes

	done   chan struct{} // closed when what follows is there
	answer *reply
	err    error
	asked  bool          // TMDB was asked
	took   time.Duration // by TMDB, all tries together
	met    atomic.Pointer[met]
	choice atomic.Pointer[ratelimit.Choice] // of the newest try; see through
}

// met is what the cache's question has met behind it.
type met struct {
	status int
	detail string // why a gateway behind this one gave an expired answer
	err    error
}

// flights are all questions on their way.
type flights struct {
	g *Gateway

	mu         sync.Mutex
	byKey      map[string]*flight
	waiting    int            // not sent yet
	perClient  map[string]int // of them
	background int
	closed     bool
	running    sync.WaitGroup
}

// maxBackground bounds the questions that go on behind expired answers.
const maxBackground = 64

var (
	errNobodyWaits = errors.New("nobody waits for the answer any more")
	errDrained     = refuse("shutting_down", 0, "")
)

// join returns the flight of a question, and whether another request began it. A flight that waits as batch moves into the
// line of an interactive request.
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

// begin starts the flight of a question, or says why there is no room for it. It is not begun where the question has one.
func (fs *flights) begin(f *flight, s *settings) (begun bool, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	switch name := f.ticket.client; {
	case fs.byKey[f.key] != nil:
		return false, nil
	case fs.closed:
		return false, errDrained
	case fs.waiting >= s.QueueMax:
		return false, fs.g.full("queue_full", &f.ticket)
	case fs.perClient[name] >= s.QueuePerClient:
		return false, fs.g.full("client_queue_full", &f.ticket)
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

// leave is called by who waits no longer. A flight that nobody waits for ends, but for one that is with TMDB and whose answer
// can be stored.
func (fs *flights) leave(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.waiters--
	fs.endIfLonely(f)
}

func (fs *flights) endIfLonely(f *flight) {
	if f.waiters > 0 || f.background || f.over || f.onWire && f.storable {
		return
	}
	f.cancel(errNobodyWaits)
	if fs.byKey[f.key] == f {
		delete(fs.byKey, f.key)
	}
}

// continueBehind lets a flight go on as batch while its waiter gets an expired answer. Where too many do already it ends
// with its last waiter.
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
	fs.endIfLonely(f)
}

// depart and arrive say that a try is with TMDB, and that it is no longer.
func (fs *flights) depart(f *flight) {
	fs.mu.Lock()
	now := time.Now()
	first := f.sentAt.IsZero() && !f.over // the cache may let go what was given up at that moment
	if first {
		f.sentAt = now
		fs.sent(f)
	}
	f.onWire, f.departed = true, now
	close(f.changed)
	f.changed = make(chan struct{})
	fs.mu.Unlock()
	if first {
		fs.g.counts.Waited(f.ticket.class.String(), now.Sub(f.began))
		fs.g.log.slotAcquired(f, now.Sub(f.began))
	}
}

func (fs *flights) arrive(f *flight, answered bool) {
	fs.mu.Lock()
	f.onWire = false
	f.upstream += time.Since(f.departed)
	close(f.changed)
	f.changed = make(chan struct{})
	if !answered { // there would be another try
		fs.endIfLonely(f)
	}
	fs.mu.Unlock()
	fs.g.log.slotReleased(f)
}

// sent takes a flight out of those that wait.
func (fs *flights) sent(f *flight) {
	fs.waiting--
	if name := f.ticket.client; fs.perClient[name] > 1 {
		fs.perClient[name]--
	} else {
		delete(fs.perClient, name)
	}
}

// end closes a flight.
func (fs *flights) end(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.over, f.asked, f.took = true, !f.sentAt.IsZero(), f.upstream
	if fs.byKey[f.key] == f {
		delete(fs.byKey, f.key)
	}
	if !f.asked {
		fs.sent(f)
		f.client.undo(f.client.upstream)
	}
	if f.background {
		fs.background--
	}
	close(f.done)
}

// state returns whether a flight is with TMDB, and what is closed when that changes.
func (fs *flights) state(f *flight) (onWire bool, changed <-chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return f.onWire, f.changed
}

// close ends all flights that were not sent, or all of them, and lets no other begin.
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

// fly asks the question.
func (g *Gateway) fly(ctx context.Context, f *flight) {
	defer f.cancel(nil)
	defer g.flights.end(f)
	defer func() {
		if p := recover(); p != nil {
			f.err = &panicError{p}
			g.log.panicked(f.id, p)
		}
		if f.err != nil && errors.Is(context.Cause(ctx), errDrained) {
			f.err = errDrained
		}
	}()
	f.answer, f.err = g.askTMDB(ctx, f)
}

// askTMDB takes the steps behind the flight: quota, queue, cache and limiter, and judges what came.
func (g *Gateway) askTMDB(ctx context.Context, f *flight) (*reply, error) {
	ctx = context.WithValue(withTicket(ratelimit.WithMaxWait(ctx, f.patience), &f.ticket), flightKey{}, f)
	if f.budgeted {
		r, err := g.up.Limiter().Reserve(ctx, 1)
		if err != nil {
			return nil, err
		}
		g.log.quota(ctx, "quota_reserved", f, g.up.Limiter())
		defer func() {
			r.Release()
			g.log.quota(context.WithoutCancel(ctx), "quota_settled", f, g.up.Limiter())
		}()
		ctx = ratelimit.WithReservation(ctx, r)
	}
	start := time.Now()
	g.log.slotWait(f)
	patient, cancel := context.WithTimeoutCause(ctx, f.patience, errPatience)
	err := g.queue.enter(patient, &f.ticket, false)
	cancel()
	if err != nil {
		if cause := context.Cause(patient); errors.Is(cause, errPatience) {
			return nil, g.full("acquire_timeout", &f.ticket)
		}
		return nil, err
	}
	defer g.queue.giveBack(&f.ticket)
	ctx = g.sticking(ctx, f, g.settings.Load().Sticky)
	resp, err := g.up.RoundTrip(f.req.WithContext(ratelimit.WithWaited(ctx, time.Since(start))))
	if err != nil {
		return nil, err
	}
	answer, err := readReply(resp)
	if err != nil || answer.fromCache() {
		return answer, err
	}
	return answer, g.judge(f.req, resp, answer)
}

// judge returns why what came over the network is no answer of TMDB's to give on.
func (g *Gateway) judge(req *http.Request, resp *http.Response, r *reply) error {
	err := tmdb.Valid(req, resp, r.body)
	foreign, isAnswer := errors.AsType[*tmdb.Error](err)
	switch {
	case r.status == http.StatusTooManyRequests:
		return refuse("pause", 0, "")
	case r.status == http.StatusLoopDetected:
		return refuse("loop", 0, "")
	case r.status == http.StatusNotImplemented && err == nil, err == nil && r.status < 500 && r.status != http.StatusRequestTimeout:
		return nil
	case r.status < 300, isAnswer && foreign.Foreign != "" && r.status < 500:
		return refuse("malformed_response", 0, "")
	}
	return refuse("upstream", 0, "")
}

var errPatience = errors.New("no place in time")

type flightKey struct{}

func flightFrom(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// onTheWire sees each try on its way to TMDB.
func (g *Gateway) onTheWire(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		f := flightFrom(req.Context())
		if f == nil {
			return next.RoundTrip(req)
		}
		answered := false
		if c, ok := ratelimit.ChoiceFrom(req.Context()); ok {
			g.chosen(f, c)
		}
		g.flights.depart(f)
		defer func() { g.flights.arrive(f, answered) }()
		resp, err := next.RoundTrip(req)
		answered = err == nil && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests
		return resp, err
	})
}

// atTheDoor sees what the cache's question meets.
func (g *Gateway) atTheDoor(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if f := flightFrom(req.Context()); f != nil {
			m := met{err: err}
			if resp != nil {
				m.status = resp.StatusCode
				if _, why, _ := strings.Cut(resp.Header.Get("Cache-Status"), "; detail="); strings.Trim(why, "abcdefghijklmnopqrstuvwxyz_") == "" {
					m.detail = why
				}
			}
			f.met.Store(&m)
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
