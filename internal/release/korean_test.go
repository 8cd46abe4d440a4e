package release

import (
	"slices"
	"testing"
)

func TestKoreanParts(t *testing.T) {
	check(t, []row{
		{"은빛 철도 16부(최종회).mkv", "은빛 철도 e16 episode"},
		{"은빛철도 150부.avi", "은빛철도 e150 episode"},
		{"은빛철도 제150부.avi", "은빛철도 e150 episode"},
		{"은빛 철도 제2부 03화.mkv", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 2부 03화.mkv", "은빛 철도 e3 part2 episode"},
		{"은빛 철도 1부.mkv", "은빛 철도 part1"},
		{"은빛 철도 16부작 3회.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 7회 2부.mkv", "은빛 철도 e7 part2 episode"},
		{"은빛 철도 제7회 제2부.mkv", "은빛 철도 e7 part2 episode"},
		{"은빛 아파트 7화.mkv", "은빛 아파트 e7 episode"},
		{"은빛아파트 2기 7화.mkv", "은빛아파트 s2 e7 episode"},
		{"은빛철도파트2 7화.mkv", "은빛철도 e7 part2 episode"},
		{"1부터 10까지.mkv", "1부터 10까지"},
	})
}

func TestCountersAfterASpace(t *testing.T) {
	check(t, []row{
		{"은빛 철도 7 화.mkv", "은빛 철도 e7 episode"},
		{"은빛 철도 07 회 1080p.mkv", "은빛 철도 e7 episode"},
		{"은빛 철도 3~4 회.mkv", "은빛 철도 e3-4 episode"},
		{"은빛 철도 시즌2 3 화.mkv", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 시즌 2 3 화 (자막).mkv", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 2 기 3 화.mkv", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 2 기 - 03.mkv", "은빛 철도 s2 e3 episode"},
		{"銀色鉄道 12 話.mkv", "銀色鉄道 e12 episode"},
		{"銀色鉄道 12 回.mkv", "銀色鉄道 e12 episode"},
		{"은빛 3 회사 7화.mkv", "은빛 3 회사 e7 episode"},
		{"은빛 4 기사 7화.mkv", "은빛 4 기사 e7 episode"},
	})
}

func TestSeasonWordBeforeAKoreanEpisode(t *testing.T) {
	check(t, []row{
		{"은빛 철도 Season 2 3화.mkv", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 Season2 3회.mkv", "은빛 철도 s2 e3 episode"},
		{"Silver Rail Season 2 3話.mkv", "Silver Rail s2 e3 episode"},
		{"Silver Rail Season 2 3话.mkv", "Silver Rail s2 e3 episode"},
		{"Silver Rail Season2 3回.mkv", "Silver Rail s2 e3 episode"},
	})
}

func TestKoreanTotals(t *testing.T) {
	check(t, []row{
		{"은빛 철도 20화 완결/01.mkv", "은빛 철도 e1 episode"},
		{"은빛 철도 [20화 완결]/01 [1080p].mkv", "은빛 철도 e1 episode"},
		{"은빛 철도 16회까지/03. 새벽.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 2기 8화 완결/03.mkv", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 20화/abc.mkv", "은빛 철도 e20 episode"},
		{"은빛 철도 1~20화 완결/10 새벽.mkv", "은빛 철도"},
		{"은빛 철도 E01-E20/인터뷰.mkv", "은빛 철도"},
		{"은빛 철도 전16부작/E03.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 전 16부작/3회.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 총 16부작/3회.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 블루레이 합본/3회.mkv", "은빛 철도 e3 episode"},
		{"은빛 대전 16부작 3회.mkv", "은빛 대전 e3 episode"},
		{"은빛 철도 전20화/01.mkv", "은빛 철도 e1 episode"},
		{"은빛 철도 전 20화 완결/은빛 철도 3화.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 2기 총 12회/03.mkv", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 1-16 완/12.mkv", "은빛 철도 e12 episode"},
		{"은빛 철도 01~16완결/3화.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 전20화.mkv", "은빛 철도 e1-20 batch"},
		{"은빛 총 3화.mkv", "은빛 총 e3 episode"},
		{"은빛 대전 3화.mkv", "은빛 대전 e3 episode"},
	})
}

// A bare range behind the title counts the folder's episodes.
func TestRangesInAFoldersName(t *testing.T) {
	check(t, []row{
		{"은빛 철도 1~16/은빛 철도 03.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 1-16/은빛 철도 3화.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 001-016 [1080p]/은빛 철도 003.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도/001~016/은빛 철도 003.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도/01-16/03.mkv", "은빛 철도 e3 episode"},
		{"[Quiet] Silver Rail 01-24 [1080p]/[Quiet] Silver Rail - 04 [1080p].mkv", "Silver Rail e4 episode"},
		{"Silver Rail 24-7/Silver Rail 24-7 - 03.mkv", "Silver Rail 24-7 e3 episode"},
	})
}

// In a show's folder, a bare number is the episode, whatever tags follow it.
func TestBareNumbersBeforeTags(t *testing.T) {
	check(t, []row{
		{"은빛 철도/10 [1080p].mkv", "은빛 철도 e10 episode"},
		{"은빛 철도/3_1080p.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 시즌2/10.720p-NEXT.mp4", "은빛 철도 s2 e10 episode"},
		{"은빛 철도 [16화 완결]/10 1080p.mkv", "은빛 철도 e10 episode"},
		{"은빛 철도 1~16화/10 자막.mkv", "은빛 철도 e10 episode"},
		{"Silver Rail (2016)/10 [1080p].mkv", "Silver Rail e10 y2016 episode"},
		{"Movies/21 [1080p].mkv", "21 movie"},
		{"Movies/Silver Rail/21 [1080p].mkv", "21 movie"},
		{"21 (2008)/21 [1080p].mkv", "21 y2008 movie"},
	})
}

// Several seasons may be listed before or behind the word.
func TestListsOfSeasons(t *testing.T) {
	check(t, []row{
		{"은빛 철도 1,2기/은빛 철도 3화.mkv", "은빛 철도 s1-2 e3 episode"},
		{"은빛 철도 1, 2, 3기/은빛 철도 3화.mkv", "은빛 철도 s1-3 e3 episode"},
		{"은빛 철도 1+2기 (자막)/은빛 철도 3화.mkv", "은빛 철도 s1-2 e3 episode"},
		{"은빛 철도 1&2기/은빛 철도 2기 3화.mkv", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 1~2시즌/은빛 철도 3화.mkv", "은빛 철도 s1-2 e3 episode"},
		{"은빛 철도/시즌1,2/은빛 철도 3화.mkv", "은빛 철도 s1 e3 episode"},
		{"은빛 철도/시즌 1~2/은빛 철도 3화.mkv", "은빛 철도 s1 e3 episode"},
		{"銀色鉄道 1・2期/銀色鉄道 03話.mkv", "銀色鉄道 s1-2 e3 episode"},
	})
}

// "2_03화" is a season and an episode: an underscore joins no range behind a single digit.
func TestSeasonGluedBeforeAPaddedEpisode(t *testing.T) {
	check(t, []row{
		{"작은 은빛 철도2_03화.mkv", "작은 은빛 철도2 e3 episode"},
		{"[KBS] 은빛 철도2_13회.mp4", "은빛 철도2 e13 episode"},
		{"은빛 철도 Season 2_03회.mp4", "은빛 철도 s2 e3 episode"},
		{"은빛 철도 02-03화.mp4", "은빛 철도 e2-3 episode"},
		{"은빛 철도 9-10화.mp4", "은빛 철도 e9-10 episode"},
	})
}

// A film's place in a collection is no part of its title in any script.
func TestNumberedFilms(t *testing.T) {
	check(t, []row{
		{"Movies/01. Silver Rail (1988).mkv", "Silver Rail y1988 movie"},
		{"영화/01. 은빛 철도 (1988).mkv", "은빛 철도 y1988 movie"},
		{"지브리/01. 은빛 철도 (1988).mkv", "은빛 철도 y1988 movie"},
		{"영화/12 은빛 (1988).mkv", "12 은빛 y1988 movie"},
	})
}

func TestKoreanHalvesOfAnEpisode(t *testing.T) {
	for name, want := range map[string]bool{
		"은빛 철도 7회 1부.mkv":                     true,
		"은빛 철도 7회(2부).mkv":                    true,
		"은빛 철도.E07.2부.230101.1080p-QT.mkv":    true,
		"은빛 철도 7화 2쿨.mkv":                     false,
		"은빛 철도 2부 7회.mkv":                     false,
		"은빛 철도 E09 파트2.mkv":                   false,
		"[Quiet] Silver Rail - 08 Part 2.mkv": false,
	} {
		if got := Parse(name).PartOfEpisode; got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

func TestRangesThatATemplateWrites(t *testing.T) {
	check(t, []row{
		{"은빛 철도 1기 01-E03화.mkv", "은빛 철도 s1 e1-3 episode"},
		{"은빛 철도 시즌2 10-E11회.mkv", "은빛 철도 s2 e10-11 episode"},
		{"Silver Rail Season 1 01-E02.mkv", "Silver Rail s1 e1-2 episode"},
		{"은빛 철도 3-E05.mkv", "은빛 철도 3 e5 episode"},
		{"은빛 철도 01-E03화.mkv", "은빛 철도 e1-3 episode"},
	})
}

func TestTitlesThatEndInTheOrdinalSign(t *testing.T) {
	check(t, []row{
		{"은빛 삼형제 7회.mkv", "은빛 삼형제 e7 episode"},
		{"은빛사제 2기 7화.mkv", "은빛사제 s2 e7 episode"},
		{"은빛철도제7화.mkv", "은빛철도 e7 episode"},
		{"은빛 철도 제 7화.mkv", "은빛 철도 e7 episode"},
	})
}

func TestNamesInAnotherEncoding(t *testing.T) {
	check(t, []row{
		{"\xb8\xf0\xb9\xfc\xc5\xc3\xbd\xc3 - 03.avi", "e3 episode"}, // in CP949; two of its bytes are "ý" in UTF-8
		{"Pok\xe9mon - 03.mkv", "Pok\uFFFDmon e3 episode"},
		{"은빛 철도/\xb9\xab\xba\xf9.E03.avi", "은빛 철도 e3 episode"},
	})
}

func TestKoreanFoldersThatSayNothing(t *testing.T) {
	for _, folder := range []string{"다운로드", "미디어", "비디오", "동영상", "토렌트", "새 폴더", "한국 드라마"} {
		if got := Parse(folder + "/230507 은빛철도 652회.mkv").Title; got != "은빛철도" {
			t.Errorf("%s: got %q", folder, got)
		}
	}
}

func TestPreviewsOfAnEpisodeAreExtras(t *testing.T) {
	check(t, []row{
		{"은빛 철도 1회 예고.mkv", "은빛 철도 e1 PV extra"},
		{"은빛 철도 2회 예고편 [1080p].mkv", "은빛 철도 e2 PV extra"},
		{"銀色鉄道 第1話 予告.mkv", "銀色鉄道 e1 PV extra"},
		{"은빛 철도 3회 예고편의 비밀.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 3회 선공개.mp4", "은빛 철도 e3 PV extra"},
		{"은빛 철도 3회 메이킹.mp4", "은빛 철도 e3 PV extra"},
		{"은빛 철도 (2019) 메이킹.mp4", "은빛 철도 y2019 PV extra"},
		{"은빛 철도 3회 티저의 비밀.mkv", "은빛 철도 e3 episode"},
		{"메이킹 3화.mkv", "메이킹 e3 episode"},
		{"은빛 철도 풀버전.mp4", "은빛 철도"},
		{"은빛 철도 고화질.mp4", "은빛 철도"},
	})
}

func TestFootageOfAKoreanEpisodeIsAnExtra(t *testing.T) {
	check(t, []row{
		{"은빛 철도 3화 하이라이트.mkv", "은빛 철도 e3 EXTRA extra"},
		{"은빛 철도 3회 비하인드 영상 1080p.mkv", "은빛 철도 e3 EXTRA extra"},
		{"은빛 철도 2기 3화 [인터뷰].mkv", "은빛 철도 s2 e3 EXTRA extra"},
		{"은빛 철도.E03.미방영분.1080p.mkv", "은빛 철도 e3 EXTRA extra"},
		{"은빛 철도/3화 - 리뷰.mkv", "은빛 철도 e3 EXTRA extra"},
		{"은빛 철도 3화 메이킹 필름.mkv", "은빛 철도 e3 PV extra"},
		{"은빛 철도 NG 모음.mkv", "은빛 철도 NG 모음"},
		{"은빛 철도 제작발표회.mkv", "은빛 철도 PV extra"},
		{"은빛 철도 3화 인터뷰의 밤.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 - S01E03 - 인터뷰.mkv", "은빛 철도 s1 e3 episode"},
		{"은빛 철도 3화 영상.mkv", "은빛 철도 e3 episode"},
		{"인터뷰 3화.mkv", "인터뷰 e3 episode"},
		{"은빛과의 인터뷰 (1994).mkv", "은빛과의 인터뷰 y1994 movie"},
		{"은빛 철도 비하인드 3화.mkv", "은빛 철도 비하인드 e3 episode"},
		{"은빛 철도/비하인드/01.mkv", "은빛 철도 e1 extra"},
	})
}

func TestKoreanEditions(t *testing.T) {
	for name, want := range map[string]string{
		"은빛 철도 감독판 (1982).mkv":            "Director's Cut",
		"은빛 철도 (2001) 확장판 1080p.mkv":      "Extended",
		"은빛.철도.확장판.2001.1080p.BluRay.mkv": "Extended",
		"은빛 철도 (2001) [감독판].mkv":          "Director's Cut",
		"은빛 철도 (2001).mkv":                "",
	} {
		if got := Parse(name); got.Edition != want || got.Title != "은빛 철도" {
			t.Errorf("%s: got %q of %q, want %q", name, got.Edition, got.Title, want)
		}
	}
}

func TestTextAfterASpecialIsItsTitle(t *testing.T) {
	for name, want := range map[string]string{
		"Silver Rail OVA Night Train.mkv":          "Night Train",
		"은빛 철도 특별편 야간열차.mkv":                       "야간열차",
		"은빛 철도 - 번외편 - 야간열차.mkv":                   "야간열차",
		"Silver.Rail.OVA.1080p.BluRay.x264-QT.mkv": "",
		"[Quiet] Silver Rail OVA [1080p].mkv":      "",
		"[Quiet] Silver Rail - OAD 02 [1080p].mkv": "",
		"[Quiet] Silver Rail OVA 2 - Harbour.mkv":  "Harbour",
		"Silver Rail OVA (Uncensored) [1080p].mkv": "",
		"[Quiet] Silver Rail - OVA (BD 1080p).mkv": "",
	} {
		if got := Parse(name).EpisodeTitle; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestTitleBeforeASeasonInsideTheTitle(t *testing.T) {
	for name, want := range map[string]string{
		"은빛 철도 3기 등불마을편 11화.mkv":            "은빛 철도",
		"은빛 철도 시즌3 등불마을 11화.mkv":            "은빛 철도",
		"銀色鉄道 第2期 灯火編 第3話.mkv":              "銀色鉄道",
		"은빛 철도/등불 마을편/03화.mkv":              "은빛 철도 등불 마을편",
		"KBS 대하드라마 은빛 철도 제3회.avi":           "은빛 철도",
		"[극장판] 은빛 철도 25기 등불의 신부 (2022).mkv": "은빛 철도 등불의 신부",
		"은빛 철도 하.mkv":                       "은빛 철도",
		"은빛 철도 상편.mkv":                      "은빛 철도",
		"銀色鉄道/灯火編/03.mkv":                   "銀色鉄道 灯火編",
		"은빛 철도/등불 마을편/은빛 철도 3화.mkv":         "은빛 철도 등불 마을편",
	} {
		if got := Parse(name).Titles; !slices.ContainsFunc(got, func(x Title) bool { return x.Text == want }) {
			t.Errorf("%s: got %v, want %s among them", name, got, want)
		}
	}
}

func TestWaveDashesJoinNumbers(t *testing.T) {
	check(t, []row{
		{"은빛 철도 3∼4회.mp4", "은빛 철도 e3-4 episode"},
		{"은빛 철도 3회∼4회.mp4", "은빛 철도 e3-4 episode"},
		{"은빛 철도 제3～4회.mp4", "은빛 철도 e3-4 episode"},
		{"은빛 철도 03 〜 04화.mkv", "은빛 철도 e3-4 episode"},
		{"은빛 철도.E01∼E02.mp4", "은빛 철도 e1-2 episode"},
		{"은빛 철도.E01～E02.mp4", "은빛 철도 e1-2 episode"},
		{"은빛 철도.E01〜E02.mp4", "은빛 철도 e1-2 episode"},
		{"은빛 철도 E01～E20/03.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 [EP01～EP20]/03.mkv", "은빛 철도 e3 episode"},
		{"은빛 철도 1∼20 완/03.mkv", "은빛 철도 e3 episode"},
		{"銀色鉄道 E01～E12/03.mkv", "銀色鉄道 e3 episode"},
		{"은빛 철도 ∼밤∼ 3화.mkv", "은빛 철도 ∼밤∼ e3 episode"},
	})
}

func TestANumberOfTheSeasonIsNoEpisode(t *testing.T) {
	check(t, []row{
		{"은빛 철도2-03회.mp4", "은빛 철도2 e3 episode"},
		{"은빛 철도2-16회.mp4", "은빛 철도2 e16 episode"},
		{"은빛 철도1-16회.mp4", "은빛 철도 e1-16 batch"},
		{"은빛 철도 2-16회.mp4", "은빛 철도 e2-16 batch"},
		{"은빛 철도 3시즌 8부작/3화.mkv", "은빛 철도 s3 e3 episode"},
		{"은빛 철도 3시즌 1080p/3화.mkv", "은빛 철도 s3 e3 episode"},
		{"은빛 철도 3시즌 03.mkv", "은빛 철도 s3 e3 episode"},
	})
}

func TestAnEpisodesWordMayBeginAName(t *testing.T) {
	check(t, []row{
		{"은빛 철도/시즌 3/에피소드 4.mp4", "은빛 철도 s3 e4 episode"},
		{"은빛 철도 시즌1/에피소드1 첫 만남.mp4", "은빛 철도 s1 e1 episode"},
		{"銀色鉄道/エピソード 4.mp4", "銀色鉄道 e4 episode"},
	})
}

func TestSeasonAndEpisodeBeforeASubtitle(t *testing.T) {
	for _, name := range []string{
		"소금 항구/시즌1 1화 첫 등불.mkv", "소금 항구/시즌1 E01 첫 등불.mkv", "소금 항구/1기 1화 첫 등불.mkv",
		"소금 항구/S1 1화 첫 등불.mkv", "소금 항구/시즌1 에피소드 1. 첫 등불.mkv",
		"소금 항구/Season 1 Episode 1 첫 등불.mkv",
	} {
		r := Parse(name)
		if r.Title != "소금 항구" || len(r.Titles) != 1 || r.EpisodeTitle != "첫 등불" {
			t.Errorf("%s: titles %v, episode title %q", name, r.Titles, r.EpisodeTitle)
		}
	}
	if r := Parse("시즌1 1화 소금 항구.mkv"); r.Title != "소금 항구" {
		t.Errorf("without a folder: title %q", r.Title)
	}
}
