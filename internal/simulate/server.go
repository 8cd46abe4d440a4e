package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// epoch is when every simulation begins: on a full hour, so that calendar windows begin with it.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// client is the address that all processes share.
var client = upstream.Request{IP: "192.0.2.1"}

// server is the simulated upstream. The same seed, moments and order give the same answers.
type server struct {
	behaviour *upstream.Behaviour
	latency   upstream.Latency
	chance    *rand.Rand // of latencies
}

// answer is what becomes of one request.
type answer struct {
	status  int           // 0: no answer
	latency time.Duration // never, if there is no answer and no reset
	header  http.Header   // nil: nothing of interest
	foreign bool          // the status is good, the page another server's
}

// never is the latency of an answer that does not come.
const never = time.Duration(math.MaxInt64)

func newServer(c *Config) (*server, error) {
	if err := Check(c.Scenario); err != nil {
		return nil, err
	}
	if err := c.Latency.Validate(); err != nil {
		return nil, err
	}
	b, err := upstream.New(c.Limits, c.Seed)
	if err != nil {
		return nil, err
	}
	if err := b.Apply(c.Scenario, epoch); err != nil {
		return nil, err
	}
	return &server{b, c.Latency, rand.New(rand.NewPCG(c.Seed, 1))}, nil //nolint:gosec // it has to be the same every time
}

// answer decides on a request that arrives at a moment, counted from the beginning.
func (s *server) answer(at time.Duration) answer {
	now := epoch.Add(at)
	a := answer{status: http.StatusOK, latency: s.behaviour.Slow(now, s.latency.At(s.chance.Float64()))}
	if ok, wait := s.behaviour.Allow(now, client.IP); !ok {
		a.status, a.header = http.StatusTooManyRequests, retryAfter(s.behaviour.Limits().RetryAfter, now, wait)
		return a
	}
	for _, action := range s.behaviour.Strikes(upstream.BeforeAnswer, now, client) {
		switch action.Kind {
		case "delay":
			a.latency += time.Duration(action.Delay)
			continue
		case "status":
			a.status, a.foreign = action.Status, action.Foreign()
			a.header = retryAfter(action.RetryAfter, now, time.Duration(action.Wait))
		case "reset", "close":
			a.status = 0
		case "silent":
			a.status, a.latency = 0, never
		}
		return a // by the first rule that is no delay
	}
	return a
}

func retryAfter(mode string, now time.Time, wait time.Duration) http.Header {
	h := http.Header{}
	upstream.SetRetryAfter(h, mode, now, wait, 0)
	if len(h) == 0 {
		return nil
	}
	h.Set("Date", now.Format(http.TimeFormat))
	return h
}

// Check reports the first fault of a scenario that can't be simulated: in virtual time there are neither paths nor
// bodies nor connections without a request.
func Check(s upstream.Scenario) error {
	for i, f := range s.Faults {
		if err := check(f); err != nil {
			return fmt.Errorf("scenario: fault %d: %w", i+1, err)
		}
	}
	return nil
}

func check(f upstream.Fault) error {
	if f.Match.Path != "" || f.Match.Query != nil || f.Match.IP != "" || f.Match.Share != 0 {
		return fmt.Errorf("%s for some requests only can't be simulated", f.Do.Kind)
	}
	switch f.Do.Kind {
	case "limit", "slow", "reset", "close", "silent", "delay":
		return nil
	case "status":
		if f.Do.Status == http.StatusUnauthorized || f.Do.Status == http.StatusForbidden {
			return fmt.Errorf("status %d ends a run at once, there is nothing to simulate", f.Do.Status)
		}
		return nil
	default:
		return fmt.Errorf("%s can't be simulated: use status, limit, slow, reset, close, silent or delay", f.Do.Kind)
	}
}

// Presets returns the names of the scenarios that can be simulated, sorted.
func Presets() []string {
	var names []string
	for _, name := range upstream.Presets() {
		if s, err := upstream.Preset(name); err == nil && Check(s) == nil {
			names = append(names, name)
		}
	}
	return names
}
