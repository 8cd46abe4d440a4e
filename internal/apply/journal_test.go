package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

func sampleRun() *run {
	return &run{
		runHeader: runHeader{
			ID: "20261122-020431-k3f9", PlanID: "20261122-020431-abcd", Begun: time.Unix(1_800_000_000, 123456789).UTC(),
			Mode: organize.ModeMove, Layout: "my layout", AbsoluteLinks: true, PartPrefix: "20261122-020431-p4r7",
			Sources: []organize.Root{{Type: "ext4", Inode: 2, Birth: organize.Stamp{Sec: 9, Nsec: 5}, Path: "/src"}},
			Targets: []organize.Root{{Type: "-", Path: "/lib of mine"}},
		},
		Dirs: []folder{
			{Parent: -1, Name: "/src", Mode: 0o2775, UID: 7, GID: 8, MTime: organize.Stamp{Sec: -2, Nsec: 5e8}},
			{Parent: -1, Name: "/lib of mine", Mode: 0o755},
			{Parent: 0, Name: "a folder\nwith a line", Removable: true, Mode: 0o700},
			{Parent: 1, Name: "new", New: true},
		},
		Ops: []op{
			{
				N: 2, Unit: 2, Bundle: 1, Verb: organize.VerbMove, Size: 5, Inode: 77, EndsSum: 0xabc, From: place{2, "\xff.mkv"},
				To: place{3, "x y.mkv"},
			},
			{
				Index: 1, N: 1, Unit: 1, Bundle: 1, Verb: organize.VerbMove, CrossDevice: true, Inode: 78,
				BirthTime: organize.Stamp{Sec: 1},
				From:      place{0, `"`}, To: place{1, "z"}, TempNumber: 4,
			},
			{
				Index: 2, N: 3, Unit: 1, Bundle: 1, Verb: organize.VerbNFO, Text: "<a>\n\xff \"b\" </a>\n", Size: 15,
				From: place{3, "x.nfo"}, To: place{3, "x.nfo"},
			},
		},
		Steps: []step{
			{1, organize.StepToTemp},
			{0, organize.StepDirect},
			{1, organize.StepFromTemp},
			{2, organize.StepDirect},
		},
	}
}

func TestJournalsComeBack(t *testing.T) {
	r := sampleRun()
	text := r.encode()
	got, at, err := readRun(append(bytes.Clone(text), "marks"...))
	if err != nil || at != len(text) {
		t.Fatal(at, err)
	}
	if diff := cmp.Diff(r, got, cmp.AllowUnexported(run{})); diff != "" {
		t.Error(diff)
	}
}

// Of two runs that began in one second the later one is the last.
func TestTheHistoryIsInOrder(t *testing.T) {
	s := newSim()
	e := engineOf(s)
	for i, id := range []string{"20261122-020431-zzzz", "20261122-020431-mmmm", "20261122-020431-aaaa"} {
		r := sampleRun()
		r.ID, r.Begun = id, time.Unix(1_800_000_000, int64(i)).UTC()
		if _, err := newJournal(e.Journals, r); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := e.History()
	if err != nil || len(runs) != 3 || runs[0].ID[16:] != "aaaa" || runs[2].ID[16:] != "zzzz" {
		t.Errorf("%+v %v", runs, err)
	}
}

// A journal of which one byte is another, or one is missing, is never acted on.
func TestADamagedJournalIsRefused(t *testing.T) {
	text := sampleRun().encode()
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		if _, _, err := readRun(bad); err == nil {
			t.Errorf("byte %d of the line %q may be another", i, text[bytes.LastIndexByte(text[:i], '\n')+1:i+1])
		}
		if _, _, err := readRun(text[:i]); err == nil {
			t.Errorf("it may end at byte %d", i)
		}
	}
}

func TestAJournalOfAnotherVersionIsRefused(t *testing.T) {
	_, _, err := readRun([]byte(`{"anivault_journal":4}` + "\n"))
	if bad, ok := errors.AsType[*JournalError](err); !ok || !bad.Newer {
		t.Error(err)
	}
}

// What stands for the ends of a file is one sum in all journals.
func TestTheSumOfAFilesEnds(t *testing.T) {
	s := newSim()
	s.add("/src/a", strings.Repeat("a", hashedEndSize)+"between"+strings.Repeat("b", hashedEndSize))
	s.add("/src/b", "short")
	dir, _ := s.Open("/src")
	both := strings.Repeat("a", hashedEndSize) + strings.Repeat("b", hashedEndSize)
	for name, want := range map[string]uint64{"a": xxhash.Sum64String(both), "b": xxhash.Sum64String("short")} {
		info, _ := dir.Lstat(name)
		if got, err := hashEnds(dir, name, info.Size); err != nil || got != want {
			t.Errorf("%s: %#x %v", name, got, err)
		}
	}
}

// marked is a journal with marks, its text, and where they begin and end.
func marked(t *testing.T) (s *sim, dir Dir, r *run, begins, ends int) {
	t.Helper()
	s = newSim()
	dir, _ = s.Open("/data/history")
	r = sampleRun()
	j, err := newJournal(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	begins = int(j.nextOffset)
	_ = j.enterStage(StageApplying, time.Unix(1, 0))
	j.appendFileMark(0, markNotDone, organize.CodeExists)
	j.appendMark(mark{Mark: markCopied, File: new(1), Copy: &copyMark{
		Inode: 9, Size: 5,
		MTime: organize.Stamp{Sec: -1, Nsec: 5e8},
	}})
	_ = j.enterStage(StageDone, time.Unix(2, 0))
	return s, dir, r, begins, int(j.nextOffset)
}

// Wherever the last mark is torn, those before it are read, and new ones take its place.
func TestATornMarkIsIgnored(t *testing.T) {
	s, dir, r, begins, ends := marked(t)
	node := s.nodes[s.at("/data/history/"+journalName(r.ID))]
	whole := node.data
	for cut := begins; cut < ends; cut++ {
		node.data = whole[:cut] + strings.Repeat("\x00", len(whole)-cut)
		torn, err := openJournal(dir, r.ID, true)
		if err != nil {
			t.Fatal(err)
		}
		if torn.progress.stage == StageDone || torn.progress.damagedMarks > 0 {
			t.Fatalf("cut at %d: %+v", cut-begins, torn.progress)
		}
		if err := torn.enterStage(StageUndoing, time.Unix(3, 0)); err != nil {
			t.Fatal(err)
		}
		again, err := openJournal(dir, r.ID, false)
		if err != nil || again.progress.stage != StageUndoing || again.progress.damagedMarks > 0 {
			t.Fatalf("cut at %d, then marked: %+v %v", cut-begins, again.progress, err)
		}
	}
}

// A mark that is damaged takes no other one with it, and is never written over.
func TestADamagedMarkStays(t *testing.T) {
	s, dir, r, begins, ends := marked(t)
	node := s.nodes[s.at("/data/history/"+journalName(r.ID))]
	whole := node.data
	last := strings.LastIndex(whole[:ends-1], "\n") + 1
	for at := begins; at < last; at++ {
		if whole[at] == '\n' {
			continue // two marks would be one
		}
		for _, bad := range []string{string(whole[at] ^ 1), "\x00"} {
			node.data = whole[:at] + bad + whole[at+1:]
			damaged := node.data[:ends]
			j, err := openJournal(dir, r.ID, true)
			if err != nil {
				t.Fatal(err)
			}
			if p := &j.progress; p.stage != StageDone || p.damagedMarks == 0 ||
				p.files[0].notDone == "" && p.files[1].targetCopy == nil {
				t.Fatalf("byte %d: %+v", at-begins, j.progress)
			}
			if err := j.enterStage(StageUndoing, time.Unix(3, 0)); err != nil {
				t.Fatal(err)
			}
			again, err := openJournal(dir, r.ID, false)
			if err != nil || again.progress.stage != StageUndoing || again.progress.damagedMarks != j.progress.damagedMarks ||
				node.data[:ends] != damaged {
				t.Fatalf("byte %d, then marked: %+v %v", at-begins, again.progress, err)
			}
		}
	}
}

// Nothing that stands in a journal makes reading it fail otherwise than by an error, and what is accepted is written as
// it was.
func FuzzJournal(f *testing.F) {
	whole := string(sampleRun().encode())
	f.Add(whole[:len(whole)-len(checksumLine(nil))])
	f.Add("anivault journal 2\nid x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if first, rest, found := strings.Cut(text, "\n"); found { // give it the length and the checksum that it lacks
			var h map[string]any
			if json.Unmarshal([]byte(first), &h) == nil && h != nil {
				h["bytes"] = len(rest) + len(checksumLine(nil))
				line, _ := json.Marshal(h)
				text = string(line) + "\n" + rest
				text += string(checksumLine([]byte(text)))
			}
		}
		r, at, err := readRun([]byte(text))
		if err != nil {
			return
		}
		for _, o := range r.Ops {
			_, _ = r.pathOf(o.From), r.pathOf(o.To)
		}
		_ = r.touchedDirs()
		again, _, err := readRun(r.encode())
		if err != nil {
			t.Fatalf("%v:\n%s\nwritten as\n%s", err, text[:at], r.encode())
		}
		if diff := cmp.Diff(r, again, cmp.AllowUnexported(run{})); diff != "" {
			t.Fatal(diff)
		}
	})
}
