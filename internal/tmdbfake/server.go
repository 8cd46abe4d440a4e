// This file decides how the stand-in is reached: TCP, TLS with HTTP/2, memory.

package tmdbfake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is a stand-in that listens. Close ends it and waits for it.
type Server struct {
	fake   *Fake
	http   *http.Server
	addr   net.Addr
	mem    *memListener
	tls    *TLS
	scheme string
	done   chan struct{}
	err    error
	once   sync.Once
}

// Listen serves plain HTTP on a TCP address such as "127.0.0.1:0".
func (f *Fake) Listen(addr string) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	return f.Serve(l), nil
}

// ListenTLS serves HTTPS, with HTTP/2, on a TCP address.
func (f *Fake) ListenTLS(addr string, t *TLS) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	s := f.newServer(l.Addr(), "https", f)
	s.tls = t
	s.http.TLSConfig = t.serverConfig()
	s.start(func() error { return s.http.ServeTLS(&watched{l, f}, "", "") })
	return s, nil
}

// ListenMem serves plain HTTP in memory: nothing of it touches the network, so
// it works inside a testing/synctest bubble.
func (f *Fake) ListenMem() *Server {
	m := newMemListener()
	s := f.newServer(m.Addr(), "http", f)
	s.mem = m
	s.start(func() error { return s.http.Serve(&watched{m, f}) })
	return s
}

// ListenAdmin serves the journal and the controls on a TCP address. No limit
// and no fault touches it.
func (f *Fake) ListenAdmin(addr string) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	s := f.newServer(l.Addr(), "http", f.Admin())
	s.start(func() error { return s.http.Serve(l) })
	return s, nil
}

// Serve serves plain HTTP on a listener, which it owns from then on.
func (f *Fake) Serve(l net.Listener) *Server {
	s := f.newServer(l.Addr(), "http", f)
	s.start(func() error { return s.http.Serve(&watched{l, f}) })
	return s
}

func (f *Fake) newServer(addr net.Addr, scheme string, h http.Handler) *Server {
	return &Server{
		fake: f, addr: addr, scheme: scheme, done: make(chan struct{}),
		http: &http.Server{
			Handler: h, ConnContext: connContext, ReadHeaderTimeout: time.Minute,
			ErrorLog: log.New(io.Discard, "", 0), // a client that breaks off is what tests are for
		},
	}
}

func (s *Server) start(serve func() error) {
	go func() {
		defer close(s.done)
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
}

// Addr gives the address that is listened on.
func (s *Server) Addr() net.Addr { return s.addr }

// URL gives the base URL, without a slash at its end: the value for
// ANIVAULT_TMDB_BASE_URL.
func (s *Server) URL() string {
	if s.mem != nil {
		return "http://tmdb.fake"
	}
	return s.scheme + "://" + s.addr.String()
}

// Transport gives a transport that reaches and trusts this server. Its caller
// closes its idle connections.
func (s *Server) Transport() *http.Transport { return s.TransportFrom("127.0.0.1") }

// TransportFrom gives a transport whose client has the address ip: a loopback
// address for a real listener, any for one in memory.
func (s *Server) TransportFrom(ip string) *http.Transport {
	t := &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100, IdleConnTimeout: 90 * time.Second}
	if s.mem != nil {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return s.mem.dial(ctx, ip) }
		return t
	}
	d := &net.Dialer{}
	if ip != "127.0.0.1" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(ip)}
	}
	t.DialContext = d.DialContext
	if s.tls != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: s.tls.Pool(), MinVersion: tls.VersionTLS12}
	}
	return t
}

// Close ends every connection, which ends their requests, and waits until
// nothing is accepted any more. It gives the error that ended serving before,
// if one did.
func (s *Server) Close() error {
	s.once.Do(func() { _ = s.http.Close() })
	<-s.done
	return s.err
}

// Done is closed when serving has ended.
func (s *Server) Done() <-chan struct{} { return s.done }
