package cli

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/logging"
	"github.com/anivault/anivault/internal/report"
)

// TestEveryFieldIsExplained holds the table of outputs to itself and to the commands: each that prints JSON is in it.
func TestEveryFieldIsExplained(t *testing.T) {
	var names []string
	for _, o := range outputs() {
		names = append(names, o.Name)
		seen := map[string]bool{}
		for _, f := range o.Fields {
			if f.Name == "" || f.Doc == "" || seen[f.Name] {
				t.Errorf("%s: the field %q has no description, or occurs twice", o.Name, f.Name)
			}
			seen[f.Name] = true
		}
		if len(seen) == 0 {
			t.Errorf("%s has no fields", o.Name)
		}
	}
	printed := 0
	eachCommand(testRoot(), func(cmd *cobra.Command) {
		f := cmd.LocalFlags().Lookup("format")
		if f == nil || !strings.Contains(f.Usage, "json") {
			return
		}
		printed++
		path := strings.TrimPrefix(cmd.CommandPath(), "anivault ")
		if path == "demo" {
			return // the same as match
		}
		if !slices.ContainsFunc(names, func(n string) bool {
			return n == path || strings.HasPrefix(n, path+" ") || strings.HasPrefix(n, path+":") ||
				strings.Contains(n, "(and "+path+")")
		}) {
			t.Errorf("no table says what the JSON of anivault %s holds: add a row to jsonOutputs", path)
		}
	})
	if printed < 10 {
		t.Errorf("only %d commands print JSON: are they still found?", printed)
	}
}

// The usage of a flag is written by hand, so a new value of its setting must be added there too.
func TestUsagesNameTheValuesOfTheirSettings(t *testing.T) {
	for _, row := range settingFlags() {
		for _, value := range config.SettingByKey(row.Setting).Choices {
			if !strings.Contains(row.Usage, value) {
				t.Errorf("the usage of --%s lacks %q: %s", row.Name, value, row.Usage)
			}
		}
	}
}

// TestManPagesHaveTheDefaultsAndNoWarnings: a flag's text stands below it with its default, and groff understands all.
func TestManPagesHaveTheDefaultsAndNoWarnings(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("without groff, which shows whether a page has warnings")
	}
	defaults := 0
	eachCommand(testRoot(), func(cmd *cobra.Command) {
		page := manPage(cmd)
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.DefValue == "" || slices.Contains(omittedDefaults, f.DefValue) {
				return
			}
			defaults++
			_, text, _ := strings.Cut(page, `\-\-`+escapeRoff(f.Name)+`\fP`)
			if _, text, _ = strings.Cut(text, "\n"); !strings.Contains(strings.SplitN(text, "\n", 2)[0],
				escapeRoff("(default: "+f.DefValue+")")) {
				t.Errorf("%s lacks the default of --%s", manName(cmd), f.Name)
			}
		})
		if groff == "" || cmd.Name() != "anivault" && cmd.Name() != "match" && cmd.Name() != "organize" {
			return
		}
		run := exec.Command(groff, "-man", "-Kutf8", "-Tutf8", "-ww", "-z")
		run.Stdin = strings.NewReader(page)
		if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff says of %s: %v\n%s", manName(cmd), err, out)
		}
	})
	if defaults < 30 {
		t.Errorf("only %d flags have a default: are they still found?", defaults)
	}
}

// TestHelpAndManPageHaveEveryRow looks up every variable, exit status, error code and field in what a person reads.
func TestHelpAndManPageHaveEveryRow(t *testing.T) {
	man := manPage(testRoot())
	environment, statuses, formats := helpOf(t, 80, "help", "environment"), helpOf(t, 80, "help", "exit-codes"), helpOf(t,
		80, "help", "formats")
	inMan := func(head string) {
		t.Helper()
		if !strings.Contains(man, "\n.B "+escapeRoff(head)+"\n") {
			t.Errorf("the man page lacks %s", head)
		}
	}
	for _, s := range config.Settings() {
		inMan(s.Env)
		if !strings.Contains(environment, "\n"+s.Env+" ("+s.Key) {
			t.Errorf("help environment lacks %s", s.Env)
		}
	}
	for _, v := range config.OtherVariables() {
		inMan(v.Name)
		if !strings.Contains(environment, "\n"+v.Name+"\n") {
			t.Errorf("help environment lacks %s", v.Name)
		}
	}
	for _, e := range exitCodes() {
		inMan(fmt.Sprint(e.Code))
		if !strings.Contains("\n"+statuses, fmt.Sprintf("\n%3d  ", e.Code)) {
			t.Errorf("help exit-codes lacks %d", e.Code)
		}
	}
	for _, o := range outputs() {
		if !strings.Contains(formats, o.Name) {
			t.Errorf("help formats lacks %s", o.Name)
		}
		for _, f := range o.Fields {
			inMan(f.Name)
			if !strings.Contains(formats, "\n  "+f.Name+" ") && !strings.Contains(formats, "\n  "+f.Name+"\n") {
				t.Errorf("help formats lacks %s of %s", f.Name, o.Name)
			}
		}
	}
	for _, c := range report.Codes() {
		if !strings.Contains(formats, "\n  "+string(c.Code)+" ") {
			t.Errorf("help formats lacks the code %s", c.Code)
		}
	}
}

// TestEveryLogKeyIsInTheTable reads the program's source for what it logs: no key but those of the table, and each of
// those somewhere.
func TestEveryLogKeyIsInTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, k := range slices.Concat(logging.HeadKeys, logging.LimiterKeys, logging.OtherKeys) {
		known[k.Name] = false
	}
	for _, k := range []string{"ts", "lvl", "event"} { // of every record: time, level, message
		known[k] = true
	}
	makers := []string{
		"String", "Int", "Int64", "Uint64", "Float64", "Bool", "Time", "Duration", "Any", "Group",
		"GroupAttrs",
	}
	loggers := []string{
		"Debug", "Info", "Warn", "Error", "DebugContext", "InfoContext", "WarnContext", "ErrorContext",
		"Log", "With",
	}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return cmp.Or(err, fs.SkipDir)
		}
		if d.IsDir() && d.Name() == "bench" {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"log/slog"` }) {
			return nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, isName := method.X.(*ast.Ident)
			if isName && of.Name == "slog" && slices.Contains(makers, method.Sel.Name) && len(call.Args) > 0 {
				literal, ok := call.Args[0].(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: a log key that is no literal can't be looked up", path)
					return true
				}
				key, _ := strconv.Unquote(literal.Value)
				if _, ok := known[key]; !ok {
					t.Errorf("%s logs %q, which no table explains", path, key)
				}
				known[key] = true
			}
			if slices.Contains(loggers, method.Sel.Name) && len(call.Args) > 1 {
				for _, arg := range call.Args[1:] {
					if literal, ok := arg.(*ast.BasicLit); ok && literal.Kind == token.STRING {
						t.Errorf("%s: %s(%s ...): write keys as slog.String and the like, so that they can be looked up", path,
							method.Sel.Name, literal.Value)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, used := range known {
		if !used {
			t.Errorf("nothing logs %q, which the table explains", key)
		}
	}
}

// TestLogLinesInDocumentsHaveTheKeys holds the lines that docs/scripting.md shows to the tables of keys.
func TestLogLinesInDocumentsHaveTheKeys(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "scripting.md"))
	if err != nil {
		t.Fatal(err)
	}
	var always, sometimes []string
	for _, k := range slices.Concat(logging.HeadKeys, logging.LimiterKeys) {
		always = append(always, k.Name)
	}
	for _, k := range logging.OtherKeys {
		sometimes = append(sometimes, k.Name)
	}
	shown := 0
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "ts=") {
			continue
		}
		shown++
		var keys []string
		for _, pair := range strings.Fields(line) {
			key, _, _ := strings.Cut(pair, "=")
			keys = append(keys, key)
		}
		if n := len(always); len(keys) < n || !slices.Equal(keys[:n], always) {
			t.Errorf("the line has the keys %v, a real one begins with %v", keys, always)
			continue
		}
		for _, k := range keys[len(always):] {
			if !slices.Contains(sometimes, k) {
				t.Errorf("the line has %s, which no line has", k)
			}
		}
	}
	if shown < 2 {
		t.Errorf("%d log lines are shown", shown)
	}
}

// TestFlagsAndSettingsAgree: a flag that sets a setting says the default that the setting has.
func TestFlagsAndSettingsAgree(t *testing.T) {
	settings := map[string]config.Setting{}
	for _, s := range config.Settings() {
		settings[s.Key] = s
	}
	met := map[string]bool{}
	eachCommand(testRoot(), func(cmd *cobra.Command) {
		for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				keys := f.Annotations[settingAnnotation]
				if keys == nil {
					return
				}
				s, known := settings[keys[0]]
				if !known {
					t.Fatalf("--%s sets %s, which is no setting", f.Name, keys[0])
				}
				met[keys[0]] = true
				if f.DefValue != "" && f.DefValue != s.Default {
					t.Errorf("%s --%s says that the default is %s; it is %s", cmd.CommandPath(), f.Name, f.DefValue, s.Default)
				}
			})
		}
	})
	for _, row := range settingFlags() {
		if !met[row.Setting] {
			t.Errorf("no command has --%s for %s", row.Name, row.Setting)
		}
	}
}
