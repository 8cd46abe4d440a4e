package virtual

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/internal/upstream"
)

// Scripted is an upstream that does what the stand-in of the real processes does: the same scenario, seed and stages.
type Scripted struct {
	latency upstream.Latency
	seed    uint64

	mu        sync.Mutex
	start     time.Time
	behaviour *upstream.Behaviour
	answered  int
	seen      []Request
}

// anyone is the client of every request.
var anyone = upstream.Request{IP: "192.0.2.1"}

// NewScripted returns a server whose scenario begins now. It has to be made in virtual time.
func NewScripted(s upstream.Scenario, l upstream.Limits, latency upstream.Latency, seed uint64) (*Scripted, error) {
	b, err := upstream.New(l, seed)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &Scripted{latency: latency, seed: seed, start: now, behaviour: b}, b.Apply(s, now)
}

// Seen implements Server.
func (s *Scripted) Seen() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// RoundTrip implements http.RoundTripper.
func (s *Scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	seq, took, allowed := s.begin(req)
	if !allowed {
		return Response(req, http.StatusTooManyRequests, "")
	}
	if err := peers.Sleep(req.Context(), took); err != nil {
		return nil, err
	}
	return Response(req, s.end(seq), "")
}

// begin asks the limits. It returns the request's number and the latency of its answer.
func (s *Scripted) begin(req *http.Request) (seq int, took time.Duration, allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	allowed, _ = s.behaviour.Allow(now, anyone.IP)
	s.answered++
	took = s.behaviour.SlowedLatency(now, s.latency.Nth(s.seed, s.answered))
	process, _ := strconv.Atoi(req.Header.Get(ProcessHeader))
	s.seen = append(s.seen, Request{At: now.Sub(s.start), Took: took, Process: process, Refused: !allowed, Good: allowed})
	return len(s.seen) - 1, took, allowed
}

// end returns the status of an answer that is due now; 0: the connection breaks.
func (s *Scripted) end(seq int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.behaviour.ActionsFor(upstream.BeforeAnswer, time.Now(), anyone) {
		if a.Fails() {
			s.seen[seq].Good = false
			return a.Status
		}
	}
	return http.StatusOK
}
