package ratelimit

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReturnsWhatWasEncoded(t *testing.T) {
	tuned := newWorld(t)
	tuned.run("429*3 ok*11 ok*5 500*8 cacheonly/15m")
	if err := tuned.s.override(tuned.s.clock.now, []override{{key: "rate_base", value: "20"}}, time.Hour); err != nil {
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

// Version 1 was the first one released. Blocks, pauses, budget and slots that it has noted hold.
func TestDecodeReadsTheVersionBefore(t *testing.T) {
	for _, tt := range []struct {
		name, hex string
		show      func(s *Snapshot, t *Tuning) string
		want      string
	}{
		{
			"CacheOnly by a long Retry-After",
			"01acf4e798b8e986ea31acf4e798b8e986ea31acf4c0bafad10104626f6f740104818ce9ef9f34020a978ce9ef9f3400ffff" +
				"96d9ec45000002978ce9ef9f34000000000000000000000000000000040000000000804140ffff96d9ec4500009da8d6b907" +
				"0002abdc9f1bacdc9f1b0200008e9f8cb00d1500000000000000000000000000020000000000000000000000000000000000" +
				"000000000000000000000000000000000000000000000000000000008280c58bc6d101540000010270310002000000000080" +
				"41405080eaade90708200602",
			func(s *Snapshot, t *Tuning) string {
				now := s.clock.now
				return fmt.Sprint(s.State(), " ", s.machine.reason, " ", s.machine.blockUntil.sub(now), " ", s.machine.pauseUntil.sub(now),
					" used ", s.budget.at(now).used, " reserved ", s.reserved(now, t), " ", s.users())
			},
			"CacheOnly retry_after_long 20m0s 20m0s used 42 reserved 3 [p1]",
		}, {
			"Sleep after 429s",
			"01ecade6fad9e986ea31ecade6fad9e986ea31ecadbf9c9cd20104626f6f740102828ce9ef9f340202858ce9ef9f34ffdf8b" +
				"b459ffdf8bb45900000a858ce9ef9f3480e08bb45900000000000000000000000000000a000000000080414000000093a8d6" +
				"b907000100040000969f8cb00d01000100010000000000010000000000000000000000010000000000000000000000000000" +
				"00000000000000000000000000000000000000000000000000000001027031000200000000008041405080eaade907082000" +
				"00",
			func(s *Snapshot, _ *Tuning) string {
				now := s.clock.now
				return fmt.Sprint(s.State(), " ", s.machine.reason, " ", s.machine.sleepUntil.sub(now), " streak ", s.machine.streak429,
					" limit ", s.machine.trouble.limit)
			},
			"Sleep consecutive_429 12s streak 5 limit true",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := hex.DecodeString(tt.hex)
			if err != nil {
				t.Fatal(err)
			}
			var s Snapshot
			if err := s.Decode(raw); err != nil {
				t.Fatal(err)
			}
			tu := Default()
			if got := tt.show(&s, &tu); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			again, _ := s.AppendBinary(nil)
			if again[0] != plainVersion || s.Decode(again) != nil {
				t.Error("it is not written on as the present version")
			}
		})
	}
}

// accountsSnapshot is a snapshot in which everything about accounts is set.
func accountsSnapshot(t testing.TB) Snapshot {
	t.Helper()
	tu := Default()
	tu.LimitedBy = ByAccount
	now := Instant{Wall: time.Unix(1_800_000_000, 5), Boot: time.Hour, BootID: "b"}
	s := NewSnapshot(now)
	list := pool(Account{Name: "a3", Slots: 5, Rate: 7, Quota: Budget{100, time.Hour}}, Account{Name: "b2", KeySlots: 2, Priority: 3})
	for i := range 30 {
		now.Wall, now.Boot = now.Wall.Add(time.Second), now.Boot+time.Second
		g := s.TryGrant(now, Ask{Owner: fmt.Sprint("p", i%3), Tuning: &tu, Patience: time.Hour, Accounts: list[:1+i%2]})
		e := []Event{{Outcome: OK, Status: 200}, {Outcome: Throttled, Status: 429}, {Outcome: Client, Status: 401, Key: KeyRefused}}[i%29%3*(i/25)]
		if g.Granted && i%4 > 0 {
			s.Record(now, Report{Owner: fmt.Sprint("p", i%3), Tuning: &tu, Pass: g.Pass, Event: e})
		}
	}
	a := s.accountBy("a3")
	a.override(s.clock.now, "quota", "7/1h", time.Hour)
	a.override(s.clock.now, enabledKey, "false", 0)
	s.slots.tickets = append(s.slots.tickets, ticket{number: s.slots.seq, owner: s.processes[0].key, due: s.clock.now, key: a.keys[0].id})
	if len(s.terms) != 2 || len(s.slots.leases) == 0 || a.machine.epoch == 0 || len(a.machine.window.records) == 0 || a.quota.used == 0 {
		t.Fatalf("not all of it is set: %+v", s)
	}
	return s
}

// Who has no account writes what programs read that know none; who has some is refused by them as of a newer version.
func TestTheVersionSaysWhetherThereAreAccounts(t *testing.T) {
	plain, with := busySnapshot(t).Clone(), accountsSnapshot(t)
	if raw, _ := plain.AppendBinary(nil); raw[0] != plainVersion {
		t.Errorf("without accounts: version %d", raw[0])
	}
	if raw, _ := with.AppendBinary(nil); raw[0] != SnapshotVersion {
		t.Errorf("with accounts: version %d", raw[0])
	}
}
