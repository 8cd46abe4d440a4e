// Package ui has all that turns values into text for people: streams, colour and the status line, escaping (Printable,
// Escaped), cells (Width, Cut, Pad, Wrap), and words for durations, sizes, counts and shell arguments. Results have a
// package of their own, report.
package ui

import (
	"fmt"
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

// OutWidth returns the width that a line of prose on Out may have at this moment, for a person may resize the terminal:
// 0, for never wrapped, where Out is not a terminal.
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
