package tmdb_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// classify tells the limiter what an answer says about TMDB.
func classify(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
	return map[tmdb.Outcome]ratelimit.Outcome{
		tmdb.OutcomeOK: ratelimit.OK, tmdb.OutcomeThrottled: ratelimit.Throttled, tmdb.OutcomeServer: ratelimit.Server,
		tmdb.OutcomeNetwork: ratelimit.Network, tmdb.OutcomeClient: ratelimit.Client,
		tmdb.OutcomeConfig:    ratelimit.Misconfigured,
		tmdb.OutcomeCancelled: ratelimit.Cancelled,
	}[tmdb.Classify(req, resp, body, err)]
}

// newClient puts the packages together: cache, key latch, limiter, wire.
func newClient(baseURL, token string, answers *cache.Store, limiter *ratelimit.Limiter) (*tmdb.Client, error) {
	limited := &ratelimit.Transport{
		Base: tmdb.NewWire(
			tmdb.NewHTTPTransport(tmdb.TransportOptions{}),
		), Limiter: limiter, Classify: classify, MaxBody: tmdb.MaxBody,
	}
	cached := &cache.Transport{Store: answers, Next: tmdb.NewKeyLatch(limited), Valid: tmdb.Valid, MaxBody: tmdb.MaxBody}
	return tmdb.New(tmdb.Options{
		BaseURL: baseURL, Token: token, HTTPClient: &http.Client{Transport: cached}, OnUndecodable: cached.Forget,
	})
}

// A client whose answers are kept on disk and whose rate is shared by all processes of the user.
func Example_withCacheAndRateLimit() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":9000001,"name":"Lantern Keepers"}`)
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "together-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	answers, err := cache.Open(filepath.Join(dir, "cache"), cache.Options{Class: tmdb.ClassOf})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = answers.Close() }()
	state, err := ratelimit.OpenFileStore(filepath.Join(dir, "state"), ratelimit.FileOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = state.Close() }()
	limiter, err := ratelimit.New(ratelimit.Config{Store: state})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = limiter.Close() }()

	client, err := newClient(server.URL, "a-token", answers, limiter)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		show, resp, err := client.TV(context.Background(), 9000001, tmdb.DetailOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		info, _ := cache.InfoFrom(resp.Response)
		fmt.Println(show.Name, info.Source)
	}
	// Output:
	// Lantern Keepers network
	// Lantern Keepers fresh
}
