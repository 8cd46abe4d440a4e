//go:build unix

package cache

// Tests with real processes: the test binary starts itself again with a task
// in the environment.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const taskEnv = "ANIVAULT_CACHE_TEST_TASK"

func TestMain(m *testing.M) {
	if text := os.Getenv(taskEnv); text != "" {
		os.Exit(runTask(text))
	}
	os.Exit(m.Run())
}

// task is what a child process is to do.
type task struct {
	Name  string
	Dir   string
	URL   string
	Keys  []string
	Tag   string
	Limit uint64
}

// tasks are the children's programs; each returns an error for its exit.
var tasks = map[string]func(context.Context, task) error{
	"ask":    askTask,
	"write":  writeTask,
	"hold":   holdTask,
	"repair": repairTask,
	"full":   fullTask,
	"plain":  plainTask,
}

func runTask(text string) int {
	var tk task
	err := json.Unmarshal([]byte(text), &tk)
	if err == nil {
		err = tasks[tk.Name](context.Background(), tk)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is a running task.
type child struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs *bytes.Buffer
	in   io.WriteCloser
}

func start(t testing.TB, tk task, setup ...func(*exec.Cmd)) *child {
	t.Helper()
	text, err := json.Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), taskEnv+"="+string(text))
	c := &child{cmd: cmd, errs: &bytes.Buffer{}}
	cmd.Stderr = c.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	for _, f := range setup {
		f(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return c
}

// line reads one line that the child printed.
func (c *child) line(t testing.TB) string {
	t.Helper()
	text, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child said nothing: %v; stderr: %s", err, c.errs)
	}
	return strings.TrimSpace(text)
}

// wait waits for a good end and gives what else the child printed.
func (c *child) wait(t testing.TB) string {
	t.Helper()
	rest, _ := io.ReadAll(c.out)
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("child failed: %v; stderr: %s", err, c.errs)
	}
	return string(rest)
}

func (c *child) signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// countingServer answers /3/tv/N and counts each path.
func countingServer(t testing.TB) (url string, asked func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	counts := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		counts[r.URL.Path]++
		mu.Unlock()
		time.Sleep(time.Millisecond) // the fake's latency
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"path":%q,"status":"Ended","pad":%q}`, r.URL.Path, strings.Repeat("x", 2000))
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		out := map[string]int{}
		for k, v := range counts {
			out[k] = v
		}
		return out
	}
}

// askTask asks for its keys with four workers.
func askTask(ctx context.Context, tk task) error {
	s, err := Open(tk.Dir, Options{OnWarning: func(w Warning) { fmt.Fprintln(os.Stderr, w) }})
	if err != nil {
		return err
	}
	tr := &Transport{Store: s, Next: http.DefaultTransport}
	todo := make(chan string)
	errs := make(chan error, 4)
	for range 4 {
		go func() {
			var first error
			for path := range todo {
				if err := askOne(ctx, tr, tk.URL+path); err != nil && first == nil {
					first = err
				}
			}
			errs <- first
		}()
	}
	for _, k := range tk.Keys {
		todo <- k
	}
	close(todo)
	for range 4 {
		if e := <-errs; e != nil && err == nil {
			err = e
		}
	}
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}

func askOne(ctx context.Context, tr http.RoundTripper, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), req.URL.Path) {
		return fmt.Errorf("%s: %d %.60s", url, resp.StatusCode, body)
	}
	return nil
}

func TestProcessesNeverAskTheSameQuestionTwice(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			url, asked := countingServer(t)
			const each = 120
			want := map[string]int{}
			children := make([]*child, n)
			for p := range n {
				keys := make([]string, 0, each)
				for i := range each / 2 {
					keys = append(keys, fmt.Sprintf("/3/tv/%d", i), fmt.Sprintf("/3/tv/%d", (p+1)*1000+i))
				}
				rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
				for _, k := range keys {
					want[k] = 1
				}
				children[p] = start(t, task{Name: "ask", Dir: dir, URL: url, Keys: keys})
			}
			for _, c := range children {
				c.wait(t)
				if c.errs.Len() > 0 {
					t.Errorf("child warned: %s", c.errs)
				}
			}
			got := asked()
			for k := range want {
				if got[k] != 1 {
					t.Errorf("%s was asked %d times", k, got[k])
				}
			}
			s := open(t, dir, Options{})
			st, err := s.Stats(t.Context())
			if err != nil || st.Entries != len(want) {
				t.Errorf("%d entries of %d are there: %v", st.Entries, len(want), err)
			}
		})
	}
}

// writeTask writes without end, and says what is written.
func writeTask(ctx context.Context, tk task) error {
	s, err := Open(tk.Dir, Options{MergeRecords: 4, MergeEvery: 2 * time.Millisecond})
	if err != nil {
		return err
	}
	b, err := s.Bucket("results")
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s-%d", tk.Tag, i)
		e := &Entry{
			Key: "GET http://h:80/3/tv/" + key, Status: 200, Body: []byte(fmt.Sprintf(`{"id":%q,"pad":%q}`, key, strings.Repeat("p", i%50*100))),
			FetchedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
		}
		if err := s.Put(ctx, e); err != nil {
			return err
		}
		if err := b.Put(ctx, Item{Key: key, Value: []byte(key)}); err != nil {
			return err
		}
		fmt.Println(key)
	}
}

func TestKilledProcessesLoseNothingTheyHaveAcknowledged(t *testing.T) {
	dir := t.TempDir()
	acked := map[string]bool{}
	for round := range 50 {
		var cs []*child
		for p := range 2 {
			cs = append(cs, start(t, task{Name: "write", Dir: dir, Tag: fmt.Sprintf("r%d-p%d", round, p)}))
		}
		for _, c := range cs {
			acked[c.line(t)] = true
		}
		// At random: some lines later, wherever both are by then.
		for range rand.IntN(20) {
			acked[cs[round%2].line(t)] = true
		}
		for _, c := range cs {
			c.signal(t, syscall.SIGKILL)
		}
		for _, c := range cs {
			rest, _ := io.ReadAll(c.out)
			_ = c.cmd.Wait() // killed
			for line := range strings.Lines(string(rest)) {
				if key, whole := strings.CutSuffix(line, "\n"); whole {
					acked[key] = true
				}
			}
		}
		verifyDir(t, dir)
	}
	check := func(s *Store) {
		t.Helper()
		b, err := s.Bucket("results")
		if err != nil {
			t.Fatal(err)
		}
		for key := range acked {
			e, ok, err := s.Get(t.Context(), "GET http://h:80/3/tv/"+key)
			if err != nil || !ok || !strings.HasPrefix(string(e.Body), fmt.Sprintf(`{"id":%q,`, key)) {
				t.Fatalf("answer %s: %v %v", key, ok, err)
			}
			it, ok, err := b.Get(t.Context(), key)
			if err != nil || !ok || string(it.Value) != key {
				t.Fatalf("value %s: %v %v", key, ok, err)
			}
		}
	}
	s := open(t, dir, Options{})
	check(s)
	if _, err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(s)
	names, err := os.ReadDir(filepath.Join(dir, "journals"))
	if err != nil || len(names) != 0 {
		t.Errorf("after the merge %d files of dead processes are left: %v", len(names), err)
	}
	t.Logf("%d acknowledged records", len(acked)*2)
}

// holdTask takes the exclusive lock and keeps it, or claims a key and asks for
// it without ever being answered.
func holdTask(ctx context.Context, tk task) error {
	s, err := Open(tk.Dir, Options{})
	if err != nil {
		return err
	}
	if len(tk.Keys) > 0 {
		tr := &Transport{Store: s, Next: roundTrip(func(*http.Request) (*http.Response, error) {
			fmt.Println("asking")
			_, _ = io.ReadAll(os.Stdin)
			return reply(200, endedBody), nil
		})}
		if err := askOne(ctx, tr, tk.Keys[0]); err != nil && !strings.Contains(err.Error(), "200 ") {
			return err
		}
		return s.Close()
	}
	release, err := s.exclusive(ctx, time.Minute)
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = io.ReadAll(os.Stdin)
	release()
	return s.Close()
}

func TestStoppedLockHolderKeepsNobodyFromAnswering(t *testing.T) {
	dir := t.TempDir()
	clk := newClock()
	first := open(t, dir, Options{Now: clk.Now})
	up := &upstream{serve: always(200, endedBody)}
	get(t, &Transport{Store: first, Next: up}, tvURL)
	if _, err := first.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}

	holder := start(t, task{Name: "hold", Dir: dir})
	if got := holder.line(t); got != "held" {
		t.Fatal(got)
	}
	holder.signal(t, syscall.SIGSTOP)

	var warned []WarningKind
	s := open(t, dir, Options{Now: clk.Now, LockWait: 20 * time.Millisecond, OnWarning: func(w Warning) { warned = append(warned, w.Kind) }})
	down := &Transport{Store: s, Next: &upstream{serve: func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }}}
	if _, body, source := get(t, down, tvURL); source != "fresh" || body != endedBody {
		t.Errorf("with the upstream down the snapshot answers: %s %s", source, body)
	}
	clk.advance(20 * day)
	if _, body, source := get(t, down, tvURL); source != "stale" || body != endedBody {
		t.Errorf("later it answers as stale: %s %s", source, body)
	}
	live := &Transport{Store: s, Next: up}
	if _, _, source := get(t, live, strings.Replace(tvURL, "tv/1", "tv/2", 1)); source != "network" {
		t.Errorf("the network answers: %s", source)
	}
	if len(warned) != 1 || warned[0] != WarnLocked {
		t.Errorf("warned %v", warned)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	holder.signal(t, syscall.SIGCONT)
	holder.in.Close()
	holder.wait(t)
	again := open(t, dir, Options{Now: clk.Now})
	if _, ok, err := again.Get(t.Context(), "GET https://api.example.org:443/3/tv/2?language=en-US"); !ok || err != nil {
		t.Errorf("what was written meanwhile: %v %v", ok, err)
	}
}

func TestClaimOfDeadOrStoppedProcessIsTakenOver(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			holder := start(t, task{Name: "hold", Dir: dir, Keys: []string{tvURL}})
			if got := holder.line(t); got != "asking" {
				t.Fatal(got)
			}
			s := open(t, dir, Options{ClaimTimeout: 1500 * time.Millisecond})
			up := &upstream{serve: always(200, endedBody)}
			// As long as it lives the others wait, for as long as they like.
			short := &Transport{Store: s, Next: up, MaxWait: 5 * time.Millisecond}
			if _, text, source := get(t, short, tvURL); source != "error" || text != ErrWait.Error() {
				t.Fatalf("while it is asked: %s %s", source, text)
			}
			if up.count() != 0 {
				t.Fatal("the question was asked twice")
			}
			holder.signal(t, sig)
			if _, _, source := get(t, &Transport{Store: s, Next: up}, tvURL); source != "network" {
				t.Errorf("source %s", source)
			}
		})
	}
}

// repairTask opens a damaged cache at the same moment as others.
func repairTask(ctx context.Context, tk task) error {
	s, err := Open(tk.Dir, Options{MergeEvery: time.Millisecond})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.ReadAll(os.Stdin)
	e := &Entry{
		Key: "GET http://h:80/3/tv/" + tk.Tag, Status: 200, Body: []byte(endedBody),
		FetchedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	}
	if _, _, err := s.Get(ctx, e.Key); err != nil {
		return err
	}
	if err := s.Put(ctx, e); err != nil {
		return err
	}
	return s.Close()
}

func TestProcessesThatFindTheSameDamageMendItOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	get(t, &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}, tvURL)
	if _, err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.dbPath(), bytes.Repeat([]byte("garbage "), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	var cs []*child
	for p := range 4 {
		c := start(t, task{Name: "repair", Dir: dir, Tag: fmt.Sprint(p)})
		c.line(t)
		cs = append(cs, c)
	}
	for _, c := range cs {
		c.in.Close()
	}
	for _, c := range cs {
		c.wait(t)
	}
	st, err := s.Stats(t.Context())
	if err != nil || len(st.SetAside) != 1 || st.Entries != 4 {
		t.Errorf("%d set aside, %d entries of 4: %v", len(st.SetAside), st.Entries, err)
	}
}

// ignoreFileSizeSignal lets a write above the limit fail instead of ending the
// process.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }

// fullTask writes although files can't grow any more.
func fullTask(ctx context.Context, tk task) error {
	kinds := map[WarningKind]int{}
	s, err := Open(tk.Dir, Options{OnWarning: func(w Warning) { kinds[w.Kind]++ }})
	if err != nil {
		return err
	}
	ignoreFileSizeSignal()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: tk.Limit, Max: tk.Limit}); err != nil {
		return err
	}
	up := &upstream{serve: always(200, `{"status":"Ended","pad":"`+randomText(3000)+`"}`)}
	tr := &Transport{Store: s, Next: up}
	for i := range 20 {
		if err := askStatus(ctx, tr, fmt.Sprintf("http://h/3/tv/%d", i)); err != nil {
			return err
		}
	}
	before := up.count()
	for i := range 20 { // all of it is remembered, on disk or not
		if err := askStatus(ctx, tr, fmt.Sprintf("http://h/3/tv/%d", i)); err != nil {
			return err
		}
	}
	fmt.Println(before, up.count(), kinds[WarnWrite], len(kinds))
	return s.Close()
}

func askStatus(ctx context.Context, tr http.RoundTripper, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestFullDiskIsSaidOnceAndTheRunGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	c := start(t, task{Name: "full", Dir: dir, Limit: 20_000})
	if got := strings.TrimSpace(c.wait(t)); got != "20 20 1 1" {
		t.Errorf("asked, asked again, warnings, kinds: %s", got)
	}
	// What fitted was written, and is there for the next one.
	st, err := s.Stats(t.Context())
	if err != nil || st.Entries == 0 || st.Entries == 20 {
		t.Errorf("%d entries: %v", st.Entries, err)
	}
}

// plainTask asks for its keys, and says which sources answered and what was
// warned of.
func plainTask(ctx context.Context, tk task) error {
	var said []string
	s, err := Open(tk.Dir, Options{OnWarning: func(w Warning) { said = append(said, w.Kind.String()) }})
	if err != nil {
		return err
	}
	tr := &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}
	for _, u := range tk.Keys {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
		if err != nil {
			return err
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return err
		}
		info, _ := InfoFrom(resp)
		resp.Body.Close()
		said = append(said, info.Source.String())
	}
	fmt.Println(strings.Join(said, " "))
	return s.Close()
}

func TestReadOnlyDirectoryIsRead(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	get(t, &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}, tvURL)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var asNobody []func(*exec.Cmd)
	if os.Getuid() == 0 { // root may write anywhere
		asNobody = append(asNobody, func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		})
		exe := filepath.Join(t.TempDir(), "child")
		if err := copyFile(os.Args[0], exe); err != nil {
			t.Fatal(err)
		}
		for d := exe; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		asNobody = append(asNobody, func(cmd *exec.Cmd) { cmd.Path = exe; cmd.Dir = "/" })
	}
	allow := func(dirMode, fileMode os.FileMode) {
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(p, dirMode)
			}
			return os.Chmod(p, fileMode)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	allow(0o555, 0o444)
	defer allow(0o755, 0o644)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(tvURL, "tv/1", "tv/2", 1)
	c := start(t, task{Name: "plain", Dir: dir, Keys: []string{tvURL, other, other}}, asNobody...)
	if got := strings.TrimSpace(c.wait(t)); got != "fresh read_only network fresh" {
		t.Errorf("warnings and sources: %s", got)
	}
}
