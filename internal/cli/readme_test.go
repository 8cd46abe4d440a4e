package cli_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/cli"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/ui"
)

// readmeLibrary is the library of the READMEs.
var readmeLibrary = []string{
	"[Coalgirls] Mob Psycho 100 II - 03 [1080p].mkv", "[Nobody] Hoshi no Oto ga Kikoenai - 04 [720p].mkv",
	"진격의 거인 7화 1080p.mkv",
	"Films/Kimi no Na wa (2016).mkv", "Frieren/[SubsPlease] Sousou no Frieren - 01 (1080p) [8D7F2A11].mkv",
	"Frieren/[SubsPlease] Sousou no Frieren - 03v2 (1080p) [77A0B3C9].mkv", "Frieren/[SubsPlease] Sousou no Frieren - " +
		"NCOP (1080p).mkv",
	"Naruto/Naruto - 101-102.mkv",
}

// shown are the parts of a README that must be what the program prints, and the words that may differ: times, and how
// many requests it takes, which gets better with the matching.
var (
	shownTable   = regexp.MustCompile("(?s)\n```\nAnime\n.*?\n```\n")
	shownSummary = regexp.MustCompile("(?s)\n```\n(?:[0-9]+ files|파일 [0-9]+개): .*?\n```\n")
	shownLast    = regexp.MustCompile(`(?m)^\{"type":"summary".*$`)
	varying      = regexp.MustCompile(`[0-9.]+(?: s\b|초)|[0-9]+ requests|[0-9]+ of [0-9]+ answers|` +
		`요청 [0-9]+건|답 [0-9]+건 중 캐시에서 [0-9]+건|` +
		`"(?:elapsed_ms|requests|cache_hits|cache_misses)":[0-9]+`)
)

// TestReadmesShowRealOutput runs the READMEs' first match. After a change: go test ./internal/cli -run Readmes -update
func TestReadmesShowRealOutput(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the READMEs show paths with slashes")
	}
	for readme, args := range map[string][]string{
		"README.md":    {"match", "Anime"},
		"README.ko.md": {"match", "--language", "ko-KR", "Anime"},
	} {
		t.Run(readme, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", "..", readme))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			page := strings.ReplaceAll(string(raw), "\r\n", "\n")
			if readme == "README.ko.md" {
				t.Setenv("LANG", "ko_KR.UTF-8")
				defer lang.Use(lang.English) // which cli.Main has set for the process
			}
			run := readmeRun(t)
			out, human := run(append(args, "--format", "table")...)
			want := page
			for _, part := range []struct {
				shown *regexp.Regexp
				text  string
			}{{shownTable, "\n```\n" + out + "```\n"}, {shownSummary, "\n```\n" + human + "```\n"}} {
				was := part.shown.FindString(want)
				if was == "" {
					t.Fatalf("%s does not show what a match prints", readme)
				}
				if varying.ReplaceAllString(was, "") != varying.ReplaceAllString(part.text, "") {
					want = strings.Replace(want, was, part.text, 1)
				}
			}
			if was := shownLast.FindString(want); was != "" {
				again, _ := run(args...)
				if last := shownLast.FindString(again); varying.ReplaceAllString(was, "") != varying.ReplaceAllString(last, "") {
					want = strings.Replace(want, was, last, 1)
				}
			}
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, page); diff != "" {
				t.Errorf("%s shows something else than is printed (-printed +shown); run with -update:\n%s", readme, diff)
			}
		})
	}
}

// readmeRun makes the library in a fresh place, with a stand-in that works, and returns what runs anivault there.
func readmeRun(t *testing.T) func(args ...string) (out, human string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range readmeLibrary {
		file := filepath.Join(dir, "Anime", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fake, err := tmdbfake.New(tmdbfake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	t.Chdir(dir)
	t.Setenv("ANIVAULT_TMDB_BASE_URL", server.URL())
	t.Setenv("ANIVAULT_TMDB_TOKEN", "a-token-of-tests")
	for _, name := range []string{"STATE", "CACHE", "DATA"} {
		t.Setenv("ANIVAULT_"+name+"_DIR", filepath.Join(dir, strings.ToLower(name)))
	}
	t.Setenv("ANIVAULT_CONFIG", filepath.Join(dir, "config.yaml"))
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) (string, string) {
		var out, human bytes.Buffer
		if status := cli.Main(context.Background(), args,
			ui.Streams{In: strings.NewReader(""), Out: &out, Err: &human}); status != 0 {
			t.Fatalf("anivault %s: exit status %d\n%s", strings.Join(args, " "), status, human.String())
		}
		return out.String(), human.String()
	}
}

// What the Korean README says of commands is what the English one says: the same sections, pictures and tables, and
// in blocks the same commands. Titles are asked for in Korean, and the output of a match is what
// TestReadmesShowRealOutput prints.
func TestReadmesHaveTheSameSectionsAndCommands(t *testing.T) {
	shapes := map[string][]string{}
	for _, readme := range []string{"README.md", "README.ko.md"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", readme))
		if err != nil {
			t.Fatal(err)
		}
		shapes[readme] = shapeOf(string(raw))
	}
	if diff := cmp.Diff(shapes["README.md"], shapes["README.ko.md"]); diff != "" {
		t.Errorf("README.ko.md is not README.md in Korean (-English +Korean):\n%s", diff)
	}
}

var (
	comment   = regexp.MustCompile(`[ \t]+#.*$`)
	firstCell = regexp.MustCompile("^\\| (`?[A-Za-z0-9_, ]+`?) \\|")
	links     = regexp.MustCompile(`\]\(([^)]+)\)`)
)

// shapeOf lists what a README has whatever its language: where sections begin, what they link to, names in tables,
// and what is typed in blocks, without comments.
func shapeOf(page string) []string {
	var shape []string
	block, output := "", false
	for line := range strings.Lines(strings.ReplaceAll(page, "\r\n", "\n")) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			if block == "" {
				block, output = line, line == "```"
				shape = append(shape, line)
			} else {
				block = ""
			}
		case block != "" && !output && !strings.HasPrefix(line, "# "):
			shape = append(shape, strings.ReplaceAll(comment.ReplaceAllString(line, ""), " --language ko-KR", ""))
		case block != "":
		case strings.HasPrefix(line, "## "):
			shape = append(shape, "##")
		case strings.HasPrefix(line, "|"):
			name := ""
			if cell := firstCell.FindStringSubmatch(line); cell != nil {
				name = cell[1]
			}
			if strings.HasPrefix(name, "`ANIVAULT") || name != "" && strings.Trim(name, "0123456789, ") == "" {
				shape = append(shape, "| "+name)
			} else {
				shape = append(shape, "|")
			}
		default:
			for _, link := range links.FindAllStringSubmatch(line, -1) {
				if !strings.HasPrefix(link[1], "README") {
					shape = append(shape, link[1])
				}
			}
		}
	}
	return shape
}
