package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/tmdb"
)

// upstream answers like TMDB until down is set.
func upstream(down *atomic.Bool) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":1,"title":"Lantern Keepers"}`)
	}))
}

// A second question is answered from the store, by this process and by every other that has opened the folder.
func Example() {
	var down atomic.Bool
	server := upstream(&down)
	defer server.Close()
	dir, err := os.MkdirTemp("", "cache-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	store, err := cache.Open(dir, cache.Options{
		Class:     tmdb.ClassOf,
		MaxSize:   64 << 20,
		OnWarning: func(w cache.Warning) { fmt.Println("warning:", w) }, // it continues with what still works
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	client := &http.Client{Transport: &cache.Transport{Store: store, Next: http.DefaultTransport}}
	for range 2 {
		resp, err := client.Get(server.URL + "/3/movie/1")
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		info, _ := cache.InfoFrom(resp)
		fmt.Println(resp.StatusCode, info.Source)
	}
	// Output:
	// 200 network
	// 200 fresh
}

// When the upstream can't be asked, an expired answer is given and says so.
func ExampleTransport() {
	var down atomic.Bool
	server := upstream(&down)
	defer server.Close()
	dir, err := os.MkdirTemp("", "cache-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	var days atomic.Int64 // a calendar that is turned by hand
	now := func() time.Time { return time.Date(2026, 1, 1+int(days.Load()), 0, 0, 0, 0, time.UTC) }
	store, err := cache.Open(dir, cache.Options{Class: tmdb.ClassOf, Now: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	policy := cache.DefaultPolicy()
	policy[cache.MovieDetails].Fresh = 24 * time.Hour
	client := &http.Client{Transport: &cache.Transport{
		Store: store, Next: http.DefaultTransport, Policy: &policy,
		IsBlocked: func(err error) bool { return !errors.Is(err, context.Canceled) },
	}}
	for range 2 {
		resp, err := client.Get(server.URL + "/3/movie/1")
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		info, _ := cache.InfoFrom(resp)
		fmt.Println(resp.StatusCode, info.Source, info.Age(now()))
		days.Add(2)
		down.Store(true)
	}
	// Output:
	// 200 network 0s
	// 200 stale 48h0m0s
}

// A bucket keeps anything else in the same file: safe, shared, bounded.
func ExampleBucket() {
	dir, err := os.MkdirTemp("", "cache-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := cache.Open(dir, cache.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()

	ctx := context.Background()
	notes, err := store.Bucket("notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := notes.Put(ctx, cache.Item{Key: "a", Value: []byte("seen")}); err != nil {
		fmt.Println(err)
		return
	}
	item, ok, err := notes.Get(ctx, "a")
	switch {
	case errors.Is(err, cache.ErrLocked):
		fmt.Println("nobody knows: the file is locked")
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(ok, string(item.Value))
	}
	// Output: true seen
}
