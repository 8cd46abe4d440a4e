package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit"
)

// counter counts the requests that were let go.
type counter struct{ n atomic.Int64 }

func (c *counter) classify(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
	c.n.Add(1)
	return ratelimit.ClassifyStatus(req, resp, body, err)
}

// upstream allows 40 requests in a sliding second by its own clock.
type upstream struct {
	*httptest.Server
	mu      sync.Mutex
	window  []time.Time // of those that were allowed
	good    []arrival
	refused []time.Time
}

type arrival struct {
	at time.Time
	by string // the process
}

const allowed = 40

func newUpstream(answer time.Duration) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !u.admit(time.Now(), r.URL.Path) {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		time.Sleep(answer)
	}))
	return u
}

func (u *upstream) admit(now time.Time, by string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.window) > 0 && now.Sub(u.window[0]) >= time.Second {
		u.window = u.window[1:]
	}
	if len(u.window) >= allowed {
		u.refused = append(u.refused, now)
		return false
	}
	u.window = append(u.window, now)
	u.good = append(u.good, arrival{now, by})
	return true
}

// between returns the good and the refused requests in a stretch of time, and how many of the good each process had.
func (u *upstream) between(from, to time.Time) (good, refused int, by map[string]int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	by = map[string]int{}
	for _, a := range u.good {
		if !a.at.Before(from) && a.at.Before(to) {
			good++
			by[a.by]++
		}
	}
	refused = len(slices.DeleteFunc(slices.Clone(u.refused),
		func(t time.Time) bool { return t.Before(from) || !t.Before(to) }))
	return good, refused, by
}

// first returns the first good request of a process after a moment; "" for any.
func (u *upstream) first(after time.Time, by string) (time.Time, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, a := range u.good {
		if a.at.After(after) && (by == "" || a.by == by) {
			return a.at, true
		}
	}
	return time.Time{}, false
}
