package library

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSubtitlesBelongToOneVideo(t *testing.T) {
	episodes := []string{"Show - 01.mkv", "Show - 02.mkv", "Show - 02v2.mkv"}
	for _, row := range []struct {
		name      string
		videos    []string
		subtitles []string
		want      [][]string
	}{
		{
			"by stem", episodes,
			[]string{"Show - 01.ko.srt", "Show - 01.ass", "Show - 02v2.srt"},
			[][]string{{"Show - 01.ass", "Show - 01.ko.srt"}, nil, {"Show - 02v2.srt"}},
		},
		{"nobody's", episodes, []string{"Show.srt", "01.srt"}, [][]string{nil, nil, nil}},
		{"of two videos with one stem", []string{"A.mkv", "A.mp4"}, []string{"A.srt"}, [][]string{nil, nil}},
		{
			"in a folder, by stem", episodes,
			[]string{"Subs/Show - 01.srt"},
			[][]string{{"Subs/Show - 01.srt"}, nil, nil},
		},
		{
			"in a folder, by number", episodes,
			[]string{"Subs/Other name - 01 [ko].ass", "Subs/Show 09.srt"},
			[][]string{{"Subs/Other name - 01 [ko].ass"}, nil, nil},
		},
		{"in a folder, a number that two have", episodes, []string{"Subs/Other - 02.ass"}, [][]string{nil, nil, nil}},
		{
			"in a folder, of another season",
			[]string{"Show S01E01.mkv", "Show S02E02.mkv"},
			[]string{"Subs/S02E01.srt", "Subs/S02E02.srt", "Subs/E01.srt"},
			[][]string{{"Subs/E01.srt"}, {"Subs/S02E02.srt"}},
		},
		{
			"in a folder of the video's", episodes,
			[]string{"Subs/Show - 02/2_English.srt", "Subs/Show/a.srt"},
			[][]string{nil, {"Subs/Show - 02/2_English.srt"}, nil},
		},
		{
			"of the only video",
			[]string{"Film (2001).mkv", "Film (2001)-trailer.mp4"},
			[]string{"Subs/2_English.srt", "Subs/forced.srt", "Subs/E02.srt"},
			[][]string{{"Subs/2_English.srt", "Subs/forced.srt"}, nil},
		},
		{
			"of the video with its number, whatever the language is called",
			[]string{"Show - 01.mkv", "Show - 02.mkv", "Show - 10.mkv"},
			[]string{"Subs/01.en.srt", "Subs/02 eng.srt", "Subs/10_French.srt", "Subs/2_English.srt"},
			[][]string{{"Subs/01.en.srt"}, {"Subs/02 eng.srt"}, {"Subs/10_French.srt"}},
		},
		{"of two videos without a number", []string{"A.mkv", "B.mkv"}, []string{"Subs/2_English.srt"}, [][]string{nil, nil}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for i := range row.subtitles {
				row.subtitles[i] = filepath.FromSlash(row.subtitles[i])
			}
			got := subtitlesOf(row.videos, row.subtitles)
			for _, list := range got {
				for i := range list {
					list[i] = filepath.ToSlash(list[i])
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A walk and a file that was named find the same subtitles.
func TestVideosComeWithTheirSubtitles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"Show - 01.mkv", "Show - 01.ko.srt", "Show - NCOP.mkv", "Show - NCOP.ass",
		"Subs/Show - 01.en.srt", "Subs/Show - 01/3_French.srt", "alone/Film.mkv",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(roots ...string) map[string][]string {
		got := map[string][]string{}
		err := Walk(context.Background(), roots, Options{}, func(d Dir) error {
			for _, f := range d.Files {
				got[f.Name] = f.Subtitles
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := map[string][]string{
		"Show - 01.mkv": {
			"Show - 01.ko.srt", filepath.Join("Subs", "Show - 01.en.srt"),
			filepath.Join("Subs", "Show - 01", "3_French.srt"),
		},
		"Show - NCOP.mkv": {"Show - NCOP.ass"}, "Film.mkv": nil,
	}
	if diff := cmp.Diff(want, ask(dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, ask(filepath.Join(dir, "Show - 01.mkv"), filepath.Join(dir, "Show - NCOP.mkv"),
		filepath.Join(dir, "alone", "Film.mkv"))); diff != "" {
		t.Error(diff)
	}
}
