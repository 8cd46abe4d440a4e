package core

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawDuration(t *rapid.T, name string, most time.Duration) time.Duration {
	return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
}

func TestWindowCountsWhatIsYoungAndNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tu := Default()
		tu.Window = time.Duration(rapid.IntRange(1, 60).Draw(t, "window")) * time.Second
		tu.WindowRecords = rapid.IntRange(1, 500).Draw(t, "records")
		type seen struct {
			at Stamp
			o  Outcome
		}
		var w window
		var all []seen
		now := Stamp(time.Hour)
		for range rapid.IntRange(1, 600).Draw(t, "answers") {
			now = now.add(time.Duration(rapid.IntRange(0, 200).Draw(t, "gap")) * time.Millisecond)
			o := rapid.SampledFrom([]Outcome{OK, Throttled, Server, Network}).Draw(t, "outcome")
			w.add(now, o, &tu)
			all = append(all, seen{now, o})
		}
		var want Counts
		for i, s := range all {
			if len(all)-i > tu.WindowRecords || now.sub(s.at) >= tu.Window {
				continue
			}
			switch s.o {
			case OK:
				want.OK++
			case Throttled:
				want.Throttled++
			case Server:
				want.Server++
			case Network, Cancelled, Client, Misconfigured, Deferred:
				want.Network++
			}
		}
		if got := w.count(now, &tu); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if len(w.records) > max(tu.WindowRecords, defaults.WindowRecords) {
			t.Fatalf("%d records kept", len(w.records))
		}
	})
}

// Whatever the paces, no interval sees more than a burst and what the fastest refills.
func TestBucketNeverLetsMoreThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paces := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pace {
			return newPace(rapid.Float64Range(0.5, 60).Draw(t, "rate"), rapid.Float64Range(1, 60).Draw(t, "cap"))
		}), 1, 3).Draw(t, "paces")
		var b bucket
		now := Stamp(time.Hour)
		var grants []Stamp
		for range 200 {
			p := paces[rapid.IntRange(0, len(paces)-1).Draw(t, "who")]
			if wait := b.wait(now, p); wait > 0 {
				// The promised moment is right, to the nanosecond.
				if b.wait(now.add(wait), p) != 0 || b.wait(now.add(wait-1), p) == 0 {
					t.Fatalf("promised %s", wait)
				}
			} else {
				b.take(now, p)
				grants = append(grants, now)
			}
			if got := b.tokens(now, p); got > p.burst {
				t.Fatalf("%v tokens of %v", got, p.burst)
			}
			now = now.add(drawDuration(t, "gap", 300*time.Millisecond))
		}
		fastest, largest := 0.0, 0.0
		for _, p := range paces {
			fastest, largest = max(fastest, p.rate), max(largest, p.burst)
		}
		for i := range grants {
			for j := i; j < len(grants); j++ {
				most := largest + grants[j].sub(grants[i]).Seconds()*fastest
				// Another pace's burst may be worth a second at most.
				if float64(j-i) > most+fastest+1 {
					t.Fatalf("%d grants within %s", j-i+1, grants[j].sub(grants[i]))
				}
				if len(paces) == 1 && float64(j-i+1) > most+1e-6 {
					t.Fatalf("%d grants within %s, at most %v", j-i+1, grants[j].sub(grants[i]), most)
				}
			}
		}
	})
}

func TestACarriedBucketGainsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string) pace {
			return newPace(rapid.Float64Range(1, 60).Draw(t, name+" rate"), rapid.Float64Range(1, 60).Draw(t, name+" cap"))
		}
		from, to := pick("from"), pick("to")
		b := bucket{fullAt: Stamp(time.Hour).add(drawDuration(t, "debt", 2*time.Second))}
		now := Stamp(time.Hour).add(drawDuration(t, "now", 3*time.Second))
		before := b.tokens(now, from)
		b.changePace(now, from, to)
		if got, want := b.tokens(now, to), min(before, to.burst); math.Abs(got-want) > 1e-5 {
			t.Fatalf("%v tokens, had %v, capacity %v", got, before, to.burst)
		}
	})
}

func TestCeilingHoldsInEveryWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, window := rapid.IntRange(1, 50).Draw(t, "limit"), drawDuration(t, "window", 2*time.Second)+time.Millisecond
		var c ceiling
		var grants []Stamp
		now := Stamp(time.Hour)
		for range 300 {
			if wait := c.wait(now, limit, window); wait <= 0 {
				c.add(now, window)
				grants = append(grants, now)
			} else if c.wait(now.add(wait), limit, window) > 0 {
				t.Fatalf("promised %s", wait)
			}
			now = now.add(drawDuration(t, "gap", window/20))
		}
		for i := limit; i < len(grants); i++ {
			if gap := grants[i].sub(grants[i-limit]); gap < window {
				t.Fatalf("%d grants within %s", limit+1, gap)
			}
		}
	})
}

// crowd is several processes with their requests, driven at random.
type crowd struct {
	*rapid.T
	s       Snapshot
	now     Instant
	tuning  Tuning
	waiting map[string][]uint64
	out     map[string][]PermitID
}

var crowdNames = []string{"a", "b", "c"}

func (c *crowd) pass(d time.Duration) { c.now.Wall, c.now.Boot = c.now.Wall.Add(d), c.now.Boot+d }

func (c *crowd) ask(owner string, place int) {
	a := PermitRequest{
		Owner: owner, Tuning: &c.tuning, MaxWait: time.Hour, NeedsBudget: c.tuning.Budget.On(),
		HasReservation: rapid.Bool().Draw(c.T, "reserved"),
	}
	if place < len(c.waiting[owner]) {
		a.Ticket = c.waiting[owner][place]
	}
	before := c.s.Clone()
	now := before.advance(c.now)
	before.at(now, &c.tuning).expire()
	g := c.s.TryGrant(c.now, a)
	if a.Ticket != 0 && (g.Granted || g.Refused) {
		c.waiting[owner] = slices.Delete(c.waiting[owner], place, place+1)
	}
	switch {
	case g.Refused && g.Cause != ReasonBudget:
		c.Fatalf("%+v", g)
	case g.Refused:
		reserved, _ := c.s.at(now, &c.tuning).totalReserved()
		if used := c.s.address.quota.current(now).used; used+reserved < c.tuning.Budget.Requests {
			c.Fatalf("refused with %d used and %d reserved", used, reserved)
		}
	case g.Granted:
		c.granted(&before, now, owner, a, g)
	case a.Ticket == 0:
		c.waiting[owner] = append(c.waiting[owner], g.Ticket)
	case g.Ticket != a.Ticket && before.queue.ticketIndex(a.Ticket) >= 0:
		c.Fatalf("ticket %d became %d", a.Ticket, g.Ticket)
	default:
		c.waiting[owner][place] = g.Ticket
	}
}

func (c *crowd) granted(before *Snapshot, now Stamp, owner string, a PermitRequest, g Grant) {
	c.out[owner] = append(c.out[owner], g.Pass)
	for _, tk := range before.queue.tickets {
		if tk.number == a.Ticket {
			break
		}
		if now.sub(tk.retryAt) <= lateTicketAfter && before.queue.leasesOf(tk.owner) < c.tuning.Concurrency {
			c.Fatalf("%s was served before ticket %d", owner, tk.number)
		}
	}
	if n := c.s.queue.running(0); n > c.tuning.ConcurrencyTotal {
		c.Fatalf("%d running", n)
	}
	if n := len(c.out[owner]); n > c.tuning.Concurrency {
		c.Fatalf("%d running of %s", n, owner)
	}
}

func (c *crowd) end(owner string, e Event) {
	if len(c.out[owner]) == 0 {
		return
	}
	p := c.out[owner][0]
	c.out[owner] = c.out[owner][1:]
	c.s.Record(c.now, Report{
		Owner: owner, Tuning: &c.tuning, Pass: p, Event: e,
		KeepBudget: rapid.Bool().Draw(c.T, "keep"),
	})
}

// reserve books requests of the budget for a process.
func (c *crowd) reserve(owner string) {
	if c.tuning.Budget.On() {
		_, _ = c.s.Reserve(c.now, owner, rapid.IntRange(1, 10).Draw(c.T, "requests"), &c.tuning, nil)
	}
}

// invariant holds after every event.
func (c *crowd) invariant() {
	out, waiting := 0, 0
	for _, o := range crowdNames {
		out += len(c.out[o])
		waiting += len(c.waiting[o])
	}
	if got := len(c.s.queue.leases); got != out {
		c.Fatalf("%d leases, %d permits out", got, out)
	}
	if got := len(c.s.queue.tickets); got > waiting {
		c.Fatalf("%d tickets for %d who wait", got, waiting)
	}
	reserved, _ := c.s.at(c.s.clock.now, &c.tuning).totalReserved()
	used := c.s.address.quota.current(c.s.clock.now).used
	if b := c.tuning.Budget; b.On() && used+reserved > b.Requests {
		c.Fatalf("budget: %d used, %d reserved of %d", used, reserved, b.Requests)
	}
	for i := range c.s.processes.list {
		if p := &c.s.processes.list[i]; p.reserved < c.s.queue.budgetLeases(p.key) {
			c.Fatalf("%d reserved of %s, %d of them under way", p.reserved, p.id, c.s.queue.budgetLeases(p.key))
		}
	}
	raw, _ := c.s.AppendBinary(nil)
	var back Snapshot
	if err := back.Decode(raw); err != nil {
		c.Fatal(err)
	}
	again, _ := back.AppendBinary(nil)
	if string(raw) != string(again) {
		c.Fatal("the codec has changed the snapshot")
	}
}

func TestACrowdIsServedInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &crowd{T: t, tuning: Default(), now: Instant{Wall: time.Unix(1_800_000_000, 0), Boot: time.Hour, BootID: "x"}}
		c.waiting, c.out = map[string][]uint64{}, map[string][]PermitID{}
		c.tuning.Concurrency = rapid.IntRange(1, 3).Draw(t, "concurrency")
		c.tuning.ConcurrencyTotal = rapid.IntRange(c.tuning.Concurrency, 5).Draw(t, "total")
		if rapid.Bool().Draw(t, "with a budget") {
			c.tuning.Budget = Budget{
				rapid.IntRange(1, 40).Draw(t, "budget"),
				time.Duration(rapid.IntRange(1, 20).Draw(t, "period")) * time.Second,
			}
		}
		c.s = NewSnapshot(c.now)
		answers := []Event{{Outcome: OK, Status: 200}, {Outcome: Client, Status: 404}, {Outcome: Cancelled}}
		for range rapid.IntRange(1, 120).Draw(t, "events") {
			owner := rapid.SampledFrom(crowdNames).Draw(t, "owner")
			switch rapid.IntRange(0, 6).Draw(t, "event") {
			case 0, 1:
				c.ask(owner, rapid.IntRange(0, len(c.waiting[owner])).Draw(t, "place"))
			case 2:
				c.end(owner, rapid.SampledFrom(answers).Draw(t, "answer"))
			case 3:
				c.pass(drawDuration(t, "gap", 300*time.Millisecond))
			case 4:
				c.reserve(owner)
			case 5: // an operator changes the period
				c.tuning.Budget.Period = max(c.tuning.Budget.Period, 1) * time.Duration(rapid.IntRange(1, 3).Draw(t, "longer"))
			case 6: // short of the longest lease
				if !rapid.Bool().Draw(t, "only a moment") && len(c.s.queue.leases) == 0 {
					c.pass(c.tuning.QuotaOrphanAfter)
				}
			}
			c.invariant()
		}
	})
}
