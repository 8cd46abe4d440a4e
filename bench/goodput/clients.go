package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/cenkalti/backoff/v4"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/time/rate"

	"github.com/anivault/anivault/ratelimit"
)

// peerRate is the rate of the peers that need one. All else is their default, but for the 6 tries.
const peerRate = 35

// client fetches one item, with all its waits and retries.
type client struct {
	do    func(*http.Request) (*http.Response, error)
	close func() error
}

// clients makes each client by name. dir is a folder that the processes of one trial share.
var clients = map[string]func(base http.RoundTripper, dir string) (client, error){
	"ours":          ours(nil),
	"ours-tuned":    ours(map[string]string{"rate_base": "45", "ceiling": "48"}),
	"retryablehttp": retryable,
	"rate+backoff":  rateAndBackoff,
	"failsafe":      failsafe,
	"aws-adaptive":  awsAdaptive,
}

// clientNames lists the clients, ours first.
func clientNames() []string {
	return []string{"ours", "ours-tuned", "retryablehttp", "rate+backoff", "failsafe", "aws-adaptive"}
}

// ours is this project's limiter over a folder.
func ours(settings map[string]string) func(http.RoundTripper, string) (client, error) {
	return func(base http.RoundTripper, dir string) (client, error) {
		t := ratelimit.Default()
		t.MaxRetries, t.MaxWait = maxTries-1, maxItem
		for key, value := range settings {
			f, ok := ratelimit.FieldByKey(key)
			if !ok {
				return client{}, fmt.Errorf("no setting %q", key)
			}
			if err := f.Set(&t, value); err != nil {
				return client{}, err
			}
		}
		store, err := ratelimit.OpenFileStore(dir, ratelimit.FileOptions{})
		if err != nil {
			return client{}, err
		}
		l, err := ratelimit.New(ratelimit.Config{Store: store, Tuning: t})
		if err != nil {
			return client{}, err
		}
		c := http.Client{Transport: &ratelimit.Transport{Base: base, Limiter: l}}
		return client{c.Do, func() error { return errors.Join(l.Close(), store.Close()) }}, nil
	}
}

func nothing() error { return nil }

// retryable is go-retryablehttp with its own waits.
func retryable(base http.RoundTripper, _ string) (client, error) {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.RetryMax = maxTries - 1
	c.HTTPClient = &http.Client{Transport: base}
	return client{c.StandardClient().Do, nothing}, nil
}

// worthwhile reports whether to try again after an answer.
func worthwhile(resp *http.Response, err error) bool {
	return err != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
}

// rateAndBackoff is what people write by hand most often: a token bucket in each process, and exponential backoff.
func rateAndBackoff(base http.RoundTripper, _ string) (client, error) {
	limiter := rate.NewLimiter(peerRate, peerRate)
	do := func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		waits := backoff.NewExponentialBackOff()
		for try := 1; ; try++ {
			if err := limiter.Wait(ctx); err != nil {
				return nil, err
			}
			resp, err := base.RoundTrip(req)
			if !worthwhile(resp, err) || try == maxTries {
				return resp, err
			}
			if err := sleep(ctx, waits.NextBackOff()); err != nil {
				return nil, err
			}
		}
	}
	return client{do, nothing}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failsafe is failsafe-go with three of its policies, from outside: retries, breaker, limiter.
func failsafe(base http.RoundTripper, _ string) (client, error) {
	retries := failsafehttp.NewRetryPolicyBuilder().WithMaxRetries(maxTries-1).
		WithBackoff(time.Second, 30*time.Second).WithJitterFactor(0.25).Build()
	breaker := circuitbreaker.NewBuilder[*http.Response]().
		HandleIf(func(resp *http.Response, err error) bool { return worthwhile(resp, err) }).
		WithFailureRateThreshold(0.2, 20, 30*time.Second).WithDelay(2 * time.Second).WithSuccessThreshold(5).Build()
	limiter := ratelimiter.NewSmoothBuilder[*http.Response](peerRate, time.Second).WithMaxWaitTime(maxItem).Build()
	c := http.Client{Transport: failsafehttp.NewRoundTripper(base, retries, breaker, limiter)}
	return client{c.Do, nothing}, nil
}

// statusError is a bad answer as AWS's retryer understands it.
type statusError struct{ status int }

func (e *statusError) Error() string       { return http.StatusText(e.status) }
func (e *statusError) HTTPStatusCode() int { return e.status }

// ErrorCode distinguishes a refusal from other failures.
func (e *statusError) ErrorCode() string {
	if e.status == http.StatusTooManyRequests {
		return "TooManyRequestsException"
	}
	return "InternalFailure"
}

// awsAdaptive is the adaptive retry mode of AWS's SDK, driven as its middleware does.
func awsAdaptive(base http.RoundTripper, _ string) (client, error) {
	r := retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
		o.StandardOptions = append(o.StandardOptions, func(s *retry.StandardOptions) { s.MaxAttempts = maxTries })
	})
	do := func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		giveBack := func(error) error { return nil }
		for try := 1; ; try++ {
			release, err := r.GetAttemptToken(ctx)
			if err != nil {
				return nil, err
			}
			resp, err := base.RoundTrip(req)
			if err == nil && worthwhile(resp, nil) {
				err = &statusError{resp.StatusCode}
			}
			if rerr := errors.Join(release(err), giveBack(err)); rerr != nil {
				return nil, rerr
			}
			if err == nil {
				return resp, nil
			}
			if try == maxTries || !r.IsErrorRetryable(err) {
				return nil, err
			}
			if giveBack, err = r.GetRetryToken(ctx, err); err != nil {
				return nil, err
			}
			delay, err := r.RetryDelay(try, err)
			if err != nil {
				return nil, err
			}
			if err := sleep(ctx, delay); err != nil {
				return nil, err
			}
			if resp != nil {
				_, _ = io.Copy(io.Discard, resp.Body) // it is in memory
			}
		}
	}
	return client{do, nothing}, nil
}
