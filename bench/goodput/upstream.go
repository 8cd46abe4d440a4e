package main

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/simulate"
	"github.com/anivault/anivault/internal/tmdbfake"
)

// This file decides what a client meets: the simulation's upstream behind a real socket.

const (
	limitText   = "sliding:50/1s"
	latencyText = "20ms-60ms"
)

// upstream is a scripted server with a record of what it has seen.
type upstream struct {
	server *http.Server
	url    string
	start  time.Time

	mu   sync.Mutex
	up   *simulate.Upstream
	seen []sight
}

// sight is one request as the server saw it.
type sight struct {
	at      time.Duration
	process int
	good    bool
	refused bool
}

// serve starts a server whose script begins at start.
func serve(script simulate.Script, seed uint64, start time.Time) (*upstream, error) {
	limits, err := tmdbfake.ParseLimits(limitText)
	if err != nil {
		return nil, err
	}
	latency, err := tmdbfake.ParseLatency(latencyText)
	if err != nil {
		return nil, err
	}
	up, err := simulate.NewUpstream(script, limits, latency, seed)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u := &upstream{url: "http://" + l.Addr().String(), start: start, up: up}
	u.server = &http.Server{Handler: u, ReadHeaderTimeout: time.Minute}
	go func() { _ = u.server.Serve(l) }() // ends with close
	return u, nil
}

// close ends the server and returns what it has seen.
func (u *upstream) close() []sight {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if u.server.Shutdown(ctx) != nil {
		_ = u.server.Close() // somebody waits for an answer that never comes
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.seen)
}

// ServeHTTP implements http.Handler.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	process, err := strconv.Atoi(r.Header.Get("X-Process"))
	if err != nil {
		http.Error(w, "no process", http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	at := time.Since(u.start)
	a := u.up.Answer(at)
	u.seen = append(u.seen, sight{at, process, a.Good(), a.Refused})
	u.mu.Unlock()

	select {
	case <-time.After(a.Latency):
	case <-r.Context().Done():
		return
	}
	switch a.Fail {
	case simulate.Reset:
		reset(w)
		return
	case simulate.Silent:
		<-r.Context().Done()
		return
	case simulate.None, simulate.Status, simulate.Poisoned:
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write([]byte(`{"success":true}`)) // the client may be gone
}

// reset ends a connection so that the client sees a reset.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
