package html

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/report"
)

// A pin reaches as far as the files that were weighed alike, and no further.
func TestWhatAPinIsAbout(t *testing.T) {
	doubt := func(path, title string, ids ...int) report.Record {
		r := report.Record{Path: path, Status: report.Ambiguous, Parsed: &report.Parsed{Title: title}}
		for _, id := range ids {
			r.Candidates = append(r.Candidates, report.Candidate{Kind: "tv", TMDBID: id, Confidence: 0.4})
		}
		return r
	}
	for name, row := range map[string]struct {
		page Page
		want []string // of each list of candidates, in the page's order
	}{
		"one file": {Page{Records: []report.Record{doubt("lib/a.mkv", "a", 1)}}, []string{"lib/a.mkv"}},
		"a folder that holds nothing else": {Page{Arguments: []string{"lib"}, Records: []report.Record{
			doubt("lib/One Piece/1.mkv", "One Piece", 1, 2), doubt("lib/One Piece/2.mkv", "One Piece", 1, 2),
			{Path: "lib/One Piece/NCOP.mkv", Status: report.Skipped},
		}}, []string{"'lib/One Piece/'"}},
		"the folder given by the user may hold anything later": {Page{Arguments: []string{"new/"}, Records: []report.Record{
			doubt("new/X 1.mkv", "X", 1), doubt("new/X 2.mkv", "X", 1),
		}}, []string{"X"}},
		"a title that not all names have": {Page{Arguments: []string{"new"}, Records: []report.Record{
			doubt("new/X 1.mkv", "X", 1), doubt("new/2.mkv", "X", 1),
		}}, []string{"'new/X 1.mkv'|new/2.mkv"}},
		"two series in a folder": {Page{Records: []report.Record{
			doubt("lib/mix/X - 1.mkv", "X", 1), doubt("lib/mix/X - 2.mkv", "X", 1), doubt("lib/mix/Y.mkv", "Y", 2),
		}}, []string{"X", "lib/mix/Y.mkv"}},
		"another series in a folder below": {Page{Records: []report.Record{
			doubt("lib/X/1.mkv", "X", 1), doubt("lib/X/2.mkv", "X", 1), doubt("lib/X/Y/Y.mkv", "Y", 2),
		}}, []string{"lib/X/1.mkv|lib/X/2.mkv", "lib/X/Y/Y.mkv"}},
		"two folders of one entry": {Page{Records: []report.Record{
			{
				Path: "lib/X/S1/1.mkv", Status: report.Matched, Kind: "tv", TMDBID: 1,
				Candidates: []report.Candidate{{Kind: "tv", TMDBID: 1}},
			},
			{
				Path: "lib/X/S1/2.mkv", Status: report.Matched, Kind: "tv", TMDBID: 1,
				Candidates: []report.Candidate{{Kind: "tv", TMDBID: 1}},
			},
			{
				Path: "lib/Y/1.mkv", Status: report.Matched, Kind: "tv", TMDBID: 1,
				Candidates: []report.Candidate{{Kind: "tv", TMDBID: 1}},
			},
		}}, []string{"lib/X/S1/|lib/Y/1.mkv"}},
		"names of what is elsewhere": {
			Page{NamesOnly: true, Records: []report.Record{doubt("It's X - 1.mkv", "It's X", 1)}},
			[]string{`'It'\''s X'`},
		},
		"what a command takes for a flag": {
			Page{Records: []report.Record{doubt("-rf/a b.mkv", "c", 1), doubt("--help.mkv", "d", 2)}},
			[]string{"'./-rf/a b.mkv'", "./--help.mkv"},
		},
		"line ends and bytes": {Page{Records: []report.Record{doubt("a\n\xff.mkv", "c", 1)}}, []string{`$'a\n\xff.mkv'`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range cards(row.page) {
				for _, f := range c.Files {
					if len(f.Weighed) > 0 {
						got = append(got, strings.ReplaceAll(f.PinSubjects, "\n", "|"))
					}
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
