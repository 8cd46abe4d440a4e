// Package demo has the parts of `anivault demo`: a sample library with typical difficult file names ([MakeLibrary]),
// and a fake TMDB server on loopback that limits requests and sometimes fails ([Start]).
package demo

import (
	_ "embed" // for the library and the faults
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

//go:embed library.txt
var libraryText string

// ignoreFile is the content of .anivaultignore in the sample library.
const ignoreFile = "# not sorted yet\nincoming/\n"

// MakeLibrary creates the sample library in root: about 40 files, all empty except the ignore file.
func MakeLibrary(root string) error {
	for name := range strings.Lines(libraryText) {
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

// faultsJSON is the server's scenario: it refuses a few requests below the limit, fails once, and resets one
// connection. TMDB has done all of these.
//
//go:embed faults.json
var faultsJSON string

// Start starts a server on loopback. It allows 40 requests per second, as TMDB documents, and fails according to the
// demo's scenario. The caller must close it.
func Start() (*tmdbfake.Server, error) {
	limits, err := upstream.ParseLimits("sliding:40/1s")
	if err != nil {
		return nil, err
	}
	scenario, err := upstream.ReadScenario(strings.NewReader(faultsJSON))
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
	return server, nil
}
