package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
