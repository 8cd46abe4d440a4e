package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/tmdbfake/cert"
)

const (
	crowdWaits = 1000 // requests that wait
	crowdConns = 512  // connections that are held, those of the requests among them
)

// crowdYAML lets requests wait for longer than a Sleep lasts.
const crowdYAML = `limiter: {max_retries: 0, max_wait: 10h, n_failures: 2, sleep_min: 10m, sleep_max: 20m, sleep_max_outage: 20m}
serve: {acquire_timeout: {interactive: 500m}, queue: {max: 2000, per_client: 2000}, tls: {cert: %s, key: %s}}
`

// waiting is what cached requests cost while 1,000 others wait because the limiter sleeps, and what memory that takes.
func (t *trial) waiting(ctx context.Context) error {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answer(w, r)
	}))
	defer upstream.Close()
	certFile, keyFile, err := t.certificate()
	if err != nil {
		return err
	}
	var servers []*server
	for _, name := range []string{"alone", "crowd"} {
		socket := filepath.Join(t.dir, name+".sock")
		s, err := t.gateway(ctx, name, upstream.URL, fmt.Sprintf(crowdYAML, certFile, keyFile), "--listen", "unix:"+socket, "--listen", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.want = 2
		defer s.stop()
		if err := s.start(); err != nil {
			return err
		}
		servers = append(servers, s)
	}
	alone, crowded := servers[0], servers[1]
	if err := load(crowded.url, 320); err != nil { // its answer is stored
		return err
	}
	before, err := crowded.memory()
	if err != nil {
		return err
	}
	leave, err := gather(ctx, crowded.urls[1])
	if err != nil {
		return err
	}
	defer leave()
	if err := t.turns(servers); err != nil {
		return err
	}
	with, without := kit.Quantile(crowded.cost, .5), kit.Quantile(alone.cost, .5)
	fmt.Printf("a cached request while %d others wait: %.1f µs; without them %.1f µs: × %.2f (goal: 1.2)\n", crowdWaits, with, without, with/without)
	held, err := crowded.memory()
	if err != nil {
		return err
	}
	fmt.Printf("memory with %d connections and %d requests that wait: %.0f MB, before them %.0f MB (goal: 120)\n", crowdConns, crowdWaits, held, before)
	return nil
}

// gather lets requests wait at a gateway that sleeps, and opens connections until there is no more room but for the load's.
func gather(ctx context.Context, url string) (leave func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	var held []net.Conn
	leave = func() {
		cancel()
		asking.Wait()
		for _, c := range held {
			c.Close()
		}
	}
	// Each client has one connection, made by its first request: a thousand requests at once would make a thousand.
	var clients []*http.Client
	for range crowdWaits / 50 {
		clients = append(clients, &http.Client{Transport: &http.Transport{
			ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // its own server, on the loopback
		}})
	}
	ask := func(ctx context.Context, i int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/3/tv/%d", url, i+1), nil)
		if err != nil {
			return err
		}
		resp, err := clients[i%len(clients)].Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	for i := range 2 { // it goes to sleep
		if err := ask(ctx, i); err != nil {
			return leave, err
		}
	}
	for i, c := range clients {
		if _, err := waitingAt(c, url); err != nil {
			return leave, fmt.Errorf("client %d: %w", i, err)
		}
	}
	for i := range crowdWaits {
		asking.Go(func() { _ = ask(ctx, 1000+i) })
	}
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		n, err := waitingAt(clients[0], url)
		if err != nil {
			return leave, err
		}
		if n >= crowdWaits-1 { // the other one asks the limiter
			break
		}
		if time.Now().After(deadline) {
			return leave, fmt.Errorf("%d requests wait, not %d", n, crowdWaits)
		}
	}
	addr := strings.TrimPrefix(url, "https://")
	for i := range crowdConns - len(clients) - 20 { // the load has some too
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i/60))}}
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return leave, err
		}
		tc := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // as above
		if err := tc.HandshakeContext(ctx); err != nil {
			return leave, fmt.Errorf("connection %d: %w", i, err)
		}
		held = append(held, tc)
	}
	return leave, nil
}

var queueLength = regexp.MustCompile(`anivault_gateway_queue_length\{class="interactive"\} (\d+)`)

// waitingAt reads from a gateway's metrics how many questions wait.
func waitingAt(c *http.Client, url string) (int, error) {
	resp, err := c.Get(url + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		return 0, err
	}
	found := queueLength.FindSubmatch(b.Bytes())
	if found == nil {
		return 0, fmt.Errorf("no queue length in the metrics: %.200s", b.String())
	}
	return strconv.Atoi(string(found[1]))
}

// certificate writes a certificate for the loopback.
func (t *trial) certificate() (certFile, keyFile string, err error) {
	pair, err := cert.New(time.Now(), cert.Good)
	if err != nil {
		return "", "", err
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.Leaf.PrivateKey)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = filepath.Join(t.dir, "cert.pem"), filepath.Join(t.dir, "key.pem")
	err = os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Leaf.Certificate[0]}), 0o600)
	if err == nil {
		err = os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600)
	}
	return certFile, keyFile, err
}

// memory is what a server has in memory, in MB.
func (s *server) memory() (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	return float64(kb) / 1024, err
}

// reloads sends 100 signals to read the configuration anew under 500 requests a second.
func (t *trial) reloads(ctx context.Context) error {
	const signals = 100
	upstream := httptest.NewServer(http.HandlerFunc(answer))
	defer upstream.Close()
	s, err := t.gateway(ctx, "reloads", upstream.URL, "", "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.start(); err != nil {
		return err
	}
	var signalling sync.WaitGroup
	signalling.Go(func() {
		for range signals {
			_ = s.cmd.Process.Signal(syscall.SIGHUP)
			time.Sleep(100 * time.Millisecond)
		}
	})
	took, err := openLoop(s.url, 500, 10*time.Second)
	signalling.Wait()
	if err != nil {
		return err
	}
	fmt.Printf("%d reloads under 500 requests/s: 0 of %d requests failed\n", signals, len(took))
	return nil
}
