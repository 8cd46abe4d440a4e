package library

import (
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestNamesThatAreLeftOut(t *testing.T) {
	tests := map[string][]string{
		SkipSample: {
			"sample.mkv", "Sample.mp4", "sample-grp-show.s01e01.mkv", "show.s01e01.1080p-grp-sample.mkv",
			"show.s01e01.sample.mkv", "show_s01e01_sample.avi", "Show - 01 [sample].mkv", "Show - 01 sample.mkv",
			"Show S01E01 (Sample).mkv",
		},
		SkipTrailer: {
			"trailer.mp4", "Trailer 2.mkv", "Film-trailer.mkv", "Film (2001)-trailer2.mkv",
			"Film.2001.Trailer.mkv", "Film - Theatrical Trailer.mkv", "Official Trailer.mkv", "[Grp] Show [Trailer].mkv",
			"movie_trailer.mov", "[Grp] Show (Official Trailer 2) [1080p].mkv",
		},
		SkipCreditless: {
			"[Grp] Show - NCOP [1080p].mkv", "[Grp] Show - NCED2v2 [ABCD1234].mkv", "Show NCOP1a.mkv",
			"[Grp] Show [NCED][Ma10p_1080p].mkv", "Show.NC.OP.01.mkv", "Show - Creditless Opening 1.mkv", "Show_Clean_ED.mkv",
			"Show - Textless Ending.mkv", "NCOP.mkv", "Show - NC-ED01.mkv", "【组】Show [NCOP01].mkv",
		},
		SkipMenu: {
			"menu.mkv", "[Grp] Show [Menu].mkv", "[Grp] Show [Menu 02][1080p].mkv", "Show - BD Menu 1.mkv",
			"Show - Menu.mkv", "Show - Menu 2 [1080p].mkv", "DVD_Menu.vob", "[Grp] Menu 01.mkv", "Show Disc Menu.mkv",
		},
		SkipExtra: {
			"Film-behindthescenes.mkv", "Film (2001)-featurette.mkv", "Film-deleted.mkv", "Show-interview.mp4",
			"Film (2001)-scene.mkv", "The making of it-short.mkv", "Show.S01E02-other.mkv", "Alternate take-Clip.mp4",
		},
		SkipAppleDouble: {"._Show - 01.mkv"},
		"": {
			"Free Sample.mkv", "Sample - 01.mkv", "Sample S01E01.mkv", "Samples of Love - 03.mkv", "Resample - 01.mkv",
			"Show S01E03 - The Sample.mkv",
			"Trailer Park Boys S01E01.mkv", "Trailer.Park.Boys.S01E01.mkv", "Trailers of the Lost World - 02.mkv",
			"Show S02E04 - Trailer Trash.mkv",
			"Sync Operation - 01.mkv", "Agency - 01.mkv", "Vancouver.ED.S01E01.mkv", "Once Open - 02.mkv",
			"Dance Dance Danseur - 04.mkv", "Clean with Passion for Now - 01.mkv", "NCIS S01E01.mkv", "Show - OP.mkv",
			"The Menu (2022).mkv", "The.Menu.2022.1080p.mkv", "Show S01E05 - Menu.mkv",
			"Today's Menu for the Emiya Family - 03.mkv", "Menu no Ie - 01.mkv", "Show - 05 - The Queen's Menu of the Day.mkv",
			"Interview with the Vampire (1994).mkv", "Deleted Scenes Club - 01.mkv", "Sub-extra ordinary - 01.mkv",
			".hack__SIGN - 01.mkv", "[Grp] Show - 01 [1080p][ABCD1234].mkv", "제목 7화.mkv", "第07話.mkv", "01.mkv", ".mkv",
			"86 - 01.mkv", "crime-scene.mkv", "each-other.mp4", "The Film - Short.mkv", "A Clip-Show - 01.mkv",
		},
	}
	for want, names := range tests {
		for _, name := range names {
			if got := skipByName(name); got.String() != want {
				t.Errorf("%q: got %q, want %q", name, got, want)
			}
		}
	}
}

func TestFoldersThatAreNotEntered(t *testing.T) {
	tests := map[string][]string{
		SkipSystem: {
			"@eaDir", "@EADIR", "#recycle", ".Trash", ".Trash-1000", ".trashes", "System Volume Information", ".git",
			".stversions",
		},
		SkipHidden: {".hidden", ".config", ".x"},
		"": {
			".hack SIGN", ".hack__SIGN", ".hackROOTS", ".hex [2003]", "Show", "#1 in Love", "@home", "Recycle",
			"Trash",
		},
	}
	for want, names := range tests {
		for _, name := range names {
			if got := hiddenFolder(name); got.String() != want {
				t.Errorf("%q: got %q, want %q", name, got, want)
			}
		}
	}
}

func TestSeasonFolders(t *testing.T) {
	for name, want := range map[string]bool{
		"Season 1": true, "season_02": true, "Season 2019": true, "S01": true, "s1": true, "2nd Season": true,
		"Show 2nd Season": true, "Show Season 2": true, "Season One": true, "Season Onerous": false,
		"第2期": true, "第二季": true, "시즌 2": true, "2기": true, "Specials": true, "OVA": true, "Staffel 3": true,
		"Season of Love": false, "S": false, "Extras": false, "S01E01": false, "Summer": false, "Show": false,
		norm.NFD.String("시즌 2"): true, norm.NFD.String("シーズン1"): true,
	} {
		if got := IsSeasonFolder(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestExtensions(t *testing.T) {
	for name, want := range map[string][2]bool{
		"a.mkv": {true, false}, "a.MKV": {true, false}, "a.b.ts": {true, false}, "a.3gp": {true, false},
		"a.strm": {true, false},
		"a.srt":  {false, true}, "a.ko.ASS": {false, true}, "a.nfo": {false, true},
		"a": {}, "mkv": {}, "a.mkv.part": {}, "a.jpg": {}, "": {}, "a.": {},
	} {
		if got := [2]bool{IsVideo(name), IsSidecar(name)}; got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
