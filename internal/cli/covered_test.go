package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/tmdb"
)

// scripts returns the text of all scripts, and of the tests on a terminal, without the backslashes of their patterns.
func scripts(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	var b strings.Builder
	for _, f := range append(files, "ontty_linux_test.go") {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
	}
	return strings.ReplaceAll(b.String(), `\`, "")
}

// TestScriptsMeetEveryCodeAndStatus holds the scripts to the tables of error codes, of what to do about them, and of
// exit statuses.
func TestScriptsMeetEveryCodeAndStatus(t *testing.T) {
	all := scripts(t)
	for _, c := range report.Codes() {
		if !strings.Contains(all, "status="+string(c.Status)+" error.code="+string(c.Code)) {
			t.Errorf("no script meets the error code %s", c.Code)
		}
		if want := strings.ReplaceAll(c.Next.String(), "'", "."); !strings.Contains(all, "stderr 'next: "+want+"$'") {
			t.Errorf("no script looks for what to do about %s: %s", c.Code, want)
		}
	}
	if !strings.Contains(all, "stderr '^next: anivault match --interactive lib") {
		t.Error("no script looks for what to do about files that are unclear")
	}
	for _, e := range exitCodes() {
		want := []string{fmt.Sprintf("\nstatus %d anivault ", e.Code)}
		switch e.Code {
		case exitOK:
			want[0] = "\nexec anivault "
		case exitInterrupted:
			want[0] = "\nsignalled INT 130 "
		case exitTerminated:
			want[0] = "\nsignalled TERM 143 "
		}
		if !strings.Contains(all, want[0]) {
			t.Errorf("no script ends with %d", e.Code)
		}
	}
}

// TestScriptsMeetEveryHint reads this package's own source for the hints of its usage errors: each that is one literal
// must be looked for by a script.
func TestScriptsMeetEveryHint(t *testing.T) {
	all := scripts(t)
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, hint := range hintsOfTMDB() {
		found++
		if !strings.Contains(all, "hint: "+quoted(hint.String())+"$") &&
			!strings.Contains(all, "fix: "+quoted(hint.String())+"$") {
			t.Errorf("no script looks for the hint %s", hint)
		}
	}
	for line := range strings.Lines(findHint("no_key").String()) {
		if line = strings.TrimSpace(line); !strings.Contains(all, quoted(line)) {
			t.Errorf("no script looks for the line of the missing key's hint: %s", line)
		}
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if fun, ok := call.Fun.(*ast.Ident); !ok || fun.Name != "usagef" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			hint, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if !strings.Contains(all, "^hint: "+quoted(hint)+"$") {
				t.Errorf("no script looks for the hint of %s: %s", name, hint)
			}
			return true
		})
	}
	if found < 20 {
		t.Errorf("only %d hints found: does usagef still exist?", found)
	}
}

// quoted is how a script's single quotes hold an apostrophe.
func quoted(s string) string { return strings.ReplaceAll(s, "'", ".") }

// hintsOfTMDB returns the hints that a script can cause: all but those on certificates and alerts of other kinds.
func hintsOfTMDB() []lang.Text {
	var found []lang.Text
	for _, row := range hints() {
		other := row.Kind == string(tmdb.ConfigCertificate) || row.Kind == string(tmdb.ConfigTLS) ||
			strings.Contains(row.Hint.String(), "\n") || // looked for by lines
			row.Kind == "token_at_gateway" || // takes a gateway
			strings.HasPrefix(row.Hint.String(), "did you mean") // a name of a command: flags.txtar
		if !other && !slices.Contains(found, row.Hint) {
			found = append(found, row.Hint)
		}
	}
	return found
}

func TestEachWrongAddressHasAHint(t *testing.T) {
	for _, kind := range []tmdb.ConfigKind{
		tmdb.ConfigUnknownCA, tmdb.ConfigWrongName, tmdb.ConfigExpired, tmdb.ConfigCertificate, tmdb.ConfigTLS,
		tmdb.ConfigPlainPort, tmdb.ConfigNotHTTP, tmdb.ConfigRedirect, tmdb.ConfigDowngrade, tmdb.ConfigProxy,
	} {
		if tmdbHint(&tmdb.ConfigError{Kind: kind}) == "" {
			t.Errorf("there is no hint for %q", kind)
		}
	}
}
