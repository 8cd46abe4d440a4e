package library

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPatterns(t *testing.T) {
	tests := []struct {
		list  string // lines parted by |
		path  string // a folder ends with /
		match string // the pattern that decides; "" for none
	}{
		{"*.mkv", "a.mkv", "*.mkv"},
		{"*.mkv", "x/y/a.mkv", "*.mkv"},
		{"*.mkv", "a.mkv.bak", ""},
		{"a", "x/a", "a"},
		{"/a", "x/a", ""},
		{"/a", "a", "/a"},
		{"x/a", "x/a", "x/a"},
		{"x/a", "y/x/a", ""},
		{"**/x/a", "y/x/a", "**/x/a"},
		{"x/**", "x/a/b", "x/**"},
		{"x/**", "x/", ""},
		{"x/**/b", "x/b", "x/**/b"},
		{"x/**/b", "x/1/2/b", "x/**/b"},
		{"x/**/b", "x/1/2/bb", ""},
		{"**/a/**/b/**/c", "a/b/a/x/b/y/c", "**/a/**/b/**/c"},
		{"a*b", "a/b", ""},
		{"a**b", "axxb", "a**b"},
		{"a?c", "abc", "a?c"},
		{"a?c", "a/c", ""},
		{"a?c", "a가c", "a?c"},
		{"a?c", "a\xffc", "a?c"},
		{"a[b-d]e", "ace", "a[b-d]e"},
		{"a[!b-d]e", "ace", ""},
		{"a[^b-d]e", "axe", "a[^b-d]e"},
		{"a[]]e", "a]e", "a[]]e"},
		{"a[가-힣]e", "a한e", "a[가-힣]e"},
		{"[[:digit:]][[:alpha:]]", "1a", "[[:digit:]][[:alpha:]]"},
		{"[[:space:]]", "\t", "[[:space:]]"},
		{"[[:punct:]-]a", "/a", ""},
		{"a[.-0]b", "a/b", ""},
		{"a[.-0]b", "a0b", "a[.-0]b"},
		{"a[[:punct:]]b", "a/b", ""},
		{"a[z-a]b", "a/b", ""},
		{"a[!z-a]b", "axb", "a[!z-a]b"},
		{"a[\xfe-\xff]", "a\xff", "a[\xfe-\xff]"},
		{"a\xfe", "a\xff", ""},
		{"a(b).d+", "a(b).d+", "a(b).d+"},
		{"a[b", "a[b", ""},
		{`a\*`, "a*", `a\*`},
		{`a\*`, "ab", ""},
		{`\!a`, "!a", `\!a`},
		{`\#a`, "#a", `\#a`},
		{"#a", "#a", ""},
		{"a/", "a", ""},
		{"a/", "a/", "a/"},
		{"a/", "x/a/", "a/"},
		{"a ", "a", "a"},
		{`a\ `, "a ", `a\ `},
		{"a\r|b\r", "b", "b"},
		{"\ufeffa", "a", "a"},
		{"*|!a", "a", "!a"},
		{"!a|*", "a", "*"},
		{"", "a", ""},
		{"/", "a", ""},
		{"*", ".hidden", "*"},
		{"caf\u00e9", "cafe\u0301", "caf\u00e9"},
		{"cafe\u0301/*", "caf\u00e9/x", "cafe\u0301/*"},
		{"a*a*a*a*a*a*a*a*a*a*b", strings.Repeat("a", 200), ""},
		{strings.Repeat("**/a/", 20) + "b", strings.Repeat("a/", 200) + "a", ""},
	}
	for _, tt := range tests {
		t.Run(tt.list+" on "+tt.path, func(t *testing.T) {
			p := parsePatterns("x", strings.ReplaceAll(tt.list, "|", "\n"), false)
			path, dir := strings.CutSuffix(tt.path, "/")
			one, ok := p.match(path, dir)
			if ok != (tt.match != "") || ok && one.text != tt.match {
				t.Errorf("%q %v", one.text, ok)
			}
		})
	}
}

func TestPatternsFoldCaseWhereFileSystemsDo(t *testing.T) {
	for _, fold := range []bool{true, false} {
		p := parsePatterns("x", "RAW/[A-C]é.*", fold)
		if _, ok := p.match("raw/bÉ.MKV", false); ok != fold {
			t.Errorf("fold %v: %v", fold, ok)
		}
	}
}

// gitSays asks git which line of the list makes it ignore each path, 0 for none.
func gitSays(t testing.TB, dir, list string, paths []string) map[string]int {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-c", "core.ignorecase=false", "-c", "core.precomposeunicode=false",
		"check-ignore", "--no-index", "-v", "-n", "-z", "--stdin")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!asExit(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("git: %v %s", err, &stderr)
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	lines := map[string]int{}
	for f := range slices.Chunk(fields, 4) {
		if len(f) != 4 {
			t.Fatalf("git said %q", out)
		}
		n := 0
		if !strings.HasPrefix(f[2], "!") {
			_, _ = fmt.Sscan(f[1], &n)
		}
		lines[f[3]] = n
	}
	return lines
}

func asExit(err error, target **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError) //nolint:errorlint // exec returns it unwrapped
	*target = e
	return ok
}

func gitRepository(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: nothing to compare with")
	}
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("git init: %v %s", err, out)
	}
	return dir
}

// decide walks down to path as a walk would: what lies in an ignored folder is ignored with it.
func decide(p patterns, path string) int {
	names := strings.Split(path, "/")
	for i := 1; i <= len(names); i++ {
		one, ok := p.match(strings.Join(names[:i], "/"), i < len(names))
		if ok && !one.negated {
			return one.line
		}
	}
	return 0
}

func TestPatternsDecideAsGitDoes(t *testing.T) {
	dir := gitRepository(t)
	// "**" beside other characters is left out: git, which compares the literal start of a pattern apart, then finds
	// "a**/*" in "a".
	segment := rapid.OneOf(rapid.Just("**"),
		rapid.StringMatching(`\*?((\?|a|b|c|\.|\[ab\]|\[!a\]|\[a-c\]|\\a|ab|x y)\*?){1,3}`), rapid.Just("*"))
	line := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/")
		return rapid.SampledFrom([]string{"", "!", "/", "!/"}).Draw(t, "start") + s +
			rapid.SampledFrom([]string{"", "", "/", " ", "/**"}).Draw(t, "end")
	})
	name := rapid.StringMatching(`[abc.]{1,3}|x y|ab`)
	rapid.Check(t, func(rt *rapid.T) {
		list := strings.Join(rapid.SliceOfN(line, 1, 6).Draw(rt, "list"), "\n")
		var paths []string
		for _, names := range rapid.SliceOfN(rapid.SliceOfN(name, 1, 4), 20, 20).Draw(rt, "paths") {
			if path := strings.Join(names, "/"); !strings.Contains("/"+path+"/", "/./") &&
				!strings.Contains("/"+path+"/", "/../") && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
		if len(paths) == 0 {
			return
		}
		want := gitSays(t, dir, list, paths)
		p := parsePatterns("x", list, false)
		for _, path := range paths {
			if got := decide(p, path); got != want[path] {
				rt.Errorf("list %q, path %q: line %d decides, git says %d", list, path, got, want[path])
			}
		}
	})
}

func FuzzPatterns(f *testing.F) {
	f.Add("*.mkv\n!a/**/b\n/c[a-z]\\d ", "a/b/c.mkv", true)
	f.Add("[[:alpha:]-\\]]**", "]]", false)
	f.Add("\xff[\xfe-\xff]?", "\xff\xfe\xfd", true)
	f.Fuzz(func(t *testing.T, list, path string, dir bool) {
		p := parsePatterns("x", list, true)
		one, ok := p.match(path, dir)
		if ok && one.dirOnly && !dir {
			t.Fatal("a pattern for folders matched a file")
		}
		if again, ok2 := p.match(path, dir); ok != ok2 || again.line != one.line {
			t.Fatal("matching twice differs")
		}
		if _, err := parseExcludes([]string{list}, false); err == nil && !strings.ContainsAny(list, "\\*?[!/ ") &&
			utf8.ValidString(list) {
			q, _ := parseExcludes([]string{list}, false)
			if _, ok := q.match(list, false); !ok {
				t.Fatalf("the plain name %q does not match itself", list)
			}
		}
	})
}
