// Package ui has all that turns values into text for people: streams, colour and the status line, escaping (Printable,
// Escaped), cells (Width, Cut, Pad, Wrap), and words for durations, sizes, counts and shell arguments. Results have a
// package of their own, report.
package ui

import (
	"io"
	"os"

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

// OutWidth returns the width that a line of prose on Out may have at this moment, for a person may resize the terminal: 0, for never
// wrapped, where Out is not a terminal.
func (s Streams) OutWidth() int { return s.present(s.Out, s.OutTTY) }

// ErrWidth is OutWidth for Err.
func (s Streams) ErrWidth() int { return s.present(s.Err, s.ErrTTY) }

// present returns the width of a stream's terminal, or that at the start where the system does not tell.
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
