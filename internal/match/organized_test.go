package match_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"testing"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/tmdbfake"
)

// oneFile is a disk that holds one file, and an empty library at /out.
type oneFile string

func (oneFile) Real(dir string) (string, error) { return path.Clean(dir), nil }

func (f oneFile) List(dir string) ([]organize.Item, error) {
	if dir != "/in" {
		return nil, nil
	}
	return []organize.Item{{Name: string(f), Type: organize.TypeRegular, Links: 1}}, nil
}

func (oneFile) Ends(string) ([]byte, error) { return nil, nil }

func (oneFile) Ahead([]string)   {}
func (oneFile) Walked() []string { return nil }

// What organize names is matched again to the same id, season and episodes, by names alone.
func TestAnOrganizedLibraryIsMatchedToTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of names")
	}
	cat := evalCatalogue(t)
	var rows []truth
	for _, row := range slices.Concat(evalRows(t, "match_gen_dev.jsonl"), evalRows(t, "match_eval_dev.jsonl")) {
		if hashed(row.Row)%5 == 1 { // matching all of them twice takes a minute a layout
			rows = append(rows, row)
		}
	}
	for _, name := range []string{"jellyfin", "plex", "kodi"} { // the others have jellyfin's names
		t.Run(name, func(t *testing.T) {
			layout, err := organize.NewLayout(name, organize.Templates{})
			if err != nil {
				t.Fatal(err)
			}
			r := &match.Resolver{Source: newFake(cat, tmdbfake.RankMixed), Options: match.DefaultOptions()}
			planned, changed := 0, 0
			for _, row := range rows {
				before := decided(r, row.Input)
				target := targetOf(layout, row.Input, before)
				if target == "" {
					continue
				}
				planned++
				after := decided(r, target)
				if work(before) == work(after) {
					continue
				}
				changed++
				if hashed(row.Row)%3 != 0 { // a third of the names stays unread
					t.Logf("%s became %s: %s, then %s (%s)", row.Input, target, work(before), work(after), after.Status)
				}
			}
			t.Logf("%d of %d names are planned, %d come out differently", planned, len(rows), changed)
			if planned < len(rows)/2 {
				t.Errorf("%d of %d names are planned", planned, len(rows))
			}
			most := 0
			if name == "kodi" {
				most = planned / 500 // its names carry no id: works of one name and year can't be told apart
			}
			if changed > most {
				t.Errorf("%d of %d names come out differently, want at most %d", changed, planned, most)
			}
		})
	}
}

func hashed(id string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()
}

func decided(r *match.Resolver, name string) match.Decision {
	s := match.Group([]match.File{{Release: release.Parse(name)}})[0]
	return r.Place(context.Background(), s.Files[:1], r.Resolve(context.Background(), s))[0]
}

// work tells entry, season and episodes.
func work(d match.Decision) string {
	if d.Kind == match.Movie || d.Season == nil {
		return fmt.Sprint(d.Kind, "/", d.ID)
	}
	return fmt.Sprint(d.Kind, "/", d.ID, " ", *d.Season, " ", d.Episodes)
}

// targetOf returns what organize calls a file, "" where it leaves it.
func targetOf(layout organize.Layout, name string, d match.Decision) string {
	place := func(dir string) organize.Place { return organize.Place{Root: organize.Root{Path: dir}, NameMax: 255} }
	p := organize.NewPlanner(organize.Options{
		Mode: organize.ModeHardlink, Layout: layout, MinConfidence: 0.9, Sources: []organize.Place{place("/in")}, Targets: []organize.Place{place("/out")},
	}, oneFile(path.Base(name)))
	p.Add(&report.Record{
		Path: path.Join("/in", path.Base(name)), Status: report.Status(d.Status), Kind: string(d.Kind), TMDBID: d.ID, Title: d.Title,
		OriginalTitle: d.OriginalTitle, Year: d.Year, Confidence: &d.Confidence, EpisodeConfidence: d.EpisodeConfidence,
		Season: d.Season, Episodes: d.Episodes, EpisodeTitles: d.EpisodeTitles,
	})
	plan := p.Plan()
	if len(plan.Units) == 0 {
		return ""
	}
	return plan.Units[0].Ops[0].To
}
