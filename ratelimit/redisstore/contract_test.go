//go:build unix

package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

func stopSelf() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }

// No update is lost and none is made twice: each process counts its own updates in the shared value, and finds at each
// what it had acknowledged before.
func TestEveryUpdateCountsOnce(t *testing.T) {
	processes, updates := 16, 30000
	if testing.Short() {
		updates = 3000
	}
	if *long {
		updates = 1_000_000
	}
	for name, c := range map[string]struct {
		updates int
		stop    int // every so many updates a process stops itself in one
		bad     func(*testing.T, []*machine, []*worker, func(int))
	}{
		"undisturbed":           {updates: updates},
		"stopped with the turn": {updates: updates / 20, stop: 40, bad: wakeStopped},
		"killed":                {updates: updates / 6, bad: killSome},
		"over a bad network": {updates: updates / 60, bad: func(_ *testing.T, machines []*machine, _ []*worker, _ func(int)) {
			for i, m := range machines {
				m.proxy.CutEvery(20 + 3*i)
				m.proxy.DropEvery(70 + 5*i)
				m.proxy.SetDelay(time.Duration(i) * time.Millisecond)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			var machines []*machine
			for range 4 {
				machines = append(machines, newMachine(t, server))
			}
			each := c.updates / processes
			workers := make([]*worker, processes)
			start := func(i int) {
				workers[i] = startWorker(t, machines[i%4], "count", fmt.Sprintf("w%d", i), strconv.Itoa(each), strconv.Itoa(c.stop))
			}
			for i := range workers {
				start(i)
			}
			fences := watchFences(t, server, machines[0])
			if c.bad != nil {
				c.bad(t, machines, workers, start)
			}
			for i := range workers {
				if got, want := workers[i].line(t), fmt.Sprintf("done w%d %d", i, each); got != want {
					t.Errorf("worker %d says %q, want %q", i, got, want)
				}
			}
			fences()
			for _, m := range machines {
				m.proxy.CutEvery(0)
				m.proxy.DropEvery(0)
			}
			b, err := redisstore.Open(machines[0].options())
			must(t, err)
			defer b.Close()
			sum := 0
			must(t, b.Exchange(t.Context(), func(_ ratelimit.Instant, old []byte) ([]byte, error) {
				sum = 0
				for _, n := range parseCounts(old) {
					sum += n
				}
				return nil, nil
			}))
			if sum != each*processes {
				t.Errorf("the sum is %d, want %d", sum, each*processes)
			}
		})
	}
}

// wakeStopped continues processes that have stopped themselves, after a second, as long as there are any.
func wakeStopped(t *testing.T, _ []*machine, workers []*worker, _ func(int)) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			for _, w := range workers {
				_ = w.cmd.Process.Signal(syscall.SIGCONT)
			}
		}
	}()
}

// killSome kills processes again and again, and starts them anew.
func killSome(t *testing.T, _ []*machine, workers []*worker, start func(int)) {
	rounds := 5
	if *long {
		rounds = 20
	}
	for range rounds {
		time.Sleep(200 * time.Millisecond)
		for range 4 {
			i := rand.IntN(len(workers))
			workers[i].kill()
			start(i)
		}
	}
}

// watchFences looks at the fence of the turn until the returned function is called: it never goes down.
func watchFences(t *testing.T, server *redistest.Server, m *machine) (stop func()) {
	b, err := redisstore.Open(m.options())
	must(t, err)
	key := b.Key("turn")
	must(t, b.Close())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		last := ""
		for ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
			fence, err := server.Do("HGET", key, "fence")
			if err != nil {
				t.Error(err)
				return
			}
			if len(fence) < len(last) || len(fence) == len(last) && strings.Compare(fence, last) < 0 {
				t.Errorf("fence %s after %s", fence, last)
			}
			last = fence
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
