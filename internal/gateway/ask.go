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

type requester struct {
	settings     *settings
	requestID    string // goes into the response and the log
	client       *client
	class        class
	patience     time.Duration // how long it waits for permission to ask TMDB
	onlyIfCached bool          // it wants no answer from TMDB
	session      string        // whose requests use the same account if possible: a client, or one of its sessions
	via          []string      // Via entries of the gateways in front of this one
	held         int64         // bytes of its answers, counted in its client's load
}

type result struct {
	*reply
	provenance
	waited, upstream time.Duration
	account          string // TMDB account that was used
	sentUpstream     bool   // a request was sent to TMDB
}

// get returns the answer to a question: a fresh one from the cache, else TMDB's, else an expired one if TMDB fails. Its
// error is the context's, or one for refusalOf.
func (g *Gateway) get(ctx context.Context, u *url.URL, key string, a *requester) (result, error) {
	r, err := g.cachedReply(ctx, u, key, a)
	switch {
	case err != nil:
		return result{}, err
	case r != nil && r.cacheInfo.Source == cache.Fresh:
		return result{reply: r}, nil
	}
	expired := r
	req := &http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Via": {strings.Join(append(a.via, g.viaEntry), ", ")}},
	}
	out, err := g.askOrWait(ctx, req, key, a, expired)
	switch {
	case err == nil && out.reply != expired:
		return out, a.hold(out.reply)
	case err == nil || ctx.Err() != nil || expired == nil:
		return out, err
	}
	out.reply, out.staleReason = expired, refusalOf(err).name
	return out, nil
}

// cachedReply returns the cached answer to a question, nil if there is none. A client has few of them decoded at the
// same time: with hundreds, others would wait for the processor.
func (g *Gateway) cachedReply(ctx context.Context, u *url.URL, key string, a *requester) (*reply, error) {
	select {
	case a.client.load.decoding <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-a.client.load.decoding }()
	e, info := g.upstream.CachedAnswer(ctx, u, key)
	if e == nil {
		return nil, nil
	}
	r := &reply{status: e.Status, etag: e.ETag, body: e.Body, cacheInfo: info, hasCacheInfo: true}
	return r, a.hold(r)
}

// hold counts an answer that is kept in memory until the client has read it, or refuses it if the client has too much
// to read already.
func (a *requester) hold(r *reply) error {
	size := int64(len(r.body))
	a.held += size
	if all := a.client.load.unread.Add(size); all > maxUnread && all > a.held {
		return &refusal{reason: reasonClientQueueFull, text: "This client does not read its answers.", retryIn: time.Second}
	}
	return nil
}

// askOrWait joins the question's flight or begins one, and waits for it. If the flight of another request failed for a
// reason of that request's own, it begins another.
func (g *Gateway) askOrWait(
	ctx context.Context, req *http.Request, key string, a *requester, expired *reply,
) (result, error) {
	left := a.patience
	for {
		if err := ctx.Err(); err != nil {
			return result{}, err
		}
		if a.onlyIfCached {
			return result{}, refuse(reasonNotCached, "")
		}
		f, joined := g.flights.join(key, a)
		if !joined {
			var err error
			if f, err = g.beginFlight(req, key, a, left); err != nil {
				return result{}, err
			}
			if f == nil {
				continue // another request has just begun one; join it
			}
		} else if onWire, _ := g.flights.wireState(f); !onWire {
			if err := g.checkBlocked(ctx, left); err != nil {
				g.flights.leave(f)
				return result{}, err
			}
		}
		start := time.Now()
		out, err := g.await(ctx, f, a, &left, expired)
		out.collapsed = joined
		out.waited += time.Since(start) - out.upstream
		if err != nil && joined && left > 0 && failedForInitiator(f, err, left) {
			continue
		}
		if err != nil && ctx.Err() == nil && refusalOf(err).reason == reasonAcquireTimeout {
			if count, due := g.warnThrottle.Allow("slot_timeout", time.Now()); due {
				g.logSlot(slog.LevelError, "slot_timeout", f, slog.Duration("waited", a.patience), slog.Int("count", count))
			}
		}
		return out, err
	}
}

// failedForInitiator reports whether a flight failed for its initiator's Via, or its patience, which limits tries too.
func failedForInitiator(f *flight, err error, patience time.Duration) bool {
	switch refusalOf(err).reason {
	case reasonAcquireTimeout, reasonSleep, reasonPause, reasonLoop:
		return true
	case reasonUpstream, reasonNetwork:
		return 2*f.initiator.patience < patience
	}
	return false
}

func (g *Gateway) checkBlocked(ctx context.Context, patience time.Duration) error {
	err := g.upstream.Limiter().Blocked(ratelimit.With(ctx, ratelimit.Request{MaxWait: patience}))
	if err == nil || errors.As(err, new(*ratelimit.BlockedError)) || ctx.Err() != nil {
		return err
	}
	return &limiterError{err}
}

// beginFlight begins a flight unless it would have to wait longer than patience. It returns nil if another request has
// just begun one for the same question.
func (g *Gateway) beginFlight(req *http.Request, key string, a *requester, patience time.Duration) (*flight, error) {
	if err := g.checkBlocked(context.Background(), patience); err != nil {
		return nil, err
	}
	f := &flight{
		key: key, req: req, initiator: *a,
		ticket: ticket{client: a.client.Name, weight: a.client.Weight, class: a.class},
	}
	f.initiator.patience = patience
	if wait := g.queueWait(&f.ticket); wait > patience {
		return nil, g.refuseFull(reasonQueueFull, &f.ticket)
	}
	if r := a.client.allow(a.client.upstream, time.Now()); r != nil {
		return nil, r
	}
	ok, err := g.flights.begin(f)
	if err != nil || !ok {
		a.client.refund(a.client.upstream)
		return nil, err
	}
	return f, nil
}

func (g *Gateway) queueWait(t *ticket) time.Duration {
	return time.Duration(float64(g.queue.countAhead(t)) / g.upstream.Rate() * float64(time.Second))
}

func (g *Gateway) refuseFull(why *reason, t *ticket) *refusal {
	byTurns := time.Duration(g.queue.countAhead(t)+1) * time.Duration(g.flights.turn.Load())
	return &refusal{reason: why, text: why.text, retryIn: max(g.queueWait(t), min(byTurns, time.Minute), time.Second)}
}

// await waits for a flight's answer. While the flight waits for permission to ask TMDB, this request's patience
// applies, and await takes the time off left. While TMDB is being asked there is no such limit, because the limiter
// bounds each try.
func (g *Gateway) await(
	ctx context.Context, f *flight, a *requester, left *time.Duration, expired *reply,
) (result, error) {
	stale := time.Duration(math.MaxInt64) // time until the client gets the expired answer instead
	if after := a.settings.ServeStaleAfter; expired != nil && after >= 0 {
		stale = after
	}
	for {
		onWire, changed := g.flights.wireState(f)
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
			return result{}, ctx.Err()
		}
		if !onWire {
			spent := time.Since(start)
			*left -= spent
			stale -= spent
			onWire, _ = g.flights.wireState(f) // it may have changed
		}
		switch {
		case over:
			return flightResult(f, expired)
		case onWire:
		case stale <= 0:
			g.flights.continueInBackground(f)
			return result{reply: expired, provenance: provenance{staleReason: g.waitReason()}}, nil
		case *left <= 0:
			g.flights.leave(f)
			return result{}, g.refuseFull(reasonAcquireTimeout, &f.ticket)
		}
	}
}

func flightResult(f *flight, expired *reply) (result, error) {
	out := result{reply: f.answer, upstream: f.upstream, sentUpstream: !f.sentAt.IsZero(), account: f.lastChoice().Account}
	out.forwardReason, out.upstreamStatus = "miss", f.result.status
	if expired != nil {
		out.forwardReason = "stale"
	}
	if f.answer != nil && f.answer.hasCacheInfo && f.answer.cacheInfo.Source == cache.Stale {
		out.staleReason = f.result.whyStale()
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
	case r.staleReason != "" || r.status == 0:
		return r.staleReason
	}
	return reasonMalformed.name
}
