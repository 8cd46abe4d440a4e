package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/anivault/anivault/internal/ui"
)

const (
	recordingFile = "../../docs/demo.svg"
	recordingCols = 100
	cellWidth     = 8.4 // pixels
	lineHeight    = 19
)

// shown is a line of the terminal, visible from one moment to another. A status line is replaced by the next one.
type shown struct {
	text     string
	row      int
	from, to time.Duration // to is 0 for a line that stays
}

// record runs the demo on a terminal until match has printed its summary, and returns what the terminal shows when.
func record(t *testing.T) (lines []shown) {
	t.Helper()
	prompter, tty := openPTY(t)
	defer tty.Close()
	size := unix.Winsize{Col: recordingCols, Row: 50}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("anivault", "demo")
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TERM=xterm", "TMPDIR=" + t.TempDir()}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // what follows is not recorded
		_ = cmd.Wait()
	}()
	row, pending, buf := 0, "", make([]byte, 4096)
	for {
		n, err := prompter.Read(buf)
		if err != nil {
			t.Fatalf("the demo ended before its summary: %v\n%v", err, lines)
		}
		at := time.Since(start)
		pending += string(buf[:n])
		for {
			end := strings.IndexAny(pending, "\r\n")
			if end < 0 || pending[end:] == "\r" {
				break
			}
			text := strings.TrimPrefix(pending[:end], "\x1b[K")
			final := strings.HasPrefix(pending[end:], "\r\n")
			pending = strings.TrimPrefix(pending[end+1:], "\n")
			if last := len(lines) - 1; last >= 0 && lines[last].row == row {
				lines[last].to = at
			}
			lines = append(lines, shown{text: text, row: row, from: at})
			if !final {
				continue
			}
			row++
			if strings.HasPrefix(text, "What the limiter went through") {
				return lines[:len(lines)-1]
			}
		}
	}
}

var styles = map[string]string{"1": "b", "2": "d", "31": "r", "32": "g", "33": "y"}

// drawing returns the recording as an SVG that plays itself. Programs that play nothing show the last screen.
func drawing(lines []shown) []byte {
	var b bytes.Buffer
	rows := lines[len(lines)-1].row + 2
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img">
<title>anivault demo on a terminal</title>
<style>svg{background:#16181d}text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d5d8de;white-space:pre}`+
		`.b{font-weight:bold;fill:#fff}.d{fill:#8b909a}.r{fill:#f2777a}.g{fill:#8fce7a}.y{fill:#e5c07b}</style>
`, recordingCols*cellWidth+24, rows*lineHeight+12)
	sgr := regexp.MustCompile("\x1b\\[([0-9]*)m")
	for _, l := range lines {
		hidden := ""
		set := fmt.Sprintf(`<set attributeName="visibility" to="hidden" begin="0s" dur="%.2fs"/>`, l.from.Seconds())
		if l.to > 0 {
			if l.to-l.from < 10*time.Millisecond {
				continue
			}
			hidden = ` visibility="hidden"`
			set = fmt.Sprintf(`<set attributeName="visibility" to="visible" begin="%.2fs" dur="%.2fs"/>`,
				l.from.Seconds(), (l.to - l.from).Seconds())
		}
		fmt.Fprintf(&b, "<g%s>%s", hidden, set)
		column, class, rest := 0, "", l.text
		for rest != "" {
			next := sgr.FindStringSubmatchIndex(rest)
			part := rest
			if next != nil {
				part = rest[:next[0]]
			}
			width := ui.Width(part)
			if strings.TrimSpace(part) != "" {
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" class="%s"`, 12+float64(column)*cellWidth, (l.row+1)*lineHeight, class)
				if width == len(part) { // not in fonts for other scripts, whose widths vary
					fmt.Fprintf(&b, ` textLength="%.1f"`, float64(width)*cellWidth)
				}
				fmt.Fprintf(&b, ">%s</text>", html.EscapeString(part))
			}
			column += width
			if next == nil {
				break
			}
			class, rest = styles[rest[next[2]:next[3]]], rest[next[1]:]
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// lastScreen returns the text that stays in a drawing, without numbers, and without what the summary says about the
// requests: both differ from run to run.
func lastScreen(svg []byte) []string {
	var out []string
	for line := range strings.Lines(string(svg)) {
		if strings.HasPrefix(line, "<g><set") {
			text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(line, " ")
			out = append(out, strings.Join(strings.Fields(regexp.MustCompile(`[0-9]+`).ReplaceAllString(text, "0")), " "))
			if strings.HasPrefix(out[len(out)-1], "0 files: ") {
				break
			}
		}
	}
	return out
}

// README's recording is what the demo shows. To record it again: go test ./internal/cli -run Recording -update
func TestRecordingIsWhatTheDemoShows(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo takes ten seconds")
	}
	t.Parallel()
	drawn := drawing(record(t))
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(recordingFile, drawn, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(recordingFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lastScreen(kept), lastScreen(drawn)); diff != "" {
		t.Errorf("record it again with -update:\n%s", diff)
	}
}
