// Package demo provides what `anivault demo` needs: a sample library with the awkward names of real ones
// ([MakeLibrary]), and the stand-in for TMDB on loopback, which limits and fails a little ([Start]).
package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// files are the sample library, relative to its root. Each group shows one kind of name.
var files = []string{
	// Fansub names: group, dash, checksum, versions; one group after the name.
	"Anime/Frieren/[SubsPlease] Sousou no Frieren - 01 (1080p) [8D7F2A11].mkv",
	"Anime/Frieren/[SubsPlease] Sousou no Frieren - 02 (1080p) [0C2B7E45].mkv",
	"Anime/Frieren/[SubsPlease] Sousou no Frieren - 03v2 (1080p) [77A0B3C9].mkv",
	"Anime/Frieren/[SubsPlease] Sousou no Frieren - NCOP (1080p).mkv",
	"Anime/[Kaleido] Cowboy Bebop - 05 [BD 1080p][3F11AC00].mkv",
	"Anime/[Kaleido] Cowboy Bebop - 06 [BD 1080p][91D2E7F4].mkv",
	// Titles that are, or end in, a number.
	"Anime/[Coalgirls] Mob Psycho 100 II - 03 [1080p].mkv",
	"Anime/[Coalgirls] Mob Psycho 100 II - 04 [1080p].mkv",
	// Scene names, double episodes.
	"Series/Breaking.Bad.S02E05.1080p.BluRay.x264-GRP.mkv",
	"Series/Breaking.Bad.S02E06E07.1080p.BluRay.x264-GRP.mkv",
	"Series/Attack.on.Titan.S03E13.720p.WEB.H264-GRP.mkv",
	// Everything in the folders.
	"Anime/Death Note/Season 1/05.mkv",
	"Anime/Death Note/Season 1/06.mkv",
	"Anime/Steins;Gate (2011)/Steins;Gate - S01E01 - Turning Point.mkv",
	"Anime/Steins;Gate (2011)/Steins;Gate - S01E02.mkv",
	// Sequel titles, seasons by word, absolute numbers.
	"Anime/[Erai] Boku no Hero Academia 3rd Season - 07 [1080p].mkv",
	"Anime/[Erai] Jujutsu Kaisen 2nd Season - 01 [1080p].mkv",
	"Anime/[HS] Hunter x Hunter - 137 [1080p].mkv",
	"Anime/[HS] Bleach - 366 [480p].avi",
	"Anime/Naruto/Naruto - 101-102.mkv",
	// Other scripts.
	"애니/진격의 거인 7화 1080p.mkv",
	"애니/귀멸의 칼날 2기 3화.mkv",
	"애니/장송의 프리렌.E10.240101.1080p.mkv",
	"アニメ/鋼の錬金術師 FULLMETAL ALCHEMIST 第07話.mp4",
	"アニメ/【字幕組】【ぼっち・ざ・ろっく！】【08】【1080P】.mp4",
	"アニメ/チェンソーマン 第１２話.mkv",
	// Ids in the path: nothing to search for.
	"Anime/Vinland Saga [tmdbid-88803]/Season 02/Vinland Saga - S02E10.mkv",
	"Films/Some Odd Name {tmdb-149}/film.mkv",
	// Films.
	"Films/Spirited Away (2001)/Spirited Away (2001) [1080p].mkv",
	"Films/Spirited Away (2001)/Spirited Away (2001) [1080p].ko.srt",
	"Films/Kimi no Na wa (2016).mkv",
	"Films/The.Matrix.1999.2160p.UHD.BluRay.x265-GRP.mkv",
	"Films/The.Matrix.Reloaded.2003.1080p.mkv",
	"Films/Mononoke Hime.mkv",
	"Films/Perfect.Blue.1998.mkv",
	// Files to skip, and a title that TMDB does not have.
	"Films/The.Matrix.1999.2160p.UHD.BluRay.x265-GRP/Sample/sample.mkv",
	"Anime/Cowboy Bebop Extras/Trailers/Cowboy Bebop - Trailer 1.mkv",
	"Anime/[Kaleido] Cowboy Bebop - 05.5 [BD 1080p].mkv",
	"Anime/[Nobody] Hoshi no Oto ga Kikoenai - 04 [720p].mkv",
	"Anime/.anivaultignore",
	"Anime/incoming/half a download - 01.mkv",
}

// ignore is the content of the sample's .anivaultignore.
const ignore = "# not sorted yet\nincoming/\n"

// MakeLibrary creates the sample library below root: about 40 files, all empty but the ignore file.
func MakeLibrary(root string) error {
	for _, name := range files {
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
