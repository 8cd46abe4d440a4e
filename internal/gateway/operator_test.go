package gateway

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

func TestRefusalsAreLoggedByClientAndReason(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"a": "", "root": ", admin: true"})
	b := start(t, setup{yaml: yaml})
	as := "Authorization: Bearer " + tokens["a"]
	for range 3 {
		b.must(http.StatusUnauthorized, "/3/tv/1", "Authorization: Bearer anv_wrong")
		b.must(http.StatusForbidden, "/3/account", as)
		b.must(http.StatusNotFound, "/4/list/1", as)
		b.must(http.StatusMisdirectedRequest, "/3/tv/1", "Host: anivault:7373")
	}
	for _, line := range []string{
		"event=refused client=- reason=unauthorized count=1 path=/3/tv/1",
		"event=refused client=a reason=private count=1 path=/3/account",
		"event=refused client=a reason=not_found count=1 path=/4/list/1",
		"event=refused client=- reason=host count=1 path=/3/tv/1 host=anivault:7373 addr=",
	} {
		if n := strings.Count(b.log.String(), line); n != 1 {
			t.Errorf("%d lines of %s", n, line)
		}
	}
	metrics := b.must(200, "/metrics", "Authorization: Bearer "+tokens["root"]).body
	for _, want := range []string{
		`anivault_gateway_refused_total{client="a",reason="private"} 3`,
		`anivault_gateway_refused_total{client="-",reason="unauthorized"} 3`,
		`anivault_limiter_state{state="Normal"} 1`, `anivault_limiter_state{state="Sleep"} 0`,
		"anivault_limiter_learned_rate 0", `anivault_build_info{version="`, "anivault_process_start_time_seconds ",
		`anivault_gateway_connections{listener="gateway"} `,
		"# TYPE anivault_process_open_fds gauge", "anivault_cache_write_errors_total 0",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

func TestACacheThatCantBeWrittenIsDegraded(t *testing.T) {
	b := start(t, setup{})
	b.must(200, "/3/tv/9000001")
	locks, err := filepath.Glob(filepath.Join(b.dir, "*", "*", "cache.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}
	release, err := lockfile.Acquire(t.Context(), locks[0], lockfile.Exclusive, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b.must(200, "/3/tv/9000002")
	if a := b.must(200, "/readyz"); !strings.Contains(a.body, `"degraded":["cache_unwritable"]`) {
		t.Error(a.body)
	}
	release()
	b.must(200, "/3/tv/9000003")
	if a := b.must(200, "/readyz"); !strings.Contains(a.body, `"degraded":[]`) {
		t.Error(a.body)
	}
}

func TestAConnectionAboveTheLimitIsLogged(t *testing.T) {
	b := start(t, setup{})
	var held []net.Conn
	t.Cleanup(func() {
		for _, c := range held {
			c.Close()
		}
	})
	for range maxConnsPerPeer + 1 {
		c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	eventually(t, "it is logged", func() bool {
		return strings.Contains(b.log.String(), "event=connection_refused listener=gateway why=peer addr=127.0.0.1")
	})
	admins := b.service.g.adminConns
	for range maxConnsPerPeer {
		if !admins.acquire("192.0.2.1") {
			t.Fatal("the admin address has too little room")
		}
	}
	if admins.acquire("192.0.2.1") {
		t.Error("the admin address has no bound")
	}
}

func TestASocketHasTheModeOfTheSettings(t *testing.T) {
	for _, mode := range []string{`"0660"`, `"660"`, "0660"} { // YAML reads the last as a number
		path := filepath.Join(t.TempDir(), "s")
		yaml, _ := withClients(map[string]string{"a": ""})
		start(t, setup{listen: "unix:" + path, yaml: yaml + "  socket_mode: " + mode + "\n"})
		info, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o660 {
			t.Errorf("%s: %v, %v", mode, info, err)
		}
	}
}

func TestEachFaultOfTheUpstreamHasItsOwnReason(t *testing.T) {
	for kind, want := range map[tmdb.ConfigKind]*reason{
		tmdb.ConfigRedirect: reasonUpstream, tmdb.ConfigDowngrade: reasonUpstream, tmdb.ConfigNotHTTP: reasonMalformed,
		tmdb.ConfigExpired: reasonTLS,
	} {
		if got := refusalOf(fmt.Errorf("ask: %w", &tmdb.ConfigError{Kind: kind})); got.reason != want {
			t.Errorf("%s: %s", kind, got.name)
		}
	}
}

func TestErrorsNameABaseURLWithAWrongSlash(t *testing.T) {
	b := start(t, setup{})
	if a := b.must(400, "/3//tv/1"); !strings.Contains(a.body, "two slashes in a row") {
		t.Error(a.body)
	}
	if a := b.must(400, "/3/tv/1&language=de"); !strings.Contains(a.body, "'?'") {
		t.Error(a.body)
	}
	if a := b.must(404, "/3search/tv?query=x"); !strings.Contains(a.body, "a slash is missing behind /3") {
		t.Error(a.body)
	}
}

func TestSlotLinesBearTheFiguresOfTheirAccount(t *testing.T) {
	b := start(t, setup{noKey: true, yaml: "serve: {acquire_timeout: {interactive: 300ms}}\naccounts:\n" +
		"  - {name: main, account_concurrency: 1, keys: [{token: " + poolKey + "}]}\n"})
	const patient = "Priority: u=6" // as batch
	b.must(200, "/3/configuration", patient)
	open := b.up.shut()
	defer open()
	first := b.later("/3/tv/9000001", patient)
	<-b.up.arrived
	b.must(429, "/3/tv/9000002")
	open()
	<-first
	b.idle()
	for _, line := range []string{
		"lvl=WARN comp=gateway event=slot_wait account=main running=1 limit=1 available=0",
		"event=slot_timeout account=main running=1 limit=1 available=0",
		"event=slot_released account=main key=1 running=0 limit=1 available=1",
	} {
		if !strings.Contains(b.log.String(), line) {
			t.Errorf("the log lacks %s", line)
		}
	}
}

// Each of 48 questions is with TMDB at the same time: none waits for another one, whatever their hashes are.
func TestUnrelatedQuestionsDoNotWaitForEachOther(t *testing.T) {
	const all = 48
	b := start(t, setup{yaml: fmt.Sprintf("limiter: {rate_base: 400, ceiling: 400, concurrency_total: %d}\n", all)})
	b.must(200, "/3/configuration")
	open := b.up.shut()
	defer open()
	var asked []<-chan answered
	for id := range all {
		asked = append(asked, b.later(tv(900000+id)))
	}
	eventually(t, "all are with TMDB", func() bool { return b.up.asked() == all+1 })
	open()
	for _, a := range asked {
		<-a
	}
}

func TestCacheOnlyThatEndsByItselfSaysSo(t *testing.T) {
	b := start(t, setup{})
	o := ratelimit.Operator{Store: b.service.g.upstream.Store()}
	for lasts, want := range map[time.Duration]string{
		0:         "until an administrator resumes them",
		time.Hour: "Requests to TMDB are paused for a while",
	} {
		if _, _, err := o.ForceCacheOnly(t.Context(), lasts); err != nil {
			t.Fatal(err)
		}
		if a := b.must(503, "/3/tv/1"); !strings.Contains(a.body, want) {
			t.Errorf("for %s: %s", lasts, a.body)
		}
	}
	b.up.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "4000")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if _, _, err := o.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.get("/3/tv/2")
	if a := b.must(200, "/readyz"); !strings.Contains(a.body, `"degraded":["cacheonly"]`) {
		t.Error(a.body)
	}
}

func TestALongPauseIsAWarningOnce(t *testing.T) {
	for event, asked := range map[string]struct {
		field, value string
		status       int
	}{
		"429":   {"Retry-After", "120", http.StatusTooManyRequests},
		"pause": {"RateLimit", `"client";r=0;t=120`, http.StatusOK}, // the last one before the limit
	} {
		t.Run(event, func(t *testing.T) {
			b := start(t, setup{handler: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/3/configuration" {
						w.Header().Set(asked.field, asked.value)
					}
					if r.URL.Path != "/3/configuration" && asked.status != http.StatusOK {
						w.WriteHeader(asked.status)
						return
					}
					next.ServeHTTP(w, r)
				})
			}})
			b.must(200, "/3/configuration")
			open := b.up.shut()
			defer open()
			first, second := b.later(tv(9000001), "Prefer: wait=5"), b.later(tv(9000002), "Prefer: wait=5")
			<-b.up.arrived
			<-b.up.arrived
			open()
			<-first
			<-second
			for _, level := range []string{"WARN", "INFO"} {
				line := regexp.MustCompile(` lvl=` + level + ` comp=ratelimiter .* event=` + event + ` sleep=2m`)
				if n := len(line.FindAllString(b.log.String(), -1)); n != 1 {
					t.Errorf("%d lines of level %s in\n%s", n, level, b.log.String())
				}
			}
		})
	}
}

// A gateway without a key has no event=key_out: its refusals say that the upstream wants one.
func TestAnUpstreamThatWantsAKeyIsLogged(t *testing.T) {
	b := start(t, setup{noKey: true})
	for range 3 {
		b.must(http.StatusServiceUnavailable, "/3/tv/9000001")
	}
	const line = "lvl=WARN comp=gateway event=refused client=anonymous reason=credentials count=1 path=/3/tv/9000001"
	if n := strings.Count(b.log.String(), line); n != 1 {
		t.Errorf("%d lines of %s", n, line)
	}
}
