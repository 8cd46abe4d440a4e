package ui

import (
	"io"
	"reflect"
	"sync"
)

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

// Room returns the number of cells a line may have before it is cut. The terminal's last cell stays free: a full line
// would wrap, and its beginning would stay.
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

// same compares writers whose types may not be comparable.
func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// width returns the present width of the terminal of Err, or that at the start, or 80.
func (s Streams) width() int {
	if w := s.present(s.Err, true); w > 0 {
		return w
	}
	return 80
}
