// Package model holds the model of the limiter in Quint, and replays in it what real stores do.
package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/internal/shared"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheModelHasTheTransitionsOfTheTable(t *testing.T) {
	text, err := os.ReadFile("limiter.qnt")
	must(t, err)
	_, table, _ := strings.Cut(string(text), "pure val TABLE = Set(")
	table, _, _ = strings.Cut(table, "))\n")
	var got []string
	for _, pair := range regexp.MustCompile(`"(\w+)", "(\w+)"`).FindAllStringSubmatch(table, -1) {
		got = append(got, "    "+pair[1]+" --> "+pair[2])
	}
	var want []string
	for line := range strings.Lines(core.Graph()) {
		if edge, _, ok := strings.Cut(line, ": "); ok {
			want = append(want, edge)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-code +model\n%s", diff)
	}
}

// seen is what a limiter shows after an update.
type seen struct {
	state            string
	falter           bool
	block, pause     time.Duration
	running, granted int
}

// entry is one update of a store.
type entry struct {
	seq     int64 // the order in which updates were made
	at      core.Stamp
	woke    bool // time had passed for a Sleep or a CacheOnly
	what    string
	machine string
	id      uint64
	arg     time.Duration // a lease, a Retry-After, or how long an operator's block lasts
	flag    bool          // the reply has arrived, or the answer is evidence
	seen    seen
}

// history is what was done to one shared state.
type history struct {
	t       *testing.T
	tuning  core.Tuning
	seq     atomic.Int64
	mu      sync.Mutex
	entries []entry
	alone   error // why a store did not see the others
}

func newHistory(t *testing.T) *history {
	tu := core.Default()
	tu.RateBase, tu.BucketCap, tu.Ceiling, tu.CeilingWindow = 40, 40, 40, 500*time.Millisecond
	tu.Concurrency, tu.ConcurrencyTotal = 2, 3
	tu.NFailures, tu.NThrottle, tu.NCacheOnly, tu.ProbeSuccess = 3, 2, 3, 2
	tu.MinSamples, tu.SRecover, tu.Window, tu.CacheOnlyAfter = 5, 3, time.Second, 2
	tu.SleepMin, tu.SleepMax, tu.SleepMaxOutage = 20*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	must(t, tu.Validate())
	return &history{t: t, tuning: tu}
}

// hold is how long a request may take, lostHold the same of one whose reply is lost.
const (
	hold     = 10 * time.Minute
	lostHold = 80 * time.Millisecond
)

// see makes an entry complete; it is called within the update that the entry is about.
func (h *history) see(e *entry, at core.Instant, s *core.Snapshot) {
	st := s.Status(at, h.tuning, "")
	e.seq, e.at = h.seq.Add(1), s.Now()
	e.seen = seen{state: st.State.String(), running: st.Running, granted: st.Granted}
	e.seen.falter = st.State == core.Throttle && st.Failures >= h.tuning.NFailures
	e.seen.pause = max(0, st.PauseUntil.Sub(st.At))
	switch {
	case st.State == core.CacheOnly && st.Until.IsZero():
		e.seen.block = -1
	case st.State == core.CacheOnly || st.State == core.Sleep:
		e.seen.block = max(0, st.Until.Sub(st.At))
	}
}

// update makes an update and notes it, unless it has changed nothing that the model knows.
func (h *history) update(st *shared.Store, do func(at core.Instant, s *core.Snapshot) entry) {
	var e entry
	err := st.Update(context.Background(), func(at core.Instant, s *core.Snapshot) error {
		e = do(at, s)
		h.see(&e, at, s)
		return nil
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		err = st.IsolationCause()
	}
	if err != nil && h.alone == nil {
		h.alone = err
	}
	if e.what != "" {
		h.entries = append(h.entries, e)
	}
}

func (h *history) length() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.entries)
}

// caller sends requests until the history is long enough or its machine crashes.
type caller struct {
	h       *history
	st      *shared.Store
	owner   string
	machine string
	draw    *rand.Rand
	crashed *atomic.Bool
	ticket  uint64
	bad     int // so many further answers are errors
}

func (c *caller) run(until int) {
	for c.h.length() < until && !c.crashed.Load() {
		g, replied := c.ask()
		switch c.ticket = g.Ticket; {
		case c.crashed.Load():
			return
		case !g.Granted:
			time.Sleep(min(max(g.Wait, time.Millisecond), 20*time.Millisecond))
		case replied:
			time.Sleep(time.Duration(c.draw.IntN(20)) * time.Millisecond)
			if !c.crashed.Load() {
				c.answer(g.Pass)
			}
		}
	}
}

func (c *caller) ask() (g core.Grant, replied bool) {
	replied = c.draw.IntN(20) > 0
	a := core.PermitRequest{Owner: c.owner, Tuning: &c.h.tuning, Ticket: c.ticket, MaxWait: time.Minute, Lease: hold}
	if !replied {
		a.Lease = lostHold
	}
	c.h.update(c.st, func(at core.Instant, s *core.Snapshot) entry {
		g = s.TryGrant(at, a)
		e := entry{machine: c.machine, woke: g.Transitioned}
		switch {
		case g.Granted:
			e.what, e.id, e.arg, e.flag = "grant", g.Pass.Number, g.Lease, replied
		case g.Transitioned:
			e.what = "time"
		}
		return e
	})
	return g, replied
}

func (c *caller) answer(pass core.PermitID) {
	r := core.Report{Owner: c.owner, Tuning: &c.h.tuning, Pass: pass, Draw: c.draw.Float64()}
	what := "ok"
	r.Event = core.Event{Outcome: core.OK, Status: 200}
	switch n := c.draw.IntN(40); {
	case c.bad > 0:
		c.bad--
		what, r.Event = "error", core.Event{Outcome: core.Server, Status: 500}
	case n == 0:
		c.bad = 4
	case n == 1:
		what, r.Event = "none", core.Event{Outcome: core.Cancelled}
	case n < 6:
		wait := []time.Duration{10 * time.Millisecond, 60 * time.Millisecond, 200 * time.Millisecond}[c.draw.IntN(3)]
		what = "429"
		r.Event = core.Event{
			Outcome: core.Throttled, Status: 429, RetryAfter: core.Wait{Duration: wait, Present: true},
		}
	}
	c.h.update(c.st, func(at core.Instant, s *core.Snapshot) entry {
		late := s.Record(at, r).Late
		return entry{what: what, machine: c.machine, id: pass.Number, arg: r.Event.RetryAfter.Duration, flag: !late}
	})
}

// record lets two callers on each of two machines ask and answer, and an operator interfere. The second machine
// crashes with its requests under way, is noticed and comes back.
func (h *history) record(open func(machine string) *shared.Store) {
	const length, crashAt = 300, 100
	seed := rand.Uint64()
	h.t.Logf("seed %d", seed)
	start := func(machine string, st *shared.Store, until int, crashed *atomic.Bool) *sync.WaitGroup {
		owner := core.NewOwnerOf(st.Owner())
		var callers sync.WaitGroup
		for range h.tuning.Concurrency {
			seed++
			c := &caller{
				h: h, st: st, owner: owner, machine: machine, crashed: crashed, draw: rand.New(rand.NewPCG(seed, 0)),
			}
			callers.Go(func() { c.run(until) })
		}
		return &callers
	}
	var never, crash atomic.Bool
	a, b := open("a"), open("b")
	onA, onB := start("a", a, length, &never), start("b", b, length, &crash)
	for h.length() < crashAt {
		h.interfere(a, seed)
	}
	crash.Store(true)
	onB.Wait()
	id := b.Owner()
	must(h.t, b.Close()) // without a goodbye of its limiter
	h.update(a, func(at core.Instant, s *core.Snapshot) entry {
		s.AdvanceClock(at)
		return entry{what: "crash", machine: "b"}
	})
	for len(a.Dead([]string{id})) == 0 {
		time.Sleep(20 * time.Millisecond)
	}
	h.update(a, func(at core.Instant, s *core.Snapshot) entry {
		s.RemoveDead(at, []string{id})
		return entry{what: "bury", machine: "b"}
	})
	onB = start("b", open("b"), h.length()+length/3, &never)
	for h.length() < length {
		h.interfere(a, seed)
	}
	onA.Wait()
	onB.Wait()
	slices.SortFunc(h.entries, func(x, y entry) int { return int(x.seq - y.seq) })
	if h.alone != nil {
		h.t.Skipf("a store continued alone, as on a busy machine; the model leaves that out: %v", h.alone)
	}
}

// interfere is an operator who now and then closes everything for a while, and opens what is closed for good.
func (h *history) interfere(st *shared.Store, seed uint64) {
	time.Sleep(50 * time.Millisecond)
	refuses := (seed+uint64(h.length()))%12 == 0
	h.update(st, func(at core.Instant, s *core.Snapshot) entry {
		switch {
		case s.State() == core.CacheOnly:
			if _, moved := s.Resume(at); moved {
				return entry{what: "resume"}
			}
		case refuses:
			if _, moved := s.ForceCacheOnly(at, 30*time.Millisecond); moved {
				return entry{what: "refuse", arg: 30 * time.Millisecond}
			}
		}
		return entry{}
	})
}

// write writes the history as a module of the model.
func (h *history) write(file string) {
	var b strings.Builder
	tu := &h.tuning
	fmt.Fprintf(&b, "module history {\n  pure val LIMITS = { slots: %d, callers: %d, ceiling: %d, window: %d, lease: %d, "+
		"sleep: %d, probes: %d }\n  pure val HISTORY = [\n", tu.ConcurrencyTotal, tu.Concurrency, tu.Ceiling,
		tu.CeilingWindow, hold, tu.SleepMax, tu.ProbeSuccess)
	last := h.entries[0].at
	for _, e := range h.entries {
		fmt.Fprintf(&b, "    { by: %d, woke: %v, what: %q, machine: %q, id: %d, arg: %d, flag: %v, seen: { state: %q, "+
			"falter: %v, block: %d, pause: %d, running: %d, granted: %d } },\n", e.at-last, e.woke, e.what, e.machine, e.id,
			e.arg, e.flag, e.seen.state, e.seen.falter, e.seen.block, e.seen.pause, e.seen.running, e.seen.granted)
		last = e.at
	}
	b.WriteString("  ]\n}\n")
	must(h.t, os.WriteFile(file, []byte(b.String()), 0o600))
}

// replay reports whether the model can do what the history says, and what Quint prints.
func (h *history) replay() (follows bool, output string) {
	h.t.Helper()
	dir := h.t.TempDir()
	for _, name := range []string{"limiter.qnt", "replay.qnt"} {
		text, err := os.ReadFile(name)
		must(h.t, err)
		must(h.t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	h.write(filepath.Join(dir, "history.qnt"))
	return quint(h.t, dir, "replay.qnt", "--invariant", "follows", "--max-samples", "1",
		"--max-steps", fmt.Sprint(len(h.entries)))
}

// quint runs a module and reports whether its invariant holds.
func quint(t *testing.T, dir, file string, args ...string) (holds bool, output string) {
	t.Helper()
	path, err := exec.LookPath("quint")
	if err != nil {
		t.Skip("no quint in PATH, which CONTRIBUTING.md says how to install")
	}
	cmd := exec.Command(path, append([]string{"run", file, "--backend", "typescript", "--verbosity", "1"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	switch output = string(out); {
	case err == nil && strings.Contains(output, "[ok]"):
		return true, output
	case strings.Contains(output, "[violation]"):
		return false, output
	}
	t.Fatalf("quint: %v\n%s", err, output)
	return false, ""
}

func TestHistories(t *testing.T) {
	for name, open := range map[string]func(*testing.T) func(machine string) *shared.Store{
		"file":  overFiles,
		"redis": overRedis,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			h.record(open(t))
			did := map[string]int{}
			for _, e := range h.entries {
				did[e.what]++
				did[e.seen.state]++
			}
			t.Log(did)
			if follows, output := h.replay(); !follows {
				t.Errorf("the store has done what the model does not allow:\n%s", output)
			}
		})
	}
}

// Each fault is one that the code could have: the model finds it within a few steps, or on a walk.
func TestTheModelFindsFaults(t *testing.T) {
	text, err := os.ReadFile("limiter.qnt")
	must(t, err)
	for name, f := range map[string]struct{ right, wrong string }{
		"two probes": {`not(held(s).exists(p => p.probe == "now"))`, `held(s).size() < SLOTS`},
		"a lease does not end": {
			`s.leases.filter(l => l.left > by)`, `s.leases.map(l => { ...l, left: most(l.left, by + 1) })`,
		},
		"a pause is forgotten": {`pause: most(s.pause, wait)`, `pause: wait`},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("some ten seconds each")
			}
			if n := strings.Count(string(text), f.right); n != 1 {
				t.Fatalf("the model has %q %d times", f.right, n)
			}
			dir := t.TempDir()
			changed := strings.Replace(string(text), f.right, f.wrong, 1)
			must(t, os.WriteFile(filepath.Join(dir, "limiter.qnt"), []byte(changed), 0o600))
			if holds, _ := quint(t, dir, "limiter.qnt", "--main", "small", "--step", "walk", "--invariant", "holds",
				"--seed", "1", "--max-samples", "400", "--max-steps", "40"); holds {
				t.Error("the model does not notice")
			}
		})
	}
}

// A history that is not what happened does not follow the model.
func TestTamperedHistories(t *testing.T) {
	at, s := core.Instant{Wall: time.Unix(1_700_000_000, 0), Boot: time.Hour, BootID: "b"}, new(core.Snapshot)
	h := newHistory(t)
	note := func(e entry) {
		h.see(&e, at, s)
		h.entries = append(h.entries, e)
	}
	grant := func() core.PermitID {
		g := s.TryGrant(at, core.PermitRequest{Owner: "a", Tuning: &h.tuning, MaxWait: time.Minute, Lease: hold})
		note(entry{what: "grant", machine: "a", id: g.Pass.Number, arg: g.Lease, flag: true})
		return g.Pass
	}
	const wait = 50 * time.Millisecond
	pass := grant()
	s.Record(at, core.Report{Owner: "a", Tuning: &h.tuning, Pass: pass, Event: core.Event{
		Outcome: core.Throttled, Status: 429, RetryAfter: core.Wait{Duration: wait, Present: true},
	}})
	note(entry{what: "429", machine: "a", id: pass.Number, arg: wait, flag: true})
	at.Wall, at.Boot = at.Wall.Add(wait), at.Boot+wait
	grant()
	if follows, output := h.replay(); !follows {
		t.Errorf("what happened does not follow the model:\n%s", output)
	}
	for name, tamper := range map[string]func(list []entry){
		"a grant in a pause":  func(list []entry) { list[2].at -= core.Stamp(wait / 2) },
		"no such transition":  func(list []entry) { list[1].seen.state = "HalfOpen" },
		"an answer of no one": func(list []entry) { list[1].id++ },
	} {
		t.Run(name, func(t *testing.T) {
			forged := &history{t: t, tuning: h.tuning, entries: slices.Clone(h.entries)}
			tamper(forged.entries)
			if follows, _ := forged.replay(); follows {
				t.Error("it follows the model")
			}
		})
	}
}

func overFiles(t *testing.T) func(string) *shared.Store {
	dir := t.TempDir()
	return func(string) *shared.Store {
		st, err := filestore.Open(dir, filestore.Options{Patience: time.Minute})
		must(t, err)
		t.Cleanup(func() { st.Close() })
		return st
	}
}

// overRedis has a network in which every 40th reply is cut in half, so that nobody knows whether its update was made.
func overRedis(t *testing.T) func(string) *shared.Store {
	server := redistest.Start(t)
	dirs := map[string]string{"a": t.TempDir(), "b": t.TempDir()}
	return func(machine string) *shared.Store {
		proxy, err := redistest.NewProxy(server.Addr)
		must(t, err)
		t.Cleanup(proxy.Close)
		proxy.CutEvery(40)
		addr, err := redisstore.ParseAddress("redis://" + proxy.Addr)
		must(t, err)
		b, err := redisstore.Open(redisstore.Options{
			Address: addr, Upstream: "test", Dir: dirs[machine], Timeout: 10 * time.Second,
		})
		must(t, err)
		st := redisstore.NewStore(b, redisstore.StoreOptions{Place: "redis"})
		t.Cleanup(func() { st.Close() })
		return st
	}
}
