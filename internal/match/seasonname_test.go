package match

import "testing"

func TestSeasonsNamesAreComparedInOneChinese(t *testing.T) {
	e := series(1, "Lantern Keepers", "灯守の町", 2019, season(1, "1-12"), season(2, "1-12"), season(3, "1-12"))
	e.Titles = append(e.Titles, AltTitle{Text: "守灯人", Region: "CN"}, AltTitle{Text: "守燈人", Region: "TW"})
	e.Seasons[1].Name, e.Seasons[2].Name = "守灯人 阵营编", "守灯人 游郭篇"
	titles := entryTitles(e)
	for text, want := range map[string]int{"守燈人 陣營編": 2, "守燈人 陣營篇": 2, "守灯人 游郭篇": 3, "守燈人 遊廓篇": 0, "守燈人": 0} {
		arc := ArcText{Text: text, Rest: afterPlain(text, titles)}
		if got := arcOf(e, titles, arc.Text, arc.Text, arc.Rest); got != want {
			t.Errorf("%s is season %d, want %d", text, got, want)
		}
	}
}

func TestSeasonsNamesAreAskedForInOneChinese(t *testing.T) {
	for _, row := range []struct {
		name    string
		regions []string
		want    string
	}{
		{"China before Taiwan", []string{"TW", "CN"}, "zh-CN"},
		{"Taiwan before Hong Kong", []string{"HK", "TW"}, "zh-TW"},
		{"Hong Kong", []string{"US", "HK"}, "zh-HK"},
		{"no land", []string{"US"}, "zh-CN"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var titles []named
			for _, region := range row.regions {
				titles = append(titles, named{alt: AltTitle{Region: region}})
			}
			if _, got := arcLanguage([]ArcText{{Text: "守燈人 陣營篇", Rest: "陣營篇"}}, titles); got != row.want {
				t.Errorf("asked in %s, want %s", got, row.want)
			}
		})
	}
}
