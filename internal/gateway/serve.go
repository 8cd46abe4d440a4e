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
	g         *Gateway
	o         Options
	listeners []net.Listener
	servers   []*http.Server
	cert      *certificate // nil: plain HTTP
	watcher   watcher
	accounts  atomic.Pointer[[]app.AccountView] // at the last look; nil before the first
	changing  sync.RWMutex                      // held for reading while this process makes a change
	hup       chan os.Signal
}

// Check returns why a gateway could not start with this configuration. It does not try the addresses.
func Check(cfg *config.Config) error {
	_, err := check(cfg)
	return err
}

// check also returns the certificate, nil for plain HTTP.
func check(cfg *config.Config) (*certificate, error) {
	if err := cfg.CheckExposure(false); err != nil {
		return nil, err
	}
	if _, err := groupOf(&cfg.Serve); err != nil {
		return nil, cfg.Refuse("serve.socket_group", lang.Textf("cannot be used: %s", err))
	}
	if cfg.Serve.TLSCert == "" {
		return nil, nil
	}
	cert := &certificate{}
	return cert, cert.load(cfg)
}

// Listen opens a gateway and its addresses. say is called with each, as a URL with the real port.
func Listen(cfg *config.Config, o Options, say func(url string)) (*Service, error) {
	cert, err := check(cfg)
	if err != nil {
		return nil, err
	}
	s := &Service{o: o, cert: cert, hup: make(chan os.Signal, 1)}
	if o.Reload != nil {
		signal.Notify(s.hup, syscall.SIGHUP) // before say announces the gateway, so no early signal ends the process
	}
	for _, addr := range cfg.Serve.Listen {
		l, err := listen(addr, &cfg.Serve)
		if err != nil {
			why := err.Error()
			if op, ok := errors.AsType[*net.OpError](err); ok {
				why = op.Err.Error()
			}
			refused := cfg.Refuse("serve.listen", lang.Textf("%s cannot be listened on: %s", addr, why))
			return nil, errors.Join(refused, s.Close())
		}
		s.listeners = append(s.listeners, l)
	}
	if s.g, err = New(cfg, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.watcher = watcher{s: s, read: o.Reload, now: look(cfg)} // later changes cause a reload
	for _, l := range s.listeners {
		url := s.url(l.Addr())
		s.g.log.Info("listening", slog.String("addr", url))
		say(url)
	}
	return s, nil
}

// Config returns the configuration in force.
func (s *Service) Config() *config.Config { return s.g.settings.Load().cfg }

// Upstream returns the path of all requests to TMDB.
func (s *Service) Upstream() *app.Gateway { return s.g.up }

// TLS returns the configuration of the gateway's TLS listeners, nil without a certificate.
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
		return net.Listen(config.NetworkOf(addr), addr)
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
	if err := share(path, s); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// share sets a socket's group and mode, which only its owner can use until then.
func share(path string, s *config.Serve) error {
	gid, err := groupOf(s)
	if err == nil {
		err = os.Chown(path, -1, gid) // -1 changes nothing
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, s.SocketMode)
}

// groupOf returns the number of a socket's group, -1 for the process's own.
func groupOf(s *config.Serve) (int, error) {
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

// Run serves until ctx ends, and then drains: requests at TMDB are finished, those that wait go on within the drain's
// time, the rest is refused with shutting_down. It frees everything.
func (s *Service) Run(ctx context.Context) error {
	var serving sync.WaitGroup
	failed := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		srv := s.server()
		s.servers = append(s.servers, srv)
		serving.Go(func() {
			var err error
			if s.cert != nil && l.Addr().Network() != "unix" {
				err = srv.ServeTLS(bounded{l, s.g.conns}, "", "")
			} else {
				err = srv.Serve(bounded{l, s.g.conns})
			}
			if !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve on %s: %w", l.Addr(), err)
			}
		})
	}
	notify(s.o.Notify, "READY=1")
	watching := s.watch()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	watching()
	notify(s.o.Notify, "STOPPING=1")
	s.drain()
	serving.Wait()
	return errors.Join(err, s.g.Close())
}

func (s *Service) watch() (stop func()) {
	if s.o.Reload == nil {
		return func() {}
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { s.watcher.run(done, s.hup) })
	return func() {
		signal.Stop(s.hup)
		close(done)
		watching.Wait()
	}
}

func (s *Service) server() *http.Server {
	srv := &http.Server{
		Handler: s.g, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100},
		// Otherwise net/http would answer "OPTIONS *" itself, unlike the routes' table.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(serverErrors{s.g.log}, "", 0),
	}
	srv.TLSConfig = s.TLS()
	return srv
}

type serverErrors struct{ log *slog.Logger }

func (e serverErrors) Write(line []byte) (int, error) {
	e.log.Debug("connection", slog.String("error", strings.TrimSpace(string(line))))
	return len(line), nil
}

func (s *Service) drain() {
	g := s.g
	g.draining.Store(true)
	cfg := g.settings.Load()
	g.log.Info("draining", slog.Duration("timeout", cfg.DrainTimeout))
	patient, cancel := context.WithTimeout(context.Background(), cfg.DrainTimeout)
	defer cancel()
	context.AfterFunc(patient, func() { g.flights.close(false) }) // also when all is done
	// Requests at TMDB are finished: that takes at most the request timeout and a moment to write the answer.
	longest := cfg.DrainTimeout + g.up.Limiter().Tuning().RequestTimeout + time.Second
	last, stop := context.WithTimeout(context.Background(), longest)
	defer stop()
	var closing sync.WaitGroup
	for _, srv := range s.servers {
		closing.Go(func() {
			if srv.Shutdown(last) != nil {
				g.flights.close(true)
				_ = srv.Close()
			}
		})
	}
	closing.Wait()
}

// Close frees everything that Listen opened. Call it if Run is not called.
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
	pair, err := tls.LoadX509KeyPair(cfg.Serve.TLSCert, cfg.Serve.TLSKey)
	if err != nil {
		return cfg.Refuse("serve.tls.cert", lang.Textf("cannot be used: %s", err))
	}
	c.pair.Store(&pair)
	return nil
}

const (
	maxConns        = 512
	maxConnsPerPeer = 64
)

// conns counts the connections of all listeners. A connection over the bound is closed at once.
type conns struct {
	g        *Gateway
	listener string // for metrics and log

	mu      sync.Mutex
	total   int
	perPeer map[string]int
}

func newConns(g *Gateway, listener string) *conns {
	return &conns{g: g, listener: listener, perPeer: map[string]int{}}
}

// BoundAdmin bounds the admin address's connections as the gateway's own are.
func (s *Service) BoundAdmin(l net.Listener) net.Listener { return bounded{l, s.g.admins} }

func (c *conns) take(peer string) bool {
	why := ""
	c.mu.Lock()
	switch {
	case c.total >= maxConns:
		why = "total"
	case c.perPeer[peer] >= maxConnsPerPeer && peer != "" && !c.g.settings.Load().trusts(peer):
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
	c.g.up.Metrics().Add(metrics.GatewayConnectionsRefused, 1, c.listener, why)
	if count, due := c.g.seldom.Due(c.listener+" "+why, time.Now()); due {
		c.g.log.Warn("connection_refused", slog.String("listener", c.listener), slog.String("why", why),
			slog.String("addr", peer), slog.Int("open", open), slog.Int("count", count))
	}
	return false
}

func (c *conns) open() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.total)
}

func (c *conns) give(peer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.perPeer[peer]--; c.perPeer[peer] <= 0 {
		delete(c.perPeer, peer)
	}
}

type bounded struct {
	net.Listener
	conns *conns
}

// Accept returns the next connection within the bound; it closes those above it.
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

type counted struct {
	net.Conn
	end func()
}

func (c *counted) Close() error {
	defer c.end()
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
		return // systemd is gone
	}
	_, _ = conn.Write([]byte(state))
	_ = conn.Close()
}
