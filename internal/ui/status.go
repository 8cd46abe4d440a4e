package ui

import (
	"io"
	"os"
	"reflect"
	"sync"
	"time"

	"golang.org/x/term"
)

// redraw is the shortest time between two drawings.
const redraw = 100 * time.Millisecond

const eraseLine = "\r\x1b[K"

// Status is one line at the bottom of a terminal. It is redrawn in place, at most ten times a second. Everything else
// that is written to the terminal goes through Writer, which removes the line first. Where there is no terminal it does
// nothing. All methods are safe for concurrent use.
type Status struct {
	on    bool
	out   io.Writer
	pipe  io.Writer // a stream that is not a terminal; nil if there is none
	width func() int

	mu      sync.Mutex
	text    string // what to show; "" for nothing
	shown   string // what the terminal shows; "" for nothing
	midLine bool   // other output has not ended its line
	drawn   time.Time
	later   *time.Timer // draws a line that came too early; nil when none is due
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

// Room returns the number of cells a line may have before it is cut.
func (s *Status) Room() int { return max(s.width()-1, 0) }

// Enabled reports whether anything is ever drawn.
func (s *Status) Enabled() bool { return s.on }

// Set replaces the line by text, escaped and cut to the terminal's width; "" shows nothing. A line that comes within
// 100 ms of the last one is drawn after them, unless another one replaced it.
func (s *Status) Set(line string) {
	if !s.on {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = Escaped(line)
	if s.text == "" {
		s.erase()
		return
	}
	s.drawSoon()
}

// Clear removes the line until the next Set.
func (s *Status) Clear() { s.Set("") }

// Writer returns a writer to w, which may be the same terminal: the line is removed before each write and comes back
// after a line end. Writing to a pipe leaves the line alone.
func (s *Status) Writer(w io.Writer) io.Writer {
	if !s.on || same(w, s.pipe) {
		return w
	}
	return &aside{s, w}
}

// drawSoon draws now, or once redraw has passed since the last drawing.
func (s *Status) drawSoon() {
	if s.text == s.shown || s.midLine || s.later != nil {
		return
	}
	if wait := redraw - time.Since(s.drawn); !s.drawn.IsZero() && wait > 0 {
		var timer *time.Timer
		timer = time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.later == timer { // else erase stopped it while it waited for the lock
				s.later = nil
				s.draw()
			}
		})
		s.later = timer
		return
	}
	s.draw()
}

// draw writes the line; a line that can't be drawn is not worth an error. The last cell stays free: a full line would
// wrap, and its beginning would stay.
func (s *Status) draw() {
	if s.text == "" || s.midLine || s.text == s.shown || s.Room() == 0 {
		return
	}
	s.drawn, s.shown = time.Now(), s.text
	_, _ = io.WriteString(s.out, eraseLine+Cut(s.text, s.Room()))
}

func (s *Status) erase() {
	if s.later != nil {
		s.later.Stop()
		s.later = nil
	}
	if s.shown != "" {
		s.shown = ""
		_, _ = io.WriteString(s.out, eraseLine)
	}
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
	a.s.erase()
	n, err := a.w.Write(p)
	a.s.midLine = p[len(p)-1] != '\n'
	if a.s.text != "" {
		a.s.drawSoon()
	}
	return n, err
}

// same compares writers whose types may not be comparable.
func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// width returns the terminal's present width, or that at the start, or 80.
func (s Streams) width() int {
	if f, ok := s.Err.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if s.Width > 0 {
		return s.Width
	}
	return 80
}
