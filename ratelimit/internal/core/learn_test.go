package core

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// sliding is an upstream that answers a limited number of requests in any second.
type sliding struct {
	limit int
	seen  []time.Duration
}

func (u *sliding) allows(now time.Duration) bool {
	for len(u.seen) > 0 && u.seen[0] <= now-time.Second {
		u.seen = u.seen[1:]
	}
	if len(u.seen) >= u.limit {
		return false
	}
	u.seen = append(u.seen, now)
	return true
}

// ask sends as much as is allowed for a time, each answered after 40 ms, and counts the answers.
func (w *world) ask(u *sliding, d time.Duration, refuse func() bool) (good, refused int) {
	w.t.Helper()
	for end := w.now.Boot + d; w.now.Boot < end; {
		p := w.acquire()
		at := w.now.Boot
		w.sleep(time.Millisecond)
		if u.allows(at) && (refuse == nil || !refuse()) {
			good++
			w.record(p, Event{Outcome: OK, Status: 200})
			continue
		}
		refused++
		w.record(p, Event{Outcome: Throttled, Status: 429})
	}
	return good, refused
}

func TestALowerLimitIsLearned(t *testing.T) {
	for _, limit := range []int{5, 10, 20, 30} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			w := newWorld(t)
			u := &sliding{limit: limit}
			w.ask(u, 30*time.Second, nil)
			good, refused := w.ask(u, 10*time.Minute, nil)
			if share := float64(good) / 600 / float64(limit); share < 0.9 {
				t.Errorf("%.2f of what the upstream allows", share)
			}
			if share := float64(refused) / float64(good); share > 0.01 {
				t.Errorf("%.4f of the requests were refused", share)
			}
			st := w.s.Status(w.now, w.tuning, w.owner)
			if r := st.Learned.Rate; r < 0.85*float64(limit) || r > float64(limit)+1 || st.Learned.Since.IsZero() {
				t.Errorf("learned %+v", st.Learned)
			}
		})
	}
}

func TestALimitThatRoseIsFoundWithinTheBound(t *testing.T) {
	w := newWorld(t)
	u := &sliding{limit: 8}
	w.ask(u, 5*time.Minute, nil)
	if r := w.s.address.machine.learned.rate(); r == 0 || r > 8 {
		t.Fatalf("learned %.2f/s", r)
	}
	u.limit = 1000
	bound := learnedBound(w.tuning)
	if bound < 70*time.Second || bound > 100*time.Second {
		t.Errorf("the bound is %s", bound)
	}
	w.ask(u, bound+5*time.Second, nil)
	if w.s.address.machine.learned.maxAnswers != 0 {
		t.Errorf("%.2f/s is still learned after %s", w.s.address.machine.learned.rate(), bound)
	}
}

func TestLearnedLimitsOutliveTheRunButNotADay(t *testing.T) {
	w := newWorld(t)
	u := &sliding{limit: 20}
	w.ask(u, time.Minute, nil)
	want := w.s.address.machine.learned.rate()
	w.sleep(12 * time.Hour)
	w.run("ok")
	if got := w.s.address.machine.learned.rate(); got != want {
		t.Errorf("%.2f/s after half a day, it was %.2f", got, want)
	}
	w.sleep(13 * time.Hour)
	w.run("ok")
	if w.s.address.machine.learned.maxAnswers != 0 {
		t.Error("known after a day without a refusal")
	}
}

// An upstream that refuses a part of everything, whatever the rate, does not drive the rate towards nothing.
func TestRefusalsByChanceTeachNothingForLong(t *testing.T) {
	for _, share := range []float64{0.01, 0.02, 0.05, 0.10, 0.15} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			w := newWorld(t)
			chance := rand.New(rand.NewPCG(1, 2))
			u := &sliding{limit: 1000}
			floor := learnedFloor(w.tuning.RateBase)
			for range 120 {
				w.ask(u, time.Minute, func() bool { return chance.Float64() < share })
				if r := w.s.address.machine.learned.rate(); r != 0 && r < floor {
					t.Fatalf("learned %.2f/s", r)
				}
			}
			w.recover(w.tuning.RequestTimeout + time.Second)
			w.ask(u, learnedBound(w.tuning)+5*time.Second, nil)
			if got := w.s.Gauges(&w.tuning).Rate; got != w.tuning.RateBase {
				t.Errorf("%.2f/s after %s without a refusal", got, learnedBound(w.tuning))
			}
		})
	}
}

func TestOneRefusalTooManyIsForgotten(t *testing.T) {
	w := newWorld(t)
	m := &w.s.address.machine
	w.run("ok")
	m.learned = learnedLimit{
		maxAnswers: 12,
		window:     w.tuning.CeilingWindow,
		provenMax:  24,
		untilRaise: 400,
		last429:    w.s.clock.now,
	}
	w.run("429") // 11 of 24
	if l := m.learned; l.maxAnswers != 0 || l.noLearningUntil <= w.s.clock.now {
		t.Fatalf("%+v", l)
	}
	w.run("ok*20 429*3 ok*30")
	if m.learned.maxAnswers != 0 {
		t.Errorf("learned %+v within five minutes", m.learned)
	}
}

func TestARaiseOnTrialIsTakenBack(t *testing.T) {
	w := newWorld(t)
	m := &w.s.address.machine
	w.run("ok")
	m.learned = learnedLimit{
		maxAnswers: 20,
		window:     w.tuning.CeilingWindow,
		provenMax:  20,
		trialRaise: 4,
		untilRaise: 3,
		last429:    w.s.clock.now,
	}
	w.run("429")
	if l := m.learned; l.maxAnswers != 16 || l.trialRaise != 0 || l.untilRaise != w.tuning.RampAfter {
		t.Errorf("%+v", l)
	}
}

func TestALongPauseTeachesNothing(t *testing.T) {
	w := newWorld(t)
	w.run("ok*20 429/12s*4 ok*30")
	if w.s.address.machine.learned.maxAnswers != 0 {
		t.Errorf("learned %.2f/s", w.s.address.machine.learned.rate())
	}
}

// Errors that half the rate does not cure do not come from the rate.
func TestThrottleEases(t *testing.T) {
	w := newWorld(t)
	w.run("ok*32 500*7 ok*7 500*4")
	rate := func() float64 { return w.s.Gauges(&w.tuning).Rate }
	if got := rate(); w.s.State() != Throttle || got != 17 {
		t.Fatalf("%.1f/s in %s", got, w.s.State())
	}
	w.sleep(5 * time.Second)
	w.run("500 ok*3")
	if got := rate(); got < 34 || w.s.State() != Throttle {
		t.Errorf("%.1f/s in %s after 5 s", got, w.s.State())
	}
	// Where most of it fails the rate may be the cause.
	for range 10 {
		w.run("500 500 ok")
	}
	if got := rate(); got > 20 || w.s.State() != Throttle {
		t.Errorf("%.1f/s in %s while two of three fail", got, w.s.State())
	}
}

// Where Throttle ended at Normal's rate, the rate was not what caused the errors.
func TestThrottleThatReturnsSoonContinuesToEase(t *testing.T) {
	errors := "ok*32 500*7 ok*7 500*4"
	for _, tt := range []struct {
		name, script string
		want         float64
	}{
		{"at once", errors + " +6s ok*11 ok*5 " + errors, 35},
		{"by 429s", errors + " +6s ok*11 ok*5 429*3", 17},
		{"after a window", errors + " +6s ok*11 ok*5 +31s " + errors, 17},
		{"from half the rate, which may have cured them", errors + " ok*11 ok*5 " + errors, 17},
		{"after an outage", errors + " +6s 500*20 ok*5 " + errors, 17},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.run(tt.script)
			if got := w.s.Gauges(&w.tuning).Rate; w.s.State() != Throttle || got != tt.want {
				t.Errorf("%.1f/s after %s, want %.0f", got, w.trace(), tt.want)
			}
		})
	}
}

// Throttle has just shown that the upstream works: its probes wait only for each other. After Sleep nothing is known.
func TestProbesAfterThrottleAreDueAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name, script, probes string
		take                 time.Duration
	}{
		{"after Throttle", "429*3 +2s ok*11", "ok*5", 0},
		{"after Sleep", "429*5 ok", "ok*4", 4 * time.Second / 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.run(tt.script)
			before := w.now.Boot
			w.run(tt.probes)
			if d := w.now.Boot - before; w.s.State() != Normal || d < tt.take || d > tt.take+time.Millisecond {
				t.Errorf("%s: the probes took %s", w.trace(), d)
			}
		})
	}
}

func TestTheFirstRaiseIsAQuarterUntilThereIsA429(t *testing.T) {
	for _, tt := range []struct {
		name string
		with func(*learnedLimit)
		want int
	}{
		{"as learned", func(*learnedLimit) {}, 25},
		{"a second later", func(l *learnedLimit) { l.last429 = l.since.add(time.Second) }, 21},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.run("ok")
			m := &w.s.address.machine
			m.learned = learnedLimit{
				maxAnswers: 20, window: w.tuning.CeilingWindow, provenMax: 20, untilRaise: 1, since: w.s.clock.now,
				last429: w.s.clock.now,
			}
			tt.with(&m.learned)
			m.lastTokenShortage = w.s.clock.now
			w.run("ok")
			if got := m.learned.maxAnswers; got != tt.want {
				t.Errorf("%d answers a window, want %d", got, tt.want)
			}
		})
	}
}
