package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExperimentsHaveTheirForm checks that bench/experiments finds the places of its tables, that each table has its
// columns and anivault beside the published clients, and that the page says what is missing. It checks no figures.
func TestExperimentsHaveTheirForm(t *testing.T) {
	page := read(t, "experiments.md")
	if !strings.Contains(page, "go run -C bench ./experiments") {
		t.Error("the page does not name the command")
	}
	sections := strings.Split(page, "\n## ")[1:]
	tables := []struct {
		name    string
		rows    int      // at least
		columns []string // words that the head has
	}{
		{"quota", 6, []string{"client", "published", "here: 1, 2, 3, 5, 7, 10", "429"}},
		{"retries", 11, []string{"client", "published", "clients", "here: 20 % fail", "here: 100 % fail"}},
		{"shared", 6, []string{"client", "5 clients, 500", "100 clients, 800", "published", "here"}},
		{"trap", 5, []string{"client", "before", "in the 10 s", "the last minute", "requests a call"}},
	}
	if len(sections) != len(tables) {
		t.Fatalf("%d sections, %d tables", len(sections), len(tables))
	}
	for i, want := range tables {
		t.Run(want.name, func(t *testing.T) {
			section := sections[i]
			_, rest, ok := strings.Cut(section, fmt.Sprintf("<!-- %s: begin -->\n", want.name))
			table, _, ended := strings.Cut(rest, fmt.Sprintf("<!-- %s: end -->\n", want.name))
			if !ok || !ended {
				t.Fatal("no place for its table")
			}
			if !strings.Contains(section, "\n**Missing**: ") {
				t.Error("it does not say what is missing")
			}
			lines := strings.Split(strings.TrimSpace(table), "\n")
			for _, column := range want.columns {
				if !strings.Contains(lines[0], column) {
					t.Errorf("no column %q", column)
				}
			}
			rows := lines[min(2, len(lines)):]
			if len(rows) < want.rows {
				t.Errorf("%d rows", len(rows))
			}
			for _, row := range rows {
				if strings.Count(row, "|") != strings.Count(lines[0], "|") {
					t.Errorf("another number of columns: %s", row)
				}
				if !regexp.MustCompile(`\d`).MatchString(row) {
					t.Errorf("no figures: %s", row)
				}
			}
			if !slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, "| **anivault") }) {
				t.Error("anivault is not among the clients")
			}
		})
	}
}
