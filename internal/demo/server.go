package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// script is what goes wrong during the demo: the stand-in refuses a few requests below the limit, fails once, and
// resets one connection. TMDB has done all of it.
const script = `{
  "name": "demo",
  "faults": [
    {"match": {"nth": "9-14"}, "do": {"kind": "status", "status": 429, "code": 25, "retry_after": "1"}},
    {"match": {"nth": 24}, "do": {"kind": "status", "status": 503, "code": 9}},
    {"match": {"nth": 30}, "do": {"kind": "reset"}}
  ]
}`

// Server is the running stand-in.
type Server struct {
	fake   *tmdbfake.Fake
	server *tmdbfake.Server
}

// Start serves the authored catalogue on loopback: at most 40 requests a second, as TMDB's documents say,
// with the faults of the demo. Close ends it.
func Start() (*Server, error) {
	limits, err := upstream.ParseLimits("sliding:40/1s")
	if err != nil {
		return nil, err
	}
	scenario, err := upstream.ReadScenario(strings.NewReader(script))
	if err != nil {
		return nil, err
	}
	fake, err := tmdbfake.New(tmdbfake.Config{
		Seed: 1, Limits: limits, Scenario: scenario,
		Latency: upstream.Latency{Min: 20 * time.Millisecond, Max: 60 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the stand-in: %w", err)
	}
	return &Server{fake, server}, nil
}

// URL is the stand-in's base URL.
func (s *Server) URL() string { return s.server.URL() }

// Close stops the stand-in.
func (s *Server) Close() error { return s.server.Close() }
