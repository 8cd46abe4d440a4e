package core

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// world drives a snapshot in virtual time by scripts that can be read aloud:
//
//	ok 404 429 500 net config cancelled    one request: wait for a permit, answer
//	429*3                                  three of them, one after the other
//	[429*4]                                four permits first, then the answers
//	429/7s 503/2s                          with a Retry-After
//	net@1                                  a request lost with connection 1
//	old:429                                an answer to a permit of an older epoch
//	again:500*2                            later tries; alone:500 while nothing was answered since the first
//	lost                                   a permit that is never given back
//	+2s                                    time passes
//	cacheonly cacheonly/15m resume reset   an operator's command
type world struct {
	t      *testing.T
	s      Snapshot
	now    Instant
	tuning Tuning
	owner  string
	draw   float64

	old   PermitID
	again bool // the next permit is for a later try
	path  []string
	why   []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, tuning: Default(), owner: "p1", draw: 0.5}
	w.now = Instant{Wall: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Boot: time.Hour, BootID: "boot"}
	w.s = NewSnapshot(w.now)
	w.path = []string{w.s.State().String()}
	w.old = PermitID{1, 1}
	return w
}

func (w *world) sleep(d time.Duration) {
	w.now.Wall = w.now.Wall.Add(d)
	w.now.Boot += d
}

func (w *world) moved(tr Transition, ok bool) {
	if ok {
		w.path = append(w.path, tr.To.String())
		w.why = append(w.why, tr.Reason.String())
	}
}

// acquire waits for a permit in virtual time.
func (w *world) acquire() PermitID {
	w.t.Helper()
	a := PermitRequest{Owner: w.owner, Tuning: &w.tuning, MaxWait: 48 * time.Hour, Retry: w.again}
	for range 200_000 {
		g := w.s.TryGrant(w.now, a)
		w.moved(g.Transition, g.Transitioned)
		if g.Granted {
			return g.Pass
		}
		if g.Refused && !g.Until.IsZero() { // a caller that does not wait comes back when it is over
			a.Ticket = 0
			w.sleep(max(g.Until.Sub(w.now.Wall), time.Millisecond))
			continue
		}
		if g.Refused {
			w.t.Fatalf("refused in %s (%s) after %s", g.State, g.Cause, w.trace())
		}
		a.Ticket = g.Ticket
		w.sleep(g.Wait)
	}
	w.t.Fatalf("no permit after %s", w.trace())
	return PermitID{}
}

func (w *world) record(p PermitID, e Event) RecordResult {
	r := w.s.Record(w.now, Report{Owner: w.owner, Tuning: &w.tuning, Pass: p, Event: e, Draw: w.draw})
	w.moved(r.Transition, r.Transitioned)
	return r
}

func (w *world) trace() string { return strings.Join(w.path, ">") }

func (w *world) run(script string) {
	w.t.Helper()
	for _, word := range strings.Fields(script) {
		switch {
		case strings.HasPrefix(word, "+"):
			d, err := time.ParseDuration(word[1:])
			if err != nil {
				w.t.Fatal(err)
			}
			w.sleep(d)
		case strings.HasPrefix(word, "["):
			w.burst(strings.Trim(word, "[]"))
		case word == "lost":
			w.acquire()
		case strings.HasPrefix(word, "cacheonly"), word == "resume", word == "reset":
			w.command(word)
		case strings.HasPrefix(word, "old:"):
			w.record(w.old, event(w.t, word[4:]))
		default:
			e, n := events(w.t, word)
			for range n {
				w.again = e.Attempt > 1
				w.old = w.acquire()
				w.record(w.old, e)
			}
		}
	}
}

func (w *world) burst(word string) {
	w.t.Helper()
	e, n := events(w.t, word)
	passes := make([]PermitID, n)
	for i := range passes {
		passes[i] = w.acquire()
	}
	for _, p := range passes {
		w.record(p, e)
	}
}

func (w *world) command(word string) {
	name, arg, _ := strings.Cut(word, "/")
	period, _ := time.ParseDuration(arg)
	switch name {
	case "cacheonly":
		tr, ok := w.s.at(w.s.advance(w.now), &w.tuning).
			step(stepInput{trigger: onOperator, command: forceCacheOnly, period: period})
		w.moved(tr, ok)
	case "resume":
		tr, ok := w.s.at(w.s.advance(w.now), &w.tuning).step(stepInput{trigger: onOperator, command: resumeCommand})
		w.moved(tr, ok)
	}
}

// events reads "429*3" and "503/2s".
func events(t *testing.T, word string) (Event, int) {
	t.Helper()
	word, times, found := strings.Cut(word, "*")
	n := 1
	if found {
		var err error
		if n, err = strconv.Atoi(times); err != nil {
			t.Fatal(err)
		}
	}
	return event(t, word), n
}

func event(t *testing.T, word string) Event {
	t.Helper()
	retry, word, again := strings.Cut(word, ":")
	if !again {
		word = retry
	}
	word, after, found := strings.Cut(word, "/")
	word, connection, lost := strings.Cut(word, "@")
	var e Event
	switch word {
	case "ok":
		e = Event{Outcome: OK, Status: 200}
	case "net":
		e = Event{Outcome: Network}
	case "config":
		e = Event{Outcome: Misconfigured}
	case "deferred":
		e.Outcome, e.Status = Deferred, 503
	case "cancelled":
		e = Event{Outcome: Cancelled}
	default:
		status, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("what is %q?", word)
		}
		e = Event{Outcome: outcomeOf(status), Status: status}
	}
	if again {
		e.Attempt = 2
	}
	if retry == "alone" {
		e.First = 1 << 62
	}
	if lost {
		e.Connection = uint64(connection[0])
	}
	if found {
		d, err := time.ParseDuration(after)
		if err != nil {
			t.Fatal(err)
		}
		e.RetryAfter = Wait{d, true}
	}
	return e
}

func TestScripts(t *testing.T) {
	tests := []struct {
		script string
		path   string
		why    string
		tune   func(*Tuning)
	}{
		// The seed's own rows.
		{script: "ok*32 500*7 ok*7 500*4", path: "Normal>Throttle", why: "error_ratio"},
		{script: "ok*32 500*7 ok*7 500*3", path: "Normal"},
		{script: "ok*32 500*7 ok*7 500*3 ok", path: "Normal>Throttle", why: "error_ratio"}, // 10/50 is still 20 %
		{script: "ok*32 500*7 ok*7 500*3 404 500", path: "Normal>Throttle", why: "error_ratio"},
		{script: "429*3", path: "Normal>Throttle", why: "consecutive_429"},
		{script: "429*2", path: "Normal"},
		{script: "429*2 ok 429*2", path: "Normal"},
		{script: "429*2 500 429*2", path: "Normal"},
		{script: "429*2 net 429", path: "Normal>Throttle", why: "consecutive_429"},
		{script: "429*2 404 config cancelled 429", path: "Normal>Throttle", why: "consecutive_429"},
		{script: "429*3 ok*11", path: "Normal>Throttle>HalfOpen", why: "consecutive_429 success_window_ok"},
		{script: "429*3 ok*10", path: "Normal>Throttle"},
		// With an error among them, ten answers may look well by chance.
		{script: "429*3 500 ok*19", path: "Normal>Throttle"},
		{script: "429*3 500 ok*20", path: "Normal>Throttle>HalfOpen"},
		{
			script: "429*3 +2s ok*11 ok*5", path: "Normal>Throttle>HalfOpen>Normal",
			why: "consecutive_429 success_window_ok probe_ok",
		},
		{script: "429*5", path: "Normal>Throttle>Sleep", why: "consecutive_429 consecutive_429"},
		{
			script: "429*5 ok*5", path: "Normal>Throttle>Sleep>HalfOpen>Normal",
			why: "consecutive_429 consecutive_429 sleep_elapsed probe_ok",
		},

		// A gateway in between that asks to come back later is no evidence, except for a probe, where it shows that the
		// upstream lives.
		{script: "deferred*20", path: "Normal"},
		{script: "deferred/2s*20", path: "Normal"},
		{script: "deferred/301s ok", path: "Normal"},
		{script: "500*7 deferred 500", path: "Normal>Sleep", why: "consecutive_failures"},
		{
			script: "500*8 deferred/2s*5", path: "Normal>Sleep>HalfOpen>Normal",
			why: "consecutive_failures sleep_elapsed probe_ok",
		},

		// Four workers that run into one wall are one overrun.
		{script: "[429*4]", path: "Normal"},
		{script: "[429*4] [429*4]", path: "Normal"},
		{script: "[429*4] [429*4] 429", path: "Normal>Throttle", why: "consecutive_429"},

		// An outage.
		{script: "500*7", path: "Normal"},
		{script: "500*8", path: "Normal>Sleep", why: "consecutive_failures"},
		{script: "net*8", path: "Normal>Sleep", why: "consecutive_failures"},
		{script: "500*4 404 net*4", path: "Normal>Sleep", why: "consecutive_failures"},
		{script: "500*4 ok net*7", path: "Normal"},
		{script: "500*4 429 net*7", path: "Normal"},
		// In Throttle a streak of n_failures lets only probes through; three times as many are an outage.
		{script: "429*3 500*23", path: "Normal>Throttle", why: "consecutive_429"},
		{script: "429*3 500*24", path: "Normal>Throttle>Sleep", why: "consecutive_429 consecutive_failures"},
		{script: "429*3 500*20 ok 500*20", path: "Normal>Throttle"},
		{
			script: "429*3 500*39", path: "Normal>Throttle", // n_failures and the 32 slots of Throttle
			tune: func(t *Tuning) { t.ConcurrencyTotal = 64 },
		},
		// A relapse: who answers on and off is not down.
		{
			script: "500*8 ok*5 500*8", path: "Normal>Sleep>HalfOpen>Normal>Throttle",
			why: "consecutive_failures sleep_elapsed probe_ok consecutive_failures",
		},
		{script: "500*8 ok*5 ok*60 500*8", path: "Normal>Sleep>HalfOpen>Normal>Sleep"},
		// A round of probes that began in Throttle leads back there, one that began in Sleep to Sleep.
		{
			script: "429*3 ok*11 429", path: "Normal>Throttle>HalfOpen>Throttle",
			why: "consecutive_429 success_window_ok probe_failed",
		},
		{script: "429*3 ok*11 ok*4 500", path: "Normal>Throttle>HalfOpen>Throttle"},
		{script: "500*8 ok*4 500", path: "Normal>Sleep>HalfOpen>Sleep"},

		// Only a request's first try is evidence, as long as others are answered.
		{script: "ok again:500*500", path: "Normal"},
		{script: "ok alone:500*7", path: "Normal"},
		{script: "ok alone:500*8", path: "Normal>Sleep", why: "consecutive_failures"},
		{script: "alone:500*7 again:ok alone:500*7", path: "Normal"},
		{script: "ok*32 500*7 ok*7 again:500*40", path: "Normal"},
		{script: "ok*32 500*7 ok*7 500*3 again:ok*200 500", path: "Normal>Throttle", why: "error_ratio"},
		{script: "ok*32 500*7 ok*7 500*3 alone:500", path: "Normal"}, // it is in the streak only, and confirms no ratio
		{script: "again:429*3", path: "Normal>Throttle", why: "consecutive_429"},
		{script: "500*8 again:500", path: "Normal>Sleep>HalfOpen>Sleep"},
		{script: "500*8 again:ok*5", path: "Normal>Sleep>HalfOpen>Normal"},
		{script: "429*3 again:ok*20", path: "Normal>Throttle"},
		{script: "429*3 +6s again:ok*20", path: "Normal>Throttle>HalfOpen>Normal"}, // nobody else asks
		{
			script: "500*11", path: "Normal>Sleep>HalfOpen>Sleep>HalfOpen>Sleep>HalfOpen>Sleep",
			why: "consecutive_failures sleep_elapsed probe_failed sleep_elapsed probe_failed sleep_elapsed probe_failed",
		},
		{script: "500*8 ok*5", path: "Normal>Sleep>HalfOpen>Normal", why: "consecutive_failures sleep_elapsed probe_ok"},
		{
			script: "500*8 ok*2 500", path: "Normal>Sleep>HalfOpen>Sleep",
			why: "consecutive_failures sleep_elapsed probe_failed",
		},
		{
			script: "500*8 ok*4 config cancelled 401 ok", path: "Normal>Sleep>HalfOpen>Normal",
			why: "consecutive_failures sleep_elapsed probe_ok",
		},
		{script: "500*8 lost ok*5", path: "Normal>Sleep>HalfOpen>Normal", why: "consecutive_failures sleep_elapsed probe_ok"},

		// A refusal of the request proves that the upstream lives; one of the key does not.
		{script: "500*8 404*5", path: "Normal>Sleep>HalfOpen>Normal", why: "consecutive_failures sleep_elapsed probe_ok"},
		{script: "500*8 ok 404*2 422*2", path: "Normal>Sleep>HalfOpen>Normal"},
		{script: "500*8 401*20 403*20", path: "Normal>Sleep>HalfOpen"},

		// Requests that are lost together with one connection are one failure.
		{script: "[net@1*4] net*6", path: "Normal"},
		{script: "[net@1*4] net*7", path: "Normal>Sleep", why: "consecutive_failures"},
		{script: "net*4 [net*4]", path: "Normal>Sleep", why: "consecutive_failures"},
		{script: "net@1*8", path: "Normal>Sleep", why: "consecutive_failures"}, // one after the other
		{script: "ok*16 [net@1*4] [net@2*4] [net@3*4]", path: "Normal"},        // 3 of 19

		// What is no evidence.
		{script: "404*500", path: "Normal"},
		{script: "401*100 403*100 422*100 config*50 cancelled*50", path: "Normal"},
		{
			script: "429*3 old:500 old:500 old:500 old:500 old:500 old:500 old:500 old:500", path: "Normal>Throttle",
			why: "consecutive_429",
		},
		{
			script: "500*8 +10s ok old:429 ok*4", path: "Normal>Sleep>HalfOpen>Normal",
			why: "consecutive_failures sleep_elapsed probe_ok",
		},
		{script: "429*3 old:429/1h", path: "Normal>Throttle", why: "consecutive_429"},

		// DNS and connect timeouts that become more frequent.
		{
			script: "ok*20 net ok*3 net ok*3 net ok*2 net ok*2 net ok net ok net ok net net ok net net",
			path:   "Normal>Throttle", why: "error_ratio",
		},

		// CacheOnly.
		{script: "429/6m", path: "Normal>CacheOnly", why: "retry_after_long"},
		{script: "503/6m", path: "Normal"}, // it speaks for itself
		{script: "503*7 503/6m", path: "Normal>CacheOnly", why: "retry_after_long"},
		{script: "500/6m", path: "Normal"},
		{script: "429/5m", path: "Normal"},
		{
			script: "cacheonly resume ok*5", path: "Normal>CacheOnly>Sleep>HalfOpen>Normal",
			why: "operator resume sleep_elapsed probe_ok",
		},
		{script: "resume", path: "Normal"},
		{
			script: "429/6m +7m ok*5", path: "Normal>CacheOnly>Sleep>HalfOpen>Normal",
			why: "retry_after_long retry_after_elapsed sleep_elapsed probe_ok",
		},
		{
			script: "cacheonly/15m +16m ok*5", path: "Normal>CacheOnly>Sleep>HalfOpen>Normal",
			why: "operator auto_recover sleep_elapsed probe_ok",
		},
		{script: "cacheonly cacheonly", path: "Normal>CacheOnly", why: "operator"},
		{script: "429/6m cacheonly", path: "Normal>CacheOnly>CacheOnly", why: "retry_after_long operator"},
		{script: "500*8 cacheonly", path: "Normal>Sleep>CacheOnly", why: "consecutive_failures operator"},

		// Knobs.
		{
			script: "ok*32 500*7 ok*7 500*3", path: "Normal>Throttle", why: "error_ratio",
			tune: func(t *Tuning) { t.Hysteresis = 1 },
		},
		{script: "ok*32 500*7 ok*7 500*4", path: "Normal", tune: func(t *Tuning) { t.Hysteresis = 3 }},
		{
			script: "ok*32 500*7 ok*7 500*5", path: "Normal>Throttle", why: "error_ratio",
			tune: func(t *Tuning) { t.Hysteresis = 3 },
		},
		{script: "500*2", path: "Normal>Sleep", why: "consecutive_failures", tune: func(t *Tuning) { t.NFailures = 2 }},
		{
			script: "500*8 500*2", path: "Normal>Sleep>HalfOpen>Sleep>HalfOpen>CacheOnly",
			why: "consecutive_failures sleep_elapsed probe_failed sleep_elapsed policy", tune: func(t *Tuning) {
				t.SleepMax,
					t.CacheOnlyAfter = t.SleepMin, 2
			},
		},
	}
	tested, rows := map[string]bool{}, 0
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			w := newWorld(t)
			if tt.tune != nil {
				tt.tune(&w.tuning)
			}
			w.run(tt.script)
			if got := w.trace(); got != tt.path {
				t.Errorf("path %s, want %s", got, tt.path)
			}
			if got := strings.Join(w.why, " "); tt.why != "" && got != tt.why {
				t.Errorf("reasons %s, want %s", got, tt.why)
			}
			rows++
			for i, why := range w.why {
				if tt.why != "" {
					tested[w.path[i]+">"+w.path[i+1]+" "+why] = true
				}
			}
		})
	}
	if rows < len(tests) {
		return // -run chose some of them
	}
	for i := range rules {
		r := &rules[i]
		isTested := func(from string) bool { return tested[from+">"+r.To.String()+" "+r.Reason.String()] }
		// TestSustainedErrorsLeadToSleep needs more than a script.
		if r.Reason != ReasonSustainedErrors && !slices.ContainsFunc(stateNames[:], isTested) {
			t.Errorf("add a row with path and why: none reaches %s for the reason %s (%s)", r.To, r.Reason, r.Condition)
		}
	}
}

// outcomeOf is what a status counts as.
func outcomeOf(status int) Outcome {
	switch {
	case status < 300, status == 304:
		return OK
	case status == 429:
		return Throttled
	case status >= 500, status == 408:
		return Server
	}
	return Client
}
