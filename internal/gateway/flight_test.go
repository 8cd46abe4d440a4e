package gateway

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// counts are how many questions are on their way, how many of them wait, and how many are inside.
func (b *bench) counts() (all, waiting, inside int) {
	g := b.service.g
	g.flights.mu.Lock()
	all, waiting = len(g.flights.byKey), g.flights.waiting
	g.flights.mu.Unlock()
	inside, _ = g.queue.running()
	return all, waiting, inside
}

// idle waits until nothing is on its way and nobody holds anything.
func (b *bench) idle() {
	b.t.Helper()
	eventually(b.t, "nothing is on its way", func() bool {
		all, waiting, inside := b.counts()
		st, err := b.service.g.upstream.Limiter().Status(b.t.Context())
		return all == 0 && waiting == 0 && inside == 0 && err == nil && st.Running == 0 && st.Waiting == 0
	})
}

func TestOneFlightAnswersAllWhoAskTheSame(t *testing.T) {
	for name, path := range map[string]string{"what is stored": "/3/tv/9000001", "what is not": "/3/tv/changes"} {
		t.Run(name, func(t *testing.T) {
			b := start(t, setup{})
			b.must(200, "/3/configuration") // the key is proven
			open := b.up.shut()
			defer open()
			first := b.later(path)
			<-b.up.arrived
			var rest []<-chan answered
			for range 5 {
				rest = append(rest, b.later(path+"?api_key=a-key-of-its-own"))
			}
			f := b.service.g.flights
			eventually(t, "all wait for one flight", func() bool {
				f.mu.Lock()
				defer f.mu.Unlock()
				for _, flight := range f.byKey {
					return flight.waiters == 6
				}
				return false
			})
			open()
			a := <-first
			if a.status != 200 || strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
				t.Errorf("the first: %d %s", a.status, a.Header.Get("Cache-Status"))
			}
			for _, ch := range rest {
				if other := <-ch; other.body != a.body || !strings.HasSuffix(other.Header.Get("Cache-Status"), "; collapsed") {
					t.Errorf("another: %d %s", other.status, other.Header.Get("Cache-Status"))
				}
			}
			if n := b.up.asked(); n != 2 {
				t.Errorf("TMDB was asked %d times", n-1)
			}
			b.idle()
		})
	}
}

func TestClientsThatGoAwayLeaveNothingBehind(t *testing.T) {
	b := start(t, setup{yaml: "limiter: {concurrency: 1}\n"})
	b.must(200, "/3/configuration")
	open := b.up.shut()
	defer open()
	ask := func(path string) (leave context.CancelFunc, left <-chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := b.request(ctx, http.MethodGet, path)
			done <- err
		}()
		return cancel, done
	}
	leaveSent, sent := ask("/3/tv/9000001")
	<-b.up.arrived
	leaveWaiting, waiting := ask("/3/tv/9000002")
	eventually(t, "one waits in the queue", func() bool { return b.service.g.queue.waitingByClass()[interactive] == 1 })
	leaveWaiting()
	<-waiting
	eventually(t, "it has left the queue", func() bool { return b.service.g.queue.waitingByClass()[interactive] == 0 })
	leaveSent()
	<-sent
	open()
	b.idle()
	if a := b.must(200, "/3/tv/9000001"); !strings.HasPrefix(a.Header.Get("Cache-Status"), "anivault; hit") {
		t.Errorf("what was sent was not stored: %s", a.Header.Get("Cache-Status"))
	}
	if n := b.up.asked(); n != 2 {
		t.Errorf("TMDB was asked %d times", n)
	}

	// What can't be stored is given up when nobody waits for it.
	again := b.up.shut()
	defer again()
	leave, left := ask("/3/tv/changes")
	<-b.up.arrived
	leave()
	<-left
	b.idle()
}

func TestDrainFinishesWhatIsUnderWay(t *testing.T) {
	b := start(t, setup{yaml: "serve: {drain_timeout: 50ms}\nlimiter: {concurrency: 1}\n"})
	b.must(200, "/3/configuration")
	open := b.up.shut()
	defer open()
	sent := b.later("/3/tv/9000001")
	<-b.up.arrived
	waiting := b.later("/3/tv/9000002")
	eventually(t, "one waits", func() bool { return b.service.g.queue.waitingByClass()[interactive] == 1 })
	ended := make(chan error, 1)
	go func() { ended <- b.stop() }()
	if a := <-waiting; a.status != 503 || a.own.Code != "1008" || a.Header.Get("Retry-After") == "" {
		t.Errorf("what waited: %d %s", a.status, a.body)
	}
	open()
	if a := <-sent; a.status != 200 {
		t.Errorf("what was sent: %d %s", a.status, a.body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := b.request(t.Context(), http.MethodGet, "/readyz"); err == nil {
		t.Error("it still answers")
	}
}

// The limiter repeats a try that fails, but not after the drain's time: the client would get no answer before its
// connection is closed.
func TestDrainRepeatsNothingAfterItsTime(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		t.Run(fmt.Sprintf("hangs=%v", hangs), func(t *testing.T) {
			arrived, gate := make(chan string, 10), make(chan struct{})
			b := start(t, setup{
				yaml: "serve: {drain_timeout: 50ms}\nlimiter: {request_timeout: 400ms}\n",
				handler: func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path != "/3/tv/9000001" {
							next.ServeHTTP(w, r)
							return
						}
						arrived <- r.URL.Path
						select {
						case <-gate:
							w.WriteHeader(http.StatusInternalServerError)
						case <-r.Context().Done():
						}
					})
				},
			})
			b.must(200, "/3/configuration")
			sent := b.later("/3/tv/9000001")
			<-arrived
			ended := make(chan error, 1)
			go func() { ended <- b.stop() }()
			if !hangs {
				eventually(t, "the drain's time is over", func() bool {
					fs := b.service.g.flights
					fs.mu.Lock()
					defer fs.mu.Unlock()
					return fs.closed
				})
				close(gate)
			}
			if a := <-sent; a.status != 503 || a.own.Code != "1008" || a.Header.Get("Retry-After") == "" {
				t.Errorf("what was sent: %d %s", a.status, a.body)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if n := len(arrived); n != 0 {
				t.Errorf("TMDB was asked %d more times", n)
			}
		})
	}
}

func TestStateNamesNobodyAfterTheEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	b := start(t, setup{yaml: "limiter: {budget: 100/1h}\n"})
	for id := range 20 {
		b.get(tv(9000001 + id))
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	next := start(t, setup{dir: b.dir, yaml: "limiter: {budget: 100/1h}\n"})
	st, err := next.service.g.upstream.Limiter().Status(t.Context())
	if err != nil || st.Running != 0 || st.Waiting != 0 || st.BudgetHeld != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := next.stop(); err != nil {
		t.Fatal(err)
	}
	transport.CloseIdleConnections()
	eventually(t, "its goroutines are gone", func() bool { return runtime.NumGoroutine() <= before+4 })
}

func TestAPanicBelowLosesNoSlot(t *testing.T) {
	b := start(t, setup{})
	b.must(200, "/3/configuration")
	done := make(chan struct{})
	s := b.service.g.settings.Load()
	by := requester{settings: s, client: s.anonymous, patience: time.Second}
	f := &flight{ticket: ticket{client: "a", weight: 1}, initiator: by}
	// Without a request to send, the transports below panic.
	begun, err := b.service.g.flights.begin(f)
	if err != nil || !begun {
		t.Fatal(begun, err)
	}
	go func() { <-f.done; close(done) }()
	<-done
	if r := refusalOf(f.err); r.code != "9999" {
		t.Errorf("%v", f.err)
	}
	b.idle()
	b.must(200, "/3/tv/9000001")
}

func TestHeadersThatAreRead(t *testing.T) {
	for text, want := range map[string]int{
		"": 3, "u=5": 5, "u=7, i": 7, "i, u=0": 0, "u=1;x=y": 1, "u=8": 3, "u=-1": 3, "u=": 3, "u=55": 3, "U=5": 3,
		"u=5, u=2": 2, "x=5": 3,
	} {
		if got := urgency([]string{text}); got != want {
			t.Errorf("Priority %q: %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]time.Duration{
		"wait=3": 3 * time.Second, "respond-async, wait=10": 10 * time.Second, "WAIT = 2; x": 2 * time.Second, "wait=0": 0,
		"wait=-1": -1, "wait=3.5": -1, "wait": -1, "": -1, "wait=99999999999": -1, `wait="3"`: -1, "wait=3s": -1,
	} {
		got, ok := preferredWait([]string{text})
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("Prefer %q: %s, want %s", text, got, want)
		}
	}
	got := map[string]bool{}
	for _, text := range []string{"only-if-cached", "max-age=0, Only-If-Cached", "no-cache", "", "only-if-cached=1"} {
		got[text] = onlyIfCached([]string{text})
	}
	want := map[string]bool{
		"only-if-cached": true, "max-age=0, Only-If-Cached": true, "no-cache": false, "": false,
		"only-if-cached=1": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
