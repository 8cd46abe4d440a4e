package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func exists(path string) bool {
	_, err := os.Stat(filepath.FromSlash(path))
	return err == nil
}

// declared returns the names that the Go files of a folder, or one file, declare at their top level: functions, types,
// variables and constants, and methods as Type.Method.
func declared(t *testing.T, path string) map[string]bool {
	t.Helper()
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.go")); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							names[name.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}

// receiver returns "Type." for a method, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// section returns the part of a page under a heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, page), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no part called %q", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// TestToAddSomethingOpenWhatThereIs looks up each file of the table and each name behind it, which it must declare.
func TestToAddSomethingOpenWhatThereIs(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| ([^|]+) \\| (`[^`]+`: .*?) \\|$")
	rows := row.FindAllStringSubmatch(section(t, "../CONTRIBUTING.md", "To add something"), -1)
	for _, row := range rows {
		t.Run(row[1], func(t *testing.T) {
			var path string
			var names map[string]bool
			for _, code := range regexp.MustCompile("`([A-Za-z][A-Za-z0-9_./]*)`").FindAllStringSubmatch(row[2], -1) {
				switch {
				case !strings.Contains(code[1], "/"):
					if !names[code[1]] {
						t.Errorf("%s does not declare %s", path, code[1])
					}
				case !exists("../" + code[1]):
					t.Fatalf("%s does not exist", code[1])
				case strings.HasSuffix(code[1], ".go"):
					path, names = code[1], declared(t, "../"+code[1])
				}
			}
		})
	}
	if len(rows) < 15 {
		t.Errorf("only %d rows", len(rows))
	}
}

// TestTheGlossaryNamesTypesThatThereAre looks up each type or function of the glossary in its package.
func TestTheGlossaryNamesTypesThatThereAre(t *testing.T) {
	packages := map[string]map[string]bool{}
	name := regexp.MustCompile("`([a-z]+)\\.([A-Za-z][A-Za-z0-9_.]*)`")
	names := name.FindAllStringSubmatch(section(t, "../CONTRIBUTING.md", "Glossary"), -1)
	for _, name := range names {
		t.Run(name[0], func(t *testing.T) {
			pkg := name[1]
			if packages[pkg] == nil {
				dir := "../" + pkg
				for _, parent := range []string{"../internal/", "../internal/run/", "../ratelimit/internal/"} {
					if exists(parent + pkg) {
						dir = parent + pkg
					}
				}
				packages[pkg] = declared(t, dir)
			}
			if !packages[pkg][name[2]] {
				t.Errorf("%s declares no %s", pkg, name[2])
			}
		})
	}
	if len(names) < 25 {
		t.Errorf("only %d names", len(names))
	}
}
