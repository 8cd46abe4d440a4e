package gateway

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// pipes is a network within one process, for real HTTP in virtual time: what its connections wait for, a bubble can
// wait for.
type pipes struct {
	accepting chan net.Conn
	closed    chan struct{}
	end       func()
	dialled   atomic.Int32
}

func newPipes() *pipes {
	p := &pipes{accepting: make(chan net.Conn), closed: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.end()
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// transport returns a client's side. A peer has as many connections as it may have; then comes the next address.
func (p *pipes) transport() *http.Transport {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		n := p.dialled.Add(1) - 1
		client, server := net.Pipe()
		select {
		case p.accepting <- from{server, &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(n/maxConnsPerPeer)), Port: int(n)}}:
			return client, nil
		case <-p.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &http.Transport{DialContext: dial, MaxIdleConnsPerHost: maxConns}
}

// from is a connection from an address.
type from struct {
	net.Conn
	addr net.Addr
}

// RemoteAddr implements net.Conn.
func (f from) RemoteAddr() net.Addr { return f.addr }
