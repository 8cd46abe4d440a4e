package decide

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// However long each series takes, those that need a person get one in the order in which they came, and a series
// that needs none holds up nobody for longer than it takes.
func TestTurnsComeInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delays := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 12).Draw(rt, "delays")
		asks := rapid.SliceOfN(rapid.Bool(), len(delays), len(delays)).Draw(rt, "asks")
		synctest.Test(t, func(*testing.T) {
			order := new(turns)
			var mu sync.Mutex
			var got, want []int
			var all sync.WaitGroup
			for i, d := range delays {
				mine := order.next()
				if asks[i] {
					want = append(want, i)
				}
				all.Go(func() {
					defer mine.End()
					time.Sleep(time.Duration(d) * time.Millisecond)
					if !asks[i] {
						return
					}
					if err := mine.wait(context.Background()); err != nil {
						return
					}
					mu.Lock()
					got = append(got, i)
					mu.Unlock()
				})
			}
			all.Wait()
			if !slices.Equal(got, want) {
				rt.Fatalf("asked in order %v, want %v", got, want)
			}
		})
	})
}

func TestATurnIsNotWaitedForBeyondTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := new(turns)
		first, second := order.next(), order.next()
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error)
		go func() { waited <- second.wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("waited: %v", err)
		}
		second.End()
		first.End()
		if err := order.next().wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestNobodyToAskMeansNoTurns(t *testing.T) {
	mine := new(Deciders).Turn()
	if err := mine.wait(context.Background()); err != nil {
		t.Error(err)
	}
	mine.End()
}
