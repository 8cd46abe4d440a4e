package match

import (
	"testing"

	"github.com/anivault/anivault/internal/release"
)

func TestFolderOfSpecialsStatesNoNumber(t *testing.T) {
	for path, want := range map[string]string{
		"Paper Owls/OVA/Paper Owls OVA 2화 Winter Fair.mkv":      "tv 7 S00E03",
		"Paper Owls/Specials/Paper Owls - 02 - Winter Fair.mkv": "tv 7 S00E03",
		"Paper Owls/Specials/02 - Winter Fair.mkv":              "tv 7 S00E03",
		"Paper Owls/Specials/Paper Owls - 02.mkv":               "tv 7 -",
		"Paper Owls/특별편/Paper Owls 2화.mkv":                      "tv 7 -",
		"Paper Owls/Specials/Paper Owls S00E02.mkv":             "tv 7 S00E02",
		"Paper Owls/Season 00/Paper Owls - 02.mkv":              "tv 7 S00E02",
		"Paper Owls/Season 0/02.mkv":                            "tv 7 S00E02",
		"Copper Wharf/OAD/Copper Wharf OAD 2.mkv":               "tv 13 S00E02",
	} {
		if got := decideOne(shapes(), release.Parse(path)); outcome(got) != want {
			t.Errorf("%s: got %s (%s), want %s\nsteps: %v", path, outcome(got), got.Reason, want, got.Steps)
		}
	}
}
