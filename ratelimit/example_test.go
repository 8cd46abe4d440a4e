package ratelimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()

	limiter, err := ratelimit.New(ratelimit.Config{Store: ratelimit.NewMemoryStore()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = limiter.Close() }()
	client := &http.Client{Transport: &ratelimit.Transport{Limiter: limiter}}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	status, _ := limiter.Status(context.Background())
	fmt.Println(resp.StatusCode, status.State, status.Counts.OK)
	// Output: 200 Normal 1
}

// With a FileStore all processes that open the same folder share one limiter, and what they learn outlives them.
func ExampleOpenFileStore() {
	dir, err := os.MkdirTemp("", "limiter-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{
		OnWarning: func(err error) { fmt.Println("warning:", err) }, // it continues with a part of everything
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	tuning := ratelimit.Default()
	tuning.RateBase, tuning.Ceiling, tuning.MaxWait = 10, 12, 30*time.Second
	limiter, err := ratelimit.New(ratelimit.Config{
		Store: store, Tuning: tuning,
		Hooks: ratelimit.Hooks{
			OnTransition: func(t ratelimit.Transition) { fmt.Println(t.From, "to", t.To, t.Reason) },
		},
	})
	if err != nil {
		fmt.Println(err) // a *TuningError names the knob, the value and the remedy
		return
	}
	defer func() { _ = limiter.Close() }()
	permit, err := limiter.Acquire(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	wait := ratelimit.Wait{Duration: time.Hour, Present: true}
	permit.Report(ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: wait})
	// Output: Normal to CacheOnly retry_after_long
}

// A service with habits of its own gets a Classify of its own: this one says "slow down" with status 200.
func ExampleTransport_classify() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"error":"slow down"}`)
	}))
	defer server.Close()
	tuning := ratelimit.Default()
	tuning.MaxRetries = -1
	limiter, err := ratelimit.New(ratelimit.Config{Store: ratelimit.NewMemoryStore(), Tuning: tuning})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = limiter.Close() }()
	client := &http.Client{Transport: &ratelimit.Transport{
		Limiter: limiter,
		Classify: func(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
			if err == nil && bytes.Contains(body, []byte(`"slow down"`)) {
				return ratelimit.Throttled
			}
			return ratelimit.ClassifyStatus(req, resp, body, err)
		},
	}}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	status, _ := limiter.Status(context.Background())
	fmt.Println(resp.StatusCode, status.Counts.Throttled)
	// Output: 200 1
}

// A client of several hosts gives each of them a limiter of its own.
func ExampleTransport_perHost() {
	ill := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer ill.Close()
	well := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer well.Close()

	client := &http.Client{Transport: &ratelimit.Transport{PerHost: func(string) (*ratelimit.Limiter, error) {
		return ratelimit.New(ratelimit.Config{
			Store: ratelimit.NewMemoryStore(), Tuning: ratelimit.Tuning{NFailures: 3, MaxWait: time.Second, MaxRetries: -1},
		})
	}}}
	for _, server := range []*httptest.Server{ill, ill, ill, ill, well} {
		resp, err := client.Get(server.URL)
		if err != nil {
			fmt.Println(errors.As(err, new(*ratelimit.BlockedError)))
			continue
		}
		resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	// Output:
	// 500
	// 500
	// 500
	// true
	// 200
}

// Acquire, Done and Fail are for everything that is not HTTP.
func ExampleLimiter_Acquire() {
	limiter, _ := ratelimit.New(ratelimit.Config{Store: ratelimit.NewMemoryStore()})
	send := func(ctx context.Context, ask func(context.Context) error) error {
		permit, err := limiter.Acquire(ctx)
		if err != nil {
			return err
		}
		defer permit.Report(ratelimit.Event{}) // in case of a panic: it says nothing
		if err := ask(ctx); err != nil {
			permit.Fail(err)
			return err
		}
		permit.Done()
		return nil
	}
	fmt.Println(send(context.Background(), func(context.Context) error { return nil }))
	fmt.Println(send(context.Background(), func(context.Context) error { return io.ErrUnexpectedEOF }))
	status, _ := limiter.Status(context.Background())
	fmt.Println(status.Counts.OK, status.Counts.Network)
	// Output:
	// <nil>
	// unexpected EOF
	// 1 1
}

// Callers branch on the type of an error, never on its text.
func ExampleBlockedError() {
	store := ratelimit.NewMemoryStore()
	limiter, _ := ratelimit.New(ratelimit.Config{Store: store})
	_, _, _ = ratelimit.Operator{Store: store}.ForceCacheOnly(context.Background(), 0)

	_, err := limiter.Acquire(context.Background())
	var blocked *ratelimit.BlockedError
	if errors.As(err, &blocked) {
		fmt.Println(blocked.State, blocked.Cause, blocked.Until.IsZero())
	}
	// Output: CacheOnly operator true
}
