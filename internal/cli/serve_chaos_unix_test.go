//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// chaosYAML lets waits end soon, so that each answer has a bound.
const chaosYAML = `limiter: {rate_base: 20, ceiling: 20, ceiling_window: 1s, request_timeout: 1s, max_retries: 1,
  sleep_min: 300ms, sleep_max: 1s, sleep_max_outage: 500ms}
serve: {acquire_timeout: {interactive: 2s}, stale_after: 100ms, drain_timeout: 1s}
accounts:
  - {name: first, priority: 1, keys: [{token: chaos-one}, {token: chaos-two}], account_concurrency: 3}
  - {name: second, priority: 2, keys: [{token: chaos-three}], account_concurrency: 4, quota: 100000/24h}
`

const (
	chaosCeiling = 20
	chaosTickets = 16 // concurrency_total: so many that had permission earlier may come late
	// chaosBound is what an answer takes at most: patience, two tries, and much for a machine that does other things.
	chaosBound = time.Minute
)

func init() { beforeMain = fullDisk }

// fullDisk lets files of this process grow to so many bytes and no further, if the variable says so.
func fullDisk() {
	var limit uint64
	if _, err := fmt.Sscan(os.Getenv("TEST_FULL_DISK"), &limit); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
	}
}

// chaos is a gateway that is killed again and again, clients that ask it, and a match beside it.
type chaos struct {
	t    *testing.T
	home string
	addr string
	base string // of the stand-in
	fake *tmdbfake.Fake
	env  []string

	mu       sync.Mutex
	answers  map[int]int // by status
	overdue  []string
	gateways int
}

// TestChaosOfAGateway: TMDB's faults, kill -9 of the gateway, a match beside it, a full disk and reloads, all at
// once. No request is above the ceiling, no answer that is stored is spoiled, and nobody waits beyond the bound.
// TEST_SOAK=10m makes it longer.
func TestChaosOfAGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	length := 10 * time.Second
	if d, err := time.ParseDuration(os.Getenv("TEST_SOAK")); err == nil {
		length = d
	}
	fake, err := tmdbfake.New(tmdbfake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	c := &chaos{t: t, home: t.TempDir(), fake: fake, answers: map[int]int{}, addr: freeAddr(t), base: server.URL()}
	c.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "ANIVAULT_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "HOME=")
	}), "HOME="+c.home, "ANIVAULT_TMDB_BASE_URL="+server.URL(), "ANIVAULT_SERVE_LISTEN="+c.addr)
	c.configure()
	lib := filepath.Join(c.home, "lib")
	for _, title := range twenty {
		if err := os.MkdirAll(filepath.Join(lib, title), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(lib, title, title+" - 01.mkv"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { c.live(ctx) })
	all.Go(func() { c.trouble(ctx) })
	for i := range 6 {
		all.Go(func() { c.ask(ctx, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	all.Go(func() {
		for ctx.Err() == nil {
			c.run(ctx, "match", "--quiet", "--max-wait", "1s", "--refresh", "--format", "ndjson", lib)
		}
	})
	all.Wait()
	t.Logf("%d gateways, answers by status %v", c.gateways, c.answers)
	if c.gateways < 2 || c.answers[200] == 0 {
		t.Errorf("too little has happened: %d gateways, answers %v", c.gateways, c.answers)
	}
	for _, late := range c.overdue {
		t.Error(late)
	}
	c.checkCeiling()
	c.checkStored()
	c.checkAccounts()
}

// run runs anivault to its end, or until ctx ends.
func (c *chaos) run(ctx context.Context, args ...string) string {
	cmd := exec.CommandContext(ctx, "anivault", args...)
	cmd.Env, cmd.WaitDelay = c.env, 10*time.Second
	out, _ := cmd.CombinedOutput() // what it says of the trouble is another test's matter
	return string(out)
}

func (c *chaos) configure() {
	dir := filepath.Join(c.home, ".config", "anivault")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(chaosYAML), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// live starts gateways, lets them read their configuration anew, and kills them. Every third has a full disk.
func (c *chaos) live(ctx context.Context) {
	random := rand.New(rand.NewPCG(7, 7))
	for ctx.Err() == nil {
		c.mu.Lock()
		c.gateways++
		n := c.gateways
		c.mu.Unlock()
		for _, name := range []string{"first", "second"} { // some of the trouble is that TMDB suspends them
			c.run(ctx, "accounts", "enable", name)
		}
		cmd := exec.Command("anivault", "serve", "--admin-listen", "off")
		cmd.Env = c.env
		if n%3 == 0 {
			cmd.Env = append(slices.Clone(c.env), "TEST_FULL_DISK=65536")
		}
		if err := cmd.Start(); err != nil {
			c.t.Error(err)
			return
		}
		for end := time.Now().Add(time.Duration(1000+random.IntN(1500)) * time.Millisecond); time.Now().Before(end) &&
			ctx.Err() == nil; {
			wait(ctx, 300*time.Millisecond)
			_ = cmd.Process.Signal(syscall.SIGHUP)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// wait waits for a while, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// trouble lets TMDB suffer from one thing after the other.
func (c *chaos) trouble(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		var s upstream.Scenario
		if i%2 == 1 { // every other second it is well
			var err error
			names := upstream.Presets()
			if s, err = upstream.Preset(names[i/2%len(names)]); err != nil {
				c.t.Error(err)
				return
			}
		}
		if err := c.fake.Apply(s); err != nil {
			c.t.Error(err)
			return
		}
		wait(ctx, 700*time.Millisecond)
	}
}

// ask asks for this and that until ctx ends. A gateway that was killed answers nobody; every other answer has its time.
func (c *chaos) ask(ctx context.Context, random *rand.Rand) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		path := chaosPath(random.IntN(60))
		begun := time.Now()
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), chaosBound)
		req, err := http.NewRequestWithContext(patient, http.MethodGet, "http://"+c.addr+path, nil)
		if err != nil {
			c.t.Error(err)
		}
		resp, err := client.Do(req)
		status := 0
		if err == nil {
			status = resp.StatusCode
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		cancel()
		c.mu.Lock()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			c.overdue = append(c.overdue, fmt.Sprintf("%s had no answer in %s", path, time.Since(begun)))
		case err == nil:
			c.answers[status]++
		}
		c.mu.Unlock()
		if err != nil {
			wait(ctx, 50*time.Millisecond)
		}
	}
}

// chaosPath is one of the questions.
func chaosPath(n int) string { return fmt.Sprintf("/3/tv/%d", 9000001+n) }

// checkCeiling looks for a second with more requests than the ceiling, and those that were let go earlier, allow.
func (c *chaos) checkCeiling() {
	entries := c.fake.Journal()
	first := 0
	for i := range entries {
		for entries[i].At.Sub(entries[first].At) >= time.Second {
			first++
		}
		if n := i - first + 1; n > chaosCeiling+chaosTickets {
			c.t.Errorf("%d requests in one second", n)
			return
		}
	}
}

// checkStored compares what is stored with what TMDB answers when it is well.
func (c *chaos) checkStored() {
	if out := c.run(c.t.Context(), "cache", "verify"); !strings.Contains(out, "records OK") {
		c.t.Errorf("cache verify: %s", out)
	}
	if err := c.fake.Apply(upstream.Scenario{}); err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), "anivault", "serve", "--offline", "--admin-listen", "off")
	cmd.Env = c.env
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	stored := 0
	for n := range 60 {
		status, body := c.fetch("http://"+c.addr+chaosPath(n), "")
		if status == http.StatusServiceUnavailable {
			continue // it was never asked successfully
		}
		wantStatus, want := c.fetch(c.base+chaosPath(n), "Bearer chaos-token")
		if status != wantStatus || !reflect.DeepEqual(body, want) {
			c.t.Errorf("%s: stored is %d %.200v, TMDB says %d %.200v", chaosPath(n), status, body, wantStatus, want)
		}
		stored++
	}
	if stored == 0 {
		c.t.Error("nothing is stored")
	}
}

// checkAccounts looks for slots and reservations that the dead have kept. Whoever asks next frees them.
func (c *chaos) checkAccounts() {
	c.run(c.t.Context(), "accounts", "test")
	cmd := exec.Command("anivault", "accounts", "list", "--format", "json")
	cmd.Env = c.env
	out, err := cmd.Output()
	var list []listed
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil || len(list) != 2 {
		c.t.Fatalf("%v: %s", err, out)
	}
	for _, a := range list {
		if a.Running != 0 || a.Quota.Reserved != 0 {
			c.t.Errorf("left: %+v", a)
		}
	}
	if list[1].Quota.Used == 0 {
		c.t.Error("nothing went through the second account")
	}
}

// fetch asks until somebody answers, and returns the status and the body as a value.
func (c *chaos) fetch(url, auth string) (status int, body any) {
	for deadline := time.Now().Add(chaosBound); ; {
		req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		if auth != "" {
			req.Header.Set("Authorization", auth)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			defer resp.Body.Close()
			if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
				c.t.Errorf("%s: %v", url, err)
			}
			return resp.StatusCode, body
		}
		if time.Now().After(deadline) {
			c.t.Fatal(err)
		}
		wait(c.t.Context(), 50*time.Millisecond)
	}
}

// freeAddr is an address that nobody listens on.
func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
