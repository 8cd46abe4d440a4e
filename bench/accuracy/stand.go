package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/anivault/anivault/bench/kit"
)

// matchArgs make anivault answer one record per name.
var matchArgs = []string{"match", "--quiet", "--names-from", "-", "--format", "ndjson"}

// stand is a running stand-in for TMDB.
type stand struct {
	api, admin string
	bench      *bench
	stop       func()
}

// stand starts a stand-in with the evaluation's catalogue; args choose the model of TMDB.
func (b *bench) stand(args ...string) (*stand, error) {
	dir, err := os.MkdirTemp(b.tmp, "stand-")
	if err != nil {
		return nil, err
	}
	addresses := filepath.Join(dir, "addresses")
	ctx, cancel := context.WithCancel(context.Background())
	fake := exec.CommandContext(ctx, b.tmdbfake,
		append([]string{"--addr-file", addresses, "--catalog", b.catalogue()}, args...)...)
	fake.Stderr = os.Stderr
	if err := fake.Start(); err != nil {
		cancel()
		return nil, err
	}
	s := &stand{bench: b, stop: func() { cancel(); _ = fake.Wait() }}
	for range 300 {
		if raw, err := os.ReadFile(addresses); err == nil {
			if lines := strings.Fields(string(raw)); len(lines) == 2 {
				s.api, s.admin = lines[0], lines[1]
				return s, nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.stop()
	return nil, errors.New("the stand-in did not start")
}

// user is somebody with a cache, and perhaps a title index, of their own.
type user struct {
	*stand
	home string
	data string // the data folder with the index; "": none
}

// user returns a user whose cache is empty.
func (s *stand) user(data string) (user, error) {
	home, err := os.MkdirTemp(s.bench.tmp, "home-")
	return user{s, home, data}, err
}

func (u user) env() []string {
	env := append(kit.Env(u.home, "http://"+u.api), "ANIVAULT_RATE_BASE=400", "ANIVAULT_CEILING=400",
		"ANIVAULT_CONCURRENCY=8")
	if u.data != "" {
		env = append(env, "ANIVAULT_DATA_DIR="+u.data)
	}
	return env
}

func (b *bench) catalogue() string { return filepath.Join(b.eval, "catalog_dev.jsonl") }
