package release

import (
	"bufio"
	"encoding/json"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/title"
)

// The share of names of which title, season, episode and year are all right, in percent, below which a change is a step
// back.
const (
	floorAll   = 92.0
	floorStyle = 90.0
)

type evalRow struct {
	ID     string           `json:"id"`
	Input  string           `json:"input"`
	Expect map[string]any   `json:"expect"`
	Alt    map[string][]any `json:"alt"`
	Absent []string         `json:"absent"`
	Style  string           `json:"style"`
	Flags  []string         `json:"flags"`
}

// unread reports whether the row belongs to the third that nobody looks at while rules are written.
func (row evalRow) unread() bool {
	h := fnv.New32a()
	h.Write([]byte(row.ID))
	return h.Sum32()%3 == 0
}

// evalRows returns the rows of a development corpus, which is not part of the project; none where it does not lie
// beside the repository.
func evalRows(t *testing.T, file string) []evalRow {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "eval", file)
	f, err := os.Open(path)
	if err != nil {
		t.Log("no corpus of real names beside the repository:", path)
		return nil
	}
	defer f.Close()
	var rows []evalRow
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var row evalRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(row.Flags, "see") {
			row.Input = strings.NewReplacer("\n", " ", "\r", " ").Replace(row.Input)
			rows = append(rows, row)
		}
	}
	return rows
}

// TestRealNames reads the development corpus where it is.
func TestRealNames(t *testing.T) {
	rows := evalRows(t, "parse_dev.jsonl")
	if len(rows) == 0 {
		t.Skip("nothing to read")
	}
	right, all := map[string]int{}, map[string]int{}
	for _, row := range rows {
		keys := []string{row.Style, "all"}
		if row.unread() {
			keys = []string{"unread", "all"}
		}
		ok := row.agrees(Parse(row.Input))
		for _, k := range keys {
			all[k]++
			if ok {
				right[k]++
			}
		}
	}
	for k, n := range all {
		share, floor := 100*float64(right[k])/float64(n), floorStyle
		if k == "all" {
			floor = floorAll
		}
		t.Logf("%-7s %5d names, %.1f %% right", k, n, share)
		if share < floor {
			t.Errorf("%s: %.1f %% right, want at least %.1f", k, share, floor)
		}
	}
}

func (row evalRow) agrees(r Release) bool {
	is := func(field string, got []float64) bool {
		want, stated := row.Expect[field]
		if !stated {
			return true
		}
		for _, w := range append([]any{want}, row.Alt[field]...) {
			lo, hi, some := bounds(w)
			if !some && len(got) == 0 || some && len(got) > 0 && lo == got[0] && hi == got[len(got)-1] {
				return true
			}
		}
		return false
	}
	var year []float64
	if r.Year > 0 {
		year = []float64{float64(r.Year)}
	}
	seasons := make([]float64, len(r.Seasons))
	for i, s := range r.Seasons {
		seasons[i] = float64(s)
	}
	read := map[string][]float64{"season": seasons, "episode": r.Episodes, "year": year}
	for _, a := range row.Absent {
		if len(read[a]) > 0 {
			return false
		}
	}
	_, episode := row.Expect["episode"]
	return is("season", seasons) && is("episode", r.Episodes) && is("year", year) &&
		(episode || is("absolute", r.Episodes)) && row.titled(r.Title)
}

func (row evalRow) titled(got string) bool {
	want, stated := row.Expect["title"]
	if !stated {
		return true
	}
	for _, w := range append([]any{want}, row.Alt["title"]...) {
		if s, _ := w.(string); core(s) == core(got) {
			return true
		}
	}
	return false
}

// numberOf matches "2nd", "second" and their kin.
var numberOf = regexp.MustCompile(`(?:st|nd|rd|th)$`)

// core drops a season marker or year at the end of a title: sources disagree on where these belong.
func core(s string) string {
	words := strings.Fields(title.Normalize(s))
	for len(words) > 1 {
		last := words[len(words)-1]
		n, err := strconv.Atoi(strings.TrimPrefix(last, "s"))
		prev := words[len(words)-2]
		switch {
		case err == nil && last[0] == 's' && n < 100, err == nil && len(last) == 4 && n >= 1900 && n < 2100:
			words = words[:len(words)-1]
		case len(words) > 2 && err == nil && slices.Contains([]string{"season", "saison", "temporada", "staffel"}, prev):
			words = words[:len(words)-2]
		case len(words) > 2 && last == "season" && (numberOf.MatchString(prev) || prev == "final"):
			words = words[:len(words)-2]
		default:
			return strings.Join(words, " ")
		}
	}
	return strings.Join(words, " ")
}

// bounds returns the first and last of a number, a list, or a range.
func bounds(v any) (lo, hi float64, some bool) {
	switch x := v.(type) {
	case float64:
		return x, x, true
	case string:
		f, err := strconv.ParseFloat(x, 64)
		return f, f, err == nil
	case []any:
		for _, e := range x {
			if f, ok := e.(float64); ok {
				if !some {
					lo, hi, some = f, f, true
				}
				lo, hi = min(lo, f), max(hi, f)
			}
		}
	case map[string]any:
		lo, _, a := bounds(x["from"])
		_, hi, b := bounds(x["to"])
		return lo, hi, a && b
	}
	return lo, hi, some
}
