package virtual

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/peers"
)

// Conditions are what an upstream does at one moment.
type Conditions struct {
	Limit      float64       // requests that it allows in any second
	Neighbour  float64       // requests a second that somebody else sends under the same limit
	Latency    time.Duration // median of an answer; each takes between half and one and a half of it
	Fails      float64       // share of the requests that fail
	Status     int           // how they fail; 0: the connection breaks
	RetryAfter string        // and what their answer says
}

// Upstream is how an upstream behaves.
type Upstream struct {
	At     func(since time.Duration) Conditions
	Bucket float64 // it limits by a token bucket of this size, which gains Limit a second; 0: by a sliding second
	Broken float64 // share of the items that always fail
	Queue  *Queue  // workers that take the requests in turn; nil: one for each request
}

// Queue is a number of workers. A request that waits for one longer than Longest fails, but the work is done all the
// same: so overload feeds on itself.
type Queue struct {
	Workers int
	Service func(since time.Duration) time.Duration
	Longest time.Duration
}

// Request is one request as the upstream saw it.
type Request struct {
	At      time.Duration // since the beginning
	Took    time.Duration
	Process int
	Good    bool
	Refused bool    // 429
	Fails   float64 // share of the requests that failed at that time
}

// brokenPath begins the paths of items that always fail.
const brokenPath = "/broken/"

// Server is an upstream at work, for a transport.
type Server interface {
	http.RoundTripper
	Seen() []Request // what it has seen
}

// Simulated is an Upstream at work. It has to be made in virtual time.
type Simulated struct {
	Upstream
	start time.Time

	mu        sync.Mutex
	chance    *rand.Rand
	seen      []Request
	passed    []time.Duration // requests of the last second, the neighbour's too
	neighbour time.Duration   // of the neighbour's newest request
	tokens    float64
	counted   time.Duration   // when tokens was right
	free      []time.Duration // when each worker is
}

// NewSimulated returns a server without a history.
func NewSimulated(u Upstream, seed uint64) *Simulated {
	chance := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // it has to be the same every time
	s := &Simulated{Upstream: u, start: time.Now(), tokens: u.Bucket, chance: chance}
	if u.Queue != nil {
		s.free = make([]time.Duration, u.Queue.Workers)
	}
	return s
}

// RoundTrip implements http.RoundTripper.
func (s *Simulated) RoundTrip(req *http.Request) (*http.Response, error) {
	status, retryAfter, took := s.answer(strings.HasPrefix(req.URL.Path, brokenPath))
	if err := peers.Sleep(req.Context(), took); err != nil {
		return nil, err
	}
	return Response(req, status, retryAfter)
}

// Response is an answer that the client gets; status 0 breaks the connection.
func Response(req *http.Request, status int, retryAfter string) (*http.Response, error) {
	if status == 0 {
		return nil, errors.New("connection reset by peer")
	}
	h := http.Header{"Content-Type": {"application/json"}}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader("{}")), Request: req,
	}, nil
}

// Seen returns what the server has seen.
func (s *Simulated) Seen() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *Simulated) answer(broken bool) (status int, retryAfter string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.start)
	c := s.At(now)
	fate, jitter := s.chance.Float64(), 0.5+s.chance.Float64()
	took = time.Duration(jitter * float64(c.Latency))
	queued, late := time.Duration(0), false
	allowed := s.allow(now, c)
	if allowed && s.Queue != nil {
		queued, late = s.queue(now, jitter)
		took = queued
	}
	status = http.StatusOK
	switch {
	case !allowed:
		status, took = http.StatusTooManyRequests, took/2
	case late:
		status = http.StatusServiceUnavailable
	case broken:
		status = http.StatusInternalServerError
	case fate < c.Fails:
		status, retryAfter = c.Status, c.RetryAfter
	}
	s.seen = append(s.seen, Request{
		At: now, Took: took, Good: status == http.StatusOK, Refused: status == http.StatusTooManyRequests, Fails: c.Fails,
	})
	return status, retryAfter, took
}

// allow counts a request against the limit.
func (s *Simulated) allow(now time.Duration, c Conditions) bool {
	if s.Bucket > 0 {
		s.tokens = min(s.Bucket, s.tokens+(now-s.counted).Seconds()*c.Limit)
		s.counted = now
		if s.tokens < 1 {
			return false
		}
		s.tokens--
		return true
	}
	for c.Neighbour > 0 && s.neighbour < now {
		// It is counted before its time. Else a client that sends at the same moments of each second would always find the
		// room that its own request of the second before has just left.
		s.neighbour += time.Duration(float64(time.Second) / c.Neighbour)
		s.pass(s.neighbour, c.Limit)
	}
	s.neighbour = max(s.neighbour, now)
	return s.pass(now, c.Limit)
}

func (s *Simulated) pass(now time.Duration, limit float64) bool {
	old := 0
	for old < len(s.passed) && now-s.passed[old] >= time.Second {
		old++
	}
	s.passed = s.passed[old:]
	if float64(len(s.passed)) >= limit {
		return false
	}
	s.passed = append(s.passed, now)
	return true
}

// queue gives a request to the worker that is free first, and returns when it is done.
func (s *Simulated) queue(now time.Duration, jitter float64) (took time.Duration, late bool) {
	first := slices.Index(s.free, slices.Min(s.free))
	begin := max(s.free[first], now)
	s.free[first] = begin + time.Duration(jitter*float64(s.Queue.Service(now)))
	return s.free[first] - now, begin-now > s.Queue.Longest
}

// Possible returns how many good answers a client has from one moment to another that knows all this, sends at most
// rate requests a second and has so many slots.
func (u Upstream) Possible(from, to time.Duration, rate float64, slots int) float64 {
	const step = 10 * time.Millisecond
	sum := 0.0
	for t := from; t < to; t += step {
		c := u.At(t)
		r := min(rate, max(c.Limit-c.Neighbour, 0), float64(slots)/c.Latency.Seconds())
		if u.Queue != nil {
			r = math.Min(r, float64(u.Queue.Workers)/u.Queue.Service(t).Seconds())
		}
		sum += r * (1 - c.Fails) * (1 - u.Broken) * step.Seconds()
	}
	return sum
}
