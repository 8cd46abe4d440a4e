package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// Messages on a terminal break between words; on a pipe each message stays on its line.
func TestMessagesAreWrappedOnATerminalAlone(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("a word and another ", 6))
	for _, tty := range []bool{false, true} {
		var out, errs bytes.Buffer
		s := ui.Streams{Out: &out, Err: &errs, OutTTY: tty, ErrTTY: tty, Width: 60}
		printError(s, usagef(lang.Text(long), "%s", long))
		(&doctor{streams: s}).print("tmdb", finding{state: lang.Text(long), fix: lang.Text(long)})
		(&factory{streams: s}).say("%s\n", long)
		text := errs.String() + out.String()
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for _, line := range lines {
			if tty && ui.Width(line) > 60 {
				t.Errorf("wider than the terminal: %q", line)
			}
		}
		if !tty && len(lines) != 5 {
			t.Errorf("on a pipe five messages have %d lines", len(lines))
		}
		if got := strings.Count(strings.Join(strings.Fields(text), " "), long); got != 5 {
			t.Errorf("terminal %t: %d messages are whole:\n%s", tty, got, text)
		}
	}
}
