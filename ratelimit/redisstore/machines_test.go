package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/ratelimit"
)

// What an operator does on one machine is obeyed on all, and seen on all.
func TestAnOperatorReachesAllMachines(t *testing.T) {
	server := redistest.Start(t)
	sender, desk := newMachine(t, server), newMachine(t, server)
	l := sender.limiter(ratelimit.Default())
	p, err := l.Acquire(t.Context())
	must(t, err)
	st, _ := desk.open()
	seen, err := ratelimit.Operator{Store: st}.Status(t.Context(), ratelimit.Default())
	if err != nil || seen.Running != 1 || len(seen.Processes) != 1 {
		t.Errorf("the other machine sees %d running of %d processes, %v", seen.Running, len(seen.Processes), err)
	}
	others := []*ratelimit.Limiter{
		newMachine(t, server).limiter(ratelimit.Default()),
		newMachine(t, server).limiter(ratelimit.Default()),
	}
	for _, other := range others {
		p, err := other.Acquire(t.Context())
		must(t, err)
		p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	}
	must(t, (ratelimit.Operator{Store: st}).Tune(t.Context(), map[string]string{"rate_base": "7"}, time.Hour))
	p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200}) // a late answer is reported as well as a request
	for i, other := range append(others, l) {
		p, err := other.Acquire(t.Context())
		must(t, err)
		if got := other.Tuning().RateBase; got != 7 {
			t.Errorf("rate_base is %v on machine %d at its next request, want 7", got, i)
		}
		p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	}
	_, _, err = (ratelimit.Operator{Store: st}).ForceCacheOnly(t.Context(), 0)
	must(t, err)
	if _, err := l.Acquire(t.Context()); err == nil {
		t.Error("a permit in CacheOnly")
	}
	sender.proxy.SetDown(true)
	other, _ := sender.open()
	desperate := ratelimit.Operator{Store: other}
	err = desperate.Tune(t.Context(), map[string]string{"rate_base": "3"}, time.Hour)
	if !errors.Is(err, ratelimit.ErrNotShared) {
		t.Errorf("tune without the server = %v", err)
	}
	seen, err = desperate.Status(t.Context(), ratelimit.Default())
	if err != nil || seen.Tuning.RateBase == 3 {
		t.Errorf("a change that was refused is in force: rate_base is %v, %v", seen.Tuning.RateBase, err)
	}
}

// A process that starts while the server is lost knows what the last process of its machine knew at its end: what an
// operator has stopped and tuned, the budget and a pause. What has ended since an earlier loss does not come back.
func TestAProcessThatStartsAloneContinuesItsMachine(t *testing.T) {
	m := newMachine(t, redistest.Start(t))
	tu := ratelimit.Default()
	tu.Budget = ratelimit.Budget{Requests: 10, Period: 24 * time.Hour}
	run := func(do func(ratelimit.Operator, *ratelimit.Limiter)) {
		t.Helper()
		st, _ := m.open()
		l, err := ratelimit.New(ratelimit.Config{Store: st, Tuning: tu})
		must(t, err)
		do(ratelimit.Operator{Store: st}, l)
		must(t, l.Close())
		must(t, st.Close())
	}
	alone := func() (st ratelimit.Status) {
		t.Helper()
		m.proxy.SetDown(true)
		run(func(_ ratelimit.Operator, l *ratelimit.Limiter) {
			var err error
			st, err = l.Status(t.Context())
			must(t, err)
		})
		m.proxy.SetDown(false)
		return st
	}
	stop := func(o ratelimit.Operator, _ *ratelimit.Limiter) {
		_, _, err := o.ForceCacheOnly(t.Context(), 0)
		must(t, err)
		must(t, o.Tune(t.Context(), map[string]string{"rate_base": "7"}, 0))
	}
	gateway := m.limiter(tu)
	run(stop)
	for _, down := range []bool{false, true} { // the gateway sees the stop, and takes it along when it goes alone
		m.proxy.SetDown(down)
		_, err := gateway.Status(t.Context())
		must(t, err)
	}
	m.proxy.SetDown(false)
	for back := false; !back; time.Sleep(50 * time.Millisecond) {
		st, err := gateway.Status(t.Context())
		must(t, err)
		back = !st.Alone
	}
	must(t, gateway.Close())
	must(t, m.stores[0].Close())
	var paused time.Time
	run(func(o ratelimit.Operator, l *ratelimit.Limiter) {
		must(t, o.Reset(t.Context(), true))
		p, err := l.Acquire(t.Context())
		must(t, err)
		wait := ratelimit.Wait{Duration: time.Minute, Present: true}
		p.Report(ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: wait})
		now, err := l.Status(t.Context())
		must(t, err)
		paused = now.PauseUntil
	})
	st := alone()
	off := st.PauseUntil.Sub(paused).Abs()
	if st.State != ratelimit.Normal || len(st.Overrides) > 0 || paused.IsZero() || off > 10*time.Second {
		t.Errorf("after the stop: %v, overrides %v, paused until %v instead of %v", st.State, st.Overrides,
			st.PauseUntil, paused)
	}
	run(stop)
	if st := alone(); st.State != ratelimit.CacheOnly || len(st.Overrides) != 1 || st.BudgetUsed != 1 {
		t.Errorf("alone: %v, overrides %v, %d of the budget used", st.State, st.Overrides, st.BudgetUsed)
	}
}

// What a machine did alone reaches the others as soon as the server is back, even if nobody asks there.
func TestAnIdleMachineReturnsByItself(t *testing.T) {
	server := redistest.Start(t)
	m, other := newMachine(t, server), newMachine(t, server)
	l := m.limiter(ratelimit.Default())
	p, err := l.Acquire(t.Context())
	must(t, err)
	m.proxy.SetDown(true)
	asked := ratelimit.Wait{Duration: time.Minute, Present: true}
	p.Report(ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: asked})
	if got := m.events.kinds(); !slices.Equal(got, []string{"coordinator_lost"}) {
		t.Fatalf("without the server: %v", got)
	}
	time.Sleep(time.Second)
	m.proxy.SetDown(false)
	st, _ := other.open()
	for range 40 {
		seen, err := ratelimit.Operator{Store: st}.Status(t.Context(), ratelimit.Default())
		must(t, err)
		if seen.PauseUntil.After(time.Now()) && slices.Contains(m.events.kinds(), "coordinator_back") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("2 s after the server is back the other machine knows of no pause: %v", m.events.kinds())
}

// One of four machines has lost its network, not the coordinator: it sleeps alone, and the others keep the whole rate,
// each its share.
func TestAMachineWithoutANetworkSleepsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	server := redistest.Start(t)
	up := newUpstream(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 3 {
		send(ctx, &wg, newMachine(t, server).limiter(calm()), fmt.Sprintf("%s/%d", up.URL, i), 4)
	}
	cut := newMachine(t, server)
	tu := calm()
	tu.MaxWait = time.Second
	l := cut.limiter(tu)
	var tried atomic.Int64
	client := &http.Client{Transport: &ratelimit.Transport{Limiter: l, Base: refused{&tried}}}
	wg.Go(func() {
		for ctx.Err() == nil {
			resp, err := client.Get(up.URL)
			if err == nil {
				resp.Body.Close()
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	for tried.Load() < 8 {
		time.Sleep(5 * time.Millisecond)
	}
	problem := ""
	for range 10 { // a busy machine needs a while
		if problem = keepTheirRate(up, &tried); problem == "" {
			break
		}
	}
	if problem != "" {
		t.Error(problem)
	}
	if st, err := l.Status(ctx); err != nil || st.State != ratelimit.Normal || st.Counts.Network != 0 {
		t.Errorf("the shared state is %s with %d network errors, %v", st.State, st.Counts.Network, err)
	}
	cancel()
	wg.Wait()
}

// keepTheirRate looks for three seconds whether three machines send at the whole rate, each its share, and the one
// without a network probes at most.
func keepTheirRate(up *upstream, tried *atomic.Int64) (problem string) {
	start, before := time.Now(), tried.Load()
	time.Sleep(3 * time.Second)
	want := calm().RateBase * time.Since(start).Seconds()
	if n := up.since(start, ""); float64(n) < 0.9*want {
		return fmt.Sprintf("the others sent %d requests of %.0f", n, want)
	}
	for i := range 3 {
		if n := up.since(start, fmt.Sprintf("/%d", i)); float64(n) < 0.7*want/3 {
			return fmt.Sprintf("machine %d sent %d requests of %.0f", i, n, want/3)
		}
	}
	if n := tried.Load() - before; n > 4 {
		return fmt.Sprintf("%d more requests without a network", n)
	}
	return ""
}

// refused is a network that is not there.
type refused struct{ tried *atomic.Int64 }

func (r refused) RoundTrip(*http.Request) (*http.Response, error) {
	r.tried.Add(1)
	return nil, errors.New("no route to host")
}

// The slots of a process that dies come back: on its own machine at once, on others when its sign of life has ended.
func TestTheDeadGiveTheirSlotsBack(t *testing.T) {
	for name, near := range map[string]bool{"on its own machine": true, "on another": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			m := newMachine(t, server)
			tu := ratelimit.Default()
			tu.Concurrency, tu.ConcurrencyTotal = 2, 2
			dying := startWorker(t, m, "hold", "2")
			if got := dying.line(t); got != "holding" {
				t.Fatal(got)
			}
			if !near {
				m = newMachine(t, server)
			}
			l := m.limiter(tu)
			got := make(chan error, 1)
			go func() {
				p, err := l.Acquire(t.Context())
				if err == nil {
					p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
				}
				got <- err
			}()
			select {
			case err := <-got:
				t.Fatalf("a slot though both are taken: %v", err)
			case <-time.After(700 * time.Millisecond):
			}
			start := time.Now()
			dying.kill()
			must(t, <-got)
			t.Logf("after %v", time.Since(start))
		})
	}
}

// A machine is known by its folder and this start of the system, not by its name.
func TestAMachineIsItsFolder(t *testing.T) {
	server := redistest.Start(t)
	m := newMachine(t, server)
	_, a := m.open()
	_, b := m.open()
	_, c := newMachine(t, server).open()
	if got := a.Machines([]string{a.Owner(), b.Owner(), c.Owner()}); got != 2 {
		t.Errorf("%d machines, want 2", got)
	}
	if dead := a.Dead([]string{a.Owner(), b.Owner(), c.Owner()}); len(dead) != 0 {
		t.Errorf("dead: %v", dead)
	}
	must(t, b.Close())
	if dead := a.Dead([]string{b.Owner()}); len(dead) != 1 {
		t.Error("closed is not dead")
	}
	info, err := os.Stat(filepath.Join(m.dir, "coordinator-machine"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
}
