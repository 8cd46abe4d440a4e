package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/anivault/anivault/"

// paths are the names of files and folders of the repository in a page.
var paths = regexp.MustCompile("`((?:bench|cache|cmd|docs|internal|ratelimit|testdata|tmdb|" +
	`\.ci|\.github)/[A-Za-z0-9_./]+)` + "`")

// TestArchitectureListsThePackagesThatThereAre compares the table of packages with go list.
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

// TestNoReceiverHasTooManyMethods counts the methods of each type, and with them those of the types that it embeds.
func TestNoReceiverHasTooManyMethods(t *testing.T) {
	const most = 40
	methods, embedded := map[string]map[string]bool{}, map[string][]string{} // by type: "../internal/apply.worker"
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != ".." && (name == "testdata" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(file)) + "."
		folders := map[string]string{} // of the imported packages, by their names
		for _, i := range parsed.Imports {
			if at, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ours {
				folders[path.Base(at)] = "../" + at + "."
			}
		}
		var typeOf func(e ast.Expr) string
		typeOf = func(e ast.Expr) string {
			switch e := e.(type) {
			case *ast.StarExpr:
				return typeOf(e.X)
			case *ast.IndexExpr:
				return typeOf(e.X)
			case *ast.SelectorExpr:
				return folders[e.X.(*ast.Ident).Name] + e.Sel.Name
			case *ast.Ident:
				return folder + e.Name
			}
			return ""
		}
		add := func(name string, fields *ast.FieldList) {
			for _, f := range fields.List {
				if len(f.Names) == 0 {
					embedded[name] = append(embedded[name], typeOf(f.Type))
				}
			}
		}
		for _, decl := range parsed.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil {
					name := typeOf(decl.Recv.List[0].Type)
					if methods[name] == nil {
						methods[name] = map[string]bool{}
					}
					methods[name][decl.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						if s, ok := spec.Type.(*ast.StructType); ok {
							add(folder+spec.Name.Name, s.Fields)
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all func(name string) map[string]bool
	all = func(name string) map[string]bool {
		set := maps.Clone(methods[name])
		if set == nil {
			set = map[string]bool{}
		}
		for _, e := range embedded[name] {
			maps.Copy(set, all(e))
		}
		return set
	}
	if len(all("../internal/apply.worker")) < 10 {
		t.Fatal("the methods are not found")
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if n := len(all(name)); n > most {
			t.Errorf("%s has %d methods, embedded ones included: more than %d", name, n, most)
		}
	}
}
