package upstream

import "time"

// Model decides on one request of a client at a time: whether it may pass and, if not, how long the client should
// wait. Time must not run backwards. A Model is not safe for concurrent use.
type Model interface {
	Allow(now time.Time, ip string) (ok bool, retryAfter time.Duration)
}

// Quota is what a model announces in X-RateLimit headers.
type Quota struct {
	Limit, Remaining int
	Reset            time.Time
}

// tokenBucket refills at Rate per Per up to Burst.
type tokenBucket struct {
	Limits
	clients map[string]*bucket
}

type bucket struct {
	tokens float64
	last   time.Time
}

func (m *tokenBucket) Allow(now time.Time, ip string) (bool, time.Duration) {
	burst, perSecond := float64(m.Burst), float64(m.Rate)/m.Per.Seconds()
	b := m.clients[ip]
	if b == nil {
		b = &bucket{tokens: burst, last: now}
		m.clients[ip] = b
	}
	if passed := now.Sub(b.last); passed > 0 {
		b.tokens = min(burst, b.tokens+passed.Seconds()*perSecond)
		b.last = now
	}
	// The tolerance lets a token count that is due at this very instant, although its fraction was summed from rounded
	// parts.
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

// slidingWindow allows Rate requests in any window of length Per.
type slidingWindow struct {
	Limits
	clients map[string][]time.Time
}

func (m *slidingWindow) Allow(now time.Time, ip string) (bool, time.Duration) {
	seen := since(m.clients[ip], now.Add(-m.Per))
	ok, wait := len(seen) < m.Rate, time.Duration(0)
	if !ok {
		wait = seen[len(seen)-m.Rate].Add(m.Per).Sub(now)
	}
	if ok || m.CountRejected {
		seen = append(seen, now)
	}
	if over := len(seen) - 2*m.Rate; over > 0 { // only the newest Rate of them can matter
		seen = seen[over:]
	}
	m.clients[ip] = seen
	return ok, wait
}

// windows allows Rate requests in each window of length Per. The windows are those of the calendar, the same for
// every client; or, as in TMDB's limiter until 2019, one begins with a client's first request and is announced in
// X-RateLimit headers.
type windows struct {
	Limits
	calendar bool
	clients  map[string]*window
}

type window struct {
	start time.Time
	count int
}

func (m *windows) Allow(now time.Time, ip string) (bool, time.Duration) {
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

func (m *windows) quota(ip string) Quota {
	q := Quota{Limit: m.Rate, Remaining: m.Rate}
	if w := m.clients[ip]; w != nil {
		q.Remaining, q.Reset = max(0, m.Rate-w.count), w.start.Add(m.Per)
	}
	return q
}

// unlimited lets every request pass.
type unlimited struct{}

func (unlimited) Allow(time.Time, string) (bool, time.Duration) { return true, 0 }

// penaltyWindow is the time over which refusals add up to a penalty.
const penaltyWindow = 10 * time.Second

// penalised shuts a client out for PenaltyFor once it has been refused PenaltyAfter times. Requests during that time
// change nothing.
type penalised struct {
	Model
	Limits
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
	p.refused = append(since(p.refused, now.Add(-penaltyWindow)), now)
	if len(p.refused) >= m.PenaltyAfter {
		p.refused, p.until = nil, now.Add(m.PenaltyFor)
		return false, m.PenaltyFor
	}
	return false, wait
}
