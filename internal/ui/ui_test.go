package ui

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPrintable(t *testing.T) {
	tests := []struct{ in, printable, escaped string }{
		{"Show - 01.mkv", "Show - 01.mkv", "Show - 01.mkv"},
		{"제목 7화", "제목 7화", "제목 7화"},
		{"全角\u3000空白", "全角\u3000空白", "全角\u3000空白"},
		{"no\u00a0break", "no\u00a0break", "no\u00a0break"},
		{"e\u0301", "e\u0301", "e\u0301"},
		{"👨\u200d👩", "👨\u200d👩", "👨\u200d👩"},
		{"می\u200cروم", "می\u200cروم", "می\u200cروم"},
		{"real \uFFFD", "real \uFFFD", "real \uFFFD"},
		{"two\nlines", `"two\nlines"`, `two\nlines`},
		{"\x1b[2Jx", `"\x1b[2Jx"`, `\x1b[2Jx`},
		{"\u009b2J", `"\u009b2J"`, `\u009b2J`},
		{"abc\u202egpj.mkv", `"abc\u202egpj.mkv"`, `abc\u202egpj.mkv`},
		{"\u2066x\u2069", `"\u2066x\u2069"`, `\u2066x\u2069`},
		{"\u200e\u200f\u061c", `"\u200e\u200f\u061c"`, `\u200e\u200f\u061c`},
		{"\ufeffx\u2028y", `"\ufeffx\u2028y"`, `\ufeffx\u2028y`},
		{"bad \xff\xfe", `"bad \xff\xfe"`, `bad \xff\xfe`},
		{"\r\t\a\x00\x7f", `"\r\t\a\x00\x7f"`, `\r\t\a\x00\x7f`},
		{"", "", ""},
	}
	for _, tt := range tests {
		if got := Printable(tt.in); got != tt.printable {
			t.Errorf("%q: Printable gives %s, want %s", tt.in, got, tt.printable)
		}
		if got := Escaped(tt.in); got != tt.escaped {
			t.Errorf("%q: Escaped gives %s, want %s", tt.in, got, tt.escaped)
		}
	}
}

func TestWidthPadTruncate(t *testing.T) {
	tests := []struct {
		in       string
		width    int
		truncate string // to 5
		pad      string // to 5
	}{
		{"abc", 3, "abc", "abc  "},
		{"abcde", 5, "abcde", "abcde"},
		{"abcdef", 6, "abcd…", "abcdef"},
		{"제목", 4, "제목", "제목 "},
		{"제목이", 6, "제목…", "제목이"},
		{"a제목이", 7, "a제…", "a제목이"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301", "e\u0301e\u0301   "},
		{"Ω±°", 3, "Ω±°", "Ω±°  "},
		{"", 0, "", "     "},
	}
	for _, tt := range tests {
		if got := Width(tt.in); got != tt.width {
			t.Errorf("%q is %d wide, want %d", tt.in, got, tt.width)
		}
		if got := Truncate(tt.in, 5); got != tt.truncate {
			t.Errorf("%q cut to %q, want %q", tt.in, got, tt.truncate)
		}
		if got := Pad(tt.in, 5); got != tt.pad {
			t.Errorf("%q padded to %q, want %q", tt.in, got, tt.pad)
		}
	}
	if Truncate("abc", 0) != "" || Truncate("abc", -1) != "" || Truncate("abc", 1) != "…" {
		t.Error("cut to nothing")
	}
}

func TestTextStaysInItsCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		width := rapid.IntRange(1, 40).Draw(t, "width")
		safe := Escaped(s)
		if !utf8.ValidString(safe) || strings.ContainsFunc(safe, harmful) || Escaped(safe) != safe {
			t.Fatalf("%q is escaped to %q", s, safe)
		}
		if cut := Truncate(safe, width); Width(cut) > width {
			t.Fatalf("%q cut to %q, %d cells", safe, cut, Width(cut))
		}
		if padded := Pad(safe, width); Width(padded) < width || !strings.HasPrefix(padded, safe) {
			t.Fatalf("%q padded to %q", safe, padded)
		}
		if p := Printable(s); !utf8.ValidString(p) || strings.ContainsFunc(p, harmful) {
			t.Fatalf("%q prints as %q", s, p)
		}
	})
}

func TestColor(t *testing.T) {
	tests := []struct {
		mode  string
		tty   bool
		env   map[string]string
		color bool
	}{
		{"auto", true, nil, true},
		{"auto", false, nil, false},
		{"auto", true, map[string]string{"NO_COLOR": "1"}, false},
		{"auto", true, map[string]string{"NO_COLOR": ""}, true},
		{"auto", true, map[string]string{"TERM": "dumb"}, false},
		{"auto", true, map[string]string{"TERM": "xterm"}, true},
		{"always", false, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true},
		{"never", true, nil, false},
	}
	for _, tt := range tests {
		mode, err := ParseColorMode(tt.mode)
		if err != nil {
			t.Fatal(err)
		}
		if got := mode.Enabled(tt.tty, func(name string) string { return tt.env[name] }); got != tt.color {
			t.Errorf("%s, tty %v, %v: %v", tt.mode, tt.tty, tt.env, got)
		}
	}
	if _, err := ParseColorMode("sometimes"); err == nil || !strings.Contains(err.Error(), "always") {
		t.Errorf("got %v", err)
	}
	if ColorMode(9).String() != "unknown" {
		t.Error("an unknown mode has a name")
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999 * time.Microsecond: "0s", time.Millisecond: "1ms", 850 * time.Millisecond: "850ms",
		time.Second: "1s", 59*time.Second + 999*time.Millisecond: "59s", time.Minute: "1m00s", 3*time.Minute + 20*time.Second: "3m20s",
		2*time.Hour + 5*time.Minute: "2h05m", 76 * time.Hour: "3d04h", -90 * time.Second: "-1m30s", -time.Microsecond: "0s",
		math.MaxInt64: "106751d23h", math.MinInt64: "-106751d23h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q, want %q", int64(d), got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 10 << 10: "10 KiB", 1<<20 - 1: "1.0 MiB", 512 << 20: "512 MiB",
		5 << 30: "5.0 GiB", -2048: "-2.0 KiB", math.MaxInt64: "8.0 EiB", math.MinInt64: "-8.0 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
