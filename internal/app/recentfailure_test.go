package app

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// tries is an upstream whose requests have these outcomes, try by try.
type tries struct {
	bad      *recentFailureTransport
	outcomes map[string][]ratelimit.Outcome // by path
	asked    int
}

func (t *tries) RoundTrip(req *http.Request) (*http.Response, error) {
	t.asked++
	for _, o := range t.outcomes[req.URL.Path] {
		t.bad.recordOutcome(req.Context(), o)
	}
	return &http.Response{StatusCode: http.StatusBadGateway}, nil
}

func TestABadQuestionIsRefusedForAMinute(t *testing.T) {
	const server, network = ratelimit.Server, ratelimit.Network
	for name, row := range map[string]struct {
		outcomes []ratelimit.Outcome
		bad      bool
	}{
		"every try ended in trouble of the server": {[]ratelimit.Outcome{server, server, server}, true},
		"one alone":                        {[]ratelimit.Outcome{server}, true},
		"one try met the network's":        {[]ratelimit.Outcome{server, network, server}, false},
		"the last one was answered":        {[]ratelimit.Outcome{server, ratelimit.OK}, false},
		"TMDB does not have it":            {[]ratelimit.Outcome{ratelimit.Client}, false},
		"it was never let go":              {nil, false},
		"it was refused for asking a lot":  {[]ratelimit.Outcome{ratelimit.Throttled}, false},
		"it was given up on the way there": {[]ratelimit.Outcome{ratelimit.Cancelled}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad := recentFailureTransport{failures: map[string]recentFailure{}}
				up := &tries{bad: &bad, outcomes: map[string][]ratelimit.Outcome{"/3/a": row.outcomes}}
				bad.next = up
				refused := func(path string) bool {
					_, err := bad.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://tmdb"+path, nil))
					return errors.As(err, new(*RecentFailureError))
				}
				if refused("/3/a") {
					t.Error("refused before it was asked")
				}
				if got := refused("/3/a?api_key=other"); got != row.bad {
					t.Errorf("asked again at once: refused is %v", got)
				}
				if refused("/3/b") || refused("/3/a?page=2") {
					t.Error("another question was refused")
				}
				time.Sleep(recentFailureTTL)
				if refused("/3/a") {
					t.Error("still refused after a minute")
				}
			})
		})
	}
}

// Who has no patience has one try. That says little to those who have more.
func TestAnImpatientRequestRejectsOnlyRequestsLikeIt(t *testing.T) {
	bad := recentFailureTransport{failures: map[string]recentFailure{}}
	up := &tries{bad: &bad, outcomes: map[string][]ratelimit.Outcome{"/3/a": {ratelimit.Server}}}
	bad.next = up
	for i, row := range []struct {
		patience time.Duration
		asked    int
	}{
		{time.Second, 1}, {2 * time.Second, 1}, {30 * time.Second, 2}, {30 * time.Second, 2}, {time.Second, 2},
	} {
		ctx := ratelimit.With(t.Context(), ratelimit.Request{MaxWait: row.patience})
		_, _ = bad.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "http://tmdb/3/a", nil))
		if up.asked != row.asked {
			t.Errorf("%d: asked %d times, want %d", i, up.asked, row.asked)
		}
	}
}

func TestFewBadQuestionsAreRemembered(t *testing.T) {
	bad := recentFailureTransport{failures: map[string]recentFailure{}}
	now := time.Now()
	for i := range maxRecentFailures + 10 {
		bad.remember(string(rune(i)), 0, now)
	}
	if len(bad.failures) != maxRecentFailures {
		t.Errorf("%d are remembered", len(bad.failures))
	}
	bad.remember("later", 0, now.Add(recentFailureTTL))
	if _, ok := bad.rejectedUntil("later", 0, now.Add(recentFailureTTL)); !ok || len(bad.failures) != 1 {
		t.Errorf("what is over takes room: %d", len(bad.failures))
	}
}
