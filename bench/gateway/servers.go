package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/kit"
)

const path = "/3/tv/9000001"

// body is the answer that all of them give, 8 KB.
var body = []byte(`{"id":9000001,"name":"x","status":"Ended","overview":"` + strings.Repeat("lorem ipsum ", 680) + `"}`)

func answer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=86400")
	w.Header().Set("ETag", `"x"`)
	_, _ = w.Write(body)
}

// bePeer serves until it is killed, and prints its address.
func bePeer(role, target string) error {
	var h http.Handler = http.HandlerFunc(answer)
	if role == "proxy" {
		u, err := url.Parse(target)
		if err != nil {
			return err
		}
		h = httputil.NewSingleHostReverseProxy(u)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", l.Addr())
	return http.Serve(l, h) //nolint:gosec // for some seconds, on the loopback
}

// pinned is a command on the machine's last processor, while this program keeps to the others.
func pinned(ctx context.Context, name string, args ...string) *exec.Cmd {
	last := runtime.NumCPU() - 1
	if _, err := exec.LookPath("taskset"); err != nil || last < 1 {
		return exec.CommandContext(ctx, name, args...)
	}
	return exec.CommandContext(ctx, "taskset", append([]string{"-c", strconv.Itoa(last), name}, args...)...)
}

// stayOff keeps this program off the processor that the servers have.
func stayOff(ctx context.Context) {
	last := runtime.NumCPU() - 1
	if last < 1 || exec.CommandContext(ctx, "taskset", "-a", "-c", "-p", "0-"+strconv.Itoa(last-1),
		strconv.Itoa(os.Getpid())).Run() != nil {
		fmt.Println("nothing is pinned to a processor: taskset is missing, or there is one alone")
		return
	}
	runtime.GOMAXPROCS(last)
}

// server is one that is measured.
type server struct {
	name string
	cmd  *exec.Cmd
	url  string    // where it listens
	cost []float64 // microseconds of processor a request, by round
}

// start starts a server and waits for its address. stop ends it.
func (s *server) start() error {
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	read := bufio.NewReader(out)
	for s.url == "" {
		line, err := read.ReadString('\n')
		s.url, _ = strings.CutPrefix(strings.TrimSpace(line), "listening on ")
		if err != nil {
			return fmt.Errorf("%s does not listen: %s", s.name, line)
		}
	}
	go io.Copy(io.Discard, read) //nolint:errcheck // until it ends
	return nil
}

// stop ends a server that runs.
func (s *server) stop() {
	if s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// gateway returns anivault serve in front of an upstream.
func (t *trial) gateway(ctx context.Context, upstream string) *server {
	s := &server{name: "anivault serve"}
	s.cmd = pinned(ctx, t.bin, "serve", "--admin-listen", "off", "--listen", "127.0.0.1:0")
	s.cmd.Env = kit.Env(t.dir, upstream)
	return s
}

// startNginx starts nginx with a cache in front of the upstream.
func startNginx(ctx context.Context, dir, upstream string) (*server, error) {
	bin, err := exec.LookPath("nginx")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	conf := fmt.Sprintf(`worker_processes 1; daemon off; master_process off;
pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events { worker_connections 256; }
http { access_log off; keepalive_requests 1000000; proxy_cache_path %[1]s/cache keys_zone=a:1m;
client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u;
scgi_temp_path %[1]s/s;
server { listen %[2]s; location / { proxy_pass %[3]s; proxy_cache a; proxy_cache_valid 200 1d; } } }
`, dir, addr, upstream)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	s := &server{name: "nginx proxy_cache", url: "http://" + addr, cmd: pinned(ctx, bin, "-p", dir, "-c", file)}
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("it does not listen on %s", addr)
}

// load sends requests for the cached answer over 16 connections that are kept.
func load(url string, requests int) error {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}
	defer c.CloseIdleConnections()
	var wg sync.WaitGroup
	failed := make(chan error, 16)
	for range 16 {
		wg.Go(func() {
			for range requests / 16 {
				if err := get(c, url+path); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

// get asks for the cached answer.
func get(c *http.Client, url string) error {
	resp, err := c.Get(url)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err == nil && (resp.StatusCode != http.StatusOK || n != int64(len(body))) {
		err = fmt.Errorf("%s with %d bytes", resp.Status, n)
	}
	return err
}

// measure notes what a request of the load costs the server.
func (s *server) measure(requests int) error {
	before, err := s.spent()
	if err == nil {
		err = load(s.url, requests)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	after, err := s.spent()
	s.cost = append(s.cost, float64(after-before)/float64(time.Microsecond)/float64(requests))
	return err
}

// tick is the unit of the operating system's accounts.
const tick = 10 * time.Millisecond

// spent is the processor time of a server so far.
func (s *server) spent() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("what is %q?", rest)
	}
	return time.Duration(user+system) * tick, nil
}
