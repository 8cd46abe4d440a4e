package organize

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/report"
)

// cours are the episodes of a show that TMDB has as one season, TVDB as two and AniDB as two anime, and a special.
var cours = []orders.Orders{
	{
		TMDB: &orders.Place{Season: 1, Episodes: []int{1, 2}}, TVDB: &orders.Place{Season: 1, Episodes: []int{1, 2}},
		Absolute: []int{1, 2}, AniDB: &orders.AniDBPlace{ID: 11, Episodes: []int{1, 2}},
	},
	{
		TMDB: &orders.Place{Season: 1, Episodes: []int{3}}, TVDB: &orders.Place{Season: 2, Episodes: []int{1}},
		Absolute: []int{3}, AniDB: &orders.AniDBPlace{ID: 12, Episodes: []int{1}},
	},
	{
		TMDB: &orders.Place{Season: 2, Episodes: []int{1}}, TVDB: &orders.Place{Season: 3, Episodes: []int{1}},
		Absolute: []int{4}, AniDB: &orders.AniDBPlace{ID: 13, Episodes: []int{1}},
	},
	{
		TMDB: &orders.Place{Season: 0, Episodes: []int{1}}, TVDB: &orders.Place{Season: 0, Episodes: []int{5}},
		AniDB: &orders.AniDBPlace{ID: 11, Special: true, Episodes: []int{1}},
	},
}

// inOrder returns a record of each episode of cours, with the numbers of an order.
func inOrder(order string) (records []report.Record, paths []string) {
	for i := range cours {
		of := new(cours[i])
		r := tv(fmt.Sprintf("/in/Show/%d.mkv", i), of.TMDB.Season, of.TMDB.Episodes...)
		r.IDs, r.Orders, r.EpisodeTitles = &report.WorkIDs{TVDB: 77, AniDB: of.AniDB.ID}, of, nil
		if order != orders.TMDB {
			r.Order, r.Season, r.Episodes = order, nil, nil
		}
		if at := of.In(order); at != nil && order != orders.TMDB {
			r.Season, r.Episodes = &at.Season, at.Episodes
		} else if order != orders.TMDB {
			r.Reason = "TMDB's specials have no number in it"
		}
		if strings.HasPrefix(order, "group:") { // in the reverse order
			r.Season, r.Episodes = new(1), []int{9 - 2*i}
		}
		records, paths = append(records, r), append(paths, r.Path)
	}
	return records, paths
}

var inOrderTrees = map[string][]string{
	"jellyfin tmdb": {
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E01-E02.mkv",
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E03.mkv",
		"Show (2020) [tmdbid-1]/Season 02/Show (2020) S02E01.mkv",
		"Show (2020) [tmdbid-1]/Season 00/Show (2020) S00E01.mkv",
	},
	"jellyfin tvdb": {
		"Show (2020) [tvdbid-77]/Season 01/Show (2020) S01E01-E02.mkv",
		"Show (2020) [tvdbid-77]/Season 02/Show (2020) S02E01.mkv",
		"Show (2020) [tvdbid-77]/Season 03/Show (2020) S03E01.mkv",
		"Show (2020) [tvdbid-77]/Season 00/Show (2020) S00E05.mkv",
	},
	"jellyfin anidb": {
		"Show (2020) [anidbid-11]/Season 01/Show (2020) S01E01-E02.mkv",
		"Show (2020) [anidbid-12]/Season 01/Show (2020) S01E01.mkv",
		"Show (2020) [anidbid-13]/Season 01/Show (2020) S01E01.mkv",
		"Show (2020) [anidbid-11]/Season 00/Show (2020) S00E01.mkv",
	},
	"jellyfin absolute": {
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E01-E02.mkv",
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E03.mkv",
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E04.mkv", "no_order",
	},
	"jellyfin group:DVD": {
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E09.mkv",
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E07.mkv",
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E05.mkv",
		"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E03.mkv",
	},
	"plex tvdb": {
		"Show (2020) {tvdb-77}/Season 01/Show (2020) - S01E01-E02.mkv",
		"Show (2020) {tvdb-77}/Season 02/Show (2020) - S02E01.mkv",
		"Show (2020) {tvdb-77}/Season 03/Show (2020) - S03E01.mkv",
		"Show (2020) {tvdb-77}/Season 00/Show (2020) - S00E05.mkv",
	},
	"plex anidb": {"no_order", "no_order", "no_order", "no_order"},
	"kodi tvdb": {
		"Show (2020)/Season 01/Show S01E01E02.mkv", "Show (2020)/Season 02/Show S02E01.mkv",
		"Show (2020)/Season 03/Show S03E01.mkv", "Show (2020)/Season 00/Show S00E05.mkv",
	},
	"kodi absolute": {"no_order", "no_order", "no_order", "no_order"},
}

// targetsOf returns where each record's file is to go, or the code with which it is skipped.
func targetsOf(r *Result, records []report.Record) []string {
	to := map[string]string{}
	for i := range r.Units {
		u := &r.Units[i]
		to[r.SourcePath(u, &u.Ops[0])] = u.Ops[0].To
	}
	for _, s := range r.Skipped {
		to[s.Path] = string(s.Code)
	}
	var out []string
	for i := range records {
		out = append(out, to[records[i].Path])
	}
	return out
}

func TestNamesHaveTheNumbersOfTheOrder(t *testing.T) {
	for name, want := range inOrderTrees {
		t.Run(name, func(t *testing.T) {
			layout, order, _ := strings.Cut(name, " ")
			o := options(t, layout)
			records, paths := inOrder(order)
			r := planOf(o, tree(append(paths, "/out/")...), records...)
			if diff := gocmp.Diff(want, targetsOf(r, records)); diff != "" {
				t.Fatal(diff)
			}
			for i := range r.Units {
				u := &r.Units[i]
				if want := cours[u.Ops[0].Source[0]-'0'].TMDB; want.Season != u.Work.Season {
					t.Errorf("%s is of season %d in the plan, not of TMDB's %d", u.Ops[0].To, u.Work.Season, want.Season)
				}
			}
			// The library has other files of the same episodes.
			held, want := tree(append(paths, "/out/")...), slices.Clone(want)
			for i, to := range want {
				if to != string(CodeNoOrder) {
					want[i] = string(CodeExists)
					held["/out/"+to] = file{inode: uint64(1000 + i), device: 1, links: 1, content: "other"}
					held["/out/"+path.Dir(to)] = file{device: 1, folder: true}
					held["/out/"+path.Dir(path.Dir(to))] = file{device: 1, folder: true}
				}
			}
			if diff := gocmp.Diff(want, targetsOf(planOf(o, held, records...), records)); diff != "" {
				t.Errorf("with these in the library: %s", diff)
			}
		})
	}
}

func TestAFolderKeepsItsOrder(t *testing.T) {
	for _, row := range []struct {
		name, order, folder string
		change              func(*report.Record)
		want                []string
		warned              bool
	}{
		{
			"TVDB's id, though TMDB's order is asked for", "tmdb", "Show {tvdb-77}", nil,
			[]string{
				"Season 01/Show (2020) S01E01-E02",
				"Season 02/Show (2020) S02E01",
				"Season 03/Show (2020) S03E01",
				"Season 00/Show (2020) S00E05",
			},
			true,
		},
		{
			"TVDB's id before IMDb's", "tmdb", "Show [tvdbid-77] [imdbid-tt9]",
			func(r *report.Record) { r.IDs.IMDB = "tt9" },
			[]string{
				"Season 01/Show (2020) S01E01-E02", "Season 02/Show (2020) S02E01", "Season 03/Show (2020) S03E01",
				"Season 00/Show (2020) S00E05",
			},
			true,
		},
		{
			"TVDB's id of a show that the lists don't have", "tmdb", "Show {tvdb-77}",
			func(r *report.Record) { r.Orders = nil },
			[]string{
				"Season 01/Show (2020) S01E01-E02",
				"Season 01/Show (2020) S01E03",
				"Season 02/Show (2020) S02E01",
				"Season 00/Show (2020) S00E01",
			},
			false,
		},
		{
			"TMDB's id, though TVDB's order is asked for", "tvdb", "Show [tmdbid-1]", nil,
			[]string{
				"Season 01/Show (2020) S01E01-E02",
				"Season 01/Show (2020) S01E03",
				"Season 02/Show (2020) S02E01",
				"Season 00/Show (2020) S00E01",
			},
			true,
		},
		{
			"no id: the order asked for", "tvdb", "Show (2020)", nil,
			[]string{
				"Season 01/Show (2020) S01E01-E02",
				"Season 02/Show (2020) S02E01",
				"Season 03/Show (2020) S03E01",
				"Season 00/Show (2020) S00E05",
			},
			false,
		},
		{
			"TVDB's numbers of a special are not known", "absolute", "Show [tvdbid-77]",
			func(r *report.Record) { r.Orders.TVDB = nil },
			[]string{"no_order", "no_order", "no_order", "no_order"},
			false,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			records, paths := inOrder(row.order)
			for i := range records {
				if row.change != nil {
					row.change(&records[i])
				}
				if row.want[i] != "no_order" {
					row.want[i] = row.folder + "/" + row.want[i] + ".mkv"
				}
			}
			r := planOf(options(t, "jellyfin"), tree(append(paths, "/out/"+row.folder+"/")...), records...)
			if diff := gocmp.Diff(row.want, targetsOf(r, records)); diff != "" {
				t.Error(diff)
			}
			warned := slices.ContainsFunc(planWarnings(r), func(w string) bool { return strings.Contains(w, row.folder) })
			if warned != row.warned {
				t.Errorf("warned: %q", planWarnings(r))
			}
		})
	}
}

// A run that names no order adds to a library by the order that its tvshow.nfo says, where the server obeys that.
func TestAFolderKeepsTheOrderOfItsNFO(t *testing.T) {
	none := []string{"no_order", "no_order", "no_order", "no_order"}
	for _, row := range []struct {
		name, stated, asked string
		obeyed              bool
		want                []string
		warned              bool
	}{
		{"absolute", "absolute", "tmdb", true, inOrderTrees["jellyfin absolute"], true},
		{"absolute was asked for", "absolute", "absolute", true, inOrderTrees["jellyfin absolute"], false},
		{"a group that was not named", "dvd", "tmdb", true, none, false},
		{"a group that was named", "dvd", "group:DVD", true, inOrderTrees["jellyfin group:DVD"], false},
		{"as broadcast", "aired", "tmdb", true, inOrderTrees["jellyfin tmdb"], false},
		{"a server that ignores it", "absolute", "tmdb", false, inOrderTrees["jellyfin tmdb"], false},
	} {
		t.Run(row.name, func(t *testing.T) {
			records, paths := inOrder(row.asked)
			note := "/out/Show (2020) [tmdbid-1]/tvshow.nfo: <displayorder>" + row.stated + "</displayorder>"
			o := options(t, "jellyfin")
			o.NFO.ForOrders = row.obeyed
			r := planOf(o, tree(append(paths, note)...), records...)
			if diff := gocmp.Diff(row.want, targetsOf(r, records)); diff != "" {
				t.Error(diff)
			}
			if warnings := planWarnings(r); (len(warnings) > 0) != row.warned {
				t.Errorf("%q", warnings)
			}
		})
	}
}

// Absolute numbers are all of the first season. A library with later ones keeps TMDB's, whatever a run asks for.
func TestAFolderWithLaterSeasonsKeepsTMDBsOrder(t *testing.T) {
	const show = "/out/Show (2020) [tmdbid-1]/"
	for _, row := range []struct {
		name, library string
		nfo, pinned   bool
		want          string
	}{
		{"a later season", "Season 02/Show S02E09.mkv", true, false, "jellyfin tmdb"},
		{"without NFOs", "Season 02/Show S02E09.mkv", false, false, "jellyfin tmdb"},
		{"in the show's folder", "Show 2x09.mkv", true, false, "jellyfin tmdb"},
		{"a pin says otherwise", "Season 02/Show S02E09.mkv", true, true, "jellyfin absolute"},
		{"the first season", "Season 01/Show S01E30.mkv", true, false, "jellyfin absolute"},
		{"specials", "Specials/Show S00E01.mkv", true, false, "jellyfin absolute"},
	} {
		t.Run(row.name, func(t *testing.T) {
			records, paths := inOrder(orders.Absolute)
			o := options(t, "jellyfin")
			o.NFO.ForOrders = row.nfo
			o.IsOrderPinned = func(name string) bool { return row.pinned && strings.HasPrefix(name, show) }
			r := planOf(o, tree(append(paths, show+row.library)...), records...)
			want := append(slices.Clone(inOrderTrees[row.want][:3]), "no_order") // a special has no absolute number
			if diff := gocmp.Diff(want, targetsOf(r, records)); diff != "" {
				t.Error(diff)
			}
			if warnings := planWarnings(r); (len(warnings) > 0) != (row.want == "jellyfin tmdb") {
				t.Errorf("%q", warnings)
			}
		})
	}
}

func planWarnings(r *Result) (out []string) {
	for _, w := range r.Warnings() {
		if strings.HasPrefix(w.String(), "order_differs: ") {
			out = append(out, w.String())
		}
	}
	return out
}

func TestRecordsThatLackTheirOrder(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*report.Record)
		want   Code
	}{
		{"no place in the order", func(r *report.Record) { r.Season, r.Episodes = nil, nil }, CodeNoOrder},
		{"no place at all", func(r *report.Record) { r.Season, r.Episodes, r.Orders = nil, nil, nil }, CodeNoEpisode},
		{"no place at TMDB", func(r *report.Record) { r.Orders = nil }, CodeNoOrder},
		{"numbers that somebody put in", func(r *report.Record) { r.Orders.AniDB = nil }, CodeNoOrder},
		{"no id of the folder", func(r *report.Record) { r.Order, r.IDs.TVDB = orders.TVDB, 0 }, CodeNoOrder},
	} {
		t.Run(row.name, func(t *testing.T) {
			records, paths := inOrder(orders.AniDB)
			row.change(&records[0])
			got := targetsOf(planOf(options(t, "jellyfin"), tree(paths[0], "/out/"), records[0]), records[:1])
			if diff := gocmp.Diff([]string{string(row.want)}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A library has a folder for each show or for each anime of AniDB. A show keeps what it has, whatever order is asked
// for; if it has both, those of the order count.
func TestAShowKeepsItsKindOfFolders(t *testing.T) {
	whole := func(folder string) []string {
		return []string{
			folder + "/Season 01/Show (2020) S01E01-E02.mkv", folder + "/Season 01/Show (2020) S01E03.mkv",
			folder + "/Season 02/Show (2020) S02E01.mkv", folder + "/Season 00/Show (2020) S00E01.mkv",
		}
	}
	perAnime := func(first, second string) []string {
		return []string{
			first + "/Season 01/Show (2020) S01E01-E02.mkv", second + "/Season 01/Show (2020) S01E01.mkv",
			"Show (2020) [anidbid-13]/Season 01/Show (2020) S01E01.mkv", first + "/Season 00/Show (2020) S00E01.mkv",
		}
	}
	notInLists := perAnime("Show (2020) [anidbid-11]", "Show (2020) [anidbid-12]")
	notInLists[3] = "no_order"
	for _, row := range []struct {
		name, layout, order string
		folders             []string
		change              func(special *report.Record)
		want                []string
		warned              bool
	}{
		{
			"an anime's folder by title", "jellyfin", "tmdb",
			[]string{"Show (2020) [anidbid-11]"},
			nil,
			perAnime("Show (2020) [anidbid-11]", "Show (2020) [anidbid-12]"), true,
		},
		{
			"an anime's folder by id", "jellyfin", "tvdb",
			[]string{"Second [anidbid-12]"},
			nil,
			perAnime("Show (2020) [anidbid-11]", "Second [anidbid-12]"), true,
		},
		{
			"a special that AniDB lacks", "jellyfin", "tmdb",
			[]string{"Show (2020) [anidbid-11]"},
			func(special *report.Record) { special.Orders.AniDB = nil }, notInLists, true,
		},
		{
			"the whole entry's folder", "jellyfin", "anidb",
			[]string{"Show (2020) [tmdbid-1]"},
			nil,
			whole("Show (2020) [tmdbid-1]"), true,
		},
		{
			"both, in TMDB's order", "jellyfin", "tmdb",
			[]string{"Show (2020) [tmdbid-1]", "Second [anidbid-12]"},
			nil,
			whole("Show (2020) [tmdbid-1]"), false,
		},
		{
			"both, in AniDB's order", "jellyfin", "anidb",
			[]string{"Show (2020) [tmdbid-1]", "Second [anidbid-12]"},
			nil,
			perAnime("Show (2020) [anidbid-11]", "Second [anidbid-12]"), false,
		},
		{
			"another show of the same title", "jellyfin", "tmdb",
			[]string{"Show (1999) [anidbid-99]"},
			nil,
			whole("Show (2020) [tmdbid-1]"), false,
		},
		{
			"a layout without AniDB", "plex", "tmdb", []string{"Second [anidb-12]"}, nil, []string{
				"Show (2020) {tmdb-1}/Season 01/Show (2020) - S01E01-E02.mkv",
				"Second [anidb-12]/Season 01/Show (2020) - S01E01.mkv",
				"Show (2020) {tmdb-1}/Season 02/Show (2020) - S02E01.mkv",
				"Show (2020) {tmdb-1}/Season 00/Show (2020) - S00E01.mkv",
			}, true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			records, paths := inOrder(row.order)
			if row.change != nil {
				row.change(&records[3])
			}
			for _, folder := range row.folders {
				paths = append(paths, "/out/"+folder+"/")
			}
			r := planOf(options(t, row.layout), tree(append(paths, "/out/")...), records...)
			if diff := gocmp.Diff(row.want, targetsOf(r, records)); diff != "" {
				t.Error(diff)
			}
			if got := planWarnings(r); (len(got) > 0) != row.warned {
				t.Errorf("warned: %q", got)
			}
		})
	}
}

func TestTemplatesHaveTheNumbersOfEachOrder(t *testing.T) {
	o := options(t, "jellyfin")
	var err error
	o.Layout, err = NewLayout(CustomLayout, Templates{
		Show: "{title}", Season: "{order}",
		Episode: "{season}x{episode} <t{tvdb_season}-{tvdb_episode:2}> <a{anidb_episode}> <n{absolute_episode}>",
	})
	if err != nil {
		t.Fatal(err)
	}
	records, paths := inOrder("group:DVD")
	want := []string{"1x9 t1-01-E02 a1-E2 n1-E2", "1x7 t2-01 a1 n3", "1x5 t3-01 a1 n4", "1x3 t0-05 a1"}
	got := targetsOf(planOf(o, tree(append(paths, "/out/")...), records...), records)
	for i := range want {
		want[i] = "Show/group-DVD/" + want[i] + ".mkv"
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A library is renumbered where it is: folders and files get other names, there and back.
func TestRenumberingInPlace(t *testing.T) {
	layouts := map[string][]string{
		"jellyfin": {"tvdb", "anidb", "tmdb"}, "plex": {"tvdb", "tmdb"}, "kodi": {"tvdb", "tmdb"},
	}
	for layout, sequence := range layouts {
		t.Run(layout, func(t *testing.T) {
			o := options(t, layout)
			records, paths := inOrder(orders.TMDB)
			d := tree(append(paths, "/out/")...)
			o.Mode = ModeMove
			d = d.after(planOf(o, d, records...))
			o.Sources, o.Renumber = o.Targets, true
			for _, order := range sequence {
				inode := map[uint64]int{}
				for i, from := range paths {
					inode[cmp.Or(d[from].inode, tree(from)[from].inode)] = i
				}
				records, _ = inOrder(order)
				for name, f := range d {
					if i, known := inode[f.inode]; known && strings.HasPrefix(name, "/out/") {
						records[i].Path, records[i].Parsed = name, read(name)
					}
				}
				r := planOf(o, d, records...)
				d = d.after(r)
				golden := inOrderTrees[layout+" "+order]
				if order == orders.TMDB && layout != "jellyfin" {
					golden = nil
				}
				for i, to := range golden {
					if _, there := d["/out/"+to]; !there {
						t.Errorf("%s: %s is not there: %q", order, to, targetsOf(r, records)[i])
					}
				}
				if again := planOf(o, d, moved(records, r)...); len(again.Units) > 0 {
					t.Errorf("%s: planned again: %v", order, again.Units[0].Ops)
				}
			}
		})
	}
}

// Numbers that nothing told match were read as TMDB's, so others made of them would be wrong.
func TestFilesWhoseNFOSaysAnotherOrderAreNotRenumbered(t *testing.T) {
	const show, file = "/out/Show (2020)", "/Season 01/Show S01E01.mkv"
	const ofTVDB = `<tvshow><uniqueid type="tvdb" default="true">77</uniqueid></tvshow>`
	for _, row := range []struct {
		name, folder, text string
		pinned             bool
		want               string
	}{
		{"a display order", show, "<tvshow><displayorder>absolute</displayorder></tvshow>", false, "no_order"},
		{"TVDB's id, which kodi goes by", show, ofTVDB, false, "no_order"},
		{"a pin says so too", show, "<tvshow><displayorder>absolute</displayorder></tvshow>", true, "named"},
		{"TMDB's order", show, `<tvshow><uniqueid type="tmdb" default="true">1</uniqueid></tvshow>`, false, "named"},
		{"the folder's id says it", show + " [tvdbid-77]", "<displayorder>dvd</displayorder>", false, "named"},
		{"TMDB's id wins over TVDB's", show + " [tmdbid-1]", ofTVDB, false, "named"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(t, "kodi")
			o.Mode, o.Sources, o.Renumber = ModeMove, o.Targets, true
			o.IsOrderPinned = func(name string) bool { return row.pinned && name == row.folder+file }
			records, _ := inOrder(orders.TVDB)
			records[0].Path = row.folder + file
			r := planOf(o, tree(row.folder+file, row.folder+"/tvshow.nfo: "+row.text), records[0])
			got := targetsOf(r, records[:1])[0]
			if strings.HasSuffix(got, "Show S01E01E02.mkv") {
				got = "named"
			}
			if got != row.want {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestALibraryThatMixesOrdersIsNamed(t *testing.T) {
	o := options(t, "jellyfin")
	o.Mode, o.Sources, o.Renumber = ModeMove, o.Targets, true
	records, _ := inOrder(orders.TVDB)
	const second = "Show (2020) [tvdbid-77]/Season 02/Show S02E01.mkv"
	for first, want := range map[string][]string{
		"Show (2020) [tmdbid-1]/Season 01/Show S01E01-E02.mkv": {"Show (2020) [tmdbid-1]"},
		"Show {imdb-tt1}/Season 01/Show S01E01-E02.mkv":        {"Show {imdb-tt1}"},
		"Show {tvdb-77}/Season 01/Show S01E01-E02.mkv":         nil,
		"Show/Season 01/Show S01E01-E02.mkv":                   nil,
	} {
		records[0].Path, records[1].Path = "/out/"+first, "/out/"+second
		r := planOf(o, tree("/out/"+first, "/out/"+second), records[:2]...)
		if diff := gocmp.Diff(want, r.MixedOrders); diff != "" {
			t.Errorf("%s: %s", first, diff)
		}
		if warned := strings.Contains(fmt.Sprint(r.Warnings()), "mixed_orders: "); warned != (want != nil) {
			t.Errorf("%s: %q", first, r.Warnings())
		}
	}
}

// Whatever the lists say: a name is read as the episodes that it was made of, in the order that its folder's id says,
// or a pin where it has none.
func TestNamesReadBackAsTheSameEpisodes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var seasons []orders.Place
		for n := range rapid.IntRange(2, 4).Draw(r, "seasons") {
			at := orders.Place{Season: n}
			first := rapid.SampledFrom([]int{1, 1, 13}).Draw(r, "first")
			for e := range rapid.IntRange(1, 14).Draw(r, "length") {
				at.Episodes = append(at.Episodes, first+e)
			}
			seasons = append(seasons, at)
		}
		numbering := func(season int) orders.Numbering {
			x := orders.Numbering{Season: &season, Offset: rapid.IntRange(0, 9).Draw(r, "offset")}
			start := rapid.IntRange(1, 9).Draw(r, "start")
			to := rapid.IntRange(0, 3).Draw(r, "to")
			ranges := []orders.Range{{Season: to, Start: start, End: start + 4, Offset: 1 - start}}
			if x.Specials = ranges; rapid.Bool().Draw(r, "ranges") {
				x.Ranges = ranges
			}
			return x
		}
		var anime []orders.Anime
		for n := range rapid.IntRange(1, 4).Draw(r, "anime") {
			at := numbering(n % len(seasons))
			anime = append(anime, orders.Anime{ID: 11 + n, TVDBID: 77, TMDB: at, TVDB: numbering(n)})
		}
		of := rapid.SampledFrom(seasons).Draw(r, "of")
		from := rapid.IntRange(0, len(of.Episodes)-1).Draw(r, "from")
		some := of.Episodes[from:min(len(of.Episodes), from+rapid.IntRange(1, 3).Draw(r, "count"))]
		at, series := orders.Place{Season: of.Season, Episodes: some}, orders.NewSeries(seasons, 77, anime)
		all := series.Orders(at)
		for _, layout := range serverLayouts() {
			for _, order := range []string{orders.TMDB, orders.TVDB, orders.AniDB, orders.Absolute} {
				o := options(t, layout)
				if all.In(order) == nil || o.Layout.RefuseOrder(order) != "" {
					continue
				}
				rec := tv("/in/a.mkv", of.Season, some...)
				rec.IDs, rec.Orders, rec.EpisodeTitles = &report.WorkIDs{TVDB: 77}, all, nil
				rec.Order, rec.Season, rec.Episodes = order, &all.In(order).Season, all.In(order).Episodes
				to := targetsOf(planOf(o, tree(rec.Path, "/out/"), rec), []report.Record{rec})[0]
				if to == string(CodeNotContiguous) {
					continue
				}
				read, there := release.Parse(to), orders.Place{}
				there.Season, _ = read.Season()
				for _, e := range read.Episodes {
					there.Episodes = append(there.Episodes, int(e))
				}
				id := map[string]string{}
				for _, of := range read.IDs {
					id[of.Source] = of.Value
				}
				show, _, _ := strings.Cut(to, "/")
				if orderOfFolder(show, order) != order {
					r.Fatalf("%s has the order %s, not %s", show, orderOfFolder(show, order), order)
				}
				back := &there
				if n, _ := strconv.Atoi(id[orders.AniDB]); order != orders.TMDB {
					back = series.ToTMDB(order, n, there)
				}
				if diff := gocmp.Diff(&at, back); diff != "" {
					r.Fatalf("layout %s, order %s: %s reads back as another episode: %s", layout, order, to, diff)
				}
			}
		}
	})
}

// moved returns the records of the files after a plan.
func moved(records []report.Record, r *Result) []report.Record {
	out := slices.Clone(records)
	for i := range r.Units {
		u := &r.Units[i]
		for k := range out {
			if records[k].Path == r.SourcePath(u, &u.Ops[0]) {
				out[k].Path = r.TargetPath(u, &u.Ops[0])
			}
		}
	}
	return out
}
