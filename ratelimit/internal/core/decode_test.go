package core

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func FuzzDecode(f *testing.F) {
	w := newWorld(&testing.T{})
	w.run("ok*5 500 ok*40 404")
	raw, _ := w.s.AppendBinary(nil)
	f.Add(raw)
	f.Add(raw[:len(raw)-1])
	with := accountsSnapshot(f)
	raw, _ = with.AppendBinary(nil)
	f.Add(raw)
	f.Add(raw[:len(raw)-9])
	f.Add([]byte{})
	f.Add([]byte{2})
	f.Add([]byte(strings.Repeat("\xff", 300)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Snapshot
		if err := s.Decode(b); err != nil {
			return
		}
		// Whatever could be decoded can be worked with.
		now := Instant{Wall: time.Unix(1_800_000_000, 0), Boot: time.Hour, BootID: "x"}
		tu := Default()
		tu.LimitedBy = LimitedBy(len(b) % 2)
		g := s.TryGrant(now, PermitRequest{
			Owner: "p", Tuning: &tu, MaxWait: time.Hour,
			Accounts: pool(Account{Name: "a3", Slots: 2}, Account{Name: "z1"}),
		})
		s.Record(now, Report{Owner: "p", Tuning: &tu, Pass: g.Pass, Event: Event{Outcome: Throttled, Status: 429}})
		s.Status(now, tu, "p")
		if _, err := s.AppendBinary(nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	s := NewSnapshot(Instant{Wall: time.Unix(1_800_000_000, 0)})
	raw, _ := s.AppendBinary(nil)
	var got Snapshot
	for i := range raw {
		if err := got.Decode(raw[:i]); err == nil {
			t.Fatalf("cut to %d bytes", i)
		}
	}
	if err := got.Decode(append(slices.Clone(raw), 0)); err == nil {
		t.Error("with something behind")
	}
	raw[0] = SnapshotVersion + 1
	if _, ok := got.Decode(raw).(*SnapshotVersionError); !ok { //nolint:errorlint // exactly this type
		t.Error("a newer version")
	}
}
