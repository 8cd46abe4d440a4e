package organize

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const example = `anivault plan 1
id 20261122-020431-k3f9
made 2026-11-22T02:04:31Z
mode hardlink
layout jellyfin
source 1 ext4 131073 1700000000.25 /srv/incoming
target 1 ext4 262145 1700000101.5 /srv/library
target 2 - - - "/srv/films "
folder 1 Show: A [tmdbid-2]

in 1 1 [Group] Show (01-28)
# 99% tv/1 S01E01
link 1410021733 1763661791.123456789 11534384 [Group] Show - 01 (1080p) [8D7F2A11].mkv
  to Show (2023) [tmdbid-1]/Season 01/Show (2023) S01E01 - One.mkv
with 41022 1763661791.5 11534385 [Group] Show - 01 (1080p) [8D7F2A11].ko.ass
  to Show (2023) [tmdbid-1]/Season 01/Show (2023) S01E01 - One.ko.ass
with copy 7 -1.5 - "Subs/new\nline \xff \".nfo"
  to Show (2023) [tmdbid-1]/Season 01/Show (2023) S01E01 - One.nfo
nfo tv/1
  to Show (2023) [tmdbid-1]/tvshow.nfo

in 1 1 .
move 0 0 5 a.mkv
  to Show: A [tmdbid-2]/Season 01/A S01E02E03.mkv

in 1 2 .
# 100% movie/129
copy 1 1 6 b.mkv
  to B (2001)/B (2001).mkv

# left: 1
# ambiguous  x - 04.mkv  (tv/1 41 %, tv/2 40 %)
end
`

func examplePlan() *Plan {
	return &Plan{
		ID: "20261122-020431-k3f9", Created: time.Date(2026, 11, 22, 2, 4, 31, 0, time.UTC), Mode: ModeHardlink,
		Layout:  "jellyfin",
		Sources: []Root{{Type: "ext4", Inode: 131073, Birth: Stamp{1700000000, 250000000}, Path: "/srv/incoming"}},
		Targets: []Root{
			{Type: "ext4", Inode: 262145, Birth: Stamp{1700000101, 500000000}, Path: "/srv/library"},
			{Type: "-", Path: "/srv/films "},
		},
		Folders: []Folder{{0, "Show: A [tmdbid-2]"}},
		Units: []Unit{
			{Dir: "[Group] Show (01-28)", Work: Work{Entry{"tv", 1}, 1, []int{1}, 0.99}, Ops: []Op{
				{
					Verb: VerbLink, Size: 1410021733, MTime: Stamp{1763661791, 123456789}, Inode: 11534384,
					Source: "[Group] Show - 01 (1080p) [8D7F2A11].mkv",
					To:     "Show (2023) [tmdbid-1]/Season 01/Show (2023) S01E01 - One.mkv",
				},
				{
					Verb: VerbLink, Size: 41022, MTime: Stamp{1763661791, 500000000}, Inode: 11534385,
					Source: "[Group] Show - 01 (1080p) [8D7F2A11].ko.ass",
					To:     "Show (2023) [tmdbid-1]/Season 01/Show (2023) S01E01 - One.ko.ass",
				},
				{
					Verb: VerbCopy, Size: 7, MTime: Stamp{-2, 500000000}, Source: "Subs/new\nline \xff \".nfo",
					To: "Show (2023) [tmdbid-1]/Season 01/Show (2023) S01E01 - One.nfo",
				},
				{Verb: VerbNFO, NFO: &NFOSpec{Entry: Entry{"tv", 1}}, To: "Show (2023) [tmdbid-1]/tvshow.nfo"},
			}},
			{
				Dir: ".",
				Ops: []Op{{Verb: VerbMove, Inode: 5, Source: "a.mkv", To: "Show: A [tmdbid-2]/Season 01/A S01E02E03.mkv"}},
			},
			{Dir: ".", Target: 1, Work: Work{Entry: Entry{"movie", 129}, Confidence: 1}, Ops: []Op{
				{Verb: VerbCopy, Size: 1, MTime: Stamp{Sec: 1}, Inode: 6, Source: "b.mkv", To: "B (2001)/B (2001).mkv"},
			}},
		},
		Skipped: []SkippedFile{{Path: "x - 04.mkv", Code: CodeAmbiguous, Why: "tv/1 41 %, tv/2 40 %"}},
	}
}

func TestPlansKeepTheirModeWhereALineDoes(t *testing.T) {
	for _, row := range []struct {
		mode  Mode
		verbs []Verb // of the units
		want  bool
	}{
		{ModeHardlink, nil, true},
		{ModeHardlink, []Verb{VerbNFO}, true},
		{ModeHardlink, []Verb{VerbLink, VerbMove}, true},
		{ModeHardlink, []Verb{VerbCopy}, true},
		{ModeHardlink, []Verb{VerbMove, VerbMove}, false},
		{ModeMove, []Verb{VerbNFO, VerbLink}, false},
		{ModeMove, []Verb{VerbCopy}, false},
		{ModeMove, []Verb{VerbMove}, true},
	} {
		p := &Plan{Mode: row.mode}
		for _, verb := range row.verbs {
			p.Units = append(p.Units, Unit{Ops: []Op{{Verb: verb}}})
		}
		if got := p.UsesMode(); got != row.want {
			t.Errorf("%s with %v: %v", row.mode, row.verbs, got)
		}
	}
}

func write(t interface{ Fatal(...any) }, p *Plan) string {
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// bare returns what a text keeps of a plan: no comments, and the lines are forgotten.
func bare(p *Plan) *Plan {
	out := *p
	out.Created = p.Created.UTC()
	out.Skipped, out.Units = nil, nil
	for _, u := range p.Units {
		u.Work, u.Ops = Work{}, append([]Op(nil), u.Ops...)
		for i := range u.Ops {
			u.Ops[i].Line = 0
		}
		out.Units = append(out.Units, u)
	}
	return &out
}

func TestAPlansText(t *testing.T) {
	if diff := cmp.Diff(example, write(t, examplePlan())); diff != "" {
		t.Error(diff)
	}
	got, err := Parse(example)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bare(examplePlan()), bare(got)); diff != "" {
		t.Error(diff)
	}
	if line := got.Units[1].Ops[0].Line; line != 23 {
		t.Errorf("the second unit begins at line %d, want 23", line)
	}
}

func TestAnEditedPlanIsRead(t *testing.T) {
	for _, row := range []struct{ name, old, new string }{
		{"line ends of Windows", "\n", "\r\n"},
		{"a byte order mark", "anivault plan", "\ufeffanivault plan"},
		{"comments and blank lines", "in 1 1 .\n", "\n# mine\n in 1 1 .\n\n"},
		{"more spaces", "  to ", "\t to   "},
		{"another verb", "\nmove 0", "\nlink 0"},
		{"a sidecar's own verb", "with 41022", "with link 41022"},
		{"quotes where none are needed", " a.mkv", ` "\x61.mkv"`},
		{"a comment behind the end", "end\n", "end\n\n# done\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			edited := strings.ReplaceAll(example, row.old, row.new)
			got, err := Parse(edited)
			if err != nil {
				t.Fatal(err)
			}
			want := bare(examplePlan())
			if row.name == "another verb" {
				want.Units[1].Ops[0].Verb = VerbLink
			}
			if diff := cmp.Diff(want, bare(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestABadPlanIsRefusedByItsLines(t *testing.T) {
	const one = "with 41022 1763661791.5 11534385 [Group] Show - 01 (1080p) [8D7F2A11].ko.ass\n  to Show (2023) " +
		"[tmdbid-1]/Season 01/Show (2023) S01E01 - One.ko.ass\n"
	for _, row := range []struct{ name, old, new, want string }{
		{
			"another format", "anivault plan 1", "anivault plan 2",
			`line 1: a plan begins with "anivault plan 1", not with "anivault plan 2"`,
		},
		{"something else", example, "{}", `line 1: a plan begins with "anivault plan 1", not with "{}"`},
		{"nothing", example, "", `line 1: the line "end" is missing, so the plan is incomplete: make it again`},
		{"interrupted", "\nend\n", "\n", `line 33: the line "end" is missing, so the plan is incomplete: make it again`},
		{
			"text behind the end", "end\n", "end\nlink\n",
			`line 34: nothing may follow "end": delete it, or move "end" down`,
		},
		{
			"a word behind the end", "end\n", "end of it\n",
			`line 33: nothing may follow "end": delete it, or move "end" down`,
		},
		{
			"no id", "id 20261122-020431-k3f9\n", "",
			`line 2: the header's line "id" is missing: put it back, or make the plan again`,
		},
		{
			"an id that is a path", "k3f9", "../x",
			`line 2: 20261122-020431-../x is not a plan ID, such as 20261122-020431-k3f9`,
		},
		{
			"no mode", "mode hardlink\n", "",
			`line 4: the header's line "mode" is missing: put it back, or make the plan again`,
		},
		{
			"an unknown mode", "mode hardlink", "mode hard",
			`line 4: hard is not a mode: hardlink, move, symlink, copy, reflink`,
		},
		{"no time", "made 2026-11-22T02:04:31Z", "made today", `line 3: today is not a time, such as 2026-11-22T02:04:31Z`},
		{"no target", "target 1 ext4 262145 1700000101.5 /srv/library\ntarget 2 - - - \"/srv/films \"\nfolder 1 Show: A " +
			"[tmdbid-2]\n", "", `line 8: the header's line "target" is missing: put it back, or make the plan again`},
		{"a relative root", "/srv/incoming", "srv", `line 6: the path is not absolute: srv`},
		{"a wrong number", "target 2", "target 3", `line 8: the number is 2, not 3`},
		{
			"a header that comes late", "in 1 1 .", "mode move\nin 1 1 .",
			`line 22: the header has its line "mode" further up: delete this one, or move it there`,
		},
		{
			"a header twice", "mode hardlink\n", "mode hardlink\nmode move\n",
			`line 5: the header has its line "mode" further up: delete this one, or move it there`,
		},
		{
			"a source behind the targets", "folder 1", "source 2 - - - /x\nfolder 1",
			`line 9: the header has its line "source" further up: delete this one, or move it there`,
		},
		{"a root that is not there", "in 1 2", "in 1 3", `line 26: the header has no target 3: take one from 1 to 2`},
		{
			"a folder outside", "in 1 1 .", "in 1 1 ../x",
			`line 22: ../x is not a folder below the source: give its path from there, without ..`,
		},
		{
			"an unknown word", "\nmove 0", "\nremove 0",
			`line 23: remove is not a word of a plan: in, link, copy, move, symlink, reflink, with, nfo, to, end`,
		},
		{"no target of a file", "  to B (2001)/B (2001).mkv\n", "", `line 32: a line "to" must follow line 28`},
		{
			"two targets of a file", "  to B (2001)/B (2001).mkv\n", "  to B.mkv\n  to C.mkv\n",
			`line 30: "to" may only follow a line that names a file, and only once: delete this line`,
		},
		{
			"a file outside", "5 a.mkv", "5 ../a.mkv",
			`line 23: ../a.mkv is not a name below the folder of "in": give its path from there, without ..`,
		},
		{
			"an absolute file", "5 a.mkv", "5 /a.mkv",
			`line 23: /a.mkv is not a name below the folder of "in": give its path from there, without ..`,
		},
		{"no size", "copy 1 1 6", "copy x 1 6", `line 28: x is not a size in bytes; don't edit size, time and inode`},
		{
			"no time of a file", "copy 1 1 6", "copy 1 1. 6",
			`line 28: 1. is not a time in seconds, such as 1763661791.5; don't edit size, time and inode`,
		},
		{"no inode", "copy 1 1 6", "copy 1 1 0", `line 28: 0 is not an inode; don't edit size, time and inode`},
		{"no name", "6 b.mkv", "6", `line 28: the name is missing`},
		{"an open quote", "6 b.mkv", `6 "b.mkv`, `line 28: the closing quote is missing`},
		{
			"a name that ends with a space", "6 b.mkv", `6 b.mkv `,
			`line 28: the name ends with a space: remove it, or put the name in double quotes`,
		},
		{"an unknown escape", "6 b.mkv", `6 "b\q.mkv"`, `line 28: in quotes a backslash begins \n, \xNN, \" or \\, not \q`},
		{
			"a target that is no name", "to B (2001)/B (2001).mkv", "to .",
			`line 29: . is not a valid name on every system: choose another`,
		},
		{
			"a target in another normal form", "to B (2001)/B (2001).mkv", "to e\u0301.mkv",
			"line 29: e\u0301.mkv is not in the normal form of names: write it as composed characters (NFC)",
		},
		{
			"a target outside", "to B (2001)/B", "to ../B",
			`line 29: ../B (2001).mkv is not a valid name on every system; allowed is B (2001).mkv`,
		},
		{
			"a target from the root", "to B (2001)/B", "to /B",
			`line 29: /B (2001).mkv is not a valid name on every system; allowed is B (2001).mkv`,
		},
		{
			"a hidden target", "to B (2001)/B", "to B/.B",
			`line 29: B/.B (2001).mkv is not a valid name on every system; allowed is B/B (2001).mkv`,
		},
		{
			"a folder that is not in the header", "to B (2001)/B", "to B: 1/B",
			`line 29: B: 1/B (2001).mkv is not a valid name on every system; allowed is B - 1/B (2001).mkv`,
		},
		{
			"a target outside by a folder of the header", "to Show: A [tmdbid-2]/Season 01", "to Show: A [tmdbid-2]/../..",
			`line 24: Show: A [tmdbid-2]/../../A S01E02E03.mkv is not a valid name on every system; allowed is Show - A ` +
				`[tmdbid-2]/A S01E02E03.mkv`,
		},
		{
			"a target twice", "to B (2001)/B (2001).mkv", "to b (2001)/C.mkv\ncopy 1 1 7 c.mkv\n to B (2001)/c.mkv",
			`line 31: B (2001)/c.mkv is also the target of line 29: rename one of them; another case is not enough`,
		},
		{
			"a target in another normal form", "to B (2001)/B (2001).mkv", "to é.mkv\ncopy 1 1 7 c.mkv\n to É.mkv",
			`line 31: É.mkv is also the target of line 29: rename one of them; another case is not enough`,
		},
		{
			"a target below another", "to B (2001)/B (2001).mkv", "to B.mkv\ncopy 1 1 7 c.mkv\n to b.mkv/C.mkv",
			`line 31: the target is inside the target of line 29, which is a file: rename one of them`,
		},
		{
			"a target that is another's folder", "to B (2001)/B (2001).mkv", "to B/C/D.mkv\ncopy 1 1 7 c.mkv\n to b",
			`line 31: the target is the folder of line 29's target: rename one of them`,
		},
		{
			"a name that is too long", "to B (2001)/B", "to B/" + strings.Repeat("b", 230),
			`line 29: the name has 241 bytes, but at most 240 leave room for the files that servers add: ` +
				strings.Repeat("b", 230) + " (2001).mkv",
		},
		{
			"a path that is too long", "to B (2001)/B", "to " + strings.Repeat("a-path/", 900) + "B",
			`line 29: the path has 6324 bytes with its root, and 4095 is the most that programs can open: shorten its names, ` +
				`or take folders out`,
		},
		{"a source twice", one, one + "with 41022 1763661791.5 11534385 [Group] Show - 01 (1080p) [8D7F2A11].ko.ass\n to " +
			"x.ass\n", `line 17: the source of line 15 is named again: delete one of them`},
		{
			"a sidecar of nothing", "in 1 1 [Group] Show (01-28)\n", "with 1 1 1 x\n",
			`line 11: there is no unit before this line that it could belong to: begin one with link, ` +
				`copy, move, symlink or reflink`,
		},
		{
			"a file of nowhere", "in 1 1 [Group] Show (01-28)\n", "",
			`line 12: a line "in" must come first: it says where the files are`,
		},
		{
			"a work of another kind", "nfo tv/1", "nfo book/1",
			`line 19: book/1 is not an entry, such as tv/209867 or movie/129`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			bad := strings.Replace(example, row.old, row.new, 1)
			if bad == example {
				t.Fatal("the row changes nothing")
			}
			_, err := Parse(bad)
			refused, ok := errors.AsType[*PlanError](err)
			if !ok {
				t.Fatalf("got %v, want a *PlanError", err)
			}
			if got := fmt.Sprintf("line %d: %s", refused.Problems[0].Line, refused.Problems[0].Text); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestTheTargetOfAnUnknownWordIsNoProblemOfItsOwn(t *testing.T) {
	_, err := Parse(strings.Replace(example, "\nmove 0", "\nremove 0", 1))
	refused, ok := errors.AsType[*PlanError](err)
	if !ok || len(refused.Problems) != 1 {
		t.Errorf("%+v", refused)
	}
}

func TestEveryProblemOfAPlanIsNamed(t *testing.T) {
	bad := strings.NewReplacer("copy 1 1 6", "copy x 1 6", "mode hardlink", "mode x").Replace(example)
	_, err := Parse(bad)
	want := "the plan can't be read: line 4: x is not a mode: hardlink, move, symlink, copy, reflink, and 1 more"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestNamesComeBackFromALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte(" \"\\\n\r\tnx0a#"))), 1, 40).Draw(t,
			"name"))
		quoted := Quote(name)
		if strings.ContainsAny(quoted, "\n\r\x00") {
			t.Fatalf("%q can't stand in a line", quoted)
		}
		if got, err := Unquote(quoted); err != nil || got != name {
			t.Fatalf("%q became %s and then %q, %v", name, quoted, got, err)
		}
	})
}

func TestStampsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Stamp{rapid.Int64Range(-1<<60, 1<<60).Draw(t, "sec"), rapid.Int32Range(0, 999_999_999).Draw(t, "nsec")}
		if got, err := ParseStamp(s.String()); err != nil || got != s {
			t.Fatalf("%v became %s and then %v", s, s.String(), got)
		}
	})
	for want, s := range map[string]Stamp{
		"-1.5": {-2, 500000000}, "-0.5": {-1, 500000000}, "0": {}, "7.000000001": {7, 1},
		"-3": {Sec: -3},
	} {
		if s.String() != want {
			t.Errorf("%+v is written as %s, not as %s", s, s.String(), want)
		}
	}
}

// FuzzParse holds that a text that is read comes back from what was read, and that no target of it leaves its root.
func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Add(strings.ReplaceAll(example, "\n", "\r\n"))
	f.Add("anivault plan 1\nend")
	f.Add(strings.ReplaceAll(example, " a.mkv", " \"\\xff\\n\""))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			if refused, ok := errors.AsType[*PlanError](err); !ok || len(refused.Problems) == 0 || refused.Error() == "" {
				t.Fatalf("no reason to refuse: %v", err)
			}
			return
		}
		for _, u := range p.Units {
			for i := range u.Ops {
				if to := u.Ops[i].To; !isLocal(to) || to == "." || strings.Contains(to, "\x00") {
					t.Fatalf("the target %q is accepted", to)
				}
			}
		}
		again, err := Parse(write(t, p))
		if err != nil {
			t.Fatalf("%v\n%s", err, write(t, p))
		}
		if diff := cmp.Diff(bare(p), bare(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// NTFS and SMB keep times in units of 100 ns, exFAT of 10 ms, FAT of 2 s.
func TestTimesOfCopies(t *testing.T) {
	original := Stamp{Sec: 1763661791, Nsec: 123456789}
	for _, copied := range []Stamp{
		original, {1763661791, 123456700}, {1763661791, 123456000}, {1763661791, 120000000}, {1763661791, 0}, {1763661790, 0},
	} {
		if !original.IsCopiedAs(copied) {
			t.Errorf("%s is no copy of %s", copied, original)
		}
	}
	for _, other := range []Stamp{{1763661791, 123456788}, {1763661791, 123456800}, {1763661792, 0}, {1763661789, 0}} {
		if original.IsCopiedAs(other) {
			t.Errorf("%s counts as a copy of %s", other, original)
		}
	}
}
