package ratelimit

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// hangUp closes the connection of a request without an answer.
func hangUp(t *testing.T, w http.ResponseWriter, reset bool) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Every request that reaches the server had a permit: net/http repeats none by itself.
func TestBothSidesCountTheSame(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		for _, fault := range []string{"none", "closed", "reset", "cut", "500"} {
			if h2 && (fault == "closed" || fault == "reset") {
				continue // a stream cannot be hijacked; it is aborted below
			}
			t.Run(fmt.Sprintf("HTTP/2 %v, %s", h2, fault), func(t *testing.T) {
				var seen, asked atomic.Int64
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if n, _ := io.Copy(io.Discard, req.Body); n != 0 || req.ContentLength > 0 || h2 && req.ContentLength != 0 {
						t.Errorf("a body of %d bytes, %d announced", n, req.ContentLength)
					}
					switch n := seen.Add(1); {
					case n%3 != 0 || fault == "none":
						fmt.Fprint(w, "{}")
					case fault == "500":
						w.WriteHeader(http.StatusInternalServerError)
					case fault == "cut":
						w.Header().Set("Content-Length", "100")
						fmt.Fprint(w, "{")
						panic(http.ErrAbortHandler)
					default:
						hangUp(t, w, fault == "reset")
					}
				}))
				server.EnableHTTP2 = h2
				server.StartTLS()
				defer server.Close()
				tuning := Default()
				tuning.RateBase, tuning.Ceiling, tuning.NFailures, tuning.PThrottle = 400, 400, 1000, 1
				l, err := New(Config{
					Store: NewMemoryStore(), Tuning: tuning, Rand: func() float64 { return 0 },
					Hooks: Hooks{OnAnswer: func(Answer) { asked.Add(1) }},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				client := http.Client{
					Transport: &Transport{Base: server.Client().Transport, Limiter: l}, Timeout: time.Minute,
				}
				for range 60 {
					resp, err := client.Get(server.URL)
					if err != nil {
						continue
					}
					_ = resp.Body.Close()
					if want := map[bool]int{false: 1, true: 2}[h2]; resp.ProtoMajor != want {
						t.Fatalf("HTTP/%d", resp.ProtoMajor)
					}
				}
				if seen.Load() != asked.Load() || seen.Load() < 60 {
					t.Errorf("%d permits, the server saw %d requests", asked.Load(), seen.Load())
				}
			})
		}
	}
}
