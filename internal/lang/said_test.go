package lang

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var rows = flag.Bool("rows", false, "print what has no translation as entries of ko.po to be filled in")

// speaking are the packages whose texts people read.
var speaking = []string{
	"cli", "report", "report/html", "run/results", "match", "decide", "library", "pins", "app", "config", "chart",
	"organize", "organize/disk", "apply", "index", "watch", "ui", "notify",
}

// Every message for people is in the catalogue. To fill it in: go test ./internal/lang -run Said -rows
func TestEverythingSaidToPeopleIsInTheCatalogue(t *testing.T) {
	var keys strings.Builder
	exact := map[string]bool{}
	for _, e := range entries(t) {
		exact[e.id] = true
		keys.WriteString(bare(e.id) + "\x00")
	}
	have := keys.String()
	for _, pkg := range speaking {
		for _, s := range textsOf(t, filepath.Join("..", filepath.FromSlash(pkg))) {
			if _, ok := english[strings.TrimPrefix(filepath.ToSlash(s.file), "../")]; ok {
				continue
			}
			if line := strings.Trim(s.text, "\n"); line != s.text && !exact[s.text] && (exact[line] || exact[line+"\n"]) {
				t.Errorf("%s: %q is in the catalogue with other line breaks, so it stays English", s.at, s.text)
			}
			matches := func(r *regexp.Regexp) bool { return r.MatchString(s.text) }
			if inside(have, bare(s.text)) || slices.ContainsFunc(unsaid, matches) {
				continue
			}
			if *rows {
				fmt.Printf("\nmsgid %q\nmsgstr \"\"\n", s.text)
				t.Fail() // else go test hides what is printed
				continue
			}
			t.Errorf("%s: %q is not in the catalogue: add its Korean to ko.po", s.at, s.text)
		}
	}
}

// What is wrong with a Redis server or its address is said in Korean too, although its package does not use lang.
func TestFaultsOfRedisAreInTheCatalogue(t *testing.T) {
	said := regexp.MustCompile(`Text = (?:\w+, )?"([^"]+)"|\{"[A-Z][^"]*", \w+, "([^"]+)"\}|errors\.New\(\s*"([^"]+)"\)`)
	exact, found := map[string]bool{}, 0
	for _, e := range entries(t) {
		exact[e.id] = true
	}
	for _, file := range []string{"check.go", "client.go"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "ratelimit", "redisstore", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			found++
			if s := m[1] + m[2] + m[3]; !exact[s] {
				t.Errorf("%s: %q is not in the catalogue", file, s)
			}
		}
	}
	if found < 30 {
		t.Errorf("found %d texts", found)
	}
}

// entries returns what the catalogue has.
func entries(t *testing.T) []message {
	t.Helper()
	messages, err := readPO(strings.NewReader(koreanPO))
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// inside reports whether a text, or each of its lines, is in a row.
func inside(have, text string) bool {
	const around = " \n.,;:(-"
	if strings.Contains(have, strings.Trim(text, around)) {
		return true
	}
	for line := range strings.Lines(text) {
		if !strings.Contains(have, strings.Trim(line, around)) {
			return false
		}
	}
	return true
}

// What nobody says any more is not in it.
func TestTheCatalogueHasNothingElse(t *testing.T) {
	var said strings.Builder
	for _, pkg := range append([]string{
		"demo", "index", "lockfile", "ui", "../ratelimit", "../ratelimit/internal/core", "../ratelimit/internal/shared",
		"../ratelimit/internal/filestore", "../ratelimit/redisstore", "../tmdb", "../cache", "../cache/internal/store",
		"logging", "gateway",
		"simulate", "organize", "apply",
	}, speaking...) {
		dir := filepath.Join("..", filepath.FromSlash(pkg))
		for _, s := range literalsOf(t, dir) {
			said.WriteString(bare(s.text) + "\x00")
		}
		templates, err := filepath.Glob(filepath.Join(dir, "*.gohtml"))
		tables, err2 := filepath.Glob(filepath.Join(dir, "fields.txt"))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		for _, file := range append(templates, tables...) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			said.WriteString(bare(string(text)))
		}
	}
	all := said.String()
	for _, e := range entries(t) {
		texts, _ := parse(e.id)
		for _, text := range texts {
			for part := range strings.SplitSeq(text, "\n") {
				if part = strings.Trim(part, " .,;:()\""); len(part) > 3 && strings.Contains(part, " ") &&
					!composed(all, part) &&
					!foreign[e.id] && !counted.MatchString(part) {
					t.Errorf("nobody says %q of %q", part, e.id)
				}
			}
		}
	}
}

// composed reports whether the catalogue has a text as a whole, or in two pieces.
func composed(all, text string) bool {
	if strings.Contains(all, text) {
		return true
	}
	for i, r := range text {
		if r == ' ' && strings.Contains(all, strings.Trim(text[:i], " ,;")) &&
			strings.Contains(all, strings.TrimSpace(text[i:])) {
			return true
		}
	}
	return false
}

// foreign are texts of the standard library, the system and cobra.
var foreign = map[string]bool{}

func init() {
	for _, text := range []string{
		"unknown shorthand flag: %s in %s", "flag needs an argument: %s", "invalid argument %q for %q flag: %s",
		"permission denied", "no such file or directory",
		"address already in use", "cannot assign requested address", "network is unreachable", "no route to host",
		"i/o timeout", "connection timed out", "operation not permitted", "too many open files",
		"device or resource busy", "input/output error", "file exists", "disk quota exceeded",
		"too many levels of symbolic links", "stale NFS file handle", "transport endpoint is not connected",
		"directory not empty",
		"no space left on device", "is a directory", "not a directory", "connection refused", "connection reset by peer",
		"file name too long", "read-only file system",
		"context deadline exceeded", "unexpected EOF", "help for %s",
		"Generate the autocompletion script for the specified shell",
		"Generate the autocompletion script for bash",
		"Generate the autocompletion script for zsh", "Generate the autocompletion script for fish",
		"Generate the autocompletion script for powershell",
	} {
		foreign[text] = true
	}
}

// counted is what ui.Count makes of a noun.
var counted = regexp.MustCompile(`^1? ?(more folders?|aired episodes?|files?|answers?|requests?|retry|retries|times?` +
	`|errors?|clients?|process|processes|items?|episodes?|seasons?)\b`)

// unsaid are literals that look like texts and are none, or that stay as they are.
var unsaid = []*regexp.Regexp{
	regexp.MustCompile(`^MediaBrowser Token=|^extras beside videos$|^to to-tv `), // a header, a section's name, flags
	// examples, and commands that a hint names
	regexp.MustCompile(`^ *(# )?(anivault|find|echo|chmod) `),
	// how a command is typed
	regexp.MustCompile(`^(get|lookup|tune|enable|disable|missing|pin|unpin|search|match|import|organize|apply|undo|` +
		`history|verify|watch) [A-Z]+[=|.A-Z 	[\]]*$`),
	// names of outputs for programs
	regexp.MustCompile(`--format |: one object per |: the (summary|columns)$|^serve: (GET |the answer)`),
	// of help formats, which is about fields
	regexp.MustCompile(`^ \(serve only\)$|^What "status" says|Error codes in "error"|^\. json is one document`),
	// folders
	regexp.MustCompile(`^(system volume information|network trash folder|temporary items|behind the scenes|` +
		`deleted scenes|bonus features|bonus disc|bd menu|dvd menu|clean op & ed)$`),
	// headers of tables, lines of files
	regexp.MustCompile(`^NAME\t|^(new|revoke) NAME|^# made by: anivault|^# Puts what arrives in order|` +
		`^  - \{name: |^, (admin: true|` +
		`made: )`),
	// lines of a journal
	regexp.MustCompile(`^(probe %s|(not|after|kept|was|left) %d %s|(lost|keep|back) %d|sum %s\n|source %s\n|` +
		`target %s\n|new %d %s\n|aside %d %d\n|%s %d %d %d [^\n]*\n  (to %d|text) %s\n|` +
		`%s%d\nid %s\n.*)$|(?s)^%s%d\nid `),
	// of files that others made
	regexp.MustCompile(`^set (the time of|room aside for)$|^(it ends before <|<%s> where <%s> should be|row %d: %w|` +
		`is larger than 1 MiB|%.40q is not an id of an anime)$`),
	// titles to be looked up
	regexp.MustCompile(`^%s (%s )?(Season|Part) %[ds]( %s)?( %d)?$`),
	// rows of their own; a mistake of ours
	regexp.MustCompile(`^Template of names in the layout custom: %s\.$|^no (setting|field for|command) $`),
	regexp.MustCompile(`^(season|offset) N$|form-action|^ *(# |%s)token: %q|default-src|^AniDB %d$|^FAIL  |` +
		`^tmdb: %s$|^This product uses the TMDB API|^completion of --`),
}

// english are files that speak English alone, and why.
var english = map[string]string{
	"cli/complete.go":      "names of commands",
	"cli/man.go":           "man pages are English",
	"chart/drawing.go":     "the picture of limiter simulate",
	"organize/language.go": "words of names",
	"report/csv.go":        "the fields of outputs for programs",
	"report/json.go":       "as csv.go",
	"match/sequel.go":      "rules with examples",
	"match/hint.go":        "words of titles",
	"match/query.go":       "words of titles",
}

type text struct{ file, at, text string }

var prose = regexp.MustCompile(`[A-Za-z']{2,}[,;:]? [A-Za-z(%"]`)

// textsOf returns the literals of a package that read like a text.
func textsOf(t *testing.T, dir string) []text {
	t.Helper()
	return slices.DeleteFunc(literalsOf(t, dir), func(s text) bool { return !prose.MatchString(s.text) })
}

// literalsOf returns the constant strings of a package without its tests, joined where they are added to each other,
// and the strings of its tables.
func literalsOf(t *testing.T, dir string) []text {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	var out []text
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		positions := token.NewFileSet()
		f, err := parser.ParseFile(positions, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field: // tags are documents
				return x.Tag == nil
			case ast.Expr:
				if s, ok := constant(x); ok {
					out = append(out, text{file, positions.Position(x.Pos()).String(), s})
					return false
				}
			}
			return true
		})
	}
	return append(out, tableTexts(t, dir)...)
}

// tableTexts returns the strings of the tables of a package, which are lists in JSON.
func tableTexts(t *testing.T, dir string) (out []text) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows []map[string]any
		if json.Unmarshal(raw, &rows) != nil {
			continue // not a table
		}
		for i, row := range rows {
			for _, value := range row {
				if s, ok := value.(string); ok {
					out = append(out, text{file, fmt.Sprintf("%s: row %d", file, i+1), s})
				}
			}
		}
	}
	return out
}

// Two texts that are added garble each other: Textf and Join put them together.
func TestTextsAreNotAdded(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	makesText := func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		made, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Text", "Textf", "TextOf", "Join", "Count"}, made.Sel.Name) {
			return false
		}
		pkg, ok := made.X.(*ast.Ident)
		return ok && pkg.Name == "lang"
	}
	for _, file := range files {
		positions := token.NewFileSet()
		f, err := parser.ParseFile(positions, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.BinaryExpr:
				if x.Op == token.ADD && (makesText(x.X) || makesText(x.Y)) {
					t.Errorf("%s: a text is added: use lang.Textf or lang.Join", positions.Position(x.OpPos))
				}
			case *ast.AssignStmt:
				if x.Tok == token.ADD_ASSIGN && makesText(x.Rhs[0]) {
					t.Errorf("%s: a text is added: use lang.Textf or lang.Join", positions.Position(x.TokPos))
				}
			}
			return true
		})
	}
}

// constant returns the value of a string literal, or of several that are added.
func constant(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			s, err := strconv.Unquote(x.Value)
			return s, err == nil
		}
	case *ast.BinaryExpr:
		if x.Op == token.ADD {
			a, okA := constant(x.X)
			b, okB := constant(x.Y)
			return a + b, okA && okB
		}
	}
	return "", false
}

// bare is a format whose verbs all look alike.
func bare(format string) string {
	texts, _ := parse(format)
	return strings.Join(texts, "\x01")
}
