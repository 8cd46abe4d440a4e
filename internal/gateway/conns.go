package gateway

import (
	"net"
	"sync"
)

const (
	maxConns        = 512
	maxConnsPerPeer = 64
)

// conns counts the connections of all listeners. One too many is closed at once, rather than left hanging.
type conns struct {
	exempt func(peer string) bool // its connections are not counted one by one

	mu      sync.Mutex
	total   int
	perPeer map[string]int
}

func newConns(g *Gateway) *conns {
	return &conns{perPeer: map[string]int{}, exempt: func(peer string) bool { return g.settings.Load().trusts(peer) }}
}

// take counts a connection, or reports that there is no room for it.
func (c *conns) take(peer string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total >= maxConns || c.perPeer[peer] >= maxConnsPerPeer && peer != "" && !c.exempt(peer) {
		return false
	}
	c.total++
	c.perPeer[peer]++
	return true
}

func (c *conns) give(peer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.perPeer[peer]--; c.perPeer[peer] <= 0 {
		delete(c.perPeer, peer)
	}
}

// bounded is a listener whose connections are counted.
type bounded struct {
	net.Listener
	conns *conns
}

// Accept waits for a connection that there is room for.
func (b bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := ""
		if _, unix := conn.RemoteAddr().(*net.UnixAddr); !unix {
			peer = hostOf(conn.RemoteAddr().String())
		}
		if b.conns.take(peer) {
			return &counted{Conn: conn, end: sync.OnceFunc(func() { b.conns.give(peer) })}, nil
		}
		conn.Close()
	}
}

// counted is a connection that gives its place back when it is closed.
type counted struct {
	net.Conn
	end func()
}

// Close closes the connection.
func (c *counted) Close() error {
	defer c.end()
	return c.Conn.Close()
}
