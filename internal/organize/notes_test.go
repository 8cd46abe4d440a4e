package organize

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/report"
)

// noted is what a plan writes for media servers, and what it says of what is there.
func noted(o Options, d disk, records ...report.Record) []string {
	r := planOf(o, d, records...)
	var out []string
	for i := range r.Units {
		for k := range r.Units[i].Ops {
			if op := &r.Units[i].Ops[k]; op.Verb == VerbNFO {
				out = append(out, fmt.Sprintf("%s > %s", op.NFO, op.To))
			}
		}
	}
	for _, text := range r.ForeignNFOs {
		out = append(out, text.String())
	}
	return out
}

func TestFilesForMediaServers(t *testing.T) {
	const (
		entry = "Show (2020) [tmdbid-1]/"
		own   = "<tvshow><uniqueid type=\"tmdb\">1</uniqueid></tvshow>"
	)
	one, two := tv("/in/01.mkv", 1, 1), tv("/in/02.mkv", 1, 2, 3)
	for _, row := range []struct {
		name    string
		layout  string
		change  func(*Options)
		disk    disk
		records []report.Record
		want    []string
	}{
		{
			"not wanted", "jellyfin", func(o *Options) { o.NFO = NFOOptions{} }, tree(one.Path, "/out/"),
			[]report.Record{one},
			nil,
		},
		{
			"which entry it is, once a show and once a film", "jellyfin", nil, tree(one.Path, two.Path, "/in/Film.mkv", "/out/"),
			[]report.Record{one, two, film("/in/Film.mkv", 7)},
			[]string{"tv/1 > " + entry + "tvshow.nfo", "movie/7 > " + mine + ".nfo"},
		},
		{
			"all that is known", "jellyfin", func(o *Options) { o.NFO.Full = true },
			tree(one.Path, two.Path, "/in/Film.mkv", "/out/"),
			[]report.Record{one, two, film("/in/Film.mkv", 7)},
			[]string{
				"tv/1 full > " + entry + "tvshow.nfo", "tv/1 S01E01 > " + show + "S01E01 - Title 1.nfo",
				"tv/1 S01E02E03 > " + show + "S01E02-E03 - Title 2 + Title 3.nfo", "movie/7 full > " + mine + ".nfo",
			},
		},
		{
			"in another language than that of the settings", "kodi", func(o *Options) { o.NFO.Languages = "ko-KR" },
			tree(one.Path, "/out/"),
			[]report.Record{one},
			[]string{"tv/1 in ko-KR > Show (2020)/tvshow.nfo"},
		},
		{
			"beside videos that are where they belong", "jellyfin", func(o *Options) { o.NFO.Full = true },
			tree("/out/"+show+"S01E01 - Title 1.mkv", one.Path+" = /out/"+show+"S01E01 - Title 1.mkv"),
			[]report.Record{one},
			[]string{"tv/1 full > " + entry + "tvshow.nfo", "tv/1 S01E01 > " + show + "S01E01 - Title 1.nfo"},
		},
		{
			"what follows a video stands for ours", "jellyfin", func(o *Options) { o.NFO.Full = true },
			tree(one.Path, "/in/01.nfo: <episodedetails/>", "/in/tvshow.nfo: "+own, "/out/"),
			[]report.Record{one},
			nil,
		},
		{
			"a sidecar about something else is reported", "jellyfin", nil,
			tree(one.Path, "/in/Film.mkv", "/in/Film.nfo: <movie><uniqueid type=\"tmdb\">9</uniqueid></movie>",
				"/in/Show/01.mkv", "/in/Show/tvshow.nfo: <tvshow><tmdbid>8</tmdbid></tvshow>", "/out/"),
			[]report.Record{tv("/in/Show/01.mkv", 1, 1), film("/in/Film.mkv", 7)},
			[]string{
				"foreign_nfo: /in/Show/tvshow.nfo names TMDB's id 8, not tv/1, and is kept",
				"foreign_nfo: /in/Film.nfo names TMDB's id 9, not movie/7, and is kept",
			},
		},
		{
			"what is there about the same stays", "jellyfin", func(o *Options) { o.NFO.Full = true },
			tree(one.Path, "/out/"+entry+"TVShow.nfo: "+own,
				"/out/"+show+"S01E01 - Title 1.nfo: <episodedetails><title>theirs</title></episodedetails>"),
			[]report.Record{one},
			nil,
		},
		{
			"what is there about something else stays too", "jellyfin", nil,
			tree(one.Path, "/in/Film.mkv", "/out/"+entry+"tvshow.nfo: <tvshow><uniqueid type=\"tmdb\">9</uniqueid></tvshow>",
				"/out/"+mine+".nfo: greetings"),
			[]report.Record{one, film("/in/Film.mkv", 7)},
			[]string{
				"foreign_nfo: /out/" + entry + "tvshow.nfo names TMDB's id 9, not tv/1, and is kept",
				"foreign_nfo: /out/" + mine + ".nfo names no TMDB id, not movie/7, and is kept",
			},
		},
		{
			"of a film in parts the first has it, which servers read", "jellyfin", nil,
			tree("/in/Film cd1.mkv", "/in/Film cd2.mkv", "/out/"),
			[]report.Record{film("/in/Film cd1.mkv", 7), film("/in/Film cd2.mkv", 7)},
			[]string{"movie/7 > " + mine + " - part1.nfo"},
		},
		{
			"no show has it where works have no folder of their own", "custom", func(o *Options) {
				l, err := NewLayout("custom", Templates{Show: "all", Episode: "{title} S{season}E{episode}", Movie: "{title}"})
				if err != nil {
					panic(err)
				}
				o.Layout = l
			}, tree(one.Path, "/in/Film.mkv", "/out/"),
			[]report.Record{one, film("/in/Film.mkv", 7)},
			[]string{"movie/7 > Film.nfo"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(t, row.layout)
			o.NFO.Enabled = true
			if row.change != nil {
				row.change(&o)
			}
			if diff := cmp.Diff(row.want, noted(o, row.disk, row.records...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNFOsStateTheOrder(t *testing.T) {
	const there = "<tvshow><uniqueid type=\"tmdb\">1</uniqueid>%s</tvshow>"
	for _, row := range []struct {
		name, layout, order, held string
		change                    func(*Options)
		want                      []string
		unnamed                   int
	}{
		{"TVDB's id is the default", "kodi", "tvdb", "", nil, []string{"tv/1 order tvdb > Show (2020)/tvshow.nfo"}, 0},
		{
			"a display order, though NFOs are off otherwise", "jellyfin", "absolute", "",
			func(o *Options) { o.NFO.Enabled = false },
			[]string{"tv/1 order absolute > Show (2020) [tmdbid-1]/tvshow.nfo"},
			0,
		},
		{
			"a group of a type", "jellyfin", "group:Discs", "", func(o *Options) { o.NFO.Enabled = false },
			[]string{"tv/1 order dvd > Show (2020) [tmdbid-1]/tvshow.nfo"},
			0,
		},
		{
			"a group that servers do not choose", "jellyfin", "group:Later Discs", "",
			func(o *Options) { o.NFO.Enabled = false }, nil, 1,
		},
		{"one that is there does not name it", "jellyfin", "absolute", fmt.Sprintf(there, ""), nil, nil, 1},
		{
			"one that is there names it", "jellyfin", "absolute",
			fmt.Sprintf(there, "<displayorder>absolute</displayorder>"), nil, nil, 0,
		},
		{
			"an existing NFO names another order than the new one", "jellyfin", "tmdb",
			fmt.Sprintf(there, "<displayorder>absolute</displayorder>"), func(o *Options) { o.Renumber = true }, nil, 1,
		},
		{"no order is asked for", "jellyfin", "tmdb", "", func(o *Options) { o.NFO.Enabled = false }, nil, 0},
		{"none of the whole entry in the folder of an anime", "jellyfin", "anidb", "", nil, nil, 0},
		{
			"the numbers in the names", "jellyfin", "tvdb", "", func(o *Options) { o.NFO.Full = true },
			[]string{
				"tv/1 S01E03 as S02E01 > Show (2020) [tvdbid-77]/Season 02/Show (2020) S02E01.nfo",
				"tv/1 full order tvdb > Show (2020) [tvdbid-77]/tvshow.nfo",
			},
			0,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			records, paths := inOrder(row.order)
			o := options(t, row.layout)
			o.NFO = NFOOptions{Enabled: true, ForOrders: row.layout == "jellyfin"}
			if row.change != nil {
				row.change(&o)
			}
			d := tree(paths[1], "/out/")
			if row.held != "" {
				d = tree(paths[1], "/out/Show (2020) [tmdbid-1]/tvshow.nfo: "+row.held)
			}
			p := NewPlanner(o, d)
			p.Add(&records[1])
			r := p.Plan(func(Entry) *nfo.Entry {
				return &nfo.Entry{Groups: []nfo.Group{{Name: "Discs", Type: 3}, {Name: "Later Discs", Type: 3}}}
			})
			var got []string
			for _, op := range r.Units[0].Ops {
				if op.Verb == VerbNFO {
					got = append(got, fmt.Sprintf("%s > %s", op.NFO, op.To))
				}
			}
			slices.Sort(got)
			slices.Sort(row.want)
			if diff := cmp.Diff(row.want, got); diff != "" || len(r.UnnamedOrders) != row.unnamed {
				t.Errorf("%q: %s", r.UnnamedOrders, diff)
			}
		})
	}
}

// A file that is written comes back from a plan's text, also without a video before it.
func TestNFOsSurviveAPlansText(t *testing.T) {
	p := examplePlan()
	p.Skipped, p.Units = nil, nil
	for _, n := range []NFOSpec{
		{Entry: Entry{"tv", 2}},
		{Entry: Entry{"movie", 129}, Full: true},
		{Entry: Entry{"tv", 2}, Full: true, Languages: "ko-KR,en-US"},
		{Entry: Entry{"tv", 2}, Full: true, Season: 1, Episodes: []int{2, 103}, Languages: "ko-KR"},
		{Entry: Entry{"tv", 2}, Full: true, Episodes: []int{1}},
		{Entry: Entry{"tv", 2}, Order: "tvdb"},
		{Entry: Entry{"tv", 2}, Full: true, Order: "storyArc", Languages: "ko-KR"},
		{
			Entry: Entry{"tv", 2}, Full: true, Season: 2, Episodes: []int{1, 2},
			Named: orders.Place{Season: 1, Episodes: []int{25, 26}}, Languages: "ko-KR",
		},
		{Entry: Entry{"tv", 2}, Full: true, Season: math.MaxInt, Episodes: []int{math.MaxInt}},
	} {
		to := fmt.Sprintf("%d.nfo", len(p.Units))
		p.Units = append(p.Units, Unit{Dir: ".", Ops: []Op{{Verb: VerbNFO, NFO: &n, To: to}}})
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	back, err := Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	for i := range back.Units {
		back.Units[i].Ops[0].Line = 0
	}
	if diff := cmp.Diff(p.Units, back.Units); diff != "" {
		t.Error(diff)
	}
	for word, want := range map[string]string{
		"movie/129 S01E01":    "S01E01 can't follow the entry",
		"tv/2 full S01E01":    "S01E01 can't follow the entry",
		"tv/2 S01":            "S01 can't follow the entry",
		"tv/2 s01e01":         "s01e01 can't follow the entry",
		"tv/2 in":             "in can't follow the entry",
		"movie/129 order a":   "order can't follow the entry",
		"tv/2 S1E1 order a":   "order can't follow the entry",
		"tv/2 order a S1E1":   "S1E1 can't follow the entry",
		"tv/2 as S1E1":        "as can't follow the entry",
		"tv/2 S1E1 as S1":     "must be as many episodes after",
		"tv/2 S1E1 as S1E2E3": "must be as many episodes after",
		"tv/2 S01E01 S1E02":   "S1E02 can't follow the entry",
		"tv/0":                "tv/0 is not an entry",
	} {
		_, err := Parse(strings.Replace(text.String(), "nfo tv/2\n", "nfo "+word+"\n", 1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", word, err)
		}
	}
	_, err = Parse(strings.Replace(text.String(), "end\n", "with 1 1 1 x\n  to y\nend\n", 1))
	if err == nil || !strings.Contains(err.Error(), "there is none before it") {
		t.Error(err)
	}
}
