package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
)

// A line of the history says how far a run has come, and of how many files what.
func TestALineOfTheHistory(t *testing.T) {
	for _, row := range []struct {
		stage                 apply.Stage
		refused, kept, undone int
		atWork                bool
		want                  string
	}{
		{stage: apply.StageDone, want: "done"},
		{stage: apply.StageDone, refused: 1, undone: 2, want: "done, 1 refused, 2 put back"},
		{stage: apply.StageApplying, want: "interrupted"},
		{stage: apply.StageApplying, atWork: true, want: "in progress"},
		{stage: apply.StagePlanned, want: "interrupted before it began"},
		{stage: apply.StageUndoing, want: "interrupted while being put back"},
		{stage: apply.StageUndoing, atWork: true, want: "being put back"},
		{stage: apply.StageDone, atWork: true, want: "done"},
		{stage: apply.StageUndone, undone: 9, want: "put back"},
		{stage: apply.StageUndone, refused: 1, undone: 8, want: "put back, 1 refused"},
		{stage: apply.StageUndone, undone: 3, want: "put back, 3 of them had been moved"},
		{stage: apply.StagePartlyUndone, kept: 1, undone: 8, want: "put back, with exceptions, 8 put back, 1 kept"},
	} {
		t.Run(row.want, func(t *testing.T) {
			r := apply.Run{
				ID: "20261122-020431-k3f9", Begun: time.Now(), Mode: organize.ModeMove, Stage: row.stage,
				Files: 9, Refused: row.refused, NotRestored: row.kept,
				Undone: row.undone, Targets: []string{"/out"},
			}
			begin, end := r.ID+"  ", "  move  9 files  "+row.want+"  /out"
			if got := runLine(&r, row.atWork); len(got) < len(begin)+len(end) || got[:len(begin)] != begin ||
				got[len(got)-len(end):] != end {
				t.Errorf("%q does not end with %q", got, end)
			}
		})
	}
}

// While the runs are read, either a run is in progress, or none can begin.
func TestRunsAreReadWhileNoneBegins(t *testing.T) {
	cfg := &config.Config{Dirs: config.Dirs{Data: t.TempDir()}}
	lock := filepath.Join(historyDir(cfg), "lock")
	if err := os.MkdirAll(historyDir(cfg), 0o700); err != nil {
		t.Fatal(err)
	}
	begin := func() (func(), error) { return lockfile.Acquire(t.Context(), lock, lockfile.Exclusive, 0) }
	_, inProgress, err := readRuns(t.Context(), cfg, func() (any, error) {
		if _, err := begin(); !errors.Is(err, lockfile.ErrBusy) {
			t.Errorf("a run began: %v", err)
		}
		return nil, io.ErrUnexpectedEOF
	})
	if inProgress || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("in progress: %v, %v", inProgress, err)
	}
	end, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	_, inProgress, err = readRuns(t.Context(), cfg, func() (any, error) { return nil, nil })
	if !inProgress || err != nil {
		t.Errorf("in progress: %v, %v", inProgress, err)
	}
}
