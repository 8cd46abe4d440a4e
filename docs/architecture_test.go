package docs_test

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/anivault/anivault/"

// TestArchitectureListsThePackagesThatThereAre compares the table of packages with go list.
// paths are the names of files and folders of the repository in a page.
var paths = regexp.MustCompile("`((?:bench|cache|cmd|docs|internal|ratelimit|testdata|tmdb|" +
	`\.ci|\.github)/[A-Za-z0-9_./]+)` + "`")

func TestArchitectureListsThePackagesThatThereAre(t *testing.T) {
	cmd := exec.Command("go", "list", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(out)) {
		want = append(want, strings.TrimPrefix(strings.TrimSpace(line), module))
	}
	_, table, _ := strings.Cut(read(t, "architecture.md"), "## Packages\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		got = append(got, row[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-go list +docs/architecture.md:\n%s", diff)
	}
}

// TestArchitectureNamesTheDeciders compares the table of deciders with the one in the code.
func TestArchitectureNamesTheDeciders(t *testing.T) {
	_, code, _ := strings.Cut(read(t, "../internal/decide/deciders.go"), "var deciders = ")
	code, _, _ = strings.Cut(code, "\n}")
	_, page, _ := strings.Cut(read(t, "architecture.md"), "| decider | knows |")
	page, _, _ = strings.Cut(page, "\n\n")
	name := regexp.MustCompile(`\bby[A-Z]\w*`)
	if diff := cmp.Diff(name.FindAllString(code, -1), name.FindAllString(page, -1)); diff != "" {
		t.Errorf("-code +docs/architecture.md:\n%s", diff)
	}
}

// TestPagesNameFilesThatThereAre looks up every path in backquotes on the pages for developers.
func TestPagesNameFilesThatThereAre(t *testing.T) {
	for _, page := range []string{"architecture.md", "../CONTRIBUTING.md"} {
		seen := map[string]bool{}
		for _, path := range paths.FindAllStringSubmatch(read(t, page), -1) {
			seen[path[1]] = true
		}
		if len(seen) < 10 {
			t.Errorf("%s names only %d paths", page, len(seen))
		}
		for _, path := range slices.Sorted(maps.Keys(seen)) {
			if !exists("../" + path) {
				t.Errorf("%s names %s, which does not exist", page, path)
			}
		}
	}
}
