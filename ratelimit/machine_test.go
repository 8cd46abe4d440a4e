package ratelimit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A burst of four errors is one piece of evidence: only an answer to a permit
// granted after the first sight confirms.
func TestHysteresisWantsANewerPermit(t *testing.T) {
	w := newWorld(t)
	w.run("ok*16")
	var old []Pass
	for range 8 {
		w.tuning.Concurrency, w.tuning.ConcurrencyTotal = 16, 16
		old = append(old, w.acquire())
	}
	fail, fine := Event{Outcome: Server, Status: 500}, Event{Outcome: OK, Status: 200}
	for _, p := range old[:4] {
		w.record(p, fail) // 4 of 20 arms
	}
	for _, p := range old[4:6] {
		w.record(p, fail)
	}
	if w.trace() != "Normal" {
		t.Fatalf("permits from before the first sight have confirmed: %s", w.trace())
	}
	for _, p := range old[6:] {
		w.record(p, fine)
	}
	w.run("404 ok")
	if w.trace() != "Normal>Throttle" {
		t.Errorf("the first newer permit has not confirmed: %s", w.trace())
	}
}

func TestOlderPermitsDisarm(t *testing.T) {
	w := newWorld(t)
	w.tuning.Concurrency, w.tuning.PThrottle = 16, 0.25
	w.run("ok*15")
	fail, fine := Event{Outcome: Server, Status: 500}, Event{Outcome: OK, Status: 200}
	var old []Pass
	for range 6 {
		old = append(old, w.acquire())
	}
	for _, p := range old[:5] {
		w.record(p, fail) // 5 of 20 arms
	}
	w.record(old[5], fine) // 5 of 21 disarms
	w.run("500")           // 6 of 22 arms again
	if w.trace() != "Normal" {
		t.Fatalf("a disarmed row has confirmed: %s", w.trace())
	}
	w.run("500")
	if w.trace() != "Normal>Throttle" {
		t.Errorf("path %s", w.trace())
	}
}

func TestSustainedErrorsLeadToSleep(t *testing.T) {
	w := newWorld(t)
	// Two of three fail and no streak grows long enough.
	for range 20 {
		w.run("ok net net")
	}
	if w.trace() != "Normal>Throttle" {
		t.Fatalf("path %s", w.trace())
	}
	start := w.now.Wall
	for w.trace() == "Normal>Throttle" && w.now.Wall.Sub(start) < 10*time.Minute {
		w.run("ok net net +1s")
	}
	if got := w.now.Wall.Sub(start); got < sustainedFor || got > sustainedFor+time.Minute {
		t.Errorf("Sleep after %s", got)
	}
	if len(w.why) < 2 || w.why[1] != "sustained_errors" {
		t.Errorf("reasons %v", w.why)
	}
}

func TestCooldownGrowsAndGoesBack(t *testing.T) {
	w := newWorld(t)
	w.draw = 0
	slept := func() time.Duration { return w.s.machine.sleepUntil.sub(w.s.clock.now) }
	w.run("500*8")
	want := 2 * time.Second
	for range 9 {
		if got := slept(); got != want {
			t.Fatalf("sleep %s, want %s (%s)", got, want, w.trace())
		}
		w.run("500")
		want = min(2*want, 300*time.Second)
	}
	w.run("ok*5 500*8")
	if got := slept(); got != 300*time.Second {
		t.Errorf("sleep soon after: %s", got)
	}
	w.run("ok*5 +61s 500*8")
	if got := slept(); got != 2*time.Second {
		t.Errorf("sleep after a minute in Normal: %s", got)
	}
}

func TestPolicyAfterSixRoundsAtTheLongestCooldown(t *testing.T) {
	w := newWorld(t)
	w.draw = 0.99
	w.run("500*8 500*8") // 2 4 8 ... 256 300
	if w.s.machine.cooldown != 300*time.Second || w.s.machine.rounds != 0 {
		t.Fatalf("cooldown %s, rounds %d", w.s.machine.cooldown, w.s.machine.rounds)
	}
	w.run("500*5")
	if w.s.State() != Sleep {
		t.Fatalf("state %s after five rounds", w.s.State())
	}
	w.run("500")
	if w.s.State() != CacheOnly || w.why[len(w.why)-1] != "policy" {
		t.Fatalf("state %s %v", w.s.State(), w.why[len(w.why)-1])
	}
	// It has no end: who asks is refused.
	g := w.s.TryGrant(w.now, Ask{Owner: w.owner, Tuning: &w.tuning, Patience: 48 * time.Hour})
	if !g.Refused || !g.Until.IsZero() || g.Cause != ReasonPolicy {
		t.Errorf("%+v", g)
	}
	// A run that recovers automatically says so for all, and probes once a period.
	w.tuning.AutoRecover = 15 * time.Minute
	start := w.now.Wall
	w.path = nil
	w.run("500 500")
	if got := w.trace(); got != "Sleep>HalfOpen>CacheOnly>Sleep>HalfOpen>CacheOnly" {
		t.Errorf("path %s", got)
	}
	if got := w.now.Wall.Sub(start); got < 30*time.Minute || got > 31*time.Minute {
		t.Errorf("two rounds took %s", got)
	}
	// And it gets out.
	w.path = nil
	w.run("ok*5")
	if got := w.trace(); got != "Sleep>HalfOpen>Normal" {
		t.Errorf("path %s", got)
	}
}

func TestAutoRecoverDoesNotOverruleAnOperator(t *testing.T) {
	w := newWorld(t)
	w.run("cacheonly")
	w.tuning.AutoRecover = time.Minute
	w.sleep(time.Hour)
	g := w.s.TryGrant(w.now, Ask{Owner: w.owner, Tuning: &w.tuning, Patience: 48 * time.Hour})
	if !g.Refused || g.State != CacheOnly || g.Cause != ReasonOperator {
		t.Errorf("%+v", g)
	}
	w.run("resume cacheonly/15m")
	start := w.now.Wall
	w.run("ok*5")
	if got := w.now.Wall.Sub(start); got < 15*time.Minute {
		t.Errorf("left after %s", got)
	}
}

func TestLongRetryAfterEndsByItself(t *testing.T) {
	w := newWorld(t)
	w.run("429/20m")
	g := w.s.TryGrant(w.now, Ask{Owner: w.owner, Tuning: &w.tuning, Patience: time.Hour})
	if want := w.now.Wall.Add(20 * time.Minute); !g.Refused || !g.Until.Equal(want) {
		t.Fatalf("%+v", g)
	}
	w.sleep(20*time.Minute - time.Nanosecond)
	if g := w.s.TryGrant(w.now, Ask{Owner: w.owner, Tuning: &w.tuning, Patience: time.Hour}); g.Moved {
		t.Fatalf("left too early: %+v", g)
	}
	w.sleep(time.Nanosecond)
	w.run("ok*5")
	if got := strings.Join(w.why, " "); got != "retry_after_long retry_after_elapsed sleep_elapsed probe_ok" {
		t.Error(got)
	}
	// A resume does not cut it short.
	w.run("429/20m resume")
	start := w.now.Wall
	w.run("ok")
	if got := w.now.Wall.Sub(start); got < 20*time.Minute {
		t.Errorf("sent after %s", got)
	}
}

func TestRampAfterTroubleWith429s(t *testing.T) {
	w := newWorld(t)
	rate := func() float64 { return w.s.Gauges(&w.tuning).Rate }
	w.run("429*3 ok*11 ok*5")
	want := 35 * 0.8
	for range 2 {
		if got := rate(); fmt.Sprintf("%.3f", got) != fmt.Sprintf("%.3f", want) {
			t.Fatalf("rate %v, want %v", got, want)
		}
		w.sleep(5 * time.Minute)
		w.run("ok")
		want *= 1.1
	}
	w.sleep(5 * time.Minute)
	w.run("ok")
	if got := rate(); got != 35 {
		t.Errorf("rate %v at the end", got)
	}
}

func TestNoRampAfterAnOutage(t *testing.T) {
	w := newWorld(t)
	w.run("500*8 500 ok*5")
	if got := w.s.Gauges(&w.tuning).Rate; got != 35 {
		t.Errorf("rate %v", got)
	}
	// An outage on the way up says nothing about the limit either.
	w.run("429*3 ok*11 ok*5 500*8 ok*5")
	if got := w.s.Gauges(&w.tuning).Rate; fmt.Sprintf("%.3f", got) != "28.000" {
		t.Errorf("rate %v", got)
	}
}

func TestPauses(t *testing.T) {
	tests := []struct {
		name   string
		script string
		draw   float64
		want   time.Duration
	}{
		{"a 429 says how long", "429/7s", 0.5, 7 * time.Second},
		{"a 503 says how long", "503/7s", 0.5, 7 * time.Second},
		{"a 500 may not", "500/7s", 0.5, 0},
		{"a 503 need not", "503", 0.5, 0},
		{"never under a second", "429", 0, time.Second},
		{"full jitter", "429 429", 0.9, 2700 * time.Millisecond},
		{"one draw an overrun", "[429*4]", 0.9, 1350 * time.Millisecond},
		{"a smaller one later changes nothing", "429/60s old:429/1s old:503/2s", 0.5, 60 * time.Second},
		{"a larger one of an older epoch does", "429*3 old:429/60s", 0.5, 60 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.draw = tt.draw
			w.run(tt.script)
			if got := max(w.s.machine.pauseUntil.sub(w.s.clock.now), 0); got != tt.want {
				t.Errorf("pause %s, want %s", got, tt.want)
			}
		})
	}
}

func TestEveryRuleHasARow(t *testing.T) {
	seen := map[State]int{}
	for _, r := range rules {
		if r.confirm == hysteresis {
			for _, s := range r.from {
				if seen[s]++; seen[s] > 1 {
					t.Errorf("%s has two statistical rows: the machine remembers one", s)
				}
			}
		}
	}
	// From the most restrictive target to the least.
	rank := map[State]int{CacheOnly: 0, Sleep: 1, Throttle: 2, HalfOpen: 3, Normal: 4}
	for i := 1; i < len(rules); i++ {
		if rank[rules[i].to] < rank[rules[i-1].to] {
			t.Errorf("row %d leads to %s after one to %s", i, rules[i].to, rules[i-1].to)
		}
	}
	if len(Rules()) != 15 {
		t.Errorf("%d rows", len(Rules()))
	}
}

func TestThrottleBeginsWithoutABurst(t *testing.T) {
	w := newWorld(t)
	w.run("ok*32 500*7 ok*7 500*4")
	if tokens := w.s.Status(w.now, w.tuning, w.owner).Tokens; w.s.State() != Throttle || tokens > 0.001 {
		t.Errorf("%v tokens in %s", tokens, w.s.State())
	}
	start := w.now.Boot
	w.run("404*17")
	if got := w.now.Boot - start; got < 900*time.Millisecond {
		t.Errorf("17 requests within %s", got)
	}
}
