package ratelimit

import (
	"context"
	"sync"
	"testing"
	"time"
)

func BenchmarkAcquireDone(b *testing.B) {
	tu := Default()
	tu.Ceiling, tu.CeilingWindow = 400, time.Millisecond
	tu.RateBase, tu.BucketCap = 300, 300
	l, _ := New(Config{Store: new(patient), Tuning: tu})
	b.ReportAllocs()
	for b.Loop() {
		p, err := l.Acquire(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		p.Report(Event{Outcome: OK, Status: 200})
	}
}

// patient is a store in which time passes as fast as it is needed.
type patient struct {
	mu   sync.Mutex
	s    Snapshot
	boot time.Duration
}

func (p *patient) Update(_ context.Context, fn func(Instant, *Snapshot) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.boot += 10 * time.Millisecond
	return fn(Instant{Wall: time.Unix(1_800_000_000, 0).Add(p.boot), Boot: p.boot}, &p.s)
}
