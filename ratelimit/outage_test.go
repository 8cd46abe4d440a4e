package ratelimit

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// In a 60 s outage one process sends at most 25 requests and four at most 30; then
// everything is answered, and nobody waits much longer than the outage lasts.
func TestAnOutageCostsFewRequests(t *testing.T) {
	for processes, most := range map[int]int{1: 25, 4: 30} {
		for _, fault := range []string{"503", "reset", "silence"} {
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
									status, err := r.get(t.Context())
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
					if recovered > 40*time.Second {
						t.Errorf("the first good answer came after %s", recovered)
					}
				})
			})
		}
	}
}
