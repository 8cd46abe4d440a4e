package core

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Setting the clock changes nothing, whichever way and how often.
func TestSettingTheClockChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := Instant{Wall: time.Unix(1_800_000_000, 0), Boot: time.Hour, BootID: "x"}
		calm, wild := NewSnapshot(now), NewSnapshot(now)
		tu := Default()
		elsewhere := now
		for range 60 {
			d := drawDuration(t, "gap", 2*time.Second)
			now.Wall, now.Boot = now.Wall.Add(d), now.Boot+d
			elsewhere.Boot = now.Boot
			elsewhere.Wall = now.Wall.Add(time.Duration(rapid.IntRange(-3600, 3600).Draw(t, "set")) * time.Second)
			e := rapid.SampledFrom([]Event{
				{Outcome: OK, Status: 200},
				{Outcome: Server, Status: 500},
				{Outcome: Throttled, Status: 429},
			}).Draw(t, "answer")
			a, b := calm.TryGrant(
				now,
				PermitRequest{Owner: "p", Tuning: &tu},
			), wild.TryGrant(
				elsewhere,
				PermitRequest{Owner: "p", Tuning: &tu},
			)
			if a.Granted != b.Granted || a.Wait != b.Wait || a.State != b.State {
				t.Fatalf("%+v and %+v", a, b)
			}
			if a.Granted {
				calm.Record(now, Report{Owner: "p", Tuning: &tu, Pass: a.Pass, Event: e})
				wild.Record(elsewhere, Report{Owner: "p", Tuning: &tu, Pass: b.Pass, Event: e})
			}
		}
	})
}

func TestARebootKeepsBlocksAndVoidsSlots(t *testing.T) {
	for name, jump := range map[string]time.Duration{"later": 20 * time.Second, "clock an hour back": -time.Hour} {
		w := newWorld(t)
		w.run("500*8")
		block := w.s.address.machine.sleepUntil.sub(w.s.clock.now)
		w.run("ok*5 429/50s")
		pause := w.s.address.machine.pauseUntil.sub(w.s.clock.now)
		w.s.TryGrant(w.now, PermitRequest{Owner: w.owner, Tuning: &w.tuning, MaxWait: time.Hour})
		if block <= 0 || pause != 50*time.Second || len(w.s.queue.tickets) != 1 {
			t.Fatal(block, pause)
		}
		w.now = Instant{Wall: w.now.Wall.Add(jump), Boot: time.Second, BootID: "another"}
		w.s.advance(w.now)
		if got, want := w.s.address.machine.pauseUntil.sub(w.s.clock.now), pause-max(jump, 0); got != want {
			t.Errorf("%s: pause %s, want %s", name, got, want)
		}
		if len(w.s.queue.leases)+len(w.s.queue.tickets)+len(w.s.processes.list) != 0 {
			t.Errorf("%s: slots outlived the reboot", name)
		}
	}
}

func TestNoFloodAfterALongRest(t *testing.T) {
	w := newWorld(t)
	w.tuning.Concurrency, w.tuning.ConcurrencyTotal = 100, 100
	w.run("ok")
	w.sleep(1000 * time.Hour)
	granted := 0
	for start := w.now.Boot; w.now.Boot-start < time.Second; {
		g := w.s.TryGrant(w.now, PermitRequest{Owner: w.owner, Tuning: &w.tuning, MaxWait: time.Hour})
		if g.Granted {
			granted++
			w.record(g.Pass, Event{Outcome: OK, Status: 200})
		} else {
			w.s.Withdraw(w.now, g.Ticket)
			w.sleep(min(g.Wait, 10*time.Millisecond))
		}
	}
	if granted != 40 {
		t.Errorf("%d in the first second", granted)
	}
}

func TestACautiousSnapshotGrantsNothingAtFirst(t *testing.T) {
	w := newWorld(t)
	w.s = NewCautiousSnapshot(w.now)
	if rate := w.s.Gauges(&w.tuning).Rate; w.s.State() != Throttle || rate != 17 {
		t.Fatalf("%.1f/s in %s", rate, w.s.State())
	}
	w.tuning.CeilingWindow = 3 * time.Second
	start := w.now.Boot
	w.run("ok")
	if got := w.now.Boot - start; got != 3*time.Second {
		t.Errorf("first grant after %s", got)
	}
}
