package ui

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// terminal is what a person sees: it understands "\r", "\n" and erasing to the
// line's end.
type terminal struct {
	mu   sync.Mutex
	done []string
	line string
	col  int
	raw  bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw.Write(p)
	s := string(p)
	for s != "" {
		switch {
		case strings.HasPrefix(s, "\x1b[K"):
			t.line = t.line[:t.col]
			s = s[3:]
		case s[0] == '\r':
			t.col, s = 0, s[1:]
		case s[0] == '\n':
			t.done = append(t.done, t.line)
			t.line, t.col, s = "", 0, s[1:]
		default:
			end := min(t.col+1, len(t.line))
			t.line = t.line[:t.col] + s[:1] + t.line[end:]
			t.col, s = t.col+1, s[1:]
		}
	}
	return len(p), nil
}

func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(append(append([]string{}, t.done...), t.line), "|")
}

func TestTheStatusLineKeepsOutOfTheWay(t *testing.T) {
	tty := &terminal{}
	s := NewStatus(Streams{Out: tty, Err: tty, OutTTY: true, ErrTTY: true, Width: 20}, true)
	out := s.Out()
	step := func(want string, do func()) {
		t.Helper()
		do()
		if got := tty.screen(); got != want {
			t.Errorf("the screen shows %q, want %q", got, want)
		}
	}
	write := func(text string) func() {
		return func() { _, _ = io.WriteString(out, text) }
	}
	set := func(text string) func() {
		return func() { s.Set(text) }
	}
	step("one", set("one"))
	step("two", set("two"))
	step("a|", write("a\n"))
	step("a|two", set("two")) // it comes back with the next Set
	step("a|half", write("half"))
	step("a|half", set("three")) // never into a line that is not ended
	step("a|half done|", write(" done\n"))
	step("a|half done|three", set("three"))
	step("a|half done|", s.Clear)
	step("a|half done|b|", write("b\n"))
	step("a|half done|b|0123456789012345678", set("0123456789012345678"))
	step("a|half done|b|012345678901234567\u2026", set("01234567890123456789"))
	step(`a|half done|b|\x1b[2J\nx`, set("\x1b[2J\nx"))
	step("a|half done|b|", s.Clear)
}

func TestTheStatusLineNeverMixesWithOtherOutput(t *testing.T) {
	tty := &terminal{}
	s := NewStatus(Streams{Out: tty, Err: tty, OutTTY: true, ErrTTY: true}, true)
	out := s.Out()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 500 {
				s.Set(fmt.Sprint("line ", g, " ", i))
				if i%5 == 0 {
					_, _ = fmt.Fprintf(out, "result %d %d\n", g, i)
				}
			}
		})
	}
	wg.Wait()
	s.Clear()
	lines := strings.Split(tty.screen(), "|")
	if len(lines) != 401 || lines[400] != "" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	for _, line := range lines[:400] {
		if !strings.HasPrefix(line, "result ") || strings.Contains(line, "line") {
			t.Errorf("the status got into %q", line)
		}
	}
}

func TestNothingIsDrawnWhereNobodyLooks(t *testing.T) {
	for name, s := range map[string]Streams{
		"a pipe":          {OutTTY: true},
		"a dumb terminal": {OutTTY: true, ErrTTY: true, Dumb: true},
	} {
		var out bytes.Buffer
		s.Out, s.Err = &out, &out
		status := NewStatus(s, true)
		status.Set("x")
		w := status.Out()
		_, _ = io.WriteString(w, "a\n")
		status.Clear()
		if out.String() != "a\n" || status.Enabled() {
			t.Errorf("%s: %q", name, &out)
		}
	}
	unwanted := NewStatus(Streams{Err: &terminal{}, ErrTTY: true}, false)
	if unwanted.Enabled() {
		t.Error("drawn though it is not wanted")
	}
}

func TestResultsInAPipeLeaveTheLineAlone(t *testing.T) {
	var pipe bytes.Buffer
	tty := &terminal{}
	s := NewStatus(Streams{Out: &pipe, Err: tty, ErrTTY: true, Width: 40}, true)
	s.Set("working")
	before := tty.raw.Len()
	_, _ = io.WriteString(s.Out(), "result\n")
	if tty.raw.Len() != before || tty.screen() != "working" || pipe.String() != "result\n" {
		t.Errorf("the terminal shows %q, the pipe has %q", tty.screen(), &pipe)
	}
}

func TestSystemStreams(t *testing.T) {
	s := SystemStreams()
	if s.In == nil || s.Out == nil || s.Err == nil {
		t.Fatal("a stream is missing")
	}
	if !s.OutTTY && !s.ErrTTY && s.Width != 0 {
		t.Errorf("no terminal, yet %d cells wide", s.Width)
	}
}
