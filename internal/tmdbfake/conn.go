package tmdbfake

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// connTable counts connections; Fake.mu guards it.
type connTable struct {
	total, open, refused int
	most                 int
	byIP                 map[string]int
}

func newConnTable() connTable { return connTable{byIP: map[string]int{}} }

func (t *connTable) resetCounts() { t.total, t.refused, t.most = 0, 0, 0 }

// watched is a listener that numbers and caps connections, and strikes some with
// faults.
type watched struct {
	net.Listener
	f *Fake
}

// Accept returns the next connection that is neither refused nor reset.
func (l *watched) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if k := l.f.admit(c); k != nil {
			return k, nil
		}
	}
}

func (f *Fake) admit(c net.Conn) *conn {
	ip := hostOf(c.RemoteAddr())
	f.mu.Lock()
	f.conns.total++
	number := f.conns.total
	if limit := f.behaviour.Limits().MaxConns; limit > 0 && f.conns.byIP[ip] >= limit {
		f.conns.refused++
		f.mu.Unlock()
		resetConn(c)
		return nil
	}
	f.conns.open++
	f.conns.byIP[ip]++
	f.conns.most = max(f.conns.most, f.conns.byIP[ip])
	f.mu.Unlock()
	k := &conn{Conn: c, number: number, gone: func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.conns.open--
		if f.conns.byIP[ip]--; f.conns.byIP[ip] == 0 {
			delete(f.conns.byIP, ip)
		}
	}}
	for _, a := range f.strikes(upstream.OnConnect, upstream.Request{IP: ip}) {
		if a.Kind == "conn_reset" {
			k.reset()
			return nil
		}
		k.fault = a.Kind
	}
	return k
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// conn is an accepted connection.
type conn struct {
	net.Conn
	number int
	fault  string
	once   sync.Once
	gone   func()
}

// errSpoiled is the read error of a connection that a fault has ended.
var errSpoiled = errors.New("tmdbfake: the connection was spoiled by a fault")

// Read reads from the client. A fault of the connection strikes once the client
// has sent its first bytes.
func (c *conn) Read(b []byte) (int, error) {
	if c.fault == "" {
		return c.Conn.Read(b)
	}
	if _, err := c.Conn.Read(b); err != nil {
		return 0, err
	}
	switch c.fault {
	case "hello_reset":
		c.reset()
	case "conn_garbage":
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.Write([]byte("SSH-2.0-stand-in\r\n"))
		_ = c.Close()
	default: // conn_silent: discard everything until one side ends it
		_, err := io.Copy(io.Discard, c.Conn)
		if err != nil {
			return 0, err
		}
	}
	return 0, errSpoiled
}

// Close ends the connection. Only the first call is counted.
func (c *conn) Close() error {
	c.once.Do(c.gone)
	return c.Conn.Close()
}

// NetConn returns the wrapped connection, for resetConn.
func (c *conn) NetConn() net.Conn { return c.Conn }

func (c *conn) reset() {
	c.once.Do(c.gone)
	resetConn(c.Conn)
}

type connKey struct{}

func connContext(ctx context.Context, c net.Conn) context.Context {
	for {
		if k, ok := c.(*conn); ok {
			return context.WithValue(ctx, connKey{}, k.number)
		}
		inner, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return ctx
		}
		c = inner.NetConn()
	}
}

// connID returns the number of a request's connection, 0 when it has none.
func connID(ctx context.Context) int {
	n, _ := ctx.Value(connKey{}).(int)
	return n
}

var _ http.Handler = (*Fake)(nil)
