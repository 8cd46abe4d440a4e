package app

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
)

// StateDir is the folder of the limiter's state for the configured upstream. TMDB's own lies in the state
// folder itself; a stand-in's or a proxy's in a folder below it that is named after its address, so that its
// trouble never puts the real API to sleep.
func StateDir(cfg *config.Config) string {
	u := cfg.TMDB.BaseURL
	if u.Scheme == "https" && u.Host == "api.themoviedb.org" {
		return cfg.Dirs.State
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(u.Scheme+"_"+u.Host))
	return filepath.Join(cfg.Dirs.State, name)
}

// OpenState opens what the limiter shares: a file for all processes of the user, a coordinator for several machines, or
// this process's memory. patience is how long it waits for the file before it goes on alone; 0: as a run does. The
// caller calls done in the end.
func OpenState(
	cfg *config.Config, patience time.Duration, warn func(error),
) (store ratelimit.Store, done func() error, err error) {
	switch cfg.Coordinator {
	case "memory":
		return ratelimit.NewMemoryStore(), func() error { return nil }, nil
	case "redis":
		return openCoordinator(cfg, warn)
	}
	file, err := ratelimit.OpenFileStore(StateDir(cfg), ratelimit.FileOptions{
		Processes: cfg.Tuning.Processes, Patience: patience, OnWarning: func(err error) { warn(withRemedy(err)) },
	})
	if err != nil {
		return nil, nil, err
	}
	return file, file.Close, nil
}

// withRemedy adds to a warning of the limiter's state what the user can do.
func withRemedy(err error) error {
	w, ok := errors.AsType[*ratelimit.StoreWarning](err)
	switch {
	case ok && w.Event == "state_newer":
		return lang.Error("%w; update anivault", err)
	case ok && w.Event == "state_shared":
		return lang.Error("%w; give each machine an ANIVAULT_STATE_DIR of its own, and for one limit on all of them "+
			"ANIVAULT_COORDINATOR=redis://... (docs/several-machines.md)", err)
	}
	return err
}

// OpenCache opens the cache that processes share. memory bounds the answers that are kept in memory, in bytes.
func OpenCache(cfg *config.Config, memory int64, warn func(error)) (*cache.Store, error) {
	return cache.Open(cfg.Dirs.Cache, cache.Options{
		MaxSize: cfg.Cache.MaxSize, Memory: memory, OnWarning: func(w cache.Warning) { warn(w) },
	})
}

// ReadCacheStats looks at the cache without taking part in it.
func ReadCacheStats(ctx context.Context, cfg *config.Config) (cache.Stats, error) {
	store, err := OpenCache(cfg, 0, func(error) {})
	if err != nil {
		return cache.Stats{}, err
	}
	s, err := store.Stats(ctx)
	return s, errors.Join(err, store.Close())
}
