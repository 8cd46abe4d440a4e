package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/ratelimit"
)

// reread reads the configuration anew, as SIGHUP does.
func (b *bench) reread() {
	w := configWatcher{s: b.service, readConfig: b.read}
	w.reload()
}

func TestAReloadIsTakenAsAWholeOrNotAtAll(t *testing.T) {
	b := start(t, setup{})
	b.must(200, "/3/tv/9000001")
	yaml, tokens := withClients(map[string]string{"a": ", requests: 2/1h"})
	as := "Authorization: Bearer " + tokens["a"]

	b.configure(yaml + "limiter: {rate_base: 7}\n")
	b.reread()
	b.must(401, "/3/tv/9000001")
	b.must(200, "/3/tv/9000001", as)
	if st, err := b.service.g.upstream.Limiter().Status(t.Context()); err != nil || st.Rate != 7 {
		t.Errorf("rate %v, %v", st.Rate, err)
	}

	for name, broken := range map[string]string{
		"an unknown key":         yaml + "  anonymus: true\n",
		"crossed values":         yaml + "limiter: {rate_base: 90}\n",
		"half of a file":         yaml[:len(yaml)/2],
		"a missing certificate":  yaml + "  tls: {cert: missing, key: missing}\n", // needs a restart anyway
		"a proxy without client": "serve: {trusted_proxies: [10.0.0.1]}\n",
	} {
		b.configure(broken)
		b.reread()
		if a := b.get("/readyz"); a.status != 200 {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if n := strings.Count(b.log.String(), "event=reload_refused"); n != 4 {
		t.Errorf("%d reloads were refused", n)
	}
	if log := b.log.String(); strings.Count(log, "clients=a\n") != 4 {
		t.Errorf("refused reloads don't tell who has access:\n%s", log)
	}

	b.configure(yaml)
	b.reread()
	b.must(200, "/3/tv/9000001", as)
	if a := b.must(429, "/3/tv/9000001", as); a.own.Reason != "client_limit" {
		t.Errorf("its window was forgotten: %s", a.body)
	}
	b.configure("cache: {max_size: 100MB}\n")
	b.reread()
	b.must(401, "/3/tv/9000001") // its clients are gone
	if log := b.log.String(); !strings.Contains(log, "event=restart_needed keys=cache.max_size") ||
		strings.Contains(log, tokens["a"]) {
		t.Errorf("the log:\n%s", log)
	}
}

// Where a token is needed, who has revoked the last one means it: nobody may ask, rather than everybody, or whom it was
// taken from.
func TestTheLastTokenThatIsRevokedIsRefused(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"a": ""})
	as := "Authorization: Bearer " + tokens["a"]
	b := start(t, setup{yaml: yaml + "  plain_http: true\n", listen: "0.0.0.0:0"})
	b.url = "http://127.0.0.1:" + portOf(b.service.listeners[0].Addr())
	b.must(401, "/3/tv/9000001")
	b.must(200, "/3/tv/9000001", as)
	for range 2 { // what was taken is what is there before the next
		b.configure("serve: {plain_http: true}\n")
		b.reread()
		b.must(401, "/3/tv/9000001", as)
		b.must(401, "/3/tv/9000001")
	}
	if log := b.log.String(); !strings.Contains(log, "event=no_clients") {
		t.Errorf("no warning:\n%s", log)
	}
	b.configure(yaml + "  plain_http: true\n")
	b.reread()
	b.must(200, "/3/tv/9000001", as)
}

// A file that is gone for a moment, or was emptied, opens nothing: the proxy in front is there as before.
func TestALostConfigFileOpensNothing(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"a": ""})
	b := start(t, setup{yaml: yaml + "  trusted_proxies: [127.0.0.1]\n"})
	b.must(401, "/3/tv/9000001")
	for range 2 {
		b.configure("# empty\n")
		b.reread()
		b.must(401, "/3/tv/9000001")
	}
	b.configure(yaml)
	b.reread()
	lost := configWatcher{s: b.service, readConfig: func() (*config.Config, error) {
		cfg, _, err := config.Load(config.Sources{Environ: []string{
			"HOME=" + b.dir, "AppData=" + b.dir, "LocalAppData=" + b.dir, "ANIVAULT_TMDB_TOKEN=" + poolKey,
		}})
		return cfg, err
	}}
	for range 2 {
		lost.reload()
		b.must(401, "/3/tv/9000001")
		b.must(200, "/3/tv/9000001", "Authorization: Bearer "+tokens["a"])
	}
	if log := b.log.String(); strings.Count(log, "is gone: put it back") != 2 {
		t.Errorf("no warning:\n%s", log)
	}
}

// Without a proxy in front, too: other users of the machine must not get in because a file was emptied.
func TestAnEmptiedConfigFileOpensNoGatewayThatHadClients(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"a": ""})
	b := start(t, setup{yaml: yaml})
	for range 2 {
		b.configure("")
		b.reread()
		b.must(401, "/3/tv/9000001")
		b.must(401, "/3/tv/9000001", "Authorization: Bearer "+tokens["a"])
	}
	if log := b.log.String(); !strings.Contains(log, "event=no_clients") {
		t.Errorf("no warning:\n%s", log)
	}
}

// Who answers without a token anyway goes on when the last client is revoked, unless a proxy's requests need one.
func TestTheLastRevokedClientDoesNotEndAnonymousAccess(t *testing.T) {
	yaml, _ := withClients(map[string]string{"a": ""})
	for proxy, want := range map[string]int{"": 200, "  trusted_proxies: [127.0.0.1]\n": 401} {
		b := start(t, setup{yaml: yaml + "  anonymous: true\n" + proxy})
		b.must(200, "/3/tv/9000001")
		b.configure("serve:\n  anonymous: true\n" + proxy)
		b.reread()
		b.must(want, "/3/tv/9000001")
	}
}

// The same for clients.yaml, and for a data folder that is another one after a restart.
func TestALostClientsFileOpensNothing(t *testing.T) {
	b := start(t, setup{})
	data := b.service.g.settings.Load().cfg.Dirs.Data
	token, hash := NewToken()
	if err := config.EditClients(t.Context(), data, func([]config.Client) ([]config.Client, error) {
		return []config.Client{{Name: "bob", TokenSHA256: hash, Class: "interactive", Weight: 1}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(config.ClientsFile(data)+from, config.ClientsFile(data)+to); err != nil {
			t.Fatal(err)
		}
	}
	b.reread()
	as := "Authorization: Bearer " + token
	b.must(200, "/3/tv/9000001", as)
	b.must(401, "/3/tv/9000001")
	rename("", ".away")
	for _, yaml := range []string{"# nothing\n", "wrong: [\n", "data_dir: " + t.TempDir() + "\n"} {
		b.configure(yaml)
		b.reread()
		b.must(401, "/3/tv/9000001")
		b.must(200, "/3/tv/9000001", as)
	}
	rename(".away", "")
	b.reread()
	b.must(401, "/3/tv/9000001")
	b.must(200, "/3/tv/9000001", as)
}

// The keys and limits of another upstream wait for the restart that it needs: until then this one would get them.
func TestTheKeysOfAnotherUpstreamAreNotSentToThisOne(t *testing.T) {
	keys := "accounts: [{name: %s, keys: [{token: pool-key-%[1]s}]}]\n"
	b := start(t, setup{noKey: true, yaml: fmt.Sprintf(keys, "old")})
	b.must(200, "/3/tv/9000001")
	b.configure(fmt.Sprintf(keys, "new") + "limiter: {rate_base: 7}\n")
	this := b.read
	b.read = func() (*config.Config, error) { return b.load("http://192.0.2.1:9", "127.0.0.1:0", "") }
	for i, want := range []string{"old", "old", "new"} { // the last one is for this upstream again
		if i == 2 {
			b.read = this
		}
		b.reread()
		b.must(200, "/3/tv/9000002?page="+strconv.Itoa(i))
		if got := b.up.headers[i+1].Get("Authorization"); got != "Bearer pool-key-"+want {
			t.Errorf("reload %d: it sent %q", i, got)
		}
		if rate := b.service.g.upstream.Limiter().Tuning().RateBase; (rate == 7) != (want == "new") {
			t.Errorf("reload %d: %v a second", i, rate)
		}
	}
	if n := strings.Count(b.log.String(), "event=restart_needed keys=tmdb.base_url"); n != 2 {
		t.Errorf("%d lines say that it needs a restart", n)
	}
}

// A mistake elsewhere in the configuration does not keep a revoked token in force.
func TestATokenIsRevokedAlthoughTheRestIsRefused(t *testing.T) {
	b := start(t, setup{})
	dir := b.service.g.settings.Load().cfg.Dirs.Data
	edit := func(clients ...config.Client) {
		t.Helper()
		err := config.EditClients(t.Context(), dir, func([]config.Client) ([]config.Client, error) { return clients, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	inConfig, tokens := withClients(map[string]string{"configured": ""})
	lost, lostHash := NewToken()
	kept, keptHash := NewToken()
	goes := config.Client{Name: "lost", TokenSHA256: lostHash, Class: "interactive", Weight: 1}
	stays := config.Client{Name: "kept", TokenSHA256: keptHash, Class: "interactive", Weight: 1}
	edit(goes, stays)
	b.configure(inConfig)
	b.reread()
	b.must(200, "/3/tv/9000001", "Authorization: Bearer "+lost)

	edit(stays)
	b.configure(inConfig + "limiter: {rate_base: 90}\n")
	b.reread()
	b.must(401, "/3/tv/9000001", "Authorization: Bearer "+lost)
	b.must(200, "/3/tv/9000001", "Authorization: Bearer "+kept)
	b.must(200, "/3/tv/9000001", "Authorization: Bearer "+tokens["configured"])
	if !strings.Contains(b.log.String(), "event=reload_refused") {
		t.Error("the rest was taken")
	}

	b.configure(inConfig)
	edit(goes, stays)
	b.reread()
	b.must(200, "/3/tv/9000001", "Authorization: Bearer "+lost)
}

func portOf(addr net.Addr) string {
	_, port, _ := net.SplitHostPort(addr.String())
	return port
}

func TestAChangedFileIsReadOnceItIsStable(t *testing.T) {
	b := start(t, setup{})
	w := configWatcher{s: b.service, readConfig: b.read}
	w.current = statFiles(b.service.g.settings.Load().cfg)
	looks := func() int { w.checkFiles(); return strings.Count(b.log.String(), "event=reloaded") }
	if looks() != 0 {
		t.Error("nothing has changed")
	}
	dir := b.service.g.settings.Load().cfg.Dirs.Data
	_, hash := NewToken()
	err := config.EditClients(t.Context(), dir, func(list []config.Client) ([]config.Client, error) {
		return append(list, config.Client{Name: "new", TokenSHA256: hash, Class: "batch", Weight: 1}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := looks(); n != 0 {
		t.Errorf("read at the first look: %d", n)
	}
	b.configure("limiter: {rate_base: 8}\n")
	if n := looks(); n != 0 {
		t.Errorf("read while it changes: %d", n)
	}
	if n := looks(); n != 1 {
		t.Errorf("read %d times", n)
	}
	if n := looks(); n != 1 || len(b.service.g.settings.Load().clientsByHash) != 1 {
		t.Errorf("read %d times", n)
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(filepath.Join(dir, "clients.yaml")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
	}
}

// What is written while the files are read is read as well.
func TestNoChangeIsOverlooked(t *testing.T) {
	b := start(t, setup{})
	w := configWatcher{s: b.service, current: statFiles(b.service.Config())}
	b.configure("limiter: {rate_base: 8}\n")
	w.readConfig = func() (*config.Config, error) {
		cfg, err := b.read()
		w.readConfig = b.read
		b.configure("limiter: {rate_base: 11}\n")
		return cfg, err
	}
	for range 4 {
		w.checkFiles()
	}
	if st, err := b.service.g.upstream.Limiter().Status(t.Context()); err != nil || st.Rate != 11 {
		t.Errorf("rate %v, %v", st.Rate, err)
	}
}

// Who names a file first and makes it then need not say so a second time.
func TestAFileThatComesAfterItsNameIsRead(t *testing.T) {
	b := start(t, setup{noKey: true, yaml: "tmdb: {token: pool-key-00000000}\n"})
	w := configWatcher{s: b.service, readConfig: b.read, current: statFiles(b.service.Config())}
	looks := func(line string) int {
		for range 4 {
			w.checkFiles()
		}
		return strings.Count(b.log.String(), line)
	}
	secret := filepath.Join(b.dir, "new.token")
	b.configure("tmdb: {token_file: " + strconv.Quote(secret) + "}\n")
	if n := looks("event=reload_refused"); n != 1 {
		t.Errorf("refused %d times", n)
	}
	if err := os.WriteFile(secret, []byte("pool-key-11111111\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(secret) // no file of the gateway's
	if n := looks("event=reloaded"); n != 1 {
		t.Errorf("read %d times:\n%s", n, b.log)
	}
}

func TestReloadsUnderLoadFailNobody(t *testing.T) {
	b := start(t, setup{})
	for id := range 5 {
		b.must(200, tv(9000001+id))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	var good, bad atomic.Int64
	for i := range 4 {
		asking.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a, err := b.request(t.Context(), http.MethodGet, tv(9000001+(n+i)%5))
				if err != nil || a.status != 200 {
					bad.Add(1)
				} else {
					good.Add(1)
				}
			}
		})
	}
	for n := range 100 {
		b.configure(map[bool]string{true: "limiter: {rate_base: 8}\n", false: ""}[n%2 == 0])
		b.reread()
	}
	eventually(t, "some were answered", func() bool { return good.Load() > 100 })
	cancel()
	asking.Wait()
	if bad.Load() > 0 {
		t.Errorf("%d of %d failed", bad.Load(), good.Load()+bad.Load())
	}
}

func TestMetricsAreForAdmins(t *testing.T) {
	open := start(t, setup{yaml: "limiter: {budget: 10/1h}\n"})
	open.must(200, "/3/tv/9000001")
	open.must(200, "/3/tv/9000001")
	open.must(404, "/nothing")
	text := open.must(200, "/metrics").body
	for _, line := range []string{
		`anivault_gateway_requests_total{client="anonymous",status="200",cache="network"} 1`,
		`anivault_gateway_requests_total{client="anonymous",status="200",cache="fresh"} 1`,
		`anivault_gateway_refused_total{client="anonymous",reason="not_found"} 1`,
		`anivault_requests_total{code="200"} 1`,
		`anivault_cache_hits_total 1`,
		`anivault_cache_miss_total 1`,
		`anivault_gateway_queue_length{class="interactive"} 0`,
		`anivault_account_limit{account="default"} 16`,
		`anivault_quota_used{account="default"} 1`,
		`anivault_quota_limit{account="default"} 10`,
		`anivault_coordinator_up 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing %s in\n%s", line, text)
		}
	}
	yaml, tokens := withClients(map[string]string{"boss": ", admin: true", "a": ""})
	b := start(t, setup{yaml: yaml})
	b.must(401, "/metrics")
	b.must(403, "/metrics", "Authorization: Bearer "+tokens["a"])
	b.must(200, "/metrics", "Authorization: Bearer "+tokens["boss"])
}

func TestSystemdHears(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no systemd")
	}
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	b := start(t, setup{notify: path})
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		buf := make([]byte, 64)
		n, err := socket.Read(buf)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("%q, %v; want %s", buf[:n], err, want)
		}
		go b.stop()
	}
	if err := b.stop(); err != nil {
		t.Error(err)
	}
}

// What a command changes, a running gateway logs; what an operator has changed, it says after a reload.
func TestChangesFromElsewhereAreLogged(t *testing.T) {
	b := start(t, setup{watches: true})
	o := ratelimit.Operator{Store: b.service.g.upstream.Store()}
	logs := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			eventually(t, line, func() bool { return strings.Contains(b.log.String(), line) })
		}
	}
	eventually(t, "it has looked", func() bool { return b.service.lastAccounts.Load() != nil })
	_, _, err := o.ForceCacheOnly(t.Context(), 0)
	if err = errors.Join(err, o.Tune(t.Context(), map[string]string{"rate_base": "7"}, 0),
		o.EnableAccount(t.Context(), "default", false, 0)); err != nil {
		t.Fatal(err)
	}
	logs("event=tuned key=rate_base from=35 to=7 until=always by=elsewhere",
		"event=account_changed account=default key=enabled from=true to=false by=elsewhere",
		"event=state_transition", "to=CacheOnly reason=operator by=elsewhere")
	done := b.service.BeginChange()
	err = o.Tune(t.Context(), map[string]string{"rate_base": "8"}, 0)
	if err == nil {
		_, err = b.service.g.upstream.Limiter().Status(t.Context()) // as a request sees it
	}
	done(t.Context())
	line := "event=tuned key=rate_base from=7 to=8 until=always\n"
	if err != nil || !strings.Contains(b.log.String(), line) {
		t.Errorf("a change of its own is not logged as such: %v", err)
	}
	b.reread()
	logs("event=overridden key=rate_base value=8", "event=overridden account=default key=enabled value=false")
}
