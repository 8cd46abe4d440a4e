package organize

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/report"
)

// Nobody begins with an empty library.
func TestAnExistingLibraryGetsNoDuplicates(t *testing.T) {
	const (
		ours = "Show (2020) [tmdbid-1]"
		file = "Show (2020) S01E01 - Title 1.mkv"
	)
	ids := func(r report.Record) report.Record {
		return with(r, func(r *report.Record) { r.IDs = &report.WorkIDs{TVDB: 77, IMDB: "tt9"} })
	}
	withTitle := func(r report.Record, title string) report.Record {
		return with(r, func(r *report.Record) { r.EpisodeTitles = []string{title} })
	}
	withAbsolute := func(r report.Record, number int) report.Record {
		return with(r, func(r *report.Record) { r.Orders = &report.Orders{Absolute: []int{number}} })
	}
	withNumbers := func(r report.Record, season int, number float64) report.Record {
		return with(r, func(r *report.Record) { r.Parsed.Season, r.Parsed.Episodes = &season, []float64{number} })
	}
	tvshow := `<tvshow><uniqueid type="tmdb">1</uniqueid></tvshow>`
	other := `<tvshow><uniqueid type="tmdb">2</uniqueid></tvshow>`
	for _, row := range []struct {
		name    string
		options func(*Options)
		disk    disk
		records []report.Record
		want    []string
	}{
		{
			"the season's folder has another name", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+ours+"/Season 1/", "/out/"+ours+"/Specials/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 0, 2)},
			[]string{
				"link a.mkv > " + ours + "/Season 1/" + file,
				"link b.mkv > " + ours + "/Specials/Show (2020) S00E02 - Title 2.mkv",
			},
		},
		{
			"the season's folder in Korean", nil, tree("/in/a.mkv", "/out/"+ours+"/시즌 1/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/시즌 1/" + file},
		},
		{
			"the season's folder in Korean, written by a Mac", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+ours+"/"+norm.NFD.String("시즌 1")+"/Show - S01E02.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{
				"link a.mkv > " + ours + "/" + norm.NFD.String("시즌 1") + "/" + file,
				"exists /in/b.mkv (/out/" + ours + "/" + norm.NFD.String("시즌 1") + "/Show - S01E02.mkv)",
			},
		},
		{
			"each episode in a folder of its own", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/"+ours+"/S01E01 - One/x.mkv", "/out/"+ours+"/Show - S01E02/y.mkv",
				"/out/"+ours+"/1x03/z.mkv"),
			[]report.Record{tv("/in/c.mkv", 1, 4), tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 3)},
			[]string{
				"link c.mkv > " + ours + "/Season 01/Show (2020) S01E04 - Title 4.mkv",
				"exists /in/a.mkv (/out/" + ours + "/S01E01 - One/x.mkv)",
				"exists /in/b.mkv (/out/" + ours + "/1x03/z.mkv)",
			},
		},
		{
			"of two folders of one season the layout's own", nil,
			tree("/in/a.mkv", "/out/"+ours+"/Season 1/", "/out/"+ours+"/Season 01/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"a part of a season is not the season's folder", nil, tree("/in/a.mkv", "/out/"+ours+"/Season 1 Part 2/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"a season's number in a word", nil, tree("/in/a.mkv", "/out/"+ours+"/Season One/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season One/" + file},
		},
		{
			"another release of the episode is in a show's folder without seasons", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/in/d.mkv",
				"/out/"+ours+"/Show S01E01.mkv", "/out/"+ours+"/Show - 02.mkv"),
			[]report.Record{
				tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2), tv("/in/c.mkv", 2, 1), tv("/in/d.mkv", 2, 2),
			},
			[]string{
				"link c.mkv > " + ours + "/Season 02/Show (2020) S02E01 - Title 1.mkv",
				"link d.mkv > " + ours + "/Season 02/Show (2020) S02E02 - Title 2.mkv",
				"exists /in/a.mkv (/out/" + ours + "/Show S01E01.mkv)",
				"exists /in/b.mkv (/out/" + ours + "/Show - 02.mkv)",
			},
		},
		{
			"a show's folder counts over all seasons", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv",
				"/out/"+ours+"/Show - 26.mkv", "/out/"+ours+"/Show S01E27.mkv", "/out/"+ours+"/Show - 02.mkv"),
			[]report.Record{
				withAbsolute(tv("/in/a.mkv", 2, 1), 26), withAbsolute(tv("/in/b.mkv", 2, 2), 27),
				withAbsolute(tv("/in/c.mkv", 1, 2), 2),
			},
			[]string{
				"link b.mkv > " + ours + "/Season 02/Show (2020) S02E02 - Title 2.mkv",
				"exists /in/a.mkv (/out/" + ours + "/Show - 26.mkv)",
				"exists /in/c.mkv (/out/" + ours + "/Show - 02.mkv)",
			},
		},
		{
			"a season's folder counts over all seasons", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/in/d.mkv", "/in/e.mkv", "/in/f.mkv",
				"/out/"+ours+"/Season 02/Show - 26.mkv", "/out/"+ours+"/Season 02/Show S02E27.mkv",
				"/out/"+ours+"/Season 03/51 - Title.mkv", "/out/"+ours+"/Season 03/50 - Title.mkv"),
			[]report.Record{
				withAbsolute(tv("/in/a.mkv", 2, 1), 26), withAbsolute(tv("/in/b.mkv", 2, 2), 27),
				withAbsolute(tv("/in/f.mkv", 2, 26), 51),
				withAbsolute(tv("/in/c.mkv", 2, 27), 52), withAbsolute(tv("/in/d.mkv", 3, 1), 51),
				withAbsolute(tv("/in/e.mkv", 3, 50), 100),
			},
			[]string{
				"link b.mkv > " + ours + "/Season 02/Show (2020) S02E02 - Title 2.mkv",
				"link f.mkv > " + ours + "/Season 02/Show (2020) S02E26 - Title 26.mkv",
				"link d.mkv > " + ours + "/Season 03/Show (2020) S03E01 - Title 1.mkv",
				"exists /in/a.mkv (/out/" + ours + "/Season 02/Show - 26.mkv)",
				"exists /in/c.mkv (/out/" + ours + "/Season 02/Show S02E27.mkv)",
				"exists /in/e.mkv (/out/" + ours + "/Season 03/50 - Title.mkv)",
			},
		},
		{
			"numbers without a season in other folders of the show", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/in/d.mkv", "/in/e.mkv", "/in/f.mkv", "/in/g.mkv", "/in/h.mkv",
				"/out/"+ours+"/Disc 1/01 - One.mkv", "/out/"+ours+"/Disc 1/Show - 02.mkv", "/out/"+ours+"/[G] Show [1080p]/03.mkv",
				"/out/"+ours+"/Season 2/Disc 1/05.mkv", "/out/"+ours+"/3/06.mkv", "/out/"+ours+"/026-050/Show - 040.mkv",
				"/out/"+ours+"/Show Zero/Show Zero - 07.mkv", "/out/"+ours+"/Part 2/Show - 08.mkv"),
			[]report.Record{
				tv("/in/a.mkv", 1, 2), tv("/in/b.mkv", 1, 3), tv("/in/c.mkv", 2, 5), tv("/in/d.mkv", 3, 6),
				withAbsolute(tv("/in/e.mkv", 2, 15), 40), tv("/in/f.mkv", 1, 5), tv("/in/g.mkv", 1, 7), tv("/in/h.mkv", 1, 8),
			},
			[]string{
				"link f.mkv > " + ours + "/Season 01/Show (2020) S01E05 - Title 5.mkv",
				"link g.mkv > " + ours + "/Season 01/Show (2020) S01E07 - Title 7.mkv",
				"link h.mkv > " + ours + "/Season 01/Show (2020) S01E08 - Title 8.mkv",
				"exists /in/a.mkv (/out/" + ours + "/Disc 1/Show - 02.mkv)",
				"exists /in/b.mkv (/out/" + ours + "/[G] Show [1080p]/03.mkv)",
				"exists /in/c.mkv (/out/" + ours + "/Season 2/Disc 1/05.mkv)",
				"exists /in/d.mkv (/out/" + ours + "/3/06.mkv)",
				"exists /in/e.mkv (/out/" + ours + "/026-050/Show - 040.mkv)",
			},
		},
		{
			"the library counts a second season where TMDB goes on with the first", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/"+ours+"/Season 2/Show - S02E02.mkv",
				"/out/"+ours+"/Season 2/Show - 03.mkv", "/out/"+ours+"/Season 1/Show - S01E05.mkv"),
			[]report.Record{
				withNumbers(tv("/in/a.mkv", 1, 30), 2, 2), withNumbers(tv("/in/b.mkv", 1, 31), 2, 3),
				withNumbers(tv("/in/c.mkv", 2, 5), 1, 5),
			},
			[]string{
				"link c.mkv > " + ours + "/Season 2/Show (2020) S02E05 - Title 5.mkv",
				"exists /in/a.mkv (/out/" + ours + "/Season 2/Show - S02E02.mkv)",
				"exists /in/b.mkv (/out/" + ours + "/Season 2/Show - 03.mkv)",
			},
		},
		{
			"what macOS notes of an episode is no episode", nil, tree("/in/a.mkv", "/out/"+ours+"/Season 01/._Show S01E01.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"another release of the episode is in another season's folder", nil,
			tree("/in/a.mkv", "/out/"+ours+"/Season 1 Part 2/Show S01E01.mkv", "/out/"+ours+"/extras/Show S01E01.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"exists /in/a.mkv (/out/" + ours + "/Season 1 Part 2/Show S01E01.mkv)"},
		},
		{
			"the file is in the show's folder, where its subtitles go", nil,
			tree("/in/a.mkv", "/in/a.ko.ass", "/out/"+ours+"/x.mkv = /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.ko.ass > " + ours + "/x.ko.ass", "in place: 1"},
		},
		{
			"two works in one folder, which has another release of the second's first episode", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/Show/Season 1/Show S01E01.mkv"),
			[]report.Record{
				tv("/in/a.mkv", 1, 2), with(tv("/in/b.mkv", 1, 1), func(r *report.Record) { r.TMDBID = 2 }),
				with(tv("/in/c.mkv", 1, 3), func(r *report.Record) { r.TMDBID = 2 }),
			},
			[]string{
				"same_folder /in/a.mkv (tv/1 and tv/2 would both be Show)",
				"exists /in/b.mkv (/out/Show/Season 1/Show S01E01.mkv)",
				"same_folder /in/c.mkv (tv/1 and tv/2 would both be Show)",
			},
		},
		{
			"a file in the show's folder is renamed there", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/out/"+ours+"/x.mkv = /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"move " + ours + "/x.mkv > " + ours + "/" + file, "in place: 1"},
		},
		{
			"two folders of one season", nil, tree("/in/a.mkv", "/out/"+ours+"/Season 1/", "/out/"+ours+"/S01/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"two_folders /in/a.mkv (S01 and Season 1)"},
		},
		{
			"a show's folder with TheTVDB's id", nil, tree("/in/a.mkv", "/out/Serie {tvdb-77}/Season 01/x.mkv"),
			[]report.Record{ids(tv("/in/a.mkv", 1, 1))},
			[]string{"link a.mkv > Serie {tvdb-77}/Season 01/" + file},
		},
		{
			"a film's folder with IMDb's id", nil, tree("/in/a.mkv", "/out/Ein Film [imdbid-tt9]/"),
			[]report.Record{ids(film("/in/a.mkv", 7))},
			[]string{"link a.mkv > Ein Film [imdbid-tt9]/Ein Film [imdbid-tt9].mkv"},
		},
		{
			"a folder of the title and year whose id the record does not know", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/Film (2001) {imdb-tt9}/old.mp4", "/out/Show (2020) [tvdbid-77]/Season 1/"),
			[]report.Record{film("/in/a.mkv", 7), tv("/in/b.mkv", 1, 1)},
			[]string{
				"link b.mkv > Show (2020) [tvdbid-77]/Season 1/" + file,
				"exists /in/a.mkv (/out/Film (2001) {imdb-tt9}/old.mp4)",
			},
		},
		{
			"its id is not the one of the record", nil, tree("/in/a.mkv", "/out/Film (2001) {imdb-tt8}/"),
			[]report.Record{ids(film("/in/a.mkv", 7))},
			[]string{"link a.mkv > Film (2001) [tmdbid-7]/Film (2001) [tmdbid-7].mkv"},
		},
		{
			"ids in other letters", nil, tree("/in/a.mkv", "/in/b.mkv", "/out/Serie [TMDBID-1]/", "/out/Ein Film [imdb-TT9]/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), ids(film("/in/b.mkv", 7))},
			[]string{
				"link a.mkv > Serie [TMDBID-1]/Season 01/" + file,
				"link b.mkv > Ein Film [imdb-TT9]/Ein Film [imdb-TT9].mkv",
			},
		},
		{
			"an id of TMDB's wins", nil, tree("/in/a.mkv", "/out/Serie {tvdb-77}/", "/out/Reihe [tmdbid-1]/"),
			[]report.Record{ids(tv("/in/a.mkv", 1, 1))},
			[]string{"link a.mkv > Reihe [tmdbid-1]/Season 01/" + file},
		},
		{
			"two folders of one show or film in two forms", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+ours+"/Season 1/x.mkv", "/out/Show (2020)/Season 2/x.mkv",
				"/out/Film (2001) [tmdbid-7]/a.mkv", "/out/Film.2001.1080p-GRP/b.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), film("/in/b.mkv", 7)},
			[]string{
				"two_folders /in/a.mkv (Show (2020) and " + ours + ")",
				"two_folders /in/b.mkv (Film (2001) [tmdbid-7] and Film.2001.1080p-GRP)",
			},
		},
		{
			"one with TMDB's id and one with TheTVDB's", nil,
			tree("/in/a.mkv", "/out/"+ours+"/Season 1/x.mkv", "/out/Show (2020) {tvdb-77}/Season 2/x.mkv"),
			[]report.Record{ids(tv("/in/a.mkv", 1, 1))},
			[]string{"two_folders /in/a.mkv (" + ours + " and Show (2020) {tvdb-77})"},
		},
		{
			"what a rename has left of a show's folder is no second one", nil,
			tree("/in/a.mkv", "/out/Show (2020)/Season 1/.DS_Store", "/out/Show (2020)/Specials/", "/out/"+ours+"/poster.jpg",
				"/out/쇼 (2020)/Season 1/@eaDir/01.mkv/x.jpg"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/Show (2020) S01E01 - Title 1.mkv"},
		},
		{
			"one with an id and one with an NFO", nil,
			tree("/in/a.mkv", "/out/"+ours+"/Season 1/x.mkv", "/out/쇼/tvshow.nfo: "+tvshow),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"two_folders /in/a.mkv (" + ours + " and 쇼)"},
		},
		{
			"one with an id, and an empty one, a link, a film and shows without a year or of another year", nil,
			tree("/in/a.mkv", "/out/"+ours+"/", "/out/Show (2020)/", "/out/Show, (2020) -> /out/"+ours,
				"/out/Show/Season 1/x.mkv", "/out/Show (1999)/Season 1/x.mkv", "/out/Show. (2020)/Show (2020).mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"one with an id and one whose NFO names another show", nil,
			tree("/in/a.mkv", "/out/"+ours+"/", "/out/Show (2020)/tvshow.nfo: "+other, "/out/Show (2020)/Season 1/x.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"an NFO names the show", nil, tree("/in/a.mkv", "/out/쇼/tvshow.nfo: "+tvshow),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > 쇼/Season 01/" + file},
		},
		{
			"an NFO names another show of that title and year", nil,
			tree("/in/a.mkv", "/out/Show (2020)/tvshow.nfo: "+other, "/out/Show/tvshow.nfo: "+other),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"an id in the folder's name wins over an NFO's", nil, tree("/in/a.mkv", "/out/"+ours+"/tvshow.nfo: "+other),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{
				"link a.mkv > " + ours + "/Season 01/" + file,
				"foreign_nfo: /out/" + ours + "/tvshow.nfo names TMDB's id 2, not tv/1, and is kept",
			},
		},
		{
			"a folder of that title and year without an id", nil, tree("/in/a.mkv", "/out/show! (2020)/Season 1/x.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > show! (2020)/Season 1/" + file},
		},
		{
			"a folder of that title alone", nil, tree("/in/a.mkv", "/out/Show/Season 1/x.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > Show/Season 1/" + file},
		},
		{
			"a folder of the title in the file's name, which TMDB translates", nil,
			tree("/in/Misemono - 01.mkv", "/out/Misemono/Season 1/x.mkv"),
			[]report.Record{with(tv("/in/Misemono - 01.mkv", 1, 1), func(r *report.Record) { r.Parsed.Title = "Misemono" })},
			[]string{"link Misemono - 01.mkv > Misemono/Season 1/" + file},
		},
		{
			"a title alone tells nothing beside one with another year", nil,
			tree("/in/a.mkv", "/out/Show/Season 1/x.mkv", "/out/Show (1999)/Season 1/x.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"a folder with another show's id is another show's", nil, tree("/in/a.mkv", "/out/Show (2020) [tmdbid-2]/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"a film of that title is no show", nil, tree("/in/a.mkv", "/out/Show (2020)/Show (2020).mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"the file is there under an older title, and its subtitles go there", nil,
			tree("/in/a.mkv", "/in/a.ko.ass", "/out/"+ours+"/Season 01/Show (2020) S01E01 - TBA.mkv = /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.ko.ass > " + ours + "/Season 01/Show (2020) S01E01 - TBA.ko.ass", "in place: 1"},
		},
		{
			"a copy is there under an older title", func(o *Options) { o.Mode = ModeCopy },
			tree("/in/a.mkv: x", "/out/"+ours+"/Season 01/Serie 1x01.mkv: x"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"in place: 1"},
		},
		{
			"a copy of an earlier run is there, on another disk", nil,
			tree("/in/a.mkv: x", "/in/a.ko.ass: y", "2|/out/"+ours+"/Season 01/"+file+": x",
				"2|/out/"+ours+"/Season 01/Show (2020) S01E01 - Title 1.ko.ass: y"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"in place: 2"},
		},
		{
			"an empty file is nobody's copy", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+ours+"/Season 01/Show (2020) S01E01 - Old.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{
				"link b.mkv > " + ours + "/Season 01/Show (2020) S01E02 - Title 2.mkv",
				"exists /in/a.mkv (/out/" + ours + "/Season 01/Show (2020) S01E01 - Old.mkv)",
			},
		},
		{
			"a symbolic link is there under an older title", func(o *Options) { o.Mode = ModeSymlink },
			tree("/in/a.mkv", "/out/"+ours+"/Season 01/Serie 1x01.mkv -> /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"in place: 1"},
		},
		{
			"another release of the episode is there", nil, tree("/in/a.mkv", "/out/"+ours+"/Season 1/Serie - 1x01 - Old.mp4"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"exists /in/a.mkv (/out/" + ours + "/Season 1/Serie - 1x01 - Old.mp4)"},
		},
		{
			"it holds several episodes", nil, tree("/in/a.mkv", "/out/"+ours+"/Season 1/Serie S01E01-E03.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 2)},
			[]string{"exists /in/a.mkv (/out/" + ours + "/Season 1/Serie S01E01-E03.mkv)"},
		},
		{
			"another episode, an opening and a sample are no such release", nil,
			tree("/in/a.mkv", "/out/"+ours+"/Season 1/Serie S01E02.mkv", "/out/"+ours+"/Season 1/Serie NCOP1.mkv",
				"/out/"+ours+"/Season 1/S01E01-sample.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 1/" + file},
		},
		{
			"another part is no such release", nil,
			tree("/in/a cd2.mkv", "/out/Film (2001) [tmdbid-7]/Film (2001) [tmdbid-7] - part1.mkv"),
			[]report.Record{film("/in/a cd2.mkv", 7)},
			[]string{"link a cd2.mkv > Film (2001) [tmdbid-7]/Film (2001) [tmdbid-7] - part2.mkv"},
		},
		{
			"a trailer is not the film", nil,
			tree("/in/a.mkv", "/out/Film (2001)/Film (2001) Bluray-1080p-trailer.mp4", "/out/Film (2001)/Film-deleted.mkv"),
			[]report.Record{film("/in/a.mkv", 7)},
			[]string{"link a.mkv > Film (2001)/Film (2001).mkv"},
		},
		{
			"another release of the film is there", nil, tree("/in/a.mkv", "/out/Film (2001)/film.720p.mp4"),
			[]report.Record{film("/in/a.mkv", 7)},
			[]string{"exists /in/a.mkv (/out/Film (2001)/film.720p.mp4)"},
		},
		{
			"as a version of it", func(o *Options) { o.LabelVersions = true },
			tree("/in/Film.1080p.mkv", "/out/Film (2001)/Film (2001) - 720p.mkv"),
			[]report.Record{film("/in/Film.1080p.mkv", 7)},
			[]string{"link Film.1080p.mkv > Film (2001)/Film (2001) - [1080p].mkv"},
		},
		{
			"a title that only counts is none", nil, tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/"),
			[]report.Record{
				withTitle(tv("/in/a.mkv", 1, 1), "Episode 1"), withTitle(tv("/in/b.mkv", 1, 2), "제2화"),
				withTitle(tv("/in/c.mkv", 1, 3), "Episode of Nine"),
			},
			[]string{
				"link a.mkv > " + ours + "/Season 01/Show (2020) S01E01.mkv",
				"link b.mkv > " + ours + "/Season 01/Show (2020) S01E02.mkv",
				"link c.mkv > " + ours + "/Season 01/Show (2020) S01E03 - Episode of Nine.mkv",
			},
		},
		{
			"an episode of another show in a folder of all shows",
			func(o *Options) {
				o.Layout, _ = NewLayout("custom", Templates{Show: "All", Season: "{season}", Episode: "{title} {season}x{episode}"})
			},
			tree("/in/a.mkv", "/out/All/1/Other S01E01.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > All/1/Show 1x1.mkv"},
		},
		{
			"a film's title alone tells nothing", nil, tree("/in/a.mkv", "/out/Film/"),
			[]report.Record{film("/in/a.mkv", 7)},
			[]string{"link a.mkv > Film (2001) [tmdbid-7]/Film (2001) [tmdbid-7].mkv"},
		},
		{
			"a second version beside one that is there", func(o *Options) { o.LabelVersions = true },
			tree("/in/Film.1080p.mkv", "/in/Film.720p.mkv", "/out/Film (2001)/Film (2001).mkv = /in/Film.1080p.mkv"),
			[]report.Record{film("/in/Film.1080p.mkv", 7), film("/in/Film.720p.mkv", 7)},
			[]string{"link Film.720p.mkv > Film (2001)/Film (2001) - [720p].mkv", "in place: 1"},
		},
		{
			"the same in the other order", func(o *Options) { o.LabelVersions = true },
			tree("/in/Film.1080p.mkv", "/in/Film.720p.mkv", "/out/Film (2001)/Film (2001).mkv = /in/Film.720p.mkv"),
			[]report.Record{film("/in/Film.1080p.mkv", 7), film("/in/Film.720p.mkv", 7)},
			[]string{"link Film.1080p.mkv > Film (2001)/Film (2001) - [1080p].mkv", "in place: 1"},
		},
		{
			"a film's folder is no show's, whatever its file is called", nil, tree("/in/a.mkv", "/out/Show (2020)/whatever.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"a number of any kind tells titles apart", nil, tree("/in/a.mkv", "/out/Film Ⅰ (2001)/", "/out/... (2001)/"),
			[]report.Record{with(film("/in/a.mkv", 7), func(r *report.Record) { r.Title = "Film Ⅱ" })},
			[]string{"link a.mkv > Film Ⅱ (2001) [tmdbid-7]/Film Ⅱ (2001) [tmdbid-7].mkv"},
		},
		{
			"a title of signs alone is nobody's folder", nil, tree("/in/a.mkv", "/out/... (2001)/"),
			[]report.Record{with(film("/in/a.mkv", 7), func(r *report.Record) { r.Title = "+-+" })},
			[]string{"link a.mkv > +-+ (2001) [tmdbid-7]/+-+ (2001) [tmdbid-7].mkv"},
		},
		{
			"a folder of that title holds a show of another year", nil,
			tree("/in/a.mkv", "/out/Show/Season 01/Show (1990) S01E09.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"a season's folder that is a link", nil, tree("/in/a.mkv", "/out/"+ours+"/Season 1 -> /elsewhere"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"outside_root /in/a.mkv (/out/" + ours + "/Season 1 is a link to /elsewhere)"},
		},
		{
			"a symbolic link of another run is there", nil,
			tree("/in/b.mkv", "/out/"+ours+"/Season 01/Show S01E02.mkv -> /in/b.mkv"),
			[]report.Record{tv("/in/b.mkv", 1, 2)},
			[]string{"in place: 1"},
		},
		{
			"what an earlier run placed may have another name by now, or be gone",
			func(o *Options) { o.SkipCode = func(*Item) Code { return CodeTakenAway } },
			tree("/in/a.mkv", "/in/a.ko.ass", "/in/b.mkv", "/out/"+ours+"/Season 01/My 1x01.mkv = /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{"link a.ko.ass > " + ours + "/Season 01/My 1x01.ko.ass", "in place: 1", "taken_away /in/b.mkv"},
		},
		{
			"a symbolic link keeps its name", func(o *Options) { o.Mode, o.RenameExisting = ModeSymlink, true },
			tree("/in/a.mkv", "/out/"+ours+"/Season 01/Serie 1x01.mkv -> /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"in place: 1"},
		},
		{
			"renamed to today's title, with what belongs to it", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/in/a.ko.ass", "/out/"+ours+"/Season 01/Show (2020) S01E01 - TBA.mkv = /in/a.mkv",
				"/out/"+ours+"/Season 01/Show (2020) S01E01 - TBA.ko.ass = /in/a.ko.ass",
				"/out/"+ours+"/Season 01/Show (2020) S01E01 - TBA-thumb.jpg", "/out/"+ours+"/Season 01/poster.jpg"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{
				"move " + ours + "/Season 01/Show (2020) S01E01 - TBA.mkv > " + ours + "/Season 01/" + file,
				"move " + ours + "/Season 01/Show (2020) S01E01 - TBA-thumb.jpg > " + ours +
					"/Season 01/Show (2020) S01E01 - Title 1-thumb.jpg",
				"move " + ours + "/Season 01/Show (2020) S01E01 - TBA.ko.ass > " + ours +
					"/Season 01/Show (2020) S01E01 - Title 1.ko.ass",
				"in place: 2",
			},
		},
		{
			"its trailer and its previews are renamed too", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+ours+"/Season 01/Old 1.mkv = /in/a.mkv",
				"/out/"+ours+"/Season 01/Old 1-trailer.mp4", "/out/"+ours+"/Season 01/Old 1.trickplay/320 - 10x10/0.jpg",
				"/out/"+ours+"/Season 01/Old 2.mkv = /in/b.mkv", "/out/"+ours+"/Season 01/Old 2.trickplay/320 - 10x10/0.jpg"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{
				"move " + ours + "/Season 01/Old 1.mkv > " + ours + "/Season 01/" + file,
				"move " + ours + "/Season 01/Old 1-trailer.mp4 > " + ours +
					"/Season 01/Show (2020) S01E01 - Title 1-trailer.mp4",
				"move " + ours + "/Season 01/Old 1.trickplay/320 - 10x10/0.jpg > " + ours +
					"/Season 01/Show (2020) S01E01 - Title 1.trickplay/320 - 10x10/0.jpg",
				"move " + ours + "/Season 01/Old 2.mkv > " + ours + "/Season 01/Show (2020) S01E02 - Title 2.mkv",
				"move " + ours + "/Season 01/Old 2.trickplay/320 - 10x10/0.jpg > " + ours +
					"/Season 01/Show (2020) S01E02 - Title 2.trickplay/320 - 10x10/0.jpg",
				"in place: 2",
			},
		},
		{
			"a version and a part keep their labels", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/Film (2001)/Film (2001) - [720p].mkv = /in/a.mkv",
				"/out/Film (2001)/Old - [Extended] - [1080p].mkv = /in/b.mkv",
				"/out/Film (2001)/Film (2001) - part2.mkv = /in/c.mkv"),
			[]report.Record{film("/in/a.mkv", 7), film("/in/b.mkv", 7), film("/in/c.mkv", 7)},
			[]string{
				"move Film (2001)/Old - [Extended] - [1080p].mkv > Film (2001)/Film (2001) - [Extended] - [1080p].mkv",
				"in place: 3",
			},
		},
		{
			"a symbolic link that belongs to it can't be moved", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/out/"+ours+"/Season 01/Old.mkv = /in/a.mkv", "/out/"+ours+"/Season 01/Old.ko.ass -> /x"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{
				"in place: 1",
				"not_regular /out/" + ours + "/Season 01/Old.mkv (/out/" + ours + "/Season 01/Old.ko.ass)",
			},
		},
		{
			"the old and the new name are there", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/out/"+ours+"/Season 01/Old.mkv = /in/a.mkv", "/out/"+ours+"/Season 01/"+file+" = /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{
				"in place: 1",
				"same_file /out/" + ours + "/Season 01/Old.mkv (the same file as /out/" + ours + "/Season 01/" + file + ")",
			},
		},
		{
			"another case of the name is the same entry", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/out/"+ours+"/Season 01/show (2020) S01E01 - title 1.mkv = /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"in place: 1"},
		},
		{
			"names that change places", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+ours+"/Season 01/Show (2020) S01E01 - Title 1.mkv = /in/b.mkv",
				"/out/"+ours+"/Season 01/Show (2020) S01E02 - Title 2.mkv = /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{
				"move " + ours + "/Season 01/Show (2020) S01E02 - Title 2.mkv > " + ours + "/Season 01/" + file,
				"move " + ours + "/Season 01/Show (2020) S01E01 - Title 1.mkv > " + ours +
					"/Season 01/Show (2020) S01E02 - Title 2.mkv",
				"in place: 2",
			},
		},
		{
			"nobody renames what it does not know", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/out/"+ours+"/Season 01/Show S01E01.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"exists /in/a.mkv (/out/" + ours + "/Season 01/Show S01E01.mkv)"},
		},
		{
			"a title with the year in it has it once", nil, tree("/in/a.mkv", "/out/"),
			[]report.Record{with(tv("/in/a.mkv", 1, 1), func(r *report.Record) { r.Title = "Show (2020)" })},
			[]string{"link a.mkv > " + ours + "/Season 01/" + file},
		},
		{
			"folders as Emby's users call them, with several ids, and a film that has another one's", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/Serie [tmdb-1]/", "/out/Ein Film [tmdbid-7] [imdbid-tt9]/",
				"/out/Film (2001) [tmdb-9]/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), film("/in/b.mkv", 7), film("/in/c.mkv", 8)},
			[]string{
				"link a.mkv > Serie [tmdb-1]/Season 01/" + file,
				"link b.mkv > Ein Film [tmdbid-7] [imdbid-tt9]/Ein Film [tmdbid-7] [imdbid-tt9].mkv",
				"link c.mkv > Film (2001) [tmdbid-8]/Film (2001) [tmdbid-8].mkv",
			},
		},
		{
			"folders that are called as releases are", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/Show.2020/Season 1/", "/out/Film.2001.1080p.BluRay-GRP/x.mkv",
				"/out/Other [2001] [720p]/trailers/x.mkv"),
			[]report.Record{
				tv("/in/a.mkv", 1, 1), film("/in/b.mkv", 7),
				with(film("/in/c.mkv", 8), func(r *report.Record) { r.Title = "Other" }),
			},
			[]string{
				"link a.mkv > Show.2020/Season 1/" + file,
				"link c.mkv > Other (2001) [tmdbid-8]/Other (2001) [tmdbid-8].mkv",
				"exists /in/b.mkv (/out/Film.2001.1080p.BluRay-GRP/x.mkv)",
			},
		},
		{
			"another release of the episode is in a folder that is called as the release is", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+ours+"/Show.S01.1080p-GRP/01.mkv", "/out/"+ours+"/Buch 1/Show S01E02.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{
				"exists /in/a.mkv (/out/" + ours + "/Show.S01.1080p-GRP/01.mkv)",
				"exists /in/b.mkv (/out/" + ours + "/Buch 1/Show S01E02.mkv)",
			},
		},
		{
			"films without folders", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/b.srt", "/out/Silver Rail (2001) 1080p.mkv", "/out/Other.mkv = /in/b.mkv"),
			[]report.Record{
				with(film("/in/a.mkv", 7), func(r *report.Record) { r.Title = "Silver Rail" }), film("/in/b.mkv", 8),
			},
			[]string{
				"link b.srt > Other.srt", "in place: 1", "exists /in/a.mkv (/out/Silver Rail (2001) 1080p.mkv)",
			},
		},
		{
			"a film's disc", nil, tree("/in/a.mkv", "/out/Film (2001)/VIDEO_TS/VTS_01_1.VOB"),
			[]report.Record{film("/in/a.mkv", 7)},
			[]string{"exists /in/a.mkv (/out/Film (2001)/VIDEO_TS)"},
		},
		{
			"a film of the show's title", nil,
			tree("/in/a.mkv", "/out/Show/Season 1/Show S01E01.mkv", "/out/Show (1999)/Show (1999).mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"exists /in/a.mkv (/out/Show/Season 1/Show S01E01.mkv)"},
		},
		{
			"a film's folder has a name that not every system takes", nil,
			tree("/in/a.mkv", "/out/Film? (2001)/poster.jpg"),
			[]report.Record{film("/in/a.mkv", 7)},
			[]string{"link a.mkv > Film? (2001)/Film (2001).mkv"},
		},
		{
			"a label in the library that no name may have", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/out/"+ours+"/Season 01/Show S01E01 - [a:b].mkv = /in/a.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{
				"move " + ours + "/Season 01/Show S01E01 - [a:b].mkv > " + ours +
					"/Season 01/Show (2020) S01E01 - Title 1 - [a-b].mkv", "in place: 1",
			},
		},
		{
			"a trailer of an episode follows it", func(o *Options) { o.RenameExisting = true },
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+ours+"/Season 01/Show (2020) S01E02 - Title 2.mkv = /in/a.mkv",
				"/out/"+ours+"/Season 01/Show (2020) S01E02 - Title 2-trailer.mp4",
				"/out/"+ours+"/Season 01/"+file+" = /in/b.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{
				"move " + ours + "/Season 01/Show (2020) S01E02 - Title 2.mkv > " + ours + "/Season 01/" + file,
				"move " + ours + "/Season 01/Show (2020) S01E02 - Title 2-trailer.mp4 > " + ours +
					"/Season 01/Show (2020) S01E01 - Title 1-trailer.mp4",
				"move " + ours + "/Season 01/" + file + " > " + ours + "/Season 01/Show (2020) S01E02 - Title 2.mkv",
				"in place: 2",
			},
		},
		{
			"films and episodes of a layout without a folder for each",
			func(o *Options) {
				o.Layout, _ = NewLayout("custom", Templates{
					Show: "All", Season: "{season}", Episode: "{title} {season}x{episode}", Movie: "{title} ({year})",
				})
			},
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/All/1/Show S01E01.mp4", "/out/Show (2001).mp4"),
			[]report.Record{
				tv("/in/a.mkv", 1, 1), with(film("/in/b.mkv", 7), func(r *report.Record) { r.Title = "Show" }),
				film("/in/c.mkv", 8),
			},
			[]string{
				"link c.mkv > Film (2001).mkv", "exists /in/a.mkv (/out/All/1/Show S01E01.mp4)",
				"exists /in/b.mkv (/out/Show (2001).mp4)",
			},
		},
		{
			"in place the point is another name",
			func(o *Options) { o.Mode, o.Sources = ModeMove, []RootInfo{o.Targets[0]} },
			tree("/out/Show/Season 1/a.mkv", "/out/Show/Season 1/a.trickplay/320 - 10x10/0.jpg"),
			[]report.Record{tv("/out/Show/Season 1/a.mkv", 1, 1)},
			[]string{
				"move Show/Season 1/a.mkv > " + ours + "/Season 01/" + file,
				"move Show/Season 1/a.trickplay/320 - 10x10/0.jpg > " + ours +
					"/Season 01/Show (2020) S01E01 - Title 1.trickplay/320 - 10x10/0.jpg",
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(t, "jellyfin")
			if row.options != nil {
				row.options(&o)
			}
			if diff := cmp.Diff(row.want, planned(t, o, row.disk, row.records...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Libraries are named in other languages than TMDB's titles, and not every layout has an ID in its folders.
func TestALibraryInOtherLanguagesGetsNoDuplicates(t *testing.T) {
	otherTitles := func(e Entry) *nfo.Entry {
		return map[Entry]*nfo.Entry{{"tv", 1}: {Titles: []string{"", "Misemono", "쇼"}}}[e]
	}
	const file = "Show (2020) S01E01 - Title 1.mkv"
	for _, row := range []struct {
		name, layout string
		disk         disk
		want         []string
	}{
		{
			"a folder of another title", "jellyfin", tree("/in/a.mkv", "/out/Misemono/Season 1/"),
			[]string{"link a.mkv > Misemono/Season 1/" + file},
		},
		{
			"with its year, and an id that the record does not know", "jellyfin",
			tree("/in/a.mkv", "/out/Misemono (2020) {tvdb-77}/Season 1/"),
			[]string{"link a.mkv > Misemono (2020) {tvdb-77}/Season 1/" + file},
		},
		{
			"the title that the record has comes first", "jellyfin", tree("/in/a.mkv", "/out/Misemono/", "/out/Show (2020)/"),
			[]string{"link a.mkv > Show (2020)/Season 01/" + file},
		},
		{
			"two folders of two other titles", "jellyfin", tree("/in/a.mkv", "/out/Misemono/", "/out/쇼/"),
			[]string{"two_folders /in/a.mkv (Misemono and 쇼)"},
		},
		{
			"of another year", "jellyfin", tree("/in/a.mkv", "/out/Misemono (1990)/Season 1/"),
			[]string{"link a.mkv > Show (2020) [tmdbid-1]/Season 01/" + file},
		},
		{
			"a layout without ids", "kodi", tree("/in/a.mkv", "/out/Misemono {tmdb-1}/Season 1/"),
			[]string{"link a.mkv > Misemono {tmdb-1}/Season 1/Show S01E01 - Title 1.mkv"},
		},
		{
			"and a folder without one", "kodi", tree("/in/a.mkv", "/out/Show/Specials/"),
			[]string{"link a.mkv > Show/Season 01/Show S01E01 - Title 1.mkv"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := NewPlanner(options(t, row.layout), row.disk)
			r := tv("/in/a.mkv", 1, 1)
			p.Add(&r)
			if diff := cmp.Diff(row.want, planLines(p.Plan(otherTitles))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A name is shortened by what stands behind it, which may differ for two files of one episode.
func TestFilesOfAnEpisodeAreNoTwinsWhereNamesAreShortened(t *testing.T) {
	long := func(r *report.Record) { r.EpisodeTitles = []string{strings.Repeat("long ", 60)} }
	lines := planned(t, options(t, "jellyfin"), tree("/in/a.mkv", "/in/b.mkv", "/in/b.commentary.ja.srt", "/out/"),
		with(tv("/in/a.mkv", 1, 1), long), with(tv("/in/b.mkv", 1, 1), long))
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "same_target ") || !strings.HasPrefix(lines[1], "same_target ") {
		t.Errorf("%q", lines)
	}
}

// Under its old name another video may lie soon, so a file that arrived late waits for the plan after the renaming.
func TestLateSidecarsGetTheNameOfTheirRenamedVideo(t *testing.T) {
	const season = "Show (2020) [tmdbid-1]/Season 01/Show (2020) "
	o := options(t, "jellyfin")
	o.RenameExisting = true
	d := tree("/in/a.mkv", "/in/a.ko.srt", "/in/b.mkv",
		"/out/"+season+"S01E02 - Title 2.mkv = /in/a.mkv", "/out/"+season+"S01E03 - Title 3.mkv = /in/b.mkv")
	records := []report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)}
	first := planOf(o, d, records...)
	for _, line := range planLines(first) {
		if strings.Contains(line, "ko.srt") {
			t.Errorf("at once: %s", line)
		}
	}
	want := []string{"link a.ko.srt > " + season + "S01E01 - Title 1.ko.srt"}
	var again []string
	for _, line := range planLines(planOf(o, d.after(first), records...)) {
		if strings.Contains(line, " > ") {
			again = append(again, line)
		}
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Error(diff)
	}
}

// match reads "Season 1/103.mkv" as S01E03 if TMDB has no episode 103 in that season.
func TestNumbersThatBeginWithTheirSeasonGetNoDuplicates(t *testing.T) {
	const (
		ours = "Show (2020) [tmdbid-1]"
		lib  = "/out/" + ours + "/"
	)
	counted := func(n int) *nfo.Entry {
		e := &nfo.Entry{}
		for i := range n {
			e.Episodes = append(e.Episodes, nfo.Episode{Season: 1, Number: i + 1})
		}
		return e
	}
	for _, row := range []struct {
		name    string
		library []string
		details *nfo.Entry
		want    string
	}{
		{"a number alone", []string{"Season 1/103.mkv"}, counted(24), "exists /in/a.mkv (" + lib + "Season 1/103.mkv)"},
		{"behind the title", []string{"Season 1/Show 103.mkv"}, nil, "exists /in/a.mkv (" + lib + "Season 1/Show 103.mkv)"},
		{"several", []string{"1/Show - 103-104.mkv"}, counted(24), "exists /in/a.mkv (" + lib + "1/Show - 103-104.mkv)"},
		{"the season has as many", []string{"Season 1/103.mkv"}, counted(103), "link a.mkv"},
		{"another episode", []string{"Season 1/104.mkv"}, counted(24), "link a.mkv"},
		{"another season", []string{"Season 2/103.mkv"}, counted(24), "link a.mkv"},
		{"no season", []string{"Show - 102.mkv", "Show - 103.mkv"}, counted(300), "link a.mkv"},
	} {
		t.Run(row.name, func(t *testing.T) {
			paths := []string{"/in/a.mkv"}
			for _, name := range row.library {
				paths = append(paths, lib+name)
			}
			p := NewPlanner(options(t, "jellyfin"), tree(paths...))
			r := tv("/in/a.mkv", 1, 3)
			p.Add(&r)
			got := planLines(p.Plan(func(Entry) *nfo.Entry { return row.details }))
			if len(got) != 1 || !strings.HasPrefix(got[0], row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestALibraryThatCountsThroughGetsNoDuplicates(t *testing.T) {
	const lib = "/out/Show (2020) [tmdbid-1]/"
	details := &nfo.Entry{}
	for i := range 24 {
		details.Episodes = append(details.Episodes, nfo.Episode{Season: 1 + i/12, Number: 1 + i%12})
	}
	for _, row := range []struct{ library, want string }{
		{"Season 1/Show - S01E15.mkv", "exists"},
		{"Season 1/15.mkv", "exists"},
		{"Season 2/Show - S02E15.mkv", "exists"},
		{"Season 2/Show - S02E15 - Dawn.mkv", "exists"},
		{"Season 1/Show - S01E03.mkv", "link"},
		{"Season 2/Show - S02E16.mkv", "link"},
		{"Season 3/Show - S03E15.mkv", "link"},
	} {
		t.Run(row.library, func(t *testing.T) {
			p := NewPlanner(options(t, "jellyfin"), tree("/in/a.mkv", lib+row.library))
			r := tv("/in/a.mkv", 2, 3)
			r.Orders = &orders.Orders{Absolute: []int{15}}
			p.Add(&r)
			got := planLines(p.Plan(func(Entry) *nfo.Entry { return details }))
			if len(got) != 1 || !strings.HasPrefix(got[0], row.want+" ") {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// The first season has 7 episodes, so a 10 in the second season's folder is its tenth, or its third counted through.
func TestANumberThatMayBeCountedThroughHoldsBothEpisodes(t *testing.T) {
	const lib = "/out/Show (2020) [tmdbid-1]/Season 2/"
	details := &nfo.Entry{}
	for i := range 20 {
		season := 1 + min(i/7, 1)
		details.Episodes = append(details.Episodes, nfo.Episode{Season: season, Number: i + 1 - 7*(season-1)})
	}
	for _, row := range []struct {
		library []string
		episode int
		want    string
	}{
		{[]string{"Show - 10.mkv"}, 10, "exists"},
		{[]string{"10 - Title.mkv", "13.mkv"}, 13, "exists"},
		{[]string{"Show - 10.mkv"}, 3, "exists"},
		{[]string{"Show - 10.mkv"}, 4, "link"},
		{[]string{"Show - 07.mkv", "Show - 10.mkv"}, 3, "link"},
		{[]string{"Show - 10.mkv", "Show - 14.mkv"}, 10, "link"},
	} {
		t.Run(fmt.Sprint(row.library, row.episode), func(t *testing.T) {
			paths := []string{"/in/a.mkv"}
			for _, name := range row.library {
				paths = append(paths, lib+name)
			}
			p := NewPlanner(options(t, "jellyfin"), tree(paths...))
			r := tv("/in/a.mkv", 2, row.episode)
			r.Orders = &orders.Orders{Absolute: []int{7 + row.episode}}
			p.Add(&r)
			got := planLines(p.Plan(func(Entry) *nfo.Entry { return details }))
			if len(got) != 1 || !strings.HasPrefix(got[0], row.want+" ") {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestTheNumberOfALibrarysSpecialIsNoEpisodeOfASeason(t *testing.T) {
	for _, row := range []struct {
		library    string
		isOVAsOnly bool // TMDB lists no specials
		want       string
	}{
		{"Show OVA 1.mkv", false, "link"},
		{"Season 01/Show OVA - 01.mkv", false, "link"},
		{"Show SP1.mkv", false, "link"},
		{"Show - 01.mkv", false, "exists"},
		{"Show OVA 1.mkv", true, "exists"},
	} {
		t.Run(fmt.Sprint(row.library, row.isOVAsOnly), func(t *testing.T) {
			details := &nfo.Entry{Episodes: []nfo.Episode{{Season: 1, Number: 1}}}
			if !row.isOVAsOnly {
				details.Episodes = append(details.Episodes, nfo.Episode{Season: 0, Number: 1})
			}
			p := NewPlanner(options(t, "jellyfin"), tree("/in/a.mkv", "/out/Show (2020) [tmdbid-1]/"+row.library))
			r := tv("/in/a.mkv", 1, 1)
			p.Add(&r)
			got := planLines(p.Plan(func(Entry) *nfo.Entry { return details }))
			if len(got) != 1 || !strings.HasPrefix(got[0], row.want+" ") {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// "Show II" in the show's folder is its second season, as a folder's name and as the title of its files.
func TestSeasonsNamedByTheSequelsMarkGetNoDuplicates(t *testing.T) {
	const lib = "/out/Show (2020) [tmdbid-1]/"
	for _, row := range []struct{ library, want string }{
		{"Show II/03.mkv", "exists"},
		{"Show II/[Grp] Show II - 03 [1080p].mkv", "exists"},
		{"Show II/Show - 03.mkv", "exists"},
		{"show.2/Show - 03.mkv", "exists"},
		{"Show Ⅱ/03.mkv", "exists"},
		{"II/03.mkv", "exists"},
		{"[Grp] Show II - 03 [1080p].mkv", "exists"},
		{"Show 2 - 03.mkv", "exists"},
		{"Show III/03.mkv", "Season 02"},
		{"Show III - 03.mkv", "Season 02"},
		{"Show/03.mkv", "Season 02"},
		{"Show II/04.mkv", "Show II"},
		{"Show II (2021)/film.mkv", "Season 02"},
		{"Show2/03.mkv", "exists"},
		{"Show2 03화.mkv", "exists"},
		{"Show2/Show2 03화.mkv", "exists"},
		{"ShowⅡ 03화.mkv", "exists"},
		{"Show2/04.mkv", "Show2"},
	} {
		t.Run(row.library, func(t *testing.T) {
			got := planned(t, options(t, "jellyfin"), tree("/in/a.mkv", lib+row.library), tv("/in/a.mkv", 2, 3))
			if len(got) != 1 || !strings.HasPrefix(got[0], row.want+" ") && !strings.Contains(got[0], "/"+row.want+"/") {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
	for library, want := range map[string]string{
		"The Return/Sho - The Return - 03.mkv": "exists",
		"Sho - The Return - 03.mkv":            "exists",
		"Sho - The Return - 04.mkv":            "link",
		"Sho - The End - 03.mkv":               "link",
		"Specials/Sho - The Return - 03.mkv":   "link",
	} {
		r := with(tv("/in/a.mkv", 2, 3), func(r *report.Record) {
			r.Parsed.Title, r.Parsed.Episodes = "Sho The Return", []float64{3}
		})
		got := planned(t, options(t, "jellyfin"), tree("/in/a.mkv", lib+library), r)
		if len(got) != 1 || !strings.HasPrefix(got[0], want+" ") {
			t.Errorf("%s: %q, want %q", library, got, want)
		}
	}
	o, d := options(t, "jellyfin"), tree("/in/a.mkv", "/out/86 (2021) [tmdbid-1]/86 - 03.mkv")
	got := planned(t, o, d, with(tv("/in/a.mkv", 1, 3), func(r *report.Record) { r.Title, r.Year = "86", 2021 }))
	if len(got) != 1 || !strings.HasPrefix(got[0], "exists") {
		t.Errorf("a title of digits: %q", got)
	}
}

// A folder of a show is one whatever script its title has, and whatever group or year its videos begin with.
func TestFoldersOfShowsAreToldFromFilms(t *testing.T) {
	for _, name := range []string{"쇼 시즌2 [03].mkv", "쇼 제2기 [03] [1080p].mkv", "쇼 S2 03 한국어.mkv"} {
		d := tree("/in/a.mkv", "/out/쇼 (2020)/"+name)
		got := planned(t, options(t, "jellyfin"), d, with(tv("/in/a.mkv", 2, 4), func(r *report.Record) { r.Title = "쇼" }))
		if len(got) != 1 || !strings.Contains(got[0], "> 쇼 (2020)/") {
			t.Errorf("%s: %q", name, got)
		}
	}
	d := tree("/in/a.mkv", "/out/쇼 1988/[Grp] 쇼 1988 E03.mkv")
	r := with(tv("/in/a.mkv", 1, 3), func(r *report.Record) { r.Title = "쇼 1988" })
	got := planned(t, options(t, "jellyfin"), d, r)
	if len(got) != 1 || !strings.HasPrefix(got[0], "exists") {
		t.Errorf("a year at the title's end: %q", got)
	}
}

// A number glued to the title or without a zero is an episode's in a library, too, as match reads it.
func TestEpisodesNumberedByTheTitleGetNoDuplicates(t *testing.T) {
	for _, name := range []string{
		"쇼%02d.mkv", "쇼%d회.mkv", "쇼%d화.mkv", "쇼E%02d.mkv", "쇼 %d.mkv", "쇼_%d.mkv", "쇼 %d 1080p.mkv", "[%02d] 쇼.mkv",
		"Show%02d.mkv", "에피소드 %d.mkv", "에피소드%d.mkv", "시즌 1/쇼 %d.mkv", "시즌 1/쇼%02d.mkv", "시즌 1/에피소드 %d.mkv",
	} {
		for _, folder := range []string{"쇼", "쇼 (2020)", "쇼 {tmdb-1}"} {
			var files []string
			for i := 1; i <= 5; i++ {
				files = append(files, "/out/"+folder+"/"+fmt.Sprintf(name, i))
			}
			for n, want := range map[int]string{3: "exists /in/a.mkv (" + files[2] + ")", 6: "link a.mkv > " + folder + "/"} {
				r := with(tv("/in/a.mkv", 1, n), func(r *report.Record) { r.Title, r.OriginalTitle = "쇼", "Show" })
				got := planned(t, options(t, "jellyfin"), tree(append(files, "/in/a.mkv")...), r)
				if len(got) != 1 || !strings.HasPrefix(got[0], want) {
					t.Errorf("%s/%s: %q, want %q", folder, name, got, want)
				}
			}
		}
	}
	for _, file := range []string{"쇼 2/쇼 2.mkv", "쇼/쇼 (2020).mkv", "쇼 (2020)/쇼.mkv"} { // a season, films
		r := with(tv("/in/a.mkv", 1, 2), func(r *report.Record) { r.Title = "쇼" })
		if got := planned(t, options(t, "jellyfin"), tree("/in/a.mkv", "/out/"+file), r); !strings.HasPrefix(got[0], "link") {
			t.Errorf("%s: %q", file, got)
		}
	}
	d := tree("/in/a.mkv", "/out/쇼 1988/시즌 1/쇼 1988 3화.mkv")
	r := with(tv("/in/a.mkv", 1, 3), func(r *report.Record) { r.Title = "쇼 1988" })
	if got := planned(t, options(t, "jellyfin"), d, r); len(got) != 1 || !strings.HasPrefix(got[0], "exists") {
		t.Errorf("a year at the title's end: %q", got)
	}
}

// A library may have a folder for each season, and none for the show.
func TestSeasonsBesideTheShowsFolderGetNoDuplicates(t *testing.T) {
	for _, row := range []struct{ library, want string }{
		{"쇼 2기/03화.mkv", "exists"},
		{"쇼 2기/쇼 2기 03화.mkv", "exists"},
		{"쇼 시즌2/쇼 03화.mkv", "exists"},
		{"Show Season 2/03.mkv", "exists"},
		{"Show.S02.1080p.WEB-DL-GRP/Show.S02E03.1080p.mkv", "exists"},
		{"쇼 2기/Disc 1/쇼 2기 03화.mkv", "exists"},
		{"쇼 2기/04화.mkv", "link"},
		{"쇼 3기/03화.mkv", "link"},
		{"다른 쇼 2기/03화.mkv", "link"},
		{"Season 2/03.mkv", "link"},
	} {
		t.Run(row.library, func(t *testing.T) {
			p := NewPlanner(options(t, "jellyfin"), tree("/in/a.mkv", "/out/"+row.library))
			r := tv("/in/a.mkv", 2, 3)
			p.Add(&r)
			got := planLines(p.Plan(func(Entry) *nfo.Entry { return &nfo.Entry{Titles: []string{"쇼", "!?"}} }))
			if len(got) != 1 || !strings.HasPrefix(got[0], row.want+" ") {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// Sonarr counts seasons as TVDB does, and TMDB may join or split a season later.
func TestALibraryWithASeasonThatTMDBLacksGetsNoDuplicates(t *testing.T) {
	const lib = "/out/Show (2020) [tmdbid-1]/"
	details := func(pause int, seasons ...int) *nfo.Entry {
		e := &nfo.Entry{Cours: map[int][][]int{}}
		for season, count := range seasons {
			for n := 1; n <= count; n++ {
				if n == 1 || n == pause {
					e.Cours[1+season] = append(e.Cours[1+season], nil)
				}
				cour := &e.Cours[1+season][len(e.Cours[1+season])-1]
				*cour = append(*cour, n)
				e.Episodes = append(e.Episodes, nfo.Episode{Season: 1 + season, Number: n})
			}
		}
		return e
	}
	second := "Season 02/Show (2020) S02E03 - Title 3.mkv"
	for _, row := range []struct {
		name    string
		first   int // episodes in the library's first season
		library string
		details *nfo.Entry
		want    string
	}{
		{"counted on", 12, second, details(13, 24), "exists"},
		{"without its own season", 12, "Season 02/03.mkv", details(13, 24), "exists"},
		{"another episode", 12, "Season 02/Show S02E04.mkv", details(13, 24), "link"},
		{"the first season is not complete", 11, second, details(13, 24), "link"},
		{"no pause", 12, second, details(0, 24), "link"},
		{"nothing known", 12, second, nil, "link"},
		{"TMDB has the season", 12, second, details(13, 24, 12), "link"},
		{"the first season has it", 15, second, details(13, 24), "exists"},
	} {
		t.Run(row.name, func(t *testing.T) {
			paths := []string{"/in/Show - 15.mkv", lib + "Season 02/Show S02E01.mkv", lib + row.library}
			for n := 1; n <= row.first; n++ {
				paths = append(paths, fmt.Sprintf("%sSeason 01/Show S01E%02d.mkv", lib, n))
			}
			p := NewPlanner(options(t, "jellyfin"), tree(paths...))
			r := tv("/in/Show - 15.mkv", 1, 15)
			p.Add(&r)
			got := planLines(p.Plan(func(Entry) *nfo.Entry { return row.details }))
			if len(got) != 1 || !strings.HasPrefix(got[0], row.want+" ") {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// What belongs to a season may have a folder beside that of its episodes.
func TestFoldersOfASeasonsExtrasAreNotItsFolder(t *testing.T) {
	const show = "Show (2020) [tmdbid-1]"
	for _, name := range []string{
		"Season 1 Extras", "Season 1 - Extras", "Show S1 Extras", "Season 1 Behind the Scenes", "Season 1 Subs",
		"Season 1 [OST]", "Season 1 Soundtrack", "Season 1 OVA", "Season 1 Specials", "시즌 1 특전", "Season.1.NCOP",
	} {
		for _, season := range []string{"Season 1", "Season 01"} {
			paths := []string{"/in/a.mkv", "/out/" + show + "/" + name + "/"}
			if season == "Season 1" {
				paths = append(paths, "/out/"+show+"/"+season+"/")
			}
			want := []string{"link a.mkv > " + show + "/" + season + "/Show (2020) S01E01 - Title 1.mkv"}
			got := planned(t, options(t, "jellyfin"), tree(paths...), tv("/in/a.mkv", 1, 1))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	for _, name := range []string{"Season 1 [1080p]", "Season 1 Complete", "Season 1 - The Specialist"} {
		got := planned(t, options(t, "jellyfin"), tree("/in/a.mkv", "/out/"+show+"/"+name+"/"), tv("/in/a.mkv", 1, 1))
		if len(got) != 1 || !strings.HasPrefix(got[0], "link a.mkv > "+show+"/"+name+"/") {
			t.Errorf("%s: %q", name, got)
		}
	}
	d := tree("/in/a.mkv", "/out/"+show+"/Season 00 - Specials/")
	got := planned(t, options(t, "jellyfin"), d, tv("/in/a.mkv", 0, 1))
	if len(got) != 1 || !strings.HasPrefix(got[0], "link a.mkv > "+show+"/Season 00 - Specials/") {
		t.Errorf("season 0: %q", got)
	}
}

// A year speaks against a show's folder without one only where it may be the show's.
func TestTheYearOfAnEpisodeIsNotTheShows(t *testing.T) {
	for file, isUsed := range map[string]bool{
		"Season 1/Show - S01E05 - Class of 1999.mkv":   true,
		"Season 1/Show - S01E05 - March 8, 1983.mkv":   true,
		"Season 2/Show.S02E01.2022.1080p.WEB-DL.mkv":   true,
		"Season 2/Show (2022) - S02E01.mkv":            true,
		"Season 1/Show (2016) - S01E05.mkv":            false,
		"Season 1/Show.2016.S01E05.1080p.WEB-DL.mkv":   false,
		"Season 1/Show (2016) - S01E05 - Pilot 86.mkv": false,
	} {
		got := planned(t, options(t, "jellyfin"), tree("/in/a.mkv", "/out/Show/"+file), tv("/in/a.mkv", 1, 1))
		if len(got) != 1 || strings.Contains(got[0], "> Show/") != isUsed {
			t.Errorf("%s: %q", file, got)
		}
	}
}

// The second half of a season may count from 1 again, as match reads it.
func TestThePartsOfALibrarysSeasonGetNoDuplicates(t *testing.T) {
	const lib = "/out/Show (2020) [tmdbid-1]/"
	details := &nfo.Entry{Cours: map[int][][]int{1: {{1, 2, 3}}, 2: {{1, 2, 3}, {4, 5, 6, 7}}}}
	for season, cours := range details.Cours {
		for _, n := range slices.Concat(cours...) {
			details.Episodes = append(details.Episodes, nfo.Episode{Season: season, Number: n})
		}
	}
	for _, row := range []struct {
		library string
		want    []int // the episodes of season 2 that the first file may hold
	}{
		{"Season 2/[G] Show Season 2 Part 2 - 02 [1080p].mkv", []int{5}},
		{"Season 2/[G] Sho - The Return Part 2 - 02.mkv", []int{5}},
		{"[G] Show S2 Cour 2 - 02.mkv", []int{5}},
		{"[G] Show The Final Season Part 2 - 02.mkv", []int{5}},
		{"The Final Season Part 2/02.mkv", []int{5}},
		{"[G] Show The Final Season - 02.mkv", []int{2}},
		{"시즌 2/쇼 2기 2쿨 02화.mkv", []int{5}},
		{"시즌 2/쇼 2기 파트2 02화.mkv", []int{5}},
		{"Season 2 Part 2/02.mkv", []int{5}},
		{"Season 2/Part 2/02.mkv", []int{5}},
		{"Season 2/Part 1/02.mkv", []int{2}},
		{"Season 2 Part 2/05.mkv", []int{5}},
		{"Season 2 Part 2/04.mkv", []int{4, 7}},
		{"Season 2 Part 3/02.mkv", []int{2}}, // TMDB has no such pause
	} {
		t.Run(row.library, func(t *testing.T) {
			var got []int
			for n := 1; n <= 7; n++ {
				p := NewPlanner(options(t, "jellyfin"), tree("/in/a.mkv", lib+row.library))
				r := tv("/in/a.mkv", 2, n)
				p.Add(&r)
				if lines := planLines(p.Plan(func(Entry) *nfo.Entry { return details })); strings.HasPrefix(lines[0], "exists") {
					got = append(got, n)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The numbers of Sonarr's anime format are TVDB's season and episode, and the number over all seasons.
func TestAnEpisodeOfTheLibraryIsFoundByOtherNumbers(t *testing.T) {
	const lib = "/out/Show (2020) [tmdbid-1]/"
	details := &nfo.Entry{Titles: []string{"Misemono"}}
	for n := range 30 {
		details.Episodes = append(details.Episodes, nfo.Episode{Season: 1, Number: n + 1})
	}
	for n := range 24 {
		details.Episodes = append(details.Episodes, nfo.Episode{Season: 2, Number: n + 1}, nfo.Episode{Number: n + 1})
	}
	for _, row := range []struct {
		library         string
		season, episode int
		exists          bool
	}{
		{"Season 05/Show - S05E02 - 023 - Foo [HDTV-720p].mkv", 1, 23, true},
		{"Season 05/Show - S05E02 - 023 - Foo [HDTV-720p].mkv", 1, 2, false},
		{"Season 02/Show - S02E02 - 014 - Foo.mkv", 1, 14, true},
		{"Season 02/Show - S02E02 - 014 - Foo.mkv", 2, 2, false},
		{"Season 02/Show - S02E02 - 032 - Foo.mkv", 2, 2, true},
		{"Season 02/Show - S02E02 - 034 - Foo.mkv", 2, 2, true}, // TVDB counts recaps
		{"Season 02/Show - S02E02 - 034 - Foo.mkv", 2, 4, false},
		{"Season 09/Show - S09E02 - 093 - Foo.mkv", 1, 23, false},
		{"[G] Misemono II - 03 [1080p].mkv", 2, 3, true},
		{"[G] Misemono 2 - 03.mkv", 2, 3, true},
		{"[G] Misemono 2 - 03.mkv", 1, 3, false},
		{"[G] Misemono 3 - 03.mkv", 1, 3, true},                  // TMDB has no third season
		{"Season 02/Show - S02E28 - 058 - Foo.mkv", 2, 28, true}, // TMDB lacks S02E28
		{"Season 02/Show - S02E26 - 048 - Foo.mkv", 2, 18, true},
	} {
		t.Run(fmt.Sprintf("%s S%02dE%02d", row.library, row.season, row.episode), func(t *testing.T) {
			p := NewPlanner(options(t, "jellyfin"), tree("/in/a.mkv", lib+row.library))
			r := tv("/in/a.mkv", row.season, row.episode)
			r.Orders = &report.Orders{Absolute: []int{30*(row.season-1) + row.episode}}
			p.Add(&r)
			lines := planLines(p.Plan(func(Entry) *nfo.Entry { return details }))
			if exists := strings.HasPrefix(lines[0], "exists"); exists != row.exists {
				t.Error(lines)
			}
		})
	}
}

// TMDB counts the episodes of some shows on through the seasons, and names count them from 1.
func TestTheSameNumbersInTwoNamesAreOneEpisode(t *testing.T) {
	details := &nfo.Entry{Episodes: []nfo.Episode{
		{Season: 1, Number: 1},
		{Season: 2, Number: 53},
		{Season: 2, Number: 54},
		{Season: 3, Number: 1},
		{Season: 3, Number: 2},
	}}
	for _, row := range []struct {
		name            string
		season, episode int
		exists          bool
	}{
		{"S02E02", 2, 54, true},
		{"S02E01", 2, 53, false},
		{"S02E02", 3, 2, false},
		{"S03E02", 3, 2, false},
	} {
		source := "/in/Show " + row.name + ".mkv"
		p := NewPlanner(options(t, "jellyfin"), tree(source, "/out/Show (2020) [tmdbid-1]/Season 02/Show - S02E02 - Foo.mkv"))
		r := tv(source, row.season, row.episode)
		p.Add(&r)
		lines := planLines(p.Plan(func(Entry) *nfo.Entry { return details }))
		if exists := strings.HasPrefix(lines[0], "exists"); exists != row.exists {
			t.Errorf("%s, S%02dE%02d: %v", row.name, row.season, row.episode, lines)
		}
	}
}

// A season's folder may have thousands of videos, and a new release of each may arrive.
func BenchmarkASeasonOfThousands(b *testing.B) {
	var paths []string
	var records []report.Record
	for n := 1; n <= 5000; n++ {
		paths = append(paths, fmt.Sprintf("/in/%d.mkv", n), fmt.Sprintf("/out/Show/Season 1/Show S01E%d.mkv: x", n))
		records = append(records, tv(fmt.Sprintf("/in/%d.mkv", n), 1, n))
	}
	d := tree(paths...)
	for b.Loop() {
		if r := planOf(options(b, "jellyfin"), d, records...); len(r.Skipped) != len(records) {
			b.Fatalf("%d of %d skipped", len(r.Skipped), len(records))
		}
	}
}
