// Package ui is what anivault shows of itself on a terminal: streams, width, colour, a status line, text that is
// made harmless and measured in cells, and durations and sizes for people. Results have their own package, report.
package ui

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are a command's standard streams with what is known of them. Commands get them injected, so a
// test can be a terminal or a pipe as it likes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	InTTY, OutTTY, ErrTTY bool
	// Width is the terminal's width in cells; 0 where neither Out nor Err is a terminal.
	Width int
	// Dumb is a terminal that takes no control sequences: TERM=dumb, or a Windows console of old.
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

// OutWidth is how wide a line of prose on Out may be: 0, never wrapped, where Out is no terminal.
func (s Streams) OutWidth() int { return s.onTTY(s.OutTTY) }

// ErrWidth is OutWidth for Err.
func (s Streams) ErrWidth() int { return s.onTTY(s.ErrTTY) }

func (s Streams) onTTY(tty bool) int {
	if !tty {
		return 0
	}
	return s.Width
}
