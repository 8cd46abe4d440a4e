package cli

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/ui"
)

// A long run has its files counted ahead; a short one, one that is not watched and one that can't be walked whole
// have not.
func TestFilesAreCountedAheadOfALongRun(t *testing.T) {
	walk := func(_ context.Context, yield func(run.Batch) error) error {
		return errors.Join(yield(run.Batch{Files: make([]library.File, 3)}), yield(run.Batch{Err: io.ErrUnexpectedEOF}))
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
				p.countAhead(t.Context(), row.walk)
				time.Sleep(row.lasts)
				p.stop()
				if got := p.total.Load(); got != row.want {
					t.Errorf("%d files, want %d", got, row.want)
				}
			})
		})
	}
}
