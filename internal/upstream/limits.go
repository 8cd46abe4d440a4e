package upstream

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits describes how many requests and connections the server allows each client. The zero value allows any number.
type Limits struct {
	Model         string // token_bucket, sliding, fixed, legacy or none; "" means none
	Rate          int    // requests allowed in each Per
	Per           time.Duration
	Burst         int           // size of the token bucket; 0 means Rate
	CountRejected bool          // refused requests count against the limit too
	PenaltyAfter  int           // this many refusals within 10 s block the client; 0 means never
	PenaltyFor    time.Duration // how long the client is blocked
	MaxConns      int           // open connections of one address; 0 means any number
	RetryAfter    string        // how a refusal fills Retry-After; see RetryAfterModes
	Body          string        // body of a refusal: json, nosuccess, html or empty; "" means json
}

// limitDefaults maps each model to its default limits. The rates are those that users of TMDB report.
var limitDefaults = map[string]Limits{
	"token_bucket": {Rate: 50, Per: time.Second, Burst: 50},
	"sliding":      {Rate: 50, Per: time.Second},
	"fixed":        {Rate: 50, Per: time.Second},
	"legacy":       {Rate: 40, Per: 10 * time.Second},
	"none":         {},
}

var limitBodies = []string{"json", "nosuccess", "html", "empty"}

// ParseLimits reads limits in the form
//
//	MODEL[:RATE/PER][,burst=N][,conns=N][,count_rejected=BOOL][,penalty=N/DURATION][,retry_after=MODE][,body=FORM]
//
// such as "sliding:40/1s,retry_after=delta" or "none,conns=20". "" means "none".
func ParseLimits(s string) (Limits, error) {
	head, rest, _ := strings.Cut(s, ",")
	model, rate, hasRate := strings.Cut(head, ":")
	if model == "" && !hasRate {
		model = "none"
	}
	l, ok := limitDefaults[model]
	if !ok {
		return Limits{}, fmt.Errorf("limit model %q is unknown: use token_bucket, sliding, fixed, legacy or none", model)
	}
	l.Model = model
	if hasRate {
		if model == "none" {
			return Limits{}, fmt.Errorf("limit %q: none has no rate", s)
		}
		var err error
		if l.Rate, l.Per, err = parseRate(rate, l.Per); err != nil {
			return Limits{}, fmt.Errorf("limit %q: %w", s, err)
		}
		if model == "token_bucket" {
			l.Burst = l.Rate
		}
	}
	if rest != "" {
		for option := range strings.SplitSeq(rest, ",") {
			if err := l.parseOption(option); err != nil {
				return Limits{}, fmt.Errorf("limit %q: %w", s, err)
			}
		}
	}
	return l, l.Validate()
}

func (l *Limits) parseOption(s string) error {
	name, value, _ := strings.Cut(s, "=")
	var err error
	switch name {
	case "burst":
		l.Burst, err = strconv.Atoi(value)
	case "conns":
		l.MaxConns, err = strconv.Atoi(value)
	case "count_rejected":
		l.CountRejected, err = strconv.ParseBool(value)
	case "penalty":
		l.PenaltyAfter, l.PenaltyFor, err = parseRate(value, 0)
	case "retry_after":
		l.RetryAfter = value
	case "body":
		l.Body = value
	default:
		return fmt.Errorf("option %q is unknown: use burst, conns, count_rejected, penalty, retry_after or body", name)
	}
	if err != nil {
		return fmt.Errorf("option %s has the value %q: %w", name, value, err)
	}
	return nil
}

func parseRate(s string, per time.Duration) (int, time.Duration, error) {
	count, span, hasSpan := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	if err != nil {
		return 0, 0, fmt.Errorf("%q is not a whole number", count)
	}
	if hasSpan {
		if per, err = time.ParseDuration(span); err != nil {
			return 0, 0, fmt.Errorf("%q is not a duration such as 1s or 10s", span)
		}
	}
	return n, per, nil
}

// Validate returns an error for the first value that is out of range.
func (l Limits) Validate() error {
	if _, ok := limitDefaults[l.Model]; !ok && l.Model != "" {
		return fmt.Errorf("limit model %q is unknown: use token_bucket, sliding, fixed, legacy or none", l.Model)
	}
	limited := l.Model != "" && l.Model != "none"
	if limited && (l.Rate < 1 || l.Rate > maxLimitValue) {
		return fmt.Errorf("limit rate %d is outside 1..%d", l.Rate, maxLimitValue)
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"burst", l.Burst}, {"conns", l.MaxConns}, {"penalty", l.PenaltyAfter}} {
		if n.value < 0 || n.value > maxLimitValue {
			return fmt.Errorf("limit %s %d is outside 0..%d", n.name, n.value, maxLimitValue)
		}
	}
	switch {
	case limited && (l.Per < time.Millisecond || l.Per > 24*time.Hour):
		return fmt.Errorf("limit period %s is outside 1ms..24h", l.Per)
	case l.PenaltyAfter > 0 && (l.PenaltyFor <= 0 || l.PenaltyFor > 24*time.Hour):
		return fmt.Errorf("limit penalty lasts %s: write it as 5/30s, at most 24h", l.PenaltyFor)
	case l.Body != "" && !slices.Contains(limitBodies, l.Body):
		return fmt.Errorf("limit body %q is unknown: use one of %v", l.Body, limitBodies)
	}
	return validRetryAfter(l.RetryAfter)
}

const maxLimitValue = 1_000_000

func (l Limits) String() string {
	text := cmp.Or(l.Model, "none")
	if text != "none" {
		text += fmt.Sprintf(":%d/%s", l.Rate, l.Per)
	}
	for _, option := range []struct {
		set  bool
		text string
	}{
		{l.Model == "token_bucket" || l.Burst != 0, fmt.Sprintf("burst=%d", l.Burst)},
		{l.MaxConns != 0, fmt.Sprintf("conns=%d", l.MaxConns)},
		{l.CountRejected, "count_rejected=true"},
		{l.PenaltyAfter != 0 || l.PenaltyFor != 0, fmt.Sprintf("penalty=%d/%s", l.PenaltyAfter, l.PenaltyFor)},
		{l.RetryAfter != "", "retry_after=" + l.RetryAfter},
		{l.Body != "", "body=" + l.Body},
	} {
		if option.set {
			text += "," + option.text
		}
	}
	return text
}

// NewLimiter returns a limiter that enforces l and has not seen any request.
func (l Limits) NewLimiter() Limiter {
	var m Limiter = unlimited{}
	switch l.Model {
	case "token_bucket":
		l.Burst = cmp.Or(l.Burst, l.Rate)
		m = &tokenBucket{l, map[string]*bucket{}}
	case "sliding":
		m = &slidingWindow{l, map[string][]time.Time{}}
	case "fixed", "legacy":
		m = &fixedWindows{l, l.Model == "fixed", map[string]*window{}}
	}
	if l.PenaltyAfter > 0 {
		m = &clientBlocker{m, l, map[string]*refusalRecord{}}
	}
	return m
}

// Limiter decides whether a request of a client is allowed and, if not, how long the client should wait. Calls must not
// go back in time. A Limiter is not safe for concurrent use.
type Limiter interface {
	Allow(now time.Time, ip string) (ok bool, retryAfter time.Duration)
}

// Quota holds the values of the X-RateLimit headers.
type Quota struct {
	Limit, Remaining int
	Reset            time.Time
}

type tokenBucket struct {
	Limits
	clients map[string]*bucket
}

type bucket struct {
	tokens     float64
	lastRefill time.Time
}

func (m *tokenBucket) Allow(now time.Time, ip string) (bool, time.Duration) {
	burst, perSecond := float64(m.Burst), float64(m.Rate)/m.Per.Seconds()
	b := m.clients[ip]
	if b == nil {
		b = &bucket{tokens: burst, lastRefill: now}
		m.clients[ip] = b
	}
	if passed := now.Sub(b.lastRefill); passed > 0 {
		b.tokens = min(burst, b.tokens+passed.Seconds()*perSecond)
		b.lastRefill = now
	}
	// The tolerance makes up for rounding: without it a token that is due at this very instant might be refused.
	if b.tokens >= 1-1e-9 {
		b.tokens--
		return true, 0
	}
	wait := time.Duration((1 - b.tokens) / perSecond * float64(time.Second))
	if m.CountRejected {
		b.tokens = max(-burst, b.tokens-1)
	}
	return false, wait
}

type slidingWindow struct {
	Limits
	clients map[string][]time.Time
}

func (m *slidingWindow) Allow(now time.Time, ip string) (bool, time.Duration) {
	seen := timesAfter(m.clients[ip], now.Add(-m.Per))
	ok, wait := len(seen) < m.Rate, time.Duration(0)
	if !ok {
		wait = seen[len(seen)-m.Rate].Add(m.Per).Sub(now)
	}
	if ok || m.CountRejected {
		seen = append(seen, now)
	}
	if over := len(seen) - 2*m.Rate; over > 0 { // older ones can no longer affect a decision
		seen = seen[over:]
	}
	m.clients[ip] = seen
	return ok, wait
}

// fixedWindows limits requests in fixed windows. The windows start at multiples of Per, the same for every client. In
// TMDB's limiter until 2019 they start at a client's first request and are announced in X-RateLimit headers.
type fixedWindows struct {
	Limits
	calendar bool // windows start at multiples of Per
	clients  map[string]*window
}

type window struct {
	start time.Time
	count int
}

func (m *fixedWindows) Allow(now time.Time, ip string) (bool, time.Duration) {
	w := m.clients[ip]
	if w == nil || now.Sub(w.start) >= m.Per {
		w = &window{start: now}
		if m.calendar {
			w.start = now.Truncate(m.Per)
		}
		m.clients[ip] = w
	}
	ok := w.count < m.Rate
	if ok || m.CountRejected {
		w.count++
	}
	if ok {
		return true, 0
	}
	return false, w.start.Add(m.Per).Sub(now)
}

type unlimited struct{}

func (unlimited) Allow(time.Time, string) (bool, time.Duration) { return true, 0 }

const penaltyWindow = 10 * time.Second

// clientBlocker blocks a client after too many refusals. Requests during the block do not extend it.
type clientBlocker struct {
	Limiter
	Limits
	refusals map[string]*refusalRecord
}

type refusalRecord struct {
	refused      []time.Time
	blockedUntil time.Time
}

func (m *clientBlocker) Allow(now time.Time, ip string) (bool, time.Duration) {
	p := m.refusals[ip]
	if p == nil {
		p = &refusalRecord{}
		m.refusals[ip] = p
	}
	if now.Before(p.blockedUntil) {
		return false, p.blockedUntil.Sub(now)
	}
	ok, wait := m.Limiter.Allow(now, ip)
	if ok {
		return true, 0
	}
	p.refused = append(timesAfter(p.refused, now.Add(-penaltyWindow)), now)
	if len(p.refused) >= m.PenaltyAfter {
		p.refused, p.blockedUntil = nil, now.Add(m.PenaltyFor)
		return false, m.PenaltyFor
	}
	return false, wait
}
