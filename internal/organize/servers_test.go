package organize

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/report"
)

// A server reads a library by rules that its documentation states; here as patterns, for folders and names alike.
type server struct {
	id      *regexp.Regexp // in the folder of a show or film; nil: titles are looked up
	season  *regexp.Regexp // a season's folder
	episode *regexp.Regexp // season, first episode, and what follows it
	more    *regexp.Regexp // one of several episodes: a range's last, or a list's next
	lists   bool           // more is each of the others, not the last of a range
	part    *regexp.Regexp // what makes files one film
}

var servers = map[string]server{
	"jellyfin": {
		id: regexp.MustCompile(`\[tmdbid[-=](\d+)\]`), season: regexp.MustCompile(`^Season (\d+)$`),
		episode: regexp.MustCompile(`[Ss](\d+)[Ee](\d+)((?:-[Ee]\d+)?)`), more: regexp.MustCompile(`-[Ee](\d+)`),
		part: regexp.MustCompile(`[ _.-]+(?:cd|dvd|part|pt|dis[ck])[ _.-]*(\d+)$`),
	},
	"emby": {
		id: regexp.MustCompile(`\[tmdbid[-=](\d+)\]`), season: regexp.MustCompile(`^Season (\d+)$`),
		episode: regexp.MustCompile(`[Ss](\d+)[Ee](\d+)((?:-[Ee]\d+)?)`), more: regexp.MustCompile(`-[Ee](\d+)`),
		part: regexp.MustCompile(`[ _.-]+(?:cd|dvd|part|pt|dis[ck])[ _.-]*(\d+)$`),
	},
	"plex": {
		id: regexp.MustCompile(`\{tmdb-(\d+)\}`), season: regexp.MustCompile(`^Season (\d+)$`),
		episode: regexp.MustCompile(`- [sS](\d+)[eE](\d+)((?:-[eE]\d+)?)`), more: regexp.MustCompile(`-[eE](\d+)`),
		part: regexp.MustCompile(` - (?:cd|disc|disk|dvd|part|pt)(\d+)$`),
	},
	"kodi": {
		season: regexp.MustCompile(`^Season (\d+)$`), episode: regexp.MustCompile(`[Ss](\d+)[ ._-]*[Ee](\d+)((?:[Ee]\d+)*)`),
		more: regexp.MustCompile(`[Ee](\d+)`), lists: true,
		part: regexp.MustCompile(`[ _.-]+(?:cd|dvd|part|pt|dis[ck])[ _.-]*(\d+)$`),
	},
}

// serverLayouts are the layouts of media servers: all but the custom one.
func serverLayouts() []string {
	return slices.DeleteFunc(LayoutNames(), func(name string) bool { return name == CustomLayout })
}

// reported is what a server learns about a file from its path.
type reported struct {
	Movie    bool
	ID       int
	Season   int
	Episodes []int
	Part     int
}

// reads tells what a server takes a file for.
func (s server) reads(t *testing.T, target string) reported {
	t.Helper()
	parts := strings.Split(target, "/")
	stem := strings.TrimSuffix(parts[len(parts)-1], path.Ext(target))
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var out reported
	if s.id != nil {
		m := s.id.FindStringSubmatch(parts[0])
		if m == nil {
			t.Fatalf("%s has no id", target)
		}
		out.ID = number(m[1])
	}
	if len(parts) == 2 { // a film's files begin with its folder's name
		out.Movie = true
		if !strings.HasPrefix(stem, parts[0]) {
			t.Fatalf("%s does not begin with its folder's name", target)
		}
		if m := s.part.FindStringSubmatch(stem); m != nil {
			out.Part = number(m[1])
		}
		return out
	}
	m := s.episode.FindStringSubmatch(stem)
	folder := s.season.FindStringSubmatch(parts[1])
	if len(parts) != 3 || m == nil || folder == nil || number(folder[1]) != number(m[1]) {
		t.Fatalf("%s is no episode in the folder of its season", target)
	}
	out.Season, out.Episodes = number(m[1]), []int{number(m[2])}
	for _, next := range s.more.FindAllStringSubmatch(m[3], -1) {
		last := number(next[1])
		for e := out.Episodes[len(out.Episodes)-1] + 1; e < last && !s.lists; e++ {
			out.Episodes = append(out.Episodes, e)
		}
		out.Episodes = append(out.Episodes, last)
	}
	return out
}

// TestServersReadTheGoldenTrees: the whole tree of one plan per layout, and what each server takes its files for.
func TestServersReadTheGoldenTrees(t *testing.T) {
	records := []report.Record{
		tv("/in/Show/Show - 01.mkv", 1, 1), tv("/in/Show/Show - 02-03.mkv", 1, 2, 3),
		tv("/in/Show/Show - 04-07.mkv", 1, 4, 5, 6, 7),
		tv("/in/Show/SP/Show SP1.mkv", 0, 1), tv("/in/Show/Show S12E100.mkv", 12, 100),
		with(tv("/in/Odd.mkv", 1, 1), func(r *report.Record) {
			r.TMDBID, r.Title, r.Year, r.EpisodeTitles = 2, ".hack//SIGN: \"S02E05\"?", 0, []string{"Part 2 / 3: E07?"}
		}),
		with(tv("/in/Oshi.mkv", 2, 1),
			func(r *report.Record) { r.TMDBID, r.Title, r.EpisodeTitles = 3, "[Oshi no Ko]", nil }),
		film("/in/Film.mkv", 7), with(film("/in/Two cd1.mkv", 8), func(r *report.Record) { r.Title = "Two" }),
		with(film("/in/Two cd2.mkv", 8), func(r *report.Record) { r.Title = "Two" }),
	}
	golden := map[string][]string{
		"jellyfin": {
			"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E01 - Title 1.mkv",
			"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E02-E03 - Title 2 + Title 3.mkv",
			"Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E04-E07.mkv",
			"Show (2020) [tmdbid-1]/Season 00/Show (2020) S00E01 - Title 1.mkv",
			"Show (2020) [tmdbid-1]/Season 12/Show (2020) S12E100 - Title 100.mkv",
			"hack--SIGN - 'S02E05' [tmdbid-2]/Season 01/hack--SIGN - 'S02E05' S01E01 - Part 2 - 3 - E07.mkv",
			"[Oshi no Ko] (2020) [tmdbid-3]/Season 02/[Oshi no Ko] (2020) S02E01.mkv",
			"Film (2001) [tmdbid-7]/Film (2001) [tmdbid-7].mkv", "Two (2001) [tmdbid-8]/Two (2001) [tmdbid-8] - part1.mkv",
			"Two (2001) [tmdbid-8]/Two (2001) [tmdbid-8] - part2.mkv",
		},
		"plex": {
			"Show (2020) {tmdb-1}/Season 01/Show (2020) - S01E01 - Title 1.mkv",
			"Show (2020) {tmdb-1}/Season 01/Show (2020) - S01E02-E03 - Title 2 + Title 3.mkv",
			"Show (2020) {tmdb-1}/Season 01/Show (2020) - S01E04-E07.mkv",
			"Show (2020) {tmdb-1}/Season 00/Show (2020) - S00E01 - Title 1.mkv",
			"Show (2020) {tmdb-1}/Season 12/Show (2020) - S12E100 - Title 100.mkv",
			"hack--SIGN - 'S02E05' {tmdb-2}/Season 01/hack--SIGN - 'S02E05' - S01E01 - Part 2 - 3 - E07.mkv",
			"[Oshi no Ko] (2020) {tmdb-3}/Season 02/[Oshi no Ko] (2020) - S02E01.mkv",
			"Film (2001) {tmdb-7}/Film (2001) {tmdb-7}.mkv", "Two (2001) {tmdb-8}/Two (2001) {tmdb-8} - part1.mkv",
			"Two (2001) {tmdb-8}/Two (2001) {tmdb-8} - part2.mkv",
		},
		"kodi": {
			"Show (2020)/Season 01/Show S01E01 - Title 1.mkv", "Show (2020)/Season 01/Show S01E02E03 - Title 2 + Title 3.mkv",
			"Show (2020)/Season 01/Show S01E04E05E06E07.mkv", "Show (2020)/Season 00/Show S00E01 - Title 1.mkv",
			"Show (2020)/Season 12/Show S12E100 - Title 100.mkv",
			"hack--SIGN - 'S02E05'/Season 01/hack--SIGN - 'S02E05' S01E01 - Part 2 - 3 - E07.mkv",
			"[Oshi no Ko] (2020)/Season 02/[Oshi no Ko] S02E01.mkv",
			"Film (2001)/Film (2001).mkv", "Two (2001)/Two (2001) - part1.mkv", "Two (2001)/Two (2001) - part2.mkv",
		},
	}
	golden["emby"] = golden["jellyfin"]
	for _, layout := range serverLayouts() {
		t.Run(layout, func(t *testing.T) {
			s, known := servers[layout]
			if !known || golden[layout] == nil {
				t.Fatal("add what this server reads to servers, and its tree to golden")
			}
			var paths []string
			for _, r := range records {
				paths = append(paths, r.Path)
			}
			p := NewPlanner(options(t, layout), tree(append(paths, "/out/")...))
			for _, r := range records {
				p.Add(&r)
			}
			var got []string
			for i, u := range p.Plan(noDetails).Units {
				to, r := u.Ops[0].To, records[i]
				got = append(got, to)
				if strings.Contains(to, "S02E05") {
					// a title that is a number of its own: the last number of a name would be right, and servers take the first
					continue
				}
				want := reported{Movie: r.Kind == "movie", ID: r.TMDBID}
				if s.id == nil {
					want.ID = 0
				}
				if r.Season != nil {
					want.Season, want.Episodes = *r.Season, r.Episodes
				}
				if strings.HasPrefix(r.Title, "Two") {
					_, _ = fmt.Sscanf(r.Path, "/in/Two cd%d.mkv", &want.Part)
				}
				if diff := cmp.Diff(want, s.reads(t, to)); diff != "" {
					t.Errorf("%s: %s", to, diff)
				}
			}
			if diff := cmp.Diff(golden[layout], got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
