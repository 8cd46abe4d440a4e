package gateway

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Scenarios of the documents that the project came from, over real HTTP. Their numbers are in the tests' names.

// busy is a gateway with one place, which a question holds until the returned function is called.
func busy(t *testing.T, o setup) (b *bench, free func()) {
	t.Helper()
	o.yaml = "limiter: {concurrency: 1}\n" + o.yaml
	b = start(t, o)
	b.must(200, "/3/configuration", o.headers...) // the key is proven
	open := b.up.shut()
	t.Cleanup(open)
	held := b.later("/3/tv/9000023", o.headers...)
	<-b.up.arrived
	return b, sync.OnceFunc(func() {
		open()
		<-held
	})
}

func TestSeed000OneSlotServesOneAfterTheOther(t *testing.T) {
	for concurrency, together := range map[int]int{1: 1, 2: 2} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			b := start(t, setup{yaml: fmt.Sprintf("limiter: {concurrency: %d}\n", concurrency)})
			b.must(200, "/3/configuration")
			open := b.up.shut()
			defer open()
			first := b.later("/3/tv/9000001")
			<-b.up.arrived
			second := b.later("/3/tv/9000002")
			if together == 2 {
				<-b.up.arrived
			}
			want := 2 - together
			eventually(t, "the other one waits", func() bool { return b.service.g.queue.waitingByClass()[interactive] == want })
			open()
			if a, c := <-first, <-second; a.status != 200 || c.status != 200 {
				t.Errorf("%d %d", a.status, c.status)
			}
			var events []string
			for line := range strings.Lines(b.log.String()) {
				for _, e := range []string{"slot_wait", "slot_acquired", "slot_released"} {
					if strings.Contains(line, "event="+e+" account=default ") && strings.Contains(line, "request_id=") {
						events = append(events, e)
					}
				}
			}
			if together == 1 && !slices.Equal(events[3:],
				[]string{"slot_wait", "slot_acquired", "slot_wait", "slot_released", "slot_acquired", "slot_released"}) {
				t.Errorf("the log tells %q", events[3:])
			}
			b.idle()
		})
	}
}

func TestSeed000AndSeed001WaitingTooLongGivesAnError(t *testing.T) {
	const patient = "Priority: u=6" // as batch, which has longer: it is not what the test is about
	b, free := busy(t, setup{
		yaml:    "serve: {acquire_timeout: {interactive: 300ms}, stale_after: off}\n",
		headers: []string{patient},
	})
	a := b.must(429, "/3/tv/9000001")
	if a.own.Code != "1002" || a.own.Reason != "acquire_timeout" || a.Header.Get("Retry-After") == "" ||
		!strings.Contains(a.body, `"status_code":25`) {
		t.Errorf("%s", a.body)
	}
	for _, line := range []string{
		"lvl=WARN comp=gateway event=slot_wait account=default running=1 limit=1 available=0 request_id=",
		"lvl=ERROR comp=gateway event=slot_timeout account=default",
	} {
		if !strings.Contains(b.log.String(), line) {
			t.Errorf("the log does not tell %q", line)
		}
	}
	b.must(429, "/3/tv/9000002")
	if n := strings.Count(b.log.String(), "event=slot_timeout"); n != 1 {
		t.Errorf("%d lines for two timeouts within a minute", n)
	}
	free()
	b.idle()
	b.must(200, "/3/tv/9000001", patient)
	b.age(400 * time.Hour)
	open := b.up.shut()
	defer open()
	held := b.later("/3/tv/9000002", patient)
	<-b.up.arrived
	if a := b.must(200, "/3/tv/9000001"); !strings.HasPrefix(a.Header.Get("Cache-Status"), "anivault; hit; ttl=-") ||
		!strings.HasSuffix(a.Header.Get("Cache-Status"), "; detail=acquire_timeout") {
		t.Errorf("in place of the error: %s", a.Header.Get("Cache-Status"))
	}
	open()
	<-held
}

func TestSeed001ASlowUpstreamIsARequestTimeout(t *testing.T) {
	const yaml = "limiter: {max_retries: 0, request_timeout: 100ms}\n"
	silent := func(t *testing.T) string { // accepts connections and says nothing
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l.Addr().String()
	}
	for name, row := range map[string]setup{
		"TLS":    {base: func(t *testing.T) string { return "https://" + silent(t) }},
		"header": {base: func(t *testing.T) string { return "http://" + silent(t) }},
		"body": {handler: func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = w.Write([]byte(`{"id":`))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
		}},
		"dial": {base: func(*testing.T) string { return "http://192.0.2.1:80" }}, // a network that leads nowhere
	} {
		t.Run(name, func(t *testing.T) {
			row.yaml = yaml
			b := start(t, row)
			a := b.get("/3/tv/9000001")
			if name == "dial" && a.own.Reason == "network" {
				t.Skip("this machine refuses connections that lead nowhere")
			}
			if a.status != 504 || a.own.Code != "1003" || a.own.Reason != "request_timeout" ||
				!strings.Contains(a.body, `"status_code":24`) {
				t.Errorf("%d %s", a.status, a.body)
			}
			b.idle()
		})
	}
}

func TestSeed002TheQuotaIsNeverExceeded(t *testing.T) {
	// All but two of five requests are used, and three more come at once.
	b := start(t, setup{yaml: "limiter: {budget: 5/1h}\n"})
	for id := range 3 {
		b.must(200, tv(9000001+id))
	}
	open := b.up.shut()
	defer open()
	var asked []<-chan answered
	for id := range 3 {
		asked = append(asked, b.later(tv(9000010+id)))
	}
	refusedFirst := make(chan answered, 3)
	for _, ch := range asked {
		go func() { refusedFirst <- <-ch }()
	}
	a := <-refusedFirst // while the other two are with TMDB, which may not answer them
	if a.status != 503 || a.own.Code != "1005" || a.own.Reason != "quota" || a.own.RetryAfter != 60 {
		t.Errorf("%d %s", a.status, a.body)
	}
	open()
	for range 2 {
		if a := <-refusedFirst; a.status == 503 {
			t.Errorf("a second one was refused: %s", a.body)
		}
	}
	b.idle()
	st, err := b.service.g.upstream.Limiter().Status(t.Context())
	if err != nil || st.BudgetUsed != 5 || st.BudgetHeld != 0 {
		t.Errorf("used %d, held %d, %v", st.BudgetUsed, st.BudgetHeld, err)
	}
	b.must(200, tv(9000001)) // what is stored costs nothing
	for _, line := range []string{
		"event=quota_reserved account=default requests=1 used=0 reserved=1 limit=5 request_id=",
		"event=quota_settled account=default requests=1 used=1 reserved=0 limit=5 request_id=",
	} {
		if !strings.Contains(b.log.String(), line) {
			t.Errorf("the log does not tell %s", line)
		}
	}
}

func TestSeed002AThousandAtOnceStayWithinTheQuota(t *testing.T) {
	b := start(t,
		setup{yaml: "limiter: {budget: 20/1h, rate_base: 400, ceiling: 400}\nserve: {queue: {per_client: 1000}}\n"})
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	gate := make(chan struct{}, 40)
	for id := range 1000 {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			a, err := b.request(t.Context(), http.MethodGet, tv(id+1))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				got[-1]++
				return
			}
			got[a.status]++
		})
	}
	wg.Wait()
	if n := b.up.asked(); n != 20 || got[503] != 980 || got[404]+got[200] != 20 {
		t.Errorf("TMDB was asked %d times: %v", n, got)
	}
	b.idle()
}

func TestPreferAndPriority(t *testing.T) {
	b, free := busy(t, setup{yaml: "serve: {acquire_timeout: {batch: 500m}, stale_after: off}\n"})
	defer free()
	if a := b.must(429, "/3/tv/9000001", "Prefer: wait=0"); a.own.Reason != "acquire_timeout" {
		t.Errorf("%s", a.body)
	}
	low := b.later("/3/tv/9000002", "Priority: u=6")
	waits := func(c class) func() bool { return func() bool { return b.service.g.queue.waitingByClass()[c] == 1 } }
	eventually(t, "it waits as batch", waits(batch))
	high := b.later("/3/tv/9000002")
	eventually(t, "it has moved into the line of who is in a hurry", waits(interactive))
	free()
	if a, c := <-low, <-high; a.status != 200 || c.status != 200 {
		t.Errorf("%d %d", a.status, c.status)
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"a": "", "b": ""})
	yaml += "  queue: {max: 3, per_client: 2}\n  stale_after: off\n"
	as := func(name string) string { return "Authorization: Bearer " + tokens[name] }
	b := start(t, setup{yaml: "limiter: {concurrency: 1}\n" + yaml})
	b.must(200, "/3/configuration", as("a"))
	open := b.up.shut()
	defer open()
	var all []<-chan answered
	ask := func(id int, name string) { all = append(all, b.later(tv(id), as(name))) }
	ask(9000023, "a")
	<-b.up.arrived
	waiting := func(n int) {
		t.Helper()
		eventually(t, "they wait", func() bool { _, w, _ := b.counts(); return w == n })
	}
	ask(1, "a")
	waiting(1)
	ask(2, "a")
	waiting(2)
	if a := b.must(429, tv(3), as("a")); a.own.Reason != "client_queue_full" || a.own.RetryAfter < 1 {
		t.Errorf("%s", a.body)
	}
	ask(4, "b")
	waiting(3)
	if a := b.must(429, tv(5), as("b")); a.own.Reason != "queue_full" {
		t.Errorf("%s", a.body)
	}
	joined := b.later(tv(1), as("b")) // one more for a question that waits takes no room
	eventually(t, "it has joined", func() bool {
		b.service.g.flights.mu.Lock()
		defer b.service.g.flights.mu.Unlock()
		for _, f := range b.service.g.flights.byKey {
			if f.waiters == 2 {
				return true
			}
		}
		return false
	})
	open()
	for _, ch := range append(all, joined) {
		if a := <-ch; a.status == 429 {
			t.Errorf("%s", a.body)
		}
	}
	b.idle()
}

// One client with many questions delays the first of another by a turn, not by its line.
func TestAGreedyClientDoesNotStandBeforeOthers(t *testing.T) {
	yaml, tokens := withClients(map[string]string{"greedy": "", "light": ""})
	b := start(t, setup{yaml: "limiter: {concurrency: 1}\n" + yaml})
	b.must(200, "/3/configuration", "Authorization: Bearer "+tokens["light"])
	open := b.up.shut()
	defer open()
	var all []<-chan answered
	for id := range 30 {
		all = append(all, b.later(tv(id+1), "Authorization: Bearer "+tokens["greedy"]))
	}
	<-b.up.arrived
	eventually(t, "the greedy one waits", func() bool { _, w, _ := b.counts(); return w == 29 })
	light := b.later("/3/tv/9000001", "Authorization: Bearer "+tokens["light"])
	eventually(t, "the light one waits", func() bool { _, w, _ := b.counts(); return w == 30 })
	open()
	if a := <-light; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, ch := range all {
		<-ch
	}
	b.up.mu.Lock()
	defer b.up.mu.Unlock()
	if at := slices.IndexFunc(b.up.urls, func(u string) bool { return strings.HasPrefix(u, "/3/tv/9000001") }); at < 0 ||
		at > 4 {
		t.Errorf("the light one's request was the %dth of %d", at, len(b.up.urls))
	}
}

func TestAnExpiredAnswerIsServedIfPermissionTakesLong(t *testing.T) {
	b := start(t, setup{yaml: "limiter: {concurrency: 1}\nserve: {stale_after: 20ms}\n"})
	b.must(200, "/3/tv/9000001")
	b.age(400 * time.Hour)
	open := b.up.shut()
	defer open()
	held := b.later("/3/tv/9000002")
	<-b.up.arrived
	a := b.must(200, "/3/tv/9000001")
	if s := a.Header.Get("Cache-Status"); !strings.HasPrefix(s, "anivault; hit; ttl=-") ||
		!strings.HasSuffix(s, "; detail=wait") {
		t.Errorf("Cache-Status: %s", s)
	}
	if age := a.Header.Get("Age"); len(age) < 6 {
		t.Errorf("Age %s", age)
	}
	if n := b.service.g.queue.waitingByClass(); n[batch] != 1 {
		t.Errorf("the question does not go on behind it: %v wait", n)
	}
	open()
	<-held
	b.idle()
	if a := b.must(200, "/3/tv/9000001"); !strings.HasPrefix(a.Header.Get("Cache-Status"), "anivault; hit; ttl=8") {
		t.Errorf("afterwards: %s", a.Header.Get("Cache-Status"))
	}
}

func TestTMDBDownBehindExpiredAnswers(t *testing.T) {
	var down bool
	var mu sync.Mutex
	b := start(t, setup{yaml: "limiter: {max_retries: 0}\nserve: {acquire_timeout: {interactive: 4s}, stale_after: " +
		"10ms}\n", handler: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if down {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			next.ServeHTTP(w, r)
		})
	}})
	for id := range 12 {
		b.get(tv(9000001 + id))
	}
	b.age(400 * time.Hour)
	mu.Lock()
	down = true
	mu.Unlock()
	for id := range 12 { // the eighth failure puts the limiter to Sleep
		a := b.get(tv(9000001 + id))
		if a.Header.Get("Cache-Status") == "" || !strings.Contains(a.Header.Get("Cache-Status"), "detail=") {
			t.Errorf("%d: %d %s", id, a.status, a.Header.Get("Cache-Status"))
		}
	}
	if a := b.get("/3/tv/1"); a.status != 503 && a.status != 502 || a.own.Code == "" {
		t.Errorf("what is not stored: %d %s", a.status, a.body)
	}
	if a := b.must(200, "/readyz"); !strings.Contains(a.body, `"degraded":["sleep"]`) &&
		!strings.Contains(a.body, `"HalfOpen"`) {
		t.Errorf("%s", a.body)
	}
}
