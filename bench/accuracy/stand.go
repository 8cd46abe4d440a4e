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

// stand is a running stand-in, and the home of a user whose cache is empty.
type stand struct {
	api, admin string
	home       string
	anivault   string
	stop       func()
}

// stand starts a stand-in with a catalogue.
func (b *bench) stand(catalogue, rank string) (*stand, error) {
	home, err := os.MkdirTemp(b.tmp, "home-")
	if err != nil {
		return nil, err
	}
	addresses := filepath.Join(home, "addresses")
	ctx, cancel := context.WithCancel(context.Background())
	fake := exec.CommandContext(ctx, b.tmdbfake, "--addr-file", addresses, "--catalog", catalogue, "--rank", rank)
	fake.Stderr = os.Stderr
	if err := fake.Start(); err != nil {
		cancel()
		return nil, err
	}
	s := &stand{home: home, anivault: b.anivault, stop: func() { cancel(); _ = fake.Wait() }}
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

func (s *stand) env() []string {
	return append(kit.Env(s.home, "http://"+s.api),
		"ANIVAULT_RATE_BASE=400", "ANIVAULT_CEILING=400", "ANIVAULT_CONCURRENCY=8")
}

// requests returns the number of requests to the stand-in.
func (s *stand) requests() (int, error) {
	list, err := s.journal()
	return len(list), err
}
