package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy is a proxy between a client and a server that can behave like a bad network.
type Proxy struct {
	Addr string // host:port where it listens

	target    atomic.Pointer[string]
	listener  net.Listener
	delay     atomic.Int64 // of each reply
	cutEvery  atomic.Int64 // every how many replies one is cut in half; 0: none
	dropEvery atomic.Int64 // every how many replies one is lost; 0: none
	replies   atomic.Int64
	down      atomic.Bool
	silent    atomic.Bool

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	done  sync.WaitGroup
}

// NewProxy starts a proxy in front of a server. The caller must Close it.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, conns: map[net.Conn]struct{}{}}
	p.target.Store(&target)
	p.done.Go(p.serve)
	return p, nil
}

// SetDelay delays each reply by d.
func (p *Proxy) SetDelay(d time.Duration) { p.delay.Store(int64(d)) }

// CutEvery cuts every n-th reply in half and ends its connection; 0: none.
func (p *Proxy) CutEvery(n int) { p.cutEvery.Store(int64(n)) }

// DropEvery drops every n-th reply; 0: none.
func (p *Proxy) DropEvery(n int) { p.dropEvery.Store(int64(n)) }

// SetDown ends all connections and refuses new ones; false accepts them again.
func (p *Proxy) SetDown(down bool) {
	p.down.Store(down)
	if down {
		p.closeAll()
	}
}

// SetSilent keeps the connections but holds back all data; false lets it through again.
func (p *Proxy) SetSilent(silent bool) { p.silent.Store(silent) }

// Redirect ends all connections and connects new ones to another server.
func (p *Proxy) Redirect(target string) {
	p.target.Store(&target)
	p.closeAll()
}

// Close stops the proxy and ends all connections.
func (p *Proxy) Close() {
	p.down.Store(true)
	p.listener.Close()
	p.closeAll()
	p.done.Wait()
}

func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.down.Load() {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", *p.target.Load())
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.done.Go(func() { p.copy(server, client, false) })
		p.done.Go(func() { p.copy(client, server, true) })
	}
}

// copy passes on data from one side until either side closes.
func (p *Proxy) copy(to, from net.Conn, replies bool) {
	defer func() {
		to.Close()
		from.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, to)
		delete(p.conns, from)
	}()
	buf := make([]byte, 256<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		for p.silent.Load() && !p.down.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if replies {
			time.Sleep(time.Duration(p.delay.Load()))
			count := p.replies.Add(1)
			if every := p.dropEvery.Load(); every > 0 && count%every == 0 {
				continue
			}
			if every := p.cutEvery.Load(); every > 0 && count%every == 0 {
				_, _ = to.Write(buf[:n/2])
				return
			}
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
