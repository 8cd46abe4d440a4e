package gateway

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/anivault/anivault/internal/config"
)

// health is what /readyz and /healthz say.
type health struct {
	Ready    bool     `json:"ready"`
	State    string   `json:"state"`
	Degraded []string `json:"degraded"`
}

// Running is the gateway that was found at one of the configured addresses.
type Running struct {
	Addr     string // as configured
	Ready    bool   // false while it drains
	State    string // the limiter's
	Degraded []string
}

// NotOursError says that what listens at a gateway's address is none.
type NotOursError struct{ Addr string }

func (e *NotOursError) Error() string { return e.Addr + " is taken by something that is no gateway" }

// FindRunning asks the configured addresses for /readyz and returns the first gateway that answers, nil if none does.
// Its error is a *NotOursError.
func FindRunning(ctx context.Context, cfg *config.Config) (*Running, error) {
	for _, addr := range cfg.Serve.Listen {
		scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
		network, to := "tcp", reachable(addr)
		if path, ok := strings.CutPrefix(addr, "unix:"); ok {
			network, to = "unix", path
		} else if cfg.Serve.TLSCert != "" {
			scheme = "https"
			// This machine's own, whose certificate has another name; no secret is sent.
			transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
		}
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, to)
		}
		found, err := askReady(ctx, transport, scheme)
		switch {
		case err == nil:
			found.Addr = addr
			return found, nil
		case errors.Is(err, errOther):
			return nil, &NotOursError{addr}
		}
	}
	return nil, nil
}

var errOther = errors.New("no gateway")

// askReady asks a gateway how it is. errOther is an answer of something else.
func askReady(ctx context.Context, transport http.RoundTripper, scheme string) (*Running, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://localhost/readyz", nil)
	if err != nil {
		return nil, fmt.Errorf("ask for /readyz: %w", err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("ask for /readyz: %w", err)
	}
	defer resp.Body.Close()
	var h health
	if json.NewDecoder(io.LimitReader(resp.Body, maxTarget)).Decode(&h) != nil || h.State == "" {
		return nil, errOther
	}
	return &Running{Ready: h.Ready, State: h.State, Degraded: h.Degraded}, nil
}

// reachable is where an address that is listened on can be asked: every address is also the loopback's.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
