package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
)

// batchOf makes a directory with the given names.
func batchOf(dir string, names ...string) Batch {
	b := Batch{Path: dir}
	for _, n := range names {
		b.Files = append(b.Files, library.File{Path: dir + "/" + n, Name: n})
	}
	return b
}

func produce(batches ...Batch) Producer {
	return func(_ context.Context, yield func(Batch) error) error {
		for _, b := range batches {
			if err := yield(b); err != nil {
				return err
			}
		}
		return nil
	}
}

// decider is a matcher that takes some virtual time and says "matched".
type decider struct {
	delay    func() time.Duration
	underway atomic.Int32
	most     atomic.Int32
}

func (d *decider) Decide(ctx context.Context, s match.Series, decided func(match.File, match.Decision)) {
	n := d.underway.Add(1)
	defer d.underway.Add(-1)
	for m := d.most.Load(); n > m && !d.most.CompareAndSwap(m, n); m = d.most.Load() {
	}
	out := match.Decision{Outcome: match.Outcome{Status: match.Matched}}
	timer := time.NewTimer(d.delay())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		out = match.Decision{Outcome: match.Outcome{Status: match.Pending, Err: ctx.Err()}}
	}
	for _, f := range s.Files {
		decided(f, out)
	}
}

func TestLinesLeaveInTheOrderInWhichFilesCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		d := &decider{delay: func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(rng.IntN(500)) * time.Millisecond
		}}
		var batches []Batch
		var want []string
		for dir := range 40 {
			var names []string
			for n := range 1 + dir%7 {
				names = append(names, fmt.Sprintf("Title %c%c - %02d.mkv", 'A'+dir%26, 'A'+n%3, n+1))
			}
			b := batchOf(fmt.Sprintf("lib/%02d", dir), names...)
			for _, f := range b.Files {
				want = append(want, f.Path)
			}
			batches = append(batches, b)
		}
		var got []string
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 8}}
		err := p.run(t.Context(), produce(batches...), func(l *Line) error {
			got = append(got, l.Path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if d.most.Load() > 8 {
			t.Errorf("%d series at once, at most 8 were allowed", d.most.Load())
		}
	})
}

func TestOutputStartsBeforeTheWalkEndsAndTheWalkWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &decider{delay: func() time.Duration { return time.Millisecond }}
		var yielded atomic.Int64
		emitted, mostAhead := 0, 0
		walk := func(_ context.Context, yield func(Batch) error) error {
			for i := range 3000 {
				if err := yield(batchOf(fmt.Sprintf("lib/%04d", i), "Title - 01.mkv")); err != nil {
					return err
				}
				yielded.Add(1)
			}
			return nil
		}
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 4}}
		err := p.run(t.Context(), walk, func(*Line) error {
			time.Sleep(10 * time.Millisecond) // a slow reader
			emitted++
			mostAhead = max(mostAhead, int(yielded.Load())-emitted)
			return nil
		})
		if err != nil || emitted != 3000 {
			t.Fatalf("%d lines, %v", emitted, err)
		}
		if mostAhead > maxHeldLines+1 {
			t.Errorf("the walk was %d lines ahead, at most %d may be held", mostAhead, maxHeldLines)
		}
	})
}

func TestALargeDirectoryIsAdmittedInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 2*maxHeldLines + 7 {
			names = append(names, fmt.Sprintf("Title - %04d.mkv", i))
		}
		n := 0
		d := &decider{delay: func() time.Duration { return time.Millisecond }}
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 2}}
		err := p.run(t.Context(), produce(batchOf("lib", names...)), func(*Line) error { n++; return nil })
		if err != nil || n != len(names) {
			t.Errorf("%d of %d lines, %v", n, len(names), err)
		}
	})
}

func TestAnInterruptedRunReportsItsDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := errors.New("interrupted by the test")
		ctx, cancel := context.WithCancelCause(t.Context())
		var batches []Batch
		for i := range 50 {
			batches = append(batches, batchOf(fmt.Sprintf("lib/%02d", i), "Title - 01.mkv"))
		}
		var calls atomic.Int32
		d := &decider{delay: func() time.Duration {
			if calls.Add(1) <= 3 {
				return time.Second
			}
			return time.Hour
		}}
		time.AfterFunc(2*time.Second, func() { cancel(slow) })
		n := 0
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 4}}
		err := p.run(ctx, produce(batches...), func(*Line) error { n++; return nil })
		if !errors.Is(err, slow) || n != 3 {
			t.Errorf("%d lines, %v", n, err)
		}
	})
}

func TestAnOutputThatFailsEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk is full")
		var batches []Batch
		for i := range 5000 {
			batches = append(batches, batchOf(fmt.Sprintf("lib/%02d", i), "Title - 01.mkv"))
		}
		n := 0
		d := &decider{delay: func() time.Duration { return time.Millisecond }}
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 4}}
		err := p.run(t.Context(), produce(batches...), func(*Line) error { n++; return full })
		if !errors.Is(err, full) || n != 1 {
			t.Errorf("%d lines were tried, %v", n, err)
		}
	})
}

func TestFailuresAndSkipsAreLinesOfTheirOwn(t *testing.T) {
	gone := errors.New("gone")
	b := batchOf("lib", "a - 01.mkv", "sample.mkv")
	b.Files[1].Skip = "sample"
	var got []string
	d := &decider{delay: func() time.Duration { return 0 }}
	p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 1}}
	err := p.run(t.Context(), produce(Batch{Path: "nowhere", Err: gone}, b), func(l *Line) error {
		got = append(got, strings.TrimSpace(fmt.Sprint(l.Path, " ", l.Decision.Status, " ", l.Decision.Reason)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"nowhere error", "lib/a - 01.mkv matched", "lib/sample.mkv skipped sample"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestThePipelineCountsWhatItHasFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counts Counts
		d := &decider{delay: func() time.Duration { return time.Second }}
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 1, Counts: &counts}}
		seen := make(chan bool)
		walk := func(ctx context.Context, yield func(Batch) error) error {
			if err := yield(batchOf("a", "One - 01.mkv", "One - 02.mkv", "Two - 01.mkv")); err != nil {
				return err
			}
			<-seen
			return yield(Batch{Path: "b", Err: errors.New("closed")})
		}
		lines := 0
		err := p.run(t.Context(), walk, func(*Line) error {
			if lines++; lines == 3 {
				if counts.Files.Load() != 3 || counts.Series.Load() != 2 || counts.Walked.Load() {
					t.Errorf("in the middle: %d files, %d series, walked %v", counts.Files.Load(), counts.Series.Load(),
						counts.Walked.Load())
				}
				close(seen)
			}
			return nil
		})
		if err != nil || counts.Files.Load() != 4 || counts.Series.Load() != 2 || !counts.Walked.Load() {
			t.Errorf("at the end: %d files, %d series, walked %v, %v", counts.Files.Load(), counts.Series.Load(),
				counts.Walked.Load(), err)
		}
	})
}

// An interruption also ends the walk, but not all folders have been read then.
func TestAnInterruptedWalkHasNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counts Counts
		ctx, cancel := context.WithCancel(t.Context())
		d := &decider{delay: func() time.Duration { return time.Second }}
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 1, Counts: &counts}}
		walk := func(ctx context.Context, yield func(Batch) error) error {
			if err := yield(batchOf("a", "One - 01.mkv")); err != nil {
				return err
			}
			cancel()
			return yield(batchOf("b", "Two - 01.mkv"))
		}
		err := p.run(ctx, walk, func(*Line) error { return nil })
		if !errors.Is(err, context.Canceled) || counts.Walked.Load() {
			t.Errorf("walked %v, %v", counts.Walked.Load(), err)
		}
	})
}

// The walk's end is never told before its last files: what is left would be counted too low.
func TestTheEndOfTheWalkIsReportedWithAllFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counts Counts
		d := &decider{delay: func() time.Duration { return time.Second }}
		p := &pipeline{Config: Config{Decider: d, MaxConcurrent: 1, Counts: &counts}}
		walk := produce(batchOf("a", "One - 01.mkv"), batchOf("b", "Two - 01.mkv"), batchOf("c", "Three - 01.mkv"),
			batchOf("d", "Four - 01.mkv"))
		err := p.run(t.Context(), walk, func(*Line) error {
			if counts.Walked.Load() && counts.Files.Load() != 4 {
				t.Errorf("all folders are read, and there are %d files", counts.Files.Load())
			}
			return nil
		})
		if err != nil || counts.Files.Load() != 4 || !counts.Walked.Load() {
			t.Errorf("at the end: %d files, walked %v, %v", counts.Files.Load(), counts.Walked.Load(), err)
		}
	})
}
