package gateway

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
)

// Keys of the accounts in these tests. They must be found nowhere.
func keyNamed(name string) string { return "pool-key-" + name + "-0123456789abcdef0123456789" }

// account is the text of an account in a config file, with one key for each word of keys.
func accountText(name, keys, more string) string {
	var list []string
	for _, k := range strings.Fields(keys) {
		list = append(list, fmt.Sprintf("{token: %s}", keyNamed(k)))
	}
	return fmt.Sprintf("  - {name: %s, keys: [%s]%s}\n", name, strings.Join(list, ", "), more)
}

// withAccounts starts a gateway with accounts whose keys are all proven.
func withAccounts(t *testing.T, o setup) *bench {
	t.Helper()
	o.noKey = true
	b := start(t, o)
	if o.fake.Keys != nil {
		return b // not all of them are good
	}
	for _, a := range b.service.g.settings.Load().cfg.Accounts {
		for _, key := range a.Account.Keys {
			ctx := ratelimit.With(t.Context(),
				ratelimit.Request{Prefer: ratelimit.Preference{Account: a.Name, Key: key, Test: true}})
			p, err := b.service.g.upstream.Limiter().Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			p.Report(ratelimit.Event{Outcome: ratelimit.OK, Status: 200})
		}
	}
	return b
}

// store opens the state that the gateway shares.
func (b *bench) store(t *testing.T) ratelimit.Store {
	t.Helper()
	store, done, err := app.OpenState(b.service.g.settings.Load().cfg, 0, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = done() })
	return store
}

// nowhere looks for secrets in all that was written.
func (b *bench) nowhere(t *testing.T, secrets ...string) {
	t.Helper()
	places := map[string]string{"log": b.log.String(), "metrics": b.must(200, "/metrics").body}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "config.yaml" {
			return err
		}
		raw, err := os.ReadFile(path)
		places[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range places {
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%s has a key", place)
			}
		}
	}
}

// through returns with which keys TMDB was asked since from, by their names.
func (b *bench) through(from int) (names []string) {
	b.up.mu.Lock()
	defer b.up.mu.Unlock()
	for _, h := range b.up.headers[from:] {
		name := strings.TrimPrefix(h.Get("Authorization"), "Bearer pool-key-")
		name, _, _ = strings.Cut(name, "-")
		names = append(names, name)
	}
	return names
}

func count(names []string) map[string]int {
	out := map[string]int{}
	for _, n := range names {
		out[n]++
	}
	return out
}

const quick = "limiter: {concurrency: 16, max_retries: 0}\n"

// Account 2 and three keys of 1: the third waits. Without a limit both go at once; with 1 one after the other.
func TestSeed000AccountSlotsOverKeySlots(t *testing.T) {
	for name, tt := range map[string]struct {
		limits         string
		asked, through int
	}{
		"one after the other":               {", account_concurrency: 1", 2, 1},
		"no limit":                          {"", 3, 3},
		"two for the account, one for each": {", account_concurrency: 2, concurrency: 1", 3, 2},
		"each key alone":                    {", concurrency: 1", 4, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := withAccounts(t, setup{yaml: quick + "accounts:\n" + accountText("main", "a b c", tt.limits)})
			open := b.up.shut()
			defer open()
			from := b.up.asked()
			var all []<-chan answered
			for id := range tt.asked {
				all = append(all, b.later(tv(9000001+id)))
			}
			for range tt.through {
				<-b.up.arrived
			}
			eventually(t, "the rest wait", func() bool {
				st, err := b.service.g.upstream.Limiter().Status(t.Context())
				return err == nil && st.Waiting == tt.asked-tt.through
			})
			if n := b.up.asked() - from; n != tt.through {
				t.Errorf("%d at once, want %d", n, tt.through)
			}
			if keys := count(b.through(from)); len(keys) != min(tt.through, 3) {
				t.Errorf("through %v", keys)
			}
			open()
			for _, ch := range all {
				if a := <-ch; a.status == 429 {
					t.Errorf("%s", a.body)
				}
			}
			b.idle()
			if !regexp.MustCompile(`event=slot_acquired account=main key=[123] running=\d limit=\d+ available=\d+ waited=\S+ ` +
				`request_id=`).MatchString(b.log.String()) {
				t.Error("the log does not tell through which key")
			}
			if !strings.Contains(b.log.String(),
				"event=request client=anonymous method=GET path=/3/tv/9000001 status=200 cache=fetched account=main") &&
				!regexp.MustCompile(`event=request .* account=main wait_ms=`).MatchString(b.log.String()) {
				t.Error("the request's line does not tell its account")
			}
		})
	}
}

// All but two of five requests of all accounts are used, and three come at once: exactly one is refused before it
// waits.
func TestSeed002TheDoorIsTheSumOfTheAccountsQuotas(t *testing.T) {
	b := withAccounts(t, setup{yaml: quick + "accounts:\n" + accountText("main", "a", ", quota: 3/1h, priority: 1") +
		accountText("spare", "b", ", quota: 4/1h, priority: 2")})
	for id := range 3 { // two have proven the keys
		b.must(200, tv(9000001+id))
	}
	open := b.up.shut()
	defer open()
	results := make(chan answered, 3)
	for id := range 3 {
		ch := b.later(tv(9000010 + id))
		go func() { results <- <-ch }()
	}
	if a := <-results; a.status != 503 || a.own.Code != "1005" || a.own.Reason != "quota" || a.own.RetryAfter != 60 {
		t.Errorf("%d %s", a.status, a.body)
	}
	open()
	for range 2 {
		if a := <-results; a.status == 503 {
			t.Errorf("a second one was refused: %s", a.body)
		}
	}
	b.idle()
	st, err := b.service.g.upstream.Limiter().Status(t.Context())
	if err != nil || st.Accounts[0].QuotaUsed != 3 || st.Accounts[1].QuotaUsed != 4 {
		t.Errorf("%+v %v", st.Accounts, err)
	}
	metrics := b.must(200, "/metrics").body
	for _, line := range []string{
		`anivault_quota_used{account="main"} 3`, `anivault_quota_limit{account="spare"} 4`,
		`anivault_account_limit{account="main"}`,
		`anivault_key_running{account="main",key="1"} 0`, `anivault_account_chosen_total{account="spare",why="spill"}`,
		`anivault_account_rate{account="main"} 0`, `anivault_account_requests_total{account="main",code="200"} 3`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %s in the metrics", line)
		}
	}
}

// 5 and 5 slots at priority 10, 3 at 20: shares, spill-over, return, and a limit changed by an operator.
func TestSeed003SpillOverAndReturn(t *testing.T) {
	b := withAccounts(t,
		setup{yaml: "limiter: {concurrency: 16, max_retries: 0, rate_base: 400, ceiling: 400}\naccounts:\n" +
			accountText("one", "a", ", priority: 10, account_concurrency: 5") +
			accountText("two", "b", ", priority: 10, account_concurrency: 5") +
			accountText("backup", "c", ", priority: 20, account_concurrency: 3")})
	from := b.up.asked()
	for id := range 20 {
		b.get(tv(9000001 + id))
	}
	if got := count(b.through(from)); got["a"] < 9 || got["b"] < 9 || got["c"] != 0 {
		t.Errorf("one after the other: %v", got)
	}
	open := b.up.shut()
	defer open()
	from = b.up.asked()
	var all []<-chan answered
	ask := func(n int) {
		for range n {
			all = append(all, b.later(tv(8000001+len(all))))
		}
	}
	ask(13)
	for range 13 {
		<-b.up.arrived
	}
	if got := count(b.through(from)); got["a"] != 5 || got["b"] != 5 || got["c"] != 3 {
		t.Errorf("full: %v", got)
	}
	if !strings.Contains(b.log.String(), "lvl=WARN comp=gateway event=slot_skipped account=") {
		t.Error("no warning of a full account")
	}
	ask(1)
	eventually(t, "the fourteenth waits", func() bool {
		st, err := b.service.g.upstream.Limiter().Status(t.Context())
		return err == nil && st.Waiting == 1
	})
	if err := (ratelimit.Operator{Store: b.store(t)}).TuneAccount(t.Context(), "two",
		map[string]string{"account_concurrency": "6"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	<-b.up.arrived
	if got := count(b.through(from)); got["b"] != 6 {
		t.Errorf("with a limit of 6: %v", got)
	}
	open()
	for _, ch := range all {
		<-ch
	}
	b.idle()
	from = b.up.asked()
	for id := range 10 {
		b.get(tv(7000001 + id))
	}
	if got := count(b.through(from)); got["c"] != 0 {
		t.Errorf("back again: %v", got)
	}
}

// A session keeps account and key, waits 1.2 s for exactly them, then moves.
func TestSeed003Sticky(t *testing.T) {
	b := withAccounts(t, setup{yaml: quick + "serve: {sticky: {enabled: true, wait: 300ms}}\naccounts:\n" +
		accountText("one", "a b", ", account_concurrency: 1") + accountText("two", "c", ", account_concurrency: 2")})
	const mine = "X-Anivault-Session: mine"
	b.get(tv(1), mine)
	last := func() string { names := b.through(0); return names[len(names)-1] }
	key := last()
	for id := range 6 {
		if b.get(tv(10+id), mine); last() != key {
			t.Errorf("through %s, not %s", last(), key)
		}
	}
	open := b.up.shut()
	defer open()
	var all []<-chan answered
	all = append(all, b.later(tv(100), mine))
	<-b.up.arrived
	if key == "c" { // its account has two slots
		all = append(all, b.later(tv(101), mine))
		<-b.up.arrived
	}
	began := time.Now()
	all = append(all, b.later(tv(102), mine))
	<-b.up.arrived
	if d := time.Since(began); d < 300*time.Millisecond || last() == key {
		t.Errorf("after %s through %s, before through %s", d, last(), key)
	}
	open()
	for _, ch := range all {
		<-ch
	}
	moved := last()
	if b.get(tv(103), mine); last() != moved {
		t.Errorf("it does not keep what it has moved to: %s, %s", moved, last())
	}
	cfg := b.service.g.settings.Load().cfg
	for _, a := range cfg.Accounts {
		if slices.ContainsFunc(a.Keys, func(k config.Key) bool { return k.Secret().Reveal() == keyNamed(moved) }) {
			if err := (ratelimit.Operator{Store: b.store(t)}).EnableAccount(t.Context(), a.Name, false, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if b.get(tv(104), mine); last() == moved {
		t.Error("a disabled account is kept")
	}
	b.idle()
}

// One account's key is refused, one is suspended, one is slow: requests continue with the others, and the log says so.
func TestAccountsOfWhichOneIsRefusedOneSuspendedOneSlow(t *testing.T) {
	for _, by := range []string{"address", "account"} {
		t.Run(by, func(t *testing.T) {
			suspended := "deadbeef-0123456789abcdef0123456789abcdef"
			b := withAccounts(t, setup{
				yaml: "limiter: {concurrency: 16, max_retries: 0, limited_by: " + by + "}\naccounts:\n" +
					accountText("refused", "x", ", priority: 1") + "  - {name: suspended, priority: 1, keys: [{token: " + suspended +
					"}]}\n" +
					accountText("slow", "s", ", priority: 2"),
				fake: tmdbfake.Config{
					Keys: []string{keyNamed("s"), suspended}, LimitByKey: true,
					Slow: map[string]upstream.Latency{keyNamed("s"): {Min: 20 * time.Millisecond}},
				},
			})
			for id := range 5 {
				if a := b.get(tv(9000001 + id)); a.status != 200 && a.status != 404 {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
			b.idle()
			st, err := b.service.g.upstream.Limiter().Status(t.Context())
			if err != nil || st.Accounts[0].Keys[0].Standing != ratelimit.StandingRefused ||
				st.Accounts[1].Keys[0].Standing != ratelimit.StandingSuspended || st.State != ratelimit.Normal {
				t.Errorf("%+v %v", st.Accounts, err)
			}
			for _, line := range []string{
				"event=key_out account=refused key=1",
				"event=key_out account=suspended key=1 was=unproven why=suspended",
			} {
				if !strings.Contains(b.log.String(), line) {
					t.Errorf("the log does not tell %s", line)
				}
			}
			b.nowhere(t, suspended, keyNamed("x"), keyNamed("s"))
		})
	}
}

// With limited_by account an account that meets 429s is left, and the other serves; all keys refused is 1007, all
// disabled 1004.
func TestAccountsThatCannotServe(t *testing.T) {
	b := withAccounts(t, setup{
		yaml: "limiter: {concurrency: 16, max_retries: 1, limited_by: account}\naccounts:\n" +
			accountText("one", "a", ", priority: 1") + accountText("two", "b", ", priority: 2"),
		handler: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.Header.Get("Authorization"), keyNamed("a")) && r.URL.Path != "/3/configuration" {
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(http.StatusTooManyRequests)
					_, _ = w.Write([]byte(`{"status_code":25,"status_message":"slow down"}`))
					return
				}
				next.ServeHTTP(w, r)
			})
		},
	})
	for id := range 5 {
		if a := b.get(tv(9000001 + id)); a.status != 200 && a.status != 404 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if got := count(b.through(0)); got["a"] != 1 || got["b"] != 5 {
		t.Errorf("through %v", got)
	}
	o := ratelimit.Operator{Store: b.store(t)}
	for _, name := range []string{"one", "two"} {
		if err := o.EnableAccount(t.Context(), name, false, 0); err != nil {
			t.Fatal(err)
		}
	}
	if a := b.must(503, tv(9000050)); a.own.Code != "1004" || a.own.Reason != "no_account" || a.own.RetryAfter != 60 {
		t.Errorf("%s", a.body)
	}
	if err := o.EnableAccount(t.Context(), "two", false, 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	if a := b.must(503, tv(9000050)); a.own.RetryAfter < 500 || a.own.RetryAfter > 600 {
		t.Errorf("two is back in 10 min: %s", a.body)
	}
	if a := b.must(200, "/readyz"); !strings.Contains(a.body, `"no_account"`) {
		t.Errorf("%s", a.body)
	}
	b.must(200, tv(9000001)) // what is stored
	for _, name := range []string{"one", "two"} {
		if err := o.EnableAccount(t.Context(), name, true, 0); err != nil {
			t.Fatal(err)
		}
	}
	b.idle()
}

func TestEveryKeyRefused(t *testing.T) {
	b := withAccounts(t, setup{
		yaml: quick + "accounts:\n" + accountText("one", "a b", "") + accountText("two", "c", ""),
		fake: tmdbfake.Config{Keys: []string{"none"}},
	})
	if a := b.must(503, tv(9000001)); a.own.Code != "1007" || a.own.Reason != "credentials" ||
		a.Header.Get("Retry-After") != "" {
		t.Errorf("%s", a.body)
	}
	n := b.up.asked()
	b.must(503, tv(9000002))
	if b.up.asked() != n {
		t.Error("TMDB is asked with a key that is out")
	}
	b.idle()
}

// A key that is replaced in the file is used after a reload, and a schedule or limit of the file holds.
func TestReloadedAccounts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	yaml := quick + "accounts:\n" + accountText("one", "a", "")
	b := withAccounts(t, setup{yaml: yaml, watches: true})
	b.configure(strings.ReplaceAll(yaml, keyNamed("a"), keyNamed("z")))
	eventually(t, "it is read anew", func() bool { return strings.Contains(b.log.String(), "event=reloaded") })
	b.must(200, tv(9000001))
	if names := b.through(0); names[len(names)-1] != "z" {
		t.Errorf("through %v", names)
	}
	if log := b.log.String(); !strings.Contains(log, "event=key_in account=one key=1 was=unproven") ||
		strings.Contains(log, "key=0") {
		t.Error("a key that came with the reload has no number in the log")
	}
	b.must(200, tv(9000001))
	if !regexp.MustCompile(`event=request .* cache=fresh account=- `).MatchString(b.log.String()) {
		t.Error("an answer from the cache has an account in the log")
	}
	b.configure(quick + "tmdb: {token: " + keyNamed("y") + "}\n") // one key and no accounts
	eventually(t, "it is read anew", func() bool { return strings.Count(b.log.String(), "event=reloaded") == 2 })
	b.must(200, tv(9000002))
	if names := b.through(0); names[len(names)-1] != "y" {
		t.Errorf("through %v", names)
	}
	if strings.Contains(b.log.String(), "restart_needed") {
		t.Error("a restart is asked for")
	}
	b.idle()
}

func TestSessionsThatAskedLongestAgoAreForgotten(t *testing.T) {
	var s stickySessions
	now := time.Now()
	for i := range 2 * maxSessions {
		s.put(strconv.Itoa(i), ratelimit.Preference{Account: "main"}, now)
	}
	_, newest := s.get(strconv.Itoa(2*maxSessions-1), time.Hour, now)
	_, within := s.get(strconv.Itoa(2*maxSessions-maxSessions/2), time.Hour, now)
	_, oldest := s.get("0", time.Hour, now)
	_, late := s.get(strconv.Itoa(2*maxSessions-1), time.Hour, now.Add(time.Hour))
	if n := len(s.recent) + len(s.older); n > maxSessions || !newest || !within || oldest || late {
		t.Errorf("%d sessions; newest %v, within the bound %v, oldest %v, after its time %v", n, newest, within, oldest, late)
	}
}
