package gateway

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Against a list of all requests: what a window lets through never exceeds twice the limit in any span (two cells), is
// exact within one cell, and after the wait that it told there is room.
func TestWindowAgainstAListOfAll(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(r, "limit")
		const span = time.Minute
		w := window{limit: limit, span: span}
		now := time.Unix(1_700_000_000, 0)
		var passed []time.Time
		for range rapid.IntRange(1, 200).Draw(r, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, int(10*time.Second)).Draw(r, "pause")))
			wait, ok := w.allow(now)
			if ok {
				passed = append(passed, now)
			} else {
				if wait <= 0 || wait > 2*span {
					r.Fatalf("wait %s", wait)
				}
				later := w
				if _, ok := later.allow(now.Add(wait)); !ok {
					r.Fatalf("no room after the wait of %s: %+v at %s", wait, w, now.Sub(w.start))
				}
				early := &window{limit, span, w.start, w.current, w.previous}
				if _, ok := early.allow(now.Add(wait / 2)); ok && wait > time.Second &&
					w.current < w.limit && w.previous == 0 {
					r.Fatal("it told to wait for too long")
				}
			}
			within := 0
			for _, at := range passed {
				if now.Sub(at) < span {
					within++
				}
			}
			if within > 2*limit {
				r.Fatalf("%d within a span, limit %d", within, limit)
			}
			if ok && w.estimate(now) > float64(limit)+1 {
				r.Fatalf("weight %f", w.estimate(now))
			}
		}
	})
}

func TestWindowCountsWhatPassed(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	w := window{limit: 2, span: time.Minute}
	at := func(d time.Duration) bool { _, ok := w.allow(start.Add(d)); return ok }
	for _, row := range []struct {
		at time.Duration
		ok bool
	}{
		{0, true},
		{time.Second, true},
		{2 * time.Second, false},
		{59 * time.Second, false},
		{61 * time.Second, true}, // a little of the first cell has faded
		{62 * time.Second, false},
		{92 * time.Second, true}, // half of it
		{3 * time.Minute, true},
		{3*time.Minute + time.Second, true},
	} {
		if got := at(row.at); got != row.ok {
			t.Errorf("after %s: %v", row.at, got)
		}
	}
	w.refund()
	if !at(3*time.Minute + 2*time.Second) {
		t.Error("what was taken back counts")
	}
	none := window{}
	for range 10 {
		if _, ok := none.allow(start); !ok {
			t.Error("a window without a limit refuses")
		}
	}
}
