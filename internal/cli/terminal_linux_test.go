package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/anivault/anivault/internal/ui"
)

// terminal is a pseudo terminal with a program in it. It knows what a real one would show: carriage return, line
// feed, erase to the end of the line and colours are obeyed, any other control sequence is a fault.
type terminal struct {
	t        *testing.T
	prompter *os.File
	cmd      *exec.Cmd
	cols     int
	read     chan struct{} // closed when everything has been read

	mu      sync.Mutex
	changed chan struct{} // closed and made anew with everything that arrives
	raw     bytes.Buffer
}

// onTerminal starts the program in a terminal of cols times rows. Its environment is env alone.
func onTerminal(t *testing.T, cols, rows int, env []string, args ...string) *terminal {
	t.Helper()
	prompter, tty := openPTY(t)
	defer tty.Close()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: uint16(cols), Row: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, prompter: prompter, cols: cols, read: make(chan struct{}), changed: make(chan struct{})}
	s.cmd = exec.Command("anivault", args...)
	s.cmd.Env = env
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // of a test that has failed; else it has ended
	go s.receive()
	return s
}

// receive reads until the program has closed its side, which Linux reports as an error.
func (s *terminal) receive() {
	defer close(s.read)
	buf := make([]byte, 4096)
	for {
		n, err := s.prompter.Read(buf)
		s.mu.Lock()
		s.raw.Write(buf[:n])
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits until the pattern has been shown, and fails when the program ends without.
func (s *terminal) until(pattern string) {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	for {
		s.mu.Lock()
		found, changed := want.Match(s.raw.Bytes()), s.changed
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-s.read:
			s.t.Fatalf("never shown: %s\n%q", pattern, s.raw.String())
		}
	}
}

// shown returns what the program has written so far.
func (s *terminal) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// press types a key.
func (s *terminal) press(key byte) {
	s.t.Helper()
	if _, err := s.prompter.Write([]byte{key}); err != nil {
		s.t.Fatal(err)
	}
}

const ctrlC = 3

// end waits for the program and returns its exit status and everything it has written.
func (s *terminal) end() (status int, raw string) {
	s.t.Helper()
	_ = s.cmd.Wait() // the status says it
	<-s.read
	return s.cmd.ProcessState.ExitCode(), s.raw.String()
}

var control = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// screen plays raw and returns the lines that remain. A line that is wider than the terminal, also one that was
// erased again, and an unknown control sequence are faults.
func (s *terminal) screen(raw string) []string {
	s.t.Helper()
	var lines []string
	line, col := "", 0
	for raw != "" {
		if at := control.FindStringIndex(raw); at != nil && at[0] == 0 {
			switch seq := raw[:at[1]]; {
			case seq == "\x1b[K" && col == 0:
				line = ""
			case strings.HasSuffix(seq, "m"):
			default:
				s.t.Errorf("control sequence %q in column %d", seq, col)
			}
			raw = raw[at[1]:]
			continue
		}
		r, size := utf8.DecodeRuneInString(raw)
		switch {
		case r == '\r':
			col = 0
		case r == '\n':
			lines, line, col = append(lines, line), "", 0
		case r < ' ' || r == 0x7f || r == utf8.RuneError:
			s.t.Errorf("%q in the output", raw[:size])
		default:
			line += raw[:size]
			command := strings.HasPrefix(line, "  next: anivault ") // is not wrapped, so that it can be copied
			if col += ui.Width(raw[:size]); col > s.cols && !command {
				s.t.Errorf("wider than %d cells: %q", s.cols, line)
				col = -1 << 20 // once is enough
			}
		}
		raw = raw[size:]
	}
	if line != "" {
		s.t.Errorf("left on the last line: %q", line)
	}
	return lines
}
