package main

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/anivault/anivault/bench/peers"
)

// policy is a published client: what one process does around the tries of its calls.
type policy struct {
	begin func(c *call) // a call begins
	// admit says how long a try waits. Where it is false the try is refused, and counts as failed.
	admit    func(now time.Time) (wait time.Duration, ok bool)
	answered func(now time.Time, status int) // a try has its answer
	// again says whether, and after how long, a call is tried again. after is the Retry-After of its last answer.
	again func(c *call, after time.Duration) (wait time.Duration, ok bool)
}

// call is what a policy knows of one call.
type call struct{ failed int }

// do returns the client of one process. Whatever is nil in the policy does nothing.
func (p policy) do(base http.RoundTripper) peers.Do {
	var mu sync.Mutex
	return func(req *http.Request) (*http.Response, error) {
		ctx, c := req.Context(), &call{}
		mu.Lock()
		if p.begin != nil {
			p.begin(c)
		}
		mu.Unlock()
		for {
			resp, err := p.try(base, &mu, req)
			if err != nil {
				return nil, err
			}
			if resp.StatusCode == http.StatusOK {
				return resp, nil
			}
			seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
			mu.Lock()
			c.failed++
			wait, again := time.Duration(0), false
			if p.again != nil {
				wait, again = p.again(c, time.Duration(seconds)*time.Second)
			}
			mu.Unlock()
			if !again {
				return resp, nil
			}
			if err := peers.Sleep(ctx, wait); err != nil {
				return nil, err
			}
		}
	}
}

func (p policy) try(base http.RoundTripper, mu *sync.Mutex, req *http.Request) (*http.Response, error) {
	if p.admit != nil {
		mu.Lock()
		wait, ok := p.admit(time.Now())
		mu.Unlock()
		if !ok {
			return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}, Body: http.NoBody}, nil
		}
		if err := peers.Sleep(req.Context(), wait); err != nil {
			return nil, err
		}
	}
	resp, err := base.RoundTrip(req)
	if err == nil && p.answered != nil {
		mu.Lock()
		p.answered(time.Now(), resp.StatusCode)
		mu.Unlock()
	}
	return resp, err
}

// upTo tries a call again at once, so many times.
func upTo(retries int) policy {
	return policy{again: func(c *call, _ time.Duration) (time.Duration, bool) { return 0, c.failed <= retries }}
}

// jittered returns a factor within a share of 1.
func jittered(share float64) float64 { return 1 - share + 2*share*rand.Float64() } //nolint:gosec // no secret
