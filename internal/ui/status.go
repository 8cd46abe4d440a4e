package ui

// The status line: when it is drawn, and how it keeps out of the way of
// everything else that is written to the same terminal.

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

// Status is one line at the bottom of a terminal that says how things stand. It
// is redrawn in place, ten times a second at most, and everything else that is
// written to the terminal goes through Writer, which takes the line away first.
// On anything but a terminal it does nothing. All methods may be called from
// many goroutines.
type Status struct {
	on    bool
	out   io.Writer
	pipe  io.Writer // a stream that is no terminal; nil if there is none
	width func() int

	mu      sync.Mutex
	text    string // what is to be shown; "" for nothing
	shown   string // what stands on the terminal; "" for nothing
	midLine bool   // something else was written and has not ended its line
	drawn   time.Time
	later   *time.Timer // draws what came too early; nil when nothing is due
}

// NewStatus makes a status line on s.Err. It draws only if wanted and s.Err is
// a terminal that understands it.
func NewStatus(s Streams, wanted bool) *Status {
	st := &Status{out: s.Err, on: wanted && s.ErrTTY && !s.Dumb, width: s.width}
	if !s.OutTTY {
		st.pipe = s.Out
	}
	return st
}

// Room is how many cells a line may have before it is cut.
func (s *Status) Room() int { return max(s.width()-1, 0) }

// Enabled reports whether anything is ever drawn.
func (s *Status) Enabled() bool { return s.on }

// Set shows line in place of what was shown, made harmless and cut to the
// terminal's width; "" shows nothing. A line that comes within 100 ms of the
// last is drawn when they are over, unless another one came.
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

// Clear takes the line away; the next Set draws it again. Nothing is drawn
// between the two.
func (s *Status) Clear() { s.Set("") }

// Writer returns a writer to w, which may be the same terminal: the line is
// away while w is written to, and comes back after a line end. A write that is
// not to a terminal leaves the line alone.
func (s *Status) Writer(w io.Writer) io.Writer {
	if !s.on || same(w, s.pipe) {
		return w
	}
	return &aside{s, w}
}

// drawSoon draws now or when the last drawing is long enough ago.
func (s *Status) drawSoon() {
	if s.text == s.shown || s.midLine || s.later != nil {
		return
	}
	if wait := redraw - time.Since(s.drawn); !s.drawn.IsZero() && wait > 0 {
		var timer *time.Timer
		timer = time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.later == timer { // else it was called off while it waited for the lock
				s.later = nil
				s.draw()
			}
		})
		s.later = timer
		return
	}
	s.draw()
}

// draw writes the line; one that cannot be drawn is not worth an error. The
// last cell stays free: a full line would wrap, and its beginning stay.
func (s *Status) draw() {
	if s.text == "" || s.midLine || s.text == s.shown {
		return
	}
	s.drawn, s.shown = time.Now(), s.text
	_, _ = io.WriteString(s.out, eraseLine+Truncate(s.text, s.width()-1))
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

// width is the terminal's now, or what was known at the start, or 80.
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
