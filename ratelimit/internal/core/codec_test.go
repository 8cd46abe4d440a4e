package core

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReturnsWhatWasEncoded(t *testing.T) {
	tuned := newWorld(t)
	tuned.run("429*3 ok*11 ok*5 500*8 cacheonly/15m")
	if err := tuned.s.Override(tuned.now, map[string]string{"rate_base": "20"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Snapshot{
		"fresh":    NewSnapshot(Instant{Wall: time.Unix(1_800_000_000, 5), Boot: time.Hour, BootID: "b"}),
		"cautious": NewCautiousSnapshot(Instant{Wall: time.Unix(1_800_000_000, 5), Boot: time.Hour, BootID: "b"}),
		"busy":     busySnapshot(t).Clone(),
		"troubled": tuned.s,
		"accounts": accountsSnapshot(t),
	} {
		raw, err := s.AppendBinary([]byte("prefix"))
		if err != nil {
			t.Fatal(err)
		}
		got := busySnapshot(t).Clone() // what was there before must not shine through
		if err := got.Decode(raw[len("prefix"):]); err != nil {
			t.Fatal(err)
		}
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		if diff := cmp.Diff(s.Clone(), got.Clone(), all); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// accountsSnapshot is a snapshot in which everything about accounts is set.
func accountsSnapshot(t testing.TB) Snapshot {
	t.Helper()
	tu := Default()
	tu.LimitedBy = ByAccount
	now := Instant{Wall: time.Unix(1_800_000_000, 5), Boot: time.Hour, BootID: "b"}
	s := NewSnapshot(now)
	list := pool(Account{Name: "a3", Slots: 5, Rate: 7, Quota: Budget{100, time.Hour}},
		Account{Name: "b2", KeySlots: 2, Priority: 3})
	for i := range 30 {
		now.Wall, now.Boot = now.Wall.Add(time.Second), now.Boot+time.Second
		g := s.TryGrant(
			now,
			PermitRequest{Owner: fmt.Sprint("p", i%3), Tuning: &tu, MaxWait: time.Hour, Accounts: list[:1+i%2]},
		)
		e := []Event{
			{Outcome: OK, Status: 200},
			{Outcome: Throttled, Status: 429},
			{Outcome: Client, Status: 401, Key: KeyRefused},
		}[i%29%3*(i/25)]
		if g.Granted && i%4 > 0 {
			s.Record(now, Report{Owner: fmt.Sprint("p", i%3), Tuning: &tu, Pass: g.Pass, Event: e})
		}
	}
	a := s.accounts.byName("a3")
	a.setOverride(s.clock.now, "quota", "7/1h", time.Hour)
	a.setOverride(s.clock.now, enabledKey, "false", 0)
	s.queue.tickets = append(s.queue.tickets, ticket{
		number: s.queue.seq, owner: s.processes.list[0].key, retryAt: s.clock.now,
		key: a.keys[0].id,
	})
	if s.processes.list[1].accounts == nil || len(s.queue.leases) == 0 || a.machine.epoch == 0 ||
		len(a.machine.window.records) == 0 || a.quota.used == 0 {
		t.Fatalf("not all of it is set: %+v", s)
	}
	return s
}

// Reasons are stored by number, so those of earlier versions keep theirs, and a new one is the last.
func TestReasonsKeepTheirNumbers(t *testing.T) {
	want := strings.Fields("- error_ratio consecutive_429 consecutive_failures success_window_ok sustained_errors " +
		"sleep_elapsed probe_ok probe_failed policy retry_after_long operator resume auto_recover retry_after_elapsed " +
		"fresh corrupt_state reset pause offline backoff slot token ceiling turn budget account credentials no_account")
	if diff := cmp.Diff(want, reasonNames[:]); diff != "" {
		t.Errorf("a new reason goes last in state.go, in reasonNames and in this list:\n%s", diff)
	}
	for i := range rules {
		if r := &rules[i]; int(r.Reason) >= len(reasonNames) {
			t.Errorf("reason %d has no name in reasonNames (%s)", r.Reason, r.Condition)
		}
	}
}
