// Package demo has the parts of `anivault demo`: a sample library with typical difficult file names ([MakeLibrary]),
// and a fake TMDB server on loopback that limits requests and sometimes fails ([Start]).
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

// ignoreFile is the content of .anivaultignore in the sample library.
const ignoreFile = "# not sorted yet\nincoming/\n"

// MakeLibrary creates the sample library in root: about 40 files, all empty except the ignore file.
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
			content = ignoreFile
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("make sample library: %w", err)
		}
	}
	return nil
}

// faults is the scenario of the server: it refuses a few requests below the limit, fails once, and resets one
// connection. All of these have happened with TMDB.
//
//go:embed faults.json
var faults string

// Server is a running fake of TMDB.
type Server struct {
	fake   *tmdbfake.Fake
	server *tmdbfake.Server
}

// Start starts a server on loopback that allows 40 requests a second, as TMDB documents, and fails as the demo's
// scenario says. The caller must close it.
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

// URL returns the base URL of the server.
func (s *Server) URL() string { return s.server.URL() }

// Close stops the server.
func (s *Server) Close() error { return s.server.Close() }
