package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/metrics"
)

// Service is a gateway that listens.
type Service struct {
	g            *Gateway
	o            Options
	listeners    []net.Listener
	servers      []*http.Server
	cert         *certificate // nil: plain HTTP
	watcher      configWatcher
	lastAccounts atomic.Pointer[[]app.AccountView] // accounts at the last check; nil before the first
	changeMu     sync.RWMutex                      // read-locked while this process makes a change
	hup          chan os.Signal
}

// Check returns an error if a gateway could not start with this configuration. It does not try to listen.
func Check(cfg *config.Config) error {
	_, err := check(cfg)
	return err
}

// check does the same, and also returns the certificate, nil for plain HTTP.
func check(cfg *config.Config) (*certificate, error) {
	if err := cfg.CheckExposure(false); err != nil {
		return nil, err
	}
	if _, err := socketGroup(&cfg.Serve); err != nil {
		return nil, cfg.ErrorFor("serve.socket_group", lang.Textf("cannot be used: %s", err))
	}
	if cfg.Serve.TLSCert == "" {
		return nil, nil
	}
	cert := &certificate{}
	return cert, cert.load(cfg)
}

// Listen opens a gateway and its addresses. It calls say with each address as a URL, with the actual port.
func Listen(cfg *config.Config, o Options, say func(url string)) (*Service, error) {
	cert, err := check(cfg)
	if err != nil {
		return nil, err
	}
	s := &Service{o: o, cert: cert, hup: make(chan os.Signal, 1)}
	if o.Reload != nil {
		signal.Notify(s.hup, syscall.SIGHUP) // before say announces the gateway, so an early SIGHUP does not end the process
	}
	for _, addr := range cfg.Serve.Listen {
		l, err := listen(addr, &cfg.Serve)
		if err != nil {
			why := err.Error()
			if op, ok := errors.AsType[*net.OpError](err); ok {
				why = op.Err.Error()
			}
			refused := cfg.ErrorFor("serve.listen", lang.Textf("cannot listen on %s: %s", addr, why))
			return nil, errors.Join(refused, s.Close())
		}
		s.listeners = append(s.listeners, l)
	}
	if s.g, err = New(cfg, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.watcher = configWatcher{s: s, readConfig: o.Reload, current: statFiles(cfg)} // later changes cause a reload
	for _, l := range s.listeners {
		url := s.url(l.Addr())
		s.g.log.Info("listening", slog.String("addr", url))
		say(url)
	}
	return s, nil
}

// Config returns the current configuration.
func (s *Service) Config() *config.Config { return s.g.settings.Load().cfg }

// Upstream returns the path that all requests to TMDB take.
func (s *Service) Upstream() *app.Gateway { return s.g.upstream }

// TLS returns the TLS configuration of the gateway's listeners, nil without a certificate.
func (s *Service) TLS() *tls.Config {
	if s.cert == nil {
		return nil
	}
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.cert.pair.Load(), nil }
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}
}

func listen(addr string, s *config.Serve) (net.Listener, error) {
	path, ok := strings.CutPrefix(addr, "unix:")
	if !ok {
		return net.Listen(config.ListenNetwork(addr), addr)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil, errors.New("another process listens there")
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := listenUnix(path)
	if err != nil {
		return nil, err
	}
	if err := setSocketAccess(path, s); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// setSocketAccess sets a socket's group and mode. Until then only its owner can use it.
func setSocketAccess(path string, s *config.Serve) error {
	gid, err := socketGroup(s)
	if err == nil && gid >= 0 { // a service may be forbidden to call chown at all
		err = os.Chown(path, -1, gid)
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, s.SocketMode)
}

// socketGroup returns the group id for a socket, -1 for the process's own group.
func socketGroup(s *config.Serve) (int, error) {
	if s.SocketGroup == "" {
		return -1, nil
	}
	if gid, err := strconv.Atoi(s.SocketGroup); err == nil {
		return gid, nil
	}
	group, err := user.LookupGroup(s.SocketGroup)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(group.Gid)
}

func (s *Service) url(addr net.Addr) string {
	switch {
	case addr.Network() == "unix":
		return "unix:" + addr.String()
	case s.cert != nil:
		return "https://" + addr.String()
	}
	return "http://" + addr.String()
}

// Run serves until ctx ends. Then it drains: requests that are at TMDB are finished, those that wait may continue for
// the drain timeout, and the rest is refused with shutting_down. In the end it frees all resources.
func (s *Service) Run(ctx context.Context) error {
	defer signal.Stop(s.hup) // not before: while it drains, the signal would end the process
	var serving sync.WaitGroup
	failed := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		srv := s.newServer()
		s.servers = append(s.servers, srv)
		serving.Go(func() {
			var err error
			if s.cert != nil && l.Addr().Network() != "unix" {
				err = srv.ServeTLS(boundedListener{l, s.g.conns}, "", "")
			} else {
				err = srv.Serve(boundedListener{l, s.g.conns})
			}
			if !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve on %s: %w", l.Addr(), err)
			}
		})
	}
	notify(s.o.NotifySocket, "READY=1")
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	if s.o.Reload != nil {
		watching.Go(func() { s.watcher.run(ctx.Done(), s.hup) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop()
	watching.Wait()
	notify(s.o.NotifySocket, "STOPPING=1")
	s.drain()
	serving.Wait()
	return errors.Join(err, s.g.Close())
}

func (s *Service) newServer() *http.Server {
	return &http.Server{
		Handler: s.g, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: maxHeaderBytes,
		TLSConfig: s.TLS(), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100},
		// Otherwise net/http would answer "OPTIONS *" itself, bypassing the routes.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(serverErrorLog{s.g.log}, "", 0),
	}
}

type serverErrorLog struct{ log *slog.Logger }

func (e serverErrorLog) Write(line []byte) (int, error) {
	e.log.Debug("connection", slog.String("error", strings.TrimSpace(string(line))))
	return len(line), nil
}

func (s *Service) drain() {
	g := s.g
	g.draining.Store(true)
	cfg := g.settings.Load()
	g.log.Info("draining", slog.Duration("timeout", cfg.DrainTimeout))
	drainCtx, cancel := context.WithTimeout(context.Background(), cfg.DrainTimeout)
	defer cancel()
	context.AfterFunc(drainCtx, func() { g.flights.close(false) }) // it also runs when drain returns
	// Requests that are at TMDB may finish: that takes at most the request timeout, and a moment to write the answer.
	longest := cfg.DrainTimeout + g.upstream.Limiter().Tuning().RequestTimeout + time.Second
	shutdownCtx, stop := context.WithTimeout(context.Background(), longest)
	defer stop()
	var closing sync.WaitGroup
	for _, srv := range s.servers {
		closing.Go(func() {
			if srv.Shutdown(shutdownCtx) != nil {
				_ = srv.Close()
			}
		})
	}
	closing.Wait()
}

// Close frees everything that Listen opened. Call it only if Run is not called.
func (s *Service) Close() error {
	signal.Stop(s.hup)
	for _, l := range s.listeners {
		l.Close()
	}
	if s.g == nil {
		return nil
	}
	return s.g.Close()
}

type certificate struct {
	pair atomic.Pointer[tls.Certificate]
}

func (c *certificate) load(cfg *config.Config) error {
	cert, err := config.ReadFile(cfg.Serve.TLSCert)
	if err != nil {
		return cfg.ErrorFor("serve.tls.cert", lang.TextOf(err))
	}
	key, err := config.ReadFile(cfg.Serve.TLSKey)
	if err != nil {
		return cfg.ErrorFor("serve.tls.key", lang.TextOf(err))
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return cfg.ErrorFor("serve.tls.cert", lang.Textf("cannot be used: %s", err))
	}
	c.pair.Store(&pair)
	return nil
}

const (
	maxConns        = 512
	maxConnsPerPeer = 64
)

// connCounter counts and limits the connections of one kind of listener. Connections above the limit are closed at
// once.
type connCounter struct {
	g        *Gateway
	listener string // its name in metrics and the log

	mu      sync.Mutex
	total   int
	perPeer map[string]int
}

// LimitAdminConns limits the number of connections to the admin address, as the gateway's own listeners do.
func (s *Service) LimitAdminConns(l net.Listener) net.Listener {
	return boundedListener{l, s.g.adminConns}
}

func (c *connCounter) acquire(peer string) bool {
	why := ""
	c.mu.Lock()
	switch {
	case c.total >= maxConns:
		why = "total"
	case c.perPeer[peer] >= maxConnsPerPeer && peer != "":
		why = "peer"
	default:
		c.total++
		c.perPeer[peer]++
	}
	open := c.total
	c.mu.Unlock()
	if why == "" {
		return true
	}
	c.g.upstream.Metrics().Add(metrics.GatewayConnectionsRefused, 1, c.listener, why)
	if count, due := c.g.warnThrottle.Allow(c.listener+" "+why, time.Now()); due {
		c.g.log.Warn("connection_refused", slog.String("listener", c.listener), slog.String("why", why),
			slog.String("addr", peer), slog.Int("open", open), slog.Int("count", count))
	}
	return false
}

func (c *connCounter) open() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.total)
}

func (c *connCounter) release(peer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.perPeer[peer]--; c.perPeer[peer] <= 0 {
		delete(c.perPeer, peer)
	}
}

type boundedListener struct {
	net.Listener
	conns *connCounter
}

// Accept returns the next connection within the limit, and closes those above it.
func (b boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := b.conns.g.settings.Load().peerOf(conn.RemoteAddr())
		if b.conns.acquire(peer) {
			return &countedConn{Conn: conn, release: sync.OnceFunc(func() { b.conns.release(peer) })}, nil
		}
		conn.Close()
	}
}

// peerOf returns whom a connection counts for: of IPv6 the network of 64 bits, since one host has all of its addresses;
// "" for a Unix socket and for a trusted proxy, which have no limit of their own.
func (s *settings) peerOf(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || s.trustsProxy(hostOf(addr.String())) {
		return ""
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

type countedConn struct {
	net.Conn
	release func()
}

func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// notify sends a state to systemd (sd_notify(3)): "READY=1", "STOPPING=1". Without a socket it does nothing.
func notify(socket, state string) {
	if socket == "" {
		return
	}
	if name, ok := strings.CutPrefix(socket, "@"); ok {
		socket = "\x00" + name
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return // systemd does not listen
	}
	_, _ = conn.Write([]byte(state))
	_ = conn.Close()
}
