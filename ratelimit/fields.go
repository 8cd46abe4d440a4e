package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// This file is the one table of all knobs: names, texts, ranges, how they are
// written and read. Configuration, help, documents and operators all use it.

// Field is one knob of a [Tuning].
type Field struct {
	Key      string // name in the config file and for operators: "rate_base"
	Env      string // environment variable: "ANIVAULT_RATE_BASE"
	Default  string // the default as it would be written
	Doc      string // one line for help and documents
	Everyday bool   // worth showing to everybody
	AtStart  bool   // read when a process starts; operators cannot change it later
	Range    string // what is allowed, for people

	get    func(t *Tuning) string
	set    func(t *Tuning, text string) error
	number func(t *Tuning) float64 // the value in the unit of low and high
	low    float64
	high   float64
}

// Fields returns all knobs in the order of the documentation.
func Fields() []Field { return append([]Field(nil), fields...) }

// FieldByKey returns the knob with that key.
func FieldByKey(key string) (Field, bool) {
	for _, f := range fields {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}

// Get returns the knob's value as text that Set accepts.
func (f Field) Get(t Tuning) string { return f.get(&t) }

// Set reads text into the knob: numbers as "35" or "35.0", times as Go durations or
// bare seconds (auto_recover: bare minutes), budgets as "5000/24h", "off" where a knob can be off.
// It returns a *TuningError for what is no such value or out of the knob's range;
// how it goes with other knobs is Validate's matter. On error t is unchanged.
func (f Field) Set(t *Tuning, text string) error {
	next := *t
	if err := f.set(&next, strings.TrimSpace(text)); err != nil {
		return &TuningError{
			Keys: []string{f.Key}, Values: []string{strconv.Quote(clip(text))},
			Reason: err.Error(), Remedy: "allowed is " + f.Range,
		}
	}
	if !f.inRange(&next) {
		return f.outOfRange(clip(strings.TrimSpace(text))) // as it was given
	}
	*t = next
	return nil
}

func (f Field) check(t *Tuning) error {
	if f.inRange(t) {
		return nil
	}
	return f.outOfRange(f.get(t))
}

func (f Field) inRange(t *Tuning) bool {
	v := f.number(t)
	return v >= f.low && v <= f.high // false for NaN
}

func (f Field) outOfRange(value string) error {
	return &TuningError{
		Keys: []string{f.Key}, Values: []string{value},
		Reason: "out of range", Remedy: "allowed is " + f.Range,
	}
}

func value(t *Tuning, key string) string {
	f, _ := FieldByKey(key)
	return f.get(t)
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

var fields = func() []Field {
	list := []Field{
		float("rate_base", 0.1, 1000, "requests a second in Normal", func(t *Tuning) *float64 { return &t.RateBase }).everyday(),
		bucketCap(),
		integer("ceiling", 1, maxGrants, "most requests in any ceiling_window, all processes together", func(t *Tuning) *int { return &t.Ceiling }),
		duration("ceiling_window", time.Millisecond, time.Minute, "length of the window that ceiling is about", func(t *Tuning) *time.Duration { return &t.CeilingWindow }),
		integer("concurrency", 1, 256, "requests under way at once, this process", func(t *Tuning) *int { return &t.Concurrency }).everyday(),
		integer("concurrency_total", 1, 256, "requests under way at once, all processes together", func(t *Tuning) *int { return &t.ConcurrencyTotal }),
		float("p_throttle", 0.01, 1, "error ratio from which on Normal becomes Throttle", func(t *Tuning) *float64 { return &t.PThrottle }),
		float("p_recover", 0.001, 1, "error ratio below which Throttle may end", func(t *Tuning) *float64 { return &t.PRecover }),
		integer("n_throttle", 1, 1000, "429s in a row that lead from Normal to Throttle", func(t *Tuning) *int { return &t.NThrottle }),
		integer("n_cacheonly", 1, 1000, "429s in a row that lead from Throttle to Sleep", func(t *Tuning) *int { return &t.NCacheOnly }),
		integer("n_failures", 1, 1000, "5xx and network errors in a row that lead to Sleep", func(t *Tuning) *int { return &t.NFailures }),
		integer("s_recover", 1, 2000, "successes in Throttle before it may end", func(t *Tuning) *int { return &t.SRecover }),
		duration("sleep_min", time.Millisecond, maxRetryAfter, "first Sleep", func(t *Tuning) *time.Duration { return &t.SleepMin }),
		duration("sleep_max", time.Millisecond, maxRetryAfter, "longest Sleep; a longer Retry-After leads to CacheOnly", func(t *Tuning) *time.Duration { return &t.SleepMax }),
		integer("probe_success", 1, 100, "good probes that lead from HalfOpen to Normal", func(t *Tuning) *int { return &t.ProbeSuccess }),
		float("cooldown_factor", 1, 100, "by which a failed probe makes the next Sleep longer", func(t *Tuning) *float64 { return &t.CooldownFactor }),
		duration("cooldown_reset", 0, maxRetryAfter, "time in Normal after which Sleep begins with sleep_min again", func(t *Tuning) *time.Duration { return &t.CooldownReset }),
		integer("hysteresis", 1, 100, "times in a row a ratio must be seen before it changes the state", func(t *Tuning) *int { return &t.Hysteresis }),
		integer("min_samples", 1, 2000, "answers before an error ratio is judged", func(t *Tuning) *int { return &t.MinSamples }),
		duration("window", time.Second, time.Hour, "age up to which answers count for ratios", func(t *Tuning) *time.Duration { return &t.Window }),
		integer("window_records", 1, 2000, "number of newest answers that count for ratios", func(t *Tuning) *int { return &t.WindowRecords }),
		float("ramp_start", 0.01, 1, "share of the old rate to begin with after trouble with 429s", func(t *Tuning) *float64 { return &t.RampStart }),
		duration("ramp_interval", time.Millisecond, maxRetryAfter, "time after which the rate is raised again", func(t *Tuning) *time.Duration { return &t.RampInterval }),
		float("ramp_factor", 1.001, 10, "by how much the rate is raised each time", func(t *Tuning) *float64 { return &t.RampFactor }),
		integer("cacheonly_after", 1, 1000, "failed probes at sleep_max that lead to CacheOnly", func(t *Tuning) *int { return &t.CacheOnlyAfter }),
		integer("max_retries", 0, 100, "retries of one request", func(t *Tuning) *int { return &t.MaxRetries }),
		float("retry_budget", 0, 10, "most retries as a share of first tries in 30 s (10 are always allowed)", func(t *Tuning) *float64 { return &t.RetryBudget }),
		duration("max_wait", 0, maxRetryAfter, "longest time one request waits for permission, retries included", func(t *Tuning) *time.Duration { return &t.MaxWait }).everyday(),
		duration("request_timeout", time.Millisecond, time.Hour, "longest time one try may take once it is sent", func(t *Tuning) *time.Duration { return &t.RequestTimeout }).everyday(),
		autoRecover().everyday(),
		budget().everyday(),
		integer("processes", 1, 1000, "processes to divide the rate by where they cannot see each other", func(t *Tuning) *int { return &t.Processes }).atStart(),
	}
	for i := range list {
		list[i].Env = "ANIVAULT_" + strings.ToUpper(list[i].Key)
		list[i].Default = list[i].get(&defaults)
	}
	return list
}()

func (f Field) everyday() Field { f.Everyday = true; return f }
func (f Field) atStart() Field  { f.AtStart = true; return f }

func float(key string, low, high float64, doc string, at func(*Tuning) *float64) Field {
	return Field{
		Key: key, Doc: doc, Range: "a number from " + formatFloat(low) + " to " + formatFloat(high), low: low, high: high,
		get:    func(t *Tuning) string { return formatFloat(*at(t)) },
		number: func(t *Tuning) float64 { return *at(t) },
		set: func(t *Tuning, text string) (err error) {
			*at(t), err = parseFloat(text)
			return err
		},
	}
}

func integer(key string, low, high int, doc string, at func(*Tuning) *int) Field {
	return Field{
		Key: key, Doc: doc, Range: fmt.Sprintf("a whole number from %d to %d", low, high), low: float64(low), high: float64(high),
		get:    func(t *Tuning) string { return strconv.Itoa(*at(t)) },
		number: func(t *Tuning) float64 { return float64(*at(t)) },
		set: func(t *Tuning, text string) error {
			v, err := parseFloat(text)
			if err == nil && (v != math.Trunc(v) || math.Abs(v) > 1e15) {
				err = errors.New("not a whole number")
			}
			if err == nil {
				*at(t) = int(v)
			}
			return err
		},
	}
}

func duration(key string, low, high time.Duration, doc string, at func(*Tuning) *time.Duration) Field {
	return Field{
		Key: key, Doc: doc, low: low.Seconds(), high: high.Seconds(),
		Range:  "a time from " + formatDuration(low) + " to " + formatDuration(high) + ", as in 90s, 2m or bare seconds",
		get:    func(t *Tuning) string { return formatDuration(*at(t)) },
		number: func(t *Tuning) float64 { return at(t).Seconds() },
		set: func(t *Tuning, text string) (err error) {
			*at(t), err = parseDuration(text, time.Second)
			return err
		},
	}
}

// bucketCap is rate_base unless it is set; so the default moves with the rate.
func bucketCap() Field {
	f := float("bucket_cap", 1, 1000, "requests that may leave at once after a rest (default: rate_base)", func(t *Tuning) *float64 { return &t.BucketCap })
	f.get = func(t *Tuning) string { return formatFloat(t.bucketCap()) }
	f.number = func(t *Tuning) float64 {
		if t.BucketCap == 0 {
			return 1
		}
		return t.BucketCap
	}
	set := f.set
	f.set = func(t *Tuning, text string) error {
		if err := set(t, text); err != nil {
			return err
		}
		if t.BucketCap == 0 {
			t.BucketCap = -1 // zero is not "default" when somebody writes it
		}
		return nil
	}
	return f
}

func autoRecover() Field {
	f := duration("auto_recover", 0, 30*24*time.Hour, "period after which CacheOnly is left by itself, or off", func(t *Tuning) *time.Duration { return &t.AutoRecover })
	f.Range = "off, or a time up to 720h, as in 15m or bare minutes"
	f.get = func(t *Tuning) string {
		if t.AutoRecover == 0 {
			return "off"
		}
		return formatDuration(t.AutoRecover)
	}
	f.set = func(t *Tuning, text string) (err error) {
		if text == "off" {
			t.AutoRecover = 0
			return nil
		}
		t.AutoRecover, err = parseDuration(text, time.Minute)
		return err
	}
	return f
}

func budget() Field {
	const most = 1e9
	return Field{
		Key: "budget", Doc: "most answered requests in a period, as in 5000/24h, or off",
		Range: "off, or a number of requests and a period, as in 5000/24h", low: 0, high: most,
		get: func(t *Tuning) string { return t.Budget.String() },
		number: func(t *Tuning) float64 {
			if b := t.Budget; (b.Requests == 0) != (b.Period == 0) || b.Period < 0 || b.Period > 366*24*time.Hour {
				return math.NaN()
			}
			return float64(t.Budget.Requests)
		},
		set: func(t *Tuning, text string) error {
			if text == "off" {
				t.Budget = Budget{}
				return nil
			}
			number, period, ok := strings.Cut(text, "/")
			if !ok {
				return errors.New("no period after a slash")
			}
			n, err := parseFloat(strings.TrimSpace(number))
			if err != nil {
				return err
			}
			d, err := parseDuration(strings.TrimSpace(period), time.Second)
			if err != nil {
				return err
			}
			if n < 1 || n > most || n != math.Trunc(n) || d <= 0 {
				return errors.New("not a positive number of requests and a period")
			}
			t.Budget = Budget{int(n), d}
			return nil
		},
	}
}
