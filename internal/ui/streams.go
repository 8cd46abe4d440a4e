// Package ui prints text for people: streams, colour and the status line, escaping (Printable, Escaped), layout in
// terminal cells (Width, Cut, Pad, Wrap), and formats for durations, sizes and shell arguments. Package report prints
// results.
package ui

import (
	"cmp"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/anivault/anivault/internal/lang"
)

// Streams are a command's standard streams and their properties, as a value that tests can replace.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	InTTY, OutTTY, ErrTTY bool
	// Width is the terminal's width in cells; 0 if neither Out nor Err is a terminal.
	Width int
	// Dumb means that the terminal does not support control sequences: TERM=dumb, or an old Windows console.
	Dumb bool
}

// SystemStreams returns the process's own streams.
func SystemStreams() Streams {
	s := Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
	s.Dumb = os.Getenv("TERM") == "dumb"
	for _, f := range []*os.File{os.Stderr, os.Stdout} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.Width = w // stdout's, if both are terminals
		}
		if term.IsTerminal(int(f.Fd())) && !enableControlSequences(f) {
			s.Dumb = true
		}
	}
	return s
}

// OutWidth returns the current width of the terminal on Out; 0 if Out is not a terminal, where lines are not wrapped.
func (s Streams) OutWidth() int { return s.currentWidth(s.Out, s.OutTTY) }

// ErrWidth returns the current width of the terminal on Err; 0 if Err is not a terminal.
func (s Streams) ErrWidth() int { return s.currentWidth(s.Err, s.ErrTTY) }

// OutHeight returns the current height of the terminal on Out; 0 if it is not known.
func (s Streams) OutHeight() int {
	if f, ok := s.Out.(*os.File); ok && s.OutTTY {
		if _, h, err := term.GetSize(int(f.Fd())); err == nil {
			return h
		}
	}
	return 0
}

func (s Streams) currentWidth(stream io.Writer, tty bool) int {
	if !tty {
		return 0
	}
	if f, ok := stream.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return s.Width
}

// Color reports whether to print colours on a stream. mode is the value of --color: always, never or auto. Auto needs a
// terminal that is not dumb, and an unset or empty NO_COLOR (https://no-color.org).
func Color(mode string, tty bool, getenv func(string) string) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return tty && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", nil
	}
	return false, lang.Error("%q is not a colour mode: auto, always or never", mode)
}

// ANSI attributes for Style.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// Style wraps s in an ANSI attribute, or returns it unchanged if enabled is false.
func Style(enabled bool, attribute, s string) string {
	if !enabled || attribute == "" || s == "" {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}

const eraseLine = "\r\x1b[K"

// Status is a status line at the bottom of a terminal; Set redraws it. All other output to the terminal must go through
// Out and Err, which remove the line until the next Set. Without a terminal it does nothing, nor does Clear
// of a nil Status. All methods are safe for concurrent use.
type Status struct {
	enabled bool
	streams Streams

	mu      sync.Mutex
	shown   string // the line on the terminal; "" for none
	midLine bool   // the last other output did not end with a newline
}

// NewStatus returns a status line on s.Err. It draws only if wanted and on a terminal with control sequences.
func NewStatus(s Streams, wanted bool) *Status {
	return &Status{enabled: wanted && s.ErrTTY && !s.Dumb, streams: s}
}

// Room returns how many cells a line may have; a longer line is cut. The terminal's last cell stays free: a full line
// would wrap, and erasing the line would leave its first row on the screen.
func (s *Status) Room() int {
	const unknownWidth = 80
	return max(cmp.Or(s.streams.currentWidth(s.streams.Err, true), unknownWidth)-1, 0)
}

// Enabled reports whether Set draws.
func (s *Status) Enabled() bool { return s.enabled }

// Set draws line, escaped and cut to the terminal's width; "" removes it. It does not draw after other output that did
// not end with a newline. Errors of writing are ignored.
func (s *Status) Set(line string) {
	if s == nil || !s.enabled {
		return
	}
	room := s.Room()
	if room == 0 {
		line = ""
	}
	line = Cut(Escaped(line), room)
	s.mu.Lock()
	defer s.mu.Unlock()
	if line == s.shown || line != "" && s.midLine {
		return
	}
	s.shown = line
	_, _ = io.WriteString(s.streams.Err, eraseLine+line)
}

// Clear removes the line until the next Set.
func (s *Status) Clear() { s.Set("") }

// Out returns the stream for results. If that is a terminal, each write to it removes the status line.
func (s *Status) Out() io.Writer {
	if !s.enabled || !s.streams.OutTTY {
		return s.streams.Out
	}
	return &statusWriter{s, s.streams.Out}
}

// Err returns the stream for messages. Each write to it removes the status line.
func (s *Status) Err() io.Writer {
	if !s.enabled {
		return s.streams.Err
	}
	return &statusWriter{s, s.streams.Err}
}

type statusWriter struct {
	s *Status
	w io.Writer
}

func (a *statusWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return a.w.Write(p)
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if a.s.shown != "" {
		a.s.shown = ""
		_, _ = io.WriteString(a.s.streams.Err, eraseLine)
	}
	a.s.midLine = p[len(p)-1] != '\n'
	return a.w.Write(p)
}
