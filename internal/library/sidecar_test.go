package library

import (
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestAFileBelongsToTheVideoWithTheLongestStem(t *testing.T) {
	videos := []string{
		"Show - 01.mkv", "Show - 01 [v2].mkv", "Show - 1.mkv", "Same.mkv", "Same.mp4", ".hidden.mkv", "쇼 1화.mkv",
	}
	stems := NewVideos(videos)
	for _, row := range []struct {
		name  string
		video int
		rest  string
		ok    bool
	}{
		{"Show - 01.srt", 0, ".srt", true},
		{"Show - 01.en.forced.srt", 0, ".en.forced.srt", true},
		{"Show - 01 [v2].ass", 1, ".ass", true},
		{"Show - 01 [v3].ass", 0, " [v3].ass", true},
		{"Show - 01-thumb.jpg", 0, "-thumb.jpg", true},
		{"Show - 01_commentary.mka", 0, "_commentary.mka", true},
		{"Show - 01(x).srt", 0, "(x).srt", true},
		{"Show - 01", 0, "", true},
		{"Show - 012.srt", 0, "", false},
		{"Show - 10.srt", 0, "", false},
		{"Same.srt", NoSingleVideo, ".srt", true},
		{"show - 01.srt", 0, "", false},
		{".hidden.srt", 5, ".srt", true},
		{norm.NFD.String("쇼 1화") + ".한글.smi", 6, ".한글.smi", true},
		{"", 0, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			video, rest, ok := stems.Owner(row.name)
			if ok != row.ok || ok && (video != row.video || rest != row.rest) {
				t.Errorf("got %d %q %v, want %d %q %v", video, rest, ok, row.video, row.rest, row.ok)
			}
		})
	}
}
