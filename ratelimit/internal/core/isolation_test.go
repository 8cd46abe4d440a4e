package core

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// The same script for a rejoin in pure values: what was done alone counts, what was given
// back alone is free, and nothing of the others is touched.
func TestRejoinInformsTheOthers(t *testing.T) {
	clock := newFakeClock()
	tuning := Default()
	var shared Snapshot
	now := shared.advance(clock.now())
	me, other := shared.at(now, &tuning).join("me").key, shared.at(now, &tuning).join("other").key
	shared.address.machine.permits = 4
	shared.queue.leases = []lease{
		{permit: 1, epoch: 1, owner: me, until: now.add(time.Minute)},
		{permit: 2, epoch: 1, owner: other, until: now.add(time.Minute)},
		{permit: 3, epoch: 1, owner: me, until: now.add(time.Minute)},
	}
	shared.queue.tickets = []ticket{{number: 5, owner: me}, {number: 6, owner: other}}
	shared.queue.seq = 6
	shared.address.quota = usage{since: now, period: time.Hour, used: 10}
	shared.ceiling.grants = []Stamp{now - 5}

	a := NewIsolation(&shared, clock.now(), "me", 1)
	clock.pass(time.Second)
	alone := a.Snapshot.advance(clock.now())
	a.Snapshot.queue.release(PermitID{1, 1})
	a.Snapshot.queue.withdraw(5)
	a.Snapshot.ceiling.add(alone, time.Minute)
	a.Snapshot.address.quota.used += 2
	shared.address.quota.used += 3 // by the others, meanwhile
	shared.ceiling.add(shared.clock.now, time.Minute)
	shared.at(shared.advance(clock.now()), &tuning).join("other") // so it was never alone
	clock.pass(time.Second)
	a.Snapshot.address.machine.pauseUntil = a.Snapshot.advance(clock.now()).add(time.Minute)

	a.Rejoin(&shared, clock.now(), "me", 2)
	var permits, tickets []uint64
	for _, l := range shared.queue.leases {
		permits = append(permits, l.permit)
	}
	for _, q := range shared.queue.tickets {
		tickets = append(tickets, q.number)
	}
	if !slices.Equal(permits, []uint64{2, 3}) || !slices.Equal(tickets, []uint64{6}) {
		t.Errorf("leases %v, tickets %v; want [2 3], [6]", permits, tickets)
	}
	if want := []Stamp{now - 5, now, alone}; !slices.Equal(shared.ceiling.grants, want) {
		t.Errorf("grants %v, want %v", shared.ceiling.grants, want)
	}
	if shared.address.quota.used != 15 {
		t.Errorf("%d used of the budget, want 15", shared.address.quota.used)
	}
	if left := shared.address.machine.pauseUntil.sub(shared.clock.now); left != time.Minute {
		t.Errorf("%v of the pause are left", left)
	}
}

// Where several processes were alone, the first to come back makes room for what the others may have granted. It is
// never the reason for silence that what they did is not known yet.
func TestRoomIsReservedForIsolatedProcesses(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // grants within the window that all know of
		heard  int // others that have been heard of since
		want   int // permits that may be granted at once
	}{
		{"nothing was granted before: everybody has its part", 0, 0, 10},
		{"a few", 4, 0, 40 - 4 - 3*6},
		{"all had granted more than their part: they could grant nothing", 12, 0, 28},
		{"the others are back", 0, 3, 40},
		{"one of them is", 0, 1, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock, tuning := newFakeClock(), Default()
			var shared Snapshot
			since := shared.advance(clock.now())
			for _, id := range []string{"me", "a", "b", "c"} {
				shared.at(since, &tuning).join(id)
			}
			for range c.before {
				shared.ceiling.add(since, tuning.CeilingWindow)
			}
			mine, late := NewIsolation(&shared, clock.now(), "me", 1), NewIsolation(&shared, clock.now(), "c", 2)
			clock.pass(300 * time.Millisecond)
			now := shared.advance(clock.now())
			for _, id := range []string{"a", "b", "c"}[:c.heard] {
				shared.at(now, &tuning).join(id)
			}
			mine.Rejoin(&shared, clock.now(), "me", 4)
			if got := tuning.Ceiling - shared.ceiling.grantsWithin(now, tuning.CeilingWindow); got != c.want {
				t.Errorf("room for %d, want %d", got, c.want)
			}
			clock.pass(tuning.CeilingWindow)
			now = shared.advance(clock.now())
			late.Rejoin(&shared, clock.now(), "c", 4)
			if got := shared.ceiling.grantsWithin(now, tuning.CeilingWindow); got != 0 {
				t.Errorf("the same trouble counts twice: %d", got)
			}
		})
	}
}

// What a process did with the accounts while it was alone is brought along: use of quotas, and a key that was refused.
func TestAccountsOfAProcessThatWasAlone(t *testing.T) {
	tu := Default()
	at := Instant{Wall: time.Unix(1_800_000_000, 0), Boot: time.Hour, BootID: "b"}
	later := func(d time.Duration) Instant {
		at.Wall, at.Boot = at.Wall.Add(d), at.Boot+d
		return at
	}
	list := pool(Account{Name: "a2", Quota: Budget{100, time.Hour}})
	one := func(s *Snapshot, e Event) {
		t.Helper()
		g := s.TryGrant(later(time.Second), PermitRequest{Owner: "p", Tuning: &tu, MaxWait: time.Hour, Accounts: list})
		if !g.Granted {
			t.Fatalf("%+v", g)
		}
		s.Record(later(time.Second), Report{Owner: "p", Tuning: &tu, Pass: g.Pass, Event: e})
	}
	s := NewSnapshot(at)
	one(&s, ok())
	a := NewIsolation(&s, later(time.Second), "p", 1)
	for range 4 {
		one(&a.Snapshot, ok())
	}
	one(&a.Snapshot, Event{Outcome: Client, Status: 401, Key: KeyRefused})
	a.Rejoin(&s, later(time.Second), "p", 1)
	st := s.Status(at, tu, "p").Accounts[0]
	refused := 0
	for _, k := range st.Keys {
		if k.Standing == StandingRefused {
			refused++
		}
	}
	if st.QuotaUsed != 6 || refused != 1 {
		t.Errorf("%+v", st)
	}
}

// A period that began, or began anew, while two machines were alone counts what both of them used.
func TestPeriodsThatBeganAlone(t *testing.T) {
	tu := Default()
	tu.Budget = Budget{100, time.Hour}
	list := pool(Account{Name: "a1", Quota: Budget{100, time.Hour}})
	for name, before := range map[string]bool{"the first period": false, "the next period": true} {
		clock := newFakeClock()
		use := func(s *Snapshot, owner string, n int) {
			for range n {
				clock.pass(time.Second)
				g := s.TryGrant(clock.now(), PermitRequest{Owner: owner, Tuning: &tu, MaxWait: time.Hour, Accounts: list})
				s.Record(clock.now(), Report{Owner: owner, Tuning: &tu, Pass: g.Pass, Event: ok()})
			}
		}
		shared := NewSnapshot(clock.now())
		if before {
			use(&shared, "a", 7)
		}
		a, b := NewIsolation(&shared, clock.now(), "a", 1), NewIsolation(&shared, clock.now(), "b", 2)
		if clock.pass(time.Hour); !before {
			b = NewIsolation(nil, clock.now(), "b", 2) // it has never seen the others
		}
		use(&a.Snapshot, "a", 20)
		use(&b.Snapshot, "b", 30)
		a.Rejoin(&shared, clock.now(), "a", 2)
		b.Rejoin(&shared, clock.now(), "b", 2)
		use(&shared, "a", 1)
		if st := shared.Status(clock.now(), tu, "a"); st.BudgetUsed != 51 || st.Accounts[0].QuotaUsed != 51 {
			t.Errorf("%s: %d used of the budget, %d of the quota, want 51", name, st.BudgetUsed, st.Accounts[0].QuotaUsed)
		}
	}
}

// The accounts that two machines have known apart fit into one state.
func TestRejoinKeepsNoMoreAccountsThanTheStateHolds(t *testing.T) {
	clock, tu := newFakeClock(), Default()
	ask := func(s *Snapshot, prefix string) {
		for i := range maxAccounts {
			list := pool(Account{Name: prefix + strconv.Itoa(i)})
			g := s.TryGrant(clock.now(), PermitRequest{Owner: prefix, Tuning: &tu, Accounts: list})
			s.Record(clock.now(), Report{Owner: prefix, Tuning: &tu, Pass: g.Pass, Event: ok()})
		}
	}
	shared := NewSnapshot(clock.now())
	a := NewIsolation(&shared, clock.now(), "a", 1)
	ask(&shared, "b")
	ask(&a.Snapshot, "a")
	a.Rejoin(&shared, clock.now(), "a", 2)
	if n := len(shared.accounts.list); n != maxAccounts {
		t.Errorf("%d accounts", n)
	}
}

// Of two limits that were learned apart the lower one holds, the address's and each account's.
func TestTheLowerOfTwoLearnedLimitsHolds(t *testing.T) {
	for _, c := range []struct{ ours, alone, want int }{{0, 12, 12}, {20, 12, 12}, {12, 20, 12}, {12, 0, 12}} {
		clock, tu := newFakeClock(), Default()
		tu.LimitedBy = ByAccount
		s := NewSnapshot(clock.now())
		ask := PermitRequest{Owner: "me", Tuning: &tu, MaxWait: time.Hour, Accounts: pool(Account{Name: "a1"})}
		s.TryGrant(clock.now(), ask)
		a := NewIsolation(&s, clock.now(), "me", 1)
		both := func(s *Snapshot) []*learnedLimit {
			return []*learnedLimit{&s.address.machine.learned, &s.accounts.list[0].machine.learned}
		}
		for i := range both(&s) {
			*both(&s)[i] = learnedLimit{maxAnswers: c.ours, window: tu.CeilingWindow, last429: s.clock.now}
			*both(&a.Snapshot)[i] = learnedLimit{maxAnswers: c.alone, window: tu.CeilingWindow, last429: s.clock.now}
		}
		clock.pass(time.Second)
		a.Rejoin(&s, clock.now(), "me", 1)
		for i, l := range both(&s) {
			if l.maxAnswers != c.want {
				t.Errorf("%+v: scope %d has learned %d", c, i, l.maxAnswers)
			}
		}
	}
}

// Several processes return to a coordinator that has lost its state, after one that knew nothing of it. What each of
// them knows is kept: requests of the budget, and pauses.
func TestEachProcessRestoresWhatItKnows(t *testing.T) {
	clock := newFakeClock()
	tuning := Default()
	tuning.Budget = Budget{Requests: 100, Period: time.Hour}
	first := NewSnapshot(clock.now())
	use := func(s *Snapshot, n int) {
		a := s.accounts.getOrAdd(s.advance(clock.now()), "main")
		for range n {
			s.address.quota.count(s.clock.now, tuning.Budget)
			a.quota.count(s.clock.now, tuning.Budget)
		}
	}
	use(&first, 40)
	one, two := first.Clone(), first.Clone() // as two processes saw it last
	clock.pass(10 * time.Second)

	s := NewSnapshot(clock.now()) // by a third one, which has just begun
	use(&s, 3)
	clock.pass(time.Second)
	RestoreLost(&s, &one, clock.now(), "one")
	use(&s, 5)
	s.address.machine.pauseUntil = s.clock.now.add(time.Minute)
	clock.pass(time.Second)
	RestoreLost(&s, &two, clock.now(), "two")
	use(&s, 1)
	want := usage{first.address.quota.since, time.Hour, 40 + 3 + 5 + 1}
	if got := s.address.quota; got != want {
		t.Errorf("budget %+v, want %+v", got, want)
	}
	if got := s.accounts.byName("main").quota; got != want {
		t.Errorf("quota %+v, want %+v", got, want)
	}
	if left := s.address.machine.pauseUntil.sub(s.clock.now); left != 59*time.Second {
		t.Errorf("%v of the pause are left", left)
	}

	clock.pass(2 * recentActivity)
	s = NewSnapshot(clock.now()) // it is used for long before anybody else comes
	use(&s, 3)
	clock.pass(2 * recentActivity)
	for range 2 {
		RestoreLost(&s, &two, clock.now(), "two")
	}
	if want.used = 43; s.address.quota != want {
		t.Errorf("budget %+v, want %+v", s.address.quota, want)
	}
}

// What a process had reserved and has given back while it was alone is free again, and what it has reserved there is
// still reserved.
func TestRejoinSettlesReservations(t *testing.T) {
	for alone, want := range map[int]int{-2: 1, 2: 4} {
		clock := newFakeClock()
		tuning := Default()
		var shared Snapshot
		v := shared.at(shared.advance(clock.now()), &tuning)
		v.join("me").reserved = 3
		v.join("other").reserved = 7
		a := NewIsolation(&shared, clock.now(), "me", 1)
		clock.pass(time.Second)
		me := a.Snapshot.processes.byID("me")
		me.reserved += alone
		if alone > 0 { // one of the two is under way: the shared state does not know its permit
			a.Snapshot.queue.leases = []lease{{permit: firstIsolatedNumber + 1, owner: me.key, usesReservation: true}}
		}
		shared.processes.byID("other").reserved = 8
		a.Rejoin(&shared, clock.now(), "me", 2)
		if got := shared.processes.byID("me").reserved; got != want {
			t.Errorf("%d are reserved, want %d", got, want)
		}
		if got := shared.processes.byID("other").reserved; got != 8 {
			t.Errorf("%d are reserved by the other, want 8", got)
		}
	}
}
