package ratelimit

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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

func TestRetriesAreSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, statuses(500))
		status, err := r.get(t.Context())
		if err != nil || status != http.StatusInternalServerError || r.u.tries() != 5 {
			t.Fatalf("%d %v after %d tries", status, err, r.u.tries())
		}
	})
}

// Where there is no time for another try, the upstream's own word is what the caller gets.
func TestTheLastAnswerIsKeptWhenThereIsNoTimeForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("connection refused")
		r := newRig(t, func(c *Config) { c.Tuning.MaxWait = time.Second }, func(int, *http.Request) (*http.Response, error) { return nil, lost })
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
		{"certificate", "GET", "", func(int, *http.Request) (*http.Response, error) { return nil, x509.UnknownAuthorityError{} }, 1},
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
	p.Done(Event{Outcome: OK, Status: 200})
	p.Done(Event{Outcome: Throttled, Status: 429})
	if st := r.status(); st.Running != 1 || st.Counts.Throttled != 0 || st.Counts.OK != 1 {
		t.Errorf("%+v", st)
	}
	q.Done(Event{})
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
		if c := r.status().Counts; c.Network != 2 || closed != 2 {
			t.Errorf("%+v, %d closed", c, closed)
		}
		r = newRig(t, func(c *Config) { c.Tuning.MaxRetries = -1 }, long)
		r.tr.MaxBody = 100
		var tooLong *BodyTooLargeError
		if _, err := r.get(t.Context()); !errors.As(err, &tooLong) || tooLong.Limit != 100 {
			t.Errorf("%v", err)
		}
		if c := r.status().Counts; c.Server != 1 {
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
		r.l.tells = true
		r.l.hooks.OnAnswer = func(a Answer) { answers = append(answers, a) }
		old, _ := r.l.Acquire(t.Context())
		if _, moved, err := ForceCacheOnly(t.Context(), r.l.store, time.Second); err != nil || !moved {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		old.Done(Event{Outcome: Throttled, Status: 429, RetryAfter: Wait{20 * time.Second, true}})
		st := r.status()
		if st.State != CacheOnly || st.Counts.Total() != 0 || !answers[0].Late || answers[0].Pause != 20*time.Second {
			t.Errorf("%+v %+v", st, answers)
		}
		if got := st.PauseUntil.Sub(st.At); got != 20*time.Second {
			t.Errorf("pause %s", got)
		}
	})
}
