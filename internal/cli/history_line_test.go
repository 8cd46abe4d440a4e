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
		{stage: apply.Done, want: "done"},
		{stage: apply.Done, refused: 1, undone: 2, want: "done, 1 refused, 2 put back"},
		{stage: apply.Applying, want: "cut off"},
		{stage: apply.Applying, atWork: true, want: "at work"},
		{stage: apply.Planned, want: "cut off before it began"},
		{stage: apply.Undoing, want: "cut off while it was put back"},
		{stage: apply.Undoing, atWork: true, want: "being put back"},
		{stage: apply.Done, atWork: true, want: "done"},
		{stage: apply.Undone, undone: 9, want: "put back"},
		{stage: apply.Undone, refused: 1, undone: 8, want: "put back, 1 refused"},
		{stage: apply.Undone, undone: 3, want: "put back, 3 of them had left their place"},
		{stage: apply.Kept, kept: 1, undone: 8, want: "put back, but for some, 8 put back, 1 kept"},
	} {
		t.Run(row.want, func(t *testing.T) {
			r := apply.Run{
				ID: "20261122-020431-k3f9", Begun: time.Now(), Mode: organize.ModeMove, Stage: row.stage, Files: 9, Refused: row.refused, Kept: row.kept,
				Undone: row.undone, Targets: []string{"/out"},
			}
			begin, end := r.ID+"  ", "  move  9 files  "+row.want+"  /out"
			if got := runLine(&r, row.atWork); len(got) < len(begin)+len(end) || got[:len(begin)] != begin || got[len(got)-len(end):] != end {
				t.Errorf("%q does not end with %q", got, end)
			}
		})
	}
}
