// Command gateway measures what a gateway costs and keeps: one scene a question, each with its goal.
//
//	go run -C bench ./gateway [-only cost,latency,waiting,clients,greedy,beside,reloads] [-rounds 5] [-for 30s] [-bin FILE]
//
// Costs are processor time by the operating system's accounts, beside nginx's proxy_cache (where it is installed), a bare Go
// handler and a bare httputil.ReverseProxy, in turns within one run: the servers on one core, the load on the others.
// It runs on Linux alone, where /proc has the accounts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/bench/kit"
)

// trial is one run of this program.
type trial struct {
	bin, dir string
	rounds   int
	requests int
	length   time.Duration
}

// scenes are what can be measured, in order.
var scenes = []struct {
	name string
	run  func(*trial, context.Context) error
}{
	{"cost", (*trial).cost},
	{"latency", (*trial).latency},
	{"waiting", (*trial).waiting},
	{"clients", (*trial).clients},
	{"greedy", (*trial).greedy},
	{"beside", (*trial).beside},
	{"reloads", (*trial).reloads},
}

func main() {
	var t trial
	flag.IntVar(&t.rounds, "rounds", 5, "rounds; the median is told")
	flag.IntVar(&t.requests, "requests", 6000, "cached requests a round and server")
	flag.DurationVar(&t.length, "for", 30*time.Second, "length of a scene with a rate")
	flag.StringVar(&t.bin, "bin", "", "anivault to measure; built if empty")
	only := flag.String("only", "", "scenes to measure, with commas (default: all)")
	role := flag.String("role", "", "serve as a peer: bare or proxy")
	target := flag.String("target", "", "upstream of the proxy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *role != "" {
		err = bePeer(*role, *target)
	} else {
		err = t.run(ctx, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func (t *trial) run(ctx context.Context, only string) (err error) {
	if t.dir, err = os.MkdirTemp("", "anivault-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	if t.bin, err = kit.Anivault(ctx, t.dir, t.bin); err != nil {
		return err
	}
	fmt.Println(kit.Machine())
	stayOff(ctx)
	for _, s := range scenes {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		fmt.Printf("\n%s\n", s.name)
		if err := s.run(t, ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Printf("\n(load at the end: %s)\n", kit.Load())
	return nil
}

// home makes the home of a gateway's user, with a config file.
func (t *trial) home(name, yaml string) (string, error) {
	home := filepath.Join(t.dir, name)
	dir := filepath.Join(home, ".config", "anivault")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return home, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(yaml), 0o600)
}
