// Package peers holds the clients that the limiter is compared with: well-known libraries, used as their documents say.
package peers

import (
	"context"
	"errors"
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
)

// What every peer is told. All else is its default.
const (
	Tries   = 6 // of one request
	MaxItem = 60 * time.Second
)

// Do sends one request, with all its waits and retries.
type Do func(*http.Request) (*http.Response, error)

// Maker makes the client of one process. rate is for the peers that need one, in requests a second.
type Maker func(base http.RoundTripper, rate int) Do

// Makers has each peer by name.
var Makers = map[string]Maker{
	"retryablehttp": retryable,
	"rate+backoff":  rateAndBackoff,
	"failsafe":      failsafe,
	"aws-adaptive":  awsAdaptive,
}

// Names lists the peers.
func Names() []string { return []string{"retryablehttp", "rate+backoff", "failsafe", "aws-adaptive"} }

// retryable is go-retryablehttp with its own waits.
func retryable(base http.RoundTripper, _ int) Do {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.RetryMax = Tries - 1
	c.HTTPClient = &http.Client{Transport: base}
	return c.StandardClient().Do
}

// worthwhile reports whether to try again after an answer.
func worthwhile(resp *http.Response, err error) bool {
	return err != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
}

// rateAndBackoff is what people write by hand most often: a token bucket in each process, and exponential backoff.
func rateAndBackoff(base http.RoundTripper, perSecond int) Do {
	limiter := rate.NewLimiter(rate.Limit(perSecond), perSecond)
	return func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		waits := backoff.NewExponentialBackOff()
		for try := 1; ; try++ {
			if err := limiter.Wait(ctx); err != nil {
				return nil, err
			}
			resp, err := base.RoundTrip(req)
			if !worthwhile(resp, err) || try == Tries {
				return resp, err
			}
			if err := Sleep(ctx, waits.NextBackOff()); err != nil {
				return nil, err
			}
		}
	}
}

// Sleep waits, or returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
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
func failsafe(base http.RoundTripper, perSecond int) Do {
	retries := failsafehttp.NewRetryPolicyBuilder().WithMaxRetries(Tries-1).
		WithBackoff(time.Second, 30*time.Second).WithJitterFactor(0.25).Build()
	breaker := circuitbreaker.NewBuilder[*http.Response]().
		HandleIf(func(resp *http.Response, err error) bool { return worthwhile(resp, err) }).
		WithFailureRateThreshold(0.2, 20, 30*time.Second).WithDelay(2 * time.Second).WithSuccessThreshold(5).Build()
	limiter := ratelimiter.NewSmoothBuilder[*http.Response](uint(perSecond), time.Second). //nolint:gosec // small
												WithMaxWaitTime(MaxItem).Build()
	c := http.Client{Transport: failsafehttp.NewRoundTripper(base, retries, breaker, limiter)}
	return c.Do
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
func awsAdaptive(base http.RoundTripper, _ int) Do {
	r := retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
		o.StandardOptions = append(o.StandardOptions, func(s *retry.StandardOptions) { s.MaxAttempts = Tries })
	})
	return func(req *http.Request) (*http.Response, error) {
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
			if try == Tries || !r.IsErrorRetryable(err) {
				return nil, err
			}
			if giveBack, err = r.GetRetryToken(ctx, err); err != nil {
				return nil, err
			}
			delay, err := r.RetryDelay(try, err)
			if err != nil {
				return nil, err
			}
			if err := Sleep(ctx, delay); err != nil {
				return nil, err
			}
			if resp != nil {
				_, _ = io.Copy(io.Discard, resp.Body) // it is in memory
			}
		}
	}
}
