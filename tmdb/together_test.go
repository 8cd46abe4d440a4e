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

// A client whose answers are kept on disk and whose rate is shared by all processes of the user.
func ExampleTransport() {
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

	transport := tmdb.Transport(answers, limiter)
	client, err := tmdb.New(tmdb.Options{
		BaseURL: server.URL, Token: "a-token", HTTPClient: &http.Client{Transport: transport},
		OnUndecodable: transport.Forget,
	})
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
