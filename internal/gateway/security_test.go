package gateway

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Whatever happens, no key and no token is in what was written: answers, errors, logs, metrics, cache, state.
func TestNoSecretIsAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	yaml, tokens := withClients(map[string]string{"a": ", admin: true", "b": ", requests: 2/1h"})
	failing := false
	var mu sync.Mutex
	b := start(t, setup{yaml: yaml, handler: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if failing { // an upstream that repeats what it was sent
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"status_code":5,"status_message":"`+r.Header.Get("Authorization")+r.URL.RawQuery+`"}`)
				return
			}
			next.ServeHTTP(w, r)
		})
	}})
	const program = "0123456789abcdef0123456789abcdef"
	const session = "a-session-of-a-person-91823"
	stranger, _ := NewToken()
	secrets := []string{poolKey, program, session, stranger, tokens["a"], tokens["b"]}
	var seen strings.Builder
	ask := func(path string, headers ...string) {
		a := b.get(path, headers...)
		_ = a.Header.Write(&seen)
		seen.WriteString(a.body)
	}
	for _, token := range []string{tokens["a"], tokens["b"], stranger, program, ""} {
		for _, path := range []string{
			"/3/tv/9000001", "/3/tv/99", "/3/search/tv?query=a", "/3/account", "/3/tv/1?session_id=" + session, "/nothing",
			"/3/authentication",
			"/3/tv/changes", "/3/tv/9000001?callback=x", "/metrics", "/", "/readyz",
		} {
			sep := "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			ask(path+sep+"api_key="+program+"&api_key="+token, "X-Request-Id: "+token+"!")
			ask(path + "&api_key=" + program) // the '?' is missing
			ask(path, "Authorization: Bearer "+token, "Cookie: session="+session)
			ask(path+sep+"access_token="+program+"&password="+session, "Authorization: Bearer "+token)
		}
	}
	mu.Lock()
	failing = true
	mu.Unlock()
	ask("/3/movie/5", "Authorization: Bearer "+tokens["a"])
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"answers": seen.String(), "log": b.log.String()}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		texts[path] = string(raw)
		return err
	})
	if err != nil || len(texts) < 5 {
		t.Fatalf("%d places, %v", len(texts), err)
	}
	for place, text := range texts {
		for _, secret := range secrets {
			for _, form := range []string{secret, url.QueryEscape(secret), strings.TrimPrefix(secret, tokenPrefix)} {
				if strings.Contains(text, form) {
					t.Errorf("%s has %s", place, secret)
				}
			}
		}
	}
}

// Clients that go away at any moment, read slowly, send slowly or reset leave nothing behind.
func TestFiveHundredClientsThatGoAway(t *testing.T) {
	b := start(t, setup{yaml: "limiter: {rate_base: 400, ceiling: 400}\n"})
	b.must(200, "/3/configuration")
	transport.CloseIdleConnections()
	eventually(t, "it is at rest", func() bool { return b.connections() == 0 })
	routines, files := runtime.NumGoroutine(), openFiles()
	random := rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	gate := make(chan struct{}, 40)
	for i := range 500 {
		patience, id, manner := time.Duration(random.IntN(20_000))*time.Microsecond, random.IntN(60), i%4
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			switch manner {
			case 0:
				leaveARawConnection(b, tv(9000001+id), patience)
				return
			case 1:
				byteByByte(b, tv(9000001+id), patience)
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, _ = b.request(ctx, http.MethodGet, tv(9000001+id))
		})
	}
	wg.Wait()
	b.idle()
	transport.CloseIdleConnections()
	eventually(t, "all connections are gone", func() bool { return b.connections() == 0 })
	// The cache keeps a journal and its lock, and each of 16 places an idle connection to TMDB, whose other end is here
	// too.
	const own = 8 + 16*4
	eventually(t, "goroutines and descriptors are back", func() bool {
		return runtime.NumGoroutine() <= routines+own && openFiles() <= files+own
	})
	b.must(200, "/3/tv/9000001")
}

// connections is how many connections the gateway has.
func (b *bench) connections() int {
	b.service.g.conns.mu.Lock()
	defer b.service.g.conns.mu.Unlock()
	return b.service.g.conns.total + len(b.service.g.conns.perPeer)
}

// openFiles is how many descriptors this process has, 0 where that can't be told.
func openFiles() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(names)
}

// leaveARawConnection sends a part of a request or all of it, reads a little, and resets the connection.
func leaveARawConnection(b *bench, path string, patience time.Duration) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		return
	}
	defer conn.Close()
	text := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	_, _ = io.WriteString(conn, text[:len(text)-int(patience/time.Microsecond)%3])
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, _ = bufio.NewReaderSize(conn, 16).ReadByte()
	_ = conn.(*net.TCPConn).SetLinger(0)
}

// byteByByte sends a request byte by byte and reads the answer so, as far as it comes.
func byteByByte(b *bench, path string, patience time.Duration) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		return
	}
	defer conn.Close()
	text := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	end := time.Now().Add(patience)
	for i := range text {
		if _, err := io.WriteString(conn, text[i:i+1]); err != nil || time.Now().After(end) {
			return
		}
	}
	_ = conn.SetReadDeadline(end)
	for one := make([]byte, 1); err == nil; {
		_, err = conn.Read(one)
	}
}

var keyInQuery = regexp.MustCompile(`(?i)(^|&)api_key=`)

// FuzzTarget: whatever passes the check of its form is clean, is the same question upstream and in the cache, and bears
// no secret.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{
		"/3/tv/1?a=b", "/3/tv%2F1", "//3", "/3/../x", "/3/tv/1?api_key=x&b=%zz", "/%00",
		"/0api_key=", "/3/a?xapi_key=", "/3/é?q=%E3%81%82", "/3/search/tv?query=a+b&append_to_response=a,b%2Fc",
	} {
		f.Add(seed)
	}
	base, _ := url.Parse("http://tmdb.test/prefix")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.ParseRequestURI(raw)
		if err != nil {
			return
		}
		r := &http.Request{Method: http.MethodGet, URL: u, RequestURI: raw, Header: http.Header{}}
		target, refused := readTarget(r)
		if refused != nil {
			if refused.status < 400 || refused.status > 499 {
				t.Errorf("%q: %d", raw, refused.status)
			}
			return
		}
		if strings.Contains(target.path, "//") || strings.Contains(target.path, "/../") ||
			strings.Contains(target.path, "\x00") {
			t.Errorf("%q is not clean: %q", raw, target.path)
		}
		asked, key := target.urlAndKey(base)
		_, stored, _ := strings.Cut(key, "?")
		if keyInQuery.MatchString(asked.RawQuery) || keyInQuery.MatchString(stored) {
			t.Errorf("%q asks with a key: %s", raw, asked)
		}
		again, err := url.Parse(asked.String())
		if err != nil || again.Path != base.Path+target.path {
			t.Errorf("%q is asked as %s, %v", raw, asked, err)
			return
		}
		_, second := target.urlAndKey(base)
		if key != second {
			t.Errorf("%q has two keys: %s and %s", raw, key, second)
		}
	})
}

// FuzzHeaders: no value of a header field that is read ends anything.
func FuzzHeaders(f *testing.F) {
	f.Add("u=5, i", "wait=3", "only-if-cached", "1.1 a", "http://x")
	f.Fuzz(func(t *testing.T, priority, prefer, control, via, origin string) {
		if u := urgency([]string{priority}); u < 0 || u > 7 {
			t.Errorf("%q: %d", priority, u)
		}
		if wait, ok := preferredWait([]string{prefer}); ok && (wait < 0 || wait%time.Second != 0) {
			t.Errorf("%q: %s", prefer, wait)
		}
		onlyIfCached([]string{control})
		viaGateways([]string{via})
		r := httptest.NewRequest(http.MethodGet, "/3/tv/1", nil)
		r.Host = "localhost"
		r.Header.Set("Origin", origin)
		if (&settings{}).checkOrigin(r, false) == nil && origin != "" &&
			!strings.Contains(strings.ToLower(origin), "localhost") {
			t.Errorf("origin %q passes", origin)
		}
	})
}
