package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/ui"
)

// A cached body is TMDB's bytes on a pipe, and harmless on a terminal.
func TestACachedBodyIsHarmlessOnATerminal(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("ANIVAULT_CACHE_DIR", dir)
	store, err := cache.Open(dir, cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const address, body = "https://api.themoviedb.org/3/tv/7?language=en-US", "{\"name\":\"\u009b2J \u202egnp " +
		"\u061c\",\n\t\"id\":7}"
	key, _ := cache.ParseKey(address)
	now := time.Now()
	if err := store.Put(t.Context(), &cache.Entry{
		Key: key, Status: 200, Body: []byte(body), FetchedAt: now,
		ExpiresAt: now.Add(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		tty  bool
		want string
	}{{"pipe", false, body + "\n"}, {"terminal", true, "{\"name\":\"" + `\u009b2J \u202egnp \u061c` +
		"\",\n\t\"id\":7}\n"}} {
		t.Run(row.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			streams := ui.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, OutTTY: row.tty, Width: 80}
			if status := Main(t.Context(), []string{"cache", "get", address}, streams); status != 0 || out.String() != row.want {
				t.Errorf("status %d, %q, want %q; %s", status, out.String(), row.want, errs.String())
			}
		})
	}
}

// The message does not repeat the key of a URL, because stderr often goes into a log.
func TestCacheGetRepeatsNoKey(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("ANIVAULT_CACHE_DIR", dir)
	const secret = "0123456789abcdef0123456789abcdef"
	for address, want := range map[string]string{
		"https://api.themoviedb.org/3/tv/7?api_key=" + secret + "&language=ko-KR": "/3/tv/7?language=ko-KR",
		"api.themoviedb.org/3/tv/7?api_key=" + secret:                             "neither a cache key nor a URL",
	} {
		var out, errs bytes.Buffer
		streams := ui.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 80}
		status := Main(t.Context(), []string{"cache", "get", address}, streams)
		if text := errs.String(); status == 0 || strings.Contains(text, secret) || !strings.Contains(text, want) {
			t.Errorf("cache get %s: status %d, %s", address, status, text)
		}
	}
}
