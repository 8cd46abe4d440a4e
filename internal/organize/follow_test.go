package organize

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
)

// skipped returns the record of a file that match leaves out.
func skipped(name, reason string) report.Record {
	return report.Record{Path: name, Status: report.Skipped, Reason: lang.Text(reason)}
}

func TestFilesAboutAFolderFollowItsEntry(t *testing.T) {
	const (
		entry  = "Show (2020) [tmdbid-1]/"
		season = entry + "Season 01/"
	)
	one, two := tv("/in/Show/Season 1/01.mkv", 1, 1), tv("/in/Show/Season 2/01.mkv", 2, 1)
	units := []string{
		"link Show/Season 1/01.mkv > " + show + "S01E01 - Title 1.mkv",
		"link Show/Season 2/01.mkv > " + entry + "Season 02/Show (2020) S02E01 - Title 1.mkv",
	}
	for _, row := range []struct {
		name    string
		change  func(*Options)
		disk    disk
		records []report.Record
		want    []string
	}{
		{
			"a show's and a season's", nil,
			tree("/in/Show/tvshow.nfo", "/in/Show/Poster.JPG", "/in/Show/season01-poster.png", "/in/Show/theme.mp3",
				"/in/Show/readme.txt", "/in/Show/poster.txt",
				"/in/Show/Season 1/folder.jpg", "/in/Show/Season 1/season.nfo", one.Path, two.Path, "/out/"),
			[]report.Record{one, two},
			append(units[:2:2],
				"copy Show/Season 1/folder.jpg > "+season+"folder.jpg", "copy Show/Season 1/season.nfo > "+season+"season.nfo",
				"copy Show/Poster.JPG > "+entry+"Poster.JPG", "copy Show/season01-poster.png > "+entry+"season01-poster.png",
				"link Show/theme.mp3 > "+entry+"theme.mp3", "copy Show/tvshow.nfo > "+entry+"tvshow.nfo"),
		},
		{
			"fonts", nil, tree("/in/Show/Fonts/A.ttf", "/in/Show/Fonts/B.otf", "/in/Show/Fonts/C.ttf.part", one.Path, "/out/"),
			[]report.Record{one},
			[]string{
				units[0], "link Show/Fonts/A.ttf > " + entry + "Fonts/A.ttf",
				"link Show/Fonts/B.otf > " + entry + "Fonts/B.otf",
			},
		},
		{
			"a video among fonts is a video alone", nil, tree("/in/Show/Fonts/02.mkv", one.Path, "/out/"),
			[]report.Record{tv("/in/Show/Fonts/02.mkv", 1, 2), one},
			[]string{"link Show/Fonts/02.mkv > " + show + "S01E02 - Title 2.mkv", units[0]},
		},
		{
			"sound in a folder of subtitles is its video's alone", nil,
			tree("/in/Show/Subs/theme.mp3", "/in/Show/Subs/02.mkv", "/in/Show/01.mkv", "/out/"),
			[]report.Record{tv("/in/Show/01.mkv", 1, 1), tv("/in/Show/Subs/02.mkv", 1, 2)},
			[]string{
				"link Show/01.mkv > " + show + "S01E01 - Title 1.mkv",
				"link Show/Subs/theme.mp3 > " + show + "S01E01 - Title 1.theme.mp3",
				"link Show/Subs/02.mkv > " + show + "S01E02 - Title 2.mkv",
			},
		},
		{
			"what is there stays, whoever wrote it", nil, tree("/in/Show/poster.jpg: ours", "/out/"+entry+"poster.jpg: theirs",
				one.Path),
			[]report.Record{one},
			[]string{units[0], "in place: 1"},
		},
		{
			"two posters of one show", nil, tree("/in/A/poster.jpg", "/in/A/01.mkv", "/in/B/poster.jpg", "/in/B/02.mkv",
				"/out/"),
			[]report.Record{tv("/in/A/01.mkv", 1, 1), tv("/in/B/02.mkv", 1, 2)},
			[]string{
				"link A/01.mkv > " + show + "S01E01 - Title 1.mkv", "link B/02.mkv > " + show + "S01E02 - Title 2.mkv",
				"same_target /in/A/poster.jpg (its unit and that of /in/B/poster.jpg would both create poster.jpg)",
				"same_target /in/B/poster.jpg (its unit and that of /in/A/poster.jpg would both create poster.jpg)",
			},
		},
		{
			"a folder of two works", nil, tree("/in/poster.jpg", "/in/01.mkv", "/in/Film.mkv", "/out/"),
			[]report.Record{tv("/in/01.mkv", 1, 1), film("/in/Film.mkv", 7)},
			[]string{
				"link 01.mkv > " + show + "S01E01 - Title 1.mkv", "link Film.mkv > " + mine + ".mkv",
				"no_owner /in/poster.jpg (the videos beside and below it don't all go to one folder)",
			},
		},
		{
			"a video that is skipped, or not in the records", nil,
			tree("/in/poster.jpg", "/in/01.mkv", "/in/2/cover.jpg", "/in/2/02.mkv", "/in/2/03.mkv", "/out/"),
			[]report.Record{tv("/in/01.mkv", 1, 1), {Path: "/in/2/03.mkv", Status: report.Unmatched}, tv("/in/2/02.mkv", 1, 2)},
			[]string{
				"link 01.mkv > " + show + "S01E01 - Title 1.mkv", "link 2/02.mkv > " + show + "S01E02 - Title 2.mkv",
				"unmatched /in/2/03.mkv",
				"no_owner /in/poster.jpg (the videos beside and below it don't all go to one folder)",
				"no_owner /in/2/cover.jpg (the videos beside and below it don't all go to one folder)",
			},
		},
		{
			"of a video that stays because of what belongs to it",
			func(o *Options) { o.Mode, o.PlaceExtras = ModeMove, true },
			tree("/in/Film/Film.mkv", "/in/Film/Film.en.srt", "/in/Film/poster.jpg", "/in/Film/movie.nfo",
				"/in/Film/Trailers/x.mkv", "/out/"+mine+".en.srt"),
			[]report.Record{film("/in/Film/Film.mkv", 7), skipped("/in/Film/Trailers/x.mkv", library.SkipExtras)},
			[]string{
				"exists /in/Film/Film.mkv (/out/" + mine + ".en.srt)",
				"extra /in/Film/Trailers/x.mkv (the videos beside and below it don't all go to one folder)",
			},
		},
		{
			"films have one each", nil,
			tree("/in/Film/Film.mkv", "/in/Film/poster.jpg", "/in/Film/Trailers/x.mkv", "/in/Film/movie.nfo", "/out/"),
			[]report.Record{film("/in/Film/Film.mkv", 7), skipped("/in/Film/Trailers/x.mkv", library.SkipExtras)},
			[]string{
				"link Film/Film.mkv > " + mine + ".mkv", "copy Film/movie.nfo > Film (2001) [tmdbid-7]/movie.nfo",
				"copy Film/poster.jpg > Film (2001) [tmdbid-7]/poster.jpg",
				"extra /in/Film/Trailers/x.mkv (" + library.SkipExtras + ")",
			},
		},
		{
			"an NFO of a film does not follow a show", nil, tree("/in/Show/movie.nfo", one.Path, "/out/"),
			[]report.Record{one},
			[]string{units[0], "no_owner /in/Show/movie.nfo (the videos beside and below it don't all go to one folder)"},
		},
		{
			"extras stay unless they are to follow", nil, tree("/in/Show/NCOP.mkv", one.Path, "/out/"),
			[]report.Record{one, skipped("/in/Show/NCOP.mkv", library.SkipCreditless)},
			[]string{units[0], "extra /in/Show/NCOP.mkv (" + library.SkipCreditless + ")"},
		},
		{
			"extras with what belongs to them", func(o *Options) { o.PlaceExtras = true },
			tree("/in/Show/Extras/NCOP.mkv", "/in/Show/Extras/NCOP.ass", "/in/Show/Extras/PV/PV 1.mkv", "/in/Show/PV2.mkv",
				"/in/Show/Extras/NCOP-sample.mkv", "/in/Show/Sample/x.mkv", one.Path, "/out/"),
			[]report.Record{
				skipped("/in/Show/Extras/NCOP-sample.mkv", library.SkipExtras),
				skipped("/in/Show/Extras/NCOP.mkv", library.SkipExtras),
				skipped("/in/Show/Extras/PV/PV 1.mkv", library.SkipExtras), skipped("/in/Show/PV2.mkv", "an extra, not an episode"),
				skipped("/in/Show/Sample/x.mkv", library.SkipExtras), one,
			},
			[]string{
				"link Show/Extras/NCOP.mkv > " + entry + "extras/NCOP.mkv",
				"link Show/Extras/NCOP.ass > " + entry + "extras/NCOP.ass",
				"link Show/Extras/PV/PV 1.mkv > " + entry + "extras/PV 1.mkv",
				"link Show/PV2.mkv > " + entry + "extras/PV2.mkv", units[0],
				"extra /in/Show/Extras/NCOP-sample.mkv (" + library.SkipExtras + ")",
				"extra /in/Show/Sample/x.mkv (" + library.SkipExtras + ")",
			},
		},
		{
			"extras in a folder of several shows", func(o *Options) { o.PlaceExtras = true },
			tree("/in/NCOP.mkv", "/in/01.mkv", "/in/Film.mkv", "/out/"),
			[]report.Record{tv("/in/01.mkv", 1, 1), film("/in/Film.mkv", 7), skipped("/in/NCOP.mkv", library.SkipCreditless)},
			[]string{
				"link 01.mkv > " + show + "S01E01 - Title 1.mkv", "link Film.mkv > " + mine + ".mkv",
				"extra /in/NCOP.mkv (the videos beside and below it don't all go to one folder)",
			},
		},
		{
			"extras of plex, and two that would be one",
			func(o *Options) {
				l, _ := NewLayout("plex", Templates{})
				o.PlaceExtras, o.Layout = true, l
			},
			tree("/in/Show/A/NCED.mkv", "/in/Show/B/NCED.mkv", "/in/Show/NCOP.mkv", one.Path, "/out/"),
			[]report.Record{
				skipped("/in/Show/A/NCED.mkv", library.SkipExtras),
				skipped("/in/Show/B/NCED.mkv", library.SkipExtras), skipped("/in/Show/NCOP.mkv", library.SkipCreditless), one,
			},
			[]string{
				"link Show/NCOP.mkv > Show (2020) {tmdb-1}/Other/NCOP.mkv",
				"link Show/Season 1/01.mkv > Show (2020) {tmdb-1}/Season 01/Show (2020) - S01E01 - Title 1.mkv",
				"same_target /in/Show/A/NCED.mkv (its unit and that of /in/Show/B/NCED.mkv would both create NCED.mkv)",
				"same_target /in/Show/B/NCED.mkv (its unit and that of /in/Show/A/NCED.mkv would both create NCED.mkv)",
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(t, "jellyfin")
			if row.change != nil {
				row.change(&o)
			}
			if diff := cmp.Diff(row.want, planned(t, o, row.disk, row.records...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
