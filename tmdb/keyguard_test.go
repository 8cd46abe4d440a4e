package tmdb

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// upstream answers each request by its number, from 1, after 100 ms.
type upstream struct {
	sent    atomic.Int64
	at      atomic.Int64
	most    atomic.Int64 // under way at once
	respond func(n int64, r *http.Request) (*http.Response, error)
}

func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	n := u.sent.Add(1)
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		trace.GetConn(r.URL.Host) // as net/http does when it has a request to send
		defer trace.GotFirstResponseByte()
	}
	now := u.at.Add(1)
	defer u.at.Add(-1)
	for {
		most := u.most.Load()
		if now <= most || u.most.CompareAndSwap(most, now) {
			break
		}
	}
	select {
	case <-time.After(100 * time.Millisecond):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return u.respond(n, r)
}

func request(ctx context.Context, token string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.org/3/tv/9000001", nil)
	if err != nil {
		panic(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// storm sends n requests at once and gives their errors.
func storm(t *testing.T, g http.RoundTripper, n int) []error {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			errs[i] = roundTripOf(g, request(t.Context(), "token")).err
		})
	}
	wg.Wait()
	return errs
}

func refused401(r *http.Request) (*http.Response, error) {
	return answer(r, 401, jsonType, `{"status_code":7,"status_message":"Invalid API key: You must be granted a valid key.","success":false}`), nil
}

func okay(r *http.Request) (*http.Response, error) { return answer(r, 200, jsonType, good), nil }

func TestARefusedKeyCostsOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{respond: func(_ int64, r *http.Request) (*http.Response, error) { return refused401(r) }}
		g := NewKeyGuard(u)
		sent := 0
		for _, err := range append(storm(t, g, 5000), storm(t, g, 10)...) {
			var refusal *UnauthorizedError
			if !errors.As(err, &refusal) || refusal.Cause.Code != CodeInvalidKey || refusal.Cause.HTTPStatus != 401 {
				t.Fatalf("got %v", err)
			}
			if refusal.Sent {
				sent++
			}
		}
		if u.sent.Load() != 1 || sent != 1 {
			t.Errorf("%d requests on the wire, %d say so", u.sent.Load(), sent)
		}
	})
}

func TestAProvenKeyLetsAllGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{respond: func(_ int64, r *http.Request) (*http.Response, error) { return okay(r) }}
		g := NewKeyGuard(u)
		start := time.Now()
		for _, err := range storm(t, g, 5000) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 200*time.Millisecond || u.most.Load() != 4999 {
			t.Errorf("took %v with at most %d at once; want one alone, then all", took, u.most.Load())
		}
	})
}

// A dead upstream keeps nobody waiting one timeout after the other: every 3 s one more request joins those that have
// no answer.
func TestADeadUpstreamIsNotAskedOneTimeoutAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{respond: func(_ int64, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}}
		g := NewKeyGuard(u)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { roundTripOf(g, request(ctx, "token")) })
		}
		for _, want := range []int64{1, 2, 3, 4} {
			synctest.Wait()
			if got := u.sent.Load(); got != want {
				t.Errorf("%d requests sent, want %d", got, want)
			}
			time.Sleep(alonePatience)
		}
		wg.Wait()
	})
}

// A request that waits for permission in a limiter below is not on the wire: nobody joins it, however long it takes,
// and a wrong key still costs one request.
func TestWaitingForPermissionIsNotWaitingForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{respond: func(_ int64, r *http.Request) (*http.Response, error) { return refused401(r) }}
		pause := roundTrip(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(13 * time.Second):
				return u.RoundTrip(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
		for _, err := range storm(t, NewKeyGuard(pause), 8) {
			if !errors.As(err, new(*UnauthorizedError)) {
				t.Errorf("got %v", err)
			}
		}
		if u.sent.Load() != 1 {
			t.Errorf("%d requests on the wire, want 1", u.sent.Load())
		}
	})
}

func TestWhatSaysNothingLeavesTheKeyUnproven(t *testing.T) {
	failures := map[string]reply{
		"network":        {err: io.ErrUnexpectedEOF},
		"500":            {status: 500, body: `{"status_code":11}`},
		"429":            {status: 429, body: `{"status_code":25}`},
		"408":            {status: 408, body: "<html>"},
		"200 with HTML":  {status: 200, body: "<html>"},
		"401 with HTML":  {status: 401, body: "<html>"},
		"401 of another": {status: 401, body: `{"message":"Unauthorized"}`},
		"200 of another": {status: 200, body: `{"error":"log in"}`},
		"401 over limit": {status: 401, body: `{"status_code":25}`},
		"404 with HTML":  {status: 404, body: "<html>"},
		"403 at the CDN": {status: 403, body: "<html>"},
		"302":            {status: 302, body: "<html>"},
	}
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{}
				u.respond = func(n int64, r *http.Request) (*http.Response, error) {
					if n <= 3 {
						return failure.send(r)
					}
					return okay(r)
				}
				start := time.Now()
				storm(t, NewKeyGuard(u), 50)
				// Three alone, the fourth alone proves, the rest at once.
				if took := time.Since(start); took != 500*time.Millisecond || u.sent.Load() != 50 {
					t.Errorf("%d requests in %v", u.sent.Load(), took)
				}
			})
		})
	}
}

func TestAnswersThatProveAKey(t *testing.T) {
	for name, proof := range map[string]reply{
		"a value":                    {status: 200, body: good},
		"not modified":               {status: 304},
		"not found":                  {status: 404, body: `{"status_code":34}`},
		"validation":                 {status: 422, body: `{"errors":["query must be provided"]}`},
		"bad page":                   {status: 400, body: `{"status_code":22}`},
		"not found, with status 200": {status: 200, body: `{"success":false,"status_code":34}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{respond: func(_ int64, r *http.Request) (*http.Response, error) { return proof.send(r) }}
				start := time.Now()
				storm(t, NewKeyGuard(u), 10)
				if took := time.Since(start); took != 200*time.Millisecond {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestARefusalEndsAKeyThatWorked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{respond: func(n int64, r *http.Request) (*http.Response, error) {
			switch n {
			case 1:
				return okay(r)
			case 2:
				return refused401(r)
			}
			<-r.Context().Done() // waits in a limiter below
			return nil, context.Cause(r.Context())
		}}
		g := NewKeyGuard(u)
		if errs := storm(t, g, 1); errs[0] != nil {
			t.Fatal(errs[0])
		}
		for _, err := range storm(t, g, 20) {
			var refusal *UnauthorizedError
			if !errors.As(err, &refusal) {
				t.Errorf("one under way got %v", err)
			}
		}
		before := u.sent.Load()
		storm(t, g, 20)
		if u.sent.Load() != before {
			t.Errorf("%d requests after the refusal", u.sent.Load()-before)
		}
	})
}

func TestWaitingForAKeyEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{respond: func(_ int64, r *http.Request) (*http.Response, error) { return okay(r) }}
		g := NewKeyGuard(u)
		first := make(chan error)
		go func() { first <- roundTripOf(g, request(t.Context(), "token")).err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if x := roundTripOf(g, request(ctx, "token")); !errors.Is(x.err, context.DeadlineExceeded) {
			t.Errorf("got %v", x.err)
		}
		if err := <-first; err != nil || u.sent.Load() != 1 {
			t.Errorf("%v, %d sent", err, u.sent.Load())
		}
	})
}

func TestKeysAreGuardedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{respond: func(_ int64, r *http.Request) (*http.Response, error) {
			if strings.Contains(r.Header.Get("Authorization"), "bad") {
				return refused401(r)
			}
			return okay(r)
		}}
		g := NewKeyGuard(u)
		var refusal *UnauthorizedError
		if x := roundTripOf(g, request(t.Context(), "bad")); !errors.As(x.err, &refusal) {
			t.Errorf("bad key: %v", x.err)
		}
		if x := roundTripOf(g, request(t.Context(), "good")); x.err != nil || string(x.body) != good {
			t.Errorf("good key: %q, %v", x.body, x.err)
		}
	})
}

func TestSuspendedKeysAreRefusals(t *testing.T) {
	tests := []struct {
		status  int
		body    string
		refused bool
	}{
		{401, `{"status_code":7}`, true},
		{401, `{"status_code":10}`, true},
		{401, ``, false},
		{200, `{"success":false,"status_code":7}`, true},
		{200, `{"success":false,"status_code":14}`, true},
		{200, `{"success":false,"status_code":34}`, false},
		{403, `{"status_code":10}`, true},
		{403, `{"status_code":45}`, true},
		{403, `{"status_code":8}`, false},
		{403, `<html>blocked</html>`, false},
		{404, `{"status_code":34}`, false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{respond: func(_ int64, r *http.Request) (*http.Response, error) {
				return answer(r, tt.status, jsonType, tt.body), nil
			}}
			x := roundTripOf(NewKeyGuard(u), request(t.Context(), "0123456789abcdef0123456789abcdef"))
			var refusal *UnauthorizedError
			if errors.As(x.err, &refusal) != tt.refused {
				t.Fatalf("%d %s: got %v", tt.status, tt.body, x.err)
			}
			if tt.refused {
				if !refusal.KeyAsToken {
					t.Errorf("a v3 key sent as a token is not pointed out: %v", x.err)
				}
				return
			}
			if string(x.body) != tt.body {
				t.Errorf("%d: the body came out as %q", tt.status, x.body)
			}
		})
	}
}
