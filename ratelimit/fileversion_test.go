package ratelimit

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// version1 is what version 1 has written 1.7e9 seconds after 1970 with 1 h since boot "b": after three good answers of
// a budget of 10 in 24h, a 429 that says to wait 100 s, eight failures in a row, or an operator's stop.
var version1 = map[string]string{
	"pause": "AYCA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgEBgNCV/7wxAg+E0JX/vDEA/5+3h+kFAAAChNCV/7wxAAAGAAAAAAAAAAAA" +
		"AAAAAgAAAAAAAAAAAAAEAAAAAqfy/mwABAAAAAAAAACAxJ/VDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
		"AAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAIIAAABEDAwMTEyMjMzNDQ1NTY2YWEAAgAAAAAAgEFAUIDqrekHCCAAAg==",
	"sleep": "AYCA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgECgdCV/7wxAgOL0JX/vDH/09vSDwAAAAAAABAAAAAAAAAAAAAAAAAAAAAA" +
		"AAAAgEFAAAAArfrcqwIACwAAAAAAAAAAAAAAAAAAgMSf1QwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
		"AAAACwAAAAAAAAAAAAAAAAAAAAAAAAACBgAAARAwMDExMjIzMzQ0NTU2NmFhAAIAAAAAAIBBQFCA6q3pBwggAAI=",
	"cacheonly": "AYCA0OLGv86XL4CA0OLGv86XL4CAxYvG0QEBYgEEgdCV/7wxAguD0JX/vDEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACA" +
		"QUAAAADdld9RAAMAAAAAAACAxJ/VDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADAAAAAAAAAAAA" +
		"AAAAAAAAAAAAAAIGAAABEDAwMTEyMjMzNDQ1NTY2YWEAAgAAAAAAgEFAUIDqrekHCCAAAg==",
}

func TestStateOfTheVersionBeforeIsReadAndWrittenOn(t *testing.T) {
	for name, want := range map[string]struct {
		state State
		cause Reason
		pause time.Duration
		until time.Duration // of the block
		used  int
	}{
		"pause":     {state: Normal, cause: ReasonFresh, pause: 40 * time.Second, until: 40 * time.Second, used: 4},
		"sleep":     {state: Sleep, cause: ReasonConsecutiveFailures, until: 2100*time.Millisecond - time.Minute, used: 3},
		"cacheonly": {state: CacheOnly, cause: ReasonOperator, used: 3},
	} {
		t.Run(name, func(t *testing.T) {
			payload, err := base64.StdEncoding.DecodeString(version1[name])
			must(t, err)
			content, err := firstFile(1, payload)
			must(t, err)
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, stateName), content, 0o600))
			for range 2 { // the second finds what the first has written
				s := openTest(t, dir, FileOptions{})
				s.clock.pass(time.Minute)
				tuning := Default()
				tuning.Budget = Budget{10, 24 * time.Hour}
				must(t, s.Update(context.Background(), func(Instant, *Snapshot) error { return nil }))
				got, err := ReadStatus(context.Background(), s, tuning)
				must(t, err)
				var pause, until time.Duration
				if !got.PauseUntil.IsZero() {
					pause = got.PauseUntil.Sub(s.clock.at.Wall)
				}
				if !got.Until.IsZero() {
					until = got.Until.Sub(s.clock.at.Wall)
				}
				if got.State != want.state || got.Cause != want.cause || pause != want.pause || until != want.until || got.BudgetUsed != want.used {
					t.Errorf("%v (%v), pause %v, until %v, used %d; want %v (%v) and %+v", got.State, got.Cause, pause, until, got.BudgetUsed,
						want.state, want.cause, want)
				}
				s.wantEvents("")
				s.Close()
			}
			if found := corruptFiles(t, dir); len(found) != 0 {
				t.Errorf("set aside %q", found)
			}
		})
	}
}
