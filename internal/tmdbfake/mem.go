package tmdbfake

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

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
