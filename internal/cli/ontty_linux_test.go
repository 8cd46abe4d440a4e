package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/demo"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// stand is a stand-in, a library and a home for a program in a terminal.
type stand struct {
	dir, lib string
	fake     *tmdbfake.Fake
	env      []string
}

func newStand(t *testing.T, scenario upstream.Scenario, more ...string) stand {
	t.Helper()
	fake, err := tmdbfake.New(tmdbfake.Config{Scenario: scenario})
	if err != nil {
		t.Fatal(err)
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	s := stand{dir: t.TempDir(), fake: fake}
	s.lib = filepath.Join(s.dir, "lib")
	for _, name := range []string{"Cowboy Bebop - 05.mkv", "Sousou no Frieren - 01.mkv", "진격의 거인 7화.mkv"} {
		if err := os.MkdirAll(s.lib, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.lib, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append([]string{
		"HOME=" + s.dir, "TMPDIR=" + s.dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE"),
		"ANIVAULT_TMDB_TOKEN=a-token-of-tests", "ANIVAULT_TMDB_BASE_URL=" + server.URL(), "TERM=xterm",
	}, more...)
	return s
}

var colour = regexp.MustCompile(`\x1b\[[0-9;]+m`)

// A table, the status line and the summary on terminals of two sizes: nothing is wider than the terminal, the status
// line has been there and is gone, and titles in their own script stand in their cells.
func TestMatchOnATerminal(t *testing.T) {
	for _, cols := range []int{80, 200} {
		t.Run(fmt.Sprint(cols), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, upstream.Scenario{})
			if err := demo.MakeLibrary(s.lib + "/more"); err != nil {
				t.Fatal(err)
			}
			term := onTerminal(t, cols, 24, s.env, "match", "--view", "files", s.lib)
			status, raw := term.end()
			if status != 0 {
				t.Errorf("exit status %d:\n%s", status, raw)
			}
			if !strings.Contains(raw, "looking for files") {
				t.Errorf("no status line: %q", raw)
			}
			if !colour.MatchString(raw) {
				t.Error("no colour on a terminal")
			}
			screen := strings.Join(term.screen(raw), "\n")
			for _, want := range []string{
				"Cowboy Bebop (1998)  tv/30991  カウボーイビバップ", "S01E", "files: ", "requests to TMDB",
			} {
				if !strings.Contains(screen, want) {
					t.Errorf("no %q on the screen:\n%s", want, screen)
				}
			}
			if strings.Contains(screen, "looking for") || strings.Contains(screen, "Normal") {
				t.Errorf("the status line was left behind:\n%s", screen)
			}
		})
	}
}

// Without further flags a terminal gets a line a season, in columns that it has room for.
func TestSeasonsOnATerminal(t *testing.T) {
	for cols, want := range map[int]string{
		40:  `(?m)^Frieren: Be…  S01 1 +1 file  9\d %$`,
		80:  `(?m)^Frieren: Beyond Journey's End \(2023\)  +S01 1 +1 file  9\d %$`,
		200: `(?m)^Frieren: Beyond Journey's End \(2023\) {15,}S01 1 +1 file  9\d %$`,
	} {
		t.Run(fmt.Sprint(cols), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, upstream.Scenario{})
			term := onTerminal(t, cols, 24, s.env, "match", s.lib)
			status, raw := term.end()
			screen := strings.Join(term.screen(raw), "\n")
			if status != 0 || !regexp.MustCompile(want).MatchString(screen) || strings.Contains(screen, ".mkv") {
				t.Errorf("exit status %d:\n%s", status, screen)
			}
		})
	}
}

func TestDemoOnATerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo takes some seconds")
	}
	for _, cols := range []int{80, 200} {
		t.Run(fmt.Sprint(cols), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, upstream.Scenario{})
			term := onTerminal(t, cols, 24, append(s.env, "TMPDIR=/tmp"), "demo") // a short one: its folder is shown
			status, raw := term.end()
			screen := strings.Join(term.screen(raw), "\n")
			if status != 0 {
				t.Errorf("exit status %d", status)
			}
			for _, want := range []string{"What the limiter went through:", "tv/30991", "anivault config init"} {
				if !strings.Contains(screen, want) {
					t.Errorf("no %q on the screen:\n%s", want, screen)
				}
			}
		})
	}
}

// With --serve, other commands work with the demo's stand-in until Ctrl-C.
func TestTheDemoServes(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo takes some seconds")
	}
	t.Parallel()
	s := newStand(t, upstream.Scenario{})
	term := onTerminal(t, 80, 24, append(s.env, "TMPDIR=/tmp"), "demo", "--serve") // a short path stays on its line
	term.until(`anivault match \S+library\r`)
	said := regexp.MustCompile(`export (\w+=\S+)`).FindAllStringSubmatch(term.shown(), -1)
	match := exec.Command("anivault", "match", "Cowboy Bebop - 05.mkv")
	match.Dir, match.Env = s.lib, s.env
	for _, v := range said {
		match.Env = append(match.Env, v[1])
	}
	out, err := match.CombinedOutput()
	if len(said) != 2 || err != nil || !strings.Contains(string(out), `"tmdb_id":30991`) {
		t.Errorf("%q: %v\n%s", said, err, out)
	}
	if asked := len(s.fake.Journal()); asked != 0 {
		t.Errorf("another stand-in was asked %d times", asked)
	}
	term.press(ctrlC)
	if status, raw := term.end(); status != 0 {
		t.Errorf("exit status %d\n%s", status, raw)
	}
}

// The flags for colour and progress, on a terminal and in a pipe.
func TestColourAndProgressAreAskedFor(t *testing.T) {
	for _, tt := range []struct {
		name              string
		env               string
		args              []string
		colour, sequences bool // sequences: the status line's
	}{
		{"NO_COLOR", "NO_COLOR=1", nil, false, true},
		{"an empty NO_COLOR", "NO_COLOR=", nil, true, true},
		{"NO_COLOR, but always", "NO_COLOR=1", []string{"--color", "always"}, true, true},
		{"never", "", []string{"--color", "never"}, false, true},
		{"a dumb terminal", "TERM=dumb", nil, false, false},
		{"no progress", "", []string{"--no-progress"}, true, false},
		{"quiet", "", []string{"--quiet", "--color", "never"}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand(t, upstream.Scenario{}, tt.env)
			term := onTerminal(t, 80, 24, s.env, append([]string{"match", s.lib}, tt.args...)...)
			status, raw := term.end()
			term.screen(raw)
			if status != 0 || colour.MatchString(raw) != tt.colour || strings.Contains(raw, "\x1b[K") != tt.sequences {
				t.Errorf("exit status %d; colour %v, status line %v: %q", status, colour.MatchString(raw),
					strings.Contains(raw, "\x1b[K"), raw)
			}
		})
	}
	t.Run("always, in a pipe", func(t *testing.T) {
		s := newStand(t, upstream.Scenario{})
		cmd := exec.Command("anivault", "match", "--color", "always", "--format", "table", s.lib)
		cmd.Env = s.env
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || !colour.Match(out) || strings.Contains(errs.String()+string(out), "\x1b[K") {
			t.Errorf("%v; stdout %q, stderr %q", err, out, errs.String())
		}
	})
}

// The first line is there before TMDB has said a word, and Ctrl-C ends a run that gets no answer.
func TestTheStatusLineComesBeforeTheFirstAnswer(t *testing.T) {
	s := newStand(t, upstream.Scenario{Faults: []upstream.Fault{{Do: upstream.Action{Kind: "silent"}}}})
	term := onTerminal(t, 80, 24, s.env, "match", s.lib)
	term.until(`looking for files`)
	term.until(`0/\d+\+? files`)
	term.until(`35/s`)
	term.press(ctrlC)
	status, raw := term.end()
	if screen := strings.Join(term.screen(strings.ReplaceAll(raw, "^C", "")), "\n"); status != 130 ||
		strings.Contains(screen, "0/") {
		t.Errorf("exit status %d; left on the screen:\n%s", status, screen)
	}
}

// In a pause and in Sleep the line says who is waited for, how long and why, also on a narrow terminal.
func TestTheStatusLineCountsDown(t *testing.T) {
	for _, tt := range []struct {
		name string
		cols int
		do   upstream.Action
		env  string
		want string
	}{
		{
			"a pause", 80,
			upstream.Action{Kind: "status", Status: 429, RetryAfter: "42"},
			"",
			`TMDB asks us to wait [34]\d s \(429\) · \d+/\d+\+? files`,
		},
		{
			"a pause, narrow", 40,
			upstream.Action{Kind: "status", Status: 429, RetryAfter: "42"},
			"",
			`TMDB asks us to wait [34]\d s \(429\)[\r\x1b]`,
		},
		{
			"an outage", 80,
			upstream.Action{Kind: "status", Status: 503},
			"ANIVAULT_N_FAILURES=1",
			`TMDB is failing, next try in \d+ s · \d+/\d+\+? files`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand(t, upstream.Scenario{Faults: []upstream.Fault{{Do: tt.do}}}, tt.env)
			term := onTerminal(t, tt.cols, 24, s.env, "match", s.lib)
			term.until(tt.want)
			term.press(ctrlC)
			status, raw := term.end()
			term.screen(strings.ReplaceAll(raw, "^C", ""))
			if status != 130 {
				t.Errorf("exit status %d", status)
			}
		})
	}
}

// On a terminal parse has nothing to read from: it says so instead of waiting.
func TestParseOnATerminal(t *testing.T) {
	term := onTerminal(t, 80, 24, newStand(t, upstream.Scenario{}).env, "parse")
	status, raw := term.end()
	hint := regexp.MustCompile(`(?m)^hint: for example: anivault parse "Some Title S2 - 03.mkv"$`)
	if screen := strings.Join(term.screen(raw), "\n"); status != 2 || !hint.MatchString(screen) {
		t.Errorf("exit status %d:\n%s", status, screen)
	}
}

// What can't be taken back is asked about on a terminal, says what it is about, and is left alone unless the answer
// is yes.
func TestRemovingIsAskedAboutOnATerminal(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	run := func(args ...string) string {
		term := onTerminal(t, 100, 24, s.env, args...)
		status, raw := term.end()
		if status != 0 {
			t.Fatalf("%q: exit status %d: %s", args, status, raw)
		}
		return raw
	}
	run("match", s.lib)
	for _, tt := range []struct {
		name, question, answer, want string
		args                         []string
		status                       int
	}{
		{
			"the cache, by mistake", `Remove [1-9]\d* answers, \d+\.\d kB from .*\? \[y/N\] `, "\r", "nothing was removed",
			[]string{"cache", "clear"},
			0,
		},
		{"the cache, and Ctrl-C", `\[y/N\] `, "\x03", "", []string{"cache", "clear"}, 130},
		{"the cache", `Remove [1-9]\d* answers`, "y\r", "removed ", []string{"cache", "clear"}, 0},
		{"the cache, answered before", `removed 0 answers`, "", "", []string{"cache", "clear", "--yes"}, 0},
		{
			"the limiter, by mistake",
			`Forget what the limiter has learned \(Normal, [1-9]\d* answers? to judge by\)\? \[y/N\] `, "no\r",
			"nothing was removed",
			[]string{"limiter", "reset"},
			0,
		},
		{"the limiter", `\[y/N\] `, "yes\r", "forgot Normal", []string{"limiter", "reset"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			term := onTerminal(t, 200, 24, s.env, tt.args...)
			term.until(tt.question)
			for _, key := range []byte(tt.answer) {
				term.press(key)
			}
			status, raw := term.end()
			if status != tt.status || !strings.Contains(raw, tt.want) {
				t.Errorf("exit status %d, want %d and %q: %s", status, tt.status, tt.want, raw)
			}
		})
	}
}

// The rows of doctor keep their columns where a text needs more than one line.
func TestDoctorKeepsItsColumns(t *testing.T) {
	s := newStand(t, upstream.Scenario{})
	_, raw := onTerminal(t, 50, 40, s.env, "doctor", "--offline").end()
	row := regexp.MustCompile(`^(ok  |note|FAIL)  \S.{11}\S`)
	wrapped := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(raw, "\r", ""), "\n") {
		if strings.HasPrefix(line, "      ") {
			wrapped++
		} else if line != "" && !row.MatchString(line) {
			t.Errorf("%q does not begin in the columns:\n%s", line, raw)
		}
	}
	if wrapped == 0 {
		t.Errorf("nothing was wrapped:\n%s", raw)
	}
}

// The first match without a title index says on a terminal what one would gain; later ones, quiet ones and those in
// pipes say nothing, and neither does one that matched nothing, such as with a refused key.
func TestTheTitleIndexIsSuggestedOnce(t *testing.T) {
	const gain = "anivault index update"
	s := newStand(t, upstream.Scenario{})
	unknown := t.TempDir()
	if err := os.WriteFile(filepath.Join(unknown, "asdf.mkv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, row := range []struct {
		args []string
		want bool
	}{
		{[]string{"match", unknown}, false},
		{[]string{"match", "-q", s.lib}, false},
		{[]string{"match", s.lib}, true},
		{[]string{"match", s.lib}, false},
	} {
		if i == 2 { // in a pipe, it prints and keeps nothing
			cmd := exec.Command("anivault", "match", s.lib)
			cmd.Env = s.env
			if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), gain) {
				t.Errorf("in a pipe: %v\n%s", err, out)
			}
		}
		if _, raw := onTerminal(t, 80, 24, s.env, row.args...).end(); strings.Contains(raw, gain) != row.want {
			t.Errorf("%d: %q: want %v:\n%s", i, row.args, row.want, raw)
		}
	}
}
