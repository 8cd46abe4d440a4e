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
		"Paper Owls OVA Winter Fair.mkv":                        "tv 7 S00E03",
		"Paper Owls [tmdbid-7]/Paper Owls OVA S01E02.mkv":       "tv 7 S01E02",
		"Paper Owls/Paper Owls OVA S01E02.mkv":                  "tv 7 -",
		"Copper Wharf/OAD/Copper Wharf OAD 2.mkv":               "tv 13 S00E02",
		"Ferry Nine/Ferry Nine - S01E01 - First Bell.mkv":       "tv 20 S01E01",
		"Ferry Nine/Ferry Nine - S02E01 - Storm Bell.mkv":       "tv 20 S02E01",
		"Ferry Nine/Ferry Nine - First Bell.mkv":                "tv 20 S00E01",
	} {
		if got := decideOne(shapes(), release.Parse(path)); outcome(got) != want {
			t.Errorf("%s: got %s (%s), want %s\nsteps: %v", path, outcome(got), got.Reason, want, got.Steps)
		}
	}
}

func TestFolderOfDramasIsOfLiveAction(t *testing.T) {
	anime := series(61, "Salt King", "塩の王", 2012, season(1, "1-38@2012-06-04")).alt("소금 왕국")
	drama := series(62, "Salt Kingdom", "소금 왕국", 2019, season(1, "1-6@2019-01-25"))
	drama.Genres = []int{18}
	for path, want := range map[string]string{
		"소금 왕국 2화.mkv":           "tv 61 S01E02",
		"드라마/소금 왕국/소금 왕국 2화.mkv": "tv 62 S01E02",
		"Dramas/소금 왕국 2화.mkv":    "tv 62 S01E02",
		"애니/소금 왕국 2화.mkv":        "tv 61 S01E02",
	} {
		got := decideOne(&world{entries: []*Entry{anime, drama}}, release.Parse(path))
		if outcome(got) != want {
			t.Errorf("%s: got %s (%s), want %s\nsteps: %v", path, outcome(got), got.Reason, want, got.Steps)
		}
	}
}

func TestTitleBeforeAnArcIsNotSure(t *testing.T) {
	salt := series(51, "Salt Harbor", "塩港", 2018, season(1, "1-12@2018-04-07"), season(2, "1-12@2019-04-06"),
		season(3, "1-13@2020-04-04").named("등대 마을편")).alt("소금 항구")
	for path, want := range map[string]string{
		"소금 항구 2기 부두편 3화.mkv": "tv 51 S02E03",
		"소금 항구/등대 마을편/3화.mkv": "tv 51 S03E03",
	} {
		got := decideOne(&world{entries: []*Entry{salt}}, release.Parse(path))
		if sure := got.Confidence > maxDoubtfulConfidence; outcome(got) != want || sure != (want == "tv 51 S03E03") {
			t.Errorf("%s: got %s (%s), %.2f, want %s\nsteps: %v", path, outcome(got), got.Reason, got.Confidence, want,
				got.Steps)
		}
	}
}
