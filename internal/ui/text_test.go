package ui

import (
	"strings"
	"testing"
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
		{"x\u00ady\u200bz", `"x\u00ady\u200bz"`, `x\u00ady\u200bz`},
		{`back\slash "quote"`, `back\slash "quote"`, `back\slash "quote"`},
		{"back\\slash \"quote\"\x00", `"back\\slash \"quote\"\x00"`, `back\slash "quote"\x00`},
		{"", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.printable, func(t *testing.T) {
			if got := Printable(tt.in); got != tt.printable {
				t.Errorf("Printable(%q) is %s, want %s", tt.in, got, tt.printable)
			}
			if got := Escaped(tt.in); got != tt.escaped {
				t.Errorf("Escaped(%q) is %s, want %s", tt.in, got, tt.escaped)
			}
		})
	}
}

func TestEscapedLinesKeepsLinesAndTabs(t *testing.T) {
	const in, want = "a\tb\r\n\x1b[2J\u202ec\n", "a\tb\\r\n\\x1b[2J\\u202ec\n"
	if got := EscapedLines(in); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEscapingIsHarmlessAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for _, safe := range []string{Escaped(s), Printable(s), ShellWord(s)} {
			if !utf8.ValidString(safe) || strings.ContainsFunc(safe, Dangerous) {
				t.Fatalf("%q is shown as %q", s, safe)
			}
		}
		if safe := Escaped(s); Escaped(safe) != safe {
			t.Fatalf("%q is escaped to %q", s, safe)
		}
	})
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"one": "one", " a\n\tb\r\n": "a b", "x\x00\u009by": "x y", "\u3000": "", "a\u2028b": "a b",
	} {
		t.Run(want, func(t *testing.T) {
			if got := OneLine(in); got != want {
				t.Errorf("OneLine(%q) is %q, want %q", in, got, want)
			}
		})
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"/lib/Show": "/lib/Show", "비밀의숲": "비밀의숲", "비밀의 숲": "'비밀의 숲'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "": "''",
		"~x":  "'~x'",
		"a;b": "'a;b'", "a\u00a0b": "'a\u00a0b'", "a\n'b\\": `$'a\n\'b\\'`, "bad \xff": `$'bad \xff'`,
		"\u202ex": `$'\u202ex'`,
	} {
		t.Run(want, func(t *testing.T) {
			if got := ShellWord(in); got != want {
				t.Errorf("ShellWord(%q) is %s, want %s", in, got, want)
			}
		})
	}
}
