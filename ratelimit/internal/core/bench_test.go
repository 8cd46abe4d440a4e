package core

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkCodec(b *testing.B) {
	s := busySnapshot(b)
	raw, _ := s.AppendBinary(nil)
	var to Snapshot
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		raw, _ = s.AppendBinary(raw[:0])
		if err := to.Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// busySnapshot is one of eight processes at work for a minute.
func busySnapshot(tb testing.TB) *Snapshot {
	now := Instant{
		Wall: time.Unix(1_800_000_000, 123456789), Boot: 77 * time.Hour,
		BootID: "6a1d2a5c-87cf-4a52-92b2-0e1c4b1f9f5e",
	}
	s := NewSnapshot(now)
	tu := Default()
	for i := range 4000 {
		now.Wall, now.Boot = now.Wall.Add(28_571_429), now.Boot+28_571_429
		owner := fmt.Sprintf("0123456789abcdef-%d", i%8)
		g := s.TryGrant(now, PermitRequest{Owner: owner, Tuning: &tu, MaxWait: time.Hour})
		if g.Granted && len(s.queue.leases) > 14 {
			e := Event{Outcome: OK, Status: 200}
			if i%40 == 0 {
				e = Event{Outcome: Network}
			}
			l := s.queue.leases[0]
			s.Record(now, Report{Owner: s.ownerOf(l.owner), Tuning: &tu, Pass: PermitID{l.permit, l.epoch}, Event: e})
		}
	}
	for len(s.queue.tickets) < 32 {
		s.TryGrant(now, PermitRequest{
			Owner: fmt.Sprintf("0123456789abcdef-%d", len(s.queue.tickets)%8), Tuning: &tu,
			MaxWait: time.Hour,
		})
	}
	if len(s.address.machine.window.records) != tu.WindowRecords || len(s.queue.leases) < 10 {
		tb.Fatalf("not busy: %d records, %d leases", len(s.address.machine.window.records), len(s.queue.leases))
	}
	return &s
}

func TestABusySnapshotIsSmall(t *testing.T) {
	raw, _ := busySnapshot(t).AppendBinary(nil)
	t.Logf("%d bytes", len(raw))
	if len(raw) > 4096-64 {
		t.Errorf("%d bytes", len(raw))
	}
}
