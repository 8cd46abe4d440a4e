// Package demo provides what `anivault demo` needs: a sample library with the awkward names of real ones
// ([MakeLibrary]), and the stand-in for TMDB on loopback, which limits and fails a little ([Start]).
package demo

import (
	_ "embed" // the library and the faults
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

//go:embed library.txt
var library string

// ignore is the content of the sample's .anivaultignore.
const ignore = "# not sorted yet\nincoming/\n"

// MakeLibrary creates the sample library below root: about 40 files, all empty but the ignore file.
func MakeLibrary(root string) error {
	for name := range strings.Lines(library) {
		if name = strings.TrimSpace(name); name == "" || name[0] == '#' {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("make sample library: %w", err)
		}
		content := ""
		if filepath.Base(path) == ".anivaultignore" {
			content = ignore
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("make sample library: %w", err)
		}
	}
	return nil
}

// faults are what goes wrong: the stand-in refuses a few requests below the limit, fails once, and resets one
// connection. TMDB has done all of it.
//
//go:embed faults.json
var faults string

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
	scenario, err := upstream.ReadScenario(strings.NewReader(faults))
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
