package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// giveUpAfter is how long after the first failure a run gives up if nothing has ever answered. The limiter would go on
// for minutes, because it can't tell an outage of TMDB from a machine without network.
const giveUpAfter = 15 * time.Second

// giveUpTransport fails all requests once it has given up: giveUpAfter after the first try, if all tries until then
// have ended in a network error.
type giveUpTransport struct {
	next http.RoundTripper

	gaveUp context.Context
	giveUp context.CancelFunc

	mu       sync.Mutex
	answered bool
	cause    error // of the latest failed try
}

func newGiveUpTransport(next http.RoundTripper) *giveUpTransport {
	g := &giveUpTransport{next: next}
	g.gaveUp, g.giveUp = context.WithCancel(context.Background())
	return g
}

func (g *giveUpTransport) recordTry(o ratelimit.Outcome, err error) {
	if o == ratelimit.Cancelled {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if o != ratelimit.Network {
		g.answered = true
		return
	}
	if g.cause == nil {
		time.AfterFunc(giveUpAfter, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if !g.answered {
				g.giveUp()
			}
		})
	}
	g.cause = err
}

// RoundTrip implements http.RoundTripper. Once g has given up, it returns the error of the latest try, also for
// requests that are waiting for permission.
func (g *giveUpTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel() // ratelimit.Transport has read the body
	defer context.AfterFunc(g.gaveUp, cancel)()
	if g.gaveUp.Err() == nil {
		resp, err := g.next.RoundTrip(req.WithContext(ctx))
		if err == nil || g.gaveUp.Err() == nil || req.Context().Err() != nil {
			return resp, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return nil, g.cause
}

// networkText returns the cause of a network error: "connection refused (127.0.0.1:1)".
func networkText(err error) lang.Text {
	var (
		dns    *net.DNSError
		op     *net.OpError
		system *os.SyscallError
	)
	switch {
	case errors.As(err, &dns):
		return lang.Textf("%s (%s)", lang.Text(dns.Err), ui.Escaped(dns.Name))
	case errors.As(err, &op) && op.Addr != nil:
		cause := op.Err
		if errors.As(cause, &system) {
			cause = system.Err
		}
		return lang.Textf("%s (%s)", cause, op.Addr.String())
	}
	return textWithoutURL(err)
}
