package upstream

import "time"

// Model decides on one request of a client at a time: whether it may pass and,
// if not, how long the client should wait. Time must not run backwards. A Model
// is not safe for concurrent use.
type Model interface {
	Allow(now time.Time, ip string) (ok bool, retryAfter time.Duration)
}

// Quota is what a model announces in X-RateLimit headers.
type Quota struct {
	Limit, Remaining int
	Reset            time.Time
}

// tokenBucket refills at rate per period up to burst.
type tokenBucket struct {
	perSecond     float64
	burst         float64
	countRejected bool
	clients       map[string]*bucket
}

type bucket struct {
	tokens float64
	last   time.Time
}

func (m *tokenBucket) Allow(now time.Time, ip string) (bool, time.Duration) {
	b := m.clients[ip]
	if b == nil {
		b = &bucket{tokens: m.burst, last: now}
		m.clients[ip] = b
	}
	if passed := now.Sub(b.last); passed > 0 {
		b.tokens = min(m.burst, b.tokens+passed.Seconds()*m.perSecond)
		b.last = now
	}
	// The tolerance lets a token count that is due at this very instant, although
	// its fraction was summed from rounded parts.
	if b.tokens >= 1-1e-9 {
		b.tokens--
		return true, 0
	}
	wait := time.Duration((1 - b.tokens) / m.perSecond * float64(time.Second))
	if m.countRejected {
		b.tokens = max(-m.burst, b.tokens-1)
	}
	return false, wait
}

// slidingWindow allows limit requests in any window of length per.
type slidingWindow struct {
	limit         int
	per           time.Duration
	countRejected bool
	clients       map[string][]time.Time
}

func (m *slidingWindow) Allow(now time.Time, ip string) (bool, time.Duration) {
	seen := m.clients[ip]
	gone := 0
	for gone < len(seen) && now.Sub(seen[gone]) >= m.per {
		gone++
	}
	seen = seen[gone:]
	ok, wait := len(seen) < m.limit, time.Duration(0)
	if !ok {
		wait = seen[len(seen)-m.limit].Add(m.per).Sub(now)
	}
	if ok || m.countRejected {
		seen = append(seen, now)
	}
	if over := len(seen) - 2*m.limit; over > 0 { // only the newest limit of them can matter
		seen = seen[over:]
	}
	m.clients[ip] = seen
	return ok, wait
}

// fixedWindow allows limit requests in each window of length per. The windows are
// those of the calendar, the same for every client.
type fixedWindow struct {
	limit         int
	per           time.Duration
	countRejected bool
	clients       map[string]*window
}

type window struct {
	start time.Time
	count int
}

func (m *fixedWindow) Allow(now time.Time, ip string) (bool, time.Duration) {
	start := now.Truncate(m.per)
	w := m.clients[ip]
	if w == nil || !w.start.Equal(start) {
		w = &window{start: start}
		m.clients[ip] = w
	}
	return w.take(m.limit, m.countRejected, m.per, now)
}

func (w *window) take(limit int, countRejected bool, per time.Duration, now time.Time) (bool, time.Duration) {
	if w.count < limit {
		w.count++
		return true, 0
	}
	if countRejected {
		w.count++
	}
	return false, w.start.Add(per).Sub(now)
}

// legacyWindow is TMDB's limiter until 2019: a window that begins with a
// client's first request, announced in X-RateLimit headers.
type legacyWindow struct {
	limit         int
	per           time.Duration
	countRejected bool
	clients       map[string]*window
}

func (m *legacyWindow) Allow(now time.Time, ip string) (bool, time.Duration) {
	w := m.clients[ip]
	if w == nil || now.Sub(w.start) >= m.per {
		w = &window{start: now}
		m.clients[ip] = w
	}
	return w.take(m.limit, m.countRejected, m.per, now)
}

func (m *legacyWindow) quota(ip string) Quota {
	q := Quota{Limit: m.limit, Remaining: m.limit}
	if w := m.clients[ip]; w != nil {
		q.Remaining, q.Reset = max(0, m.limit-w.count), w.start.Add(m.per)
	}
	return q
}

// unlimited lets every request pass.
type unlimited struct{}

func (unlimited) Allow(time.Time, string) (bool, time.Duration) { return true, 0 }

// penaltyWindow is the time over which refusals add up to a penalty.
const penaltyWindow = 10 * time.Second

// penalised shuts a client out for a while once it has been refused too often.
// Requests during that time change nothing.
type penalised struct {
	Model
	after   int
	length  time.Duration
	clients map[string]*penalty
}

type penalty struct {
	refused []time.Time
	until   time.Time
}

func (m *penalised) Allow(now time.Time, ip string) (bool, time.Duration) {
	p := m.clients[ip]
	if p == nil {
		p = &penalty{}
		m.clients[ip] = p
	}
	if now.Before(p.until) {
		return false, p.until.Sub(now)
	}
	ok, wait := m.Model.Allow(now, ip)
	if ok {
		return true, 0
	}
	gone := 0
	for gone < len(p.refused) && now.Sub(p.refused[gone]) >= penaltyWindow {
		gone++
	}
	p.refused = append(p.refused[gone:], now)
	if len(p.refused) >= m.after {
		p.refused, p.until = nil, now.Add(m.length)
		return false, m.length
	}
	return false, wait
}
