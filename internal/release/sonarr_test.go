package release

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Sonarr writes the number over all seasons between season and episode and the episode's title.
func TestNumbersOverAllSeasonsThatSonarrWrites(t *testing.T) {
	for name, want := range map[string]string{
		"Silver Rail - S02E14 - 038 - The Quay.mkv": `Silver Rail s2 e14 episode [38] "The Quay"`,
		"Silver Rail - S02E14 - 038 [1080p].mkv":    `Silver Rail s2 e14 episode [38] ""`,
		"Silver Rail - S02E14 - 100 Days.mkv":       `Silver Rail s2 e14 episode [] "100 Days"`,
		"Silver Rail - S01E14 - 100 - The Quay.mkv": `Silver Rail s1 e14 episode [] "100 - The Quay"`,
	} {
		r := Parse(name)
		if diff := cmp.Diff(want, fmt.Sprintf("%s %v %q", summary(r), r.Overall, r.EpisodeTitle)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if r.Group != "" {
			t.Errorf("%s: group %q", name, r.Group)
		}
	}
}

func TestPartsInTitlesOfEpisodes(t *testing.T) {
	for _, name := range []string{
		"Silver Rail - 08 - The Quay, Part 2.mkv", "Silver Rail - 08 The Quay (Part II).mkv",
		"Silver Rail - 08 - The Second Part.mkv", "은빛 철도 08화 부두 파트2.mkv",
		"Silver Rail/08 - The Quay, Part 2.mkv",
	} {
		if r := Parse(name); r.Part != 2 || r.SeasonPart() != 0 {
			t.Errorf("%s: part %d, of the season: %d", name, r.Part, r.SeasonPart())
		}
	}
}
