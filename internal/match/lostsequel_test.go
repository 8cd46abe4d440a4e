package match

import (
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/release"
)

// sequels is a world of shows with several seasons and films with sequels.
func sequels() *world {
	harbor := series(1, "소금 항구의 등대", "소금 항구의 등대", 2020, season(1, "1-12@2020-03-12"),
		season(2, "1-12@2021-06-17"), season(3, "1-12@2023-06-17"))
	bell := series(2, "Silver Bell Town", "銀の鐘の町", 2015, season(1, "1-24@2015-04-04"), season(2, "1-24@2018-04-04"))
	single := series(3, "조약돌", "조약돌", 2019, season(1, "1-16@2019-01-05"))
	kite := series(4, "7일의 연날리기", "7일의 연날리기", 2019, season(1, "1-16@2019-01-05"), season(2, "1-16@2021-01-05"))
	return &world{entries: []*Entry{
		harbor, bell, single, kite,
		film(11, "안개선", "안개선", 2006), film(12, "안개선: 새벽 등불", "안개선: 새벽 등불", 2014),
		film(13, "안개선: 마지막 항해", "안개선: 마지막 항해", 2019),
		film(21, "Paper Crown", "Paper Crown", 1986), film(22, "Paper Crown: Orchard", "Paper Crown: Orchard", 2022),
		film(31, "돌개바람", "돌개바람", 2017), film(32, "돌개바람 2", "돌개바람 2", 2022),
		film(41, "외딴 다리", "외딴 다리", 2011),
	}}
}

// outcomeOrDoubt is outcome, with "unsure" behind a film that is in doubt.
func outcomeOrDoubt(d Decision) string {
	out := outcome(d)
	if d.Kind == Movie && d.Confidence < ConvincingConfidence {
		out += " unsure"
	}
	return out
}

func TestATitleOfTheFolderKeepsTheNumberOfTheFile(t *testing.T) {
	for _, row := range []struct{ name, want string }{
		// behind the folder's title, whatever else the file's title says
		{"소금 항구의 등대/소금항구의 등대2 재방 3회.mp4", "tv 1 S02E03"},
		{"소금 항구의 등대/드라마 소금 항구의 등대3 5화.mp4", "tv 1 S03E05"},
		{"소금 항구의 등대/소금 항구의 등대2 심판의 밤.E04.210730.720p.mp4", "tv 1 S02E04"},
		{"소금 항구의 등대 {tmdb-1}/드라마 소금 항구의 등대3 5화.mp4", "tv 1 S03E05"},
		{"Silver Bell Town/Drama Silver Bell Town II - 05.mkv", "tv 2 S02E05"},
		{"소금 항구의 등대/드라마 소금 항구의 등대4 5화.mp4", "tv 1 -"}, // there is no season 4
		// behind an abbreviation of it
		{"소금 항구의 등대/소항등2 3화.mp4", "tv 1 S02E03"},
		{"소금 항구의 등대/등대3.E03.230113.720p.mp4", "tv 1 S03E03"},
		{"Silver Bell Town/SBT 2 - 05.mkv", "tv 2 S02E05"},
		{"Silver Bell Town/SBT II - 05.mkv", "tv 2 S02E05"},
		// of a title that may be another's
		{"소금 항구의 등대/소굼 항구에 등대2 3화.mp4", "tv 1 -"},
		{"조약돌/모래알2 3화.mp4", "tv 3 -"},
		{"소금 항구의 등대/2 다른 이야기 3화.mp4", "tv 1 -"},
		{"소금 항구의 등대/파이널 시즌 3화.mp4", "tv 1 S03E03"},
		{"Silver Bell Town/The Final Season - 05.mkv", "tv 2 S02E05"},
		// no sequel's number
		{"조약돌/조약돌 11화.mp4", "tv 3 S01E11"},
		{"조약돌/자갈 3화.mp4", "tv 3 S01E03"},
		{"소금 항구의 등대/소항등 3화.mp4", "tv 1 S01E03"},
		{"소금 항구의 등대/드라마 소금 항구의 등대1 3화.mp4", "tv 1 S01E03"},
		{"7일의 연날리기/7연 3화.mp4", "tv 4 S01E03"},
		{"7일의 연날리기/7연2 3화.mp4", "tv 4 S02E03"},
		// films
		{"돌개바람/한국영화 돌개바람2.mkv", "movie 32"},
		{"돌개바람/돌개바람2 노래자막.mkv", "movie 32 unsure"},
		{"돌개바람/2편.mkv", "movie 32"},
		{"돌개바람/돌바2.mkv", "movie 32"},
		{"돌개바람/1편.mkv", "movie 31"},
		{"돌개바람/한국영화 돌개바람.mkv", "movie 31"},
		{"안개선/안개선2 새벽 등불.mkv", "movie 12"},
		{"안개선/3 마지막 항해.mkv", "movie 13"},
		{"안개선/2탄 새벽 등불.mkv", "movie 12"},
		{"Paper Crown/2 Orchard.mkv", "movie 22"},
		{"Paper Crown/Paper Crown2 Orchard.mkv", "movie 22"},
		{"영화/돌개바람 1080p/2편.mkv", "movie 32"},
		{"외딴 다리/외딴 다리2 노래자막.mkv", "movie 41 unsure"}, // TMDB has no second film
		{"외딴 다리/2편.mkv", "movie 41 unsure"},
	} {
		d := decideOne(sequels(), release.Parse(row.name))
		if got := outcomeOrDoubt(d); got != row.want {
			t.Errorf("%s: %s (%.3f, %s), want %s", row.name, got, d.Confidence, d.Reason, row.want)
		}
		if strings.HasSuffix(row.want, " -") && !strings.Contains(d.Reason.String(), "2") &&
			!strings.Contains(d.Reason.String(), "4") {
			t.Errorf("%s: the reason does not name the number: %s", row.name, d.Reason)
		}
	}
}

func TestATitleInAnotherSpacingWithWordsBehindItIsNotTheFirstSeason(t *testing.T) {
	for _, row := range []struct{ name, want string }{
		{"소금 항구의 등대/소금항구의등대 마지막 밤 3화.mp4", "tv 1 -"},
		{"소금 항구의 등대/소금 항구의 등대 마지막 밤 3화.mp4", "tv 1 -"},
		{"소금 항구의 등대/소금항구의등대 스페셜 1화.mp4", "tv 1 -"},
		{"소금 항구의 등대/소금항구의등대 3화.mp4", "tv 1 S01E03"},
		{"조약 돌/조약 돌 3화.mp4", "tv 3 S01E03"},
		{"외딴 다리/외딴다리 새벽 등불.mkv", "movie 41 unsure"},
		{"외딴 다리/외딴다리.mkv", "movie 41"},
	} {
		d := decideOne(sequels(), release.Parse(row.name))
		if got := outcomeOrDoubt(d); got != row.want {
			t.Errorf("%s: %s (%.3f, %s), want %s", row.name, got, d.Confidence, d.Reason, row.want)
		}
	}
}
