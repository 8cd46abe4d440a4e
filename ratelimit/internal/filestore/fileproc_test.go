package filestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// The tests of this file use real processes: the test binary runs itself with
// childRole set and plays that role until its standard input ends.

const (
	childRole = "ANIVAULT_TEST_ROLE"
	childDir  = "ANIVAULT_TEST_DIR"
	childArg  = "ANIVAULT_TEST_ARG"
)

var roles = map[string]func(dir, arg string) error{
	"grants": playGrants, "keeper": playKeeper, "holder": playHolder, "writer": playWriter,
}

func TestMain(m *testing.M) {
	if play := roles[os.Getenv(childRole)]; play != nil {
		if err := play(os.Getenv(childDir), os.Getenv(childArg)); err != nil {
			fmt.Fprintln(os.Stderr, os.Getenv(childRole)+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is a process that plays a role.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T, role, dir, arg string) *child {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir, childArg+"="+arg)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	c := &child{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	return c
}

// expect waits for a line of the child's output.
func (c *child) expect(want string) {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the child has ended; want %q", want)
	}
	if got := c.out.Text(); got != want {
		c.t.Fatalf("the child says %q, want %q", got, want)
	}
}

// wait lets the child end by itself.
func (c *child) wait() {
	c.t.Helper()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("child: %v", err)
	}
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// say prints a line for expect.
func say(s string) { fmt.Println(s) }

// untilParentEnds waits for the end of standard input.
func untilParentEnds() { _, _ = io.Copy(io.Discard, os.Stdin) }

// fastTuning is quick, and its burst and rate together exceed the ceiling.
func fastTuning() ratelimit.Tuning {
	t := ratelimit.Default()
	t.RateBase, t.BucketCap, t.Ceiling, t.CeilingWindow = 100, 40, 110, time.Second
	t.Concurrency, t.ConcurrencyTotal = 4, 16
	t.RequestTimeout = 10 * time.Minute // no lease ends by itself
	return t
}

// grantLog is a store that notes the time of each grant since boot.
type grantLog struct {
	*shared.Store
	file *os.File
}

func openGrantLog(dir string, now func() ratelimit.Instant) (*grantLog, error) {
	st, err := filestore.Open(dir, filestore.Options{Now: now, OnWarning: func(error) {}})
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "grants-"+st.Owner()), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &grantLog{st, f}, err
}

func (g *grantLog) Update(ctx context.Context, fn func(ratelimit.Instant, *ratelimit.Snapshot) error) error {
	var granted time.Duration
	err := g.Store.Update(ctx, func(now ratelimit.Instant, s *ratelimit.Snapshot) error {
		granted = 0 // of an earlier call, which does not count
		before := grantedIn(now, s)
		if err := fn(now, s); err != nil {
			return err
		}
		if grantedIn(now, s) > before {
			granted = now.Boot
		}
		return nil
	})
	if granted != 0 {
		fmt.Fprintln(g.file, int64(granted))
	}
	return err
}

// grantedIn counts the grants within the present window.
func grantedIn(now ratelimit.Instant, s *ratelimit.Snapshot) int {
	return s.Status(now, fastTuning(), "").Granted
}

// playGrants gets and gives back permits, arg of them ("-1": without end), with four workers.
func playGrants(dir, arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	now := core.SystemInstant
	if os.Getenv("ANIVAULT_TEST_WALL") != "" {
		now = wildWall
	}
	st, err := openGrantLog(dir, now)
	if err != nil {
		return err
	}
	defer st.Close()
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: fastTuning()})
	if err != nil {
		return err
	}
	defer l.Close()
	say("ready")
	start := bufio.NewReader(os.Stdin)
	if _, err := start.ReadString('\n'); err != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, start)
	}()
	jobs, failed := make(chan struct{}), make(chan error, 4)
	for range 4 {
		go func() {
			for range jobs {
				p, err := l.Acquire(ctx)
				if err != nil {
					failed <- err
					return
				}
				time.Sleep(time.Duration(rand.N(8)) * time.Millisecond) // the upstream
				p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
			}
			failed <- nil
		}()
	}
	for i := 0; i != n && ctx.Err() == nil; i++ {
		select {
		case jobs <- struct{}{}:
		case <-ctx.Done():
		case err := <-failed:
			return err
		}
	}
	close(jobs)
	for range 4 {
		if err := <-failed; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// wildWall is a system whose wall clock jumps by an hour, five times a second.
func wildWall() ratelimit.Instant {
	now := core.SystemInstant()
	hours := int64(now.Boot/(200*time.Millisecond))%3 - 1
	now.Wall = now.Wall.Add(time.Duration(hours) * time.Hour)
	return now
}

// playKeeper takes arg permits and keeps them.
func playKeeper(dir, arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	st, err := filestore.Open(dir, filestore.Options{Patience: time.Minute}) // on a busy machine nobody continues alone
	if err != nil {
		return err
	}
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: fastTuning()})
	if err != nil {
		return err
	}
	for range n {
		if _, err := l.Acquire(context.Background()); err != nil {
			return err
		}
	}
	say("keeping")
	untilParentEnds()
	return nil
}

// playHolder holds the lock.
func playHolder(dir, _ string) error {
	st, err := filestore.Open(dir, filestore.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Update(context.Background(), func(ratelimit.Instant, *ratelimit.Snapshot) error {
		say("locked")
		untilParentEnds()
		return nil
	})
}

// playWriter updates a big snapshot as fast as it can. Each update raises all quotas by one, so that half an update
// would show.
func playWriter(dir, _ string) error {
	st, err := filestore.Open(dir, filestore.Options{Patience: time.Minute})
	if err != nil {
		return err
	}
	go func() {
		untilParentEnds()
		os.Exit(0)
	}()
	for first := true; ; first = false {
		err := st.Update(context.Background(), func(now ratelimit.Instant, s *ratelimit.Snapshot) error {
			n, err := countIn(now, s)
			if err != nil {
				return err
			}
			return setCount(now, s, n+1)
		})
		if err != nil {
			return err
		}
		if first {
			say("writing")
		}
	}
}

const bulk = 60 // accounts with long names: some 12 KiB, which is more than one page

func setCount(at ratelimit.Instant, s *ratelimit.Snapshot, n int) error {
	for i := range bulk {
		name := fmt.Sprint(strings.Repeat("account ", 25), i)
		if err := s.TuneAccount(at, name, map[string]string{"quota": fmt.Sprintf("%d/1h", n)}, 0); err != nil {
			return err
		}
	}
	return nil
}

// countIn returns what setCount has set, and whether all of it is there.
func countIn(at ratelimit.Instant, s *ratelimit.Snapshot) (n int, err error) {
	accounts := s.Status(at, ratelimit.Default(), "").Accounts
	if len(accounts) == 0 {
		return 0, nil
	}
	for _, a := range accounts {
		if len(accounts) != bulk || a.Quota.Requests != accounts[0].Quota.Requests {
			return 0, fmt.Errorf("%d accounts; %d and %d", len(accounts), accounts[0].Quota.Requests, a.Quota.Requests)
		}
	}
	return accounts[0].Quota.Requests, nil
}

// grants reads the merged log of all grants, sorted.
func readGrants(t *testing.T, dir string) (perProcess map[string][]time.Duration) {
	t.Helper()
	perProcess = map[string][]time.Duration{}
	files, err := filepath.Glob(filepath.Join(dir, "grants-*"))
	must(t, err)
	for _, path := range files {
		b, err := os.ReadFile(path)
		must(t, err)
		for line := range strings.Lines(string(b)) {
			ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			must(t, err)
			perProcess[filepath.Base(path)] = append(perProcess[filepath.Base(path)], time.Duration(ns))
		}
	}
	return perProcess
}
