//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// killable is a gateway that is a process of its own, and a server behind it that holds what is asked below /3/held/.
type killable struct {
	t    *testing.T
	home string
	env  []string

	mu      sync.Mutex
	asked   []string // paths, in the order in which they came
	arrived chan string
	pausing bool // every answer is a 429 that asks for a pause

	cmd    *exec.Cmd
	stderr io.Closer
	url    string
}

// newKillable starts one; base is another server's address, "" for its own.
func newKillable(t *testing.T, yaml, base string) *killable {
	t.Helper()
	k := &killable{t: t, home: t.TempDir(), arrived: make(chan string, 100)}
	if base == "" {
		server := httptest.NewServer(k)
		t.Cleanup(server.Close)
		base = server.URL
	}
	k.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "ANIVAULT_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "HOME=")
	}), "HOME="+k.home, "ANIVAULT_TMDB_BASE_URL="+base, "ANIVAULT_CONFIG="+filepath.Join(k.home, "config.yaml"))
	if err := os.WriteFile(filepath.Join(k.home, "config.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	k.start()
	t.Cleanup(k.kill)
	return k
}

// ServeHTTP is TMDB.
func (k *killable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	k.asked = append(k.asked, r.URL.Path)
	pausing := k.pausing
	k.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(r.URL.Path, "/3/held/"):
		k.arrived <- r.URL.Path
		<-r.Context().Done()
	case pausing:
		w.Header().Set("Retry-After", "50")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"status_code":25,"status_message":"slow down"}`)
	default:
		_, _ = io.WriteString(w, `{"images":{"base_url":"http://a/","secure_base_url":"https://a/"}}`)
	}
}

func (k *killable) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.asked)
}

// start starts a gateway and waits until it listens.
func (k *killable) start() {
	k.t.Helper()
	k.cmd = exec.Command("anivault", "serve", "--listen", "127.0.0.1:0", "--admin-listen", "off")
	k.cmd.Env = k.env
	out, err := k.cmd.StderrPipe()
	if err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	k.stderr = out
	var said strings.Builder
	for read := bufio.NewScanner(out); read.Scan(); {
		if url, ok := strings.CutPrefix(read.Text(), "listening on "); ok {
			k.url = url
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
		said.WriteString(read.Text() + "\n")
	}
	k.t.Fatalf("it does not listen: %s", said.String())
}

func (k *killable) kill() {
	_ = k.cmd.Process.Signal(syscall.SIGKILL)
	_ = k.cmd.Wait()
}

// again kills the gateway and starts another.
func (k *killable) again() {
	k.t.Helper()
	k.kill()
	k.start()
}

// get asks for something that nobody keeps. It returns the reason of a refusal.
func (k *killable) get(path string) (status int, reason string) {
	k.t.Helper()
	resp, err := http.Get(k.url + path)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct{ Anivault struct{ Reason string } }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		k.t.Errorf("%s: %v", path, err)
	}
	return resp.StatusCode, body.Anivault.Reason
}

// hold sends a request that TMDB does not answer, and waits until it is there.
func (k *killable) hold(path string) {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	k.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url+path, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
	}()
	<-k.arrived
}

// listed is an account of accounts list --format json.
type listed struct {
	Name     string
	Standing string
	Running  int
	Quota    struct{ Used, Reserved int }
}

func (k *killable) accounts() (list []listed) {
	k.t.Helper()
	cmd := exec.Command("anivault", "accounts", "list", "--format", "json")
	cmd.Env = k.env
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		k.t.Fatalf("%v: %s", err, out)
	}
	return list
}

// Whoever reads the gateway's messages goes away: it goes on.
func TestAGatewayLivesWithoutTheReaderOfItsMessages(t *testing.T) {
	k := newKillable(t, "tmdb: {token: a-token-of-tests}\nserve: {acquire_timeout: {interactive: 100ms}}\n", "")
	if err := k.stderr.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second one finds it alive after the warning
		if status, _ := k.get("/3/account"); status != http.StatusForbidden {
			t.Errorf("answered with %d", status)
		}
	}
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A gateway is killed with a request under way. Nothing that was used of a quota is forgotten, what was set aside and
// the slot of its one account are free for the next gateway.
func TestSeed002AndSeed003AKilledGatewayLosesNoQuotaAndKeepsNoSlot(t *testing.T) {
	k := newKillable(t, "accounts: [{name: main, keys: [{token: a-token-of-main}], account_concurrency: 1, quota: "+
		"4/24h}]\n", "")
	for n := range 2 {
		if status, _ := k.get(fmt.Sprintf("/3/network/%d/changes", n)); status != 200 {
			t.Fatalf("%d", status)
		}
	}
	k.hold("/3/held/1")
	if a := k.accounts()[0]; a.Running != 1 || a.Quota.Used != 2 || a.Quota.Reserved != 1 {
		t.Errorf("before: %+v", a)
	}
	k.again()
	for n := range 2 {
		if status, reason := k.get(fmt.Sprintf("/3/network/%d/changes", 10+n)); status != 200 {
			t.Errorf("the next gateway: %d %s", status, reason)
		}
	}
	n := k.count()
	k.again()
	if status, reason := k.get("/3/network/20/changes"); status != 503 || reason != "quota" {
		t.Errorf("beyond the quota: %d %s", status, reason)
	}
	if k.count() != n {
		t.Error("TMDB was asked beyond the quota")
	}
	if a := k.accounts()[0]; a.Standing != "accepted" || a.Running != 0 || a.Quota.Used != 4 || a.Quota.Reserved != 0 {
		t.Errorf("at the end: %+v", a)
	}
}

// A gateway is killed while TMDB has asked for a pause: the next keeps it, and so does the standing of a key.
func TestAKilledGatewayLosesNoPause(t *testing.T) {
	k := newKillable(t, "limiter: {max_retries: 0}\ntmdb: {token: one-token}\n", "")
	if status, _ := k.get("/3/network/1/changes"); status != 200 {
		t.Fatalf("%d", status)
	}
	k.mu.Lock()
	k.pausing = true
	k.mu.Unlock()
	if status, reason := k.get("/3/network/2/changes"); status != 503 || reason != "pause" {
		t.Fatalf("%d %s", status, reason)
	}
	n := k.count()
	for range 2 {
		k.again()
		if status, reason := k.get("/3/network/3/changes"); status != 503 || reason != "pause" {
			t.Errorf("the next gateway: %d %s", status, reason)
		}
	}
	if k.count() != n {
		t.Error("TMDB was asked within the pause")
	}
	if a := k.accounts()[0]; a.Name != "default" || a.Standing != "accepted" {
		t.Errorf("%+v", a)
	}
}

// A gateway that drains waits for what is with TMDB. A second signal ends it at once.
func TestASecondSignalEndsTheDrain(t *testing.T) {
	k := newKillable(t, "tmdb: {token: one-token}\n", "")
	k.hold("/3/held/1")
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(chaosBound); ; {
		conn, err := net.Dial("tcp", strings.TrimPrefix(k.url, "http://"))
		if err != nil {
			break // it lets nobody in
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("it does not drain")
		}
		wait(t.Context(), 10*time.Millisecond)
	}
	wait(t.Context(), 200*time.Millisecond) // a signal that comes twice at once is one
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("it did not wait for what is with TMDB: %v", err)
	}
	_ = k.cmd.Wait()
	if status, ok := k.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() ||
		status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %s", k.cmd.ProcessState)
	}
}
