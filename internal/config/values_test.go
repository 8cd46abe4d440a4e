package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each setting of settings.json takes all that its row says it takes, and no number beyond its range.
func TestEverySettingTakesWhatItsRowAllows(t *testing.T) {
	for _, s := range newSettings(new(Config)) {
		t.Run(s.Key, func(t *testing.T) {
			taken, refused := slices.Clone(s.Choices), []string(nil)
			if s.Off {
				taken = append(taken, "off")
			}
			if s.Minimum != "" {
				taken = append(taken, s.Minimum)
			}
			if s.Range != [2]int{} {
				taken = append(taken, strconv.Itoa(s.Range[0]), strconv.Itoa(s.Range[1]))
				refused = append(refused, strconv.Itoa(s.Range[0]-1), strconv.Itoa(s.Range[1]+1))
			}
			if s.Default != "" {
				taken = append(taken, s.Default)
			}
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("one of %q makes it panic: %v", taken, r)
				}
			}()
			for _, v := range taken {
				if err := s.set(v); err != nil {
					t.Errorf("its row in settings.json allows %q, but: %v", v, err)
				}
			}
			for _, v := range refused {
				if s.set(v) == nil {
					t.Errorf("it takes %s, beyond its range %v", v, s.Range)
				}
			}
		})
	}
}

// The program reads each setting: its field is selected somewhere.
func TestEverySettingIsRead(t *testing.T) {
	selected, root := map[string]bool{}, filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir // not of the program
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				selected[s.Sel.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var check func(section reflect.Type)
	check = func(section reflect.Type) {
		for field := range section.Fields() {
			if key := field.Tag.Get("setting"); key == "" && field.Type.Kind() == reflect.Struct && field.IsExported() {
				check(field.Type)
			} else if key != "" && !selected[field.Name] {
				t.Errorf("%s has no effect: nothing reads %s.%s", key, section, field.Name)
			}
		}
	}
	check(reflect.TypeFor[Config]())
}
