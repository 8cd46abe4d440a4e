package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/shared"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// TestMain lets the test program be a worker as well: a process of its own that tests can kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := beWorker(os.Args[2:]); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// worker is a process that runs beWorker.
type worker struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func startWorker(t testing.TB, m *machine, args ...string) *worker {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"worker", m.proxy.Addr, m.dir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	w := &worker{cmd: cmd, out: bufio.NewReader(out)}
	t.Cleanup(w.kill)
	return w
}

// line returns the next line that the worker prints.
func (w *worker) line(t testing.TB) string {
	t.Helper()
	line, err := w.out.ReadString('\n')
	if err != nil && err != io.EOF {
		t.Error(err)
	}
	return strings.TrimSpace(line)
}

func (w *worker) kill() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}

// beWorker does what its arguments say: address, folder, then
//
//	hold N                 takes N permits, says so and keeps them
//	count NAME N STOP      adds N times one to the count of its name; every STOP times it stops itself in an update
func beWorker(args []string) error {
	addr, err := redisstore.ParseAddress("redis://" + args[0])
	if err != nil {
		return err
	}
	b, err := redisstore.Open(redisstore.Options{Address: addr, Upstream: "test", Dir: args[1]})
	if err != nil {
		return err
	}
	defer b.Close()
	n, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		return err
	}
	switch args[2] {
	case "hold":
		st := shared.New(b, shared.Options{})
		l, err := ratelimit.New(ratelimit.Config{
			Store: st, Tuning: ratelimit.Tuning{Concurrency: n, ConcurrencyTotal: n, MaxWait: time.Second},
		})
		if err != nil {
			return err
		}
		for !hold(l, st, n) { // on a busy machine it may be alone for a moment, and then nobody knows about its permits
		}
		fmt.Println("holding")
		select {}
	case "count":
		times, err := strconv.Atoi(args[4])
		if err != nil {
			return err
		}
		return count(b, args[3], times, n)
	}
	return fmt.Errorf("unknown work %q", args[2])
}

// hold takes n permits, and gives them back if the shared state does not have all of them.
func hold(l *ratelimit.Limiter, store *shared.Store, n int) bool {
	var held []*ratelimit.Permit
	for range n {
		if p, err := l.Acquire(context.Background()); err == nil {
			held = append(held, p)
		}
	}
	st, err := l.Status(context.Background())
	if err == nil && store.IsolationCause() == nil && len(held) == n && st.Running == n {
		return true
	}
	for _, p := range held {
		p.Report(ratelimit.Event{})
	}
	return false
}

// count adds one to the count of a name until it is times. What was acknowledged must be there at the next update, and
// nothing that was not asked for.
func count(b *redisstore.Backend, name string, times, stop int) error {
	known, sure := 0, false // of this name's count
	for i := 0; ; i++ {
		var wrong error
		calls, now, done := 0, 0, false
		err := b.Exchange(context.Background(), func(_ ratelimit.Instant, old []byte) ([]byte, error) {
			counts := parseCounts(old)
			now, wrong = counts[name], nil
			switch {
			case i > 0 && sure && now != known, i > 0 && !sure && now != known && now != known+1:
				wrong = fmt.Errorf("%s: the count is %d after %d (sure: %t)", name, now, known, sure)
			}
			if calls++; calls == 2 && stop > 0 && i%stop == stop-1 {
				stopSelf() // with the turn, mostly
			}
			if done = now >= times; done {
				return nil, nil
			}
			counts[name]++
			return formatCounts(counts), nil
		})
		switch {
		case wrong != nil:
			return wrong
		case done && err == nil:
			fmt.Println("done", name, now)
			return nil
		case err == nil:
			known, sure = now+1, true
		case now > 0 || i > 0: // it may be written or not
			if now >= known {
				known = now
			}
			sure = false
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func parseCounts(b []byte) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(string(b)) {
		var name string
		var n int
		if _, err := fmt.Sscan(line, &name, &n); err == nil {
			counts[name] = n
		}
	}
	return counts
}

func formatCounts(counts map[string]int) []byte {
	var b strings.Builder
	for name, n := range counts {
		fmt.Fprintln(&b, name, n)
	}
	return []byte(b.String())
}
