package ratelimit

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script answers the n-th try.
type script func(n int, req *http.Request) (*http.Response, error)

// upstream is a server in the form of a script.
type upstream struct {
	mu      sync.Mutex
	serve   script
	sent    []time.Time
	latency time.Duration
}

func (u *upstream) RoundTrip(req *http.Request) (*http.Response, error) {
	u.mu.Lock()
	u.sent = append(u.sent, time.Now())
	n := len(u.sent)
	u.mu.Unlock()
	if u.latency > 0 {
		select {
		case <-time.After(u.latency):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return u.serve(n, req)
}

func (u *upstream) tries() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.sent)
}

func reply(status int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: -1}
}

// statuses answers with these codes, the last one for ever.
func statuses(codes ...int) script {
	return func(n int, _ *http.Request) (*http.Response, error) { return reply(codes[min(n, len(codes))-1]), nil }
}

type rig struct {
	*testing.T
	l  *Limiter
	u  *upstream
	tr *Transport
}

func newRig(t *testing.T, tune func(*Config), serve script) *rig {
	t.Helper()
	c := Config{Store: NewMemoryStore(), Tuning: Default(), Rand: func() float64 { return 0.5 }}
	if tune != nil {
		tune(&c)
	}
	l, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{serve: serve}
	return &rig{t, l, u, &Transport{Base: u, Limiter: l}}
}

// get sends one request and returns the status of the answer, 0 for none.
func (r *rig) get(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream.test/3/tv/1", http.NoBody)
	if err != nil {
		r.Fatal(err)
	}
	return r.send(req)
}

func (r *rig) send(req *http.Request) (int, error) {
	resp, err := r.tr.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || int64(len(body)) != resp.ContentLength {
		r.Errorf("body of %d bytes, length %d: %v", len(body), resp.ContentLength, err)
	}
	return resp.StatusCode, nil
}

func (r *rig) status() Status {
	r.Helper()
	s, err := r.l.Status(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func TestRetryAfterReallyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return reply(429, "Retry-After", "2"), nil
			}
			return reply(200), nil
		})
		start := time.Now()
		status, err := r.get(t.Context())
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %v", status, err)
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("waited %s", got)
		}
		if r.u.tries() != 2 || r.status().State != Normal {
			t.Errorf("%d tries, %s", r.u.tries(), r.status().State)
		}
	})
}

// A server that lets requests wait has to know for how long it may.
func TestATryKnowsWhatIsLeftOfMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left []time.Duration
		r := newRig(t, func(c *Config) { c.Tuning.MaxWait = 20 * time.Second },
			func(n int, req *http.Request) (*http.Response, error) {
				d, ok := WaitLeft(req.Context())
				if !ok {
					t.Error("a try does not know it")
				}
				left = append(left, d)
				if n == 1 {
					return reply(429, "Retry-After", "2"), nil
				}
				return reply(200), nil
			})
		r.u.latency = time.Second // which is no waiting
		for _, ctx := range []context.Context{
			t.Context(), With(t.Context(), Request{MaxWait: 5 * time.Second}),
			With(t.Context(), Request{Waited: 7 * time.Second}),
		} {
			if _, err := r.get(ctx); err != nil {
				t.Error(err)
			}
		}
		if want := []time.Duration{
			20 * time.Second, 18 * time.Second, 5 * time.Second,
			13 * time.Second,
		}; !slices.Equal(left, want) {
			t.Errorf("left %v, want %v", left, want)
		}
		if _, ok := WaitLeft(t.Context()); ok {
			t.Error("what is no try knows it")
		}
	})
}

func TestAPauseHoldsEverybodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return reply(429, "Retry-After", "30"), nil
			}
			return reply(200), nil
		})
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = r.get(t.Context()) })
		synctest.Wait()
		time.Sleep(time.Second)
		for range 3 {
			wg.Go(func() { _, _ = r.get(t.Context()) })
		}
		wg.Wait()
		for _, at := range r.u.sent[1:] {
			if at.Sub(start) < 30*time.Second {
				t.Errorf("sent after %s", at.Sub(start))
			}
		}
	})
}

// What waited through a pause leaves at the rate, not all at once: the limit has just been met.
func TestAPauseEndsWithoutABurst(t *testing.T) {
	for _, rate := range []float64{5, 35} {
		synctest.Test(t, func(t *testing.T) {
			tune := func(c *Config) {
				c.Tuning.RateBase, c.Tuning.Ceiling = rate, 40
				c.Tuning.Concurrency, c.Tuning.ConcurrencyTotal = 16, 16
			}
			r := newRig(t, tune, func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return reply(429, "Retry-After", "30"), nil
				}
				return reply(200), nil
			})
			start := time.Now()
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = r.get(t.Context()) })
			synctest.Wait()
			for range 9 {
				wg.Go(func() { _, _ = r.get(t.Context()) })
			}
			wg.Wait()
			sent := r.u.sent[1:]
			if len(sent) != 10 || sent[0].Sub(start) != 30*time.Second {
				t.Fatalf("%d sent, the first after %s", len(sent), sent[0].Sub(start))
			}
			gap := time.Duration(float64(time.Second) / rate)
			for i := 1; i < len(sent); i++ {
				if got := sent[i].Sub(sent[i-1]).Round(time.Microsecond); got < gap.Round(time.Microsecond) {
					t.Errorf("at %g/s the %d. came %s after the one before", rate, i+1, got)
				}
			}
		})
	}
}

func TestEachHostHasALimiterOfItsOwn(t *testing.T) {
	var mu sync.Mutex
	made := map[string]int{}
	tr := &Transport{
		Base: &upstream{serve: statuses(200)},
		PerHost: func(host string) (*Limiter, error) {
			mu.Lock()
			defer mu.Unlock()
			if made[host]++; host == "http://late.test:80" && made[host] == 1 {
				return nil, errors.New("not yet")
			}
			return New(Config{Store: NewMemoryStore()})
		},
	}
	get := func(url string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := tr.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	var wg sync.WaitGroup
	for _, url := range []string{"http://a.test/1", "http://A.test:80/2", "https://a.test/3", "http://a.test:8080"} {
		wg.Go(func() {
			if err := get(url); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := get("http://late.test"); err == nil || err.Error() != "make the limiter of http://late.test:80: not yet" {
		t.Errorf("%v", err)
	}
	must(t, get("http://late.test"))
	want := map[string]int{
		"http://a.test:80": 1, "https://a.test:443": 1, "http://a.test:8080": 1, "http://late.test:80": 2,
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
}

func TestRetriesAreSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, statuses(500))
		status, err := r.get(t.Context())
		if err != nil || status != http.StatusInternalServerError || r.u.tries() != 3 {
			t.Fatalf("%d %v after %d tries", status, err, r.u.tries())
		}
	})
}

// Where there is no time for another try, the upstream's own word is what the caller gets.
func TestTheLastAnswerIsKeptWhenThereIsNoTimeForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("connection refused")
		r := newRig(t, func(c *Config) { c.Tuning.MaxWait = time.Second }, func(int, *http.Request) (*http.Response,
			error,
		) {
			return nil, lost
		})
		if _, err := r.get(t.Context()); !errors.Is(err, lost) {
			t.Errorf("the cause is lost: %v", err)
		}
		r = newRig(t, func(c *Config) { c.Tuning.MaxWait = time.Second }, statuses(502))
		if status, err := r.get(t.Context()); status != http.StatusBadGateway || err != nil {
			t.Errorf("%d %v", status, err)
		}
	})
}

func TestWhatIsRetried(t *testing.T) {
	boom := errors.New("connection reset by peer")
	tests := []struct {
		name   string
		method string
		body   string
		serve  script
		tries  int
	}{
		{"server", "GET", "", statuses(503, 200), 2},
		{"timeout of the server", "GET", "", statuses(408, 200), 2},
		{"throttled", "GET", "", statuses(429, 200), 2},
		{"network", "GET", "", func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return nil, boom
			}
			return reply(200), nil
		}, 2},
		{"client", "GET", "", statuses(404), 1},
		{"key", "GET", "", statuses(401), 1},
		{"not modified", "GET", "", statuses(304), 1},
		{"certificate", "GET", "", func(int, *http.Request) (*http.Response, error) {
			return nil,
				x509.UnknownAuthorityError{}
		}, 1},
		{"post", "POST", "x", statuses(503), 1},
		{"delete", "DELETE", "", statuses(503, 200), 2},
		{"put", "PUT", "payload", func(n int, req *http.Request) (*http.Response, error) {
			if b, _ := io.ReadAll(req.Body); string(b) != "payload" {
				return nil, x509.UnknownAuthorityError{} // ends the retries
			}
			return reply([]int{503, 503, 200}[n-1]), nil
		}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, tt.serve)
				req, _ := http.NewRequestWithContext(t.Context(), tt.method, "http://upstream.test/", strings.NewReader(tt.body))
				_, _ = r.send(req)
				if got := r.u.tries(); got != tt.tries {
					t.Errorf("%d tries, want %d", got, tt.tries)
				}
				if st := r.status(); st.Running != 0 || st.Waiting != 0 {
					t.Errorf("left behind: %d slots, %d tickets", st.Running, st.Waiting)
				}
			})
		})
	}
}

func TestCancelledRequestsGiveTheirSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, statuses(200))
		r.u.latency = time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		errs := make([]error, 12)
		for i := range errs {
			wg.Go(func() { _, errs[i] = r.get(ctx) })
		}
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		for _, err := range errs {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
		if st := r.status(); st.Running != 0 || st.Waiting != 0 || st.Counts.Total() != 0 {
			t.Errorf("%+v", st)
		}
		if r.u.tries() != 4 {
			t.Errorf("%d tries", r.u.tries())
		}
	})
}

func TestAPanicGivesTheSlotBack(t *testing.T) {
	r := newRig(t, nil, func(int, *http.Request) (*http.Response, error) { panic("broken transport") })
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = r.get(t.Context())
	}()
	if st := r.status(); st.Running != 0 {
		t.Errorf("%d slots", st.Running)
	}
}

func TestDoneTwiceIsHarmless(t *testing.T) {
	r := newRig(t, nil, nil)
	p, err := r.l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, _ := r.l.Acquire(t.Context())
	p.Report(Event{Outcome: OK, Status: 200})
	p.Report(Event{Outcome: Throttled, Status: 429})
	if st := r.status(); st.Running != 1 || st.Counts.Throttled != 0 || st.Counts.OK != 1 {
		t.Errorf("%+v", st)
	}
	q.Report(Event{})
}

func TestBodies(t *testing.T) {
	closed := 0
	body := func(s io.Reader) io.ReadCloser { return &closer{s, func() { closed++ }} }
	cut := func(int, *http.Request) (*http.Response, error) {
		resp := reply(200)
		resp.Body = body(io.MultiReader(strings.NewReader("abc"), failing{io.ErrUnexpectedEOF}))
		return resp, nil
	}
	long := func(int, *http.Request) (*http.Response, error) {
		resp := reply(200)
		resp.Body = body(strings.NewReader(strings.Repeat("x", 101)))
		return resp, nil
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Tuning.MaxRetries = 1 }, cut)
		if _, err := r.get(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v", err)
		}
		if c := r.status().Counts; c.Network != 1 || closed != 2 {
			t.Errorf("%+v, %d closed", c, closed)
		}
		r = newRig(t, func(c *Config) { c.Tuning.MaxRetries = -1 }, long)
		r.tr.MaxBody = 100
		var tooLong *BodyTooLargeError
		if _, err := r.get(t.Context()); !errors.As(err, &tooLong) || tooLong.Limit != 100 {
			t.Errorf("%v", err)
		}
		if c := r.status().Counts; c.Total() != 0 {
			t.Errorf("%+v", c)
		}
		r.tr.MaxBody = 101
		if _, err := r.get(t.Context()); err != nil {
			t.Errorf("%v", err)
		}
	})
}

type closer struct {
	io.Reader
	onClose func()
}

func (c *closer) Close() error { c.onClose(); return nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestAStaleAnswerIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		var answers []Answer
		r.l.wantsGauges = true
		r.l.hooks.OnAnswer = func(a Answer) { answers = append(answers, a) }
		old, _ := r.l.Acquire(t.Context())
		if _, moved, err := (Operator{r.l.store}).ForceCacheOnly(t.Context(), time.Second); err != nil || !moved {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		old.Report(Event{Outcome: Throttled, Status: 429, RetryAfter: Wait{Duration: 20 * time.Second, Present: true}})
		st := r.status()
		if st.State != CacheOnly || st.Counts.Total() != 0 || !answers[0].Late || answers[0].Pause != 20*time.Second {
			t.Errorf("%+v %+v", st, answers)
		}
		if got := st.PauseUntil.Sub(st.At); got != 20*time.Second {
			t.Errorf("pause %s", got)
		}
	})
}

// broken is a body that breaks off.
type broken struct{ io.Reader }

func (broken) Close() error { return nil }

// An answer that is not 2xx keeps its status and its Retry-After when its body breaks off or is too large.
func TestAnAnswerKeepsItsStatusWithoutItsBody(t *testing.T) {
	bodies := map[string]func() io.ReadCloser{
		"cut": func() io.ReadCloser {
			return broken{io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))}
		},
		"large": func() io.ReadCloser { return io.NopCloser(strings.NewReader("half" + strings.Repeat("x", 100))) },
	}
	for status, want := range map[int]struct {
		outcome Outcome
		tries   int
		pause   time.Duration
	}{
		200: {Network, 2, 0}, // its body is needed
		401: {Client, 1, 0},
		404: {Client, 1, 0},
		429: {Throttled, 1, 200 * time.Second},
		500: {Server, 2, 0},
		503: {Server, 1, 0}, // it names its own request, which does not wait for so long
	} {
		for name, body := range bodies {
			t.Run(fmt.Sprint(status, " ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var first *Answer
					r := newRig(t, func(c *Config) {
						c.Tuning.MaxRetries = 1
						c.Hooks.OnAnswer = func(a Answer) {
							if first == nil {
								first = &a
							}
						}
					}, func(int, *http.Request) (*http.Response, error) {
						resp := reply(status, "Retry-After", "200")
						resp.Body = body()
						return resp, nil
					})
					r.tr.MaxBody = 50
					got, err := r.get(t.Context())
					outcome, tries := want.outcome, want.tries
					if status == 200 && name == "large" { // it would be as large again
						outcome, tries = Client, 1
					}
					if first.Outcome != outcome || r.u.tries() != tries || first.Pause != want.pause {
						t.Errorf("%s, %d tries, pause %s (%v)", first.Outcome, r.u.tries(), first.Pause, err)
					}
					if status != 200 && first.Status != status || want.tries == 1 && want.pause == 0 && got != status {
						t.Errorf("status %d, %d returned", first.Status, got)
					}
				})
			})
		}
	}
}

// A deadline of the caller's own is evidence once the request is on the wire; giving up is none.
func TestTheCallersDeadline(t *testing.T) {
	late := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, time.Second)
	}
	gone := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		return ctx, cancel
	}
	for _, tt := range []struct {
		name  string
		until func(context.Context) (context.Context, context.CancelFunc)
		trace func(*httptrace.ClientTrace)
		want  Outcome
	}{
		{"late, sent", late, func(c *httptrace.ClientTrace) { c.GetConn(""); c.WroteHeaders() }, Network},
		{"late, never connected", late, func(c *httptrace.ClientTrace) { c.GetConn("") }, Cancelled},
		{"late, a Base that tells nothing", late, func(*httptrace.ClientTrace) {}, Network},
		{"given up", gone, func(c *httptrace.ClientTrace) { c.GetConn(""); c.WroteHeaders() }, Cancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []Outcome
				r := newRig(t, func(c *Config) { c.Hooks.OnAnswer = func(a Answer) { got = append(got, a.Outcome) } },
					func(_ int, req *http.Request) (*http.Response, error) {
						tt.trace(httptrace.ContextClientTrace(req.Context()))
						<-req.Context().Done()
						return nil, req.Context().Err()
					})
				ctx, cancel := tt.until(t.Context())
				defer cancel()
				_, err := r.get(ctx)
				if !errors.Is(err, ctx.Err()) || len(got) != 1 || got[0] != tt.want {
					t.Errorf("%v, outcomes %v", err, got)
				}
			})
		})
	}
}

// Streams that are lost together with their connection are one failure; lost connections are one each.
func TestALostConnectionIsOneFailure(t *testing.T) {
	for connections, want := range map[int]int{1: 1, 8: 8} {
		t.Run(fmt.Sprint(connections, " connections"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conns := make([]net.Conn, connections)
				for i := range conns {
					conns[i], _ = net.Pipe()
				}
				r := newRig(t, func(c *Config) {
					c.Tuning.Concurrency, c.Tuning.MaxRetries, c.Tuning.NFailures = 8, -1, 100
				}, func(n int, req *http.Request) (*http.Response, error) {
					httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{Conn: conns[n%connections]})
					return nil, io.ErrUnexpectedEOF
				})
				r.u.latency = time.Second
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() { _, _ = r.get(t.Context()) })
				}
				wg.Wait()
				if st := r.status(); st.Failures != want || st.Counts.Network != want {
					t.Errorf("%d failures in a row, %+v", st.Failures, st.Counts)
				}
			})
		})
	}
}

// A caller that sets a request aside gets its answer at once, and says later that it asks again.
func TestARequestThatIsSetAsideIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Rand = func() float64 { return 0.5 } }, statuses(503, 500, 500, 500, 500, 200))
		var tries Tries
		ask := func(number, count int, want time.Duration) {
			t.Helper()
			start := time.Now()
			if _, err := r.get(tries.With(t.Context())); err != nil || r.u.tries() != number || !time.Now().Equal(start) {
				t.Fatalf("%v after %s and %d tries", err, time.Since(start), r.u.tries())
			}
			if got, due := tries.Failed(); got != count || time.Until(due) != want {
				t.Errorf("%d failed, due in %s, want %d and %s", got, time.Until(due), count, want)
			}
		}
		ask(1, 1, 750*time.Millisecond)
		ask(2, 2, 1500*time.Millisecond)
		ask(3, 3, 3*time.Second)
		tries.Restart()
		if _, due := tries.Failed(); time.Until(due) != 750*time.Millisecond {
			t.Errorf("after Restart the next attempt is due in %s", time.Until(due))
		}
		ask(4, 1, 750*time.Millisecond)
		ask(5, 2, 750*time.Millisecond)
		if st := r.status(); st.Counts.Server != 1 || st.Failures != 5 { // nothing was answered meanwhile
			t.Errorf("%+v, %d failures in a row", st.Counts, st.Failures)
		}
		status, err := r.get(tries.With(t.Context()))
		if n, _ := tries.Failed(); err != nil || status != 200 || n != 0 || r.status().Failures != 0 {
			t.Errorf("%d %v, %d failed, %d failures in a row", status, err, n, r.status().Failures)
		}
	})
}

// A cache sends simultaneous requests once, so only one of their callers has a failed try.
func TestAFailureIsOneOfEachTriesThatWaitedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Rand = func() float64 { return 0.5 } }, statuses(503, 200))
		var leader Tries
		other := leader.Share()
		ctx, begun := other.With(t.Context()), time.Now()
		if _, err := r.get(leader.With(t.Context())); err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream.test/3/tv/1", http.NoBody)
		RequestIn(ctx).Tries.Join(req, time.Now().Add(time.Nanosecond))
		if n, _ := other.Failed(); n != 0 {
			t.Error("a failure before the request is its own")
		}
		for range 2 {
			RequestIn(ctx).Tries.Join(req, begun)
			if n, due := other.Failed(); n != 1 || time.Until(due) != 750*time.Millisecond {
				t.Errorf("%d failed, due in %s", n, time.Until(due))
			}
		}
		RequestIn(t.Context()).Tries.Join(req, begun) // of a request whose caller does not retry
	})
}

// A gateway's limit for its client renews piecemeal: many requests that wait for it are refused several times.
func TestALimitThatIsUsedUpCostsNoRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, func(n int, _ *http.Request) (*http.Response, error) {
			if n > 10 {
				return reply(200), nil
			}
			return reply(429, "Retry-After", "5", "RateLimit", `"client";r=0;t=5`), nil
		})
		r.tr.Classify = func(_ *http.Request, resp *http.Response, _ []byte, _ error) Outcome {
			return map[int]Outcome{200: OK, 429: Deferred}[resp.StatusCode]
		}
		start := time.Now()
		if status, err := r.get(t.Context()); status != 200 || err != nil || time.Since(start) > 51*time.Second {
			t.Errorf("%d, %v after %s and %d tries", status, err, time.Since(start), r.u.tries())
		}
	})
}

func TestNobodyWaitsForARetryAfterBeyondMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, func(int, *http.Request) (*http.Response, error) {
			return reply(503, "Retry-After", "3600"), nil
		})
		var tries Tries
		if _, err := r.get(tries.With(t.Context())); err != nil {
			t.Fatal(err)
		}
		if n, due := tries.Failed(); n != 0 {
			t.Errorf("asked again in %s", time.Until(due))
		}
	})
}

func TestA503sRetryAfterDelaysItsOwnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newRig(t, nil, func(int, *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				return reply(503, "Retry-After", "20"), nil
			}
			return reply(200), nil
		})
		start := time.Now()
		var slow time.Duration
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = r.get(t.Context())
			slow = time.Since(start)
		})
		time.Sleep(time.Second)
		for range 5 {
			if _, err := r.get(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the others took %s", took)
		}
		if wg.Wait(); slow < 20*time.Second {
			t.Errorf("asked again after %s", slow)
		}
	})
}

func TestRandDrawsTheRetryDelaysToo(t *testing.T) {
	for draw, want := range map[float64]time.Duration{0: 0, 0.5: 2250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Rand = func() float64 { return draw } }, statuses(500))
			start := time.Now()
			if _, err := r.get(t.Context()); err != nil || time.Since(start) != want || r.u.tries() != 3 {
				t.Errorf("%v after %s and %d tries, want %s", err, time.Since(start), r.u.tries(), want)
			}
		})
	}
}

// idle is a transport with connections to close.
type idle struct {
	http.RoundTripper
	closed bool
}

func (i *idle) CloseIdleConnections() { i.closed = true }

func TestTransportIsWhatClientsExpect(t *testing.T) {
	l, _ := New(Config{Store: NewMemoryStore()})
	base := &idle{}
	(&http.Client{Transport: &Transport{Limiter: l, Base: base}}).CloseIdleConnections()
	if !base.closed {
		t.Error("CloseIdleConnections did not reach Base")
	}
	(&http.Client{Transport: &Transport{Limiter: l, Base: &upstream{}}}).CloseIdleConnections() // has none
	if _, err := (&http.Client{Transport: &Transport{}}).Get("http://127.0.0.1:1/"); err == nil ||
		!strings.Contains(err.Error(), "no limiter") {
		t.Errorf("%v", err)
	}
}
