package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/run/results"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
	"github.com/google/go-cmp/cmp"
)

// A long run has its files counted ahead; a short one, one that is not watched and one that can't be walked whole
// have not.
func TestFilesAreCountedAheadOfALongRun(t *testing.T) {
	walk := func(_ context.Context, yield func(run.Batch) error) error {
		three := run.Batch{Folder: results.Folder{Files: make([]library.File, 3)}}
		return errors.Join(yield(three), yield(run.Batch{Err: io.ErrUnexpectedEOF}))
	}
	for _, row := range []struct {
		name     string
		walk     run.Producer
		terminal bool
		lasts    time.Duration
		want     int64
	}{
		{"a long run", walk, true, 5 * time.Second, 4},
		{"a short run", walk, true, time.Second / 2, 0},
		{"nobody watches", walk, false, 5 * time.Second, 0},
		{"a list, which can be read once", nil, true, 5 * time.Second, 0},
		{
			"a walk that fails", func(context.Context, func(run.Batch) error) error { return io.ErrUnexpectedEOF }, true,
			5 * time.Second, 0,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				streams := ui.Streams{Err: io.Discard, ErrTTY: row.terminal, Width: 80}
				p := &progress{status: ui.NewStatus(streams, true), done: make(chan struct{})}
				p.countFilesAhead(t.Context(), row.walk)
				time.Sleep(row.lasts)
				p.stop()
				if got := p.totalFiles.Load(); got != row.want {
					t.Errorf("%d files, want %d", got, row.want)
				}
			})
		})
	}
}

// An outage has many rounds of Sleep and probes, and two lines in a log.
func TestAnOutageHasTwoLinesInALog(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	at := func(state ratelimit.State, wait ratelimit.State) app.Progress {
		p := app.Progress{State: state.String()}
		if wait != ratelimit.Normal {
			p.Wait.Block = ratelimit.Block{State: wait, Cause: ratelimit.ReasonConsecutiveFailures}
		}
		return p
	}
	var o outageReporter
	var lines []string
	for _, p := range []app.Progress{
		at(ratelimit.Normal, ratelimit.Normal), at(ratelimit.Sleep, ratelimit.Sleep),
		at(ratelimit.HalfOpen, ratelimit.Normal), at(ratelimit.Sleep, ratelimit.Sleep),
		at(ratelimit.CacheOnly, ratelimit.CacheOnly), at(ratelimit.HalfOpen, ratelimit.Normal),
		at(ratelimit.Normal, ratelimit.Normal), at(ratelimit.Normal, ratelimit.Normal),
	} {
		if p.Wait.Cause != ratelimit.ReasonNone {
			p.Wait.Until = now.Add(2 * time.Second)
		}
		if line := o.line(p, now); line != "" {
			lines = append(lines, lang.Say(line)+" ("+p.State+")")
		}
		now = now.Add(time.Minute)
	}
	want := []string{"waiting: TMDB is failing; next try at 12:01:02 (Sleep)", "continuing after 5m00s (Normal)"}
	for i, line := range lines { // the day is shown if it is not today
		lines[i] = strings.Replace(line, "2026-11-21 ", "", 1)
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
