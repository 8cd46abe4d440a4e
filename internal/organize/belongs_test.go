package organize

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/report"
)

// A scraper that writes into the NFOs and images of a library must not change the source: they are never links.
func TestServersWriteIntoNoSource(t *testing.T) {
	files := tree("/in/a.mkv", "/in/a.nfo: <episodedetails>", "/in/a-thumb.jpg", "/in/a.ko.srt", "/in/a.ja.mka",
		"/in/a.xml", "/in/poster.png", "/in/Fonts/F.ttf", "/in/tvshow.nfo: <tvshow>", "/out/")
	for mode, want := range map[Mode]string{
		ModeHardlink: "link .mkv, copy -thumb.jpg, link .ja.mka, link .ko.srt, copy .nfo, link .xml, link F.ttf, copy " +
			"poster.png, copy tvshow.nfo",
		ModeSymlink: "symlink .mkv, copy -thumb.jpg, symlink .ja.mka, symlink .ko.srt, copy .nfo, symlink .xml, symlink " +
			"F.ttf, copy poster.png, copy tvshow.nfo",
		ModeMove: "move .mkv, move -thumb.jpg, move .ja.mka, move .ko.srt, move .nfo, move .xml, move F.ttf, move " +
			"poster.png, move tvshow.nfo",
		ModeCopy: "copy .mkv, copy -thumb.jpg, copy .ja.mka, copy .ko.srt, copy .nfo, copy .xml, copy F.ttf, copy " +
			"poster.png, copy tvshow.nfo",
		ModeReflink: "reflink .mkv, reflink -thumb.jpg, reflink .ja.mka, reflink .ko.srt, reflink .nfo, reflink .xml, " +
			"reflink F.ttf, reflink poster.png, reflink tvshow.nfo",
	} {
		t.Run(string(mode), func(t *testing.T) {
			o := options(t, "jellyfin")
			o.Mode = mode
			r := planOf(o, files, tv("/in/a.mkv", 1, 1))
			var got []string
			for i := range r.Units {
				for _, op := range r.Units[i].Ops {
					name := op.To[strings.LastIndexByte(op.To, '/')+1:]
					got = append(got, op.Verb.String()+" "+strings.TrimPrefix(name, "Show (2020) S01E01 - Title 1"))
				}
			}
			if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Which files are about all of a folder, by their names.
func TestFilesAboutAFolder(t *testing.T) {
	for name, want := range map[string]bool{
		"tvshow.nfo": true, "season.nfo": true, "Poster.JPG": true, "fanart.png": true, "banner.webp": true,
		"clearlogo.png": true, "landscape.jpg": true,
		"logo.png": true, "folder.jpg": true, "cover.webp": true, "season01-poster.jpg": true, "season2-poster.png": true,
		"theme.mp3": true, "poster.jpeg": true, "fanart1.jpg": true, "clearart.png": true, "backdrop.jpg": true,
		"season-specials-poster.jpg": true, "season01-banner.jpg": true,
		"poster.gif": false, "poster2.jpg": false, "theme.flac": false, "season-poster.jpg": false,
		"my poster.jpg": false, "a.jpg": false,
	} {
		t.Run(name, func(t *testing.T) {
			r := planOf(options(t, "jellyfin"), tree("/in/S/01.mkv", "/in/S/"+name, "/out/"), tv("/in/S/01.mkv", 1, 1))
			if got := len(r.Units) == 2; got != want {
				t.Errorf("it follows: %v", got)
			}
			if stays := len(r.UnownedByExtension) == 1; stays == want {
				t.Errorf("it is counted as in no unit: %v", stays)
			}
		})
	}
}

// Versions get the first label in which they differ: films in every layout, episodes where the server takes them for
// one.
func TestVersions(t *testing.T) {
	const one, two = "/in/a 1.mkv", "/in/a 2.mkv"
	labels := func(a, b report.Parsed) [2]*report.Parsed { return [2]*report.Parsed{&a, &b} }
	for _, row := range []struct {
		name   string
		parsed [2]*report.Parsed
		want   string // both labels; "": none
	}{
		{"edition before all", labels(report.Parsed{Edition: "Extended", Resolution: "1080p"},
			report.Parsed{Resolution: "720p"}), " - [Extended], "},
		{"resolution", labels(report.Parsed{Resolution: "1080p", Source: "WEB"},
			report.Parsed{Resolution: "720p", Source: "TV"}), " - [1080p],  - [720p]"},
		{"source", labels(report.Parsed{Resolution: "1080p", Source: "Blu-ray"},
			report.Parsed{Resolution: "1080p", Source: "WEB"}), " - [Blu-ray],  - [WEB]"},
		{
			"group", labels(report.Parsed{Source: "WEB", Group: "A"}, report.Parsed{Source: "WEB", Group: "B"}),
			" - [A],  - [B]",
		},
		{"version", labels(report.Parsed{Group: "A"}, report.Parsed{Group: "A", Version: 2}), " - [v1],  - [v2]"},
		{"one of them does not say it", labels(report.Parsed{Resolution: "1080p"}, report.Parsed{}), ""},
		{"they differ in nothing", labels(report.Parsed{Group: "A"}, report.Parsed{Group: "A"}), ""},
		{"in case alone", labels(report.Parsed{Group: "A"}, report.Parsed{Group: "a"}), ""},
	} {
		for _, layout := range serverLayouts() {
			l := layoutOf(t, layout)
			for _, kind := range []string{"movie", "tv"} {
				t.Run(row.name+" "+layout+" "+kind, func(t *testing.T) {
					o := options(t, layout)
					o.LabelVersions = true
					a, b := film(one, 7), film(two, 7)
					if kind == "tv" {
						a, b = tv(one, 1, 1), tv(two, 1, 1)
					}
					a.Parsed, b.Parsed = row.parsed[0], row.parsed[1]
					r := planOf(o, tree(one, two, "/out/"), a, b)
					if l.Movie.hasField(fieldEdition) && kind == "movie" && row.parsed[0].Edition != "" {
						if len(r.Units) != 2 || strings.HasPrefix(r.Units[1].Ops[0].To,
							r.Units[0].Ops[0].To[:strings.IndexByte(r.Units[0].Ops[0].To, '/')]) {
							t.Errorf("editions have folders of their own: %+v", r.Units)
						}
						return
					}
					want := row.want
					if kind == "tv" && !l.SupportsVersions {
						want = ""
					}
					if want == "" {
						if len(r.Units) > 0 || len(r.Skipped) != 2 || r.Skipped[0].Code != CodeSameTarget ||
							r.Skipped[1].Code != CodeSameTarget {
							t.Fatalf("%+v, left: %+v", r.Units, r.Skipped)
						}
						return
					}
					if len(r.Units) != 2 {
						t.Fatalf("%+v", r.Skipped)
					}
					label := func(i int) string {
						name := strings.TrimSuffix(r.Units[i].Ops[0].To, ".mkv")
						if at := strings.LastIndex(name, " - ["); at >= 0 {
							return name[at:]
						}
						return ""
					}
					if got := label(0) + ", " + label(1); got != want {
						t.Errorf("the labels are %q, not %q", got, want)
					}
				})
			}
		}
	}
}

// Two works whose folders differ in case alone, or in normal form, would be one to some client.
func TestFoldersThatDifferInCaseAlone(t *testing.T) {
	for _, titles := range [][2]string{{"Show", "SHOW"}, {"Caf\u00e9", "cafe\u0301"}} {
		o := options(t, "kodi")
		a, b := tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)
		a.Title, b.Title, b.TMDBID = titles[0], titles[1], 2
		r := planOf(o, tree(a.Path, b.Path, "/out/"), a, b)
		if len(r.Units) > 0 || len(r.Skipped) != 2 || r.Skipped[0].Code != CodeSameFolder ||
			r.Skipped[1].Code != CodeSameFolder {
			t.Errorf("%q: %+v, left: %+v", titles, r.Units, r.Skipped)
		}
	}
}
