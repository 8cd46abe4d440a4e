//go:build unix

package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/internal/tmdbfake"
)

// site is a gateway of one machine whose coordinator is a server of the test's own.
type site struct {
	*testing.T
	server  *redistest.Server
	proxy   *redistest.Proxy // the gateway's way to the server
	url     string           // of the gateway
	state   string           // the key of the limiter's state
	log     string
	stderr  output
	fetched int
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// someone is the rule that makes the gateway's user. A server forgets it when it ends.
var someone = []string{"ACL", "SETUSER", "someone", "on", ">opensesame", "~*", "&*", "+@all"}

// newSite starts a gateway after first has happened to its server.
func newSite(t *testing.T, first func(*site)) *site {
	t.Helper()
	s := &site{T: t, server: redistest.Start(t), log: filepath.Join(t.TempDir(), "log")}
	var err error
	s.proxy, err = redistest.NewProxy(s.server.Addr)
	s.check(err)
	t.Cleanup(s.proxy.Close)
	fake, err := tmdbfake.New(tmdbfake.Config{})
	s.check(err)
	tmdb, err := fake.Listen("127.0.0.1:0")
	s.check(err)
	t.Cleanup(func() { _ = tmdb.Close() })
	sum := sha256.Sum256([]byte(tmdb.URL()))
	s.state = "anivault:" + hex.EncodeToString(sum[:8]) + ":state"
	s.do(someone...)
	first(s)
	cmd := exec.Command("anivault", "serve", "--listen", "127.0.0.1:0", "--admin-listen", "off", "--log-file", s.log)
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "ANIVAULT_TMDB_TOKEN=script-token", "ANIVAULT_TMDB_BASE_URL=" + tmdb.URL(),
		"ANIVAULT_COORDINATOR=redis://someone:opensesame@" + s.proxy.Addr,
	}
	cmd.Stderr = &s.stderr
	s.check(cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.url = s.find(`listening on (http://\S+)`, s.stderr.String, func() {})[1]
	s.fetch()
	return s
}

func (s *site) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// do sends a command to the server.
func (s *site) do(words ...string) string {
	s.Helper()
	reply, err := s.server.Do(words...)
	s.check(err)
	return reply
}

// fetch asks for something new, so that a request passes the limiter.
func (s *site) fetch() {
	s.fetched++
	resp, err := http.Get(fmt.Sprintf("%s/3/movie/%d", s.url, 1_000_000+s.fetched))
	if err != nil {
		s.Fatalf("%v\n%s", err, s.stderr.String())
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// find waits until a pattern is there, and does something meanwhile.
func (s *site) find(pattern string, in func() string, meanwhile func()) []string {
	s.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if m := re.FindStringSubmatch(in()); m != nil {
			return m
		}
		meanwhile()
	}
	s.Fatalf("no line %q in\n%s", pattern, in())
	return nil
}

// told waits for an event's line on stderr, with its sentence, and in the log file, while requests go on.
func (s *site) told(event, sentence string) {
	s.Helper()
	name, _, _ := strings.Cut(event, " ")
	sentence = strings.ReplaceAll(sentence, "PLACE", regexp.QuoteMeta(s.proxy.Addr))
	s.find(" event="+name+` .*error="`+sentence+`"`, s.stderr.String, s.fetch)
	s.find(" event="+event, func() string {
		b, _ := os.ReadFile(s.log)
		return string(b)
	}, func() {})
}

// A wrong password for Redis says nothing about TMDB, which was not asked.
func TestDoctorDoesNotBlameTMDBForRedis(t *testing.T) {
	if _, err := redistest.FindProgram(); err != nil {
		t.Skip(err)
	}
	server := redistest.Start(t)
	if _, err := server.Do(someone...); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("anivault", "doctor")
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "ANIVAULT_TMDB_TOKEN=script-token", "ANIVAULT_TMDB_BASE_URL=http://127.0.0.1:9",
		"ANIVAULT_COORDINATOR=redis://someone:wrong@" + server.Addr,
	}
	out, _ := cmd.Output() // it fails
	if text := string(out); !strings.Contains(text, "FAIL  tmdb        not asked: ") ||
		!strings.Contains(text, "refuses the user or password") || strings.Contains(text, "status.themoviedb.org") {
		t.Error(text)
	}
}

// Whatever happens to the coordinator of a running gateway is reported on stderr, in the words of
// docs/several-machines.md, and as an event in the log. Requests continue all the time.
func TestCoordinatorMessages(t *testing.T) {
	if _, err := redistest.FindProgram(); err != nil {
		t.Skip(err)
	}
	lost := func(why string) string {
		return "coordinator lost: Redis at PLACE " + why + "; this machine continues alone with 1/2 of the limits"
	}
	back := func(s *site) {
		s.Helper()
		s.told("coordinator_back .* alone=", `coordinator at PLACE is back after [0-9.]+m?s; the limits are shared again`)
	}
	const forgot = "coordinator at PLACE had lost the limiter's state; this process restored what it knew"
	inSync := func(s *site) (replica *redistest.Server, ask func(...string) string) {
		replica = redistest.Start(s.T)
		ask = func(words ...string) string {
			reply, err := replica.Do(words...)
			s.check(err)
			return reply
		}
		host, port, _ := strings.Cut(s.server.Addr, ":")
		ask(someone...)
		ask("REPLICAOF", host, port)
		s.find("^:[1-9]", func() string { return ask("STRLEN", s.state) }, func() {})
		return replica, ask
	}
	hash := func(s *site) []string {
		return []string{"EVAL", "return redis.sha1hex(redis.call('GET', KEYS[1]))", "1", s.state}
	}
	first := map[string]func(*site){"never there": func(s *site) { s.server.Kill() }}
	for name, happens := range map[string]func(*site){
		"never there": func(s *site) {
			s.told("coordinator_lost .* parts=2$", lost("(has closed|refuses) the connection"))
			s.check(s.server.Restart())
			s.do(someone...)
			back(s)
		},
		"failed over to a replica that knows all": func(s *site) {
			replica, ask := inSync(s)
			s.find("^same$", func() string {
				if s.do(hash(s)...) == ask(hash(s)...) {
					return "same"
				}
				return ""
			}, func() {})
			s.proxy.Redirect(replica.Addr)
			ask("REPLICAOF", "NO", "ONE")
			before := ask(hash(s)...)
			s.find("^written$", func() string {
				if ask(hash(s)...) != before {
					return "written"
				}
				return ""
			}, s.fetch)
			if strings.Contains(s.stderr.String(), "had lost") {
				s.Errorf("told of a loss:\n%s", s.stderr.String())
			}
		},
		"killed and started again": func(s *site) {
			s.server.Kill()
			s.told("coordinator_lost .* parts=2$", lost("(has closed|refuses) the connection"))
			s.check(s.server.Restart())
			s.do(someone...)
			back(s)
		},
		"frozen": func(s *site) {
			s.server.Stop()
			s.told("coordinator_lost .* parts=2$", lost("does not answer in time"))
			s.server.Continue()
			back(s)
		},
		"made a replica": func(s *site) {
			s.do("REPLICAOF", "127.0.0.1", "1")
			s.told("coordinator_lost .* parts=2$", lost("is a read-only replica"))
			s.do("REPLICAOF", "NO", "ONE")
			back(s)
		},
		"out of memory": func(s *site) {
			s.do("CONFIG", "SET", "maxmemory", "1")
			s.told("coordinator_lost .* parts=2$", lost("is out of memory"))
			s.do("CONFIG", "SET", "maxmemory", "0")
			back(s)
		},
		"without rights": func(s *site) {
			s.do("ACL", "SETUSER", "someone", "-set", "-evalsha", "-eval")
			s.told("coordinator_lost .* parts=2$", lost("gives this user too few rights"))
			s.do("ACL", "SETUSER", "someone", "+@all")
			back(s)
		},
		"emptied": func(s *site) {
			s.do("FLUSHALL")
			s.told("coordinator_state_lost", forgot)
		},
		"failed over to a replica that is behind": func(s *site) {
			replica, ask := inSync(s)
			ask("REPLICAOF", "NO", "ONE")
			for range 3 {
				s.fetch()
			}
			s.proxy.Redirect(replica.Addr)
			s.told("coordinator_state_lost", forgot)
		},
		"slow": func(s *site) {
			s.proxy.SetDelay(70 * time.Millisecond)
			s.told("coordinator_slow ", `coordinator at PLACE is slow: one update in a hundred takes [0-9.]+m?s or longer`)
		},
		"damaged": func(s *site) {
			s.do("SET", s.state, "hello")
			s.told("state_corrupt", `limiter state was damaged, starting carefully; kept as PLACE \(`+s.state+`:corrupt\): .*`)
		},
		"of a newer version": func(s *site) {
			const newer = "AVcoord\n\x02\x00\x00\x00\xae\x26\x34\x85 and more"
			s.do("SET", s.state, newer)
			s.told("state_newer", `a newer version wrote the limiter state in PLACE; .*; update anivault`)
			if got := s.do("STRLEN", s.state); got != fmt.Sprintf(":%d", len(newer)) {
				s.Errorf("%s bytes are left of %d", got, len(newer))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare := first[name]
			if prepare == nil {
				prepare = func(*site) {}
			}
			s := newSite(t, prepare)
			happens(s)
			b, err := os.ReadFile(s.log)
			s.check(err)
			if strings.Contains(s.stderr.String()+string(b), "opensesame") {
				t.Error("the password is shown")
			}
		})
	}
}
