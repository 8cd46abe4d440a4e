package gateway

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/ratelimit"
)

type asker struct {
	settings *settings
	id       string // of the request
	client   *client
	class    class
	patience time.Duration // longest wait for permission
	cached   bool          // only-if-cached
	session  string        // who keeps using one account: a client, or one of its sessions
	via      []string      // the gateways in front of this one
}

type found struct {
	*reply
	origin
	waited, upstream time.Duration
	account          string // used to ask TMDB
	sent             bool   // TMDB was asked for it
}

// get finds the answer to a question: a fresh one from the cache, or TMDB's, or an expired one if TMDB fails. The error
// is for refusalOf, or the context's.
func (g *Gateway) get(ctx context.Context, u *url.URL, key string, a *asker) (found, error) {
	var expired *reply
	if e, info := g.up.Stored(ctx, u, key); e != nil {
		r := &reply{status: e.Status, contentType: jsonType, etag: e.ETag, body: e.Body, info: info, known: true}
		if info.Source == cache.Fresh {
			return found{reply: r}, nil
		}
		expired = r
	}
	req := &http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Via": {strings.Join(append(a.via, g.via), ", ")}},
	}
	out, err := g.askOrWait(ctx, req, key, a, expired)
	if err == nil || ctx.Err() != nil || expired == nil {
		return out, err
	}
	out.reply, out.detail = expired, refusalOf(err).name
	return out, nil
}

// askOrWait joins the question's flight or begins one, and waits for it. A request that has more patience than the one
// that began a flight begins another when that one has run out.
func (g *Gateway) askOrWait(
	ctx context.Context, req *http.Request, key string, a *asker, expired *reply,
) (found, error) {
	left := a.patience
	for {
		if err := ctx.Err(); err != nil {
			return found{}, err
		}
		if a.cached {
			return found{}, refuse(reasonNotCached, "")
		}
		f, joined := g.flights.join(key, a)
		if !joined {
			var err error
			if f, err = g.begin(req, key, a, left); err != nil {
				return found{}, err
			}
			if f == nil {
				continue // somebody else was faster
			}
		} else if onWire, _ := g.flights.state(f); !onWire {
			if err := g.blocked(ctx, left); err != nil {
				g.flights.leave(f)
				return found{}, err
			}
		}
		start := time.Now()
		out, err := g.await(ctx, f, a, &left, expired)
		out.collapsed = joined
		out.waited += time.Since(start) - out.upstream
		if err != nil && joined && left > 0 && ranOut(err) {
			continue
		}
		if err != nil && ctx.Err() == nil && refusalOf(err).reason == reasonAcquireTimeout {
			g.logSlot(slog.LevelError, "slot_timeout", f, slog.Duration("waited", a.patience))
		}
		return out, err
	}
}

func ranOut(err error) bool {
	r := refusalOf(err).reason
	return r == reasonAcquireTimeout || r == reasonSleep || r == reasonPause
}

func (g *Gateway) blocked(ctx context.Context, patience time.Duration) error {
	err := g.up.Limiter().Blocked(ratelimit.With(ctx, ratelimit.Request{MaxWait: patience}))
	if err == nil || errors.As(err, new(*ratelimit.BlockedError)) || ctx.Err() != nil {
		return err
	}
	return &limiterError{err}
}

// begin starts a flight unless its wait is known to be hopeless. It returns nil where another request has just begun
// one.
func (g *Gateway) begin(req *http.Request, key string, a *asker, patience time.Duration) (*flight, error) {
	if err := g.blocked(context.Background(), patience); err != nil {
		return nil, err
	}
	f := &flight{
		key: key, req: req, by: *a,
		ticket: ticket{client: a.client.Name, weight: a.client.Weight, class: a.class},
	}
	f.by.patience = patience
	if wait := g.lineFor(&f.ticket); wait > patience {
		return nil, g.refuseFull(reasonQueueFull, &f.ticket)
	}
	if r := a.client.allow(a.client.upstream, time.Now()); r != nil {
		return nil, r
	}
	ok, err := g.flights.begin(f)
	if err != nil || !ok {
		a.client.undo(a.client.upstream)
		return nil, err
	}
	return f, nil
}

func (g *Gateway) lineFor(t *ticket) time.Duration {
	if ahead := g.queue.ahead(t); ahead > 0 {
		rate := max(g.up.Rate(), 0.1) // at least one in ten seconds
		return time.Duration(float64(ahead) / rate * float64(time.Second))
	}
	return 0
}

func (g *Gateway) refuseFull(why *reason, t *ticket) *refusal {
	r := refuse(why, "")
	r.wait = max(g.lineFor(t), time.Second)
	return r
}

// await waits for a flight's answer: for permission only as long as the request has patience, and for TMDB without one
// of its own, since the limiter bounds each try. left is reduced by what was waited for permission.
func (g *Gateway) await(ctx context.Context, f *flight, a *asker, left *time.Duration, expired *reply) (found, error) {
	stale := time.Duration(math.MaxInt64) // until an expired answer is given
	if after := a.settings.StaleAfter; expired != nil && after >= 0 {
		stale = after
	}
	for {
		onWire, changed := g.flights.state(f)
		start := time.Now()
		over := false
		var up <-chan time.Time
		if !onWire {
			up = time.After(min(*left, stale))
		}
		select {
		case <-f.done:
			over = true
		case <-changed:
		case <-up:
		case <-ctx.Done():
			g.flights.leave(f)
			return found{}, ctx.Err()
		}
		if !onWire {
			spent := time.Since(start)
			*left -= spent
			stale -= spent
			onWire, _ = g.flights.state(f) // by now
		}
		switch {
		case over:
			return landed(f, expired)
		case onWire:
		case stale <= 0:
			g.flights.continueBehind(f)
			return found{reply: expired, origin: origin{detail: g.state(ctx)}}, nil
		case *left <= 0:
			g.flights.leave(f)
			return found{}, g.refuseFull(reasonAcquireTimeout, &f.ticket)
		}
	}
}

func landed(f *flight, expired *reply) (found, error) {
	out := found{reply: f.answer, upstream: f.upstream, sent: !f.sentAt.IsZero(), account: f.through().Account}
	out.forward = "miss"
	if expired != nil {
		out.forward = "stale"
	}
	out.upstreamStatus = f.result.status
	if f.answer != nil && f.answer.known && f.answer.info.Source == cache.Stale {
		out.detail = f.result.whyStale()
	}
	return out, f.err
}

func (r *upstreamResult) whyStale() string {
	switch {
	case r.err != nil:
		return refusalOf(r.err).name
	case r.status == http.StatusTooManyRequests:
		return reasonPause.name
	case r.status >= 400:
		return reasonUpstream.name
	case r.detail != "":
		return r.detail
	case r.status == 0:
		return ""
	}
	return reasonMalformed.name
}
