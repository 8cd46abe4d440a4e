package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
)

// askAs asks the gateway with a client's token, and returns how long that took.
func (b *bench) askAs(token, path string) time.Duration {
	begun := time.Now()
	a, err := b.request(b.t.Context(), http.MethodGet, path, "Authorization: Bearer "+token)
	if err != nil || a.status != http.StatusNotFound && a.status != http.StatusOK {
		b.t.Errorf("%s: %d %s, %v", path, a.status, a.body, err)
	}
	return time.Since(begun)
}

// A greedy client of whose requests 500 wait at any time delays four light ones by less than a tenth of a second in the
// median.
func TestFiveHundredWaitingDelayFourLightClientsByATurn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	median := func(greedy int) (median time.Duration) {
		dir := t.TempDir()
		yaml, tokens := withClients(map[string]string{"greedy": "", "l0": "", "l1": "", "l2": "", "l3": ""})
		yaml += "  queue: {max: 1000, per_client: 600}\n  acquire_timeout: {interactive: 10m}\n"
		synctest.Test(t, func(t *testing.T) {
			b := begin(t, dir, yaml)
			b.askAs(tokens["l0"], "/3/configuration")
			over := make(chan struct{})
			var asking sync.WaitGroup
			for i := range greedy {
				asking.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-over:
							return
						default:
							b.askAs(tokens["greedy"], tv(1_000_000+1000*n+i))
						}
					}
				})
			}
			time.Sleep(20 * time.Second)
			var mu sync.Mutex
			var took []time.Duration
			var light sync.WaitGroup
			for c := range 4 {
				light.Go(func() {
					for n := range 25 {
						d := b.askAs(tokens["l"+strconv.Itoa(c)], tv(7_000_000+100*c+n))
						mu.Lock()
						took = append(took, d)
						mu.Unlock()
						time.Sleep(900*time.Millisecond + time.Duration(c)*37*time.Millisecond)
					}
				})
			}
			light.Wait()
			if _, waiting, _ := b.counts(); greedy > 0 && waiting < greedy-40 {
				t.Errorf("%d wait", waiting)
			}
			close(over)
			asking.Wait()
			slices.Sort(took)
			median = took[len(took)/2]
		})
		return median
	}
	alone, beside := median(0), median(500)
	t.Logf("median of the light ones' answers: %s alone, %s beside 500", alone, beside)
	if late := beside - alone; late >= 100*time.Millisecond {
		t.Errorf("they are delayed by %s", late)
	}
}

// A greedy client asked a question last, behind a hundred others of its own. When a light client asks it too, it is
// sent at the light one's turn.
func TestAQuestionOfTwoClientsWaitsInTheShorterLine(t *testing.T) {
	dir := t.TempDir()
	yaml, tokens := withClients(map[string]string{"greedy": "", "light": ""})
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, yaml+"limiter: {rate_base: 5}\n")
		b.askAs(tokens["light"], "/3/configuration")
		var asking sync.WaitGroup
		defer asking.Wait()
		for i := range 100 {
			asking.Go(func() { b.askAs(tokens["greedy"], tv(1_000_000+i)) })
		}
		time.Sleep(time.Second)
		asking.Go(func() { b.askAs(tokens["greedy"], tv(7)) })
		time.Sleep(100 * time.Millisecond)
		if took := b.askAs(tokens["light"], tv(7)); took > time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// Nothing is sent during a Sleep, and only probes after it; that is no reason to refuse who can wait for its end.
func TestAShortSleepRefusesNobody(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, "")
		b.get(known(0)) // proves the key
		b.apply(upstream.Scenario{Faults: []upstream.Fault{{
			Match: upstream.Match{Path: "/3/tv/66*"}, Do: upstream.Action{Kind: "status", Status: 503, Code: 46},
		}}})
		askAll := func(first int, headers ...string) map[int]int {
			var asking sync.WaitGroup
			statuses := make([]int, 20)
			for i := range statuses {
				asking.Go(func() { statuses[i] = b.get(tv(first+i), headers...).status })
			}
			asking.Wait()
			count := map[int]int{}
			for _, s := range statuses {
				count[s]++
			}
			return count
		}
		askAll(6_600_000, "Prefer: wait=1")
		if st, err := b.service.g.upstream.Limiter().Status(t.Context()); err != nil || st.State != ratelimit.Sleep {
			t.Fatalf("%v, %v: no Sleep", st.State, err)
		}
		if got := askAll(7_000_000); got[http.StatusNotFound] != 20 {
			t.Errorf("their statuses are %v", got)
		}
	})
}

// stuck is a client that takes an answer's header and then reads nothing.
type stuck struct {
	*httptest.ResponseRecorder
	writing chan struct{} // closed when the body is being written
	free    chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	close(s.writing)
	<-s.free
	return s.ResponseRecorder.Write(p)
}

// A client with thousands of requests under way takes neither the others' processor nor all memory.
func TestAClientThatDoesNotReadHarmsNobody(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"a": "", "b": ""})
	as := func(name string) string { return "Authorization: Bearer " + tokens[name] }
	b := start(t, setup{yaml: yaml})
	path := known(0)
	size := int64(len(b.must(200, path, as("b")).body))
	a, _ := b.service.g.settings.Load().clientOf(tokens["a"])

	w := stuck{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Host, req.Header["Authorization"] = "localhost", []string{"Bearer " + tokens["a"]}
	var writing sync.WaitGroup
	writing.Go(func() { b.service.g.ServeHTTP(w, req) })
	<-w.writing
	if n := a.load.unread.Load(); n != size {
		t.Errorf("%d bytes are unread, not %d", n, size)
	}
	a.load.unread.Add(maxUnread)
	for _, p := range []string{path, known(1)} { // stored, and not
		if refused := b.must(429, p, as("a")); refused.own.Reason != "client_queue_full" || refused.own.RetryAfter != 1 {
			t.Errorf("%s", refused.body)
		}
	}
	b.must(200, path, as("b"))
	a.load.unread.Add(-maxUnread)
	close(w.free)
	writing.Wait()
	if n := a.load.unread.Load(); n != 0 {
		t.Errorf("%d bytes are unread in the end", n)
	}

	for range maxDecoding {
		a.load.decoding <- struct{}{}
	}
	late := b.later(path, as("a"))
	b.must(200, path, as("b"))
	select {
	case got := <-late:
		t.Errorf("it was not its turn: %d", got.status)
	default:
	}
	for range maxDecoding {
		<-a.load.decoding
	}
	if got := <-late; got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A gateway whose accounts are clients of another one: that one limits by account, and the first goes on through the
// other account.
func TestTwoGatewaysWhereClientsAreAccounts(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"narrow": ", requests: 2/1h", "wide": "", "gone": ""})
	second := start(t, setup{yaml: strings.Replace(yaml, "gone", "other", 1)})
	first := start(t, setup{
		noKey: true, base: func(*testing.T) string { return second.url },
		yaml: "limiter: {concurrency: 16, max_retries: 1, limited_by: account}\naccounts:\n" +
			"  - {name: stranger, priority: 1, keys: [{token: anv_0000000000000000000000000000000000000000000}]}\n" +
			"  - {name: narrow, priority: 2, keys: [{token: " + tokens["narrow"] + "}]}\n" +
			"  - {name: wide, priority: 3, keys: [{api_key: " + tokens["wide"] + "}]}\n",
	})
	for id := range 5 {
		if a := first.must(200, tv(9000001+id)); a.Header.Get("Cache-Status") != "anivault; fwd=miss; stored" {
			t.Errorf("%s", a.Header.Get("Cache-Status"))
		}
	}
	for client, want := range map[string]string{"narrow": "2", "wide": "3"} {
		n := 0
		for line := range strings.Lines(second.log.String()) {
			if strings.Contains(line, "event=request client="+client+" ") && strings.Contains(line, "status=200") {
				n++
			}
		}
		if strconv.Itoa(n) != want {
			t.Errorf("%s was answered %d times, not %s", client, n, want)
		}
	}
	st, err := first.service.Upstream().Limiter().Status(t.Context())
	if err != nil || st.State.String() != "Normal" {
		t.Errorf("the address: %s, %v", st.State, err)
	}
	if log := first.log.String(); !strings.Contains(log, "event=key_out account=stranger key=1") {
		t.Error("a token that the other gateway does not know is no refused key")
	}
	first.nowhere(t, tokens["narrow"], tokens["wide"])
	second.idle()
	first.idle()
}

// The gateway behind this one answers a question from its cache, or refuses it because it may not ask TMDB. A refusal
// is about its own question: the next one may be in the cache.
func TestARefusalOfTheNextGatewayIsForItsOwnQuestionOnly(t *testing.T) {
	for _, row := range []struct {
		name, yaml, client string
		status             int
		reason             string
	}{
		{"its budget is spent", "limiter: {budget: 1/24h}\n", "", 503, "quota"},
		{"its client's limit is reached", "", ", upstream: 1/24h", 503, "quota"},
	} {
		t.Run(row.name, func(t *testing.T) {
			clients, tokens := withClients(map[string]string{"first": row.client})
			second := start(t, setup{yaml: row.yaml + clients})
			first := start(t, setup{
				base: func(*testing.T) string { return second.url }, noKey: true,
				yaml: "tmdb: {token: " + tokens["first"] + "}\n",
			})
			second.must(200, tv(9000001), "Authorization: Bearer "+tokens["first"])
			a := first.get(tv(9000002))
			after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
			if a.status != row.status || a.own.Reason != row.reason || after < 80_000 || after > 2*86400 {
				t.Errorf("refused by %d %s, again after %d s", a.status, a.body, after)
			}
			if a := first.get(tv(9000001)); a.status != http.StatusOK {
				t.Errorf("what the next gateway has in its cache: %d %s", a.status, a.body)
			}
			st, err := first.service.Upstream().Limiter().Status(t.Context())
			if err != nil || !st.PauseUntil.IsZero() && st.PauseUntil.After(time.Now()) {
				t.Errorf("paused until %s, %v", st.PauseUntil, err)
			}
		})
	}
}

// The next gateway refuses a question itself, because its address is wrong or its rules are newer. Once that is mended
// the question is answered, and meanwhile all others are.
func TestAQuestionThatTheNextGatewayDoesNotTakeIsNoAnswerOfTMDBs(t *testing.T) {
	for _, row := range []struct {
		status, code int
		reason       string
		want         int
		wantReason   string
	}{
		{404, 34, "not_found", 502, "upstream"},
		{403, 3, "private", 403, "private"},
		{403, 3, "cross_site", 502, "upstream"},
		{421, 34, "host", 502, "upstream"},
		{414, 5, "too_large", 414, "too_large"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var mended atomic.Bool
			b := start(t, setup{handler: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != tv(9000001) || mended.Load() {
						next.ServeHTTP(w, r)
						return
					}
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(row.status)
					fmt.Fprintf(w, `{"success":false,"status_code":%d,"status_message":"not here","anivault":{"reason":%q}}`,
						row.code, row.reason)
				})
			}})
			a := b.get(tv(9000001))
			if a.status != row.want || a.own.Reason != row.wantReason ||
				!strings.Contains(a.body, "The gateway behind this one says: not here") {
				t.Errorf("refused by %d %s", a.status, a.body)
			}
			b.must(200, "/3/configuration")
			mended.Store(true)
			b.must(200, tv(9000001))
		})
	}
}

// All but two of five thousand requests are used, and three more come at once.
func TestSeed002TwoOfFiveThousandAreLeftAndThreeCome(t *testing.T) {
	quota := 5000
	if testing.Short() {
		quota = 500
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, fmt.Sprintf("limiter: {budget: %d/1h}\n", quota))
		for id := range quota - 2 {
			if a := b.get(tv(1_000_000 + id)); a.status != http.StatusNotFound {
				t.Fatalf("request %d: %d %s", id+1, a.status, a.body)
			}
		}
		var refused, let atomic.Int32
		var asking sync.WaitGroup
		for id := range 3 {
			asking.Go(func() {
				begun := time.Now()
				a, err := b.request(t.Context(), http.MethodGet, tv(2_000_000+id))
				switch took := time.Since(begun); {
				case err != nil:
					t.Error(err)
				case a.status == http.StatusNotFound && took > 0:
					let.Add(1)
				case a.status == http.StatusServiceUnavailable && a.own.Reason == "quota" && took == 0: // before it waits
					refused.Add(1)
				default:
					t.Errorf("after %s: %d %s", took, a.status, a.body)
				}
			})
		}
		asking.Wait()
		st, err := b.service.Upstream().Limiter().Status(t.Context())
		sent := len(b.fake.Journal())
		if refused.Load() != 1 || let.Load() != 2 || err != nil || st.BudgetUsed != quota || st.BudgetHeld != 0 ||
			sent != quota {
			t.Errorf("%d refused, %d let; used %d, held %d, %d at TMDB, %v", refused.Load(), let.Load(), st.BudgetUsed,
				st.BudgetHeld, sent, err)
		}
	})
}

// Somebody sets the rest of the budget aside and forgets it: questions are refused before they wait, until its hour is
// over.
func TestSeed002AnOrphanIsFreeAfterItsHour(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, dir, "limiter: {budget: 4/24h}\n")
		if a := b.get(known(0)); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		other, err := ratelimit.New(
			ratelimit.Config{Store: b.service.g.upstream.Store(), Tuning: b.service.g.upstream.Limiter().Tuning()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Reserve(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		refused := func(n int) bool {
			a := b.get(known(n))
			return a.status == http.StatusServiceUnavailable && strings.Contains(a.body, `"reason":"quota"`)
		}
		time.Sleep(59 * time.Minute)
		if !refused(1) {
			t.Error("it is free before its hour")
		}
		time.Sleep(2 * time.Minute)
		for n := range 3 {
			if a := b.get(known(1 + n)); a.status != http.StatusOK {
				t.Errorf("after its hour: %d %s", a.status, a.body)
			}
		}
		if !refused(4) {
			t.Error("beyond the budget")
		}
		if n := b.service.g.upstream.Metrics().Snapshot().Value(metrics.QuotaOrphans); n != 3 {
			t.Errorf("%v orphans are counted", n)
		}
	})
}
