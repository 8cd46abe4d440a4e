//go:build unix

package redisstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// do sends a command to the server.
func (w *traffic) do(t *testing.T, words ...string) {
	t.Helper()
	_, err := w.server.Do(words...)
	must(t, err)
}

// stateKey returns the name of the key that holds the state.
func (w *traffic) stateKey() string {
	b, err := redisstore.Open(w.machines[0].options())
	if err != nil {
		panic(err)
	}
	defer b.Close()
	return b.Key("state")
}

// Whatever happens to the server, requests continue and end up with the whole rate, and the upstream's limit holds all
// the time. Each event is reported once, in its own sentence.
func TestWhateverHappensToTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*testing.T, *traffic)
		told []string // nil: who sees it is chance
	}{
		"it is killed and started again": {func(t *testing.T, w *traffic) {
			w.server.Kill()
			time.Sleep(2500 * time.Millisecond)
			must(t, w.server.Restart())
		}, []string{"coordinator_lost", "coordinator_back"}},
		"it is killed again and again": {func(t *testing.T, w *traffic) {
			times, every := 3, 1500*time.Millisecond
			if *long {
				times, every = 10, 6*time.Second // for a minute
			}
			for range times {
				w.server.Kill()
				time.Sleep(every / 4)
				must(t, w.server.Restart())
				time.Sleep(every * 3 / 4)
			}
		}, nil},
		"it is emptied": {func(t *testing.T, w *traffic) {
			w.do(t, "FLUSHALL")
		}, nil},
		"it is emptied and started again": {func(t *testing.T, w *traffic) {
			w.server.Kill()
			must(t, os.RemoveAll(filepath.Join(w.server.Dir, "appendonlydir")))
			must(t, w.server.Restart())
		}, nil},
		"it becomes a replica": {func(t *testing.T, w *traffic) {
			w.do(t, "REPLICAOF", "127.0.0.1", "1")
			time.Sleep(2500 * time.Millisecond)
			w.do(t, "REPLICAOF", "NO", "ONE")
		}, []string{"coordinator_lost", "coordinator_back"}},
		"its memory is full": {func(t *testing.T, w *traffic) {
			w.do(t, "CONFIG", "SET", "maxmemory", "1")
			time.Sleep(2500 * time.Millisecond)
			w.do(t, "CONFIG", "SET", "maxmemory", "0")
		}, []string{"coordinator_lost", "coordinator_back"}},
		"the user loses its rights": {func(t *testing.T, w *traffic) {
			w.do(t, "ACL", "SETUSER", "default", "-set", "-evalsha", "-eval")
			time.Sleep(2500 * time.Millisecond)
			w.do(t, "ACL", "SETUSER", "default", "+@all")
		}, []string{"coordinator_lost", "coordinator_back"}},
		"it stops for a while": {func(_ *testing.T, w *traffic) {
			w.server.Stop()
			time.Sleep(5 * time.Second)
			w.server.Continue()
		}, []string{"coordinator_lost", "coordinator_back"}},
		"its clients are killed": {func(t *testing.T, w *traffic) {
			for range 3 {
				w.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
				w.do(t, "CLIENT", "KILL", "TYPE", "pubsub")
				time.Sleep(500 * time.Millisecond)
			}
		}, nil},
		"its state is garbage": {func(t *testing.T, w *traffic) {
			w.do(t, "SET", w.stateKey(), strings.Repeat("?", 3000))
			w.do(t, "SET", w.stateKey(), "")
			w.do(t, "SET", w.stateKey(), strings.Repeat("x", 200<<10))
		}, nil},
		"its state is a newer version's": {func(t *testing.T, w *traffic) {
			left := func() string {
				got, err := w.server.Do("STRLEN", w.stateKey())
				must(t, err)
				return got
			}
			want := fmt.Sprintf(":%d", len(newerState))
			for range 100 { // whoever has the turn in this moment writes over it: a newer version would wait for its turn
				w.do(t, "SET", w.stateKey(), newerState)
				if time.Sleep(300 * time.Millisecond); left() == want {
					break
				}
			}
			time.Sleep(2500 * time.Millisecond)
			if got := left(); got != want {
				t.Errorf("%s bytes are left of %s", got, want)
			}
			w.do(t, "DEL", w.stateKey())
		}, []string{"state_newer"}},
		"its keys are of other kinds": {func(t *testing.T, w *traffic) {
			w.do(t, "RPUSH", "list", "a list")
			w.do(t, "RENAME", "list", w.stateKey()) // at once: between two commands a machine may write
			kind := ""
			for range 200 {
				if kind, _ = w.server.Do("TYPE", w.stateKey()); kind == "+string" {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Errorf("the state is a %s", kind)
		}, nil},
		"the network is lost and comes back": {func(_ *testing.T, w *traffic) {
			for _, m := range w.machines {
				m.proxy.SetDown(true)
			}
			time.Sleep(2500 * time.Millisecond)
			for _, m := range w.machines {
				m.proxy.SetDown(false)
			}
		}, []string{"coordinator_lost", "coordinator_back"}},
		"nothing is answered any more": {func(_ *testing.T, w *traffic) {
			for _, m := range w.machines {
				m.proxy.SetSilent(true)
			}
			time.Sleep(2500 * time.Millisecond)
			for _, m := range w.machines {
				m.proxy.SetSilent(false)
			}
		}, []string{"coordinator_lost", "coordinator_back"}},
		"the network is bad": {func(_ *testing.T, w *traffic) {
			for _, m := range w.machines {
				m.proxy.CutEvery(40)
				m.proxy.DropEvery(60)
				m.proxy.SetDelay(3 * time.Millisecond)
			}
			time.Sleep(4 * time.Second)
			for _, m := range w.machines {
				m.proxy.CutEvery(0)
				m.proxy.DropEvery(0)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 40
			if name == "the network is bad" {
				limit = 2 * calm().Ceiling // within one second all of them together, and each with its part when it is cut off
			}
			w := during(t, redistest.Start(t), limit, func(w *traffic) { c.do(t, w) })
			if c.told != nil {
				w.told(t, c.told...)
			}
		})
	}
}

// While the server is gone each machine continues with its part; one whose part was lost does not take the others'.
func TestWithoutTheServerEachMachineHasItsPart(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	server := redistest.Start(t)
	during(t, server, 40, func(w *traffic) {
		server.Kill()
		time.Sleep(1500 * time.Millisecond)
		start := time.Now()
		time.Sleep(4 * time.Second)
		n, seconds := w.upstream.since(start, ""), time.Since(start).Seconds()
		if rate := float64(n) / seconds; rate > 37 || n == 0 {
			t.Errorf("%.1f requests a second without the server", rate)
		}
		must(t, server.Restart())
	})
}

// What somebody alive knows survives a server that has lost it: nobody runs into the Retry-After that another one got.
func TestLostStateIsRestoredToTheServer(t *testing.T) {
	restore := func(t *testing.T, s *redistest.Server, old string) {
		s.Kill()
		must(t, os.RemoveAll(filepath.Join(s.Dir, "appendonlydir")))
		if old != "" {
			must(t, os.CopyFS(filepath.Join(s.Dir, "appendonlydir"), os.DirFS(old)))
		}
		must(t, s.Restart())
	}
	empty := func(t *testing.T, s *redistest.Server, _ string) {
		_, err := s.Do("FLUSHALL")
		must(t, err)
	}
	const onlyAsked = "emptied, and only asked whether requests are blocked" // as a gateway does
	for name, lose := range map[string]func(*testing.T, *redistest.Server, string){
		"emptied":                   empty,
		onlyAsked:                   empty,
		"started without its files": func(t *testing.T, s *redistest.Server, _ string) { restore(t, s, "") },
		"started from an old copy":  restore,
		"without the end of its newest file": func(t *testing.T, s *redistest.Server, _ string) {
			s.Kill()
			files, err := filepath.Glob(filepath.Join(s.Dir, "appendonlydir", "*.incr.aof"))
			must(t, err)
			info, err := os.Stat(files[len(files)-1])
			must(t, err)
			must(t, os.Truncate(files[len(files)-1], info.Size()*3/4))
			must(t, s.Restart())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			knows, other := newMachine(t, server), newMachine(t, server)
			l := knows.limiter(ratelimit.Default())
			for range 30 {
				p, err := l.Acquire(t.Context())
				must(t, err)
				p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
			}
			old := t.TempDir()
			must(t, os.CopyFS(old, os.DirFS(filepath.Join(server.Dir, "appendonlydir"))))
			var held []*ratelimit.Permit
			for range 2 {
				p, err := l.Acquire(t.Context())
				must(t, err)
				held = append(held, p)
			}
			pause := ratelimit.Wait{Duration: time.Hour, Present: true}
			held[0].Report(ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: pause})
			lose(t, server, old)
			// Whoever knows more brings it back at its next update, whatever that is.
			ask := func() error { _, err := l.Acquire(t.Context()); return err }
			if name == onlyAsked {
				ask = func() error { return l.Blocked(t.Context()) }
			}
			for range 100 {
				err := ask()
				if _, blocked := errors.AsType[*ratelimit.BlockedError](err); !blocked {
					t.Fatalf("acquire = %v, want blocked", err)
				}
				if slices.Contains(knows.events.kinds(), "coordinator_state_lost") {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			_, err := other.limiter(ratelimit.Default()).Acquire(t.Context())
			blocked, ok := errors.AsType[*ratelimit.BlockedError](err)
			if !ok || time.Until(blocked.Until) < 50*time.Minute {
				t.Errorf("another machine's acquire = %v, want blocked for an hour", err)
			}
			if st, err := l.Status(t.Context()); err != nil || st.Running != 1 {
				t.Errorf("%d permits are out, %v; want the one that is", st.Running, err)
			}
			held[1].Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
			if got := knows.events.kinds(); !slices.Contains(got, "coordinator_state_lost") {
				t.Errorf("warned of %v", got)
			}
		})
	}
}

// A proxy that cuts connections is no lost server: each is opened again at once, and nobody owes the others silence.
func TestRedisConnectionsThatAreCutCostLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	const cuts, every = 16, 500 * time.Millisecond
	during(t, redistest.Start(t), 40, func(w *traffic) {
		start := time.Now()
		for range cuts {
			w.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			w.do(t, "CLIENT", "KILL", "TYPE", "pubsub")
			time.Sleep(every)
		}
		sent, possible := w.upstream.since(start, ""), calm().RateBase*time.Since(start).Seconds()
		if share := float64(sent) / possible; share < 0.5 {
			t.Errorf("%d requests, %.0f %% of the rate", sent, 100*share)
		}
		for _, m := range w.machines {
			t.Log(sent, possible, m.events.kinds())
		}
	})
}
