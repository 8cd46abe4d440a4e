//go:build unix

package filestore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
)

func (c *child) signal(sig syscall.Signal) {
	c.t.Helper()
	must(c.t, c.cmd.Process.Signal(sig))
}

func TestStoppedLockHolderFreezesNobody(t *testing.T) {
	dir := t.TempDir()
	w := &warnings{}
	st, err := filestore.Open(dir, filestore.Options{OnWarning: w.add})
	must(t, err)
	defer st.Close()
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: fastTuning()})
	must(t, err)
	defer l.Close()
	before, err := l.Acquire(context.Background())
	must(t, err)

	holder := startChild(t, "holder", dir, "")
	holder.expect("locked")
	holder.signal(syscall.SIGSTOP)
	for range 20 {
		p, err := l.Acquire(context.Background())
		must(t, err)
		p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	}
	before.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	if got := l.Tuning(); got.RateBase != fastTuning().RateBase/2 {
		t.Errorf("alone at %v requests a second, want one half of %v", got.RateBase, fastTuning().RateBase)
	}

	holder.signal(syscall.SIGCONT)
	holder.in.Close()
	holder.wait()
	s := storeUnderTest{Store: st, t: t, warned: w}
	snap := untilTogether(t, s)
	if n := snap.Status(core.SystemInstant(), ratelimit.Default(), "").Running; n != 0 {
		t.Errorf("%d leases are left of before", n)
	}
	for range 20 {
		p, err := l.Acquire(context.Background())
		must(t, err)
		p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	}
	s.wantEvents("lock_degraded")
}

// Everything at once, in random order: workers are killed and replaced, stopped and let go
// on, the lock is held by a stopped process, the state is garbled and deleted, and all
// the while their wall clocks jump by an hour (docs/limiter.md, "What survives").
func TestChaosNeverExceedsTheCeilingAndLeavesNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Setenv("ANIVAULT_TEST_WALL", "wild")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	worker := func() *child {
		c := startChild(t, "grants", dir, "-1")
		c.expect("ready")
		fmt.Fprintln(c.in, "go")
		return c
	}
	workers := []*child{worker(), worker(), worker(), worker()}
	pick := func() int { return chance.IntN(len(workers)) }
	path := filepath.Join(dir, filestore.StateName)
	nap := func(most time.Duration) { time.Sleep(time.Duration(chance.Int64N(int64(most)))) }

	actions := []struct {
		name string
		act  func()
	}{
		{"kill", func() {
			i := pick()
			workers[i].kill()
			workers[i] = worker()
		}},
		{"stop", func() {
			i := pick()
			workers[i].signal(syscall.SIGSTOP)
			nap(700 * time.Millisecond)
			workers[i].signal(syscall.SIGCONT)
		}},
		{"stop the holder", func() {
			holder := startChild(t, "holder", dir, "")
			holder.expect("locked")
			holder.signal(syscall.SIGSTOP)
			nap(900 * time.Millisecond)
			if chance.IntN(2) == 0 {
				holder.kill()
				return
			}
			holder.signal(syscall.SIGCONT)
			holder.in.Close()
			holder.wait()
		}},
		{"garble", func() {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
			must(t, err)
			defer f.Close()
			for _, slot := range []int64{0, filestore.FrameSlot} {
				if chance.IntN(3) > 0 {
					_, err := f.WriteAt([]byte("garbage"), slot+int64(chance.IntN(200)))
					must(t, err)
				}
			}
		}},
		{"delete", func() { _ = os.Remove(path) }},
	}
	for range 12 {
		a := actions[chance.IntN(len(actions))]
		t.Log(a.name)
		a.act()
		nap(600 * time.Millisecond)
	}

	workers[0].signal(syscall.SIGSTOP) // and dead while stopped
	for _, w := range workers {
		w.kill()
	}
	log := readGrants(t, dir)
	wantCeiling(t, log, fastTuning())

	st := openTest(t, dir, filestore.Options{Now: core.SystemInstant})
	tuning := fastTuning()
	tuning.Concurrency, tuning.ConcurrencyTotal, tuning.MaxWait = 16, 16, 20*time.Second
	l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: tuning})
	must(t, err)
	defer l.Close()
	acquire := func() *ratelimit.Permit {
		t.Helper()
		p, err := l.Acquire(context.Background())
		if err != nil {
			snap, parts := st.look()
			t.Fatalf("after everything: %v; %d parts, %+v", err, parts, snap)
		}
		return p
	}
	for i := 0; ; i++ { // what was garbled has led to Throttle
		acquire().Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
		if snap, _ := st.look(); snap.State() == ratelimit.Normal {
			break
		} else if i == 100 {
			t.Fatalf("still in %v", snap.State())
		}
	}
	for range tuning.ConcurrencyTotal {
		acquire()
	}
	snap, parts := st.look()
	left := snap.Status(core.SystemInstant(), tuning, "")
	if left.Running != tuning.ConcurrencyTotal || len(left.Processes) != 1 || parts > 1 {
		t.Errorf("%d running, %d processes, %d parts; the dead have left something", left.Running, len(left.Processes), parts)
	}
}
