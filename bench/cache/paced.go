package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/tmdb"
)

// times are how long the puts and gets of a process took, in nanoseconds.
type times struct{ Puts, Gets []int64 }

// paced prints what a put and a get take while n processes put answers at a rate that the limiter would allow.
func paced(n, rate, size int, during time.Duration) error {
	base, err := os.MkdirTemp("", "anivault-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "cache")
	if err := fill(dir, size, nil); err != nil {
		return err
	}
	every := time.Duration(n) * time.Second / time.Duration(rate)
	outputs := make([]*json.Decoder, n)
	for i := range outputs {
		cmd := exec.Command(os.Args[0], "paced", dir, strconv.Itoa(i), every.String(), during.String())
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }() // it has ended, unless an error ends the run
		outputs[i] = json.NewDecoder(out)
	}
	var all times
	for _, out := range outputs {
		var t times
		if err := out.Decode(&t); err != nil {
			return fmt.Errorf("a worker returned nothing: %w", err)
		}
		all.Puts, all.Gets = append(all.Puts, t.Puts...), append(all.Gets, t.Gets...)
	}
	fmt.Printf("%s\n%d processes, %d puts a second in all, %d MB; milliseconds\n\n", kit.Machine(), n, rate, size)
	for name, list := range map[string][]int64{"put": all.Puts, "get": all.Gets} {
		fmt.Printf("%s  p50 %6.2f  p99 %6.2f  of %d\n", name,
			float64(kit.Quantile(list, .5))/1e6, float64(kit.Quantile(list, .99))/1e6, len(list))
	}
	return nil
}

// pacedWorker is one of the processes: it gets four answers before each put.
func pacedWorker(ctx context.Context, args []string) error {
	every, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	during, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	s, err := cache.Open(args[0], cache.Options{
		Class: tmdb.ClassOf, OnWarning: func(w cache.Warning) { fmt.Fprintln(os.Stderr, w) },
	})
	if err != nil {
		return err
	}
	var t times
	time.Sleep(time.Duration(rand.Int64N(int64(every)))) // so that they don't go in step
	end := time.Now().Add(during)
	for i := 0; time.Now().Before(end); i++ {
		for range 4 {
			begin := time.Now()
			key, _ := cache.ParseKey(fmt.Sprintf("http://filler/3/tv/%d", rand.IntN(1000)))
			if _, ok, err := s.Get(ctx, key); err != nil || !ok {
				return fmt.Errorf("get %s: %v, %w", key, ok, err)
			}
			t.Gets = append(t.Gets, int64(time.Since(begin)))
		}
		key, _ := cache.ParseKey(fmt.Sprintf("http://api/3/tv/%s%d", args[1], i))
		now := time.Now()
		e := &cache.Entry{Key: key, Status: 200, Body: body(), FetchedAt: now, ExpiresAt: now.Add(time.Hour)}
		if err := s.Put(ctx, e); err != nil && !errors.Is(err, cache.ErrPending) {
			return err
		}
		took := time.Since(now)
		t.Puts = append(t.Puts, int64(took))
		time.Sleep(every - took)
	}
	if err := s.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}
