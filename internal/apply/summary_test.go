package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

// longRun is a run whose journal is longer than what is read of one at first.
func longRun(files int, note string) *run {
	r := sampleRun()
	for i := len(r.Ops); i < files; i++ {
		o := op{
			Index: i, N: i + 1, Unit: i, Bundle: i, Verb: organize.VerbLink, From: place{2, fmt.Sprintf("%d\n  to.mkv", i)},
			To: place{3, fmt.Sprint(i)},
		}
		if i == files-1 && note != "" {
			o = op{
				Index: i, N: i + 1, Unit: i, Bundle: i, Verb: organize.VerbNFO, Text: note, Size: int64(len(note)),
				From: place{3, "n"}, To: place{3, "n"},
			}
		}
		r.Ops, r.Steps = append(r.Ops, o), append(r.Steps, step{Op: i})
	}
	return r
}

// The summary of a run agrees with its whole journal, wherever its marks are torn or damaged.
func TestASummaryAgreesWithTheWholeJournal(t *testing.T) {
	roots := sampleRun()
	for i := range 4000 {
		roots.Sources = append(roots.Sources, organize.Root{Type: "ext4", Inode: uint64(i), Path: fmt.Sprintf("/src/%d", i)})
	}
	for name, r := range map[string]*run{
		"short": sampleRun(), "long": longRun(5000, ""), "a long note": longRun(10,
			strings.Repeat("<a/>\nsum 12\n  to 1", 50_000)),
		"many roots": roots,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim()
			dir, _ := s.Open("/data/history")
			j, err := newJournal(dir, r)
			if err != nil {
				t.Fatal(err)
			}
			begins := int(j.nextOffset)
			_ = j.enterStage(StageApplying, time.Unix(1, 0))
			j.appendFileMark(len(r.Ops)-1, markNotDone, organize.CodeExists)
			_ = j.enterStage(StageDone, time.Unix(2, 0))
			j.appendFileMark(0, markNotRestored, CodeOldNameTaken)
			_ = j.enterStage(StagePartlyUndone, time.Unix(3, 0))
			node := s.nodes[s.at("/data/history/"+journalName(r.ID))]
			whole, ends := node.data, int(j.nextOffset)
			step := 1
			if len(whole) > 64<<10 {
				step = (ends - begins) / 4 // reading these whole takes its time
			}
			for cut := begins; cut <= ends; cut += step {
				node.data = whole[:cut] + "\x00\x00" + whole[min(cut+2, len(whole)):]
				if cut > ends-step {
					node.data = whole
				}
				want, err := openJournal(dir, r.ID, false)
				if err != nil {
					t.Fatal(err)
				}
				for _, check := range []bool{false, true} {
					got, err := readSummary(dir, r.ID, check)
					if err != nil {
						t.Fatalf("cut at %d: %v", cut-begins, err)
					}
					complete := want.progress.summary(want.run.runHeader, len(want.run.Ops))
					if diff := cmp.Diff(complete, *got, cmp.AllowUnexported(Run{})); diff != "" {
						t.Fatalf("cut at %d (-whole +summary): %s", cut-begins, diff)
					}
				}
			}
		})
	}
}

// A run that was put back completely has no mark of a file.
func TestASummaryCountsAllFilesThatAnUndoPutBack(t *testing.T) {
	dir, _ := newSim().Open("/data/history")
	r := sampleRun()
	j, err := newJournal(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	for at, stage := range []Stage{StageApplying, StageDone, StageUndoing, StageUndone} {
		if err := j.enterStage(stage, time.Unix(int64(at), 0)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readSummary(dir, r.ID, false)
	if err != nil || got.Undone != len(r.Ops) || got.Files != len(r.Ops) {
		t.Errorf("%d of %d files are back, want %d (%v)", got.Undone, got.Files, len(r.Ops), err)
	}
}

// A summary that looks at the checksum trusts no journal that reading all of it would refuse, and one that does not
// still sees that the header is not whole or the end is missing.
func TestASummaryOfADamagedJournal(t *testing.T) {
	s := newSim()
	dir, _ := s.Open("/data/history")
	r := sampleRun()
	if _, err := newJournal(dir, r); err != nil {
		t.Fatal(err)
	}
	node := s.nodes[s.at("/data/history/"+journalName(r.ID))]
	whole, fixed := node.data, len(r.encode())
	refused := func(what string, check bool) {
		t.Helper()
		_, err := readSummary(dir, r.ID, check)
		if _, ok := errors.AsType[*JournalError](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range fixed {
		node.data = whole[:i] + string(whole[i]^1) + whole[i+1:]
		refused(fmt.Sprint("another byte ", i), true)
		node.data = whole[:i]
		refused(fmt.Sprint("cut at ", i), false)
	}
	node.data = strings.Repeat("x", 200_000)
	refused("no journal", false)
	node.data = strings.Replace(whole, `journal":3`, `journal":4`, 1)
	refused("a newer one", false)
	node.data = strings.Replace(whole, `"id":"2026`, `"id":"2025`, 1)
	refused("that of another run", false)
}
