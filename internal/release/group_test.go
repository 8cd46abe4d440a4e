package release

import "testing"

func TestGroupAfterADash(t *testing.T) {
	for name, want := range map[string][2]string{
		"Silver Rail (2021) - S01E01 [WEB 1080p].mkv":               {"", ""},
		"Silver Rail (2021) - 12 (1080p).mkv":                       {"", ""},
		"Silver Rail (2021) - 12v2 (1080p).mkv":                     {"", ""},
		"Silver Rail (2021) - S01E01 - Night Falls [WEB 1080p].mkv": {"", "Night Falls"},
		"Silver Rail 2021 1080p BluRay AVC -236@QUIET":              {"236@QUIET", ""},
		"Silver Rail TV-2 [1080p]/05.mkv":                           {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if r := Parse(name); r.Group != want[0] || r.EpisodeTitle != want[1] {
				t.Errorf("group %q, episode title %q; want %q", r.Group, r.EpisodeTitle, want)
			}
		})
	}
}
