package release

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table is one of the package's rule tables, as the tests need it.
type table struct {
	name    string
	rows    []tableRow
	without func(row int, f func()) // runs f while the table lacks the row
}

type tableRow struct{ name, example string }

func rulesOf[In, Out any](name string, rules *[]rule[In, Out]) table {
	t := table{name: name, without: lacking(rules)}
	for _, r := range *rules {
		t.rows = append(t.rows, tableRow{r.name, r.example})
	}
	return t
}

func reasonsOf[In any](name string, reasons *[]reason[In]) table {
	t := table{name: name, without: lacking(reasons)}
	for _, c := range *reasons {
		t.rows = append(t.rows, tableRow{c.name, c.example})
	}
	return t
}

func formsOf[P any](name string, forms *[]form[P]) table {
	t := table{name: name, without: lacking(forms)}
	for _, f := range *forms {
		t.rows = append(t.rows, tableRow{f.name, f.example})
	}
	return t
}

func lacking[Row any](rows *[]Row) func(int, func()) {
	return func(i int, f func()) {
		whole := *rows
		defer func() { *rows = whole }()
		*rows = slices.Delete(slices.Clone(whole), i, i+1)
		f()
	}
}

// tables are all of the package's rule tables.
func tables() []table {
	return []table{
		formsOf("tags", &tagForms),
		formsOf("markers", &markForms),
		reasonsOf("crosses", &notCrosses),
		reasonsOf("seasons", &notSeasons),
		reasonsOf("lists of seasons", &seasonEnds),
		reasonsOf("lists of seasons with their letter", &letterEnds),
		reasonsOf("ordinals", &notOrdinals),
		reasonsOf("lists of episodes", &listEnds),
		rulesOf("years", &yearRules),
		reasonsOf("groups", &notGroups),
		rulesOf("numbers", &numberRules),
		rulesOf("numbers in brackets", &bracketRules),
		reasonsOf("ranges", &rangeEnds),
		reasonsOf("leading numbers", &leads),
		rulesOf("extras and specials", &specialRules),
		rulesOf("ends of titles", &titleEnds),
		rulesOf("brackets in titles", &innerBrackets),
		rulesOf("cuts between titles", &cutRules),
		reasonsOf("words at the end of titles", &staysInTitle),
	}
}

func TestEveryRuleDecidesItsExample(t *testing.T) {
	for _, table := range tables() {
		t.Run(table.name, func(t *testing.T) {
			for i, row := range table.rows {
				t.Run(row.name, func(t *testing.T) {
					name, want, ok := strings.Cut(row.example, " -> ")
					if !ok {
						t.Fatalf("example %q is not \"name -> reading\"", row.example)
					}
					with := Parse(name)
					if diff := cmp.Diff(want, summary(with)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
					table.without(i, func() {
						if cmp.Equal(with, Parse(name)) {
							t.Errorf("%s reads the same without this rule", name)
						}
					})
				})
			}
		})
	}
}
