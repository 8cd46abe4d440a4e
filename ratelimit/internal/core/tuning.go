package core

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
)

// Tuning holds every setting of the limiter. A zero field means its default (see Default). In settings where 0 itself
// is useful, such as MaxRetries, a negative value means 0. A Tuning is a plain value that may be copied and compared.
type Tuning struct {
	RateBase      float64       // requests a second in Normal
	BucketCap     float64       // burst in tokens; 0: the same as RateBase
	Ceiling       int           // most permits in any CeilingWindow, all processes together
	CeilingWindow time.Duration // length of the sliding window that Ceiling applies to

	Concurrency      int // requests under way, of this process
	ConcurrencyTotal int // requests under way, of all processes

	PThrottle  float64 // error ratio that leads to Throttle
	PRecover   float64 // error ratio below which Throttle may end
	NThrottle  int     // 429s in a row that lead to Throttle
	NCacheOnly int     // 429s in a row that lead from Throttle to Sleep
	NFailures  int     // 5xx and network errors in a row that lead from Normal to Sleep
	SRecover   int     // successes before Throttle may end

	SleepMin       time.Duration // length of the first Sleep (cooldown)
	SleepMax       time.Duration // longest cooldown; a longer Retry-After leads to CacheOnly
	SleepMaxOutage time.Duration // longest cooldown in an outage without 429s
	ProbeSuccess   int           // successful probes that end HalfOpen
	CooldownFactor float64       // factor by which a failed probe makes the next cooldown longer

	Hysteresis    int           // how many times in a row a condition on a ratio must hold
	MinSamples    int           // least number of answers for an error ratio
	Window        time.Duration // greatest age of answers that count for ratios
	WindowRecords int           // number of newest answers that count for ratios

	RampAfter    int           // good answers at a learned rate before a higher rate is tried
	ThrottleEase time.Duration // time in which Throttle's rate doubles

	CacheOnlyAfter int // CacheOnly begins when failed Sleeps of the longest length add up to this many SleepMax
	MaxRetries     int // retries of one request; negative: none

	MaxWait          time.Duration // longest total wait of one request, retries included; negative: no wait
	RequestTimeout   time.Duration // longest time that one try may take once it is sent
	AutoRecover      time.Duration // time after which CacheOnly ends by itself; 0: never
	Budget           Budget        // most answered requests in a long period; zero: no limit
	QuotaOrphanAfter time.Duration // time without a request after which a process's reservation is freed
	Processes        int           // number of processes to assume if they cannot see each other
	LimitedBy        LimitedBy     // what a 429 throttles: the address, or the account of the request's key
}

// Default returns the documented defaults (docs/limiter.md, "Settings").
func Default() Tuning { return defaults }

// WithDefaults returns the tuning with the default in place of every zero field.
func (t Tuning) WithDefaults() Tuning {
	own, usual := reflect.ValueOf(&t).Elem(), reflect.ValueOf(defaults)
	for i := range own.NumField() {
		if own.Field(i).IsZero() {
			own.Field(i).Set(usual.Field(i))
		}
	}
	return t
}

func (t *Tuning) normalPace() pace { return pace{t.RateBase, t.bucketCap()} }

func (t *Tuning) bucketCap() float64 {
	if t.BucketCap == 0 {
		return t.RateBase
	}
	return t.BucketCap
}

// TuningError names a setting with an invalid value, or two settings that contradict each other, and says what to do.
type TuningError struct {
	Keys   []string // config keys; the first is the one to change
	Values []string // the values of the keys, in the same order
	Reason string   // what is wrong
	Remedy string   // what to do
}

func newTuningError(key, value, reason, remedy string) *TuningError {
	return &TuningError{Keys: []string{key}, Values: []string{value}, Reason: reason, Remedy: remedy}
}

// Error implements error: "rate_base=50 with ceiling=40: a rate above the ceiling ...; lower ...".
func (e *TuningError) Error() string {
	var b strings.Builder
	for i, k := range e.Keys {
		if i > 0 {
			b.WriteString(" with ")
		}
		fmt.Fprintf(&b, "%s=%s", k, e.Values[i])
	}
	fmt.Fprintf(&b, ": %s; %s", e.Reason, e.Remedy)
	return b.String()
}

type constraint struct {
	key, other string
	ok         func(t *Tuning) bool
	reason     string
	remedy     string
	clamp      func(t *Tuning) // makes the condition hold, by the change that means less load on the upstream
}

var constraints = []constraint{
	{
		"p_recover", "p_throttle", func(t *Tuning) bool { return t.PRecover < t.PThrottle },
		"recovery would be declared while throttling is due", "set p_recover below p_throttle",
		func(t *Tuning) { t.PRecover = t.PThrottle / 2 },
	},
	{
		"sleep_min", "sleep_max", func(t *Tuning) bool { return t.SleepMin <= t.SleepMax },
		"the shortest sleep is longer than the longest", "set sleep_min to sleep_max at most",
		func(t *Tuning) { t.SleepMin = t.SleepMax },
	},
	{
		"rate_base", "ceiling", func(t *Tuning) bool { return t.RateBase <= float64(t.Ceiling) },
		"a rate above the ceiling can never be reached", "lower rate_base or raise ceiling",
		func(t *Tuning) { t.RateBase = float64(t.Ceiling) },
	},
	{
		"concurrency", "concurrency_total", func(t *Tuning) bool { return t.Concurrency <= t.ConcurrencyTotal },
		"one process may not have more slots than all together", "lower concurrency or raise concurrency_total",
		func(t *Tuning) { t.Concurrency = t.ConcurrencyTotal },
	},
	{
		"n_throttle", "n_cacheonly", func(t *Tuning) bool { return t.NThrottle < t.NCacheOnly },
		"Throttle would turn into Sleep at once", "set n_throttle below n_cacheonly",
		func(t *Tuning) { t.NCacheOnly = t.NThrottle + 1 },
	},
	{
		"min_samples", "window_records", func(t *Tuning) bool { return t.MinSamples <= t.WindowRecords },
		"the window could never hold enough answers to judge", "lower min_samples or raise window_records",
		func(t *Tuning) { t.MinSamples = t.WindowRecords },
	},
	{
		"s_recover", "window_records", func(t *Tuning) bool { return t.SRecover <= t.WindowRecords },
		"the window could never hold enough successes to recover", "lower s_recover or raise window_records",
		func(t *Tuning) { t.SRecover = t.WindowRecords },
	},
}

// Validate returns a *TuningError for the first value that is out of range or contradicts another, or nil.
func (t Tuning) Validate() error {
	t = t.WithDefaults()
	for i := range fields {
		if err := fields[i].check(&t); err != nil {
			return err
		}
	}
	for _, c := range constraints {
		if !c.ok(&t) {
			return c.error(&t)
		}
	}
	return nil
}

func (c *constraint) error(t *Tuning) *TuningError {
	e := &TuningError{Keys: []string{c.key, c.other}, Reason: c.reason, Remedy: c.remedy}
	for _, key := range e.Keys {
		f, _ := FieldByKey(key)
		e.Values = append(e.Values, f.text(t))
	}
	return e
}

// clamp resolves all contradictions between settings, and returns them.
func (t *Tuning) clamp() []*TuningError {
	var changed []*TuningError
	for _, c := range constraints {
		if !c.ok(t) {
			changed = append(changed, c.error(t))
			c.clamp(t)
		}
	}
	return changed
}

// dividedBy returns the tuning with an n-th of the rate, burst, ceiling and slots.
func (t Tuning) dividedBy(n int) Tuning {
	if n <= 1 {
		return t
	}
	part := func(v int) int { return max(1, v/n) }
	t.BucketCap = max(1, t.bucketCap()/float64(n))
	t.RateBase /= float64(n)
	t.Ceiling, t.Concurrency, t.ConcurrencyTotal = part(t.Ceiling), part(t.Concurrency), part(t.ConcurrencyTotal)
	t.RateBase = min(t.RateBase, float64(t.Ceiling))
	if rate := math.Floor(t.RateBase); rate >= 1 {
		t.RateBase = rate
	}
	return t
}
