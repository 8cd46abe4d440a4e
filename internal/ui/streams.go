// Package ui has all that turns values into text for people: streams, colour and the status line, escaping (Printable,
// Escaped), cells (Width, Cut, Pad, Wrap), and words for durations, sizes, counts and shell arguments. Results have a
// package of their own, report.
package ui

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"

	"golang.org/x/term"
)

// Streams are a command's standard streams and what is known of them. Commands get them injected, so a test can play
// a terminal or a pipe.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	InTTY, OutTTY, ErrTTY bool
	// Width is the terminal's width in cells; 0 where neither Out nor Err is a terminal.
	Width int
	// Dumb is set for a terminal that takes no control sequences: TERM=dumb, or an old Windows console.
	Dumb bool
}

// System returns the process's own streams.
func System() Streams {
	s := Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.Width = w
			break
		}
	}
	s.Dumb = os.Getenv("TERM") == "dumb"
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if term.IsTerminal(int(f.Fd())) && !sequences(f) {
			s.Dumb = true
		}
	}
	return s
}

// OutWidth returns how wide a line of prose on Out may be now (a person may resize the terminal); 0 where Out is not a
// terminal, so that lines are never wrapped.
func (s Streams) OutWidth() int { return s.present(s.Out, s.OutTTY) }

// ErrWidth is OutWidth for Err.
func (s Streams) ErrWidth() int { return s.present(s.Err, s.ErrTTY) }

func (s Streams) present(stream io.Writer, tty bool) int {
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

// Color decides whether one stream gets colour. mode is the value of --color, which wins: always or never. With auto
// colour needs a terminal that is not dumb, and no NO_COLOR that is set to something (https://no-color.org). getenv
// returns "" for a variable that is not set.
func Color(mode string, tty bool, getenv func(string) string) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return tty && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", nil
	}
	return false, fmt.Errorf("%q is not a colour mode: auto, always or never", mode)
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

// Style wraps s in an ANSI attribute, or returns it unchanged where colour is off.
func Style(on bool, attribute, s string) string {
	if !on || attribute == "" || s == "" {
		return s
	}
	return "\x1b[" + attribute + "m" + s + "\x1b[0m"
}

const eraseLine = "\r\x1b[K"

// Status is one line at the bottom of a terminal, redrawn in place with each Set. Everything else that is written to
// the terminal goes through Writer, which removes the line until the next Set. Where there is no terminal it does
// nothing. All methods are safe for concurrent use.
type Status struct {
	on    bool
	out   io.Writer
	pipe  io.Writer // a stream that is not a terminal; nil if there is none
	width func() int

	mu      sync.Mutex
	shown   string // what the terminal shows; "" for nothing
	midLine bool   // other output has not ended its line
}

// NewStatus makes a status line on s.Err. It draws only if wanted is set and s.Err is a terminal that takes control
// sequences.
func NewStatus(s Streams, wanted bool) *Status {
	st := &Status{out: s.Err, on: wanted && s.ErrTTY && !s.Dumb, width: s.width}
	if !s.OutTTY {
		st.pipe = s.Out
	}
	return st
}

// Room returns how many cells a line may have; a longer line is cut. The terminal's last cell stays free: a full line
// would wrap, and erasing the line would leave its first row on the screen.
func (s *Status) Room() int { return max(s.width()-1, 0) }

// Enabled reports whether anything is ever drawn.
func (s *Status) Enabled() bool { return s.on }

// Set replaces the line by text, escaped and cut to the terminal's width; "" shows nothing. It is never drawn into a
// line that other output has not ended. A line that can't be drawn is not worth an error.
func (s *Status) Set(line string) {
	if !s.on {
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
	_, _ = io.WriteString(s.out, eraseLine+line)
}

// Clear removes the line until the next Set.
func (s *Status) Clear() { s.Set("") }

// Writer returns a writer to w, which may be the same terminal: the line is removed before each write, and comes
// back with the first Set after a line end. Writing to a pipe leaves the line alone.
func (s *Status) Writer(w io.Writer) io.Writer {
	if !s.on || same(w, s.pipe) {
		return w
	}
	return &aside{s, w}
}

type aside struct {
	s *Status
	w io.Writer
}

func (a *aside) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return a.w.Write(p)
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if a.s.shown != "" {
		a.s.shown = ""
		_, _ = io.WriteString(a.s.out, eraseLine)
	}
	a.s.midLine = p[len(p)-1] != '\n'
	return a.w.Write(p)
}

func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

func (s Streams) width() int {
	if w := s.present(s.Err, true); w > 0 {
		return w
	}
	return 80
}
