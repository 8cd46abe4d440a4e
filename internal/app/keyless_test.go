package app

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/tmdb"
)

// A gateway without a key runs for months, and no command tells it that its server has stopped wanting one.
func TestAServerThatWantedAKeyIsAskedAgainAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, status := 0, http.StatusUnauthorized
		answer := `{"success":false,"status_code":7,"status_message":"Invalid API key"}`
		server := roundTripper(func(req *http.Request) (*http.Response, error) {
			asked++
			return &http.Response{
				StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(answer)), Request: req,
			}, nil
		})
		ring := &keyring{}
		ring.update(nil)
		asking := refusalTransport{
			next: signer{next: server, keyring: ring}, keyring: ring, firstRefusal: &atomic.Pointer[tmdb.UnauthorizedError]{},
		}
		ask := func() error {
			_, err := asking.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://tmdb/3/tv/1", nil))
			return err
		}
		for range 3 {
			if err := ask(); !errors.As(err, new(*tmdb.UnauthorizedError)) {
				t.Error(err)
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times within a minute", asked)
		}
		status, answer = http.StatusOK, `{"id":1}`
		time.Sleep(time.Minute + time.Second)
		if err := ask(); err != nil || asked != 2 {
			t.Errorf("after a minute: %v, asked %d times", err, asked)
		}
	})
}
