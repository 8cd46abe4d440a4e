package cli

import (
	"testing"
	"time"

	"github.com/anivault/anivault/internal/apply"
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

// A run may begin, go on or end between the look at its journal and the one at the lock.
func TestOnlyARunThatNobodyWorksOnWasCutOff(t *testing.T) {
	run := func(s apply.Stage) []apply.Run { return []apply.Run{{ID: "a", Stage: s}} }
	for name, row := range map[string]struct {
		reads  []apply.Stage
		locked []bool
		want   apply.Stage
		busy   bool
	}{
		"done":        {[]apply.Stage{apply.StageDone}, nil, apply.StageDone, false},
		"in progress": {[]apply.Stage{apply.StageApplying}, []bool{true}, apply.StageApplying, true},
		"interrupted": {
			[]apply.Stage{apply.StageApplying, apply.StageApplying}, []bool{false}, apply.StageApplying, false,
		},
		"ends meanwhile": {[]apply.Stage{apply.StageApplying, apply.StageDone}, []bool{false}, apply.StageDone, false},
		"is undone meanwhile": {
			[]apply.Stage{apply.StageApplying, apply.StageUndoing}, []bool{false, true}, apply.StageUndoing, true,
		},
		"goes on, is cut off": {
			[]apply.Stage{apply.StageApplying, apply.StageUndoing, apply.StageUndoing},
			[]bool{false, false},
			apply.StageUndoing, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			reads, locked := row.reads, row.locked
			runs, busy, err := readRunsAndActivity(func() ([]apply.Run, error) {
				next := run(reads[0])
				reads = reads[1:]
				return next, nil
			}, func() bool {
				next := locked[0]
				locked = locked[1:]
				return next
			})
			if err != nil || runs[0].Stage != row.want || busy != row.busy || len(reads)+len(locked) > 0 {
				t.Errorf("%+v, at work %v, %v; not looked at: %v %v", runs, busy, err, reads, locked)
			}
		})
	}
}
