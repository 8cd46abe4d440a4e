package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// process is a worker: a process of its own on a machine, which sends until its input ends.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

// start starts a worker: kind is redis or file, work is send or hold, at is the server's address.
func start(ctx context.Context, kind, work, at, dir, url string, callers int) (*process, error) {
	cmd := exec.CommandContext(ctx, os.Args[0], "worker", kind, work, at, dir, url, strconv.Itoa(callers))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &process{cmd, stdin, bufio.NewReader(out)}, cmd.Start()
}

// end lets a worker finish and returns what it says of itself: permits and round trips.
func (p *process) end() (permits, trips int64, err error) {
	p.stdin.Close()
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, 0, errors.Join(err, p.cmd.Wait())
	}
	_, err = fmt.Sscan(line, &permits, &trips)
	return permits, trips, errors.Join(err, p.cmd.Wait())
}

// openStore opens the store of one process.
func openStore(kind, at, dir string) (*redisstore.Store, *redisstore.Backend, error) {
	file, err := ratelimit.OpenFileStore(filepath.Join(dir, "state"), ratelimit.FileOptions{})
	if kind == "file" || err != nil {
		return file, nil, err
	}
	address, err := redisstore.ParseAddress("redis://" + at)
	if err != nil {
		return nil, nil, err
	}
	backend, err := redisstore.Open(redisstore.Options{Address: address, Upstream: "bench", Dir: dir})
	if err != nil {
		return nil, nil, err
	}
	return redisstore.NewStore(backend, redisstore.StoreOptions{Place: at, Fallback: file}), backend, nil
}

// work is the worker.
func work(args []string) error {
	kind, what, at, dir, url := args[0], args[1], args[2], args[3], args[4]
	callers, err := strconv.Atoi(args[5])
	if err != nil {
		return err
	}
	store, backend, err := openStore(kind, at, dir)
	if err != nil {
		return err
	}
	defer store.Close()
	tuning := ratelimit.Default()
	if what == "hold" {
		tuning.Concurrency, tuning.ConcurrencyTotal = callers, callers
	}
	limiter, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: tuning})
	if err != nil {
		return err
	}
	if what == "hold" {
		for range callers {
			if _, err := limiter.Acquire(context.Background()); err != nil {
				return err
			}
		}
		fmt.Println("holding")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var permits counter
	client := &http.Client{Transport: &ratelimit.Transport{
		Limiter: limiter, Base: &http.Transport{MaxIdleConnsPerHost: callers}, Classify: permits.classify,
	}}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if err != nil {
					panic(err)
				}
				if resp, err := client.Do(req); err == nil {
					resp.Body.Close()
				} else if ctx.Err() == nil && !strings.Contains(err.Error(), "blocked") {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	trips := int64(0)
	if backend != nil {
		trips = backend.RoundTrips()
	}
	fmt.Println(permits.n.Load(), trips)
	return limiter.Close()
}
