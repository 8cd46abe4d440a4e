package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// On a terminal nobody is asked for a token that could not be kept; one that can be is put into the file.
func TestConfigInitOnATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		file, want string
		asks       bool
		status     int
	}{
		"a file of one's own": {
			"log:\n  level: debug\n", "log:\n  level: debug\ntmdb:\n  token: \"typed-by-hand\"\n", true,
			0,
		},
		"no YAML":         {"log: [\n", "log: [\n", false, 2},
		"a wrong setting": {"log:\n  level: loud\n", "log:\n  level: loud\n", false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, upstream.Scenario{})
			s.env = append(s.env, "ANIVAULT_TMDB_TOKEN=")
			path := filepath.Join(s.dir, ".config", "anivault", "config.yaml")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			term := onTerminal(t, 200, 24, s.env, "config", "init")
			if c.asks {
				term.until("settings/api")
				if _, err := io.WriteString(term.prompter, "typed-by-hand\n"); err != nil {
					t.Fatal(err)
				}
			}
			status, raw := term.end()
			if status != c.status || strings.Contains(raw, "settings/api") != c.asks {
				t.Errorf("exit status %d:\n%s", status, raw)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != c.want {
				t.Errorf("the file: %q, %v", got, err)
			}
		})
	}
}

// At the question for the token, Ctrl-C and Ctrl-D end the command, and so does a signal. Nothing is written.
func TestConfigInitIsInterrupted(t *testing.T) {
	for name, interrupt := range map[string]func(*terminal){
		"Ctrl-C":  func(term *terminal) { term.press(ctrlC) },
		"Ctrl-D":  func(term *terminal) { term.press(4) },
		"SIGTERM": func(term *terminal) { _ = term.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, upstream.Scenario{}, "ANIVAULT_TMDB_TOKEN=")
			term := onTerminal(t, 80, 24, s.env, "config", "init")
			term.until("for none")
			time.Sleep(100 * time.Millisecond) // the question stands before the terminal is raw
			interrupt(term)
			want := map[bool]int{true: 143, false: 130}[name == "SIGTERM"]
			if status, raw := term.end(); status != want {
				t.Errorf("exit status %d, want %d:\n%s", status, want, raw)
			}
			if _, err := os.Stat(filepath.Join(s.dir, ".config", "anivault", "config.yaml")); err == nil {
				t.Error("the config file was written")
			}
		})
	}
}
