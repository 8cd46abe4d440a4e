package simulate

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// This file decides what an upstream answers: first its limits, then its faults, as the stand-in does.

// epoch is when every simulation begins: on a full hour, so that calendar windows begin with it.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// client is the address all processes of a machine share.
const client = "192.0.2.1"

// Upstream answers requests by a script. It is a value with a history: the same seed, moments and order give the
// same answers. It is not safe for concurrent use.
type Upstream struct {
	script  Script
	limits  tmdbfake.Limits
	model   tmdbfake.Model
	sliding []time.Duration // requests of the last second, for limits of the script's own
	latency tmdbfake.Latency
	counts  []int // requests that each fault has seen
	chance  *rand.Rand
}

// Answer is what becomes of one request.
type Answer struct {
	Fail    Failure
	Status  int         // 0: no answer
	Header  http.Header // nil: nothing of interest
	Latency time.Duration
	Refused bool // by a limit
}

// Good reports whether the request got what it asked for.
func (a *Answer) Good() bool { return a.Fail == None && !a.Refused }

// NewUpstream makes an upstream with a script's faults, a script's limits if it has some, else these, and this
// latency. An error is one of the limits'.
func NewUpstream(s Script, limits tmdbfake.Limits, latency tmdbfake.Latency, seed uint64) (*Upstream, error) {
	if s.Limits != "" {
		var err error
		if limits, err = tmdbfake.ParseLimits(s.Limits); err != nil {
			return nil, err
		}
	}
	if err := limits.Validate(); err != nil {
		return nil, err
	}
	if err := latency.Validate(); err != nil {
		return nil, err
	}
	return &Upstream{
		script: s, limits: limits, model: limits.NewModel(), latency: latency, counts: make([]int, len(s.Faults)),
		chance: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // it shall be the same every time
	}, nil
}

// Limits returns the limits in force.
func (u *Upstream) Limits() tmdbfake.Limits { return u.limits }

// Answer decides on a request that arrives so long after the beginning. Time must not run backwards.
func (u *Upstream) Answer(at time.Duration) Answer {
	a := Answer{Status: http.StatusOK, Latency: u.draw()}
	ok, wait := u.allow(at)
	if !ok {
		a.Status, a.Refused = http.StatusTooManyRequests, true
		a.Header = retryAfter(u.limits.RetryAfter, at, wait)
		return a
	}
	for i := range u.script.Faults {
		f := &u.script.Faults[i]
		if !f.lasts(at) {
			continue
		}
		a.Latency = f.slow(a.Latency)
		if !u.due(i) || a.Fail != None || f.Fail == None || u.chance.Float64() >= f.chance() {
			continue
		}
		a.fail(f, at)
	}
	return a
}

func (a *Answer) fail(f *Fault, at time.Duration) {
	a.Fail = f.Fail
	switch f.Fail {
	case Status:
		a.Status = f.Status
		a.Header = retryAfter(f.RetryAfter, at, f.Wait)
	case Reset, Silent:
		a.Status = 0
	case None, Poisoned:
	}
}

// due counts a request that a fault is about, and reports whether it may strike.
func (u *Upstream) due(i int) bool {
	f := &u.script.Faults[i]
	u.counts[i]++
	return f.Nth.Has(u.counts[i]) && (f.Every <= 1 || u.counts[i]%f.Every == 0)
}

// allow asks the script's own limit, then the model. What the first refuses the second does not see.
func (u *Upstream) allow(at time.Duration) (bool, time.Duration) {
	for i := range u.script.Faults {
		f := &u.script.Faults[i]
		if f.LimitFrom == 0 || !f.lasts(at) {
			continue
		}
		gone := 0
		for gone < len(u.sliding) && at-u.sliding[gone] >= time.Second {
			gone++
		}
		u.sliding = u.sliding[gone:]
		limit := max(1, int(f.limit(at)))
		if over := len(u.sliding) - limit; over >= 0 {
			return false, u.sliding[over] + time.Second - at
		}
	}
	ok, wait := u.model.Allow(epoch.Add(at), client)
	if ok {
		u.remember(at)
	}
	return ok, wait
}

// remember keeps what a limit of the script's may have to count.
func (u *Upstream) remember(at time.Duration) {
	const most = 20_000 // twice the largest limit
	if len(u.sliding) >= most {
		u.sliding = u.sliding[most/2:]
	}
	u.sliding = append(u.sliding, at)
}

func (u *Upstream) draw() time.Duration {
	l := u.latency
	if l.Max <= l.Min {
		return l.Min
	}
	return l.Min + time.Duration(u.chance.Float64()*float64(l.Max-l.Min))
}

// mean returns the latency of a request on which nothing weighs.
func (u *Upstream) mean() time.Duration {
	if u.latency.Max <= u.latency.Min {
		return u.latency.Min
	}
	return (u.latency.Min + u.latency.Max) / 2
}

// retryAfter makes the header of an answer in one of the stand-in's modes; a number is sent as it is.
func retryAfter(mode string, at, wait time.Duration) http.Header {
	value := ""
	switch now := epoch.Add(at); mode {
	case "", "absent":
		return nil
	case "delta":
		value = strconv.Itoa(int((wait + time.Second - 1) / time.Second))
	case "date", "date-rfc850", "date-asctime":
		value = now.Add(wait).Format(http.TimeFormat)
	case "date-past":
		value = now.Add(-time.Hour).Format(http.TimeFormat)
	case "zero":
		value = "0"
	case "negative":
		value = "-3"
	case "float":
		value = "1.5"
	case "day":
		value = "86400"
	case "huge":
		value = "99999999999"
	case "date-zone", "text", "list", "two", "empty":
		value = mode // as good as none
	default:
		value = mode
	}
	return http.Header{"Retry-After": {value}, "Date": {epoch.Add(at).Format(http.TimeFormat)}}
}
