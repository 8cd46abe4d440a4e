package tmdbfake

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Server is a stand-in that listens. Close ends it and waits for it.
type Server struct {
	http   *http.Server
	addr   net.Addr
	mem    *memListener
	roots  *x509.CertPool // that sign the certificate; nil without TLS
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
	s := f.newServer(l.Addr(), "http")
	s.start(func() error { return s.http.Serve(&watched{l, f}) })
	return s, nil
}

// ListenTLS serves HTTPS, with HTTP/2, on a TCP address. Transport trusts roots.
func (f *Fake) ListenTLS(addr string, own tls.Certificate, roots *x509.CertPool) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("tmdbfake: %w", err)
	}
	s := f.newServer(l.Addr(), "https")
	s.roots = roots
	s.http.TLSConfig = &tls.Config{
		Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}
	s.start(func() error { return s.http.ServeTLS(&watched{l, f}, "", "") })
	return s, nil
}

// ListenMem serves plain HTTP in memory. It opens no socket, so it works inside a
// testing/synctest bubble.
func (f *Fake) ListenMem() *Server {
	m := newMemListener()
	s := f.newServer(m.Addr(), "http")
	s.mem = m
	s.start(func() error { return s.http.Serve(&watched{m, f}) })
	return s
}

func (f *Fake) newServer(addr net.Addr, scheme string) *Server {
	return &Server{
		addr: addr, scheme: scheme, done: make(chan struct{}),
		http: &http.Server{
			Handler: f, ConnContext: connContext, ReadHeaderTimeout: time.Minute,
			ErrorLog: log.New(io.Discard, "", 0), // tests make clients break off
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

// Addr returns the address that is listened on.
func (s *Server) Addr() net.Addr { return s.addr }

// URL returns the base URL, without a slash at its end: the value for
// ANIVAULT_TMDB_BASE_URL.
func (s *Server) URL() string {
	if s.mem != nil {
		return "http://tmdb.fake"
	}
	return s.scheme + "://" + s.addr.String()
}

// Transport returns a transport that reaches and trusts this server. Its caller
// closes its idle connections.
func (s *Server) Transport() *http.Transport { return s.TransportFrom("127.0.0.1") }

// TransportFrom returns a transport whose client has the address ip: a loopback
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
	if s.roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS12}
	}
	return t
}

// Close ends every connection and its request, and waits until the listener is
// closed. It returns the error that ended serving before Close, if any.
func (s *Server) Close() error {
	s.once.Do(func() { _ = s.http.Close() })
	<-s.done
	return s.err
}

// Done is closed when serving has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

type memListener struct {
	queue chan net.Conn
	done  chan struct{}
	once  sync.Once
	port  atomic.Int32
}

func newMemListener() *memListener {
	return &memListener{queue: make(chan net.Conn), done: make(chan struct{})}
}

// Accept waits for a client.
func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close refuses later dials.
func (l *memListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr names the listener.
func (l *memListener) Addr() net.Addr { return memAddr("127.0.0.1:443") }

func (l *memListener) dial(ctx context.Context, ip string) (net.Conn, error) {
	from := memAddr(net.JoinHostPort(ip, strconv.Itoa(40_000+int(l.port.Add(1)%20_000))))
	a, b := net.Pipe()
	var reset atomic.Bool
	client := &memConn{Conn: a, local: from, remote: l.Addr(), reset: &reset}
	server := &memConn{Conn: b, local: l.Addr(), remote: from, reset: &reset}
	select {
	case l.queue <- server:
		return client, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "mem", Addr: l.Addr(), Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memAddr string

// Network names the kind of address.
func (memAddr) Network() string { return "mem" }

// String returns host and port.
func (a memAddr) String() string { return string(a) }

// memConn is one end of a pipe.
type memConn struct {
	net.Conn
	local, remote net.Addr
	reset         *atomic.Bool
}

// LocalAddr returns this end's address.
func (c *memConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the other end's address.
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

// SetLinger with 0 makes the next Close a reset, as a TCP connection's does.
func (c *memConn) SetLinger(seconds int) error {
	if seconds == 0 {
		c.reset.Store(true)
	}
	return nil
}

// Read returns ECONNRESET where the other end has reset.
func (c *memConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF && c.reset.Load() { //nolint:errorlint // net.Pipe gives it bare
		err = &net.OpError{Op: "read", Net: "mem", Source: c.local, Addr: c.remote, Err: syscall.ECONNRESET}
	}
	return n, err
}

// Write returns ECONNRESET where the other end has reset.
func (c *memConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == io.ErrClosedPipe && c.reset.Load() { //nolint:errorlint // net.Pipe gives it bare
		err = &net.OpError{Op: "write", Net: "mem", Source: c.local, Addr: c.remote, Err: syscall.ECONNRESET}
	}
	return n, err
}
