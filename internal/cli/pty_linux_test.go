package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// openPTY opens a pseudo terminal: what a person sees and types on the one side, a terminal on the other.
func openPTY(t *testing.T) (prompter, tty *os.File) {
	t.Helper()
	prompter, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { _ = prompter.Close() })
	if err := unix.IoctlSetPointerInt(int(prompter.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("unlock the pseudo terminal: %v", err)
	}
	n, err := unix.IoctlGetInt(int(prompter.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("number of the pseudo terminal: %v", err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("open the pseudo terminal: %v", err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return prompter, tty
}

// until reads what is shown until text is, and returns all of it.
func until(t *testing.T, prompter io.Reader, text string) string {
	t.Helper()
	var shown bytes.Buffer
	buf := make([]byte, 4096)
	for !strings.Contains(shown.String(), text) {
		n, err := prompter.Read(buf)
		shown.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v; shown: %q", err, shown.String())
		}
	}
	return shown.String()
}

// A real process on a real terminal: a question, an answer that is typed, then Ctrl-C in the next question.
func TestInteractiveOnATerminal(t *testing.T) {
	fake, err := tmdbfake.New(tmdbfake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	dir := t.TempDir()
	for _, name := range []string{"A/[G] Aaa Nothing - 03.mkv", "B/[G] Bbb Nothing - 01.mkv"} {
		path := filepath.Join(dir, "lib", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prompter, tty := openPTY(t)
	cmd := exec.Command("anivault", "match", "--interactive", "--format", "ndjson", filepath.Join(dir, "lib"))
	cmd.Env = []string{
		"HOME=" + dir, "ANIVAULT_TMDB_TOKEN=a-token-of-tests", "ANIVAULT_TMDB_BASE_URL=" + server.URL(),
		"TERM=xterm",
	}
	cmd.Stdin, cmd.Stderr = tty, tty
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const prompt = "Entry [skip]: "
	if shown := until(t, prompter, prompt); !strings.Contains(shown, "Aaa Nothing") {
		t.Errorf("asked: %q", shown)
	}
	if _, err := io.WriteString(prompter, "tv/30991\n"); err != nil {
		t.Fatal(err)
	}
	if shown := until(t, prompter, "Save it for [title], folder, file: "); !strings.Contains(shown, "->  S01E03") {
		t.Errorf("shown: %q", shown)
	}
	if _, err := io.WriteString(prompter, "\n"); err != nil {
		t.Fatal(err)
	}
	if shown := until(t, prompter, prompt); !strings.Contains(shown, "Bbb Nothing") {
		t.Errorf("asked: %q", shown)
	}
	if _, err := prompter.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("it ended with %v", err)
	}
	if !strings.Contains(out.String(), `"tmdb_id":30991`) || !strings.Contains(out.String(), `"source":"pin"`) ||
		!strings.Contains(out.String(), `"type":"summary"`) {
		t.Errorf("it printed:\n%s", out.String())
	}
}
