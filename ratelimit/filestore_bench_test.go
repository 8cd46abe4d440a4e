package ratelimit

import (
	"context"
	"testing"
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
		at := s.advance(now)
		for range defaults.WindowRecords {
			s.machine.window.records = append(s.machine.window.records, record{at: millis(at), outcome: OK})
		}
		for range defaults.Ceiling {
			s.ceiling.add(at, defaults.CeilingWindow)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	update := func(now Instant, s *Snapshot) error {
		s.advance(now)
		return nil
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := st.Update(ctx, update); err != nil {
			b.Fatal(err)
		}
	}
}
