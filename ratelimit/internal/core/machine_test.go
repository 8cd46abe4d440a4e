package core

import (
	"strings"
	"testing"
	"time"
)

// A burst of four errors is one piece of evidence: only an answer to a permit
// granted after the first sight confirms.
func TestHysteresisWantsANewerPermit(t *testing.T) {
	w := newWorld(t)
	w.run("ok*16")
	var old []PermitID
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
	var old []PermitID
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
	tests := []struct {
		name, trouble, probe string
		longest              time.Duration
	}{
		{"an outage", "500*8", "500", 10 * time.Second},
		{"refusals", "429*5", "429", 300 * time.Second},
		{"an outage in which a 429 is seen", "500*8 429", "500", 300 * time.Second},
		{"an outage after a 429", "429 ok 500*8", "500", 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.run(tt.trouble)
			want := w.s.address.machine.clampedCooldown(&w.tuning)
			for range 9 {
				w.run(tt.probe)
				want = min(2*want, tt.longest)
				if got := w.s.address.machine.clampedCooldown(&w.tuning); got != want {
					t.Fatalf("cooldown %s, want %s (%s)", got, want, w.trace())
				}
			}
			if want != tt.longest {
				t.Errorf("longest cooldown %s", want)
			}
			w.run("ok 500")
			if got := w.s.address.machine.clampedCooldown(&w.tuning); w.s.State() != Sleep || got != 2*time.Second {
				t.Errorf("cooldown %s in %s after a round with a good probe", got, w.s.State())
			}
		})
	}
}

func TestPolicyAfterSixTimesTheLongestSleep(t *testing.T) {
	for _, tt := range []struct {
		name, trouble, rounds string
	}{
		{"of refusals", "429*5 500*8", "500*5"}, // 2 4 8 ... 256 300
		{"of an outage", "500*8 500*3", "500*179"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.run(tt.trouble)
			if m := &w.s.address.machine; m.clampedCooldown(&w.tuning) != m.maxCooldown(&w.tuning) || m.timeAtMaxCooldown != 0 {
				t.Fatalf("cooldown %s, exhausted %s", m.clampedCooldown(&w.tuning), m.timeAtMaxCooldown)
			}
			w.run(tt.rounds)
			if w.s.State() != Sleep {
				t.Fatalf("state %s before the last round", w.s.State())
			}
			w.run("500")
			if w.s.State() != CacheOnly || w.why[len(w.why)-1] != "policy" {
				t.Fatalf("state %s %v", w.s.State(), w.why[len(w.why)-1])
			}
		})
	}
}

func TestCacheOnlyByPolicyEndsForThoseWhoRecover(t *testing.T) {
	w := newWorld(t)
	w.run("500*8 500*183")
	// It has no end: a request is refused.
	g := w.s.TryGrant(w.now, PermitRequest{Owner: w.owner, Tuning: &w.tuning, MaxWait: 48 * time.Hour})
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
	g := w.s.TryGrant(w.now, PermitRequest{Owner: w.owner, Tuning: &w.tuning, MaxWait: 48 * time.Hour})
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
	g := w.s.TryGrant(w.now, PermitRequest{Owner: w.owner, Tuning: &w.tuning, MaxWait: time.Hour})
	if want := w.now.Wall.Add(20 * time.Minute); !g.Refused || !g.Until.Equal(want) {
		t.Fatalf("%+v", g)
	}
	w.sleep(20*time.Minute - time.Nanosecond)
	if g := w.s.TryGrant(w.now, PermitRequest{Owner: w.owner, Tuning: &w.tuning, MaxWait: time.Hour}); g.Transitioned {
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

// recover answers everything well until Normal, within the stated bound.
func (w *world) recover(hold time.Duration) {
	w.t.Helper()
	const latency = 40 * time.Millisecond
	st := w.s.Status(w.now, w.tuning, w.owner)
	blocked := max(st.Until.Sub(st.At), st.PauseUntil.Sub(st.At), 0)
	bound := recoveryBound(w.tuning, st.Learned.Rate, blocked, hold, latency)
	start := w.now.Boot
	for w.s.State() != Normal {
		p := w.acquire()
		w.sleep(latency)
		w.record(p, Event{Outcome: OK, Status: 200})
		if took := w.now.Boot - start; took > bound {
			w.t.Fatalf("not recovered after %s, the bound is %s (learned %.2f/s)", took, bound, st.Learned.Rate)
		}
	}
}

// With short cooldowns a batch would else wait for the probe with each request of a long outage.
func TestALongOutageRefusesWhoCouldOnlyWaitForAProbe(t *testing.T) {
	w := newWorld(t)
	ask := func() Grant {
		return w.s.TryGrant(w.now, PermitRequest{Owner: "q", Tuning: &w.tuning, MaxWait: w.tuning.MaxWait})
	}
	w.run("500*8")
	if g := ask(); g.Refused {
		t.Errorf("refused at once: %+v", g)
	}
	for w.s.clock.now.sub(w.s.address.machine.failingSince) <= w.tuning.MaxWait {
		w.run("500")
	}
	if g := ask(); !g.Refused || g.State != Sleep || g.Until.IsZero() {
		t.Errorf("in Sleep: %+v", g)
	}
	w.sleep(w.s.address.machine.sleepUntil.sub(w.s.clock.now))
	p := w.acquire()
	if g := ask(); !g.Refused || g.State != HalfOpen || g.Until.IsZero() {
		t.Errorf("behind the probe: %+v", g)
	}
	w.record(p, Event{Outcome: OK, Status: 200})
	if g := ask(); g.Refused {
		t.Errorf("after a good probe: %+v", g)
	}
}

func TestPermitsGrantedApartHaveNumbersOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	w.acquire()
	seen := map[uint64]bool{}
	for episode := range uint64(3) {
		apart := NewIsolation(&w.s, w.now, w.owner, episode)
		g := apart.Snapshot.TryGrant(w.now, PermitRequest{Owner: w.owner, Tuning: &w.tuning})
		if !g.Granted || seen[g.Pass.Number] {
			t.Errorf("%+v", g)
		}
		seen[g.Pass.Number] = true
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
		{"a lone 503 speaks for itself", "503/7s", 0.5, 0},
		{"seven do", "ok 503/7s*7", 0.5, 0},
		{"the eighth speaks for all", "ok 503/7s*8", 0.5, 7 * time.Second},
		{"a retry that is not in the streak speaks for itself", "ok 500*7 again:503/7s", 0.5, 0},
		{"so does one of an older epoch", "ok 500*7 old:503/7s", 0.5, 0},
		{"a retry that is in the streak speaks for all", "ok 500*7 alone:503/7s", 0.5, 7 * time.Second},
		{"so does an older one after the eighth", "ok 500*8 old:503/7s", 0.5, 7 * time.Second},
		{"a probe speaks for all", "500*8 503/7s", 0.5, 7 * time.Second},
		{"not one of a round from Throttle", "429*3 ok*11 503/60s", 0.5, 0},
		{"a 500 may not", "500/7s", 0.5, 0},
		{"a 503 need not", "503", 0.5, 0},
		{"a gateway's refusal speaks for itself", "deferred/7s*9", 0.5, 0},
		{"a lone 429 waits up to a second", "429", 0.3, 300 * time.Millisecond},
		{"from the second on never under a second", "429 429", 0, time.Second},
		{"full jitter", "429 429", 0.9, 2700 * time.Millisecond},
		{"one draw an overrun", "[429*4]", 0.9, 900 * time.Millisecond},
		{"a smaller one later changes nothing", "429/60s old:429/1s old:503/2s", 0.5, 60 * time.Second},
		{"a larger one of an older epoch does", "429*3 old:429/60s", 0.5, 60 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.draw = tt.draw
			w.run(tt.script)
			if got := max(w.s.address.machine.pauseUntil.sub(w.s.clock.now), 0); got != tt.want {
				t.Errorf("pause %s, want %s", got, tt.want)
			}
		})
	}
}

func TestEveryRuleHasARow(t *testing.T) {
	seen := map[State]int{}
	for _, r := range rules {
		if r.Confirmation == hysteresis {
			for _, s := range r.From {
				if seen[s]++; seen[s] > 1 {
					t.Errorf("%s has two statistical rows: the machine remembers one", s)
				}
			}
		}
	}
	// From the most restrictive target to the least.
	rank := map[State]int{CacheOnly: 0, Sleep: 1, Throttle: 2, HalfOpen: 3, Normal: 4}
	for i := 1; i < len(rules); i++ {
		if rank[rules[i].To] < rank[rules[i-1].To] {
			t.Errorf("row %d leads to %s after one to %s", i, rules[i].To, rules[i-1].To)
		}
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

func TestReset(t *testing.T) {
	w := newWorld(t)
	w.run("ok*40 429/50s")
	held := w.s.queue
	for _, force := range []bool{false, true} {
		s := w.s.Clone()
		before := s.address.machine
		s.Reset(w.now, force)
		m := &s.address.machine
		if m.state != Normal || m.reason != ReasonReset || m.epoch != before.epoch+1 || m.permits != before.permits ||
			m.streak429 != 0 || len(m.window.records) != 0 {
			t.Errorf("%+v", m)
		}
		if kept := m.pauseUntil == before.pauseUntil; kept == force {
			t.Errorf("force %v: pause kept %v", force, kept)
		}
		if len(s.ceiling.grants) == 0 || s.queue.seq != held.seq {
			t.Error("what is on the wire was forgotten")
		}
	}
}

// A stopped process stands in front with tickets nobody asks about.
func TestALateTicketIsPassed(t *testing.T) {
	w := newWorld(t)
	w.tuning.Concurrency, w.tuning.ConcurrencyTotal = 8, 4
	stopped := PermitRequest{Owner: "stopped", Tuning: &w.tuning, MaxWait: time.Hour}
	for range 4 {
		w.s.TryGrant(w.now, stopped)
	}
	var tickets []uint64
	for range 3 {
		tickets = append(tickets, w.s.TryGrant(w.now, stopped).Ticket)
	}
	live := PermitRequest{Owner: "live", Tuning: &w.tuning, MaxWait: time.Hour}
	g := w.s.TryGrant(w.now, live)
	if g.Granted || g.First {
		t.Fatalf("%+v", g)
	}
	for i := range 4 { // the answers come, the tickets do not
		w.record(
			PermitID{w.s.address.machine.permits - uint64(3-i), w.s.address.machine.epoch},
			Event{Outcome: OK, Status: 200},
		)
	}
	live.Ticket = g.Ticket
	if g = w.s.TryGrant(w.now, live); g.Granted || g.Cause != ReasonTurn {
		t.Fatalf("passed a ticket that is not late: %+v", g)
	}
	w.sleep(200 * time.Millisecond)
	if g = w.s.TryGrant(w.now, live); !g.Granted {
		t.Fatalf("%+v", g)
	}
	stopped.Ticket = tickets[1] // who wakes up has kept its place
	if g = w.s.TryGrant(w.now, stopped); !g.Granted {
		t.Errorf("%+v", g)
	}
}

// After failures no more requests run than are missing for an outage. Requests that were running before the last good
// answer, perhaps for minutes, do not count.
func TestAnOutageGetsOnlyAsManyRequestsAsItTakesToDetectIt(t *testing.T) {
	for _, tt := range []struct {
		script  string
		running int
	}{
		{"lost lost ok", 14},
		{"lost lost ok 500*4", 4},
		{"lost lost ok 500*6", 2},
		{"lost lost ok 500*7", 1},
		{"lost lost ok 500*7 ok", 14},
	} {
		t.Run(tt.script, func(t *testing.T) {
			w := newWorld(t)
			w.tuning.Concurrency = 16
			w.run(tt.script)
			before := len(w.s.queue.leases)
			a := PermitRequest{Owner: w.owner, Tuning: &w.tuning, MaxWait: time.Hour}
			for range 20 {
				g := w.s.TryGrant(w.now, a)
				a.Ticket = g.Ticket
				w.sleep(time.Second)
			}
			if got := len(w.s.queue.leases) - before; got != tt.running {
				t.Errorf("%d more requests run, want %d", got, tt.running)
			}
		})
	}
}
