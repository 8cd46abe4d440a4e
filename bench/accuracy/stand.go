package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// record is a line of anivault's output.
type record struct {
	Type       string  `json:"type"`
	Status     string  `json:"status"`
	Kind       string  `json:"kind"`
	ID         int     `json:"tmdb_id"`
	Season     *int    `json:"season"`
	Episodes   []int   `json:"episodes"`
	Confidence float64 `json:"confidence"`
	Title      string  `json:"title"`
	Reason     string  `json:"reason"`
}

// outcome returns the part of a record that has to be the same in every run.
func (r record) outcome() string {
	season := "-"
	if r.Season != nil {
		season = fmt.Sprint(*r.Season)
	}
	return fmt.Sprint(r.Status, " ", r.Kind, "/", r.ID, " S", season, " E", r.Episodes)
}

// match runs anivault on names.
func (s *stand) match(rows []truth, args ...string) ([]record, error) {
	var in, out bytes.Buffer
	clean := strings.NewReplacer("\n", " ", "\r", " ")
	for _, r := range rows {
		in.WriteString(clean.Replace(r.Input))
		in.WriteByte('\n')
	}
	cmd := exec.Command(s.anivault, append(matchArgs[:len(matchArgs):len(matchArgs)], args...)...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.env(), &in, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 4 { // 4: something is pending, which offline is no failure
			return nil, err
		}
	}
	var records []record
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, err
		}
		if r.Type == "match" {
			records = append(records, r)
		}
	}
	if len(records) != len(rows) {
		return nil, fmt.Errorf("%d records for %d names", len(records), len(rows))
	}
	return records, lines.Err()
}
