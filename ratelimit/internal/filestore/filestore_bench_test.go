package filestore_test

import (
	"context"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/machine"
)

// BenchmarkFileStoreUpdate is one update of a busy snapshot by the only process.
func BenchmarkFileStoreUpdate(b *testing.B) {
	dir := b.TempDir()
	st, err := filestore.Open(dir, filestore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	ctx := context.Background()
	err = st.Update(ctx, func(now ratelimit.Instant, s *ratelimit.Snapshot) error {
		t := ratelimit.Default()
		t.RateBase, t.BucketCap = 1000, 1000
		for range t.WindowRecords {
			now.Wall, now.Boot = now.Wall.Add(30*time.Millisecond), now.Boot+30*time.Millisecond
			g := s.TryGrant(now, machine.Ask{Owner: "p", Tuning: &t})
			s.Record(now, machine.Report{
				Owner: "p", Tuning: &t, Pass: g.Pass,
				Event: ratelimit.Event{Outcome: ratelimit.OK, Status: 200},
			})
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	update := func(now ratelimit.Instant, s *ratelimit.Snapshot) error {
		s.AdvanceClock(now)
		return nil
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := st.Update(ctx, update); err != nil {
			b.Fatal(err)
		}
	}
}
