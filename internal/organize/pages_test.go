package organize

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/orders"
)

// pageTable returns the cells of the table in a page of docs whose head begins with the text, the head's first.
func pageTable(t *testing.T, page, head string) [][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"+head)
	if !found {
		t.Fatalf("docs/%s has no table that begins with %s", page, head)
	}
	body, _, _ = strings.Cut(head+body, "\n\n")
	var rows [][]string
	for i, line := range strings.Split(body, "\n") {
		if i == 1 {
			continue // the line below the head
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for k := range cells {
			cells[k] = strings.TrimSpace(cells[k])
		}
		rows = append(rows, cells)
	}
	return rows
}

func layoutOf(t *testing.T, name string) Layout {
	t.Helper()
	l, err := NewLayout(name, Templates{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// inLayouts is the layouts that a cell names, one for all that the cell says.
func inLayouts(cell string) []string { return strings.Split(cell, ", ") }

// docs/organize.md shows the names that each layout gives, and no others.
func TestThePageShowsTheNamesOfEachLayout(t *testing.T) {
	want, got := map[string]string{}, map[string]string{}
	show := &fieldValues{
		fieldTitle: "Show", fieldYear: "2023", fieldTMDB: "1", fieldSeason: "1", fieldEpisode: "1",
		fieldEpisodeTitle: "Title",
	}
	movie := &fieldValues{fieldTitle: "Film", fieldYear: "2001", fieldTMDB: "2"}
	for _, name := range serverLayouts() {
		l := layoutOf(t, name)
		want[name] = "`" + l.Show.render(show) + "/" + l.Season.render(show) + "/" + l.Episode.render(show) + ".mkv` | `" +
			l.Movie.render(movie) + ".mkv`"
	}
	for _, cells := range pageTable(t, "organize.md", "| layout | an episode | a film |")[1:] {
		for _, name := range inLayouts(cells[0]) {
			got[name] = cells[1] + " | " + cells[2]
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("correct the table of layouts in docs/organize.md (-what layouts.json says +the page):\n%s", diff)
	}
}

// docs/organize.md names the layouts for which --nfo auto writes NFO files.
func TestThePageNamesTheLayoutsWithNFOFiles(t *testing.T) {
	var want []string
	for _, name := range serverLayouts() {
		if layoutOf(t, name).NFOByDefault {
			want = append(want, name)
		}
	}
	for _, cells := range pageTable(t, "organize.md", "| | written | holds |") {
		if cells[0] == "`auto`" && !strings.HasPrefix(cells[1], "`ids` for "+strings.Join(want, ", ")+", ") {
			t.Errorf("docs/organize.md: --nfo auto writes `ids` for %s; the page says %s", strings.Join(want, ", "), cells[1])
		}
	}
}

// docs/orders.md has a column for each layout: what is written in each order.
func TestThePageSaysHowEachLayoutWritesEachOrder(t *testing.T) {
	rows := pageTable(t, "orders.md", "| order |")
	var columns []string
	for _, cell := range rows[0][1:] {
		columns = append(columns, inLayouts(cell)...)
	}
	slices.Sort(columns)
	if diff := gocmp.Diff(slices.Sorted(slices.Values(LayoutNames())), columns); diff != "" {
		t.Errorf("correct the columns of the table in docs/orders.md (-layouts.json +the page):\n%s", diff)
	}
	var names []string
	for _, cells := range rows[1:] {
		for name := range strings.SplitSeq(strings.ReplaceAll(cells[0], "`", ""), ", ") {
			names = append(names, name)
			for i, cell := range cells[1:] {
				for _, layout := range inLayouts(rows[0][i+1]) {
					l, err := NewLayout(layout, Templates{})
					if got, want := writtenBy(cell), l.writtenIn(name); err == nil && got != want {
						t.Errorf("docs/orders.md, order %s, layout %s: the cell says %s instead of %s", name, layout, got, want)
					}
				}
			}
		}
	}
	want := []string{orders.TMDB, orders.TVDB, orders.AniDB, orders.Absolute, "group:NAME"}
	if diff := gocmp.Diff(want, names); diff != "" {
		t.Errorf("correct the rows of the table in docs/orders.md (-orders +the page):\n%s", diff)
	}
}

// writtenIn says in short what is written in an order, as writtenBy says it of a cell.
func (l *Layout) writtenIn(order string) string {
	switch {
	case l.Name == CustomLayout:
		return "your templates"
	case l.RefuseOrder(order) != "":
		return "refused"
	}
	t := l.showTemplate(order)
	folder := t.render(&fieldValues{fieldTMDB: "N", fieldTVDB: "N", fieldAniDB: "N"})
	if l.DisplayOrder && !slices.Contains([]string{orders.TMDB, orders.TVDB, orders.AniDB}, order) {
		folder += "<displayorder>"
	}
	return writtenBy(folder)
}

// writtenBy returns the essence of a cell of docs/orders.md: that the order is refused, or the id in the name of a
// show's folder and whether <displayorder> says the order.
func writtenBy(cell string) string {
	if cell == "refused" || cell == "your templates" {
		return cell
	}
	id := cmp.Or(regexp.MustCompile(`[\[{][a-z]+-N[\]}]`).FindString(cell), "no id")
	if strings.Contains(cell, "<displayorder>") {
		return id + " and <displayorder>"
	}
	return id
}
