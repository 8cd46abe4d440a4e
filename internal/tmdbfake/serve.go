// This file decides the order of stages of one request: limiter, faults before
// the answer, credentials, route, parameters, ETag, encoding, faults in the body.

package tmdbfake

import (
	"crypto/md5" //nolint:gosec // TMDB's ETags are MD5; nothing is protected by it
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// exchange is one request on its way.
type exchange struct {
	f      *Fake
	w      http.ResponseWriter
	r      *http.Request
	e      *Entry
	now    time.Time
	ip     string
	skew   time.Duration
	marks  []Action // header faults
	bodies []Action // body faults; the first one counts
}

// ServeHTTP answers one request of TMDB's API.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ip := f.clientIP(r)
	now := f.Now()
	e := f.journal.begin(Entry{
		At: now, Conn: connID(r.Context()), IP: ip, PID: r.Header.Get(f.pidHeader), Proto: r.Proto, Method: r.Method,
		Path: r.URL.Path, Query: redacted(r.URL.RawQuery), Auth: authForm(r), IfNone: r.Header.Get("If-None-Match") != "",
	})
	defer func() { f.journal.finish(e, f.Now()) }()
	x := &exchange{f: f, w: w, r: r, e: e, now: now, ip: ip}
	x.marks = x.struck(stageHeader)

	f.mu.Lock()
	x.skew = f.skew
	ok, wait := f.model.Allow(f.nowLocked(), ip)
	quota, announced := quotaOf(f.model, ip)
	limits := f.limits
	f.latent++
	latency := f.latency.of(f.seed, f.latent)
	f.mu.Unlock()
	if announced {
		w.Header().Set("X-RateLimit-Limit", strconv.Itoa(quota.Limit))
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(quota.Remaining))
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(quota.Reset.Unix(), 10))
	}
	if !ok {
		f.journal.update(e, func(e *Entry) { e.Limiter = "limit" })
		x.status(Action{Status: http.StatusTooManyRequests, Code: 25, Body: limits.Body, RetryAfter: limits.RetryAfter, Wait: Duration(wait)})
		return
	}
	f.journal.update(e, func(e *Entry) { e.Limiter = "pass" })
	if !pause(r.Context(), latency) {
		return
	}
	for _, a := range x.struck(stagePre) {
		if done := x.pre(a); done {
			return
		}
	}
	x.bodies = x.struck(stageBody)
	x.answer(f.route(r, x.now))
}

// struck gives the faults of a stage and notes them in the journal.
func (x *exchange) struck(st stage) []Action {
	as := x.f.strikes(st, x.r, x.ip)
	if len(as) > 0 {
		x.f.journal.update(x.e, func(e *Entry) {
			for _, a := range as {
				if e.Fault != "" {
					e.Fault += "+"
				}
				e.Fault += a.Kind
			}
		})
	}
	return as
}

// route checks the credentials, finds the endpoint and asks it.
func (f *Fake) route(r *http.Request, now time.Time) answer {
	if code := f.authorise(r); code != 0 {
		return refuse(code)
	}
	rt, ids, ok := findRoute(r.URL.Path)
	if !ok {
		return refuse(34)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refuse(42)
	}
	f.mu.Lock()
	changed := f.renumberedLocked(now)
	f.mu.Unlock()
	return rt.serve(f, query{values: r.URL.Query(), raw: r.URL.RawQuery, ids: ids, now: now, changed: changed})
}

// answer encodes and sends what an endpoint said.
func (x *exchange) answer(a answer) {
	body, err := json.Marshal(a.body)
	if err != nil { // bodies are made of plain values; reaching this is a fault of the stand-in's own
		panic(fmt.Sprintf("tmdbfake: encode %s: %v", x.r.URL.Path, err))
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json;charset=utf-8")
	if a.status == http.StatusOK {
		sum := md5.Sum(body) //nolint:gosec // see above
		h.Set("ETag", `W/"`+hex.EncodeToString(sum[:])+`"`)
		x.edge(a.kind)
		x.mark()
		if matches(x.r.Header.Get("If-None-Match"), h.Get("ETag")) {
			h.Del("Content-Type")
			x.begin(http.StatusNotModified)
			return
		}
	} else {
		x.mark()
	}
	x.send(a.status, body)
}

// matches compares an If-None-Match header with an ETag, weakly (RFC 9110 §13.1.2).
func matches(header, etag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || part != "" && strings.TrimPrefix(part, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// edge sets the headers that TMDB's CDN adds to a good answer. How long it
// keeps an answer, and how old its copy is, follow from the path.
func (x *exchange) edge(kind class) {
	h := x.w.Header()
	key := strings.ToLower(redacted(x.r.URL.RawQuery))
	share := chance(x.f.seed, "edge", x.r.URL.Path, key)
	keep, age := 0, 0
	switch kind {
	case classSearch: // max-age and age together lie in 22,173..28,644 s
		keep = 22_173 + int(share*(28_644-22_173))
		age = int(chance(x.f.seed, "age", x.r.URL.Path, key) * 3_600)
	case classDetails:
		keep = 2_485 + int(share*(22_778-2_485))
	case classStatic:
		keep = 6 * 3_600
	case classError:
	}
	hit := "MISS, STORE"
	if age > 0 {
		hit = "HIT"
	}
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(keep-age))
	h.Set("Vary", "accept-encoding, Origin")
	h.Set("Via", "1.1 "+hexID(32, x.f.seed, x.r.URL.Path)+".cloudfront.net (CloudFront)")
	h.Set("X-Cache", "Miss from cloudfront")
	h.Set("Alt-Svc", `h3=":443"; ma=86400`)
	h.Set("X-Memc", hit)
	h.Set("X-Memc-Age", strconv.Itoa(age))
	h.Set("X-Memc-Expires", strconv.Itoa(keep-age))
	h.Set("X-Memc-Key", hexID(32, "memc", x.r.URL.Path, key))
}

// mark sets the headers of every answer: the server, the date of the
// stand-in's clock, and what header faults make of them.
func (x *exchange) mark() {
	h := x.w.Header()
	h.Set("Server", "openresty")
	skew := x.skew
	noDate := false
	for _, a := range x.marks {
		switch a.Kind {
		case "date_skew":
			skew += time.Duration(a.Skew)
		case "no_date":
			noDate = true
		case "age":
			h.Set("Age", strconv.Itoa(seconds(time.Duration(a.Delay))))
		case "stale_etag":
			h.Set("ETag", fmt.Sprintf(`W/"%032x"`, x.e.Seq))
		}
	}
	if noDate {
		h["Date"] = nil // keeps net/http from adding one
		return
	}
	h.Set("Date", x.f.Now().Add(skew).UTC().Format(http.TimeFormat))
}

// dateSkew is how far the Date header is off.
func (x *exchange) dateSkew() time.Duration {
	d := x.skew
	for _, a := range x.marks {
		if a.Kind == "date_skew" {
			d += time.Duration(a.Skew)
		}
	}
	return d
}

// begin sends the status line and headers.
func (x *exchange) begin(status int) {
	x.f.journal.update(x.e, func(e *Entry) { e.Status = status })
	x.w.WriteHeader(status)
}

// write sends a part of the body and counts it.
func (x *exchange) write(b []byte) error {
	n, err := x.w.Write(b)
	x.f.journal.update(x.e, func(e *Entry) { e.Bytes += int64(n) })
	return err
}
