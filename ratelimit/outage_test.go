package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// In a 60 s outage all processes together send 8 requests until they sleep, then 2, 4, 8 and every 10 s one. Those that
// were under way come on top. Afterwards everything is answered, also what was set aside.
func TestAnOutageCostsFewRequests(t *testing.T) {
	for processes, most := range map[int]int{1: 18, 4: 24} {
		late := 12 * time.Second
		for _, fault := range []string{"503", "reset", "silence"} {
			if fault == "silence" { // each request of it lasts 15 s
				most, late = 30, 30*time.Second
			}
			t.Run(fmt.Sprintf("%d processes, %s", processes, fault), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := NewMemoryStore()
					start := time.Now()
					var mu sync.Mutex
					wasted, failed, done := 0, 0, 0
					var recovered time.Duration
					serve := func(_ int, req *http.Request) (*http.Response, error) {
						at := time.Since(start)
						if fault == "silence" && at > 5*time.Second && at < 65*time.Second {
							mu.Lock()
							wasted++
							mu.Unlock()
							<-req.Context().Done()
							return nil, req.Context().Err()
						}
						mu.Lock()
						defer mu.Unlock()
						if at > 5*time.Second && at < 65*time.Second {
							wasted++
							if fault == "reset" {
								return nil, errors.New("read: connection reset by peer")
							}
							return reply(503), nil
						}
						if at >= 65*time.Second && recovered == 0 {
							recovered = at - 65*time.Second
						}
						return reply(200), nil
					}
					var wg sync.WaitGroup
					for range processes {
						l, _ := New(Config{Store: store})
						u := &upstream{latency: 40 * time.Millisecond, serve: serve}
						r := &rig{t, l, u, &Transport{Base: u, Limiter: l}}
						for range 8 {
							wg.Go(func() {
								for time.Since(start) < 150*time.Second {
									status, err := r.getAgain(t.Context())
									mu.Lock()
									done++
									if err != nil || status != http.StatusOK {
										failed++
									}
									mu.Unlock()
								}
							})
						}
					}
					wg.Wait()
					t.Logf("%d wasted, %d of %d failed, first good answer after %s", wasted, failed, done, recovered)
					if wasted > most {
						t.Errorf("%d requests into the outage", wasted)
					}
					if failed > 0 {
						t.Errorf("%d requests failed", failed)
					}
					if recovered > late {
						t.Errorf("the first good answer came after %s", recovered)
					}
				})
			})
		}
	}
}

// getAgain is a caller that asks again itself, up to five times.
func (r *rig) getAgain(ctx context.Context) (status int, err error) {
	var tries Tries
	for {
		status, err = r.get(tries.With(ctx))
		count, due := tries.Failed()
		if count == 0 || count > 5 {
			return status, err
		}
		time.Sleep(time.Until(due)) // in virtual time
	}
}

// A run with auto_recover waits through Sleep and CacheOnly, however long the outage lasts and whatever max-wait is.
func TestARequestThatRecoversWaitsAnOutageOut(t *testing.T) {
	for _, outage := range []time.Duration{5 * time.Minute, 40 * time.Minute} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, set aside %v", outage, again), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					var sent atomic.Int64
					r := newRig(t, func(c *Config) {
						c.Tuning.AutoRecover, c.Tuning.MaxWait = 15*time.Minute, 30*time.Second
					}, func(int, *http.Request) (*http.Response, error) {
						if time.Since(start) < outage {
							sent.Add(1)
							return reply(503), nil
						}
						return reply(200), nil
					})
					get := r.get
					if again {
						get = r.getAgain
					}
					var wg sync.WaitGroup
					for range 20 {
						wg.Go(func() {
							if status, err := get(t.Context()); err != nil || status != http.StatusOK {
								t.Errorf("%d %v after %s", status, err, time.Since(start))
							}
						})
					}
					wg.Wait()
					if took := time.Since(start); took > outage+16*time.Minute {
						t.Errorf("took %s", took)
					}
					if most := 20 + int64(outage/(10*time.Second)); sent.Load() > most {
						t.Errorf("%d requests into the outage, at most %d were expected", sent.Load(), most)
					}
				})
			})
		}
	}
}

// A run whose only request fails has too few failures for Sleep, so with auto_recover it asks on until the limiter
// sleeps. It still gives up after the usual tries if the request itself seems to be the cause.
func TestARunWithOneRequestWaitsAnOutageOut(t *testing.T) {
	const first, second = "http://upstream.test/3/search/tv", "http://upstream.test/3/tv/1"
	refused := func() (*http.Response, error) { return nil, errors.New("dial tcp: connection refused") }
	status := func(code int, header ...string) func() (*http.Response, error) {
		return func() (*http.Response, error) { return reply(code, header...), nil }
	}
	inConnection := func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	const on, off = 15 * time.Minute, 0
	for _, tt := range []struct {
		name        string
		autoRecover time.Duration
		maxWait     time.Duration
		urls        []string
		fail        func() (*http.Response, error) // instead of the last URL's answer
		waitsOut    bool
	}{
		{"unreachable", on, time.Minute, []string{first}, refused, true},
		{"unreachable, short max-wait", on, time.Second, []string{first}, refused, true},
		{"unreachable after an answer", on, time.Minute, []string{first, second}, refused, true},
		{"503", on, time.Minute, []string{first}, status(503), true},
		{"connection lost", on, time.Minute, []string{first}, inConnection, true},
		{"connection lost after an answer", on, time.Minute, []string{first, second}, inConnection, false},
		{"503 after an answer", on, time.Minute, []string{first, second}, status(503), false},
		{"503 with a long Retry-After", on, time.Minute, []string{first}, status(503, "Retry-After", "3600"), false},
		{"500", on, time.Minute, []string{first}, status(500), false},
		{"damaged answer", on, time.Minute, []string{first}, status(200), false},
		{"404", on, time.Minute, []string{first}, status(404), false},
		{"401", on, time.Minute, []string{first}, status(401), false},
		{"without auto_recover", off, time.Minute, []string{first}, refused, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const outage = 20 * time.Minute
				start, failed := time.Now(), 0
				conn, other := net.Pipe()
				defer func() { _, _ = conn.Close(), other.Close() }()
				r := newRig(t, func(c *Config) {
					c.Tuning.AutoRecover, c.Tuning.MaxWait = tt.autoRecover, tt.maxWait
				}, func(_ int, req *http.Request) (*http.Response, error) {
					if req.URL.String() != tt.urls[len(tt.urls)-1] || time.Since(start) >= outage {
						return reply(204), nil
					}
					failed++
					resp, err := tt.fail()
					if errors.Is(err, io.ErrUnexpectedEOF) {
						httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{Conn: conn})
					}
					return resp, err
				})
				r.tr.Classify = func(req *http.Request, resp *http.Response, body []byte, err error) Outcome {
					if resp != nil && resp.StatusCode == http.StatusOK {
						return Server
					}
					return ClassifyStatus(req, resp, body, err)
				}
				answered := true
				for _, url := range tt.urls {
					answered = r.getInTwoRounds(t.Context(), url) == http.StatusNoContent
				}
				took := time.Since(start)
				if answered != tt.waitsOut || answered && took > outage+11*time.Second {
					t.Errorf("answered: %v, after %s and %d failures", answered, took, failed)
				}
				if most := 8 + int(outage/(10*time.Second)); answered && failed > most || !answered && failed > 6 {
					t.Errorf("%d requests failed in %s", failed, took)
				}
			})
		})
	}
}

// getInTwoRounds is a caller that asks again itself like a run: two more times, and at its end three times more. It
// returns the last status.
func (r *rig) getInTwoRounds(ctx context.Context, url string) int {
	var tries Tries
	for round := 1; ; {
		req, err := http.NewRequestWithContext(tries.With(ctx), http.MethodGet, url, http.NoBody)
		if err != nil {
			r.Fatal(err)
		}
		status, _ := r.send(req)
		count, due := tries.Failed()
		switch {
		case count == 0, count > 2 && round == 2:
			return status
		case count > 2:
			round = 2
			tries.Restart()
			_, due = tries.Failed()
		}
		time.Sleep(time.Until(due)) // in virtual time
	}
}
