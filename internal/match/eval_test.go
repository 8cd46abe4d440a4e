package match_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/tmdbfake/catalogfile"
)

// evalFolder holds measurement data that is no part of the project.
var evalFolder = filepath.Join("..", "..", "..", "shared", "eval")

// truth is a row of the evaluation: a name and what it is.
type truth struct {
	Row      string `json:"id"`
	Input    string `json:"input"`
	Kind     string `json:"tmdb_kind"`
	ID       int    `json:"tmdb_id"`
	Episode  any    `json:"episode"`
	NameKind string `json:"name_kind"`
	Accept   []struct {
		Kind string `json:"tmdb_kind"`
		ID   int    `json:"tmdb_id"`
	} `json:"accept"`
}

func (r truth) is(kind match.Kind, id int) bool {
	for _, a := range r.Accept {
		if a.Kind == string(kind) && a.ID == id {
			return true
		}
	}
	return r.Kind == string(kind) && r.ID == id
}

// The bounds that matching must keep on names with known truth: ids right, wrong ids among all matched and among the
// sure ones, and not one special, extra or half episode passed off as a regular one.
func TestDevelopmentNamesStayWithinTheBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of names")
	}
	cat := evalCatalogue(t)
	for _, file := range []string{"match_gen_dev.jsonl", "match_eval_dev.jsonl"} {
		t.Run(file, func(t *testing.T) {
			rows := evalRows(t, file)
			src := newFake(cat, tmdbfake.RankMixed)
			r := &match.Resolver{Source: src, Options: match.DefaultOptions()}
			right, matched, wrong, sure, sureWrong, traps := 0, 0, 0, 0, 0, 0
			for i, row := range rows {
				s := match.Group([]match.File{{Index: i, Release: release.Parse(row.Input)}})[0]
				d := r.Place(context.Background(), s.Files[:1], r.Resolve(context.Background(), s))[0]
				ok := row.is(d.Kind, d.ID)
				if ok || d.Status == match.Skipped && row.NameKind == "extra" {
					right++
				}
				if d.Status != match.Matched {
					continue
				}
				matched++
				if !ok {
					wrong++
				}
				if d.Confidence >= 0.9 {
					sure++
					if !ok {
						sureWrong++
					}
				}
				if row.Episode == nil && row.NameKind != "" && row.NameKind != "movie" && d.Season != nil && *d.Season > 0 &&
					len(d.Episodes) > 0 {
					traps++
					t.Logf("trap: %s", row.Input)
				}
			}
			t.Logf("%d names: %d right, %d matched, %d wrong; %d sure, %d wrong; %d requests", len(rows), right, matched, wrong,
				sure, sureWrong, src.requests())
			if right*100 < len(rows)*95 {
				t.Errorf("%d of %d ids right, want 95 %%", right, len(rows))
			}
			if wrong*100 > matched*2 || sureWrong*1000 > sure*5 {
				t.Errorf("%d of %d wrong, and %d of %d sure ones; want at most 2 %% and 0.5 %%", wrong, matched, sureWrong, sure)
			}
			if traps > 0 {
				t.Errorf("%d specials, extras or half episodes came out as regular episodes", traps)
			}
		})
	}
}

func evalCatalogue(t *testing.T) *tmdbfake.Catalogue {
	f, err := os.Open(filepath.Join(evalFolder, "catalog_dev.jsonl"))
	if err != nil {
		t.Skip("no evaluation data beside the repository")
	}
	defer f.Close()
	cat, err := catalogfile.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func evalRows(t *testing.T, name string) []truth {
	f, err := os.Open(filepath.Join(evalFolder, name))
	if err != nil {
		t.Skip("no evaluation data beside the repository")
	}
	defer f.Close()
	var rows []truth
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<22)
	for sc.Scan() {
		var r truth
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}
