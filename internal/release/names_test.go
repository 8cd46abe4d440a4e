package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sampleName is a name to read in several ways.
type sampleName struct {
	text   string
	unread bool // it is never printed
	own    bool // it stands in testdata/names
}

// namesOfKind returns the rows of each file in testdata/names: made-up names of one kind, each with what is to be read.
func namesOfKind(t *testing.T) map[string][]row {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "names", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no names in testdata/names", err)
	}
	kinds := map[string][]row{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, line := range strings.Split(string(text), "\n") {
			if line == "" || strings.HasPrefix(line, "# ") {
				continue
			}
			name, want, ok := strings.Cut(line, " -> ")
			if !ok {
				t.Fatalf("%s: %q is not \"name -> reading\"", file, line)
			}
			kinds[kind] = append(kinds[kind], row{name, want})
		}
	}
	return kinds
}

func TestNamesOfEachKind(t *testing.T) {
	for kind, rows := range namesOfKind(t) {
		t.Run(kind, func(t *testing.T) { check(t, rows) })
	}
}

// sampleNames returns the names of testdata/names, and those of the development corpora where they are.
func sampleNames(t *testing.T) []sampleName {
	t.Helper()
	var names []sampleName
	for _, rows := range namesOfKind(t) {
		for _, r := range rows {
			names = append(names, sampleName{text: r.name, own: true})
		}
	}
	for _, file := range []string{"parse_dev.jsonl", "parse_dev2.jsonl"} {
		for _, row := range evalRows(t, file) {
			names = append(names, sampleName{text: row.Input, unread: row.unread()})
		}
	}
	return names
}
