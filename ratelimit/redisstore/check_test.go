package redisstore_test

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/testing/redistest"
	"github.com/anivault/anivault/internal/tmdbfake/cert"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/testing/storetest"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

func address(t testing.TB, text string) redisstore.Address {
	t.Helper()
	a, err := redisstore.ParseAddress(text)
	must(t, err)
	return a
}

// A user with exactly the rule that doctor prints passes the suite.
func TestTheRuleIsEnough(t *testing.T) {
	server := redistest.Start(t)
	rule := strings.Replace(redisstore.Options{}.ACLRule("anivault"), ">PASSWORD", ">secret", 1)
	_, err := server.Do(strings.Fields(rule)...)
	must(t, err)
	_, err = server.Do("ACL", "SETUSER", "default", "off")
	if err != nil {
		t.Fatal(err)
	}
	a := address(t, "redis://anivault:secret@"+server.Addr)
	found, err := redisstore.Check(t.Context(), redisstore.Options{Address: a, Upstream: "test"})
	if err != nil || found.Server == "" || found.InfoDenied || found.RoundTrip <= 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	worlds := 0
	storetest.Test(t, func(*testing.T) storetest.World {
		worlds++
		prefix := fmt.Sprintf("anivault:%d", worlds)
		return storetest.World{Open: func(t *testing.T) ratelimit.Store {
			return unhurried(t, redisstore.Options{Address: a, Upstream: "test", Prefix: prefix, Dir: t.TempDir()})
		}}
	})
}

// A password that has changed is read from its file at the next connection.
func TestANewPasswordNeedsNoRestart(t *testing.T) {
	server := redistest.Start(t)
	do := func(words ...string) {
		t.Helper()
		_, err := server.Do(words...)
		must(t, err)
	}
	do(strings.Fields(strings.Replace(redisstore.Options{}.ACLRule("anivault"), ">PASSWORD", ">first", 1))...)
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte("first\r\nrest\n"), 0o600))
	st := unhurried(t, redisstore.Options{
		Address: address(t, "redis://anivault@"+server.Addr), Password: "first", PasswordFile: file, Upstream: "test",
		Dir: t.TempDir(),
	})
	must(t, (ratelimit.Operator{Store: st}).Reset(t.Context(), false))
	do("ACL", "SETUSER", "anivault", "resetpass", ">second")
	must(t, os.WriteFile(file, []byte("second\n"), 0o600))
	do("CLIENT", "KILL", "USER", "anivault")
	must(t, (ratelimit.Operator{Store: st}).Reset(t.Context(), false))
}

// The error says in its own words why a server can't be used, without user and password.
func TestCheckSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	plain := redistest.Start(t)
	for _, words := range [][]string{
		{"ACL", "SETUSER", "reader", "on", ">secret", "~*", "&*", "+@read", "+info", "+time", "+exists"},
		{"ACL", "SETUSER", "strange", "on", ">secret", "~other:*", "&other:*", "+@all"},
	} {
		_, err := plain.Do(words...)
		must(t, err)
	}
	for name, c := range map[string]struct {
		address string
		kind    redisstore.Kind
		says    string
	}{
		"nobody there":   {"redis://127.0.0.1:1", redisstore.Unreachable, "refuses the connection"},
		"no such socket": {"unix://" + filepath.Join(dir, "none"), redisstore.Unreachable, "no such socket"},
		"a wrong password": {
			"redis://reader:wrong-secret@" + plain.Addr, redisstore.Password,
			"refuses the user or password",
		},
		"an unknown user": {
			"redis://nobody:wrong-secret@" + plain.Addr, redisstore.Password,
			"refuses the user or password",
		},
		"too few commands":    {"redis://reader:secret@" + plain.Addr, redisstore.Rights, "too few rights"},
		"keys of others":      {"redis://strange:secret@" + plain.Addr, redisstore.Rights, "too few rights"},
		"no such database":    {"redis://" + plain.Addr + "/99", redisstore.Database, "no database"},
		"TLS to a plain port": {"rediss://" + plain.Addr, redisstore.Certificate, "does not speak TLS on this port"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := redisstore.Check(t.Context(), redisstore.Options{Address: address(t, c.address), Upstream: "test"})
			f, ok := errors.AsType[*redisstore.Fault](err)
			if !ok || f.Kind != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want kind %d: %s", err, c.kind, c.says)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, err), "secret") {
				t.Errorf("it shows the password: %v", err)
			}
		})
	}
}

// A server that is older than what the scripts need is refused by what it says of itself, and a newer one is not.
func TestOldServersAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ info, says string }{
		"an old Redis":  {"redis_version:6.0.16", "is Redis 6.0.16; 6.2 is the oldest that will do"},
		"an old Valkey": {"redis_version:7.2.4\r\nvalkey_version:7.1.0", "is Valkey 7.1.0; 7.2 is the oldest that will do"},
	} {
		t.Run(name, func(t *testing.T) {
			a := address(t, "redis://"+pretend(t, c.info))
			_, err := redisstore.Check(t.Context(), redisstore.Options{Address: a, Upstream: "test", Timeout: 5 * time.Second})
			f, ok := errors.AsType[*redisstore.Fault](err)
			if !ok || f.Kind != redisstore.TooOld || !strings.Contains(f.Error(), c.says) || !f.Lasting() {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// pretend returns the address of a server that knows no more than to say what it is.
func pretend(t *testing.T, info string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					reply := map[string]string{
						"time": "*2\r\n$1\r\n1\r\n$1\r\n1\r\n", "getrange": "$0\r\n\r\n", "exists": ":0\r\n",
						"info": fmt.Sprintf("$%d\r\n%s\r\n", len(info), info), "hello": "-ERR unknown command\r\n",
					}[strings.ToLower(in.Text())]
					if _, err := conn.Write([]byte(reply)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestCheckRemarks(t *testing.T) {
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "no")
	found, err := redisstore.Check(t.Context(), redisstore.Options{
		Address:  address(t, "unix://"+server.Socket()),
		Upstream: "test",
	})
	if err != nil || found.EvictionPolicy != "allkeys-lru" || !found.NoPersistence {
		t.Errorf("%+v, %v", found, err)
	}
	if keys, err := server.Do("DBSIZE"); err != nil || keys != ":0" {
		t.Errorf("%s keys are left, %v", keys, err)
	}
	_, err = server.Do("ACL", "SETUSER", "default", "-info")
	must(t, err)
	found, err = redisstore.Check(t.Context(), redisstore.Options{
		Address:  address(t, "redis://"+server.Addr),
		Upstream: "test",
	})
	if err != nil || !found.InfoDenied {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		text, shown string
		exposed     bool
	}{
		{"redis://h", "redis://h:6379", true},
		{"redis://u:p@h:1/3", "redis://h:1/3", true},
		{"rediss://:p@h", "rediss://h:6379", false},
		{"redis://localhost:7", "redis://localhost:7", false},
		{"redis://[::1]:7/0", "redis://[::1]:7/0", false},
		{"unix:///run/r.sock?db=2", "unix:///run/r.sock?db=2", false},
		{"unix://u:p@/run/r.sock?password=p&db=2#p", "unix:///run/r.sock?db=2", false},
	} {
		a := address(t, c.text)
		if got := fmt.Sprintf("%v %s %+v", a, a, a); got != c.shown+" "+c.shown+" "+c.shown || a.Exposed() != c.exposed {
			t.Errorf("%s is shown as %s, exposed %t", c.text, got, a.Exposed())
		}
	}
}

// newerState is how the state of a format 2 would begin.
const newerState = "AVcoord\n\x02\x00\x00\x00\xae\x26\x34\x85 and more"

// A state that a newer version has written is left untouched.
func TestANewerStateIsLeftAlone(t *testing.T) {
	server := redistest.Start(t)
	m := newMachine(t, server)
	st, b := m.open()
	key := b.Key("state")
	_, err := server.Do("SET", key, newerState)
	must(t, err)
	l, err := ratelimit.New(ratelimit.Config{Store: st})
	must(t, err)
	p, err := l.Acquire(t.Context())
	must(t, err)
	p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
	if got := m.events.kinds(); len(got) != 1 || got[0] != "state_newer" {
		t.Errorf("warned of %v", got)
	}
	if got, err := server.Do("STRLEN", key); err != nil || got != fmt.Sprintf(":%d", len(newerState)) {
		t.Errorf("%s bytes are left, %v", got, err)
	}
}

// With TLS the server's certificate must be of an authority that is trusted, and for the name in the address.
func TestTLS(t *testing.T) {
	pair, err := cert.New(time.Now(), cert.Good)
	must(t, err)
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.Leaf.PrivateKey)
	must(t, err)
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Leaf.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	must(t, l.Close())
	redistest.Start(t, "--tls-port", port, "--tls-cert-file", filepath.Join(dir, "cert.pem"),
		"--tls-key-file", filepath.Join(dir, "key.pem"), "--tls-auth-clients", "no")
	for name, c := range map[string]struct {
		host string
		ca   []byte
		says string
	}{
		"trusted":              {"localhost", pair.AuthorityPEM(), ""},
		"an unknown authority": {"localhost", nil, "authority that is not trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			a := address(t, "rediss://"+c.host+":"+port)
			_, err := redisstore.Check(t.Context(), redisstore.Options{
				Address: a, CA: c.ca, Upstream: "test",
				Timeout: 5 * time.Second,
			})
			f, failed := errors.AsType[*redisstore.Fault](err)
			if failed != (c.says != "") || failed && (f.Kind != redisstore.Certificate ||
				!strings.Contains(f.Error(), c.says)) || !failed && err != nil {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
