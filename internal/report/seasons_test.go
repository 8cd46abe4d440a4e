package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/ui"
)

// A terminal that is made narrower during a run gets lines that fit, in both views.
func TestATableFollowsTheTerminal(t *testing.T) {
	for _, seasons := range []bool{false, true} {
		t.Run(fmt.Sprintf("seasons %v", seasons), func(t *testing.T) {
			width := 120
			var out strings.Builder
			w, err := NewWriter(FormatTable, &out, Options{Resized: func() int { return width }, Seasons: seasons})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				before := out.Len()
				if i == 2 {
					width = 50
				}
				r := Record{
					Path: fmt.Sprintf("lib/%d/%s.mkv", i, strings.Repeat("long name ", 20)), Status: Matched, Kind: "tv", TMDBID: i +
						1, Title: strings.Repeat("long title ", 20), Season: ptr(1), Episodes: []int{1}, Confidence: ptr(0.9),
				}
				if err := w.Match(r); err != nil {
					t.Fatal(err)
				}
				if i == 3 {
					err = w.Close(Summary{})
				} else {
					err = w.Flush()
				}
				if err != nil {
					t.Fatal(err)
				}
				widest := 0
				for line := range strings.Lines(out.String()[before:]) {
					widest = max(widest, ui.Width(strings.TrimRight(line, "\n")))
				}
				if widest > width || widest > 0 && i < 2 && widest < 60 {
					t.Errorf("file %d: %d cells at a width of %d:\n%s", i, widest, width, out.String()[before:])
				}
			}
		})
	}
}

// The files of one folder come in the order of their names, which may mix the seasons of a series.
func TestSeasonsOfASeriesAreTogether(t *testing.T) {
	var out strings.Builder
	w, err := NewWriter(FormatTable, &out, Options{Seasons: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, season := range []int{4, 1, 3, 1} {
		if err := w.Match(Record{
			Path: fmt.Sprintf("lib/%d.mkv", i), Status: Matched, Kind: "tv", TMDBID: 1 + i%2,
			Title: []string{"Titan", "Bebop"}[i%2], Season: ptr(season), Episodes: []int{i + 1}, Confidence: ptr(0.9),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
	want := "Bebop  S01 2,4  2 files  90 %\nTitan  S03 3  1 file  90 %\nTitan  S04 1  1 file  90 %\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

var seasonLine = regexp.MustCompile(`(\d+) files? +\d+ %`)

// Whatever comes in whatever folders: every file is in one season's line, or stands there by its name, or was left out;
// and no line is wider than the terminal.
func TestEachFileIsReportedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []Record
		for i := range rapid.IntRange(0, 40).Draw(t, "files") {
			r := Record{
				Path:   fmt.Sprintf("lib/%d/n%d.mkv", rapid.IntRange(0, 3).Draw(t, "folder"), i),
				Status: rapid.SampledFrom([]Status{Matched, Matched, Matched, Unmatched, Skipped}).Draw(t, "status"),
			}
			if r.Status == Matched {
				r.Kind, r.TMDBID, r.Year = "tv", rapid.IntRange(1, 3).Draw(t, "id"), 1999
				r.Title = rapid.SampledFrom([]string{"A", "緑の丘の物語", strings.Repeat("long ", 20)}).Draw(t, "title")
				r.Season, r.Confidence = ptr(rapid.IntRange(0, 2).Draw(t, "season")), ptr(rapid.Float64Range(0.8, 1).Draw(t,
					"sure"))
				r.Episodes = rapid.SliceOfN(rapid.IntRange(0, 30), 0, 2).Draw(t, "episodes")
			}
			records = append(records, r)
		}
		opts := Options{Width: rapid.SampledFrom([]int{0, 40, 80, 200}).Draw(t, "width"), Seasons: true}
		if rapid.Bool().Draw(t, "skipped too") {
			opts.Filter = StatusFilter{"skipped", "matched", "unmatched"}
		}
		var out strings.Builder
		w, err := NewWriter(FormatTable, &out, opts)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{}
		settled := 0
		for i, r := range records {
			if err := w.Match(r); err != nil {
				t.Fatal(err)
			}
			switch {
			case r.Status == Matched && len(r.Episodes) > 0:
				settled++
			case r.Status != Skipped || opts.Filter != nil:
				want[fmt.Sprintf("n%d.mkv", i)] = 1
			}
		}
		if err := w.Close(Summary{}); err != nil {
			t.Fatal(err)
		}
		for _, m := range seasonLine.FindAllStringSubmatch(out.String(), -1) {
			n, _ := strconv.Atoi(m[1])
			settled -= n
		}
		got := map[string]int{}
		for _, name := range regexp.MustCompile(`n\d+\.mkv`).FindAllString(out.String(), -1) {
			got[name]++
		}
		if diff := cmp.Diff(want, got); diff != "" || settled != 0 {
			t.Fatalf("%d files too few in the lines; names: %s\n%s", settled, diff, out.String())
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if opts.Width > 0 && ui.Width(line) > opts.Width {
				t.Fatalf("wider than %d: %q", opts.Width, line)
			}
		}
	})
}
