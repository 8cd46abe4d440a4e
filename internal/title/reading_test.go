package title

import "testing"

func TestReadings(t *testing.T) {
	for _, row := range []struct {
		japanese, latin string
		want            bool
	}{
		{"灯台のひかり", "Toudai no Hikari", true},
		{"これはランタンですか?", "Kore wa Lantern Desu ka", true},
		{"さらば北の灯台 霧の航路", "Saraba Kita no Toudai: Kiri no Kouro", true},
		{"灯台のひかり", "Toudai no Hikari Shin Shou no Hajimari", false},
		{"灯台のひかり", "Salt Harbor", false},
		{"灯台", "Toudai", false}, // no kana
		{"LANTERN クラブ", "Lantern Kurabu", true},
		{"Lantern Club", "Lantern Clubs", false}, // nothing to read
		{"", "", false},
	} {
		if got := Reads(row.japanese, row.latin); got != row.want {
			t.Errorf("%s as %s: %v", row.japanese, row.latin, got)
		}
	}
}

func TestShapesOfReadings(t *testing.T) {
	for _, row := range []struct {
		japanese, latin string
		want            bool
	}{
		{"霧の灯台編", "Kiri no Toudai-hen", true},
		{"霧の灯台編", "Kiri no Toudai", false},
		{"北への帰り道", "Kita e no Kaerimichi", true},
		{"嵐", "Arashi no Kouro", false},
		{"北海灯台島編", "Kita-hen", false}, // five characters in four letters
		{"星々の灯台", "Hoshiboshi no Toudai", true},
		{"島々の灯台", "Shimajima no Toudai", true},
		{"星々の灯台", "Minato no Toudai", false},
		{"", "", false},
	} {
		if _, got := MayRead(row.japanese, row.latin); got != row.want {
			t.Errorf("%s as %s: %v", row.japanese, row.latin, got)
		}
	}
}
