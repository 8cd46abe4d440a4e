package app

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Only a run in which nothing has ever answered gives up, and then also for a request that waits.
func TestARunGivesUpWhereNothingHasAnswered(t *testing.T) {
	refused := errors.New("connection refused")
	for name, row := range map[string]struct {
		outcomes []ratelimit.Outcome
		givesUp  bool
	}{
		"nothing answers":         {[]ratelimit.Outcome{ratelimit.Network, ratelimit.Network}, true},
		"it answered before":      {[]ratelimit.Outcome{ratelimit.OK, ratelimit.Network}, false},
		"it answered meanwhile":   {[]ratelimit.Outcome{ratelimit.Network, ratelimit.Server}, false},
		"the user interrupted it": {[]ratelimit.Outcome{ratelimit.Cancelled}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGiveUpTransport(roundTripper(func(req *http.Request) (*http.Response, error) {
					<-req.Context().Done() // as in Sleep
					return nil, req.Context().Err()
				}))
				for _, o := range row.outcomes {
					g.recordTry(o, refused)
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				start := time.Now()
				_, err := g.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "http://tmdb/3/a", nil))
				if errors.Is(err, refused) != row.givesUp || time.Since(start) == giveUpAfter != row.givesUp {
					t.Errorf("%v after %s", err, time.Since(start))
				}
			})
		})
	}
}

func TestTheCauseOfANetworkErrorIsPlain(t *testing.T) {
	_, err := http.Get("http://127.0.0.1:1/") //nolint:noctx,bodyclose // nobody listens there
	if code, text := Explain(err); code != "network" ||
		text.String() != "TMDB could not be reached: connection refused (127.0.0.1:1)" {
		t.Errorf("%s: %s", code, text)
	}
}
