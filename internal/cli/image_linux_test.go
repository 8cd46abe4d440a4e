package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// image is the root of a container made from packaging/Dockerfile, in which the program runs as one user.
type image struct {
	t    *testing.T
	root string
	user syscall.Credential
	env  []string
}

// newImage puts the program, the folders and the environment of the Dockerfile below root.
func newImage(t *testing.T, program string, uid, gid uint32, more ...string) *image {
	t.Helper()
	m := &image{t: t, root: t.TempDir(), user: syscall.Credential{Uid: uid, Gid: gid}, env: more}
	dockerfile, err := os.ReadFile("../../packaging/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, regexp.MustCompile(`(?m)([A-Z_]+)=(/[a-z/]+)`).FindAllString(string(dockerfile), -1)...)
	if len(m.env)-len(more) != 5 {
		t.Fatalf("the Dockerfile sets %q", m.env)
	}
	for _, dir := range []string{"usr/bin", "proc", "config", "media", "tmp", "data/downloads", "data/library"} {
		m.must(os.MkdirAll(filepath.Join(m.root, dir), 0o755))
	}
	for _, dir := range []string{"tmp", "config"} { // as in .goreleaser.yaml
		m.must(os.Chmod(filepath.Join(m.root, dir), 0o777|os.ModeSticky))
	}
	for _, dir := range []string{"data", "data/downloads", "data/library"} { // the mounted volume is the user's own
		m.must(os.Chown(filepath.Join(m.root, dir), int(uid), int(gid)))
	}
	text, err := os.ReadFile(program)
	m.must(err)
	m.must(os.WriteFile(filepath.Join(m.root, "usr/bin/anivault"), text, 0o755))
	proc := filepath.Join(m.root, "proc")
	if err := syscall.Mount("proc", proc, "proc", 0, ""); err != nil {
		t.Skipf("a container's /proc can't be mounted here: %v", err)
	}
	t.Cleanup(func() { m.must(syscall.Unmount(proc, syscall.MNT_DETACH)) })
	return m
}

func (m *image) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// write makes a file of the user.
func (m *image) write(name, text string) {
	m.t.Helper()
	name = filepath.Join(m.root, name)
	m.must(os.MkdirAll(filepath.Dir(name), 0o777))
	m.must(os.WriteFile(name, []byte(text), 0o600))
	m.must(os.Chown(name, int(m.user.Uid), int(m.user.Gid)))
}

func (m *image) command(args ...string) *exec.Cmd {
	cmd := exec.Command("/usr/bin/anivault", args...)
	cmd.Dir, cmd.Env = "/media", m.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root, Credential: &m.user, Pdeathsig: syscall.SIGKILL}
	return cmd
}

func (m *image) run(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// start runs a service until the test ends, and waits for a line of its output.
func (m *image) start(line string, args ...string) string {
	m.t.Helper()
	cmd := m.command(args...)
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	m.must(cmd.Start())
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		write.Close()
	}()
	m.t.Cleanup(func() {
		m.must(cmd.Process.Signal(syscall.SIGTERM))
		if err, stopped := <-ended, (*exec.ExitError)(nil); err != nil && !errors.As(err, &stopped) {
			m.t.Error(err)
		}
	})
	var said []string
	for lines := bufio.NewScanner(read); lines.Scan(); {
		said = append(said, lines.Text())
		if _, rest, ok := strings.Cut(lines.Text(), line); ok {
			go func() { _, _ = io.Copy(io.Discard, read) }()
			return rest
		}
	}
	m.t.Fatalf("%q never says %q:\n%s", args, line, strings.Join(said, "\n"))
	return ""
}

// links returns the number of names of a file.
func (m *image) links(name string) uint64 {
	m.t.Helper()
	info, err := os.Stat(filepath.Join(m.root, name))
	m.must(err)
	return uint64(info.Sys().(*syscall.Stat_t).Nlink) //nolint:unconvert // narrower elsewhere
}

// mediaServers stands for all servers that notify knows. It records the requests of each.
type mediaServers struct {
	mu   sync.Mutex
	sent map[string][]string
	any  chan struct{} // has an item after each request
}

func (s *mediaServers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.sent[name] = append(s.sent[name], r.Method+" /"+path+" "+r.URL.Query().Get("path")+" "+string(body))
	s.mu.Unlock()
	switch {
	case path == "library/sections":
		_, _ = io.WriteString(w, `{"MediaContainer":{"Directory":[{"key":"1","Location":[{"path":"/data/library"}]}]}}`)
	case name == "kodi":
		_, _ = io.WriteString(w, `{"id":1,"jsonrpc":"2.0","result":"OK"}`)
	}
	select {
	case s.any <- struct{}{}:
	default:
	}
}

// refreshed reports whether each server was told of a show's folder since the last call.
func (s *mediaServers) refreshed(folder string) (missing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{"jellyfin", "emby", "plex", "kodi", "webhook"} {
		if text := strings.Join(s.sent[name], "\n"); !strings.Contains(text, folder) {
			missing += fmt.Sprintf("%s got %q\n", name, text)
		}
	}
	return missing
}

// runWithOwnMounts runs the test again in a process with mounts of its own, so that a killed test leaves none behind.
func runWithOwnMounts(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "ANIVAULT_TEST_OWN_MOUNTS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM):
		t.Skipf("a process can't have mounts of its own here: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("%s", out)
	}
}

// The image runs as the owner of the library, whoever that is: it matches, links, watches, serves and refreshes
// media servers.
func TestImageRunsAsAnyUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can enter the image's file system as another user")
	}
	if os.Getenv("ANIVAULT_TEST_OWN_MOUNTS") == "" {
		runWithOwnMounts(t)
		return
	}
	program := filepath.Join(t.TempDir(), "anivault")
	build := exec.Command("go", "build", "-o", program, "../../cmd/anivault")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, user := range []struct{ uid, gid uint32 }{{1000, 1000}, {99, 100}} {
		t.Run(fmt.Sprintf("%d:%d", user.uid, user.gid), func(t *testing.T) {
			s := newStand(t, upstream.Scenario{})
			servers := &mediaServers{sent: map[string][]string{}, any: make(chan struct{}, 1)}
			server := httptest.NewServer(servers)
			t.Cleanup(server.Close)
			m := newImage(t, program, user.uid, user.gid, s.env[3:]...)
			config := "notify:\n"
			for _, to := range []string{"jellyfin", "emby", "plex", "kodi", "webhook"} {
				config += fmt.Sprintf("  - {to: %s, url: %q, on: [changed]}\n", to, server.URL+"/"+to)
			}
			m.write("config/anivault/config.yaml", config)
			m.must(os.Chown(filepath.Join(m.root, "config/anivault"), int(user.uid), int(user.gid)))
			m.write("data/downloads/Cowboy Bebop - 05.mkv", "five")

			if out := m.run("match", "/data/downloads"); !strings.Contains(out, `"status":"matched"`) {
				t.Errorf("match says %s", out)
			}
			m.run("organize", "--yes", "/data/downloads", "--to", "/data/library")
			if n := m.links("data/downloads/Cowboy Bebop - 05.mkv"); n != 2 {
				t.Errorf("the download has %d names", n)
			}
			if missing := servers.refreshed("Cowboy Bebop"); missing != "" {
				t.Error(missing)
			}

			m.start("watching", "watch", "/data/downloads", "--to", "/data/library", "--settle", "200ms", "--poll", "200ms")
			m.write("data/downloads/Sousou no Frieren - 01.mkv", "one")
			for missing := "not yet"; missing != ""; missing = servers.refreshed("Frieren") {
				select {
				case <-servers.any:
				case <-time.After(time.Minute):
					t.Fatal(missing)
				}
			}
			if n := m.links("data/downloads/Sousou no Frieren - 01.mkv"); n != 2 {
				t.Errorf("the new download has %d names", n)
			}

			token := strings.TrimSpace(m.run("serve", "token", "new", "-q", "test"))
			url := m.start("listening on ", "serve", "--listen", "127.0.0.1:0", "--admin-listen", "off")
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/3/search/tv?query=Cowboy+Bebop", nil)
			m.must(err)
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := http.DefaultClient.Do(req)
			m.must(err)
			defer resp.Body.Close()
			if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
				t.Errorf("the gateway answers %s %s", resp.Status, body)
			}
		})
	}
}
