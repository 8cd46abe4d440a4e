package tmdbfake

import (
	"cmp"
	"crypto/md5" //nolint:gosec // TMDB's ETags are MD5; nothing is protected by it
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// exchange is one request and its answer. Its stages, in order: limit, faults
// before the answer, credentials, route, parameters, ETag, encoding, faults in
// the body. Faults in headers strike at any of them.
type exchange struct {
	f       *Fake
	w       http.ResponseWriter
	r       *http.Request
	entry   *Entry
	now     time.Time
	ip      string
	skew    time.Duration
	headers []upstream.Action // faults in the headers
	bodies  []upstream.Action // faults in the body; the first one counts
}

// ServeHTTP answers one request of TMDB's API.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{f: f, w: w, r: r, now: f.Now(), ip: f.clientIP(r)}
	x.entry = f.journal.begin(Entry{
		At: x.now, Conn: connID(r.Context()), IP: x.ip, PID: r.Header.Get(f.pidHeader), Proto: r.Proto, Method: r.Method,
		Path: r.URL.Path, Query: redacted(r.URL.RawQuery), Auth: authForm(r), IfNone: r.Header.Get("If-None-Match") != "",
	})
	defer func() { f.journal.finish(x.entry, f.Now()) }()
	x.headers = x.strikes(upstream.InHeaders)

	latency, allowed := x.limit()
	if !allowed || !pause(r.Context(), latency) {
		return
	}
	for _, a := range x.strikes(upstream.BeforeAnswer) {
		if done := x.instead(a); done {
			return
		}
	}
	x.bodies = x.strikes(upstream.InBody)
	x.answer(f.route(r, x.now))
}

// limit asks the limits. A request beyond them is refused, and false returned;
// for any other, the latency of its answer.
func (x *exchange) limit() (latency time.Duration, allowed bool) {
	f := x.f
	f.mu.Lock()
	now := f.nowLocked()
	x.skew = f.skew
	key, _ := credential(x.r)
	client := x.ip
	if f.limitByKey {
		client = key
	}
	allowed, wait := f.behaviour.Allow(now, client)
	quota, announced := f.behaviour.Quota(client)
	limits := f.behaviour.Limits()
	f.answered++
	l, slow := f.slow[key]
	if !slow {
		l = f.latency
	}
	latency = f.behaviour.SlowedLatency(now, l.Nth(f.seed, f.answered))
	f.mu.Unlock()
	if announced {
		h := x.w.Header()
		h.Set("X-RateLimit-Limit", strconv.Itoa(quota.Limit))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(quota.Remaining))
		h.Set("X-RateLimit-Reset", strconv.FormatInt(quota.Reset.Unix(), 10))
	}
	if allowed {
		f.journal.update(x.entry, func(e *Entry) { e.Limiter = "pass" })
		return latency, true
	}
	f.journal.update(x.entry, func(e *Entry) { e.Limiter = "limit" })
	x.status(upstream.Action{
		Status: http.StatusTooManyRequests, Code: 25, Body: limits.Body, RetryAfter: limits.RetryAfter,
		Wait: upstream.Duration(wait),
	})
	return 0, false
}

// strikes returns the faults of a stage that befall the request, and records them.
func (x *exchange) strikes(st upstream.FaultPoint) []upstream.Action {
	actions := x.f.strikes(st, upstream.Request{IP: x.ip, URL: x.r.URL})
	if len(actions) == 0 {
		return nil
	}
	x.f.journal.update(x.entry, func(e *Entry) {
		for _, a := range actions {
			if e.Fault != "" {
				e.Fault += "+"
			}
			e.Fault += a.Kind
		}
	})
	return actions
}

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

// answer encodes and sends the answer of an endpoint.
func (x *exchange) answer(a answer) {
	body, err := json.Marshal(a.body)
	if err != nil { // bodies are made of plain values: this is a defect of the stand-in
		panic(fmt.Sprintf("tmdbfake: encode %s: %v", x.r.URL.Path, err))
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json;charset=utf-8")
	if a.status == http.StatusOK {
		sum := md5.Sum(body) //nolint:gosec // see above
		h.Set("ETag", `W/"`+hex.EncodeToString(sum[:])+`"`)
		x.edge(a.kind)
		x.finishHeaders()
		if matches(x.r.Header.Get("If-None-Match"), h.Get("ETag")) {
			h.Del("Content-Type")
			x.begin(http.StatusNotModified)
			return
		}
	} else {
		x.finishHeaders()
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

// edge sets the headers that TMDB's CDN adds to a good answer. The lifetime and
// the age of its copy follow from the path.
func (x *exchange) edge(kind class) {
	h := x.w.Header()
	key := strings.ToLower(redacted(x.r.URL.RawQuery))
	share := upstream.Chance(x.f.seed, "edge", x.r.URL.Path, key)
	keep, age := 0, 0
	switch kind {
	case classSearch: // max-age and age together lie in 22,173..28,644 s
		keep = 22_173 + int(share*(28_644-22_173))
		age = int(upstream.Chance(x.f.seed, "age", x.r.URL.Path, key) * 3_600)
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

func (x *exchange) finishHeaders() {
	h := x.w.Header()
	h.Set("Server", "openresty")
	noDate := false
	for _, a := range x.headers {
		switch a.Kind {
		case "no_date":
			noDate = true
		case "age":
			h.Set("Age", strconv.Itoa(upstream.Seconds(time.Duration(a.Delay))))
		case "stale_etag":
			h.Set("ETag", fmt.Sprintf(`W/"%032x"`, x.entry.Seq))
		}
	}
	if noDate {
		h["Date"] = nil // keeps net/http from adding one
		return
	}
	h.Set("Date", x.f.Now().Add(x.dateSkew()).UTC().Format(http.TimeFormat))
}

// dateSkew is how far the Date header is off.
func (x *exchange) dateSkew() time.Duration {
	d := x.skew
	for _, a := range x.headers {
		if a.Kind == "date_skew" {
			d += time.Duration(a.Skew)
		}
	}
	return d
}

func (x *exchange) begin(status int) {
	x.f.journal.update(x.entry, func(e *Entry) { e.Status = status })
	x.w.WriteHeader(status)
}

func (x *exchange) write(b []byte) error {
	n, err := x.w.Write(b)
	x.f.journal.update(x.entry, func(e *Entry) { e.Bytes += int64(n) })
	return err
}

// answer is a finished answer before it is encoded.
type answer struct {
	status int
	body   any
	kind   class
}

// class groups endpoints by how long the CDN keeps their answers.
type class uint8

const (
	classError class = iota
	classSearch
	classDetails
	classStatic
)

func refuse(code int) answer {
	return answer{status: statusOf(code), body: errorBody(code, "")}
}

// errorBody returns the JSON of an error; text "" takes the code's own words.
func errorBody(code int, text string) object {
	if text == "" {
		text = tables().Errors[code]
	}
	return object{"success": false, "status_code": code, "status_message": text}
}

// invalid returns the other error form, which has no code.
func invalid(text string) answer {
	return answer{status: http.StatusUnprocessableEntity, body: object{"errors": []string{text}}}
}

// suspended is how a key begins that TMDB has suspended.
const suspended = "deadbeef"

// credential returns what a request shows: its bearer token, else its api_key.
func credential(r *http.Request) (value string, bearer bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token), true
	}
	return r.URL.Query().Get("api_key"), false
}

// authForm names the form of a request's credential, for the journal.
func authForm(r *http.Request) string {
	switch value, bearer := credential(r); {
	case value == "":
		return "none"
	case bearer:
		return "bearer"
	default:
		return "api_key"
	}
}

// v3Key reports whether s has the shape of a v3 key: 32 hexadecimal digits.
func v3Key(s string) bool {
	return len(s) == 32 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// authorise returns 0 for a good credential, else the code to refuse with. A v3
// key as bearer is refused, as TMDB does.
func (f *Fake) authorise(r *http.Request) int {
	value, bearer := credential(r)
	switch {
	case value == "":
		return 7
	case strings.HasPrefix(strings.ToLower(value), suspended):
		return 10
	case bearer == v3Key(value):
		return 7
	case f.keys != nil && !slices.Contains(f.keys, value):
		return 7
	}
	return 0
}

var statusByCode = map[int]int{
	2: 501, 3: 401, 4: 405, 5: 422, 6: 404, 7: 401, 8: 403, 9: 503, 10: 401, 11: 500, 14: 401, 15: 500, 16: 401,
	17: 401, 18: 400, 19: 406, 20: 422, 22: 400, 23: 400, 24: 504, 25: 429, 26: 400, 27: 400, 28: 400, 29: 400,
	30: 401, 31: 401, 32: 401, 33: 401, 34: 404, 35: 401, 36: 401, 37: 404, 38: 401, 39: 401, 41: 422, 42: 405,
	43: 502, 44: 500, 45: 403, 46: 503, 47: 400,
}

// statusOf returns the HTTP status that belongs to a status_code of TMDB, or 500 if the code is unknown.
func statusOf(code int) int {
	return cmp.Or(statusByCode[code], http.StatusInternalServerError)
}
