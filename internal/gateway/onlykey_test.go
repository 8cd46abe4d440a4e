package gateway

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/tmdb"
)

// One key is an account as others are: what another process finds out about it holds for a gateway that runs, and
// whoever starts asks once with a key that others found refused.
func TestTheOnlyKeyIsOutAndInForAllProcesses(t *testing.T) {
	var refuses atomic.Bool
	refuses.Store(true)
	b := start(t, setup{yaml: quick, handler: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuses.Load() {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write(
					[]byte(`{"status_code":7,"status_message":"Invalid API key: You must be granted a valid key.","success":false}`))
				return
			}
			next.ServeHTTP(w, r)
		})
	}})
	for n := range 3 {
		if a := b.must(503, tv(9000001+n)); a.own.Code != "1007" {
			t.Errorf("%s", a.body)
		}
	}
	if n := b.up.asked(); n != 1 {
		t.Errorf("TMDB was asked %d times with a key that it refused", n)
	}
	cfg := b.service.g.settings.Load().cfg
	another := func() *app.App {
		t.Helper()
		a, err := app.Open(cfg, app.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		return a
	}
	standing := func() string {
		t.Helper()
		st, err := b.service.Upstream().Limiter().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return app.ViewAccounts(cfg, st)[0].Standing
	}
	run := another()
	for range 2 { // a run that starts asks once, and no more
		if _, _, err := run.Probe(t.Context()); !errors.As(err, new(*tmdb.UnauthorizedError)) {
			t.Error(err)
		}
	}
	if n := b.up.asked(); n != 2 || standing() != "refused" {
		t.Errorf("TMDB was asked %d times; %s", n, standing())
	}
	refuses.Store(false)
	b.must(503, tv(9000001)) // nobody has found out
	for _, key := range another().TestAccount(t.Context(), cfg.EffectiveAccounts()[0]) {
		if key.Err != nil {
			t.Error(key.Text)
		}
	}
	b.must(200, tv(9000001))
	if standing() != "accepted" {
		t.Error(standing())
	}
	refuses.Store(true)
	for _, key := range another().TestAccount(t.Context(), cfg.EffectiveAccounts()[0]) {
		if !key.Refused || !strings.Contains(key.Text.String(), "Invalid API key") {
			t.Error(key.Text)
		}
	}
	refuses.Store(false)
	b.must(503, tv(9000002))
	calm := another() // one that has never met a refusal itself
	for range 2 {
		if _, _, err := calm.Probe(t.Context()); err != nil { // it finds out, each time that others did
			t.Error(err)
		}
		b.must(200, tv(9000002))
		refuses.Store(true)
		another().TestAccount(t.Context(), cfg.EffectiveAccounts()[0])
		refuses.Store(false)
		b.must(503, tv(9000003))
	}
	if _, _, err := calm.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	b.must(200, tv(9000003))
	b.idle()
}
