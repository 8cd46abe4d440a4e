package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of scripts about the gateway:
//
//	gateway ARGS...               starts "anivault serve --listen 127.0.0.1:0 ARGS" and waits until it listens;
//	                              $GATEWAY is its URL, $GATEWAY_ADDR its address
//	stopped SIG N                 sends the signal, or KILL; the exit status must be N. What it printed is in gateway.err
//	fetch STATUS PATH [TEXT [HEADER...]]  asks it; the answer must have the status and hold the text. $TOKEN in a
//	                              header is replaced
var gateways sync.Map // running gateways by the script's work folder

// runningGateway is a gateway of a script.
type runningGateway struct {
	cmd    *exec.Cmd
	stderr *lines
}

// lines keeps what a process prints and tells when a line begins with a prefix.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	done chan struct{}
}

func startGateway(ts *testscript.TestScript, _ bool, args []string) {
	path, err := exec.LookPath("anivault")
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, "anivault"); err != nil {
			if _, bad := os.Stat(p); bad == nil {
				path, err = p, nil
			}
		}
	}
	ts.Check(err)
	g := &runningGateway{stderr: &lines{done: make(chan struct{})}}
	g.cmd = exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"}, args...)...)
	g.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "GORACE", "ANIVAULT_TMDB_TOKEN", "ANIVAULT_TMDB_BASE_URL",
		"NOTIFY_SOCKET",
	} {
		if v := ts.Getenv(name); v != "" {
			g.cmd.Env = append(g.cmd.Env, name+"="+v)
		}
	}
	out, err := g.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(g.cmd.Start())
	listening := make(chan string, 1)
	go func() {
		defer close(g.stderr.done)
		for read := bufio.NewReader(out); ; {
			line, err := read.ReadString('\n')
			g.stderr.mu.Lock()
			g.stderr.text.WriteString(line)
			g.stderr.mu.Unlock()
			if url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on "); ok {
				listening <- url
			}
			if err != nil {
				close(listening)
				return
			}
		}
	}()
	ts.Defer(func() {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
	})
	url, ok := <-listening
	if !ok {
		ts.Fatalf("it does not listen:\n%s", g.stderr.text.String())
	}
	ts.Setenv("GATEWAY", url)
	ts.Setenv("GATEWAY_ADDR", strings.TrimPrefix(url, "http://"))
	gateways.Store(ts.Getenv("WORK"), g)
}

func stopGateway(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: stopped SIG STATUS")
	}
	found, ok := gateways.LoadAndDelete(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no gateway runs")
	}
	g := found.(*runningGateway)
	ts.Check(g.cmd.Process.Signal(map[string]os.Signal{
		"INT": os.Interrupt, "TERM": syscall.SIGTERM,
		"KILL": syscall.SIGKILL,
	}[args[0]]))
	<-g.stderr.done
	_ = g.cmd.Wait() // the status says it
	ts.Check(os.WriteFile(ts.MkAbs("gateway.err"), []byte(g.stderr.text.String()), 0o600))
	if got := g.cmd.ProcessState.ExitCode(); got != number(ts, args[1]) {
		ts.Fatalf("exit status %d:\n%s", got, g.stderr.text.String())
	}
}

func fetch(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: fetch STATUS PATH [TEXT [HEADER...]]")
	}
	req, err := http.NewRequest(http.MethodGet, ts.Getenv("GATEWAY")+args[1], nil)
	ts.Check(err)
	for _, h := range args[min(3, len(args)):] {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	ts.Check(err)
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	ts.Check(err)
	var head strings.Builder
	_ = resp.Header.Write(&head)
	if resp.StatusCode != number(ts, args[0]) || len(args) > 2 && !strings.Contains(head.String()+string(body), args[2]) {
		ts.Fatalf("%s\n%s\n%s", resp.Status, head.String(), body)
	}
}
