// Package redistest starts real Redis or Valkey servers, and a proxy that simulates a bad network.
package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Server is a redis-server on a free loopback port, with an append-only file that is synced every second.
type Server struct {
	Addr string // host:port
	Dir  string // directory of its files

	path string
	args []string
	cmd  *exec.Cmd
	done chan struct{}
}

// Programs are the server programs that can be used.
var Programs = []string{"redis-server", "valkey-server"}

// FindProgram returns the path of the first installed one of the programs, by default of Programs.
func FindProgram(programs ...string) (string, error) {
	if len(programs) == 0 {
		programs = Programs
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s in PATH: apt-get install %[1]s", programs[0])
}

// Start starts a server until the end of the test. It skips the test if no server is installed.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, nil, args)
}

// StartProgram is like Start, but runs a particular one of Programs.
func StartProgram(t testing.TB, program string) *Server {
	t.Helper()
	return start(t, []string{program}, nil)
}

func start(t testing.TB, programs, args []string) *Server {
	t.Helper()
	path, err := FindProgram(programs...)
	if err != nil {
		t.Skip(err)
	}
	s, err := newServer(path, t.TempDir(), args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// New starts a server with its files in dir. The caller must call Kill.
func New(dir string, args ...string) (*Server, error) {
	path, err := FindProgram()
	if err != nil {
		return nil, err
	}
	return newServer(path, dir, args)
}

func newServer(path, dir string, args []string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: "127.0.0.1:" + port, Dir: dir, path: path}
	s.args = append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--appendonly", "yes", "--appendfsync", "everysec",
		"--save", "", "--daemonize", "no", "--unixsocket", s.Socket(),
	}, args...)
	return s, s.Restart()
}

// Socket returns the path of the server's Unix socket.
func (s *Server) Socket() string { return filepath.Join(s.Dir, "sock") }

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// Restart starts a server again after Kill, with its existing files.
func (s *Server) Restart() error {
	s.cmd = exec.Command(s.path, s.args...)
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		close(done)
	}(s.cmd, s.done)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if conn, err := net.Dial("unix", s.Socket()); err == nil {
			conn.Close()
			return nil
		}
		select {
		case <-s.done:
			text, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
			return fmt.Errorf("the server has ended: %s", text)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return errors.New("the server does not begin to listen")
}

// Kill kills the server as kill -9 does.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// Do sends a command over the Unix socket and returns a string or number, or the first line of another reply.
func (s *Server) Do(words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", s.Socket())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := conn.Write([]byte(b.String())); err != nil {
		return "", err
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	line = strings.TrimSpace(line)
	if err == nil && strings.HasPrefix(line, "$") && line != "$-1" {
		line, err = in.ReadString('\n')
		return strings.TrimSpace(line), err
	}
	if err == nil && strings.HasPrefix(line, "-") {
		err = errors.New(line[1:])
	}
	return line, err
}
