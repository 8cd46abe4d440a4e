package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
		ID: "20261122-020431-k3f9", Plan: "20261122-020431-abcd", Begun: time.Unix(1_800_000_000, 123456789).UTC(), Mode: organize.ModeMove, Layout: "my layout", Absolute: true,
		Sources: []organize.Root{{Type: "ext4", Inode: 2, Birth: organize.Stamp{Sec: 9, Nsec: 5}, Path: "/src"}},
		Targets: []organize.Root{{Type: "-", Path: "/lib of mine"}},
		Dirs: []folder{
			{Parent: -1, Name: "/src", Mode: 0o2775, UID: 7, GID: 8, MTime: organize.Stamp{Sec: -2, Nsec: 5e8}},
			{Parent: -1, Name: "/lib of mine", Mode: 0o755},
			{Parent: 0, Name: "a folder\nwith a line", Removable: true, Mode: 0o700},
			{Parent: 1, Name: "new", New: true},
		},
		Ops: []op{
			{N: 2, Unit: 2, Bundle: 1, Verb: organize.Move, Size: 5, Inode: 77, Sum: 0xabc, From: place{2, "\xff.mkv"}, To: place{3, "x y.mkv"}},
			{Index: 1, N: 1, Unit: 1, Bundle: 1, Verb: organize.Move, Across: true, Inode: 78, Birth: organize.Stamp{Sec: 1}, From: place{0, `"`}, To: place{1, "z"}, Temp: 4},
			{
				Index: 2, N: 3, Unit: 1, Bundle: 1, Verb: organize.NFO, Text: "<a>\n\xff \"b\" </a>\n", Size: 15, From: place{3, "x.nfo"}, To: place{3, "x.nfo"},
			},
		},
		Steps: []step{{1, organize.Aside}, {0, organize.Whole}, {1, organize.Home}, {2, organize.Whole}},
	}
}

func TestJournalsComeBack(t *testing.T) {
	r := sampleRun()
	text := r.text()
	got, at, err := readRun(append(bytes.Clone(text), "marks"...))
	if err != nil || at != len(text) {
		t.Fatal(at, err)
	}
	if diff := cmp.Diff(r, got); diff != "" {
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
	text := sampleRun().text()
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
	_, _, err := readRun([]byte("anivault journal 3\n"))
	if bad, ok := errors.AsType[*JournalError](err); !ok || !bad.Newer {
		t.Error(err)
	}
	_, _, err = readRun([]byte("anivault journal 1\nid x\n"))
	if want := "the journal can't be trusted: line 1: its form is number 1, and this version of anivault knows only number 2"; err == nil || err.Error() != want {
		t.Error(err)
	}
}

// What stands for the ends of a file is one sum in all journals.
func TestTheSumOfAFilesEnds(t *testing.T) {
	s := newSim()
	s.add("/src/a", strings.Repeat("a", end)+"between"+strings.Repeat("b", end))
	s.add("/src/b", "short")
	dir, _ := s.Open("/src")
	for name, want := range map[string]uint64{"a": xxhash.Sum64String(strings.Repeat("a", end) + strings.Repeat("b", end)), "b": xxhash.Sum64String("short")} {
		info, _ := dir.Lstat(name)
		if got, err := ends(dir, name, info.Size); err != nil || got != want {
			t.Errorf("%s: %#x %v", name, got, err)
		}
	}
}

// Wherever the marks are torn, those before are read, and new ones can be added behind them.
func TestTornMarks(t *testing.T) {
	s := newSim()
	dir, _ := s.Open("/data/history")
	r := sampleRun()
	j, err := newJournal(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	begins := int(j.end)
	_ = j.enter(Applying, time.Unix(1, 0))
	j.mark("not 0 exists")
	_ = j.enter(Done, time.Unix(2, 0))
	node := s.nodes[s.at("/data/history/"+journalName(r.ID))]
	whole, ends := node.data, int(j.end)
	for cut := begins; cut < ends; cut++ {
		node.data = whole[:cut] + "\x00\x00" + whole[cut+2:]
		torn, err := openJournal(dir, r.ID, true)
		if err != nil {
			t.Fatal(err)
		}
		if torn.marks.stage == Done {
			t.Fatalf("cut at %d: %s", cut-begins, torn.marks.stage)
		}
		if err := torn.enter(Undoing, time.Unix(3, 0)); err != nil {
			t.Fatal(err)
		}
		again, err := openJournal(dir, r.ID, false)
		if err != nil || again.marks.stage != Undoing {
			t.Fatalf("cut at %d, then marked: %v %v", cut-begins, again.marks.stage, err)
		}
	}
}

// Nothing that stands in a journal makes reading it fail otherwise than by an error, and what is accepted is written as it was.
func FuzzJournal(f *testing.F) {
	f.Add(string(sampleRun().text()))
	f.Add("anivault journal 2\nid x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if body, _, found := strings.Cut(text, "sum "); found { // give it the checksum that it lacks
			sum := sha256.Sum256([]byte(body))
			text = body + "sum " + hex.EncodeToString(sum[:]) + "\n"
		}
		r, at, err := readRun([]byte(text))
		if err != nil {
			return
		}
		for _, o := range r.Ops {
			_, _ = r.pathOf(o.From), r.pathOf(o.To)
		}
		_ = r.touched()
		again, _, err := readRun(r.text())
		if err != nil {
			t.Fatalf("%v:\n%s\nwritten as\n%s", err, text[:at], r.text())
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
