package ratelimit

import (
	"context"
	"testing"
	"time"
)

// BenchmarkFileStoreUpdate is one update of a busy snapshot by the only process.
func BenchmarkFileStoreUpdate(b *testing.B) {
	dir := b.TempDir()
	st, err := OpenFileStore(dir, FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	ctx := context.Background()
	err = st.Update(ctx, func(now Instant, s *Snapshot) error {
		t := Default()
		t.RateBase, t.BucketCap = 1000, 1000
		for range t.WindowRecords {
			now.Wall, now.Boot = now.Wall.Add(30*time.Millisecond), now.Boot+30*time.Millisecond
			g := s.TryGrant(now, Ask{Owner: "p", Tuning: &t})
			s.Record(now, Report{Owner: "p", Tuning: &t, Pass: g.Pass, Event: Event{Outcome: OK, Status: 200}})
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	update := func(now Instant, s *Snapshot) error {
		s.Touch(now)
		return nil
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := st.Update(ctx, update); err != nil {
			b.Fatal(err)
		}
	}
}
